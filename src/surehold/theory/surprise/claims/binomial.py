"""Claim (a) for 0/1 values: exact binomial tails, at one round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from scipy.special import betaincinv

from surehold.theory.surprise.claims.base import ROUNDING, Rough, Statistic, rejects
from surehold.theory.surprise.claims.chernoff import Chernoff
from surehold.theory.surprise.digits import beta_fraction, log_beta
from surehold.theory.surprise.levels import Level

_MOST_EXACT = 10**9


@dataclass(frozen=True)
class BinomialTail(Statistic):
    """-ln of the binomial tail at the data (Surprise, section 3a).

    Below the mean it is the upper tail ``Pr_p[Bin(t, p) >= S]``, above it the lower one: p is in
    the interval while both are at least e^-l.

    >>> round(BinomialTail(1005, 2000).rough(0.5, 0.5).value, 9)
    0.866890721
    """

    count: int
    t: int

    @property
    def centre(self) -> Fraction:
        """The mean over the records."""
        return Fraction(self.count, self.t)

    def rough(self, p: float, q: float) -> Rough:
        """In doubles."""
        if p * self.t <= self.count:
            return log_tail(self.count, self.t, p, q)
        return log_tail(self.t - self.count, self.t, q, p)

    def exact(self, p: Decimal) -> Decimal:
        """To more than thirty digits."""
        if p * self.t <= self.count:
            return exact_log_tail(self.count, self.t, p)
        return exact_log_tail(self.t - self.count, self.t, 1 - p)

    def guess(self, level: float, upper: bool) -> float | None:
        """From SciPy's inverse of the tail: a guess need not be exact, and it is quick."""
        count = self.t - self.count if upper else self.count
        tail = math.exp(-level)
        found = float(betaincinv(count, self.t - count + 1, tail)) if count and tail else math.nan
        if not 0.0 < found < 1.0:  # NaN too
            return super().guess(level, upper)
        return 1.0 - found if upper else found


def tail(count: int, t: int) -> Statistic:
    """Claim (a) of a count: exact tails, or Chernoff's bound, which is above them, of many records.

    Surprise, section 3a. Beyond a billion records the two differ by nothing that anyone could see.
    """
    return BinomialTail(count, t) if t <= _MOST_EXACT else Chernoff(Fraction(count, t), t)


def log_tail(count: int, t: int, p: float, q: float) -> Rough:
    """-ln Pr[Bin(t, p) >= count] in doubles, in logarithms throughout (Surprise, section 3a).

    The tail is I_p(count, t - count + 1). Near the mean and above, where the continued fraction
    loses digits, the other tail gives it.
    """
    if count == 0:
        return Rough(0.0, 0.0)
    a, b = float(count), float(t - count + 1)
    is_far = _is_far(count, t, p)
    if not is_far:
        a, b, p, q = b, a, q, p
    terms = (
        *(-a * math.log(p), -b * math.log(q), math.log(a)),
        *(math.lgamma(a), math.lgamma(b), -math.lgamma(a + b)),
    )
    fraction = beta_fraction(a, b, p, 2.0**-52)
    value = math.fsum(terms) - math.log(fraction)
    error = ROUNDING * (math.fsum(map(abs, terms)) + t)
    if is_far:  # the tail is log-concave, as the density is
        return Rough(value, error, a / (p * q * fraction))
    other = math.exp(-value)
    return Rough(-math.log1p(-other), error / (1.0 - other))


def exact_log_tail(count: int, t: int, p: Decimal) -> Decimal:
    """-ln Pr[Bin(t, p) >= count] to more than thirty digits (Surprise, section 3a)."""
    if count == 0:
        return Decimal(0)
    a, b, q = Decimal(count), Decimal(t - count + 1), 1 - p
    is_far = _is_far(count, t, p)
    if not is_far:
        a, b, p, q = b, a, q, p
    fraction = beta_fraction(a, b, p, Decimal("1e-45"))
    value = log_beta(a, b) + a.ln() - a * p.ln() - b * q.ln() - fraction.ln()
    return value if is_far else -(1 - (-value).exp()).ln()


def _is_far(count: int, t: int, p: float | Decimal) -> bool:
    """Whether the continued fraction converges quickly: p < (a+1)/(a+b+2)."""
    return p * (t + 3) <= count + 1


def is_better(better: int, different: int, level: Level) -> bool:
    """McNemar's test: is the new one of two models better? (Surprise, section 3e).

    Of the records on which exactly one of them is right, the new one is on ``better``. Passes if
    ``Pr[Bin(m, 1/2) >= S] <= e^-l`` with l = L, as this has one side.

    >>> is_better(40, 50, Level(Fraction(20), 0)), is_better(27, 50, Level(Fraction(20), 0))
    (True, False)
    """
    half = Fraction(1, 2)
    return 2 * better > different and rejects(BinomialTail(better, different), half, level)
