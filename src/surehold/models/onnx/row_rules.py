"""What ONNX operators make of rows: which keep each record's row to itself, and when.

Each function takes descriptions of a node's inputs, gives those of its outputs
(:mod:`.row_values`), and raises :class:`.NotProven` whenever it is not certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surehold.models.onnx.nodes import onnx
from surehold.models.onnx.row_values import (
    Call,
    Constant,
    Lying,
    Maps,
    NotProven,
    Rows,
    Rule,
    Value,
    axis_of,
    require,
)

# ---------------------------------------------------------------------------- constants


def constant(call: Call) -> list[Value]:
    """What the node says itself."""
    require(len(call.attributes) == 1 and not call.given)
    [(name, value)] = call.attributes.items()
    if name == "value":
        return [Constant(array_of(value))]
    require(name in ("value_int", "value_ints", "value_float", "value_floats"))
    return [Constant(np.array(value))]


def array_of(tensor: Any) -> Any:
    """The numbers or texts of a tensor."""
    try:
        return onnx().numpy_helper.to_array(tensor)
    except Exception:
        raise NotProven from None


# ------------------------------------------------------------------- element by element


def unary(call: Call) -> list[Value]:
    """The same function of every element."""
    call.only(1)
    value = call.value(0)
    if isinstance(value, Rows | Lying):
        return [value]
    if isinstance(value, Constant):
        if value.value is None or call.operator not in ("Cast", "Identity"):
            return [Constant(None)]
        if call.operator == "Identity":
            return [value]
        # The size, which a cast does not change, and NaN, so that no axis is ever read from it.
        return [Constant(np.broadcast_to(np.float64(math.nan), value.value.shape))]
    raise NotProven


def broadcast(call: Call) -> list[Value]:
    """A function of elements in the same place, smaller inputs repeated.

    Axes are aligned at the end, so all rows must have the same number of axes, and a constant must
    have fewer, or one entry in the place of the records.
    """
    given = [value for value in call.given if value is not None]
    rows = [value for value in given if isinstance(value, Rows)]
    if not rows:
        require(bool(given) and all(isinstance(value, Constant) for value in given))
        return [Constant(None)]
    rank = rows[0].rank
    shapes: list[tuple[int | None, ...]] = []
    for value in given:
        if isinstance(value, Rows):
            require(value.rank == rank)
            shapes.append(value.dims)
        elif isinstance(value, Constant) and value.value is not None:
            shape = value.value.shape
            require(len(shape) < rank or (len(shape) == rank and shape[0] == 1))
            shapes.append((1,) * (rank - 1 - len(shape)) + shape[len(shape) == rank :])
        else:
            raise NotProven
    return [Rows(tuple(_wider(sizes) for sizes in zip(*shapes, strict=True)))]


def _wider(sizes: Sequence[int | None]) -> int | None:
    others = {size for size in sizes if size != 1}
    if len(others) > 1:
        return None
    return others.pop() if others else 1


# -------------------------------------------------------------------------- along an axis


def along(since: int) -> Rule:
    """The same shape, each entry a function of an axis that is not the records'."""

    def rule(call: Call) -> list[Value]:
        call.only(1)
        rows = call.rows()
        # Older: all axes from this one on, taken together.
        axis_of(call.integer("axis", 1 if call.opset < since else -1), rows.rank)
        return [rows]

    return rule


def arg_reduce(call: Call) -> list[Value]:
    """ArgMax and ArgMin."""
    rows = call.rows()
    axis = axis_of(call.integer("axis", 0), rows.rank)
    return [_reduce_axes(rows, {axis}, call.integer("keepdims", 1))]


def reduce(since: int) -> Rule:
    """Sums, means and the like; without axes they are taken over everything."""

    def rule(call: Call) -> list[Value]:
        rows = call.rows()
        return [_reduce_axes(rows, call.axes(since, rows.rank), call.integer("keepdims", 1))]

    return rule


def _reduce_axes(rows: Rows, axes: set[int], keep: int) -> Rows:
    dims = ((at, 1 if at in axes else dim) for at, dim in enumerate(rows.dims, 1))
    return Rows(tuple(dim for at, dim in dims if keep or at not in axes))


