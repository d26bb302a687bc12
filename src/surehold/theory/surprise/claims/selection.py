"""Claims whose miss is not about one mean: the best of m, and statistics of low sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from surehold.theory.surprise.claims.base import ROUNDING, Rough, Statistic
from surehold.theory.surprise.digits import decimal_of, precise
from surehold.theory.surprise.levels import Level


def selection_gap(t: int, level: Level) -> Decimal:
    """The chosen one is within sqrt(1 - exp(-2l/t)) of the best (Surprise, section 3c).

    With the l of :func:`surehold.theory.surprise.levels.selection_level`.

    >>> level = Level(Fraction(3 * 20 * 21), 10 * 2**64)
    >>> round(selection_gap(2000, level), 16)
    Decimal('0.1303565575643853')
    """
    with precise():
        return (1 - (-2 * level.exact / t).exp()).sqrt()


def sensitivity_width(span: Fraction, t: int, level: Level) -> Decimal:
    """b sqrt(l/(2t)) for a statistic that one of t records moves by b/t (Surprise, section 3d).

    At one round, with the l of claim (a), which has two sides.
    """
    with precise():
        return decimal_of(span) * (level.exact / (2 * t)).sqrt()


@dataclass(frozen=True)
class Sensitivity(Statistic):
    """2t (x - p)^2 / b^2: below the level where p is within that width (Surprise, section 3d)."""

    value: Fraction
    t: int
    span: Fraction

    @property
    def centre(self) -> Fraction:
        """The statistic over the records."""
        return self.value

    def rough(self, p: float, q: float) -> Rough:
        """In doubles."""
        distance = float(self.value) - p
        scale = 2.0 * self.t / float(self.span) ** 2
        error = 4.0 * scale * (abs(distance) + 2.0**-50) * 2.0**-50
        return Rough(scale * distance * distance, error + ROUNDING)

    def exact(self, p: Decimal) -> Decimal:
        """To more than thirty digits."""
        distance = (decimal_of(self.value) - p) / decimal_of(self.span)
        return 2 * self.t * distance * distance
