"""Claim (a) for values in [0, 1]: Chernoff's bound, at one round; and what else goes by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from surehold.theory.surprise.claims.base import ROUNDING, Rough, Statistic
from surehold.theory.surprise.digits import decimal_of


@dataclass(frozen=True)
class Chernoff(Statistic):
    """t kl(x, p), for the mean x of t independent values in [0, 1] (Surprise, section 3a).

    Also for a rate, with the number of records that meet the condition for t; for an AUC, with the
    smaller of the two numbers of records (3e); and for means over pairs, with floor(t/2) (3d).
    """

    mean: Fraction
    t: int

    @property
    def centre(self) -> Fraction:
        """The mean over the records."""
        return self.mean

    def rough(self, p: float, q: float) -> Rough:
        """In doubles."""
        x, y = float(self.mean), float(1 - self.mean)
        first = x * math.log(x / p) if x else 0.0
        second = y * math.log(y / q) if y else 0.0
        error = ROUNDING * self.t * (abs(first) + abs(second) + 1.0)
        return Rough(self.t * (first + second), error)

    def exact(self, p: Decimal) -> Decimal:
        """To more than thirty digits."""
        x = decimal_of(self.mean)
        y = 1 - x
        first = x * (x / p).ln() if x else Decimal(0)
        second = y * (y / (1 - p)).ln() if y else Decimal(0)
        return self.t * (first + second)


def pair_mean(mean: Fraction, t: int) -> Chernoff:
    """The statistic of a mean over all pairs of t records, kernel in [0, 1] (Surprise, section 3d).

    Hoeffding: it is a mean of means of floor(t/2) independent pairs.
    """
    return Chernoff(mean, t // 2)
