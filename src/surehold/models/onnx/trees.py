"""Tree ensembles of ONNX models: what is refused, and how all paths become equally long.

The time that a tree takes for a record shows how long its path to a leaf is, and so where it went.
So every tree is padded before it is evaluated: where a path is shorter than the longest, nodes are
put in whose two branches lead to the same next node, and every record takes as many steps as any
other. The result is the same to the last bit, as the same leaves are reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surehold.models.onnx.nodes import attributes_of, onnx, refusal

TREES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")
MOST_STEPS = 64
"""From the root of a tree to a leaf."""
MOST_TREE_NODES = 1 << 22
"""Nodes of an ensemble, with those that are put in."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class _Forest:
    """The nodes of all trees: which tree each is in, and where its branches lead (-1 for leaves).

    ``level`` is the length of the path to a node from the root, and for a leaf that of the longest
    path to any leaf of its tree.
    """

    names: Integers
    tree: Integers
    branches: tuple[Integers, Integers]
    is_leaf: NDArray[np.bool_]
    level: Integers

    @property
    def gaps(self) -> tuple[Integers, Integers]:
        """How many nodes each branch has to be lengthened by."""
        true, false = (
            np.where(self.is_leaf, 0, self.level[branch] - self.level - 1)
            for branch in self.branches
        )
        return true, false


def check_trees(node: Any) -> None:
    """Refuse trees with cycles, and those that are too deep or too large once padded."""
    forest = _forest(node)
    size = len(forest.names) + sum(int(gap.sum()) for gap in forest.gaps)
    if size > MOST_TREE_NODES:
        required = f"of trees of at most {MOST_TREE_NODES:,} nodes, with all paths equally long"
        raise refusal(required, f"of {size:,}", "limit the depth of its trees")
    _check_weights(node, forest)


def pad_trees(node: Any) -> None:
    """Make every path as long as the longest in its tree."""
    forest = _forest(node)
    gaps = forest.gaps
    if not any(gap.any() for gap in gaps):
        return
    count = len(forest.names)
    # The new nodes of a branch are one after the other: from, and to, by places in all lists.
    origin = np.concatenate([np.repeat(np.arange(count), gap) for gap in gaps])
    target = np.concatenate(
        [np.repeat(branch, gap) for branch, gap in zip(forest.branches, gaps, strict=True)]
    )
    ends = np.cumsum(np.concatenate(gaps)) + count
    places = np.arange(count, count + len(origin))
    is_last = np.zeros(len(origin), np.bool_)
    is_last[ends[np.concatenate(gaps) > 0] - 1 - count] = True
    onwards = np.where(is_last, target, places + 1)
    true, false = (
        np.concatenate([np.where(gap > 0, end - gap, branch), onwards])
        for branch, gap, end in zip(forest.branches, gaps, np.split(ends, 2), strict=True)
    )
    source = np.concatenate([np.arange(count), origin])  # what a new node is a copy of
    tree = forest.tree[source]
    names = np.concatenate([forest.names, places])
    starts = np.repeat(ends - np.concatenate(gaps), np.concatenate(gaps))
    level = np.concatenate([forest.level, forest.level[origin] + places - starts + 1])
    order = np.lexsort([level, tree])  # every node before those that it leads to
    given = attributes_of(node)
    for name in given:
        if name.startswith("nodes_") and name.removeprefix("nodes_") not in _LINKS:
            _reorder(given[name], source[order])
    leaves = np.concatenate([forest.is_leaf, np.zeros(len(origin), np.bool_)])
    for name, values in (
        ("nodeids", names),
        ("truenodeids", np.where(leaves, 0, names[true])),
        ("falsenodeids", np.where(leaves, 0, names[false])),
    ):
        given[f"nodes_{name}"].ints[:] = values[order].tolist()


_LINKS = ("nodeids", "truenodeids", "falsenodeids")


def _integers(given: Mapping[str, Any], name: str) -> Integers:
    return np.array(given[name].ints if name in given else (), np.int64)


