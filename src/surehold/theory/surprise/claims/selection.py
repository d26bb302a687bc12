"""Claims whose miss is not about one mean: the best of m, and statistics of low sensitivity."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

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
