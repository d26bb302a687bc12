"""ONNX models that are refused before any record is read, whoever made them."""

from __future__ import annotations

import os
import resource
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from onnx import AttributeProto, SparseTensorProto, TensorProto, helper, numpy_helper

from support.onnx_graphs import FLOAT, f, i, ml, model, node, plain, refused
from support.row_mixing import TREE, session
from surehold.data.process.onnx_evaluator import nothing_opened
from surehold.data.process.runner import ModelRunner
from surehold.models.onnx.graph import Graph
from surehold.models.onnx.row_proof import is_rowwise
from surehold.models.payload import payload_of
from surehold.queries import Schema


@pytest.fixture(scope="module", autouse=True)
def _small_numbers():
    """The first session of a process decides about numbers next to zero: here, as for all tests."""
    session(model(node("Relu", "x", "y")))
    yield
    assert np.array([5e-324])[0] * 1.0 > 0


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

    from surehold.data.process import onnx_evaluator

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
    evaluator(np.ones((2, 3)))
    assert seen == [0, 0]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0


@pytest.mark.parametrize("name", ["secret", "../{folder}/secret"])
def test_what_was_not_refused_is_not_found(tmp_path, monkeypatch, name):
    """A second lock: a model that no one has looked at does not get at a file, either."""
    from surehold.data.process.onnx_evaluator import OnnxEvaluator

    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(f(5, 6, 7, 8).tobytes())
    values = outside()
    values.external_data[0].value = name.format(folder=tmp_path.name)
    values.external_data.add(key="length", value="16")
    found = attribute(AttributeProto.SPARSE_TENSOR, "sparse_value", sparse_tensor=sparse(values))
    graph = constant(found)
    graph.ir_version = 8
    content = graph.SerializeToString()
    columns = [("x", "float")]
    with pytest.raises(RuntimeError, match="SystemError : 24"):  # too many open files
        OnnxEvaluator(content, columns, "scores", None)
    monkeypatch.setattr("surehold.data.process.onnx_evaluator.nothing_opened", nullcontext)
    assert OnnxEvaluator(content, columns, "scores", None).width == 4  # but for the lock


def test_relative_paths_lead_nowhere(tmp_path, monkeypatch):
    from surehold.data.process import onnx_evaluator, worker

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
    assert not is_rowwise(content)
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
    straight = {
        **looping(),
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 3, 0, 0],
        "nodes_falsenodeids": [2, 0, 4, 0, 0],
        "target_treeids": [0] * 3,
        "target_nodeids": [1, 3, 4],
        "target_ids": [0] * 3,
        "target_weights": [1.0, 7.0, 2.0],
    }
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
        "target_treeids": [0] * 3 + [7] * 3,
        "target_nodeids": [1, 3, 4] * 2,
        "target_ids": [0] * 6,
        "target_weights": [1.0, 7.0, 2.0] * 2,
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


TEXT = ("x", TensorProto.STRING, [None, 1])
WORDS = np.array(["a", "b", "c"], object)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Expand", "x many", "y")],
        [node("Tile", "x many", "y")],
        [node("Where", "truth x x", "y")],
        [node("Pad", "x many", "y")],
        [node("Gather", "x wide", "y", axis=1)],
        [ml("ArrayFeatureExtractor", "x wide", "y")],
        [node("Shape", "x", "s"), node("Gather", "x s", "y", axis=1)],
        [
            node("Concat", " ".join(["x"] * 200), "z", axis=1),
            node("Concat", " ".join(["z"] * 200), "y", axis=1),
        ],
        # A text that a record chooses, if not its own.
        [
            ml("LabelEncoder", "x", "z", keys_strings=["a"], values_strings=["b"]),
            node("Tile", "z many", "y"),
        ],
        [node("Equal", "x one", "e"), node("Where", "e one one", "y")],
        [
            ml("LabelEncoder", "x", "z", keys_strings=["a"], values_int64s=[1]),
            node("Gather", "words z", "g"),
            node("Tile", "g many", "y"),
        ],
        [
            node("Constant", "", "w", value_strings=["a", "b"]),
            ml("LabelEncoder", "x", "z", keys_strings=["a"], values_int64s=[1]),
            node("Gather", "w z", "g"),
            node("Tile", "g many", "y"),
        ],
    ],
)
def test_many_copies_of_a_text_of_any_length(nodes):
    """A long one would take more time and memory than all others, by as much as one likes."""
    constants = {"many": i(1, 1_000_000), "wide": np.zeros(10_001, np.int64), "words": WORDS}
    constants |= {"truth": np.ones((1, 100), np.bool_), "one": WORDS[:1]}
    output = ("y", TensorProto.STRING, None)
    refused(model(*nodes, constants=constants, inputs=[TEXT], output=output), "record's text")


