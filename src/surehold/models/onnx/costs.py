"""That all sizes are the same whatever a record holds, and so is what a call takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surehold.models.onnx.classes import CLASSIFIERS, MOST_WIDTH
from surehold.models.onnx.nodes import MAIN, attributes_of, onnx, refusal
from surehold.models.onnx.operators import (
    GIVE_DOUBLES,
    GIVE_FLOATS,
    GIVE_THE_SAME,
    OPERATORS,
    SAME_COST,
)

MOST_COPIES = 10_000
"""Of a record's text, which may be of any length."""

# What may be done with, or give, texts that depend on a record.
_TEXT_NAMES = """ArrayFeatureExtractor Cast Concat Equal Flatten Gather Identity LabelEncoder
LinearClassifier OneHotEncoder Reshape SVMClassifier Shape Slice Split Squeeze Transpose
TreeEnsembleClassifier Unsqueeze"""
_OF_TEXTS = frozenset(_TEXT_NAMES.split())
# Inputs that decide how large an output is.
_SECOND = "CumSum Expand OneHot Reshape Split Squeeze Tile TopK Unsqueeze"
_SIZES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(_SECOND.split(), (1,)),
    **{name: (1,) for name in OPERATORS[MAIN] if name.startswith("Reduce")},
    "ConstantOfShape": (0,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Slice": (1, 2, 3, 4),
}

_FLOAT, _DOUBLE, _TEXT, _OTHER = "float", "double", "text", "other"


@dataclass(frozen=True)
class _Known:
    """Whether a value is the same for all records, its type, and how many copies of a text."""

    is_fixed: bool
    kind: str = _OTHER
    copies: int = 1


_LEFT_OUT = _Known(True)


def check_costs(graph: Any) -> None:
    """Refuse a graph in which a record decides about a size, a cost or a failure."""
    _Costs(graph).check()


class _Costs:
    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._known: dict[str, _Known] = {}

    def check(self) -> None:
        for tensor in self._graph.initializer:
            self._define(tensor.name, _Known(True, _kind(tensor.data_type)))
        for fed in self._graph.input:
            if fed.name not in self._constants:
                self._define(fed.name, _Known(False, _kind(fed.type.tensor_type.elem_type)))
        for node in self._graph.node:
            if any(name and name not in self._known for name in node.input):
                raise refusal("made of nodes in the order in which they are used", node.op_type)
            given = [self._known[name] if name else _LEFT_OUT for name in node.input]
            self._check_node(node, given)
            for at, name in enumerate(node.output):
                if name:
                    self._define(name, self._output(node, given, at))
        for output in self._graph.output:
            if output.name not in self._known:
                raise refusal("of outputs that it computes", output.name)

    def _define(self, name: str, value: _Known) -> None:
        if not name or name in self._known:
            raise refusal("of values with names of their own", name)
        self._known[name] = value

    def _check_node(self, node: Any, given: list[_Known]) -> None:
        operator = node.op_type
        for at in _SIZES.get(operator, ()):
            if at < len(given) and not given[at].is_fixed:
                required = "of sizes that do not depend on what a record holds"
                raise refusal(required, f"one whose {operator} depends on it")
        if all(value.is_fixed for value in given):
            return
        is_float = any(value.kind in (_FLOAT, _DOUBLE) for value in given)
        if operator in ("Div", "Mod") and not is_float and not self._is_positive(node.input[-1]):
            # By zero, and the least whole number by -1, ends the process.
            required = "without divisions of whole numbers by anything but positive constants"
            raise refusal(required, f"one with such a {operator}")
        if operator == "Mod" and is_float:
            raise refusal(SAME_COST, "Mod of floats")
        if operator in ("Cos", "Sin") and any(value.kind == _DOUBLE for value in given):
            raise refusal(SAME_COST, f"{operator} of doubles", "cast them to float first")
        if operator == "Cast" and given[0].kind == _TEXT and _cast_to(node) != _TEXT:
            hint = "use a LabelEncoder, which has a value for every text"
            raise refusal("without casts of a record's texts to numbers", "one with them", hint)

    def _output(self, node: Any, given: list[_Known], at: int) -> _Known:
        operator, kind = node.op_type, _kind_of_output(node, given, at)
        fixed = operator in ("Shape", "Size") or all(value.is_fixed for value in given)
        texts = [value for value in given if value.kind == _TEXT and not value.is_fixed]
        if fixed or not (texts or kind == _TEXT):
            return _Known(fixed, kind)
        if operator not in _OF_TEXTS:
            raise refusal("without operators that make many of a record's texts", operator)
        copies = sum(value.copies for value in texts) or 1
        if texts and operator in ("ArrayFeatureExtractor", "Gather"):
            chosen = self._constants.get(node.input[1]) if len(given) > 1 else None
            copies *= MOST_COPIES + 1 if chosen is None else max(math.prod(chosen.dims), 1)
        if copies > MOST_COPIES:
            raise refusal(f"of at most {MOST_COPIES:,} copies of a record's text", operator)
        return _Known(False, kind, copies)

    def _is_positive(self, name: str) -> bool:
        tensor = self._constants.get(name)
        if tensor is None or math.prod(tensor.dims) > MOST_WIDTH:
            return False
        array = onnx().numpy_helper.to_array(tensor)
        return array.dtype.kind in "iu" and bool((array > 0).all())


def _kind(number: int) -> str:
    kinds = onnx().TensorProto
    if number == kinds.STRING:
        return _TEXT
    if number == kinds.DOUBLE:
        return _DOUBLE
    return _FLOAT if number in (kinds.FLOAT, kinds.FLOAT16) else _OTHER


def _kind_of_output(node: Any, given: list[_Known], at: int) -> str:
    attributes, operator = attributes_of(node), node.op_type
    texts = any(map(_holds_texts, node.attribute))
    if operator in CLASSIFIERS:
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
    if operator in GIVE_DOUBLES and given[0].kind == _DOUBLE:
        return _DOUBLE
    if operator in GIVE_FLOATS:
        return _FLOAT if at == 0 else _OTHER
    if operator in GIVE_THE_SAME and (at == 0 or operator == "Split"):
        return given[0].kind
    return _OTHER


def _cast_to(node: Any) -> str:
    attributes = attributes_of(node)
    return _kind(attributes["to"].i) if "to" in attributes else _OTHER


def _holds_texts(attribute: Any) -> bool:
    """Whether it may be the labels that a node gives."""
    if not attribute.name.startswith(("classlabels", "values", "default")):
        return False
    return bool(attribute.strings) or _kind(attribute.t.data_type) == _TEXT or bool(attribute.s)
