"""Cells of a number of records, which a rate reports first (Surprise, sections 3e and 7)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class RecordMenu:
    """How many of t records meet a condition: one of few cells, all with equal weights.

    Surprise, section 7.

    >>> menu = RecordMenu(2000)
    >>> k = menu.outcome(408)
    >>> k, menu.at_least(k), menu.weight(k)
    (26, 366, Fraction(1, 34))
    """

    t: int

    def outcome(self, records: int) -> int:
        """The number of the cell that has this many."""
        return bisect_right(_lower_ends(self.t), records) - 1

    def at_least(self, k: int) -> int:
        """The lower end of the k-th cell, with which the interval is computed."""
        return _lower_ends(self.t)[k]

    def weight(self, k: int) -> Fraction:
        """One over their number."""
        return Fraction(1, len(_lower_ends(self.t)))

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return {"kind": "records", "t": self.t}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> RecordMenu:
        """Read what :meth:`to_dict` wrote."""
        return cls(int(given["t"]))


@lru_cache(maxsize=256)
def _lower_ends(t: int) -> tuple[int, ...]:
    """0, 1, then max(last + 1, floor(5 last/4)) up to t."""
    ends = [0]
    while (following := max(ends[-1] + 1, 5 * ends[-1] // 4)) <= t:
        ends.append(following)
    return tuple(ends)