def test_texts_as_they_are_used():
    nodes = [
        node("Concat", "x x", "c", axis=1),
        ml("ArrayFeatureExtractor", "c one", "d"),
        ml("OneHotEncoder", "d", "e", cats_strings=["a", "b"], zeros=1),
        node("Reshape", "e flat", "y"),
    ]
    constants = {"one": i(1), "flat": i(-1, 2)}
    Graph.of(model(*nodes, constants=constants, inputs=[TEXT]).SerializeToString())


def test_long_labels():
    """The label of one class of a length that fills the memory."""
    given = {"coefficients": [1.0] * 6, "intercepts": [0.0, 0.0]}
    for length, is_fine in ((1_000, True), (1_001, False)):
        labels = ["a", "b" * length]
        label = ("l", TensorProto.STRING, None)
        listed = model(
            ml("LinearClassifier", "x", "l y", **given, classlabels_strings=labels),
            more_outputs=[label],
        )
        chosen = model(
            node("ArgMax", "x", "i", axis=1),
            node("Gather", "w i", "y"),
            constants={"w": np.array(labels, object)},
            output=("y", TensorProto.STRING, None),
        )
        for graph in (listed, chosen):
            if is_fine:
                Graph.of(graph.SerializeToString())
            else:
                refused(graph, "1,000 bytes")


# ---------------------------------------------------------------- whether a record fails


def test_a_record_does_not_decide_whether_a_call_fails_or_what_it_costs():
    """Each of these raised, or took much longer, for some values."""
    text = [("x", TensorProto.STRING, [None, 1])]
    for to in (1, 7, 9, 11):
        cast = model(node("Cast", "x", "y", to=to), inputs=text)
        refused(cast, "casts of a record's texts.*LabelEncoder")
    same = model(node("Cast", "x", "y", to=8), inputs=text, output=("y", TensorProto.STRING, None))
    Graph.of(same.SerializeToString())
    refused(model(node("Mod", "x c", "y", fmod=1), constants={"c": f(2)}), "Mod of floats")
    refused(model(node("Cast", "x", "d", to=11), node("Sin", "d", "y")), "Sin of doubles.*cast")
    Graph.of(model(node("Sin", "x", "y")).SerializeToString())
    for operator in ["Acosh", "Asinh", "Atanh", "Cosh", "Sinh", "Tan"]:
        refused(model(node(operator, "x", "y")), operator)
    scores = {"coefficients": [1.0] * 3, "post_transform": "PROBIT"}
    refused(model(ml("LinearRegressor", "x", "y", **scores)), "PROBIT")
    machine = {"classlabels_ints": [1, 2, 3], "prob_a": [1.0] * 3, "prob_b": [1.0] * 3}
    refused(model(ml("SVMClassifier", "x", "l y", **machine)), "several classes")


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize("opset", [9, 18])
def test_an_index_out_of_range_is_the_nearest_in_range(kind, opset):
    features = Schema.of({"x": "float"})
    given = [0.0, 1.0, 2.0, 3.0, 1e18, -1.0, -3.0, -4.0, -1e18, float("nan"), None]
    cast = node("Cast", "x", "n", to=kind)
    table = model(
        cast,
        node("Gather", "t n", "y"),
        constants={"t": f(10, 11, 12)},
        inputs=[("x", FLOAT, [None, 1])],
        output=("y", FLOAT, [None, 1]),
        opset=opset,
    )
    with ModelRunner(payload_of(table.SerializeToString()), features, "scores") as runner:
        [result] = runner.evaluate([pl.DataFrame({"x": given})])
    assert result.known.all()
    assert result.values[:4, 0].tolist() == [10, 11, 12, 12]
    assert result.values[5:8, 0].tolist() == [12, 10, 10]  # negative ones count from the end
    if kind == TensorProto.INT64:
        extractor = model(
            cast,
            ml("ArrayFeatureExtractor", "t n", "l"),
            node("Reshape", "l column", "y"),
            constants={"t": f(10, 11, 12), "column": i(-1, 1)},
            inputs=[("x", FLOAT, [None, 1])],
            output=("y", FLOAT, [None, 1]),
            opset=opset,
        )
        with ModelRunner(payload_of(extractor.SerializeToString()), features, "scores") as runner:
            [result] = runner.evaluate([pl.DataFrame({"x": given})])
        assert result.known.all()
        assert result.values[:8, 0].tolist() == [10, 11, 12, 12, 12, 10, 10, 10]
