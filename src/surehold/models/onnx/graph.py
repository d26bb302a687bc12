"""What an ONNX file says about itself, read without running it, and what is refused for it.

Whoever made a model may want to learn more of a record than an answer tells. So a model is made of
listed operators only, of which it is known that neither what a call takes, in time and in memory,
nor whether it fails depends on what a record holds: all sizes follow from constants and from the
sizes of the inputs, and :mod:`.preparation` keeps indices in range and ways through trees equally
long. Otherwise one record could use up the limits that all of them share. Nor does it refer to
anything outside of its own bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surehold.errors import InvalidInput
from surehold.models.base import TRUTHS, Label
from surehold.models.extras import needed
from surehold.models.onnx.trees import TREES, check_trees

MOST_BYTES = 512 << 20
MOST_NODES = 100_000
MOST_PARTS = 1_000_000
"""Messages and fields in a file, of which each takes many times its bytes once it is read."""
MOST_DEPTH = 32
MOST_WIDTH = 20_000
"""Numbers for each record in an input or output, and classes."""
MOST_NUMBERS = 1 << 27
"""Numbers in all constants together."""
LONGEST_TEXT = 1_000
"""Bytes of a label or category. Were some much longer, it would show which one a record has."""
MOST_COPIES = 10_000
"""Of a record's text, which may be of any length."""

MAIN, ML = "", "ai.onnx.ml"

_RANDOM = """Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform
RandomUniformLike"""
_CONTROL = ("If", "Loop", "Scan", "SequenceMap")
_PASSING = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Flatten"})
_CLASSIFIERS = frozenset({"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"})

# Operators of which a record decides neither the cost nor whether they fail, as they are evaluated
# here, by what they give: floats always; what the first input is of (for
# Where, the second); or something else.
_FLOATS = """Acos Asin Atan BatchNormalization Ceil Celu Cos Elu Exp Floor Gelu HardSigmoid
HardSwish Hardmax LayerNormalization LeakyRelu Log LogSoftmax LpNormalization Mish Reciprocal Round
Selu Sigmoid Sin Softmax Softplus Softsign Sqrt Tanh ThresholdedRelu"""
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
_OPERATORS: Mapping[str, frozenset[str]] = {
    MAIN: frozenset(f"{_FLOATS} {_SAME} {_OTHERS}".split()),
    ML: frozenset(f"{_ML_FLOATS} {_ML_SAME} {_ML_OTHERS}".split()),
}
_GIVE_FLOATS = frozenset(f"{_FLOATS} {_ML_FLOATS}".split())
_GIVE_THE_SAME = frozenset(f"{_SAME} {_ML_SAME}".split())

# What may be done with, or give, texts that depend on a record.
_OF_TEXTS = """ArrayFeatureExtractor Cast Concat Equal Flatten Gather Identity LabelEncoder
LinearClassifier OneHotEncoder Reshape SVMClassifier Shape Slice Split Squeeze Transpose
TreeEnsembleClassifier Unsqueeze"""

# Inputs that decide how large an output is.
_SECOND = "CumSum Expand OneHot Reshape Split Squeeze Tile TopK Unsqueeze"
_SIZES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(_SECOND.split(), (1,)),
    **{name: (1,) for name in _OPERATORS[MAIN] if name.startswith("Reduce")},
    "ConstantOfShape": (0,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Slice": (1, 2, 3, 4),
}


