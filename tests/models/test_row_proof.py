"""The proof that rows do not mix: never given where they do, and given for what is usual."""

from __future__ import annotations

import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from support.onnx_graphs import FLOAT, f, i, ml, model, node
from support.row_mixing import LINEAR, TREE, mixes, random_graph
from surehold.errors import InvalidInput
from surehold.models.onnx.graph import Graph
from surehold.models.onnx.row_proof import is_rowwise

SQUARE = np.eye(3, dtype=np.float32) + 0.5
SUM = node("ReduceSum", "x all", "s", keepdims=1)

MIXED = {
    "mean over records": model(node("ReduceMean", "x zero", "y"), constants={"zero": i(0)}),
    "mean over all": model(node("ReduceMean", "x", "y")),
    "mean, axes empty": model(node("ReduceMean", "x e", "y"), constants={"e": i()}),
    "mean by a negative axis": model(node("ReduceMean", "x e", "y"), constants={"e": i(-2)}),
    "mean, older": model(node("ReduceMean", "x", "y", axes=[0]), opset=13),
    "centred": model(
        node("ReduceMean", "x zero", "m", keepdims=1),
        node("Sub", "x m", "y"),
        constants={"zero": i(0)},
    ),
    "running sum": model(node("CumSum", "x zero", "y"), constants={"zero": np.array(0)}),
    "gram": model(node("Transpose", "x", "t"), node("MatMul", "t x", "y")),
    "gram the other way": model(node("Transpose", "x", "t"), node("MatMul", "x t", "y")),
    "transposed": model(node("Transpose", "x", "y", perm=[1, 0])),
    "reshaped to pairs": model(node("Reshape", "x s", "y"), constants={"s": i(-1, 6)}),
    "reshaped, first fixed": model(node("Reshape", "x s", "y"), constants={"s": i(3, -1)}),
    "reshaped to one": model(node("Reshape", "x s", "y"), constants={"s": i(-1)}),
    "reshaped there and back": model(
        node("Reshape", "x s", "a"),
        node("ReduceMax", "a one", "b"),
        node("Expand", "b t", "y"),
        constants={"s": i(1, -1), "one": i(1), "t": i(4, 3)},
    ),
    "reshaped by a wrong declaration": model(
        node("Reshape", "x s", "y"), constants={"s": i(-1, 6)}, inputs=[("x", FLOAT, [None, None])]
    ),
    "turned by a transpose": model(
        node("Transpose", "x", "t"),
        node("Reshape", "t s", "y"),
        constants={"s": i(-1, 3)},
    ),
    "top over records": model(node("TopK", "x k", "y j", axis=0, largest=1), constants={"k": i(1)}),
    "softmax over records": model(node("Softmax", "x", "y", axis=0)),
    "softmax over all": model(node("Softmax", "x", "y", axis=0), opset=11),
    "argmax over records": model(node("ArgMax", "x", "y"), output=("y", TensorProto.INT64, None)),
    "normalised over records": model(node("LpNormalization", "x", "y", axis=0)),
    "batch normalisation that trains": model(
        node("BatchNormalization", "x a b c d", "y p q", training_mode=1),
        constants={"a": f(1, 1, 1), "b": f(0, 0, 0), "c": f(0, 0, 0), "d": f(1, 1, 1)},
    ),
    "gemm turned": model(node("Gemm", "x w", "y", transA=1), constants={"w": SQUARE[:, :1]}),
    "gemm on the right": model(node("Gemm", "w x", "y"), constants={"w": f([1], [1], [1], [1])}),
    "gemm with a column for each record": model(
        node("Gemm", "x w c", "y"), constants={"w": SQUARE, "c": np.ones((4, 3), np.float32)}
    ),
    "one entry for each record": model(
        node("Add", "x c", "y"), constants={"c": np.arange(12, dtype=np.float32).reshape(4, 3)}
    ),
    "a vector beside a matrix": model(
        node("ReduceSum", "x one", "s", keepdims=0),
        node("Add", "x s", "y"),
        constants={"one": i(1)},
    ),
    "a vector beside a column": model(
        node("ReduceSum", "x one", "s", keepdims=0),
        node("ReduceSum", "x one", "t", keepdims=1),
        node("Add", "t s", "u"),
        node("ReduceMax", "u one", "y"),
        constants={"one": i(1)},
    ),
    "more axes than the rows have": model(
        node("Add", "x c", "y"), constants={"c": np.zeros((2, 1, 3), np.float32)}
    ),
    "a vector taken for a record": model(
        node("ReduceSum", "x one", "s", keepdims=0),
        ml("Normalizer", "s", "y", norm="L2"),
        constants={"one": i(1)},
    ),
    "a vector taken for a record of a tree": model(
        node("ReduceSum", "x one", "s", keepdims=0),
        ml("TreeEnsembleRegressor", "s", "y", **TREE),
        constants={"one": i(1)},
    ),
    "concatenated below": model(node("Concat", "x x", "y", axis=0)),
    "first record for all": model(node("Gather", "x z", "y"), constants={"z": i(0)}),
    "records in reverse": model(
        node("Slice", "x s e a t", "y"), constants={"s": i(-1), "e": i(-99), "a": i(0), "t": i(-1)}
    ),
    "sliced without axes": model(node("Slice", "x s e", "y"), constants={"s": i(1), "e": i(99)}),
    "split over records": model(node("Split", "x", "y z", num_outputs=2)),
    "squeezed, whichever": model(node("Squeeze", "x", "y")),
    "another axis in front": model(node("Unsqueeze", "x a", "y"), constants={"a": i(0)}),
    "flattened to one": model(node("Flatten", "x", "y", axis=0)),
    "sizes as values": model(
        node("Shape", "x", "n"), node("Cast", "n", "c", to=1), node("Mul", "x c", "y")
    ),
    "an initializer that is an input": model(
        node("Add", "x c", "y"), constants={"c": f(1)}, also=[("c", FLOAT, [1])]
    ),
    "an older opset": model(node("Add", "x c", "y"), constants={"c": f(1)}, opset=6),
    "a size that is computed": model(
        node("Cast", "s", "t", to=7), node("Reshape", "x t", "y"), constants={"s": f(-1, 3)}
    ),
    "no size declared": model(node("Relu", "x", "y"), inputs=[("x", FLOAT, None)]),
    "a constant output": model(
        node("Relu", "x", "z"), node("Relu", "c", "y"), constants={"c": f(1)}
    ),
    "one record only": model(node("Relu", "x", "y"), inputs=[("x", FLOAT, [1, 3])]),
    "choice by another's": model(
        node("ReduceMax", "x zero", "m", keepdims=1),
        node("Equal", "x m", "e"),
        node("Where", "e x c", "y"),
        constants={"zero": i(0), "c": f(0)},
    ),
}

