"""ONNX models that are refused before any record is read, whoever made them."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import numpy as np
import onnx
import polars as pl
import pytest
from onnx import AttributeProto, SparseTensorProto, TensorProto, helper, numpy_helper

from holdfast.data.models import graphs
from holdfast.data.models.graphs import Graph
from holdfast.data.models.onnx_evaluator import nothing_opened
from holdfast.data.models.payload import payload_of
from holdfast.data.models.rows import is_rowwise, only_single
from holdfast.data.models.runner import Limits, ModelRunner
from holdfast.errors import InvalidInput
from holdfast.queries import Schema

from .onnx_graphs import FLOAT, f, i, ml, model, node
from .test_rows import TREE


def refused(graph, says):
    content = graph if isinstance(graph, bytes) else graph.SerializeToString()
    with pytest.raises(InvalidInput, match=says):
        payload_of(content)
    with pytest.raises(InvalidInput, match=says):
        is_rowwise(content)


# --------------------------------------------------------------- nothing from elsewhere


def outside(name="v"):
    """A tensor that is in another file."""
    tensor = TensorProto(data_type=FLOAT, dims=[4], name=name)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    return tensor


def attribute(kind, name="value", **fields):
    found = AttributeProto(name=name, type=kind)
    for field, value in fields.items():
        getattr(found, field).CopyFrom(value)
    return found


def sparse(values):
    indices = numpy_helper.from_array(np.arange(4), "i")
    return SparseTensorProto(values=values, indices=indices, dims=[4])


def constant(found):
    made = helper.make_node("Constant", [], ["c"])
    made.attribute.append(found)
    return model(made, node("Add", "x c", "y"), inputs=[("x", FLOAT, [None, 1])])


def with_function(default):
    """The default of an attribute of a function is a tensor, too."""
    inner = helper.make_node("Constant", [], ["c"])
    inner.attribute.add(name="value", type=AttributeProto.TENSOR, ref_attr_name="given")
    body = [inner, node("Add", "a c", "b")]
    opset = helper.make_opsetid("", 18)
    function = helper.make_function("my", "F", ["a"], ["b"], body, [opset], [], [default])
    graph = model(node("F", "x", "y", domain="my"), inputs=[("x", FLOAT, [None, 1])])
    graph.functions.append(function)
    graph.opset_import.append(helper.make_opsetid("my", 1))
    return graph


def unused_function():
    graph = with_function(attribute(AttributeProto.TENSOR, "given", t=outside()))
    graph.graph.node[0].CopyFrom(node("Relu", "x", "y"))
    return graph


def plain():
    return model(node("Relu", "x", "y"))


def somewhere(place):
    """A tensor that is elsewhere, in a corner that nobody looks into."""
    graph = plain()
    match place:
        case "training":
            graph.training_info.add().initialization.initializer.append(outside())
        case "algorithm":
            graph.training_info.add().algorithm.initializer.append(outside())
        case "tensors":
            graph.graph.node[0].attribute.add(name="a", type=AttributeProto.TENSORS).tensors.append(
                outside()
            )
        case "of another type":
            graph.graph.node[0].attribute.add(name="a", type=AttributeProto.INT).t.CopyFrom(
                outside()
            )
        case "sparse initializer":
            graph.graph.sparse_initializer.append(sparse(outside()))
        case "sparse tensors":
            made = graph.graph.node[0].attribute.add(name="a", type=AttributeProto.SPARSE_TENSORS)
            made.sparse_tensors.append(sparse(outside()))
        case "inner graph":
            made = graph.graph.node[0].attribute.add(name="a", type=AttributeProto.GRAPHS)
            made.graphs.add().initializer.append(outside())
        case "says where only":
            tensor = numpy_helper.from_array(f(1), "c")
            tensor.external_data.add(key="location", value="/etc/passwd")
            graph.graph.initializer.append(tensor)
    return graph


PLACES = ["training", "algorithm", "tensors", "of another type", "sparse initializer"]
PLACES += ["sparse tensors", "inner graph", "says where only"]


@pytest.mark.parametrize("place", PLACES)
def test_data_from_elsewhere_in_any_corner(place):
    refused(somewhere(place), "external|sparse|training|attributes|inner graphs")


def test_sparse_and_default_tensors():
    kept = numpy_helper.from_array(f(1, 2, 3, 4), "v")
    for values in (outside(), kept):
        found = attribute(
            AttributeProto.SPARSE_TENSOR, "sparse_value", sparse_tensor=sparse(values)
        )
        refused(constant(found), "sparse|external|attributes")
    refused(constant(attribute(AttributeProto.TENSOR, t=outside())), "external")
    for tensor in (outside(), kept):
        refused(with_function(attribute(AttributeProto.TENSOR, "given", t=tensor)), "own")
    refused(unused_function(), "external|functions")


@pytest.mark.parametrize("domain", ["com.microsoft", "ai.onnx.contrib", "my", "ai.onnx.training"])
def test_operators_of_others(domain):
    refused(model(node("Relu", "x", "y", domain=domain)), "own operators")


def test_the_longer_name_of_the_main_domain():
    assert is_rowwise(model(node("Relu", "x", "y", domain="ai.onnx")).SerializeToString())


def test_nothing_can_be_opened_while_the_runtime_works(tmp_path):
    import onnxruntime

    (tmp_path / "file").touch()
    with nothing_opened():
        with pytest.raises(OSError, match="Too many open files"):
            os.open(tmp_path / "file", os.O_RDONLY)
        content = model(node("MatMul", "x w", "y"), constants={"w": f([1], [2], [3])})
        made = onnxruntime.InferenceSession(content.SerializeToString())
        assert made.run(None, {"x": np.ones((2, 3), np.float32)})[0].tolist() == [[6], [6]]
    os.close(os.open(tmp_path / "file", os.O_RDONLY))


def test_the_runtime_is_called_where_nothing_can_be_opened(monkeypatch):
    """Even a model that was not looked at finds no file, by whatever path."""
    import onnxruntime

    from holdfast.data.models import onnx_evaluator

    seen = []

    class Session(onnxruntime.InferenceSession):
        def __init__(self, *given, **named):
            seen.append(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            super().__init__(*given, **named)

        def run(self, *given, **named):
            seen.append(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            return super().run(*given, **named)

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    content = model(node("Relu", "x", "y"), output=("y", FLOAT, [None, 3])).SerializeToString()
    columns = [(name, "float") for name in "abc"]
    evaluator = onnx_evaluator.OnnxEvaluator(content, columns, "scores", None)
    evaluator(np.ones((2, 3)), "scores")
    assert seen == [0, 0]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0


def test_relative_paths_lead_nowhere(tmp_path, monkeypatch):
    from holdfast.data.models import onnx_evaluator, worker

    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").touch()
    message = {
        "kind": "onnx",
        "columns": [(name, "float") for name in "abc"],
        "want": "scores",
        "classes": None,
    }
    content = model(node("Relu", "x", "y"), output=("y", FLOAT, [None, 3])).SerializeToString()
    worker.loaded(message, memoryview(content))
    with pytest.raises(FileNotFoundError):
        Path("secret").stat()
    with pytest.raises(FileNotFoundError):
        Path.cwd()
    monkeypatch.setattr(onnx_evaluator.tempfile, "mkdtemp", _no_room)
    onnx_evaluator.leave()
    assert Path.cwd() == Path("/")


def _no_room(prefix):
    raise OSError(28, "No space left on device")


# ------------------------------------------------------------- the same cost for all

WHOLE = node("Cast", "x", "n", to=TensorProto.INT64)
FLAT = node("Reshape", "n flat", "k")
ZERO = {"flat": i(-1), "c": f(1), "i0": i(0), "i1": i(1)}
BY_VALUE = {
    "ConstantOfShape": node("ConstantOfShape", "k", "y"),
    "Expand": node("Expand", "c k", "y"),
    "Tile": node("Tile", "x k", "y"),
    "Range": node("Range", "k k k", "y"),
    "Pad": node("Pad", "x k", "y"),
    "Reshape": node("Reshape", "x k", "y"),
    "Slice": node("Slice", "x i0 k", "y"),
    "TopK": node("TopK", "x k", "y j"),
    "OneHot": node("OneHot", "n k c", "y"),
    "Split": node("Split", "x k", "y z", axis=1),
    "Squeeze": node("Squeeze", "x k", "y"),
    "Unsqueeze": node("Unsqueeze", "x k", "y"),
    "ReduceSum": node("ReduceSum", "x k", "y"),
    "CumSum": node("CumSum", "x k", "y"),
}
UNKNOWN = """NonZero Compress Unique Resize Upsample NonMaxSuppression StringSplit RegexFullMatch
StringConcat StringNormalizer TfIdfVectorizer SequenceConstruct SequenceAt SplitToSequence
ConcatFromSequence Optional OptionalGetElement Conv Einsum Nonsense MaxUnpool GridSample DFT
ScatterND"""


@pytest.mark.parametrize("operator", BY_VALUE)
def test_sizes_that_a_record_decides(operator):
    refused(model(WHOLE, FLAT, BY_VALUE[operator], constants=ZERO), f"sizes.*{operator}")


@pytest.mark.parametrize("operator", UNKNOWN.split())
def test_operators_of_unknown_cost(operator):
    refused(model(node(operator, "x", "y")), operator)


@pytest.mark.parametrize(
    "operator", ["TreeEnsemble", "CategoryMapper", "DictVectorizer", "CastMap"]
)
def test_operators_for_learning_that_are_not_known(operator):
    refused(model(ml(operator, "x", "y")), operator)


def test_the_least_whole_number_is_not_divided():
    """By -1 it ends the process, so that a record could make all take longer."""
    for operator in ("Div", "Mod"):
        refused(model(WHOLE, node(operator, "n i1", "y"), constants={"i1": i(-1)}), operator)
        refused(model(WHOLE, node(operator, "i1 n", "y"), constants={"i1": i(1)}), operator)
        fine = model(WHOLE, node(operator, "n i1", "y"), constants={"i1": i(3)})
        assert is_rowwise(fine.SerializeToString())
    floats = [
        node("Split", "x", "a b c", axis=1, num_outputs=3),
        node("TopK", "x i1", "t j", axis=1),
        node("Where", "w t a", "d"),
        node("Constant", "", "k", value=numpy_helper.from_array(f(2))),
        node("ConstantOfShape", "i1", "o", value=numpy_helper.from_array(f(2))),
    ]
    for each in "abtdko":
        quotient = node("Div", f"{each} {each}", "y")
        graph = model(*floats, quotient, constants={"i1": i(1), "w": np.array([True])})
        Graph.of(graph.SerializeToString())
    refused(
        model(*floats, node("Div", "j j", "y"), constants={"i1": i(1), "w": np.array([True])}),
        "Div",
    )


def test_sizes_that_no_record_decides():
    """As converters write them: by the shape of what is given."""
    graph = model(
        node("Shape", "x", "s"),
        node("Gather", "s i0", "n"),
        node("Concat", "n i1", "t", axis=0),
        node("ConstantOfShape", "t", "o"),
        node("Expand", "o s", "e"),
        node("Add", "x e", "y"),
        constants={"i0": i(0), "i1": i(1)},
        output=("y", FLOAT, [None, 3]),
    )
    content = graph.SerializeToString()
    assert only_single(content)
    features = Schema.of(dict.fromkeys("abc", "float"))
    with ModelRunner(payload_of(content), features, "scores") as runner:
        frame = pl.DataFrame({name: [1.0, 2.0, 3.0] for name in "abc"})
        [result] = runner.evaluate([frame])
    assert result.values.tolist() == [[1.0] * 3, [2.0] * 3, [3.0] * 3]


def looping():
    """Two nodes that lead to each other, where a record may never come out."""
    return {
        **TREE,
        "nodes_treeids": [0] * 5,
        "nodes_nodeids": [0, 1, 2, 3, 4],
        "nodes_featureids": [0] * 5,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "BRANCH_LEQ", "LEAF"],
        "nodes_values": [100.0, 0.0, 1000.0, 1000.0, 0.0],
        "nodes_truenodeids": [1, 0, 3, 2, 0],
        "nodes_falsenodeids": [2, 0, 4, 4, 0],
        "target_nodeids": [1, 4],
    }


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "lead on"),
        ({"nodes_truenodeids": [1, 0, 2, 4, 0]}, "lead on"),
        ({"nodes_truenodeids": [1, 0, 3, 9, 0]}, "lead on"),
        ({"nodes_treeids": [0, 0, 0, 1, 1]}, "lead on"),
        ({"nodes_nodeids": [0, 1, 2, 2, 4]}, "names of their own"),
        ({"nodes_nodeids": [0, 1, 2]}, "all described"),
    ],
)
def test_trees_in_which_one_could_go_round(change, says):
    refused(model(ml("TreeEnsembleRegressor", "x", "y", **{**looping(), **change})), says)


def test_trees_that_are_fine():
    straight = {**looping(), "nodes_truenodeids": [1, 0, 3, 4, 0]}
    Graph.of(model(ml("TreeEnsembleRegressor", "x", "y", **straight)).SerializeToString())
    two = {
        **straight,
        **{
            name: values * 2
            for name, values in straight.items()
            if isinstance(values, list) and name.startswith("nodes")
        },
        "nodes_treeids": [0] * 5 + [7] * 5,
        "nodes_nodeids": [0, 1, 2, 3, 4] * 2,
    }
    Graph.of(model(ml("TreeEnsembleRegressor", "x", "y", **two)).SerializeToString())


def test_one_record_can_not_use_up_the_time_of_all():
    """As many ones as the record says, squared: the review's way to tell one record from others."""
    graph = model(
        WHOLE,
        FLAT,
        node("Concat", "k k", "s", axis=0),
        node("ConstantOfShape", "s", "a"),
        node("MatMul", "a a", "b"),
        node("ReduceSum", "b", "t", keepdims=0),
        node("Add", "x t", "y"),
        constants={"flat": i(-1)},
        inputs=[("x", FLOAT, [None, 1])],
        output=("y", FLOAT, [None, 1]),
    )
    refused(graph, "sizes")


# ------------------------------------------------------------------------------ limits


def quick(content, says, seconds=5.0, megabytes=300):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.monotonic()
    refused(content, says)
    assert time.monotonic() - begin < seconds
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
    monkeypatch.setattr(graphs, "MOST_NODES", 3)
    nodes = [node("Relu", f"v{at}", f"v{at + 1}") for at in range(4)]
    refused(model(*nodes, inputs=[("v0", FLOAT, [None, 3])], output=("v4", FLOAT, None)), "3 nodes")


def test_large_files(monkeypatch):
    monkeypatch.setattr(graphs, "MOST_BYTES", 10)
    refused(plain(), "10 bytes")


def test_many_numbers(monkeypatch):
    monkeypatch.setattr(graphs, "MOST_NUMBERS", 5)
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
    begin = time.monotonic()
    assert is_rowwise(graph.SerializeToString())
    assert time.monotonic() - begin < 20


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
        assert only_single(content)
        payload = payload_of(content)
        with ModelRunner(payload, features, "labels", Limits(10.0, 60.0)) as runner:
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
