"""What a query makes of one record: an integer."""

from __future__ import annotations

from dataclasses import dataclass

from surehold.queries.base import Source
from surehold.queries.cost import cost
from surehold.queries.expressions import Expression

GRID_BITS = 32
"""A mean's values lie on a grid of 2^32 steps from low to high."""


@dataclass(frozen=True)
class Measure(Source):
    """A checked expression with the integer it gives each record.

    A fraction (``bits`` = 0) gives 1 where the expression is true, and 0 where it is false or
    unknown. A mean (``bits`` = GRID_BITS) gives floor((clip(x, low, high) - low) * scale + 1/2),
    in doubles, which lies in [0, 2^bits]; where x is null it gives 0, as for x = low.
    ``canonical`` tells measures apart, given the columns.
    """

    kind: str
    expression: Expression
    low: float
    high: float
    bits: int
    canonical: str

    @property
    def scale(self) -> float:
        """Steps of the grid per unit: 2^bits / (high - low), rounded to a double.

        The largest value, fl(fl(high - low) * scale), is at most 2^32 (1 + 2^-53)^2 < 2^32 + 1/2,
        so that no record gets more than 2^bits.
        """
        return 2.0**self.bits / (self.high - self.low)

    @property
    def cost(self) -> int:
        """Units of work for each record: :mod:`surehold.queries.cost`."""
        return cost(self.expression)


@dataclass(frozen=True)
class Contrast(Source):
    """The difference of two sums on one grid, moved up so that it is a number from 0 to 2 of them.

    ``plus - minus + t 2^bits`` over ``t 2^(bits + 1)`` is (x - y + 1) / 2 for means x and y in
    [0, 1]: a record counts for something from 0 to 2^(bits + 1), so the sensitivity is 1/t.
    """

    plus: Source
    minus: Source
    bits: int
    canonical: str
