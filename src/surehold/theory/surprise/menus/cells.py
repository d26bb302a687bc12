"""Cells of a mean's grid, and how fine a grid is worth its price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from surehold.errors import InvalidInput
from surehold.theory.surprise.digits import PI, decimal_of, precise
from surehold.theory.surprise.levels import Level


@dataclass(frozen=True)
class Cell:
    """The numbers from ``low`` up to ``high``, which belongs to it only if ``closed``.

    Surprise, section 3, "Cells".

    >>> Cell(Fraction(21, 25), Fraction(17, 20)).counts(2000)
    (1680, 1699)
    """

    low: Fraction
    high: Fraction
    closed: bool = False

    def __contains__(self, x: Fraction) -> bool:
        return self.low <= x < self.high or (self.closed and x == self.high)

    @property
    def middle(self) -> Fraction:
        """What is shown as the value."""
        (low, a), (high, b) = self.low.as_integer_ratio(), self.high.as_integer_ratio()
        return Fraction(low * b + high * a, 2 * a * b)

    def meet(self, other: Cell) -> Cell | None:
        """What is in both; None if nothing is."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        met = Cell(low, high, high in self and high in other)
        return met if low < high or met.closed else None

    def counts(self, t: int) -> tuple[int, int]:
        """The smallest and the largest S with S/t in the cell (Surprise, section 3, "Cells")."""
        # In integers: fractions would be reduced, which takes most of the time.
        top, bottom = self.high.numerator * t, self.high.denominator
        most = top // bottom if self.closed else (top - 1) // bottom
        return -(-self.low.numerator * t // self.low.denominator), most

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return {"low": str(self.low), "high": str(self.high), "closed": self.closed}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Cell:
        """Read what :meth:`to_dict` wrote."""
        return cls(Fraction(given["low"]), Fraction(given["high"]), bool(given["closed"]))


@dataclass(frozen=True)
class Grid:
    """Cells ``[origin + k width, origin + (k+1) width)`` cut to [0, 1], the last closed at 1.

    Surprise, section 4.
    """

    origin: Fraction
    width: Fraction
    last: int

    @classmethod
    @lru_cache(maxsize=64)
    def plain(cls, e: Fraction) -> Grid:
        """Cells [2ej, 2e(j+1)) for j = 0 to ceil(1/(2e)) - 1 (Surprise, section 4, "plain")."""
        return cls(Fraction(0), 2 * _check_e(e), math.ceil(1 / (2 * e)) - 1)

    @classmethod
    def around(cls, g: Fraction, e: Fraction) -> Grid:
        """Cells of which number 0 is g +- e (Surprise, section 4, "expected")."""
        if not 0 <= g <= 1:
            raise InvalidInput("expect", "from 0 to 1", str(g))
        origin, width = g - e, 2 * _check_e(e)
        return cls(origin, width, _floor_ratio(1 - origin, width))

    @property
    def first(self) -> int:
        """The number of the cell that has 0."""
        return _floor_ratio(-self.origin, self.width)

    def index(self, x: Fraction) -> int:
        """The number of the cell that has x."""
        return min(_floor_ratio(x - self.origin if self.origin else x, self.width), self.last)

    def cell(self, k: int) -> Cell:
        """The k-th cell."""
        if not self.origin and 0 <= k < self.last:
            top, bottom = self.width.numerator, self.width.denominator
            return Cell(Fraction(k * top, bottom), Fraction((k + 1) * top, bottom))
        low = max(self.origin + k * self.width, Fraction(0))
        if k == self.last:
            return Cell(low, Fraction(1), closed=True)
        return Cell(low, self.origin + (k + 1) * self.width)


@lru_cache(maxsize=4096)
def radius(t: int, level: Level, always: bool) -> Decimal:
    """r = sqrt(1 - exp(-2l/t))/2, about the half-width at mean 1/2 (Surprise, section 4).

    For claims at all rounds l is l + ln(pi t/2)/2.
    """
    with precise():
        l = level.exact + ((PI * t / 2).ln() / 2 if always else 0)  # noqa: E741
        return (1 - (-2 * l / t).exp()).sqrt() / 2


def half_cell(t: int, level: Level, always: bool, spread: Fraction = Fraction(1)) -> Fraction:
    """e, the largest 1, 2 or 5 times a power of ten not above r/8 (Surprise, section 4).

    ``spread`` is what the values' standard deviation is expected to be, over 1/2.

    >>> half_cell(2000, Level(Fraction(1680), 0), always=False)
    Fraction(1, 200)
    """
    l = level.nats + (0.5 * math.log(0.5 * math.pi * t) if always else 0.0)  # noqa: E741
    rough = math.sqrt(-math.expm1(-2.0 * l / t)) / 16.0 * float(spread)
    found, following = (_largest(Decimal(rough * hair)) for hair in (1.0 - 1e-12, 1.0 + 1e-12))
    if found == following:  # doubles decide, unless it is a close call
        return found
    with precise():
        return _largest(radius(t, level, always) * decimal_of(spread) / 8)


def _largest(limit: Decimal) -> Fraction:
    """The largest 1, 2 or 5 times a power of ten that is not above a limit."""
    digit, exponent = limit.as_tuple().digits[0], limit.adjusted()
    return _round_number(5 if digit >= 5 else 2 if digit >= 2 else 1, exponent)


@lru_cache(maxsize=64)
def _round_number(first: int, exponent: int) -> Fraction:
    return Fraction(first * 10**exponent) if exponent >= 0 else Fraction(first, 10**-exponent)


def _floor_ratio(x: Fraction, y: Fraction) -> int:
    return x.numerator * y.denominator // (x.denominator * y.numerator)


def _check_e(e: Fraction) -> Fraction:
    if e <= 0:
        raise InvalidInput("within", "above 0", str(e))
    return e
