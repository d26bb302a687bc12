"""The labels of an ONNX model, in the order of its scores, as far as the file says them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surehold.models.base import TRUTHS, Label
from surehold.models.onnx.nodes import attributes_of, onnx

MOST_WIDTH = 20_000
"""Numbers for each record in an input or output, and classes."""
CLASSIFIERS = frozenset({"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"})
_PASSING = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Flatten"})

Labels = tuple[Label, ...] | None


def find_classes(graph: Any) -> Labels:
    """The classes by a ZipMap, by the node that labels come from, or by the width of the scores."""
    for node in graph.node:
        if node.op_type == "ZipMap":
            return listed_classes(node)
    kinds = onnx().TensorProto
    trace = _Trace(graph)
    widths = []
    for output in graph.output:
        tensor = output.type.tensor_type
        if tensor.elem_type in (kinds.INT64, kinds.INT32, kinds.STRING, kinds.BOOL):
            found = trace.labels(output.name)
            if found is not None:
                return found
            if tensor.elem_type == kinds.BOOL:
                return TRUTHS
        elif tensor.elem_type in (kinds.FLOAT, kinds.DOUBLE):
            widths.append(_width(tensor))
    if not widths or widths[0] is None:
        return None
    if widths[0] > 1:
        return tuple(range(widths[0]))
    has_labels = len(widths) < len(graph.output)
    return None if has_labels else TRUTHS


def listed_classes(node: Any) -> Labels:
    """The classes that a classifier, or a ZipMap, lists."""
    return _first_list(node, "classlabels_ints", "classlabels_int64s", "classlabels_strings")


def _first_list(node: Any, *names: str) -> Labels:
    given = attributes_of(node)
    for name in names:
        if name in given:
            values = given[name].strings if name.endswith("strings") else given[name].ints
            if values:
                return tuple(map(_plain, values))
    return None


class _Trace:
    """From the name of an output back to the constants that its labels are taken from."""

    def __init__(self, graph: Any) -> None:
        self._steps = len(graph.node) + 1
        self._origins: dict[str, Any] = {
            name: node for node in graph.node for name in node.output if name
        }
        self._origins |= {tensor.name: tensor for tensor in graph.initializer}

    def labels(self, name: str) -> Labels:
        """The classes of the node that a label comes from."""
        node = self._origin(name)
        operator = getattr(node, "op_type", None)
        if operator in CLASSIFIERS:
            return listed_classes(node)
        if operator == "LabelEncoder":
            return _first_list(node, "values_strings", "values_int64s")
        if operator in ("ArrayFeatureExtractor", "Gather"):
            tensor = self._origin(node.input[0])
            if hasattr(tensor, "dims") and math.prod(tensor.dims) <= MOST_WIDTH:
                return tuple(map(_plain, np.ravel(onnx().numpy_helper.to_array(tensor)).tolist()))
        return None

    def _origin(self, name: str) -> Any:
        """The constant, or the first node that changes values, on the way back; or None."""
        for _ in range(self._steps):
            found = self._origins.get(name)
            if found is None or getattr(found, "op_type", None) not in _PASSING:
                return found
            name = found.input[0]
        return None


def _plain(value: Any) -> Label:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


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
