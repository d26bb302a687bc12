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


class Rough(NamedTuple):
    """A statistic in doubles, and how far off it may be."""

    value: float
    error: float


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
        """About where it crosses the level on one side, if there is a quick way to know."""
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
    if not 0 < p < 1:
        return p != statistic.centre
    value, error = statistic.rough(float(p), float(1 - p))
    gap = value - level.nats
    if abs(gap) > error + ROUNDING * level.nats and not math.isnan(gap):
        return gap > 0.0
    return exact_value(statistic, p) - level.exact >= -_EQUAL
