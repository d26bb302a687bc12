"""The interval that goes with a reported cell (Surprise, section 3, "Cells").

It is the union over all records with that outcome. Ends grow with the mean, so it reaches from the
lower end at the smallest mean in the cell to the upper end at the largest one.
"""

from __future__ import annotations

from fractions import Fraction

from surehold.theory.surprise.claims.binomial import tail
from surehold.theory.surprise.claims.chernoff import Chernoff
from surehold.theory.surprise.claims.mixtures import CentredMixture, HalfMixture
from surehold.theory.surprise.ends import Interval, interval
from surehold.theory.surprise.levels import Level
from surehold.theory.surprise.menus.cells import Cell

EVERYTHING = Interval(Fraction(0), Fraction(1))
"""What is known of a mean over no records."""


def fraction_interval(cell: Cell, t: int, level: Level, kappa: int | None = None) -> Interval:
    """For 0/1 values: claim (a) by binomial tails; with kappa, claim (b) by the centred mixture.

    Surprise, sections 3a and 3b.

    >>> cell = Cell(Fraction(21, 25), Fraction(17, 20))
    >>> found = fraction_interval(cell, 2000, Level(Fraction(1680), 0))
    >>> float(found.low), float(found.high)
    (0.811942259, 0.874345964)
    """
    least, most = cell.counts(t)
    if kappa is None:
        return interval(tail(least, t), tail(most, t), level)
    return interval(CentredMixture(least, t, kappa), CentredMixture(most, t, kappa), level)


def mean_interval(cell: Cell, t: int, level: Level, *, always: bool) -> Interval:
    """For values in [0, 1]: claim (a) by Chernoff's bound, ``always`` claim (b) by M.

    Surprise, sections 3a and 3b; and for rates (3e), with the lower end of the cell of records for
    t, as both intervals shrink when it grows.
    """
    if t == 0:
        return EVERYTHING
    claim = HalfMixture if always else Chernoff
    return interval(claim(cell.low, t), claim(cell.high, t), level)