APART = {
    "linear": model(
        node("Gemm", "x w b", "a", transB=1),
        node("Sigmoid", "a", "y"),
        constants={"w": SQUARE, "b": f(1, 2, 3)},
    ),
    "network": model(
        node("MatMul", "x w", "a"),
        node("Add", "a b", "h"),
        node("Relu", "h", "r"),
        node("MatMul", "r w", "o"),
        node("Softmax", "o", "y", axis=-1),
        constants={"w": SQUARE, "b": f([1, 2, 3])},
    ),
    "softmax by hand": model(
        node("ReduceMax", "x one", "m", keepdims=1),
        node("Sub", "x m", "d"),
        node("Exp", "d", "e"),
        node("ReduceSum", "e one", "s", keepdims=1),
        node("Div", "e s", "y"),
        constants={"one": i(-1)},
    ),
    "batch normalisation": model(
        node("BatchNormalization", "x a b c d", "y"),
        constants={"a": f(1, 2, 1), "b": f(0, 1, 0), "c": f(0, 0, 0.5), "d": f(1, 2, 1)},
    ),
    "reshaped": model(
        node("Reshape", "x s", "a"),
        node("ReduceMean", "a two", "b", keepdims=0),
        node("Reshape", "b t", "y"),
        constants={"s": i(0, 3, -1), "two": i(2), "t": i(-1, 3)},
    ),
    "parts": model(
        node("Split", "x", "a b c", axis=1, num_outputs=3),
        node("Concat", "c a", "d", axis=-1),
        node("Gather", "x j", "e", axis=1),
        node("Slice", "x s t one", "g"),
        node("Sum", "d e g", "y"),
        constants={"j": i(0, 2), "s": i(1), "t": i(3), "one": i(1)},
    ),
    "top": model(node("TopK", "x k", "y j", axis=1), constants={"k": i(2)}),
    "axes": model(
        node("Unsqueeze", "x two", "a"),
        node("Transpose", "a", "b", perm=[0, 2, 1]),
        node("Squeeze", "b one", "c"),
        node("Flatten", "c", "y"),
        constants={"one": i(1), "two": i(2)},
    ),
    "table": model(
        node("ArgMax", "x", "a", axis=1, keepdims=0),
        node("Gather", "t a", "y"),
        constants={"t": np.arange(9, dtype=np.float32).reshape(3, 3)},
    ),
    "labels lying down": model(
        node("ArgMax", "x", "a", axis=1),
        ml("ArrayFeatureExtractor", "t a", "b"),
        node("Cast", "b", "c", to=1),
        node("Reshape", "c s", "y"),
        constants={"t": i(10, 20, 30), "s": i(-1)},
    ),
    "tree": model(ml("TreeEnsembleRegressor", "x", "y", **TREE)),
    "regression": model(ml("LinearRegressor", "x", "y", **LINEAR)),
    "prepared": model(
        ml("Imputer", "x", "a", imputed_value_floats=[0.5]),
        ml("Scaler", "a", "b", offset=[1.0, 0.0, 2.0], scale=[1.0, 2.0, 0.5]),
        ml("Normalizer", "b", "c", norm="L1"),
        ml("Binarizer", "b", "d", threshold=0.1),
        ml("FeatureVectorizer", "c d", "e", inputdimensions=[3, 3]),
        ml("ArrayFeatureExtractor", "e j", "y"),
        constants={"j": i(0, 4, 5)},
    ),
    "softmax, older": model(node("Softmax", "x", "y", axis=1), opset=11),
    "mean, older": model(node("ReduceMean", "x", "y", axes=[1]), opset=13),
}


