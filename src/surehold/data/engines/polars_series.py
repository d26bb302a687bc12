"""Functions of whole columns as Polars expressions, and the columns they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from surehold.data.engines.polars_arrays import Truths
from surehold.queries import ColumnType
from surehold.queries.expressions import Type

SeriesFunction: TypeAlias = Callable[[Sequence[pl.Series]], pl.Series]

DTYPES: Mapping[Type, pl.DataType] = {
    Type.NUMBER: pl.Float64(),
    Type.TEXT: pl.String(),
    Type.BOOLEAN: pl.Boolean(),
}
STORED: Mapping[ColumnType, pl.DataType] = {
    ColumnType.INT: pl.Int64(),
    ColumnType.FLOAT: pl.Float64(),
    ColumnType.BOOL: pl.Boolean(),
    ColumnType.STR: pl.String(),
}
"""How each type is kept in a segment."""


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


def truths_column(truths: Truths, known: Truths) -> pl.Series:
    """Build a column of booleans, null where they are unknown."""
    return _column(pa.bool_(), truths.size, pack_bits(known), pack_bits(truths))


def pack_bits(truths: Truths) -> NDArray[np.uint8]:
    """Pack one bit per value."""
    return np.packbits(truths, bitorder="little")


def _column(kind: Any, size: int, known: NDArray[np.uint8], values: NDArray[Any]) -> pl.Series:
    buffers = [pa.py_buffer(known), pa.py_buffer(values)]
    column = pl.from_arrow(pa.Array.from_buffers(kind, size, buffers))
    assert isinstance(column, pl.Series)
    return column
