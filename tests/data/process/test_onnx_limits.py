"""ONNX files that are too large, too deep or malformed: refused, and quickly."""

from __future__ import annotations

import resource
import time

import numpy as np
import onnx
import polars as pl
import pytest
from onnx import TensorProto, numpy_helper

from support.onnx_graphs import FLOAT, f, i, ml, model, node, plain, refused
from support.row_mixing import TREE, session
from surehold.data.process.runner import ModelLimits, ModelRunner
from surehold.errors import InvalidInput
from surehold.models.onnx import file_parts
from surehold.models.onnx import graph as graph_module
from surehold.models.onnx.row_proof import is_rowwise
from surehold.models.payload import payload_of
from surehold.queries import Schema


@pytest.fixture(scope="module", autouse=True)
def _small_numbers():
    """The first session of a process decides about numbers next to zero: here, as for all tests."""
    session(model(node("Relu", "x", "y")))
    yield
    assert np.array([5e-324])[0] * 1.0 > 0


def quick(content, says, seconds=5.0, megabytes=300):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.thread_time()
    refused(content, says)
    assert time.thread_time() - begin < seconds
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < megabytes << 10


def message(number, content):
    """A field of a protobuf message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number):
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


@pytest.mark.parametrize(
    "content",
    [
        message(7, b"\x0a\x00" * 3_000_000 + b"\x62\x00"),  # nodes
        message(7, message(1, b"\x2a\x00" * 3_000_000) + b"\x62\x00"),  # attributes
        message(7, message(1, message(5, b"\x52\x00" * 3_000_000)) + b"\x62\x00"),  # tensors
        message(7, message(5, b"\x6a\x00" * 3_000_000) + b"\x62\x00"),  # where a tensor is
        message(25, b"\x1a\x00" * 3_000_000),  # functions
    ],
    ids=["nodes", "attributes", "tensors", "external", "functions"],
)
def test_files_that_would_fill_the_memory(content):
    quick(content, "parts")


def test_many_nodes(monkeypatch):
    monkeypatch.setattr(graph_module, "MOST_NODES", 3)
    nodes = [node("Relu", f"v{at}", f"v{at + 1}") for at in range(4)]
    refused(model(*nodes, inputs=[("v0", FLOAT, [None, 3])], output=("v4", FLOAT, None)), "3 nodes")


def test_large_files(monkeypatch):
    monkeypatch.setattr(graph_module, "MOST_BYTES", 10)
    refused(plain(), "10 bytes")


def test_many_numbers(monkeypatch):
    monkeypatch.setattr(file_parts, "MOST_NUMBERS", 5)
    refused(
        model(
            node("Add", "x c", "z"),
            node("Add", "z d", "y"),
            constants={"c": f(1, 2, 3), "d": f(1, 2, 3)},
        ),
        "5 constant numbers",
    )


@pytest.mark.parametrize("width", [20_001, 20_000_000, 1 << 62])
def test_declared_widths(width):
    quick(
        model(node("Relu", "x", "y"), output=("y", FLOAT, [None, width])).SerializeToString(),
        "wide",
    )
    wide = model(node("Relu", "x", "y"), inputs=[("x", FLOAT, [None, width])])
    quick(wide.SerializeToString(), "wide")


def test_many_classes():
    given = {"coefficients": [1.0] * 3, "intercepts": [0.0], "classlabels_ints": [*range(20_001)]}
    label = ("l", TensorProto.INT64, None)
    refused(model(ml("LinearClassifier", "x", "l y", **given), more_outputs=[label]), "classes")


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "FLOAT8E4M3FN", "BFLOAT16", "STRING", "INT64"])
def test_constants_that_say_they_are_large(kind):
    tensor = TensorProto(name="c", data_type=getattr(TensorProto, kind), dims=[2_000_000_000])
    if kind == "STRING":
        tensor.string_data.append(b"a")
    else:
        tensor.raw_data = b"\x01\x02"
    graph = model(node("Relu", "x", "y"))
    graph.graph.initializer.append(tensor)
    quick(graph.SerializeToString(), "constants")


def labelled(tensor):
    label = ("y", TensorProto.INT64, [None])
    graph = model(
        node("ArgMax", "x", "i", axis=1), ml("ArrayFeatureExtractor", "c i", "y"), output=label
    )
    graph.graph.initializer.append(tensor)
    return graph


@pytest.mark.parametrize(
    "fields",
    [
        {"data_type": TensorProto.INT64, "dims": [5], "raw_data": b"123"},
        {"data_type": TensorProto.INT64, "dims": [-1, -2], "int64_data": [1, 2]},
        {"data_type": TensorProto.INT64, "dims": [2], "float_data": [1, 2]},
        {"data_type": TensorProto.INT64, "dims": [1], "int64_data": [1], "float_data": [1]},
        {"data_type": TensorProto.INT64, "dims": [1], "int64_data": [1], "raw_data": b"12345678"},
        {"data_type": TensorProto.STRING, "dims": [2], "raw_data": b"ab"},
        {"data_type": 0, "dims": [1]},
        {"data_type": 77, "dims": [1]},
    ],
)
def test_malformed_constants(fields):
    """Labels are read here, in the process that has the records."""
    refused(labelled(TensorProto(name="c", **fields)), "constants")


def test_labels_that_are_well_formed():
    tensor = numpy_helper.from_array(i(4, 5, 6), "c")
    assert payload_of(labelled(tensor).SerializeToString()).classes == (4, 5, 6)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Cast", "", "y", to=7)],
        [node("Relu", "x", "")],
        [node("Relu", "later", "y"), node("Relu", "x", "later")],
        [node("Relu", "nobody", "y")],
        [node("Relu", "x", "z")],
        [node("Cast", "x", "y")],
    ],
)
def test_malformed_graphs(nodes):
    label = ("y", TensorProto.INT64, [None])
    content = model(*nodes, output=label).SerializeToString()
    if nodes[0].op_type == "Cast" and nodes[0].input:
        assert payload_of(content).classes is None  # refused by the runtime, when it is loaded
    else:
        refused(content, "ONNX")


def test_deep_nesting():
    content = b""
    for _ in range(400):  # a graph in an attribute of a node in a graph
        content = message(1, message(5, message(6, content)))
    refused(message(7, content), "ONNX model")


def test_any_bytes_are_a_model_or_refused():
    """Damaged files give InvalidInput, and never another error."""
    rng = np.random.default_rng(5)
    graph = model(
        ml("TreeEnsembleRegressor", "x", "t", **TREE),
        node("Add", "t c", "a"),
        node("ArgMax", "a", "i", axis=1),
        ml("ArrayFeatureExtractor", "l i", "y"),
        constants={"c": f(1, 2), "l": i(5, 6)},
        output=("y", TensorProto.INT64, [None, 1]),
    ).SerializeToString()
    fine = 0
    for _ in range(3_000):
        damaged = bytearray(graph)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
        try:
            is_rowwise(bytes(damaged[: rng.integers(1, len(damaged) * 4)]))
            fine += 1
        except InvalidInput:
            pass
    assert 0 < fine < 3_000


def test_a_forest_of_a_usual_size_is_read():
    """Some 300,000 nodes in 100 trees; each of their numbers is a field of its own in the file."""
    trees, depth = 100, 11
    size = (1 << depth + 1) - 1
    inner = (1 << depth) - 1
    places = np.arange(size)
    leaves = places >= inner
    left, right = np.where(leaves, 0, 2 * places + 1), np.where(leaves, 0, 2 * places + 2)
    modes = np.where(leaves, "LEAF", "BRANCH_LEQ").tolist()
    given = {
        "nodes_treeids": np.repeat(np.arange(trees), size).tolist(),
        "nodes_nodeids": places.tolist() * trees,
        "nodes_featureids": (places % 3).tolist() * trees,
        "nodes_modes": modes * trees,
        "nodes_values": [0.5] * size * trees,
        "nodes_truenodeids": left.tolist() * trees,
        "nodes_falsenodeids": right.tolist() * trees,
        "target_treeids": np.repeat(np.arange(trees), inner + 1).tolist(),
        "target_nodeids": places[leaves].tolist() * trees,
        "target_ids": [0] * (inner + 1) * trees,
        "target_weights": [1.0] * (inner + 1) * trees,
        "n_targets": 1,
    }
    graph = model(ml("TreeEnsembleRegressor", "x", "y", **given))
    begin = time.thread_time()
    assert is_rowwise(graph.SerializeToString())
    assert time.thread_time() - begin < 20


def test_a_converted_estimator_of_every_kind_that_was_fine_is_so():
    """One record at a time, by operators that the proof does not know."""
    import warnings

    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, QuantileTransformer

    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(60, 3)).astype(np.float32)
    truth = np.digitize(matrix[:, 0], [-0.5, 0.5])
    features = Schema.of(dict.fromkeys("abc", "float"))
    frame = pl.DataFrame({name: matrix[:, at].astype(float) for at, name in enumerate("abc")})
    for estimator in (
        QuadraticDiscriminantAnalysis(),
        AdaBoostClassifier(n_estimators=3),
        BaggingClassifier(n_estimators=3),
        make_pipeline(PolynomialFeatures(2), LogisticRegression()),
        make_pipeline(QuantileTransformer(n_quantiles=10), LogisticRegression()),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from skl2onnx import to_onnx

            estimator.fit(matrix, truth)
            content = to_onnx(estimator, matrix[:1]).SerializeToString()
        assert not is_rowwise(content)
        payload = payload_of(content)
        with ModelRunner(payload, features, "labels", ModelLimits(10.0, 60.0)) as runner:
            [result] = runner.evaluate([frame])
        assert (np.array(payload.classes)[result.values] == estimator.predict(matrix)).mean() > 0.9


def test_onnx_is_of_a_version_that_knows_what_is_looked_for():
    """Fields by which a message could hold a tensor or a graph, all of which are looked into."""
    holders = {
        f"{kind.name}.{field.name}"
        for kind in onnx.ModelProto.DESCRIPTOR.file.message_types_by_name.values()
        for field in kind.fields
        if field.message_type is not None
        and field.message_type.name in ("TensorProto", "SparseTensorProto", "GraphProto")
    }
    assert holders >= {"AttributeProto.t", "GraphProto.initializer", "SparseTensorProto.values"}
