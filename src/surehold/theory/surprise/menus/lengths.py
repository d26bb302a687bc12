"""The menu for claims whose ends do not grow with one number: both ends on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surehold.theory.surprise.claims.base import Statistic
from surehold.theory.surprise.digits import decimal_of, precise
from surehold.theory.surprise.ends import Interval, lower_end, upper_end
from surehold.theory.surprise.levels import Level
from surehold.theory.surprise.menus.cells import half_cell, radius

MODEL_DIFFERENCE = Fraction(3, 10)
"""The expected spread of a difference of two models: its standard deviation over 1/2."""


@dataclass(frozen=True)
class EndsMenu:
    """First the lower end's cell, then the length in cells (Surprise, section 4, "ends").

    They are two outcomes with a price each.
    """

    width: Fraction
    expected: int

    def outcome(self, statistic: Statistic, level: Level) -> tuple[int, int]:
        """floor(lower/w), and the length ceil(upper/w) less that."""
        first = lower_end(statistic, level, self.width) / self.width
        last = math.ceil(upper_end(statistic, level, self.width) / self.width)
        return int(first), last - int(first)

    def first_weight(self, first: int) -> Fraction:
        """Equal for all cells of the grid."""
        return Fraction(1, math.ceil(1 / self.width))

    def length_weight(self, length: int) -> Fraction:
        """1/2 for the expected length, 1/(4|k|(|k|+1)) for one that is off by k."""
        k = abs(length - self.expected)
        return Fraction(1, 4 * k * (k + 1)) if k else Fraction(1, 2)

    def interval(self, first: int, length: int) -> Interval:
        """What is reported."""
        high = min((first + length) * self.width, Fraction(1))
        return Interval(first * self.width, high)

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return {"kind": "ends", "width": str(self.width), "expected": self.expected}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> EndsMenu:
        """Read what :meth:`to_dict` wrote."""
        return cls(Fraction(given["width"]), int(given["expected"]))


def ends_menu(t: int, level: Level, spread: Fraction = Fraction(1)) -> EndsMenu:
    """w = 2e, and the length ceil(2r/w) + 1 is expected (Surprise, section 4, "ends").

    ``spread`` is the values' expected standard deviation over 1/2.
    """
    width = 2 * half_cell(t, level, always=True, spread=spread)
    with precise():
        reach = 2 * radius(t, level, always=True) * decimal_of(spread)
        return EndsMenu(width, math.ceil(reach / decimal_of(width)) + 1)