class Graph:
    """A parsed model that has nothing in it which is refused."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.graph = model.graph
        self.initializers = {tensor.name: tensor for tensor in self.graph.initializer}
        self._producers = {name: node for node in self.graph.node for name in node.output if name}

    @classmethod
    def of(cls, content: bytes) -> Graph:
        """Read a file; InvalidInput if it is no model, or one that is not evaluated here."""
        onnx = needed("onnx", "an ONNX model")
        if len(content) > MOST_BYTES:
            raise _refused(f"of at most {MOST_BYTES:,} bytes", f"of {len(content):,}")
        try:
            _count_parts(content, onnx.ModelProto.DESCRIPTOR)
            model = onnx.load_model_from_string(content)
            if model.graph.node and model.graph.output:
                graph = cls(model)
                graph._refuse()
                return graph
        except InvalidInput:
            raise
        except Exception as error:
            required = "an ONNX model"
            got = f"{len(content):,} bytes of something else"
            raise InvalidInput("the model", required, got) from error
        raise InvalidInput("the model", "an ONNX model", "without nodes or outputs")

    # ------------------------------------------------------------------------ refusals

    def _refuse(self) -> None:
        if len(self.graph.node) > MOST_NODES:
            raise _refused(f"of at most {MOST_NODES:,} nodes", f"of {len(self.graph.node):,}")
        for node in self.graph.node:
            _check_operator(node)
        _check_parts(self.model)
        for given in self.inputs:
            dims = given.type.tensor_type.shape.dim
            if dims and dims[0].HasField("dim_value") and dims[0].dim_value != 1:
                first = dims[0].dim_value
                hint = "export it with a dynamic batch axis"
                required = "for any number of records"
                raise InvalidInput("the model", required, f"for exactly {first}", hint)
        for declared in (*self.graph.input, *self.graph.output):
            if declared.name in self.initializers:
                continue
            widest = max((dim.dim_value for dim in declared.type.tensor_type.shape.dim), default=0)
            if widest > MOST_WIDTH:
                raise _refused(f"of inputs and outputs up to {MOST_WIDTH:,} wide", f"{widest:,}")
        self._check_costs()
        _ = self.classes

    def _check_costs(self) -> None:
        """That all sizes are the same whatever a record holds, and so is what a call takes."""
        known: dict[str, _Known] = {}
        for tensor in self.graph.initializer:
            _define(known, tensor.name, _Known(True, _kind(tensor.data_type)))
        for fed in self.inputs:
            _define(known, fed.name, _Known(False, _kind(fed.type.tensor_type.elem_type)))
        for node in self.graph.node:
            if any(name and name not in known for name in node.input):
                raise _refused("of nodes in the order in which they are used", node.op_type)
            given = [known[name] if name else _LEFT_OUT for name in node.input]
            self._check_cost(node, given)
            for at, name in enumerate(node.output):
                if name:
                    _define(known, name, self._given_by(node, given, at))
        for output in self.graph.output:
            if output.name not in known:
                raise _refused("of outputs that it computes", output.name)

    def _check_cost(self, node: Any, given: list[_Known]) -> None:
        operator = node.op_type
        for at in _SIZES.get(operator, ()):
            if at < len(given) and not given[at].is_fixed:
                required = "of sizes that do not depend on what a record holds"
                raise _refused(required, f"one whose {operator} depends on it")
        if all(value.is_fixed for value in given):
            return
        is_float = any(value.kind in (_FLOAT, _DOUBLE) for value in given)
        if operator in ("Div", "Mod") and not is_float and not self._is_positive(node.input[-1]):
            # By zero, and the least whole number by -1, ends the process.
            required = "without divisions of whole numbers by what is not a positive constant"
            raise _refused(required, f"one with such a {operator}")
        if operator == "Mod" and is_float:
            raise _refused("of operators that cost the same for every record", "Mod of floats")
        if operator in ("Cos", "Sin") and any(value.kind == _DOUBLE for value in given):
            required = "of operators that cost the same for every record"
            raise _refused(required, f"{operator} of doubles", "cast them to float first")
        if operator == "Cast" and given[0].kind == _TEXT and _cast_to(node) != _TEXT:
            hint = "use a LabelEncoder, which has a value for every text"
            raise _refused("without casts of a record's texts to numbers", "one with them", hint)

    def _given_by(self, node: Any, given: list[_Known], at: int) -> _Known:
        """What is known of an output."""
        operator, kind = node.op_type, _kind_given(node, given, at)
        fixed = operator in ("Shape", "Size") or all(value.is_fixed for value in given)
        texts = [value for value in given if value.kind == _TEXT and not value.is_fixed]
        if fixed or not (texts or kind == _TEXT):
            return _Known(fixed, kind)
        if operator not in _OF_TEXTS.split():
            raise _refused("without operators that make many of a record's texts", operator)
        copies = sum(value.copies for value in texts) or 1
        if texts and operator in ("ArrayFeatureExtractor", "Gather"):
            chosen = self.initializers.get(node.input[1]) if len(given) > 1 else None
            copies *= MOST_COPIES + 1 if chosen is None else max(math.prod(chosen.dims), 1)
        if copies > MOST_COPIES:
            raise _refused(f"of at most {MOST_COPIES:,} copies of a record's text", operator)
        return _Known(False, kind, copies)

    def _is_positive(self, name: str) -> bool:
        tensor = self.initializers.get(name)
        if tensor is None or math.prod(tensor.dims) > MOST_WIDTH:
            return False
        array = needed("onnx", "an ONNX model").numpy_helper.to_array(tensor)
        return array.dtype.kind in "iu" and bool((array > 0).all())

    # --------------------------------------------------------------------------- facts

    @property
    def inputs(self) -> list[Any]:
        """What has to be fed."""
        return [given for given in self.graph.input if given.name not in self.initializers]

    @property
    def classes(self) -> tuple[Label, ...] | None:
        """The labels, in the order of the scores, if the model says them."""
        found = self._classes()
        if found is not None and len(found) > MOST_WIDTH:
            raise _refused(f"of at most {MOST_WIDTH:,} classes", f"of {len(found):,}")
        return found

    def _classes(self) -> tuple[Label, ...] | None:
        for node in self.graph.node:
            if node.op_type == "ZipMap":
                return _listed(node)
        onnx = needed("onnx", "an ONNX model")
        kinds = onnx.TensorProto
        whole = (kinds.INT64, kinds.INT32, kinds.STRING, kinds.BOOL)
        widths = []
        for output in self.graph.output:
            tensor = output.type.tensor_type
            if tensor.elem_type in whole:
                found = self._traced(output.name)
                if found is not None:
                    return found
                if tensor.elem_type == kinds.BOOL:
                    return TRUTHS
            elif tensor.elem_type in (kinds.FLOAT, kinds.DOUBLE):
                widths.append(_width(tensor))
        labelled = len(widths) < len(self.graph.output)
        if not widths or widths[0] is None:
            return None
        if widths[0] > 1:
            return tuple(range(widths[0]))
        return None if labelled else TRUTHS

    def _traced(self, name: str) -> tuple[Label, ...] | None:
        """The classes of the node that a label comes from."""
        for _ in range(len(self.graph.node)):
            node = self._producers.get(name)
            if node is None:
                return None
            if node.op_type in _CLASSIFIERS:
                return _listed(node)
            if node.op_type == "LabelEncoder":
                return _encoded(node)
            if node.op_type in ("ArrayFeatureExtractor", "Gather"):
                return self._constant(node.input[0])
            if node.op_type not in _PASSING:
                return None
            name = node.input[0]
        return None

    def _constant(self, name: str) -> tuple[Label, ...] | None:
        onnx = needed("onnx", "an ONNX model")
        for _ in range(len(self.graph.node) + 1):
            if name in self.initializers:
                if math.prod(self.initializers[name].dims) > MOST_WIDTH:
                    return None
                array = onnx.numpy_helper.to_array(self.initializers[name])
                return tuple(_plain(value) for value in np.ravel(array).tolist())
            node = self._producers.get(name)
            if node is None or node.op_type not in _PASSING:
                return None
            name = node.input[0]
        return None


# ------------------------------------------------------------------------ what is bounded

_RUNS = {
    0x3D: re.compile(rb"(?:=[\x00-\xff]{4}){1,4096}"),
    0x40: re.compile(rb"(?:@[\x80-\xff]{0,9}[\x00-\x7f]){1,4096}"),
    0x4A: re.compile(rb"(?:J\x04LEAF|J\x09BRANCH_[A-Z]{2}|J\x0aBRANCH_[A-Z]{3}){1,4096}"),
}
"""Many numbers of an attribute, each with a tag of its own, and the names in the nodes of trees."""


def _count_parts(content: bytes, kind: Any) -> None:
    """See to it that there are not too many, before memory is taken for each."""
    parts, below = 0, dict[str, dict[int, Any]]()
    waiting = [(0, len(content), kind, 0)]
    while waiting:
        at, stop, kind, depth = waiting.pop()
        if depth > MOST_DEPTH:
            raise _refused("of parts that are not deeply nested", "such a one")
        runs = _RUNS if kind.name == "AttributeProto" else {}
        if kind.full_name not in below:
            fields = {field.number: field.message_type for field in kind.fields}
            below[kind.full_name] = {number: one for number, one in fields.items() if one}
        inner = below[kind.full_name]
        while at < stop:
            parts += 1
            if parts > MOST_PARTS:
                raise _refused(f"of at most {MOST_PARTS:,} parts", "of more")
            tag = content[at]
            if tag in runs and (run := runs[tag].match(content, at, stop)) is not None:
                at = run.end()
                continue
            tag, at = (tag, at + 1) if tag < 128 else _varint(content, at)
            match tag & 7:
                case 2:
                    size, at = _varint(content, at)
                    if size and tag >> 3 in inner:
                        waiting.append((at, at + size, inner[tag >> 3], depth + 1))
                    at += size
                case 0:
                    _, at = _varint(content, at)
                case 1:
                    at += 8
                case 5:
                    at += 4
                case _:
                    raise ValueError
        if at != stop:
            raise ValueError


def _varint(content: bytes, at: int) -> tuple[int, int]:
    if content[at] < 128:
        return content[at], at + 1
    found = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise ValueError


def _check_operator(node: Any) -> None:
    operator = node.op_type
    drops = operator == "Dropout" and len(node.input) > 2 and bool(node.input[2])
    if operator in _RANDOM.split() or drops:
        raise _refused("without random operators", operator)
    if operator in _CONTROL or any(given.HasField("g") or given.graphs for given in node.attribute):
        raise _refused("without loops, branches and inner graphs", operator)
    domain = named(node.domain)
    if domain not in _OPERATORS or node.overload:
        raise _refused("of ONNX's own operators", f"{node.domain}.{operator}"[:100])
    if operator not in _OPERATORS[domain]:
        raise _refused("of operators that are known to cost little", operator[:100])
    if len(_attributes(node)) != len(node.attribute):
        raise _refused("of attributes that are given once", operator)
    if not node.output or not (node.input or operator == "Constant"):
        raise _refused("of nodes with inputs and outputs", operator)
    given = _attributes(node)
    if "post_transform" in given and given["post_transform"].s == b"PROBIT":
        # The runtime reads memory that nobody has written: its values differ from call to call.
        raise _refused("without the transform PROBIT", operator)
    if operator == "SVMClassifier" and "prob_a" in given and len(_listed(node) or ()) > 2:
        # Their probabilities are coupled by an iteration, whose length is the record's.
        hint = "export its scores, or calibrate it by other means"
        required = "of operators that cost the same for every record"
        raise _refused(required, "SVMClassifier with probabilities of several classes", hint)
    if operator in TREES:
        check_trees(node)


def _check_parts(model: Any) -> None:
    """That there is nothing in any corner of it which it may not have."""
    onnx = needed("onnx", "an ONNX model")
    kinds = onnx.AttributeProto
    fields = {kinds.FLOAT: "f", kinds.INT: "i", kinds.STRING: "s", kinds.TENSOR: "t"}
    fields |= {kinds.FLOATS: "floats", kinds.INTS: "ints", kinds.STRINGS: "strings"}
    numbers = graphs = 0
    for part in _parts(model):
        match part.DESCRIPTOR.name:
            case "TensorProto":
                outside = onnx.TensorProto.EXTERNAL
                if part.data_location == outside or len(part.external_data):
                    raise _refused("in one file, without external data", part.name[:100])
                numbers += _size(part)
                if numbers > MOST_NUMBERS:
                    raise _refused(f"of at most {MOST_NUMBERS:,} constant numbers", "of more")
            case "SparseTensorProto":
                raise _refused("without sparse tensors", "one with them")
            case "FunctionProto" | "TrainingInfoProto":
                raise _refused("without functions and training of its own", "one with them")
            case "GraphProto":
                graphs += 1
                if graphs > 1:
                    raise _refused("without loops, branches and inner graphs", part.name[:100])
            case "AttributeProto":
                if max(map(len, (part.s, *part.strings))) > LONGEST_TEXT:
                    raise _refused(f"of texts of at most {LONGEST_TEXT:,} bytes", part.name[:100])
                present = {field.name for field, _ in part.ListFields()}
                if not present <= {"name", "type", "doc_string", fields.get(part.type)}:
                    raise _refused("of numbers, texts and tensors as attributes", part.name[:100])


def _parts(model: Any) -> Iterator[Any]:
    """All messages, whatever field they are in."""
    waiting = [model]
    while waiting:
        part = waiting.pop()
        yield part
        if part.DESCRIPTOR.name == "TensorProto":
            continue  # only texts and numbers below, of which a list would make a copy
        for field, value in part.ListFields():
            if field.message_type is not None:
                waiting.extend([value] if hasattr(value, "DESCRIPTOR") else value)


def _size(tensor: Any) -> int:
    """How many numbers it says it has, which must be as many as it has."""
    kinds = _stored()
    if tensor.data_type not in kinds or tensor.HasField("segment"):
        raise _refused("of constants of usual types", tensor.name[:100])
    size, field = kinds[tensor.data_type]
    filled = {name for _, name in kinds.values() if len(getattr(tensor, name))}
    count: int = math.prod(tensor.dims)
    if tensor.HasField("raw_data"):
        is_whole = size > 0 and not filled and len(tensor.raw_data) == count * size
    else:
        is_whole = filled <= {field} and len(getattr(tensor, field)) == count
    if any(len(text) > LONGEST_TEXT for text in tensor.string_data):
        raise _refused(f"of texts of at most {LONGEST_TEXT:,} bytes", tensor.name[:100])
    if not is_whole or any(dim < 0 for dim in tensor.dims):
        raise _refused("of constants with as many numbers as they say", tensor.name[:100])
    return count


def _stored() -> Mapping[int, tuple[int, str]]:
    """Types: the bytes of a number (0: of any length), and where it is if not among the raw."""
    kinds = needed("onnx", "an ONNX model").TensorProto
    return {
        **dict.fromkeys((kinds.INT8, kinds.UINT8, kinds.BOOL), (1, "int32_data")),
        **dict.fromkeys((kinds.INT16, kinds.UINT16, kinds.FLOAT16), (2, "int32_data")),
        kinds.INT32: (4, "int32_data"),
        kinds.INT64: (8, "int64_data"),
        kinds.UINT32: (4, "uint64_data"),
        kinds.UINT64: (8, "uint64_data"),
        kinds.FLOAT: (4, "float_data"),
        kinds.DOUBLE: (8, "double_data"),
        kinds.STRING: (0, "string_data"),
    }


# ----------------------------------------------------------------------- what is known


_FLOAT, _DOUBLE, _TEXT, _OTHER = "float", "double", "text", "other"


@dataclass(frozen=True)
class _Known:
    """Whether no record has a say in a value, what it is of, and how many copies of a text."""

    is_fixed: bool
    kind: str = _OTHER
    copies: int = 1


_LEFT_OUT = _Known(True)


def _define(known: dict[str, _Known], name: str, value: _Known) -> None:
    if not name or name in known:
        raise _refused("of values with names of their own", name[:100])
    known[name] = value


def _kind(number: int) -> str:
    kinds = needed("onnx", "an ONNX model").TensorProto
    if number == kinds.STRING:
        return _TEXT
    if number == kinds.DOUBLE:
        return _DOUBLE
    return _FLOAT if number in (kinds.FLOAT, kinds.FLOAT16) else _OTHER


def _kind_given(node: Any, given: list[_Known], at: int) -> str:
    attributes, operator = _attributes(node), node.op_type
    texts = any(_holds_texts(attribute) for attribute in node.attribute)
    if operator in _CLASSIFIERS:
        return _FLOAT if at == 1 else _TEXT if texts else _OTHER
    match operator:
        case "Cast":
            return _cast_to(node)
        case "Constant" if any(name.startswith("value_string") for name in attributes):
            return _TEXT
        case "Constant" | "ConstantOfShape":
            return _kind(attributes["value"].t.data_type) if "value" in attributes else _OTHER
        case "LabelEncoder":
            return _TEXT if texts else _OTHER
        case "Where":
            return given[1].kind if len(given) > 1 else _OTHER
    if operator in _FLOATS.split() and given[0].kind == _DOUBLE:
        return _DOUBLE
    if operator in _GIVE_FLOATS:
        return _FLOAT if at == 0 else _OTHER
    if operator in _GIVE_THE_SAME and (at == 0 or operator == "Split"):
        return given[0].kind
    return _OTHER


def _cast_to(node: Any) -> str:
    attributes = _attributes(node)
    return _kind(attributes["to"].i) if "to" in attributes else _OTHER


def _holds_texts(attribute: Any) -> bool:
    """Whether it may be the labels that a node gives."""
    if not attribute.name.startswith(("classlabels", "values", "default")):
        return False
    return bool(attribute.strings) or _kind(attribute.t.data_type) == _TEXT or bool(attribute.s)


def named(domain: str) -> str:
    """A domain by the shorter of its names."""
    return MAIN if domain == "ai.onnx" else domain


def _width(tensor: Any) -> int | None:
    """Numbers for each record, as declared."""
    if not tensor.HasField("shape"):
        return None
    dims = tensor.shape.dim
    if len(dims) == 1:
        return 1
    if len(dims) == 2 and dims[1].HasField("dim_value") and dims[1].dim_value > 0:
        return int(dims[1].dim_value)
    return None


def _attributes(node: Any) -> Mapping[str, Any]:
    return {attribute.name: attribute for attribute in node.attribute}


def _listed(node: Any) -> tuple[Label, ...] | None:
    given = _attributes(node)
    for name in ("classlabels_ints", "classlabels_int64s"):
        if name in given and given[name].ints:
            return tuple(int(value) for value in given[name].ints)
    if "classlabels_strings" in given and given["classlabels_strings"].strings:
        return tuple(_plain(value) for value in given["classlabels_strings"].strings)
    return None


def _encoded(node: Any) -> tuple[Label, ...] | None:
    given = _attributes(node)
    if "values_strings" in given:
        return tuple(_plain(value) for value in given["values_strings"].strings)
    if "values_int64s" in given:
        return tuple(int(value) for value in given["values_int64s"].ints)
    return None


def _plain(value: Any) -> Label:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    plain: Label = value
    return plain


def _refused(required: str, got: str, hint: str = "") -> InvalidInput:
    return InvalidInput("an ONNX model", required, got, hint)
