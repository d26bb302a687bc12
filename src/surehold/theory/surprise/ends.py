"""Ends of intervals: found in doubles, settled outwards at multiples of a unit with thirty digits.

Surprise, section 7. An end is shown as a multiple of 10^-9, and which one is decided by comparing
the statistic with the level at multiples only. No root is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from surehold.theory.surprise.claims.base import Statistic, is_last_accepted, rejects_at
from surehold.theory.surprise.digits import decimal_of, precise
from surehold.theory.surprise.levels import Level

UNIT = Fraction(1, 10**9)
"""Ends are shown in multiples of it."""


@dataclass(frozen=True)
class Interval:
    """A closed interval with ends that were rounded outwards.

    >>> first = Interval(Fraction(1, 4), Fraction(1, 2))
    >>> second = Interval(Fraction(1, 3), Fraction(3, 4))
    >>> first.meet(second), first.meet(Interval(Fraction(5, 8), Fraction(3, 4)))
    (Interval(low=Fraction(1, 3), high=Fraction(1, 2)), None)
    """

    low: Fraction
    high: Fraction

    def meet(self, other: Interval) -> Interval | None:
        """What both hold; None if nothing is, which has probability beta at most."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else None

    @property
    def half_width(self) -> Fraction:
        """Half of its length."""
        return (self.high - self.low) / 2

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return {"low": str(self.low), "high": str(self.high)}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Interval:
        """Read what :meth:`to_dict` wrote."""
        return cls(Fraction(given["low"]), Fraction(given["high"]))


def interval(low: Statistic, high: Statistic, level: Level, unit: Fraction = UNIT) -> Interval:
    """The claim's interval: the lower end of one statistic, the upper end of the other.

    Both are the same for a mean that is known. For a cell they are those at the smallest and at the
    largest mean in it, as ends grow with the mean (Surprise, section 3, "Cells").
    """
    return Interval(lower_end(low, level, unit), upper_end(high, level, unit))


def lower_end(statistic: Statistic, level: Level, unit: Fraction = UNIT) -> Fraction:
    """The largest multiple of the unit that is not above the lower end of the claim.

    Surprise, section 7. It is the last multiple that the statistic rejects, or 0.
    """
    guess = statistic.guess(level.nats, upper=False)
    top, bottom, centre = unit.numerator, unit.denominator, statistic.centre
    step = top / bottom
    last = _last(
        lambda m: rejects_at(statistic, m * top, bottom, level),
        lambda m: is_last_accepted(statistic, (m + 1) * top, bottom, step, level),
        centre.numerator * bottom // (centre.denominator * top),
        None if guess is None else math.floor(guess * bottom / top),
    )
    return Fraction(last * top, bottom)


def upper_end(statistic: Statistic, level: Level, unit: Fraction = UNIT) -> Fraction:
    """The smallest multiple of the unit that is not below the upper end of the claim, or 1.

    Surprise, section 7.
    """
    guess = statistic.guess(level.nats, upper=True)
    top, bottom, centre = unit.numerator, unit.denominator, statistic.centre
    most, step = -(-bottom // top), top / bottom
    last = _last(
        lambda m: rejects_at(statistic, (most - m) * top, bottom, level),
        lambda m: is_last_accepted(statistic, (most - m - 1) * top, bottom, step, level),
        most + -centre.numerator * bottom // (centre.denominator * top),
        None if guess is None else most - math.ceil(guess * bottom / top),
    )
    end = (most - last) * top
    return Fraction(end, bottom) if end < bottom else Fraction(1)


def round_up(root: Decimal, unit: Fraction = UNIT) -> Fraction:
    """The smallest multiple of the unit that is not below a number of thirty digits and more."""
    with precise():
        return math.ceil(root / decimal_of(unit)) * unit


def _last(
    holds: Callable[[int], bool], is_last: Callable[[int], bool], most: int, guess: int | None
) -> int:
    """The last m in [0, most] with a property that stays false once it is; 0 holds unasked.

    That it ``is_last`` is quick to know of nearly all.
    """
    low, high = 0, most + 1
    if guess is not None:
        if 0 < guess < most and is_last(guess):
            return guess
        step = 1
        point = min(max(guess, 1), most)
        while low < point < high:  # away from the guess, until it lies between the two
            if holds(point):
                low, point = point, point + step
            else:
                high, point = point, point - step
            step *= 16
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
