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

    If ``likely`` names the first and the last of the cells that are expected, as they are after an
    earlier answer, these have equal parts of 1 - doubt, and all others equal parts of the doubt.

    >>> growing = RecordMenu(2500, Fraction(1, 20), likely_cells(26, 2000, 2500))
    >>> growing.likely, growing.weight(27), growing.weight(26)
    ((27, 27), Fraction(19, 20), Fraction(1, 680))
    """

    t: int
    doubt: Fraction | None = None
    likely: tuple[int, int] | None = None

    def outcome(self, records: int) -> int:
        """The number of the cell that has this many."""
        if self.doubt is not None and self.likely is None and records == self.t:
            return ALL
        return bisect_right(_lower_ends(self.t), records) - 1

    def at_least(self, k: int) -> int:
        """The lower end of the k-th cell, with which the interval is computed."""
        return self.t if k == ALL else _lower_ends(self.t)[k]

    def weight(self, k: int) -> Fraction:
        """One over their number, or what the doubt leaves."""
        cells = len(_lower_ends(self.t))
        if self.doubt is None:
            return Fraction(1, cells)
        if self.likely is None:
            return 1 - self.doubt if k == ALL else self.doubt / cells
        first, last = self.likely
        expected = last - first + 1
        if expected == cells:
            return Fraction(1, cells)
        is_expected = first <= k <= last
        return (1 - self.doubt) / expected if is_expected else self.doubt / (cells - expected)

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        """The weights of the outcomes that cost least and most."""
        if self.likely is None:
            return self.weight(0 if self.doubt is None else ALL), self.weight(0)
        cells = range(len(_lower_ends(self.t)))
        weights = [self.weight(k) for k in cells]
        return max(weights), min(weights)


def likely_cells(k: int, before: int, t: int) -> tuple[int, int]:
    """The cells that the k-th cell at round ``before`` leads one to expect (Surprise, section 4).

    They have the same share of the records, whichever number of the k-th cell it was.
    """
    ends = _lower_ends(before)
    most = ends[k + 1] - 1 if k + 1 < len(ends) else before
    menu = RecordMenu(t)
    return menu.outcome(ends[k] * t // before), menu.outcome(min(-(-most * t // before), t))


@lru_cache(maxsize=256)
def _lower_ends(t: int) -> tuple[int, ...]:
    """0, 1, then max(last + 1, floor(5 last/4)) up to t."""
    ends = [0]
    while (following := max(ends[-1] + 1, 5 * ends[-1] // 4)) <= t:
        ends.append(following)
    return tuple(ends)
