"""Arithmetic and choice as functions of columns, in NumPy, which always does all the work.

Polars divides by a constant, or by what happens to be one in a chunk, by multiplying with the
reciprocal, which now and then gives another last bit (x / 10 in every third case); and its method
depends on whether, and where, a column has a null. Here a null is marked as NaN, the same way for
every column. No number is subnormal, which would take many times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.engines.polars_arrays import (
    SeriesFunction,
    Truths,
    apply,
    known_of,
    numbers_column,
    slice_of,
    truths_column,
    truths_of,
)
from surehold.data.engines.polars_times import choose_times
from surehold.queries.expressions import LARGEST, SMALLEST, TIMES, Type

Floats: TypeAlias = NDArray[np.float64]

_BLOCK = 1 << 13
"""Numbers that are worked on at once: so few that they, and all between, stay in a cache."""


def saturate(number: pl.Expr) -> pl.Expr:
    """Saturate a column of floats, as the language reads it."""
    return cut(number, -LARGEST, LARGEST)


def cut(number: pl.Expr, low: float, high: float) -> pl.Expr:
    """Clip, in constant time: the time of ``clip`` depends on nulls (measured: 15 to 35 ms)."""

    def between(operands: Sequence[pl.Series]) -> pl.Series:
        [value] = operands
        return pl.select(
            pl.when(value > high).then(high).when(value < low).then(low).otherwise(value)
        ).to_series()

    return apply(between, [number], Type.NUMBER)


def arithmetic(steps: Sequence[int | str], operands: Sequence[pl.Expr]) -> pl.Expr:
    """Apply ``+ - * / %`` to many numbers: each step is an operand's number or an operator.

    An operator is applied to the last two results that are not used yet.
    """

    def computed(*numbers: Floats) -> Floats:
        results: list[Floats] = []
        for step in steps:
            if isinstance(step, int):
                results.append(numbers[step])
            else:
                right = results.pop()
                results[-1] = _settle(UFUNCS[step](results[-1], right))
        return results[0]

    return apply(_compute(computed), operands, Type.NUMBER)


def root(number: pl.Expr) -> pl.Expr:
    """Take the square root."""
    return apply(_compute(lambda one: _settle(np.sqrt(one))), [number], Type.NUMBER)


def pick(condition: pl.Expr, value: pl.Expr, other: pl.Expr, kind: Type) -> pl.Expr:
    """Return the value where the condition is true, else the other one."""

    def picked(operands: Sequence[pl.Series]) -> pl.Series:
        truth, one, another = operands
        return one.zip_with(truth.fill_null(False), another)

    return apply(picked, [condition, value, other], kind)


def choose(function: str, parts: Sequence[pl.Expr], kind: Type) -> pl.Expr:
    """Apply ``coalesce``, ``least`` or ``greatest``."""
    if kind is Type.BOOLEAN:
        return apply(_first_truth, parts, kind)
    if kind in TIMES:
        return choose_times(function, parts, kind)
    return apply(_CHOICES[function], parts, kind)


def number_of_truth(truth: pl.Expr) -> pl.Expr:
    """Convert to 1 or 0."""

    def numbers(operands: Sequence[pl.Series]) -> pl.Series:
        array = operands[0].to_arrow()
        return numbers_column(truths_of(array).astype(np.float64), known_of(array))

    return apply(numbers, [truth], Type.NUMBER)


def _first_truth(operands: Sequence[pl.Series]) -> pl.Series:
    size = max(map(len, operands))
    truths, known = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for operand in reversed(operands):
        array = operand.to_arrow()
        there = known_of(array)
        truths = (truths_of(array) & there) | (truths & ~there)
        known |= there
    return truths_column(truths, known)


# ---------------------------------------------------------------------------- numbers


def _compute(function: Callable[..., Floats]) -> SeriesFunction:
    """Turn a function of doubles into one of columns; NaN becomes null."""

    def computed(operands: Sequence[pl.Series]) -> pl.Series:
        size = max(map(len, operands))
        marked = [marked_numbers(operand) for operand in operands]
        found = np.empty(size)
        with np.errstate(all="ignore"):
            for at in range(0, size, _BLOCK):
                # One that is the same for all records spreads by itself.
                each = [one if one.size < size else one[at : at + _BLOCK] for one in marked]
                found[at : at + _BLOCK] = function(*each)
        return numbers_column(found, ~np.isnan(found))

    return computed


def marked_numbers(column: pl.Series) -> Floats:
    """Return the values of a column, with all bits set (a NaN) where it is null."""
    array = column.to_arrow()
    unknown = (~known_of(array)).astype(np.int64)
    np.negative(unknown, out=unknown)
    unknown |= slice_of(array, np.int64)
    return unknown.view(np.float64)


def _settle(numbers: Floats) -> Floats:
    """Clip, and flush small numbers to zero, by bits: the time of a branch would vary."""
    found = np.clip(numbers, -LARGEST, LARGEST)
    wanted = (np.abs(found) < SMALLEST).astype(np.int64)
    # All bits set but where it is too small.
    wanted -= 1
    wanted &= found.view(np.int64)
    return wanted.view(np.float64)


def _quotient(x: Floats, y: Floats) -> Floats:
    """Divide; NaN, with all bits set, where the divisor is zero."""
    quotient: Floats = x / y
    undefined: Truths = y == 0.0
    found: Floats = (quotient.view(np.int64) | -undefined.astype(np.int64)).view(np.float64)
    return found


def _remainder(x: Floats, y: Floats) -> Floats:
    """Compute ``x - y * floor(x / y)``, with each operation rounded by itself."""
    found: Floats = x - _settle(y * np.floor(_settle(_quotient(x, y))))
    return found


def _first_known(*numbers: Floats) -> Floats:
    def other_if_unknown(later: Floats, number: Floats) -> Floats:
        unknown = -np.isnan(number).astype(np.int64)
        return ((number.view(np.int64) & ~unknown) | (later.view(np.int64) & unknown)).view(
            np.float64
        )

    return reduce(other_if_unknown, reversed(numbers))


UFUNCS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _quotient,
    "%": _remainder,
}
_CHOICES = {
    "coalesce": _compute(_first_known),
    # Which pass over what is no number.
    "least": _compute(lambda *numbers: reduce(np.fmin, numbers)),
    "greatest": _compute(lambda *numbers: reduce(np.fmax, numbers)),
}