@pytest.mark.parametrize("name", MIXED)
def test_no_proof_where_rows_mix_or_nobody_can_tell(name):
    assert not is_rowwise(MIXED[name].SerializeToString())


@pytest.mark.parametrize("name", APART)
def test_proof_of_what_is_usual(name):
    assert is_rowwise(APART[name].SerializeToString())
    assert mixes(APART[name]) is False


def test_the_oracle_sees_mixing():
    assert mixes(MIXED["centred"])
    assert mixes(MIXED["a vector beside a column"])
    assert mixes(MIXED["softmax over records"])
    assert sum(mixes(graph) is True for graph in MIXED.values()) > 20


# ------------------------------------------------------------------------ by chance


def test_random_graphs():
    choose = random.Random(20)
    proven = mixed = 0
    for _ in range(1500):
        graph = random_graph(choose)
        if is_rowwise(graph.SerializeToString()):
            found = mixes(graph)
            proven += found is False
            assert not found, onnx.printer.to_text(graph)
        elif mixed < 100:
            mixed += mixes(graph) is True
    assert proven > 150
    assert mixed > 50


# ------------------------------------------------------------------------- refusals


def inner_graph():
    return helper.make_graph([], "inner", [], [])


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (model(node("RandomNormalLike", "x", "y")), "random"),
        (model(node("Bernoulli", "x", "y")), "random"),
        (
            model(
                node("Dropout", "x r t", "y"), constants={"r": np.float32(0.5), "t": np.bool_(True)}
            ),
            "random",
        ),
        (
            model(node("If", "x", "y", then_branch=inner_graph(), else_branch=inner_graph())),
            "loops",
        ),
        (model(node("Scan", "x", "y", body=inner_graph(), num_scan_inputs=1)), "loops"),
        (model(node("Loop", "x", "y", body=inner_graph())), "loops"),
        (model(node("Relu", "x", "y"), inputs=[("x", FLOAT, [8, 3])]), "exactly 8"),
        (model(node("Einsum", "x x", "y", equation="ij,kj->ik")), "Einsum"),
        (model(node("Relu", "x", "y"), node("Abs", "x", "y")), "names of their own"),
        (model(node("Relu", "x", "y", domain="com.microsoft")), "com.microsoft.Relu"),
    ],
)
def test_refused_before_anything_is_read(graph, says):
    with pytest.raises(InvalidInput, match=says):
        is_rowwise(graph.SerializeToString())


def test_external_data_is_refused():
    graph = model(node("Add", "x c", "y"), constants={"c": f(1)})
    tensor = graph.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    with pytest.raises(InvalidInput, match="external data"):
        is_rowwise(graph.SerializeToString())


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"\x00" * 100])
def test_what_is_no_model_is_refused(content):
    with pytest.raises(InvalidInput, match="ONNX"):
        Graph.of(content)


class TestThatAttributesAreNotTrusted:
    """Files that say a thing twice, or as another type."""

    def test_an_axis_twice(self):
        graph = model(node("Softmax", "x", "y", axis=1))
        graph.graph.node[0].attribute.append(helper.make_attribute("axis", 0))
        with pytest.raises(InvalidInput, match="given once"):
            is_rowwise(graph.SerializeToString())

    def test_an_axis_of_another_type(self):
        graph = model(node("Softmax", "x", "y"))
        graph.graph.node[0].attribute.append(helper.make_attribute("axis", 1.0))
        assert not is_rowwise(graph.SerializeToString())

    def test_an_opset_twice(self):
        graph = model(node("Softmax", "x", "y", axis=1))
        graph.opset_import.append(helper.make_opsetid("", 11))
        assert not is_rowwise(graph.SerializeToString())

    def test_functions_of_its_own(self):
        graph = model(node("Softmax", "x", "y", axis=1))
        opset = helper.make_opsetid("", 18)
        body = [node("Softmax", "a", "b", axis=0)]
        graph.functions.append(helper.make_function("", "Softmax", ["a"], ["b"], body, [opset]))
        with pytest.raises(InvalidInput, match="functions"):
            is_rowwise(graph.SerializeToString())