def top_k(call: Call) -> list[Value]:
    """The largest along an axis, and where they are."""
    rows = call.rows()
    axis = axis_of(call.integer("axis", -1), rows.rank)
    require(call.opset >= 10 and isinstance(call.value(1), Constant))
    return [rows.resized(axis, None)] * 2


# --------------------------------------------------------------------------- other shapes


def concat(call: Call) -> list[Value]:
    """Side by side."""
    rows = [call.rows(at) for at in range(len(call.given))]
    rank = rows[0].rank
    require(all(value.rank == rank for value in rows) and "axis" in call.attributes)
    axis = axis_of(call.integer("axis", 0), rank)
    sizes = [value.dims[axis - 1] for value in rows]
    known = [size for size in sizes if size is not None]
    return [rows[0].resized(axis, sum(known) if len(known) == len(sizes) else None)]


def split(call: Call) -> list[Value]:
    """Parts along an axis; how large they are is not followed."""
    rows = call.rows()
    axis = axis_of(call.integer("axis", 0), rows.rank)
    require(isinstance(call.value(1), Constant | None))
    return [rows.resized(axis, None)] * call.outputs


def reshape(call: Call) -> list[Value]:
    """The same numbers in the same order: rows stay whole if there are as many as before."""
    shape = call.whole(1)
    require(bool(shape) and not call.integer("allowzero", 0) and min(shape) >= -1)
    if isinstance(call.value(0), Lying):
        require(shape in ([-1], [-1, 1]))
        return [Rows((1,) * (len(shape) - 1))]
    rows = call.rows()
    rest: list[int | None] = []
    for at, size in enumerate(shape[1:], 1):
        require(size != 0 or at < rows.rank)
        rest.append(rows.dims[at - 1] if size == 0 else size)
    if shape[0] == 0:
        return [Rows(_fill_in(rest, rows.size))]
    if shape[0] == -1:
        known = [size for size in rest if size is not None and size > 0]
        if rows.size and len(known) == len(rest) and math.prod(known) == rows.size:
            return [Rows(tuple(rest))]
    raise NotProven


def _fill_in(rest: Sequence[int | None], size: int | None) -> tuple[int | None, ...]:
    """With what -1 stands for, if that is known."""
    others = [dim for dim in rest if dim != -1]
    if -1 not in rest:
        return tuple(rest)
    known = [dim for dim in others if dim is not None]
    product = math.prod(known)
    exact = size is not None and len(known) == len(others) and product > 0
    found = size // product if exact and size is not None and size % product == 0 else None
    return tuple(found if dim == -1 else dim for dim in rest)


def flatten(call: Call) -> list[Value]:
    """All axes but the first in one."""
    rows = call.rows()
    require(call.integer("axis", 1) == 1)
    return [Rows((rows.size,))]


def squeeze(call: Call) -> list[Value]:
    """Without axes of size one, which must be named: the records' may have that size, too."""
    rows = call.rows()
    return [_reduce_axes(rows, call.axes(13, rows.rank), keep=0)]


def unsqueeze(call: Call) -> list[Value]:
    """With further axes of size one."""
    rows = call.rows()
    rank = rows.rank + len(call.integers("axes", 1, 13) or ())
    chosen = call.axes(13, rank)
    require(rows.rank + len(chosen) == rank)
    dims = iter(rows.dims)
    return [Rows(tuple(1 if at in chosen else next(dims) for at in range(1, rank)))]


def transpose(call: Call) -> list[Value]:
    """Axes in another order, the records' first as before."""
    rows = call.rows()
    order = call.attributes.get("perm")
    if not isinstance(order, list) or sorted(order) != list(range(rows.rank)) or order[0] != 0:
        raise NotProven
    return [Rows(tuple(rows.dims[at - 1] for at in order[1:]))]


def slice_(call: Call) -> list[Value]:
    """A part along named axes."""
    rows = call.rows()
    require(call.opset >= 10)
    require(all(isinstance(value, Constant | None) for value in call.given[1:]))
    axes = [axis_of(axis, rows.rank) for axis in call.whole(3)]
    require(bool(axes))
    dims = [None if at in axes else dim for at, dim in enumerate(rows.dims, 1)]
    return [Rows(tuple(dims))]


