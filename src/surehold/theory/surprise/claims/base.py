"""What every claim's statistic can do, and how it is compared with a level."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from surehold.theory.surprise.digits import decimal_of, precise
from surehold.theory.surprise.levels import Level

ROUNDING = 2.0**-48
"""Sixteen units in the last place: no sum of a few accurate terms is off by more."""

_EQUAL = Decimal("1e-30")
_STEPS = 40
_CLOSE = 1e-11  # a hundredth of the unit in which ends are shown


class Rough(NamedTuple):
    """A statistic in doubles, and how far off it may be.

    The ``slope`` is how steeply it rises away from the mean, where it is convex from there on; 0
    says nothing.
    """

    value: float
    error: float
    slope: float = 0.0


class Statistic(ABC):
    """How strongly the records speak against a mean p with 0 < p < 1, in nats.

    It falls up to ``centre``, the mean over the records, and rises from there.
    """

    @property
    @abstractmethod
    def centre(self) -> Fraction:
        """Where it is lowest, or near it: always inside the claim's interval."""

    @abstractmethod
    def rough(self, p: float, q: float) -> Rough:
        """At p, with q = 1 - p given too, as it can't be had from p near 1."""

    @abstractmethod
    def exact(self, p: Decimal) -> Decimal:
        """At p, to more than thirty digits; called within ``precise()``."""

    def guess(self, level: float, upper: bool) -> float | None:
        """About where it crosses the level on one side; None if there is no quick way to know.

        Its root is nearly linear in p, so the secant method takes few steps.
        """
        centre, wanted = float(self.centre), math.sqrt(level)
        side = 1.0 if upper else 0.0
        if centre == side:
            return centre
        last, height = centre, 0.0
        point = centre + (side - centre) * min(0.5, 0.2 * math.sqrt(level / (level + 25.0)))
        for _ in range(_STEPS):
            value = self.rough(point, 1.0 - point).value
            found = math.sqrt(value) if value > 0.0 else 0.0
            if found == height:
                return None
            following = point + (wanted - found) * (point - last) / (found - height)
            last, height = point, found
            # Never beyond the end, where it is infinite, nor back over the centre.
            near, far = sorted((centre, side))
            point = min(max(following, near + 1e-3 * (point - near)), far - 1e-3 * (far - point))
            if abs(point - last) < _CLOSE:
                return point
        return None


def exact_value(statistic: Statistic, p: Fraction) -> Decimal:
    """A statistic at a fraction, to more than thirty digits."""
    with precise():
        return statistic.exact(decimal_of(p))


def rejects(statistic: Statistic, p: Fraction, level: Level) -> bool:
    """Whether the statistic at p is at least the level (Surprise, section 7).

    Doubles decide where their error can't matter, thirty digits elsewhere; which of the two did is
    not to be seen in the result. At 0 and at 1 a statistic is infinite, or the mean itself.
    """
    return rejects_at(statistic, p.numerator, p.denominator, level)


def rejects_at(statistic: Statistic, numerator: int, denominator: int, level: Level) -> bool:
    """Like ``rejects``, at a fraction that need not be in lowest terms: reducing it takes time."""
    if not 0 < numerator < denominator:
        return Fraction(numerator, denominator) != statistic.centre
    found = statistic.rough(numerator / denominator, (denominator - numerator) / denominator)
    gap, error = found.value - level.nats, found.error
    if abs(gap) > error + ROUNDING * level.nats and not math.isnan(gap):
        return gap > 0.0
    return exact_value(statistic, Fraction(numerator, denominator)) - level.exact >= -_EQUAL


def is_last_accepted(
    statistic: Statistic, numerator: int, denominator: int, unit: float, level: Level
) -> bool:
    """Whether it does not reject a fraction, as ``rejects_at`` has it, but does one unit further.

    One value can tell: beyond it a convex function lies above its tangent. False if that leaves it
    open.
    """
    if not 0 < numerator < denominator:
        return False
    found = statistic.rough(numerator / denominator, (denominator - numerator) / denominator)
    error = found.error + ROUNDING * level.nats
    following = found.value + 0.999 * found.slope * unit
    return found.value < level.nats - error and following > level.nats + error
