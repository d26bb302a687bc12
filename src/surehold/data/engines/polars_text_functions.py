"""Tests and functions of text columns as Polars expressions, with the same work for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

import numpy as np
import polars as pl

from surehold.data.engines import polars_bytes as kernels
from surehold.data.engines.polars_arrays import (
    Truths,
    apply,
    known_of,
    numbers_column,
    slice_of,
    truths_column,
)
from surehold.data.engines.polars_bytes import Letters, Texts
from surehold.data.engines.polars_numbers import marked_numbers
from surehold.data.engines.polars_texts import LONGEST_INLINE, TextCells
from surehold.queries.expressions import Type

_FEW = 4
_PREFIX = 4
"""Bytes with which Polars keeps a text begin, besides its length, wherever the rest is."""


def compare(column: pl.Expr, letters: Letters, operator: str, value: str) -> pl.Expr:
    """Compare a column with a literal."""
    if operator in ("=", "<>"):
        if letters is None and _is_inline(value):
            literal = pl.lit(value, dtype=pl.String())
            return column == literal if operator == "=" else column != literal
        found = is_among(column, letters, [value])
        return found if operator == "=" else ~found
    wanted = value.encode()

    def test(texts: Texts) -> Truths:
        return _ORDERS[operator](*kernels.compare(texts, wanted, letters))

    return _apply_test(test, column)


def compare_columns(
    column: pl.Expr, letters: Letters, operator: str, other: pl.Expr, other_letters: Letters
) -> pl.Expr:
    """Compare two columns."""

    def function(operands: Sequence[pl.Series]) -> pl.Series:
        texts, others = map(Texts, operands)
        less, same = kernels.compare_columns(texts, letters, others, other_letters)
        return truths_column(_ORDERS[operator](less, same), texts.known & others.known)

    return apply(function, [column, other], Type.BOOLEAN)


_ORDERS: dict[str, Callable[[Truths, Truths], Truths]] = {
    "=": lambda less, same: same,
    "<>": lambda less, same: ~same,
    "<": lambda less, same: less,
    "<=": lambda less, same: less | same,
    ">": lambda less, same: ~(less | same),
    ">=": lambda less, same: ~less,
}


def is_among(column: pl.Expr, letters: Letters, values: Sequence[str]) -> pl.Expr:
    """Check whether a text is one of some literals."""
    if letters is None and len(values) <= _FEW and all(map(_is_inline, values)):
        # By the 16 bytes of each text alone, and several times as fast as a table.
        return reduce(or_, (column == pl.lit(value, dtype=pl.String()) for value in values))
    cells = TextCells(values, letters)

    def function(operands: Sequence[pl.Series]) -> pl.Series:
        [texts] = operands
        return truths_column(cells.of(texts) != len(values), _known(texts))

    return apply(function, [column], Type.BOOLEAN)


def position(column: pl.Expr, letters: Letters, values: Sequence[str]) -> pl.Expr:
    """Return the number of each text among some literals, null for all others."""
    cells = TextCells(values, letters)

    def function(operands: Sequence[pl.Series]) -> pl.Series:
        at = cells.of(operands[0])
        return numbers_column(at.astype(np.float64), at != len(values))

    return apply(function, [column], Type.NUMBER)


def text_test(column: pl.Expr, letters: Letters, function: str, value: str) -> pl.Expr:
    """Apply ``starts_with``, ``ends_with`` or ``contains`` with a literal."""
    part = value.encode()
    if function == "starts_with" and len(part) <= _PREFIX:
        return apply(_begins_with(part, letters), [column], Type.BOOLEAN)
    if function == "contains":
        return _apply_test(lambda texts: kernels.contains(texts, part, letters), column)
    at_end = function == "ends_with"
    return _apply_test(lambda texts: kernels.edge_is(texts, part, letters, at_end), column)


def _begins_with(part: bytes, letters: Letters) -> Callable[[Sequence[pl.Series]], pl.Series]:
    """Use what Polars stores in place for each text: its length and first four bytes."""
    wanted = np.frombuffer(part.ljust(_PREFIX, b"\0"), np.uint32)
    within = np.frombuffer((b"\xff" * len(part)).ljust(_PREFIX, b"\0"), np.uint32)

    def function(operands: Sequence[pl.Series]) -> pl.Series:
        array = operands[0].to_arrow(compat_level=pl.CompatLevel.newest())
        views = slice_of(array, np.uint32, width=4).reshape(-1, 4)
        first = kernels.fold_case(views[:, 1].copy().view(np.uint8), letters).view(np.uint32)
        same = ((first ^ wanted) & within) == 0
        same &= views[:, 0] >= len(part)
        return truths_column(same, known_of(array))

    return function


def code_points(column: pl.Expr) -> pl.Expr:
    """Return the length of a text."""

    def function(operands: Sequence[pl.Series]) -> pl.Series:
        texts = Texts(operands[0])
        return numbers_column(kernels.code_points(texts), texts.known)

    return apply(function, [column], Type.NUMBER)


def number_of_text(column: pl.Expr) -> pl.Expr:
    """Return the number that a text spells."""

    def function(operands: Sequence[pl.Series]) -> pl.Series:
        texts = Texts(operands[0])
        spelled = kernels.are_numerals(texts) & texts.known
        return numbers_column(marked_numbers(operands[0].cast(pl.Float64, strict=False)), spelled)

    return apply(function, [column], Type.NUMBER)


def _apply_test(test: Callable[[Texts], Truths], column: pl.Expr) -> pl.Expr:
    def function(operands: Sequence[pl.Series]) -> pl.Series:
        texts = Texts(operands[0])
        return truths_column(test(texts), texts.known)

    return apply(function, [column], Type.BOOLEAN)


def _is_inline(value: str) -> bool:
    return len(value.encode()) <= LONGEST_INLINE


def _known(column: pl.Series) -> Truths:
    return known_of(column.to_arrow(compat_level=pl.CompatLevel.newest()))
