"""Trees are evaluated in constant work, and give what the runtime gives without it."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from support.onnx_graphs import ml, model, refused
from support.tree_ensembles import LEAF, chain, ensemble, nodes_of, weights_of
from surehold.errors import InvalidInput
from surehold.models.onnx import trees
from surehold.models.onnx.preparation import prepare
from surehold.models.onnx.trees import MOST_STEPS, check_trees, pad_trees


def run(content, matrix):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    content = content if isinstance(content, bytes) else content.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: matrix})


def steps(node):
    """The lengths of all ways through the trees of a node, a set for each tree."""
    given = {attribute.name: attribute for attribute in node.attribute}
    listed = zip(
        given["nodes_treeids"].ints,
        given["nodes_nodeids"].ints,
        given["nodes_modes"].strings,
        given["nodes_truenodeids"].ints,
        given["nodes_falsenodeids"].ints,
        strict=True,
    )
    ways, roots = {}, {}
    for tree, name, mode, true, false in listed:
        ways[tree, name] = () if mode == b"LEAF" else (true, false)
        roots.setdefault(tree, name)
    found = {}
    for tree, root in roots.items():
        at, lengths, length = {root}, set(), 0
        while at:
            lengths |= {length} if any(not ways[tree, name] for name in at) else set()
            at = {way for name in at for way in ways[tree, name]}
            length += 1
        found[tree] = lengths
    return found


SPECIAL = np.array([0, 1, -1, 0.5, 2, np.nan, np.inf, -np.inf, 1e-42], np.float32)


def rows(seed, count=40):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(count, 3)).astype(np.float32)
    return np.where(rng.random((count, 3)) < 0.5, rng.choice(SPECIAL, (count, 3)), matrix)


def test_padded_ensembles_give_the_same_to_the_last_bit_in_as_many_steps_for_all():
    """Of all modes, transforms and aggregations; a few the runtime itself does not take."""
    same = longer = 0
    for seed in range(400):
        graph, matrix = ensemble(seed), rows(seed)
        check_trees(graph.graph.node[0])
        try:
            expected = run(graph, matrix)
        except Exception:
            continue
        before = graph.SerializeToString()
        pad_trees(graph.graph.node[0])
        assert all(len(lengths) == 1 for lengths in steps(graph.graph.node[0]).values())
        found = run(graph, matrix)
        for one, other in zip(expected, found, strict=True):
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), seed
        same += 1
        longer += graph.SerializeToString() != before
    assert same > 350
    assert longer > 200


def test_ensembles_of_scikit_learn():
    import warnings

    from sklearn.ensemble import (
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        RandomForestClassifier,
    )

    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(300, 3)).astype(np.float32)
    truth = np.digitize(matrix[:, 0] + rng.normal(size=300), [-0.5, 0.5])
    for estimator, target in (
        (RandomForestClassifier(20, random_state=0), truth),
        (RandomForestClassifier(20, random_state=0), truth > 1),
        (GradientBoostingClassifier(n_estimators=20, random_state=0), truth),
        (ExtraTreesRegressor(20, random_state=0), matrix[:, :2]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from skl2onnx import to_onnx

            estimator.fit(matrix, target)
            is_classifier = hasattr(estimator, "predict_proba")
            options = {"zipmap": False} if is_classifier else None
            content = to_onnx(estimator, matrix[:1], options=options)
        expected = run(content, matrix)
        found = run(prepare(content.SerializeToString()), matrix)
        for one, other in zip(expected, found, strict=True):
            assert np.array_equal(one, other)
        padded = onnx.load_model_from_string(prepare(content.SerializeToString()))
        forests = [node for node in padded.graph.node if node.op_type in trees.TREES]
        assert forests
        for node in forests:
            assert all(len(lengths) == 1 for lengths in steps(node).values())


def test_numbers_as_tensors():
    """Doubles, as lists of which the file has no field."""
    graph = chain(5)
    [node] = graph.graph.node
    for attribute in node.attribute:
        if attribute.name in ("nodes_values", "target_weights"):
            array = np.array(attribute.floats, np.float64)
            attribute.CopyFrom(
                onnx.helper.make_attribute(
                    f"{attribute.name}_as_tensor", numpy_helper.from_array(array)
                )
            )
    graph.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    matrix = np.stack([np.arange(-1.0, 7.0)] * 3, axis=1)
    expected = run(graph, matrix)[0]
    pad_trees(node)
    assert steps(node) == {0: {5}}
    assert (run(graph, matrix)[0] == expected).all()
    assert expected[:, 0].tolist() == [0, 0, 1, 2, 3, 4, 5, 5]


def test_branches_that_meet_again():
    """The runtime has no room for ways of one length to a node that several lead to."""
    nodes = [(0, "BRANCH_EQ", 1.0, 2, 1, 0), (0, "BRANCH_EQ", 2.0, 2, 3, 0), LEAF, LEAF]
    given, leaves = nodes_of([nodes])
    given |= weights_of("target", leaves, lambda _: [0], lambda: 1.0)
    graph = model(ml("TreeEnsembleRegressor", "x", "y", **given, n_targets=1))
    refused(graph, "do not meet again")


def test_deep_trees_are_refused():
    """The review's, of 9,000 nodes one after the other, and one that is a step too deep."""
    refused(chain(9_000), "at most 64 steps.*limit the depth")
    refused(chain(MOST_STEPS + 1), "at most 64 steps")
    graph = chain(MOST_STEPS)
    content = prepare(graph.SerializeToString())
    [node] = onnx.load_model_from_string(content).graph.node
    assert steps(node) == {0: {MOST_STEPS}}
    matrix = np.stack([np.arange(-1.0, 70.0, dtype=np.float32)] * 3, axis=1)
    assert (run(content, matrix)[0] == run(graph, matrix)[0]).all()


def test_large_ensembles_are_refused(monkeypatch):
    monkeypatch.setattr(trees, "MOST_TREE_NODES", 100)
    refused(chain(20), "all paths equally long")  # 41 nodes, and 190 that would be put in
    check_trees(chain(8).graph.node[0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda given: given["target_nodeids"].ints.pop(), "equally many weights"),
        (lambda given: given["target_nodeids"].ints.__setitem__(0, 3), "equally many weights"),
        (lambda given: given["nodes_nodeids"].ints.__setitem__(4, 99), "names of their own|lead"),
        (lambda given: given["nodes_treeids"].ints.__setitem__(4, 0), ""),
        (lambda given: given["nodes_values"].floats.pop(), "all described"),
    ],
)
def test_malformed_trees(change, says):
    graph = chain(2)
    given = {attribute.name: attribute for attribute in graph.graph.node[0].attribute}
    change(given)
    if says:
        with pytest.raises(InvalidInput, match=says):
            check_trees(graph.graph.node[0])
    else:
        check_trees(graph.graph.node[0])


def test_a_tree_with_two_roots():
    given, leaves = nodes_of([[LEAF, LEAF]])
    given |= weights_of("target", leaves, lambda _: [0], lambda: 1.0)
    refused(model(ml("TreeEnsembleRegressor", "x", "y", **given, n_targets=1)), "one root")
