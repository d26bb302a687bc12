"""Random ensembles of trees, of every kind that ONNX has."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from support.onnx_graphs import ml, model

MODES = [f"BRANCH_{name}" for name in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]
NAMES = "treeids nodeids featureids modes values truenodeids falsenodeids missing_value_tracks_true"
LEAF = (0, "LEAF", 0.0, 0, 0, 0)


def grown(rng, depth, modes, chain):
    """The nodes of a tree: feature, mode, value, branches, and where what is missing goes."""
    nodes = []

    def grow(left):
        at = len(nodes)
        nodes.append(LEAF)
        if left == 0 or (not chain and rng.random() < 0.25):
            return at
        value = float(rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, rng.normal()]))
        if chain:
            true = len(nodes)
            nodes.append(LEAF)
        else:
            true = grow(left - 1)
        false = grow(left - 1)
        mode, track = str(rng.choice(modes)), int(rng.integers(2))
        nodes[at] = (int(rng.integers(3)), mode, value, true, false, track)
        return at

    grow(depth)
    return nodes


def nodes_of(trees, rng=None):
    """Attributes of several trees, and which of their nodes are leaves."""
    lists = {name: [] for name in NAMES.split()}
    leaves = []
    for tree, nodes in enumerate(trees):
        named = np.arange(len(nodes)) if rng is None else rng.permutation(len(nodes))
        for at, (feature, mode, value, true, false, track) in enumerate(nodes):
            is_leaf = mode == "LEAF"
            ways = (0, 0) if is_leaf else (int(named[true]), int(named[false]))
            row = (tree, int(named[at]), feature, mode, value, *ways, track)
            for name, one in zip(lists, row, strict=True):
                lists[name].append(one)
            leaves += [(tree, int(named[at]))] if is_leaf else []
    return {f"nodes_{name}": values for name, values in lists.items()}, leaves


def weights_of(kind, leaves, ids, weights):
    rows = [(tree, name, one) for tree, name in leaves for one in ids(tree)]
    given = {f"{kind}_{name}": [row[at] for row in rows] for at, name in enumerate(COLUMNS)}
    return {**given, f"{kind}_weights": [float(weights()) for _ in rows]}


COLUMNS = ("treeids", "nodeids", "ids")


def ensemble(seed):
    """A model of one, with the input x of three features."""
    rng = np.random.default_rng(seed)
    modes = MODES if rng.random() < 0.5 else [str(rng.choice(MODES))]
    trees = [
        grown(rng, int(rng.integers(0, 7)), modes, rng.random() < 0.2)
        for _ in range(rng.integers(1, 6))
    ]
    given, leaves = nodes_of(trees, rng)
    if rng.random() < 0.5:
        del given["nodes_missing_value_tracks_true"]
    is_regressor, alone = rng.random() < 0.5, rng.random() < 0.5
    size = int(rng.choice([1, 2, 3] if is_regressor else [2, 3]))
    sign = abs if rng.random() < 0.4 else float
    only = int(rng.integers(2))
    by_tree = [only] if size <= 2 else None
    if size == 1:
        by_tree = [0]

    def ids(tree):
        return list(range(size)) if not alone else by_tree or [tree % size]

    kind = "target" if is_regressor else "class"
    given |= weights_of(kind, leaves, ids, lambda: sign(rng.normal()))
    given["post_transform"] = str(rng.choice(["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]))
    if rng.random() < 0.4:
        count = 1 if not is_regressor and rng.random() < 0.3 else size
        given["base_values"] = [float(value) for value in rng.normal(size=count)]
    if is_regressor:
        function = str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"]))
        given |= {"n_targets": size, "aggregate_function": function}
        return model(ml("TreeEnsembleRegressor", "x", "y", **given))
    texts = rng.random() < 0.5
    labels = {"classlabels_strings": list("abc")[:size]}
    labels = labels if texts else {"classlabels_int64s": [3, 5, 9][:size]}
    label = ("l", TensorProto.STRING if texts else TensorProto.INT64, None)
    made = ml("TreeEnsembleClassifier", "x", "l y", **given, **labels)
    return model(made, more_outputs=[label])


def chain(length, weights=None):
    """A tree in which one record goes one step and another all of them: is x0 at most 0, 1, ..."""
    nodes = [(0, "BRANCH_LEQ", float(at), 2 * at + 1, 2 * at + 2, 0) for at in range(length)]
    mixed = [one for node in nodes for one in (node, LEAF)]
    given, leaves = nodes_of([[*mixed, LEAF]])
    numbers = iter(range(len(leaves)))
    given |= weights_of("target", leaves, lambda _: [0], weights or (lambda: next(numbers)))
    return model(ml("TreeEnsembleRegressor", "x", "y", **given, n_targets=1))
