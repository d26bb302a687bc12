"""Dates and timestamps as functions of columns of integers, in NumPy, with the same work for all.

Engines see a date as its days and a timestamp as its microseconds since the start of 1970 in UTC,
both as Int64. Divisions are by constants and of numbers that are not negative, so that no
processor takes longer for some of them; there is no branch and no table.
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
    integers_column,
    known_of,
    numbers_column,
    slice_of,
)
from surehold.queries.expressions import Type
from surehold.queries.times import DAY, FIRST_DAY

Integers: TypeAlias = NDArray[np.int64]
Whole: TypeAlias = NDArray[np.uint64]

_BLOCK = 1 << 13
"""Integers that are worked on at once: so few that they, and all between, stay in a cache."""
_MARCH = 719_468
"""Days from 0000-03-01 to 1970-01-01: counted from March, a leap day is the last of its year."""
_HOUR = DAY // 24


def time_column(name: str, kind: Type) -> pl.Expr:
    """Return the integers of a column, null where it is null.

    Not by a cast, which is quicker on a column that is all null.
    """
    stored = pl.col(name).to_physical()
    if kind is Type.TIMESTAMP:
        return stored

    def widen(operands: Sequence[pl.Series]) -> pl.Series:
        array = operands[0].to_arrow()
        return integers_column(slice_of(array, np.int32).astype(np.int64), known_of(array))

    return apply(widen, [stored], kind)


def number_of_time(operand: pl.Expr) -> pl.Expr:
    """Return the double nearest to the integer."""

    def computed(operands: Sequence[pl.Series]) -> pl.Series:
        integers, known = _split(operands[0])
        return numbers_column(integers.astype(np.float64), known)

    return apply(computed, [operand], Type.NUMBER)


def calendar(function: str, operand: pl.Expr) -> pl.Expr:
    """Apply ``day``, ``month``, ``year`` or ``weekday`` to dates, or ``hour`` to timestamps."""

    def computed(operands: Sequence[pl.Series]) -> pl.Series:
        integers, known = _split(operands[0])
        found = np.empty(integers.size)
        for at in range(0, integers.size, _BLOCK):
            found[at : at + _BLOCK] = _CALENDAR[function](integers[at : at + _BLOCK])
        return numbers_column(found, known)

    return apply(computed, [operand], Type.NUMBER)


def date_of(operand: pl.Expr) -> pl.Expr:
    """Return the date of a timestamp, in UTC."""

    def computed(operands: Sequence[pl.Series]) -> pl.Series:
        integers, known = _split(operands[0])
        days = (_count_from(integers, FIRST_DAY * DAY) // DAY).view(np.int64)
        return integers_column(days + FIRST_DAY, known)

    return apply(computed, [operand], Type.DATE)


def elapsed(left: pl.Expr, right: pl.Expr, kind: Type) -> pl.Expr:
    """Return the days from the second time to the first."""
    unit = 1.0 if kind is Type.DATE else float(DAY)

    def computed(operands: Sequence[pl.Series]) -> pl.Series:
        (one, there), (other, is_known) = map(_split, operands)
        return numbers_column((one - other).astype(np.float64) / unit, there & is_known)

    return apply(computed, [left, right], Type.NUMBER)


def choose_times(function: str, parts: Sequence[pl.Expr], kind: Type) -> pl.Expr:
    """Apply ``coalesce``, ``least`` or ``greatest`` to times."""
    return apply(_CHOICES[function], parts, kind)


def _choose(better: Callable[[Integers, Integers], Truths]) -> SeriesFunction:
    """Take the later operand where an earlier one is null, or both are known and it is better."""

    def chosen(operands: Sequence[pl.Series]) -> pl.Series:
        def choose(
            first: tuple[Integers, Truths], second: tuple[Integers, Truths]
        ) -> tuple[Integers, Truths]:
            (one, there), (other, is_known) = first, second
            takes = -(is_known & (~there | better(other, one))).astype(np.int64)
            return (other & takes) | (one & ~takes), there | is_known

        return integers_column(*reduce(choose, map(_split, operands)))

    return chosen


_CHOICES: dict[str, SeriesFunction] = {
    "coalesce": _choose(lambda other, one: np.zeros(1, np.bool_)),
    "least": _choose(lambda other, one: other < one),
    "greatest": _choose(lambda other, one: other > one),
}


def _split(column: pl.Series) -> tuple[Integers, Truths]:
    """Return the integers of a column, zero where it is null, and where it is not."""
    array = column.to_arrow()
    known = known_of(array)
    return slice_of(array, np.int64) & -known.astype(np.int64), known


def _count_from(integers: Integers, first: int) -> Whole:
    return (integers - first).view(np.uint64)


def _hour(microseconds: Integers) -> Whole:
    hours = _count_from(microseconds, FIRST_DAY * DAY) // _HOUR
    found: Whole = hours - hours // 24 * 24
    return found


def _weekday(days: Integers) -> Whole:
    """Return 1 on Monday, as 0001-01-01 was, to 7 on Sunday."""
    count = _count_from(days, FIRST_DAY)
    found: Whole = count - count // 7 * 7 + 1
    return found


def _civil(days: Integers) -> tuple[Whole, Whole, Whole]:
    """Return year and month, both counted from March, and day.

    (H. Hinnant, *chrono-compatible low-level date algorithms*: ``civil_from_days``.)
    """
    count = _count_from(days, -_MARCH)
    era = count // 146_097
    of_era = count - era * 146_097
    leap = of_era // 1_460 - of_era // 36_524 + of_era // 146_096
    year = (of_era - leap) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    return era * 400 + year, month, day


def _year(days: Integers) -> Whole:
    year, month, _ = _civil(days)
    return year + (month >= 10).view(np.uint8)


def _month(days: Integers) -> Whole:
    _, month, _ = _civil(days)
    # Ten months from March on are in January.
    return month + 3 - 12 * (month >= 10).view(np.uint8)


_CALENDAR: dict[str, Callable[[Integers], Whole]] = {
    "day": lambda days: _civil(days)[2],
    "hour": _hour,
    "month": _month,
    "weekday": _weekday,
    "year": _year,
}
