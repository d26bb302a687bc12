"""Claims (b): mixtures of likelihood ratios, which hold at all rounds at once (Ville)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from surehold.theory.surprise.claims.base import ROUNDING, Rough, Statistic
from surehold.theory.surprise.digits import PI, decimal_of, log_beta
from surehold.theory.surprise.levels import Level


def concentration(records: int, level: Level) -> int:
    """kappa = max(1, floor(t0/(2 l))), kept from registration on (Surprise, section 3b)."""
    if not records or not level.nats:
        return records or 1
    rough = records / (2.0 * level.nats)
    if abs(rough - round(rough)) > 1e-9 * rough:  # doubles decide, unless it is a close call
        return max(1, math.floor(rough))
    return max(1, math.floor(records / (2 * level.exact)))


@dataclass(frozen=True)
class CentredMixture(Statistic):
    """ln C_t(p) for 0/1 values: the Beta(kappa p, kappa (1-p)) mixture (Surprise, section 3b).

    >>> round(CentredMixture(2190, 3000, 60).rough(0.7, 0.3).value, 9)
    4.488256848
    """

    count: int
    t: int
    kappa: int

    @property
    def centre(self) -> Fraction:
        """The mean over the records."""
        return Fraction(self.count, self.t)

    def rough(self, p: float, q: float) -> Rough:
        """In doubles."""
        a, b, ones, zeros = self.kappa * p, self.kappa * q, self.count, self.t - self.count
        lgamma = math.lgamma
        terms = (
            *(lgamma(a + ones), lgamma(b + zeros), -lgamma(self.kappa + self.t)),
            *(-lgamma(a), -lgamma(b), lgamma(self.kappa)),
            *(-ones * math.log(p), -zeros * math.log(q)),
        )
        return Rough(math.fsum(terms), ROUNDING * (math.fsum(map(abs, terms)) + self.t))

    def exact(self, p: Decimal) -> Decimal:
        """To more than thirty digits."""
        q, ones, zeros = 1 - p, self.count, self.t - self.count
        a, b = self.kappa * p, self.kappa * q
        return log_beta(a + ones, b + zeros) - log_beta(a, b) - ones * p.ln() - zeros * q.ln()


@dataclass(frozen=True)
class HalfMixture(Statistic):
    """ln M_t(p) for values in [0, 1]: the Beta(1/2, 1/2) mixture (Surprise, section 3b).

    Also for rates, with the number of records that meet the condition for t (3e).
    """

    mean: Fraction
    t: int

    @property
    def centre(self) -> Fraction:
        """The mean over the records."""
        return self.mean

    def rough(self, p: float, q: float) -> Rough:
        """In doubles."""
        ones, zeros = float(self.mean * self.t), float((1 - self.mean) * self.t)
        terms = (
            *(math.lgamma(ones + 0.5), math.lgamma(zeros + 0.5), -math.lgamma(self.t + 1.0)),
            *(-math.log(math.pi), -ones * math.log(p), -zeros * math.log(q)),
        )
        return Rough(math.fsum(terms), ROUNDING * (math.fsum(map(abs, terms)) + self.t))

    def exact(self, p: Decimal) -> Decimal:
        """To more than thirty digits."""
        half = Decimal("0.5")
        ones, zeros = decimal_of(self.mean) * self.t, decimal_of(1 - self.mean) * self.t
        likelihood = ones * p.ln() + zeros * (1 - p).ln()
        return log_beta(ones + half, zeros + half) - PI.ln() - likelihood
