"""Columns as NumPy arrays, values and nulls separately, the same way for every column; and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from surehold.queries import ColumnType
from surehold.queries.expressions import Type

Cells: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Truths: TypeAlias = NDArray[np.bool_]
Item = TypeVar("Item", bound=np.generic)
SeriesFunction: TypeAlias = Callable[[Sequence[pl.Series]], pl.Series]

DTYPES: Mapping[Type, pl.DataType] = {
    Type.NUMBER: pl.Float64(),
    Type.TEXT: pl.String(),
    Type.BOOLEAN: pl.Boolean(),
    Type.DATE: pl.Int64(),
    Type.TIMESTAMP: pl.Int64(),
}
STORED: Mapping[ColumnType, pl.DataType] = {
    ColumnType.INT: pl.Int64(),
    ColumnType.FLOAT: pl.Float64(),
    ColumnType.BOOL: pl.Boolean(),
    ColumnType.STR: pl.String(),
    ColumnType.DATE: pl.Date(),
    ColumnType.TIMESTAMP: pl.Datetime("us", "UTC"),
}
"""How each type is kept in a segment."""


def slice_of(array: Any, kind: type[Item], width: int = 1) -> NDArray[Item]:
    """Return the values of an Arrow array of numbers; those of nulls are arbitrary."""
    first, stop = width * array.offset, width * (array.offset + len(array))
    return np.frombuffer(array.buffers()[1], kind)[first:stop]


def known_of(array: Any) -> Truths:
    """Return where an Arrow array is not null; the same work if it has no nulls."""
    return _bits_of(array, 0)


def truths_of(array: Any) -> Truths:
    """Return the values of an Arrow array of booleans."""
    return _bits_of(array, 1)


def _bits_of(array: Any, which: int) -> Truths:
    bits = array.buffers()[which]
    # From the byte in which it begins: a slice of a long column begins far behind its first.
    first, before = divmod(array.offset, 8)
    count = before + len(array)
    if bits is None:
        packed = np.full(count // 8 + 1, 255, np.uint8)
    else:
        packed = np.frombuffer(bits, np.uint8)[first : first + count // 8 + 1]
    # As booleans without a copy: the bits are unpacked to bytes of 0 and 1.
    return np.unpackbits(packed, count=count, bitorder="little")[before:].view(np.bool_)


def keep(cells: Cells, wanted: Truths, last: int) -> Cells:
    """Return the last cell where not wanted, without a branch, whose time would vary."""
    chosen: Cells = cells - last
    chosen *= wanted
    chosen += last
    return chosen


def apply(function: SeriesFunction, operands: Sequence[pl.Expr], kind: Type) -> pl.Expr:
    """Apply a function to whole columns, after evaluating all operands, whatever they hold.

    This replaces Polars' own expressions where they are unsuitable: ``when`` skips a branch that no
    record of a chunk takes, so its time would depend on the records; ``fill_nan`` repeats its
    operand, so nested ones would grow exponentially; and most of what it does with texts, or with
    nulls, takes longer on some records than on others.
    """
    return pl.map_batches(operands, function, DTYPES[kind], is_elementwise=True)


def numbers_column(numbers: NDArray[np.float64], known: Truths) -> pl.Series:
    """Build a column of numbers, null where they are unknown."""
    return _column(pa.float64(), numbers.size, pack_bits(known), numbers)


def integers_column(integers: NDArray[np.int64], known: Truths) -> pl.Series:
    """Build a column of integers, null where they are unknown."""
    return _column(pa.int64(), integers.size, pack_bits(known), integers)


def truths_column(truths: Truths, known: Truths) -> pl.Series:
    """Build a column of booleans, null where they are unknown."""
    return _column(pa.bool_(), truths.size, pack_bits(known), pack_bits(truths))


def pack_bits(truths: Truths) -> NDArray[np.uint8]:
    """Pack one bit per value."""
    return np.packbits(truths, bitorder="little")


def _column(kind: Any, size: int, known: NDArray[np.uint8], values: NDArray[Any]) -> pl.Series:
    buffers = [pa.py_buffer(known), pa.py_buffer(values)]
    return pl.Series(_Exported(pa.Array.from_buffers(kind, size, buffers)))


class _Exported:
    """An array by Arrow's C interface alone; ``from_arrow`` loads pyarrow's compute functions."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        found: tuple[object, object] = self._array.__arrow_c_array__(requested_schema)
        return found
