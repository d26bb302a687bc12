"""Cells of a number of records, which a rate reports first (Surprise, sections 3e and 7)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

ALL = -1


@dataclass(frozen=True)
class RecordMenu:
    """How many of t records meet a condition: one of few cells, all with equal weights.

    Surprise, section 7. With a ``doubt`` all of them are expected to, as a table of predictions is
    expected to cover every record: that outcome is ``ALL`` and has the weight 1 - doubt, and the
    cells have equal parts of the doubt.

    >>> menu = RecordMenu(2000)
    >>> k = menu.outcome(408)
    >>> k, menu.at_least(k), menu.weight(k)
    (26, 366, Fraction(1, 34))
    >>> covering = RecordMenu(2000, Fraction(1, 20))
    >>> covering.outcome(2000), covering.at_least(ALL), covering.weight(ALL), covering.weight(k)
    (-1, 2000, Fraction(19, 20), Fraction(1, 680))
    """

    t: int
    doubt: Fraction | None = None

    def outcome(self, records: int) -> int:
        """The number of the cell that has this many."""
        if self.doubt is not None and records == self.t:
            return ALL
        return bisect_right(_lower_ends(self.t), records) - 1

    def at_least(self, k: int) -> int:
        """The lower end of the k-th cell, with which the interval is computed."""
        return self.t if k == ALL else _lower_ends(self.t)[k]

    def weight(self, k: int) -> Fraction:
        """One over their number, or what the doubt leaves."""
        each = Fraction(1, len(_lower_ends(self.t)))
        if self.doubt is None:
            return each
        return 1 - self.doubt if k == ALL else self.doubt * each

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        """The weights of the outcomes that cost least and most."""
        return self.weight(0 if self.doubt is None else ALL), self.weight(0)


@lru_cache(maxsize=256)
def _lower_ends(t: int) -> tuple[int, ...]:
    """0, 1, then max(last + 1, floor(5 last/4)) up to t."""
    ends = [0]
    while (following := max(ends[-1] + 1, 5 * ends[-1] // 4)) <= t:
        ends.append(following)
    return tuple(ends)