def gather(call: Call) -> list[Value]:
    """Chosen columns of rows; or, of a constant table, the lines that rows name."""
    data, chosen = call.value(0), call.value(1)
    axis = call.integer("axis", 0)
    if isinstance(data, Rows) and isinstance(chosen, Constant) and chosen.value is not None:
        at = axis_of(axis, data.rank) - 1
        return [Rows((*data.dims[:at], *chosen.value.shape, *data.dims[at + 1 :]))]
    table = data.value if isinstance(data, Constant) else None
    if table is not None and table.ndim and isinstance(chosen, Rows) and axis == 0:
        return [Rows((*chosen.dims, *table.shape[1:]))]
    raise NotProven


# -------------------------------------------------------------------------------- products


def matmul(call: Call) -> list[Value]:
    """Rows times a constant matrix."""
    rows, right = call.rows(), call.array(1)
    require(rows.rank >= 2 and right.ndim in (1, 2))
    return [Rows(rows.dims[:-1] + right.shape[1:])]


def gemm(call: Call) -> list[Value]:
    """The same with a constant on top, and never transposed on the left."""
    call.rows(rank=2)
    right = call.array(1)
    require(not call.integer("transA", 0) and right.ndim == 2)
    width = right.shape[0 if call.integer("transB", 0) else 1]
    product = Rows((width,))
    added = call.value(2)
    if added is not None:
        # It is repeated to the size of the product, and never the other way round.
        require(broadcast(Call("Add", [product, added], {}, call.opset, 1)) == [product])
    return [product]


def batch_normalization(call: Call) -> list[Value]:
    """By constants, as when a model is used; when it is trained, by what the batch holds."""
    rows = call.rows()
    require(rows.rank >= 2 and not call.integer("training_mode", 0) and call.outputs == 1)
    require(len(call.given) == 5 and all(call.array(at).ndim == 1 for at in range(1, 5)))
    return [rows]


# ------------------------------------------------------------------------------ ai.onnx.ml


def classifier(call: Call) -> list[Value]:
    """A label, and scores. Only of matrices: a vector is taken for one record, here and below."""
    call.only(1)
    call.rows(rank=2)
    return [Rows(()), Rows((None,))]


def regressor(targets: str) -> Rule:
    """Return as many numbers per record as an attribute says."""

    def rule(call: Call) -> list[Value]:
        call.only(1)
        call.rows(rank=2)
        width = call.integer(targets, 1)
        require(width >= 1)
        return [Rows((width,))]

    return rule


def svm_regressor(call: Call) -> list[Value]:
    """One number for each record, whatever a file may say of targets as other regressors have."""
    call.only(1)
    call.rows(rank=2)
    require("n_targets" not in call.attributes)
    return [Rows((1,))]


def same_matrix(call: Call) -> list[Value]:
    """As many numbers for each record as before."""
    call.only(1)
    return [call.rows(rank=2)]


def one_hot(call: Call) -> list[Value]:
    """One more axis, of the categories."""
    call.only(1)
    return [Rows((*call.rows().dims, None))]


def feature_vectorizer(call: Call) -> list[Value]:
    """Matrices side by side, each cut or filled up to the width that an attribute says.

    Only if these are the widths that they have.
    """
    sizes = [call.rows(at, rank=2).dims[0] for at in range(len(call.given))]
    widths = [size for size in sizes if size is not None]
    require(len(widths) == len(sizes) and call.attributes.get("inputdimensions") == widths)
    return [Rows((sum(widths),))]


def array_feature_extractor(call: Call) -> list[Value]:
    """Chosen entries of the last axis; of a constant, the entries that records name, lying down."""
    data, chosen = call.value(0), call.value(1)
    if isinstance(data, Rows) and data.rank >= 2 and isinstance(chosen, Constant):
        size = None if chosen.value is None else chosen.value.size
        return [Rows((*data.dims[:-1], size))]
    if isinstance(data, Constant) and data.value is not None and isinstance(chosen, Rows):
        shape = data.value.shape
        if (len(shape) == 1 or (len(shape) == 2 and shape[0] == 1)) and chosen.size == 1:
            return [Lying()]
    raise NotProven


def zip_map(call: Call) -> list[Value]:
    """A map for each record."""
    call.only(1)
    call.rows(rank=2)
    return [Maps()]
