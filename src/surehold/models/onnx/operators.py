"""The operators that a model may be made of.

They are those of which a record decides neither the cost nor whether they fail, as they are
evaluated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surehold.models.onnx.classes import listed_classes
from surehold.models.onnx.nodes import MAIN, ML, attributes_of, domain_of, refusal
from surehold.models.onnx.trees import TREES, check_trees

SAME_COST = "made of operators that cost the same for every record"

_RANDOM_NAMES = """Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform
RandomUniformLike"""
_RANDOM = frozenset(_RANDOM_NAMES.split())
_CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})

# By the type of what they give: always floats (doubles for doubles, but for those of ai.onnx.ml);
# the type of the first input (for Where, of the second); or something else.
_DOUBLES = """Acos Asin Atan BatchNormalization Ceil Celu Cos Elu Exp Floor Gelu HardSigmoid
HardSwish Hardmax LayerNormalization LeakyRelu Log LogSoftmax LpNormalization Mish Reciprocal Round
Selu Sigmoid Sin Softmax Softplus Softsign Sqrt Tanh ThresholdedRelu"""
GIVE_DOUBLES = frozenset(_DOUBLES.split())
_SAME = """Abs Add Clip Concat CumSum Div Dropout Erf Expand Flatten Gather Gemm Identity MatMul Max
Mean Min Mod Mul Neg PRelu Pad Pow Range ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Sign Slice Split Squeeze Sub
Sum Tile TopK Transpose Unsqueeze Where"""
_OTHERS = """And ArgMax ArgMin Cast Constant ConstantOfShape Equal Greater GreaterOrEqual IsInf
IsNaN Less LessOrEqual Not OneHot Or Shape Size Xor"""
_ML_FLOATS = """FeatureVectorizer LinearRegressor Normalizer OneHotEncoder SVMRegressor Scaler
TreeEnsembleRegressor"""
_ML_SAME = "ArrayFeatureExtractor Binarizer Imputer"
_ML_OTHERS = "LabelEncoder LinearClassifier SVMClassifier TreeEnsembleClassifier ZipMap"
GIVE_FLOATS = GIVE_DOUBLES.union(_ML_FLOATS.split())
GIVE_THE_SAME = frozenset(f"{_SAME} {_ML_SAME}".split())
OPERATORS: Mapping[str, frozenset[str]] = {
    MAIN: GIVE_DOUBLES.union(f"{_SAME} {_OTHERS}".split()),
    ML: frozenset(f"{_ML_FLOATS} {_ML_SAME} {_ML_OTHERS}".split()),
}


def check_operator(node: Any) -> None:
    """Refuse a node that is not known to cost the same for every record."""
    operator, given = node.op_type, attributes_of(node)
    drops = operator == "Dropout" and len(node.input) > 2 and bool(node.input[2])
    if operator in _RANDOM or drops:
        raise refusal("without random operators", operator)
    if operator in _CONTROL or any(one.HasField("g") or one.graphs for one in node.attribute):
        raise refusal("without loops, branches and inner graphs", operator)
    domain = domain_of(node)
    if domain not in OPERATORS or node.overload:
        raise refusal("made of ONNX's own operators", f"{node.domain}.{operator}")
    if operator not in OPERATORS[domain]:
        raise refusal("made of operators that are known to cost little", operator)
    if len(given) != len(node.attribute):
        raise refusal("of attributes that are given once", operator)
    if not node.output or not (node.input or operator == "Constant"):
        raise refusal("made of nodes with inputs and outputs", operator)
    if "post_transform" in given and given["post_transform"].s == b"PROBIT":
        # The runtime reads memory that nobody has written: its values differ from call to call.
        raise refusal("without the transform PROBIT", operator)
    if operator == "SVMClassifier" and "prob_a" in given and len(listed_classes(node) or ()) > 2:
        # Their probabilities are coupled by an iteration, whose length depends on the record.
        got = "SVMClassifier with probabilities of several classes"
        raise refusal(SAME_COST, got, "export its scores, or calibrate it by other means")
    if operator in TREES:
        check_trees(node)
