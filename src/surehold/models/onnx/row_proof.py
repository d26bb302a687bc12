"""Proof that an ONNX model gives each record a value of its own, whoever made the model.

The walk over the graph knows some operators and when they keep rows apart (:mod:`.row_rules`). It
says yes only if all of the model is made of these. A model that it can't say yes to may be right
all the same: it is given one record at a time, which is slow, and certain.

What is said of a value's sizes must be what the runtime makes of it, whatever the file declares: a
wrong width is a way to mix rows, by a reshape. A test compares the two for every rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

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

_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_UNARY.split(), op.unary),
    **dict.fromkeys(_BROADCAST.split(), op.broadcast),
    **dict.fromkeys(_REDUCE.split(), op.reduce(since=18)),
    "ReduceSum": op.reduce(since=13),
    "Softmax": op.along(default=-1, since=13),
    "LogSoftmax": op.along(default=-1, since=13),
    "Hardmax": op.along(default=-1, since=13),
    "LpNormalization": op.along(default=-1, since=0),
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

    InvalidInput for models that are refused, however many records they are given (:mod:`.graph`).
    """
    try:
        described(Graph.of(content))
    except NotProven:
        return False
    return True


def described(graph: Graph) -> dict[str, Value]:
    """What is proven of each value of a graph by its name; NotProven if not of all."""
    walk = _Walk(graph)
    walk.walk()
    return walk.values


def only_single(content: bytes) -> bool:
    """Whether a model must be given one record at a time."""
    return not is_rowwise(content)


class _Walk:
    def __init__(self, graph: Graph) -> None:
        self._onnx = onnx()
        self._graph = graph
        self._opsets = self._versions()
        self.values: dict[str, Value] = {}

    def walk(self) -> None:
        """Through all nodes, in their order, to the outputs; NotProven if in doubt."""
        graph = self._graph.graph
        for tensor in graph.initializer:
            self._define(tensor.name, Constant(self._array(tensor)))
        for given in graph.input:  # one that is an initializer, too, is defined twice
            self._define(given.name, self._input(given))
        for node in graph.node:
            self._take(node)
        for output in graph.output:
            if not isinstance(self.values.get(output.name), Rows | Maps):
                raise NotProven

    def _take(self, node: Any) -> None:
        domain = domain_of(node)
        rules = {MAIN: _RULES, ML: _ML_RULES}.get(domain)
        if rules is None or domain not in self._opsets:
            raise NotProven
        call = Call(
            node.op_type,
            [self.values[name] if name else None for name in self._known(node.input)],
            self._attributes(node),
            self._opsets[domain],
            len(node.output),
        )
        if domain == MAIN and node.op_type == "Constant":
            found: list[Value] = [self._constant(call)]
        elif node.op_type in rules:
            found = rules[node.op_type](call)
        else:
            raise NotProven
        if len(found) < len(node.output):
            raise NotProven
        for name, value in zip(node.output, found, strict=False):
            if name:
                self._define(name, value)

    def _known(self, names: Any) -> list[str]:
        if any(name and name not in self.values for name in names):
            raise NotProven
        return list(names)

    def _define(self, name: str, value: Value) -> None:
        if not name or name in self.values:
            raise NotProven
        self.values[name] = value

    def _input(self, given: Any) -> Rows:
        """As the runtime checks it: the number of axes, and their sizes where they are numbers."""
        if given.type.WhichOneof("value") != "tensor_type":
            raise NotProven
        tensor = given.type.tensor_type
        if not tensor.HasField("shape") or not tensor.shape.dim:
            raise NotProven
        first, *others = tensor.shape.dim
        if first.HasField("dim_value"):
            raise NotProven
        sizes = [int(dim.dim_value) if dim.HasField("dim_value") else None for dim in others]
        if any(size is not None and size < 1 for size in sizes):
            raise NotProven
        return Rows(tuple(sizes))

    def _constant(self, call: Call) -> Constant:
        if len(call.attributes) != 1 or call.given:
            raise NotProven
        [(name, value)] = call.attributes.items()
        if name == "value":
            return Constant(self._array(value))
        if name in ("value_int", "value_ints", "value_float", "value_floats"):
            return Constant(np.array(value))
        raise NotProven

    def _array(self, tensor: Any) -> Any:
        try:
            return self._onnx.numpy_helper.to_array(tensor)
        except Exception:
            raise NotProven from None

    def _attributes(self, node: Any) -> dict[str, Any]:
        kinds = self._onnx.AttributeProto
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            if attribute.name in found or attribute.ref_attr_name:
                raise NotProven
            match attribute.type:
                case kinds.INT:
                    value: Any = int(attribute.i)
                case kinds.INTS:
                    value = [int(number) for number in attribute.ints]
                case kinds.TENSOR:
                    value = attribute.t
                case kinds.FLOAT:
                    value = float(attribute.f)
                case kinds.FLOATS:
                    value = [float(number) for number in attribute.floats]
                case kinds.STRING | kinds.STRINGS | kinds.TENSORS:
                    value = None
                case _:
                    raise NotProven
            found[attribute.name] = value
        return found

    def _versions(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for opset in self._graph.model.opset_import:
            domain = domain_of(opset)
            if found.setdefault(domain, int(opset.version)) != opset.version:
                raise NotProven
        if found.get(MAIN, _OLDEST) < _OLDEST:
            raise NotProven
        return found
