"""An ONNX model as the runtime is given it: with nothing left by which a record could make it fail.

Nor by which it could decide what a call takes. Operators that would are refused (:mod:`.graph`),
or replaced here by what does the same for all that the operator is defined for.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from surehold.models.base import Unfit
from surehold.models.onnx.nodes import MAIN, domain_of, onnx
from surehold.models.onnx.trees import TREES, pad_trees

_INDEXED = ("ArrayFeatureExtractor", "Gather")
_OLDEST = 9
"""The first opset with the operators that keep an index in range."""


def prepare(content: bytes) -> bytes:
    """The model with only what was read when it was checked, and changed in four ways.

    It gives a matrix instead of a list of dictionaries, which would take long to make; takes an
    unknown category as none of the known ones; keeps every index of a record's in range; and has
    paths of one length through every tree.
    """
    helper, kinds = onnx().helper, onnx().TensorProto
    model = onnx().load_model_from_string(content)
    model.DiscardUnknownFields()
    # What is said about it besides, which may be wrong; the runtime finds out for itself.
    for field in ("value_info", "quantization_annotation", "metadata_props"):
        model.graph.ClearField(field)
    model.ClearField("metadata_props")
    mapped = {node.output[0]: node for node in model.graph.node if node.op_type == "ZipMap"}
    for output in model.graph.output:
        node = mapped.get(output.name)
        if node is not None:
            output.CopyFrom(helper.make_tensor_value_info(output.name, kinds.FLOAT, None))
            node.CopyFrom(helper.make_node("Identity", [node.input[0]], [output.name]))
    for node in model.graph.node:
        if node.op_type in TREES:
            pad_trees(node)
        elif node.op_type == "OneHotEncoder":
            kept = [each for each in node.attribute if each.name != "zeros"]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute("zeros", 1)])
    _keep_in_range(model)
    prepared: bytes = model.SerializeToString()
    return prepared


def _keep_in_range(model: Any) -> None:
    """Put a few nodes before each that takes an entry by an index, unless it is a constant one."""
    graph = model.graph
    constant = {tensor.name for tensor in graph.initializer}
    constant |= {node.output[0] for node in graph.node if node.op_type == "Constant"}
    if not any(_is_open(node, constant) for node in graph.node):
        return
    opset = min((one.version for one in model.opset_import if domain_of(one) == MAIN), default=0)
    if opset < _OLDEST:
        raise Unfit(f"it chooses by an index; export it for opset {_OLDEST} or later, not {opset}")
    used = {name for node in graph.node for name in (*node.input, *node.output)} | constant
    used |= {given.name for given in graph.input}
    prefix = next(
        name
        for name in map("in_range_{}".format, range(len(used) + 1))
        if not any(one.startswith(name) for one in used)
    )
    made: list[Any] = []
    constants: dict[str, Any] = {}
    for at, node in enumerate(graph.node):
        if _is_open(node, constant):
            bounded = _clamp_index(node, f"{prefix}_{at}", constants)
            made += bounded
            node.input[1] = bounded[-1].output[0]
        made.append(node)
    nodes = list(map(copy.deepcopy, made))  # they are gone with the list that they are in
    del graph.node[:]
    graph.node.extend(nodes)
    from_array: Callable[..., Any] = onnx().numpy_helper.from_array
    graph.initializer.extend(from_array(value, name) for name, value in constants.items())


def _is_open(node: Any, constant: set[str]) -> bool:
    return node.op_type in _INDEXED and len(node.input) > 1 and node.input[1] not in constant


def _clamp_index(node: Any, prefix: str, constants: dict[str, Any]) -> list[Any]:
    """The nodes by which the nearest index in range takes the place of any other.

    Gather counts negative ones from the end, ArrayFeatureExtractor has none.
    """
    make_node = onnx().helper.make_node
    made: list[Any] = []

    def add(operator: str, *given: str, **attributes: int) -> str:
        made.append(make_node(operator, given, [f"{prefix}_{len(made)}"], **attributes))
        return f"{prefix}_{len(made) - 1}"

    def constant(value: int) -> str:
        name = f"{prefix}_of_{value}"
        constants[name] = np.array(value)
        return name

    axis, first = -1, constant(0)
    if node.op_type == "Gather":
        axis = next((int(each.i) for each in node.attribute if each.name == "axis"), 0)
    size = add("Gather", add("Shape", node.input[0]), constant(axis))
    last = add("Sub", size, constant(1))
    if node.op_type == "Gather":
        first = add("Sub", first, size)
    index = add("Cast", node.input[1], to=7)
    index = add("Where", add("Less", index, first), first, index)
    add("Where", add("Greater", index, last), last, index)
    return made
