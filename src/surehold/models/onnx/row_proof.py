"""Proof that an ONNX model gives each record a value that depends on that record alone.

The walk over the graph knows some operators and when they keep rows apart (:mod:`.row_rules`). It
says yes only if all of the model is made of these. A model that it can't say yes to may be right
all the same: it is given one record at a time, which is slow, and certain.

What is said of a value's sizes must be what the runtime makes of it, whatever the file declares: a
wrong width is a way to mix rows, by a reshape. A test compares the two for every rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surehold.models.onnx import row_rules as op
from surehold.models.onnx.graph import Graph
from surehold.models.onnx.nodes import MAIN, ML, domain_of, onnx
from surehold.models.onnx.row_values import Call, Constant, Maps, NotProven, Rows, Rule, Value

# Before, smaller inputs were repeated in another way.
_OLDEST = 9

_UNARY = """Abs Acos Asin Atan Cast Ceil Celu Cos Elu Erf Exp Floor Gelu HardSigmoid HardSwish
Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Sigmoid Sign Sin Softplus
Softsign Sqrt Tanh ThresholdedRelu"""
_BROADCAST = """Add And Clip Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul
Or Pow PRelu Sub Sum Where Xor"""
_REDUCE = """ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
ReduceProd ReduceSumSquare"""

_MAIN_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_UNARY.split(), op.unary),
    **dict.fromkeys(_BROADCAST.split(), op.broadcast),
    **dict.fromkeys(_REDUCE.split(), op.reduce(since=18)),
    "ReduceSum": op.reduce(since=13),
    "Softmax": op.along(since=13),
    "LogSoftmax": op.along(since=13),
    "Hardmax": op.along(since=13),
    "LpNormalization": op.along(since=0),
    "ArgMax": op.arg_reduce,
    "ArgMin": op.arg_reduce,
    "BatchNormalization": op.batch_normalization,
    "Concat": op.concat,
    "Flatten": op.flatten,
    "Gather": op.gather,
    "Gemm": op.gemm,
    "MatMul": op.matmul,
    "Reshape": op.reshape,
    "Slice": op.slice_,
    "Split": op.split,
    "Squeeze": op.squeeze,
    "TopK": op.top_k,
    "Transpose": op.transpose,
    "Unsqueeze": op.unsqueeze,
}
_ML_RULES: Mapping[str, Rule] = {
    "ArrayFeatureExtractor": op.array_feature_extractor,
    "Binarizer": op.same_matrix,
    "FeatureVectorizer": op.feature_vectorizer,
    "Imputer": op.same_matrix,
    "LabelEncoder": op.unary,
    "LinearClassifier": op.classifier,
    "LinearRegressor": op.regressor("targets"),
    "Normalizer": op.same_matrix,
    "OneHotEncoder": op.one_hot,
    "Scaler": op.same_matrix,
    "SVMClassifier": op.classifier,
    "SVMRegressor": op.svm_regressor,
    "TreeEnsembleClassifier": op.classifier,
    "TreeEnsembleRegressor": op.regressor("n_targets"),
    "ZipMap": op.zip_map,
}


def is_rowwise(content: bytes) -> bool:
    """Whether each output row is proven to depend on its input row alone.

    If not, the model must be given one record at a time. InvalidInput for models that are refused,
    however many records they are given (:mod:`.graph`).
    """
    try:
        describe_values(Graph.of(content))
    except NotProven:
        return False
    return True


def describe_values(graph: Graph) -> dict[str, Value]:
    """What is proven of each value of a graph by its name; NotProven if not of all."""
    walk = _Walk(graph.model.opset_import)
    for tensor in graph.graph.initializer:
        walk.define(tensor.name, Constant(op.array_of(tensor)))
    for given in graph.graph.input:  # one that is an initializer, too, is defined twice
        walk.define(given.name, _input_rows(given))
    for node in graph.graph.node:
        walk.take(node)
    for output in graph.graph.output:
        if not isinstance(walk.values.get(output.name), Rows | Maps):
            raise NotProven
    return walk.values


class _Walk:
    """Through the nodes, in their order; NotProven if in doubt."""

    def __init__(self, opsets: Any) -> None:
        self._opsets: dict[str, int] = {}
        for opset in opsets:
            if self._opsets.setdefault(domain_of(opset), int(opset.version)) != opset.version:
                raise NotProven
        if self._opsets.get(MAIN, _OLDEST) < _OLDEST:
            raise NotProven
        self.values: dict[str, Value] = {}

    def define(self, name: str, value: Value) -> None:
        if not name or name in self.values:
            raise NotProven
        self.values[name] = value

    def take(self, node: Any) -> None:
        domain = domain_of(node)
        rule = _RULES.get(domain, {}).get(node.op_type)
        is_known = all(name in self.values for name in node.input if name)
        if rule is None or domain not in self._opsets or not is_known:
            raise NotProven
        given = [self.values[name] if name else None for name in node.input]
        opset, outputs = self._opsets[domain], len(node.output)
        found = rule(Call(node.op_type, given, _attributes(node), opset, outputs))
        if len(found) < outputs:
            raise NotProven
        for name, value in zip(node.output, found, strict=False):
            if name:
                self.define(name, value)


def _input_rows(given: Any) -> Rows:
    """As the runtime checks it: the number of axes, and their sizes where they are numbers."""
    if given.type.WhichOneof("value") != "tensor_type":
        raise NotProven
    tensor = given.type.tensor_type
    if not tensor.HasField("shape") or not tensor.shape.dim:
        raise NotProven
    first, *others = tensor.shape.dim
    sizes = [int(dim.dim_value) if dim.HasField("dim_value") else None for dim in others]
    if first.HasField("dim_value") or any(size is not None and size < 1 for size in sizes):
        raise NotProven
    return Rows(tuple(sizes))


def _attributes(node: Any) -> dict[str, Any]:
    """Numbers, lists of them and tensors; what else there is, is no size and no axis."""
    kinds, read = onnx().AttributeProto, onnx().helper.get_attribute_value
    numbers = (kinds.INT, kinds.INTS, kinds.TENSOR, kinds.FLOAT, kinds.FLOATS)
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        is_number = attribute.type in numbers
        if attribute.name in found or attribute.ref_attr_name:
            raise NotProven
        if not is_number and attribute.type not in (kinds.STRING, kinds.STRINGS, kinds.TENSORS):
            raise NotProven
        found[attribute.name] = read(attribute) if is_number else None
    return found


_RULES: Mapping[str, Mapping[str, Rule]] = {
    MAIN: {**_MAIN_RULES, "Constant": op.constant},
    ML: _ML_RULES,
}