def _forest(node: Any) -> _Forest:
    given = attributes_of(node)
    lists = [_integers(given, f"nodes_{name}") for name in ("treeids", *_LINKS)]
    modes = given["nodes_modes"].strings if "nodes_modes" in given else ()
    if len({len(modes), *map(len, lists)}) != 1 or not modes:
        raise refusal("of trees whose nodes are all described", node.op_type)
    for name in given:
        if name.startswith("nodes_") and _length(given[name]) not in (0, len(modes)):
            raise refusal("of trees whose nodes are all described", node.op_type)
    trees, names, *ids = lists
    is_leaf = np.array([mode == b"LEAF" for mode in modes])
    inner = np.flatnonzero(~is_leaf)
    # Places of (tree, node), both made dense, so that one number says which; trees in the
    # order in which they come.
    _, first, tree_of = np.unique(trees, return_index=True, return_inverse=True)
    tree_of = np.argsort(np.argsort(first))[tree_of]
    every, name_of = np.unique(names, return_inverse=True)
    codes = tree_of * len(every) + name_of
    by_code = np.argsort(codes)
    # The runtime has names that are smaller than the number of nodes, and so have we when we pad.
    if (np.diff(codes[by_code]) == 0).any() or names.min() < 0 or names.max() >= len(names):
        raise refusal("of trees whose nodes have names of their own", node.op_type)
    branches = []
    for listed in ids:
        target = np.searchsorted(every, listed[inner]).clip(0, len(every) - 1)
        wanted = tree_of[inner] * len(every) + target
        found = np.searchsorted(codes, wanted, sorter=by_code).clip(0, len(codes) - 1)
        place = by_code[found]
        exists = (every[target] == listed[inner]) & (codes[place] == wanted)
        if not (exists & (place > inner)).all():
            raise refusal("of trees whose branches lead on to later nodes", node.op_type)
        branch = np.full(len(names), -1)
        branch[inner] = place
        branches.append(branch)
    true, false = branches
    level = _levels(node, tree_of, (true, false), is_leaf)
    return _Forest(names, tree_of, (true, false), is_leaf, level)


def _levels(
    node: Any, tree: Integers, branches: tuple[Integers, Integers], is_leaf: NDArray[np.bool_]
) -> Integers:
    """The length of the path to each node, all leaves of a tree at the level of the last."""
    level = np.zeros(len(tree), np.int64)
    parents = np.bincount(np.concatenate([branch[~is_leaf] for branch in branches]))
    parents = np.pad(parents, (0, len(tree) - len(parents)))
    roots = np.flatnonzero(parents == 0)
    if len(np.unique(tree[roots])) != len(roots):
        raise refusal("of trees with one root each", node.op_type)
    if parents.max() > 1:
        hint = "export categories as columns of zeros and ones"
        raise refusal("of trees whose branches do not meet again", node.op_type, hint)
    at = roots
    for depth in range(1, MOST_STEPS + 2):
        inner = at[~is_leaf[at]]
        if not len(inner):
            break
        if depth > MOST_STEPS:
            required = f"of trees with paths of at most {MOST_STEPS} steps"
            raise refusal(required, "deeper", "limit the depth of its trees")
        at = np.unique(np.concatenate([branch[inner] for branch in branches]))
        level[at] = depth
    last = np.zeros(int(tree.max()) + 1, np.int64)
    np.maximum.at(last, tree, level)
    return np.where(is_leaf, last[tree], level)


def _check_weights(node: Any, forest: _Forest) -> None:
    """That all leaves have equally many, or the time would show which leaf a record reaches."""
    given = attributes_of(node)
    kind = "class" if node.op_type == "TreeEnsembleClassifier" else "target"
    trees, names = (_integers(given, f"{kind}_{name}") for name in ("treeids", "nodeids"))
    listed = _integers(given, "nodes_treeids")
    if len(trees) == len(names):
        wanted = np.stack([trees, names], axis=1)
        pairs, counts = np.unique(wanted, axis=0, return_counts=True)
        leaves = np.stack([listed, forest.names], axis=1)[forest.is_leaf]
        leaves = leaves[np.lexsort(leaves.T[::-1])]
        if np.array_equal(pairs, leaves) and len(set(counts.tolist())) == 1:
            return
    raise refusal("of trees whose leaves have equally many weights", node.op_type)


def _length(attribute: Any) -> int:
    if attribute.HasField("t"):
        return int(np.prod(attribute.t.dims))
    return max(map(len, (attribute.ints, attribute.floats, attribute.strings)))


def _reorder(attribute: Any, source: Integers) -> None:
    """The entries at these places, in the place of all."""
    if attribute.HasField("t"):
        helper = onnx().numpy_helper
        if attribute.t.dims != [0]:
            array = helper.to_array(attribute.t)
            attribute.t.CopyFrom(helper.from_array(array[source], attribute.t.name))
        return
    for field in (attribute.ints, attribute.floats, attribute.strings):
        if len(field):
            values = list(field)
            field[:] = [values[at] for at in source.tolist()]
