"""What is believed of sizes is what the runtime makes of them, for every rule of the proof.

A width that is wrong is a way to mix rows: a reshape to it makes one row of several records.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from support.onnx_graphs import FLOAT, f, i, ml, model, node
from support.row_mixing import TREE, mixes, random_graph, session
from surehold.errors import InvalidInput
from surehold.models.onnx import row_proof as rows
from surehold.models.onnx.graph import Graph
from surehold.models.onnx.row_values import Lying, Maps, NotProven, Rows

X = np.array(
    [[0.1, -2, 3], [1, 0.5, -1], [2, 2, 0.25], [-1, 0, 4], [0.3, 0.2, 0.9], [7, -3, 1]], np.float32
)
CONSTANTS = {
    "w": np.arange(12, dtype=np.float32).reshape(3, 4) / 7,
    "wt": np.arange(12, dtype=np.float32).reshape(4, 3) / 7,
    "square": np.eye(3, dtype=np.float32),
    "v": f(1, 2, 3),
    "v4": f(1, 2, 3, 4),
    "row": f([1, 2, 3]),
    "one": f(0.5),
    "six": np.ones((6, 3), np.float32),
    "deep": np.ones((1, 1, 3), np.float32),
    "column": np.ones((6, 1), np.float32),
    "scalar": np.float32(0.7),
    "wide": np.ones((1, 4), np.float32),
    "i0": i(0),
    "i1": i(1),
    "i2": i(2),
    "in1": i(-1),
    "i12": i(1, 2),
    "i02": i(0, 2),
    "table": np.arange(15, dtype=np.float32).reshape(3, 5),
    "labels": i(10, 20, 30),
    "places": np.array([[0, 2], [1, 1]], np.int64),
    "half": np.array([[True, False, True]]),
}
UP = node("Unsqueeze", "x i2", "u")  # [N, 3, 1]
OUT = node("MatMul", "u row", "t")  # [N, 3, 3]
DOWN = node("ReduceSum", "x i1", "s", keepdims=0)  # [N]
SVM = {"coefficients": [1.0, 0.5], "rho": [0.1], "kernel_type": "RBF", "n_supports": 2}
SVM |= {"kernel_params": [0.1, 0.0, 3.0], "support_vectors": [1.0, 2.0, 3.0, 0.0, 1.0, 0.0]}
LEAVES = {name: value for name, value in TREE.items() if not name.startswith(("target", "n_"))}
LEAVES |= {"class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1]}
LEAVES |= {"class_weights": [1.0, 1.0]}


def each(operator, inputs, outputs="y", before=(), make=node, opset=18, **choices):
    """Nodes with all choices of attributes; None leaves one out."""
    for values in itertools.product(*choices.values()):
        given = {
            name: value for name, value in zip(choices, values, strict=True) if value is not None
        }
        yield operator, [*before, make(operator, inputs, outputs, **given)], opset


def cases():
    for operator in rows._UNARY.split():
        given = {"to": [1, 6, 7, 9, 11]} if operator == "Cast" else {}
        before = (node("Greater", "x one", "b"),) if operator == "Not" else ()
        source = "b" if operator == "Not" else "x"
        yield from each(operator, source, before=before, opset=22, **given)
    truths = (node("Greater", "x one", "b"), node("Less", "x v", "d"))
    for operator in rows._BROADCAST.split():
        if operator in ("And", "Or", "Xor"):
            yield from each(operator, "b d", before=truths)
        elif operator == "Where":
            for others in ("x v", "v x", "x x", "x six", "scalar x", "x deep", "x wide", "v row"):
                yield from each(operator, f"b {others}", before=truths)
            yield from each(operator, "half x scalar")
        elif operator == "Clip":
            for others in ("", "one", "one one", "scalar scalar", "v", "row"):
                yield from each(operator, f"x {others}")
            yield from each(operator, "s s", before=(DOWN,))
        else:
            if operator == "Mod":  # of whole numbers only
                yield from each(operator, "n i1", before=(node("Cast", "x", "n", to=7),))
                continue
            for other in ["v", "row", "one", "six", "deep", "column", "scalar", "wide", "x"]:
                yield from each(operator, f"x {other}")
                yield from each(operator, f"{other} x")
            yield from each(operator, "x s", before=(DOWN,))
            yield from each(operator, "t x", before=(UP, OUT))
            yield from each(operator, "u row", before=(UP,))
            yield from each(operator, "u t", before=(UP, OUT))
    for operator in [*rows._REDUCE.split(), "ReduceSum"]:
        for axes in ["i0", "i1", "in1", "i12", "i02"]:
            yield from each(operator, f"x {axes}", keepdims=[0, 1, None])
            yield from each(operator, f"t {axes}", before=(UP, OUT), keepdims=[0, 1, None])
        yield from each(operator, "x", opset=11, axes=[[0], [1], [-1], None], keepdims=[0, 1])
        yield from each(operator, "x", noop_with_empty_axes=[0, 1])
    for operator in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"):
        for opset in (11, 18):
            yield from each(operator, "x", opset=opset, axis=[-2, -1, 0, 1, None])
        yield from each(operator, "t", before=(UP, OUT), axis=[-2, -1, 0, 1, 2])
    for operator in ("ArgMax", "ArgMin"):
        yield from each(operator, "x", axis=[-1, 0, 1, None], keepdims=[0, 1, None])
        yield from each(operator, "t", before=(UP, OUT), axis=[1, 2, -2], keepdims=[0, 1])
        yield from each(operator, "x", axis=[1], select_last_index=[0, 1])
    for axis in (None, 0, 1, -1, 2):
        yield from each("Concat", "x x", axis=[axis])
        yield from each("Concat", "x six", axis=[axis])
        yield from each("Concat", "t u x", before=(UP, OUT), axis=[axis])
        yield from each("Concat", "t u", before=(UP, OUT), axis=[axis])
        yield from each("Flatten", "x", axis=[axis])
        yield from each("Flatten", "t", before=(UP, OUT), axis=[axis])
        yield from each("Flatten", "s", before=(DOWN,), axis=[axis])
        for chosen in ["i0", "i02", "places", "scalar"]:
            yield from each("Gather", f"x {chosen}", axis=[axis])
            yield from each("Gather", f"t {chosen}", before=(UP, OUT), axis=[axis])
        best = node("ArgMax", "x", "a", axis=1, keepdims=0)
        kept = node("ArgMax", "x", "a", axis=1, keepdims=1)
        yield from each("Gather", "table a", before=(best,), axis=[axis])
        yield from each("Gather", "table a", before=(kept,), axis=[axis])
        yield from each("Gather", "labels a", before=(kept,), axis=[axis])
        yield from each("TopK", "x i2", "y j", axis=[axis])
        yield from each("TopK", "t i1", "y j", before=(UP, OUT), axis=[axis])
        yield from each("Split", "x", "y z", axis=[axis], num_outputs=[2])
        yield from each("Split", "x i12", "y z", axis=[axis])
        yield from each("Slice", f"x i1 i2 {'i0' if axis == 0 else 'i1'}")
        yield from each("Slice", f"t i1 i2 {'in1' if axis == 0 else 'i1'}", before=(UP, OUT))
    for added in ["v", "v4", "one", "scalar", "wide", "row", "column", "six", "deep", "x"]:
        yield from each("Gemm", f"x w {added}", transA=[0, 1], transB=[0, 1], beta=[0.5])
        yield from each("Gemm", f"x wt {added}", transB=[0, 1], alpha=[2.0])
        yield from each("Gemm", f"x square {added}")
    yield from each("Gemm", "x w", alpha=[0.5])
    yield from each("Gemm", "x square s", before=(DOWN,))
    for right in ["w", "wt", "v", "row", "deep", "square", "six"]:
        yield from each("MatMul", f"x {right}")
        yield from each("MatMul", f"t {right}", before=(UP, OUT))
        yield from each("MatMul", f"{right} x")
    for axes in ["i0", "i1", "i2", "in1", "i12", "i02"]:
        yield from each("Squeeze", f"u {axes}", before=(UP,))
        yield from each("Unsqueeze", f"x {axes}")
    yield from each("Squeeze", "u", before=(UP,))
    yield from each(
        "Squeeze", "u", before=(node("Unsqueeze", "x", "u", axes=[2]),), opset=11, axes=[[2]]
    )
    perms = [[0, 1], [1, 0], [0, 2, 1], [2, 1, 0], [1, 0, 2], None]
    yield from each("Transpose", "x", perm=perms)
    yield from each("Transpose", "t", before=(UP, OUT), perm=perms)
    norms = "x v v v v"
    yield from each("BatchNormalization", norms, epsilon=[0.1])
    yield from each("BatchNormalization", "t v v v v", before=(UP, OUT), epsilon=[0.1])
    yield from each("BatchNormalization", norms, "y p q", training_mode=[1])
    # ai.onnx.ml
    for chosen in ["i0", "i02", "i12", "places"]:
        yield from each("ArrayFeatureExtractor", f"x {chosen}", make=ml)
        yield from each("ArrayFeatureExtractor", f"t {chosen}", before=(UP, OUT), make=ml)
        yield from each("ArrayFeatureExtractor", f"s {chosen}", before=(DOWN,), make=ml)
    yield from each("ArrayFeatureExtractor", "labels a", before=(kept,), make=ml)
    for operator, given in {
        "Binarizer": {"threshold": [0.5]},
        "Imputer": {"imputed_value_floats": [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0], [1.0] * 4]},
        "Normalizer": {"norm": ["L1", "L2", "MAX"]},
        "Scaler": {"offset": [[0.5], [1.0, 2.0], [1.0, 2.0, 3.0]], "scale": [[2.0], [1.0] * 3]},
        "LabelEncoder": {"keys_floats": [[1.0, 2.0]], "values_floats": [[5.0, 6.0]]},
        "OneHotEncoder": {"cats_int64s": [[1, 2], [0, 1, 2, 3]], "zeros": [0, 1, None]},
        "FeatureVectorizer": {"inputdimensions": [[3], [1], [5], [3, 3], [0], [-3]]},
        "LinearRegressor": {
            "coefficients": [[1.0] * 3, [1.0] * 6, [1.0, 2.0]],
            "intercepts": [[0.5], [0.5, 0.25], None],
            "targets": [1, 2, 3, 64, 0, -1, None],
        },
        "SVMRegressor": {"n_targets": [1, 64, None], **{k: [v] for k, v in SVM.items()}},
        "TreeEnsembleRegressor": {**{k: [v] for k, v in TREE.items()}, "n_targets": [1, 2, 64, 0]},
    }.items():
        for source, before in (("x", ()), ("t", (UP, OUT)), ("s", (DOWN,))):
            yield from each(operator, source, before=before, make=ml, **given)
    yield from each(
        "FeatureVectorizer",
        "x w4",
        before=(node("MatMul", "x w", "w4"),),
        make=ml,
        inputdimensions=[[3, 4], [4, 3], [3], [7], [3, 4, 1], None],
    )
    linear = {"coefficients": [[1.0] * 6, [1.0] * 3, [1.0] * 9], "intercepts": [[0.0, 0.1], [0.1]]}
    svm = {"vectors_per_class": [[1, 1]], **{k: [v] for k, v in SVM.items() if k != "n_supports"}}
    for source, before in (("x", ()), ("t", (UP, OUT)), ("s", (DOWN,))):
        for operator, given in (
            ("LinearClassifier", linear),
            ("SVMClassifier", svm),
            ("TreeEnsembleClassifier", {k: [v] for k, v in LEAVES.items()}),
        ):
            labels = "classlabels_int64s" if operator.startswith("Tree") else "classlabels_ints"
            more = {labels: [[0, 1]], "post_transform": ["NONE"]}
            yield from each(operator, source, "l y", before=before, make=ml, **given, **more)
        zipped = ml("ZipMap", source, "y", classlabels_int64s=[0, 1, 2])
        yield "ZipMap", [*before, zipped], 18
    # Reshapes, last, of what has the widths that were believed.
    sizes = (-1, 0, 1, 2, 3, 6)
    for shape in [[a] for a in sizes] + [[a, b] for a in sizes for b in sizes]:
        for source, before in (("x", ()), ("s", (DOWN,)), ("u", (UP,))):
            yield (
                "Reshape",
                [
                    *before,
                    node("Constant", "", "k", value_ints=shape),
                    node("Reshape", f"{source} k", "y"),
                ],
                18,
            )
    for shape in ([0, -1, 1], [-1, 3, 1], [-1, 1, 3], [0, 0, 0], [0, 3, 3], [-1, 9, 1], [3, 0, -1]):
        for zero in (0, 1):
            yield (
                "Reshape",
                [
                    UP,
                    OUT,
                    node("Constant", "", "k", value_ints=shape),
                    node("Reshape", "t k", "y", allowzero=zero),
                ],
                18,
            )


def believed(graph):
    """What is believed of all values, or None."""
    try:
        return rows.describe_values(Graph.of(graph.SerializeToString()))
    except (NotProven, InvalidInput):
        return None


def compared(graph, values, sizes=(1, 2, 3, 6)):
    """Whether it could be run; fails if a value has other sizes than was believed."""
    shown = onnx.ModelProto()
    shown.CopyFrom(graph)
    names = [name for each in graph.graph.node for name in each.output]
    del shown.graph.output[:]
    shown.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    ran = False
    try:
        run = session(shown)
    except Exception:
        return False
    for count in sizes:
        try:
            found = run.run(None, {"x": X[:count]})
        except Exception:
            continue
        ran = True
        for name, array in zip(names, found, strict=True):
            shape, belief = np.shape(array), values[name]
            text = f"{name}: {belief}, but {shape}\n{onnx.printer.to_text(graph)}"
            if isinstance(belief, Rows):
                assert (len(shape), shape[0]) == (belief.rank, count), text
                for size, dim in zip(shape[1:], belief.dims, strict=True):
                    assert dim is None or dim == size, text
            elif isinstance(belief, Lying):
                assert shape == (1, count), text
            elif isinstance(belief, Maps):
                assert len(array) == count, text
            elif belief.value is not None:
                assert shape == belief.value.shape, text
    return ran


def built(nodes, opset):
    used = {name for each in nodes for name in each.input}
    constants = {name: value for name, value in CONSTANTS.items() if name in used}
    graph = model(*nodes, constants=constants, opset=opset)
    graph.graph.output[0].CopyFrom(helper.make_empty_tensor_value_info("y"))
    return graph


@pytest.fixture(scope="module")
def proven():
    """For each operator, how many graphs were proven, run, and found to be as believed."""
    found: dict[str, int] = {}
    for operator, nodes, opset in cases():
        graph = built(nodes, opset)
        values = believed(graph)
        if values is None:
            continue
        if compared(graph, values):
            found[operator] = found.get(operator, 0) + 1
            if operator != "ZipMap":
                assert not mixes(graph, X), onnx.printer.to_text(graph)
    return found


@pytest.mark.parametrize("operator", [*rows._MAIN_RULES, *rows._ML_RULES])
def test_every_rule_is_compared_with_the_runtime(proven, operator):
    assert proven.get(operator, 0) >= 1


def test_random_graphs_have_the_sizes_that_are_believed():
    choose, count = random.Random(7), 0
    for _ in range(800):
        graph = random_graph(choose)
        values = believed(graph)
        if values is not None:
            count += compared(graph, values)
    assert count > 80


# ------------------------------------------------------------ what a wrong width was good for


def made_of_groups(*nodes, width):
    """One number from each group of records, given to all of them."""
    return model(
        *nodes,
        node("Reshape", "a groups", "g"),
        node("ReduceMax", "g last", "m", keepdims=1),
        node("Mul", "x none", "z"),
        node("Add", "z m", "y"),
        constants={"groups": i(-1, width), "last": i(1), "none": np.float32(0), "dup": f([1] * 6)},
        inputs=[("x", FLOAT, [None, 1])],
    )


FORGED = {
    "FeatureVectorizer": made_of_groups(
        node("MatMul", "x dup", "six"),
        ml("FeatureVectorizer", "six", "a", inputdimensions=[1]),
        width=6,
    ),
    "SVMRegressor": made_of_groups(
        ml("SVMRegressor", "x", "a", **{**SVM, "support_vectors": [1.0, 2.0]}, n_targets=6),
        width=6,
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_no_proof_by_a_width_that_the_runtime_does_not_keep_to(name):
    graph = FORGED[name]
    assert mixes(graph, X[:, :1]) is (None if name == "SVMRegressor" else True)
    assert not rows.is_rowwise(graph.SerializeToString())


def test_a_gemm_is_as_wide_as_its_product():
    """What is added is repeated to that size, and never the other way round."""
    graph = model(
        node("Gemm", "x w c", "y"), constants={"w": np.ones((3, 1), np.float32), "c": f(1, 2)}
    )
    assert not rows.is_rowwise(graph.SerializeToString())


@pytest.mark.parametrize("targets", [0, -1])
def test_no_proof_of_less_than_one_number(targets):
    tree = {**TREE, "n_targets": targets}
    assert not rows.is_rowwise(
        model(ml("TreeEnsembleRegressor", "x", "y", **tree)).SerializeToString()
    )


def test_whole_numbers_are_cast_as_believed():
    graph = model(node("Cast", "x", "y", to=7), output=("y", TensorProto.INT64, None))
    assert rows.is_rowwise(graph.SerializeToString())
