"""Small ONNX graphs for tests."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from surehold.errors import InvalidInput
from surehold.models.onnx.row_proof import is_rowwise
from surehold.models.payload import payload_of

FLOAT = TensorProto.FLOAT


def node(operator, inputs, outputs, domain="", **attributes):
    return helper.make_node(operator, inputs.split(), outputs.split(), domain=domain, **attributes)


def ml(operator, inputs, outputs, **attributes):
    return node(operator, inputs, outputs, domain="ai.onnx.ml", **attributes)


def model(
    *nodes,
    constants=None,
    inputs=None,
    output=("y", FLOAT, None),
    opset=18,
    more_outputs=(),
    also=(),
):
    """A model with the input x of shape [N, 3] unless told otherwise; constants by name."""
    inputs = inputs or [("x", FLOAT, [None, 3])]
    given = [helper.make_tensor_value_info(*each) for each in [*inputs, *also]]
    outputs = [helper.make_tensor_value_info(*each) for each in (output, *more_outputs)]
    tensors = [
        numpy_helper.from_array(np.asarray(value), name)
        for name, value in (constants or {}).items()
    ]
    graph = helper.make_graph(list(nodes), "g", given, outputs, tensors)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def f(*values):
    return np.array(values, np.float32)


def i(*values):
    return np.array(values, np.int64)


def plain():
    return model(node("Relu", "x", "y"))


def refused(graph, says):
    content = graph if isinstance(graph, bytes) else graph.SerializeToString()
    with pytest.raises(InvalidInput, match=says):
        payload_of(content)
    with pytest.raises(InvalidInput, match=says):
        is_rowwise(content)
