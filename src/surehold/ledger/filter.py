"""The filter: decides, before any data is touched, whether a charge fits.

Algorithm 2 of the paper in exact arithmetic, and with a budget for each record as in
sharp-bound.md, section 9: a query at round t is admitted while the charge of every record
s <= t stays within that record's budget. All records of a piece have the same budget and the first
of them is exposed most, so it speaks for all. With one piece this is the paper's filter, one
running sum.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise


class Filter(ABC):
    """Decides by sizes and charges alone. Units are those of :mod:`surehold.mechanisms.charge`."""

    @abstractmethod
    def remaining(self, t: int) -> int:
        """The largest charge that fits at round t."""

    def admits(self, t: int, units: int) -> bool:
        """Whether a charge fits at round t."""
        return units <= self.remaining(t)

    def charge(self, t: int, units: int) -> None:
        """Take an admitted charge off."""
        if not 0 <= units <= self.remaining(t):
            raise ValueError("a charge that was not admitted")
        self._take(t, units)

    @abstractmethod
    def _take(self, t: int, units: int) -> None: ...


class RecordFilter(Filter):
    """What is left of each piece's budget, in exact units.

    ``firsts`` are the first records of the pieces, from 1 on, and ``budgets`` what each may be
    charged. Asking and charging take O(log pieces).

    >>> one = RecordFilter([1], [10])
    >>> one.charge(500, 4)
    >>> one.remaining(500)
    6
    >>> two = RecordFilter([1, 101], [10, 3])  # records from the 101st on have less
    >>> two.remaining(100), two.remaining(101)
    (10, 3)
    """

    def __init__(self, firsts: Sequence[int], budgets: Sequence[int]) -> None:
        if not firsts or firsts[0] != 1 or len(firsts) != len(budgets):
            raise ValueError("pieces start at record 1 and have one budget each")
        if any(b <= a for a, b in pairwise(firsts)):
            raise ValueError("pieces are in increasing order")
        self._firsts = list(firsts)
        self._leaves = 1
        while self._leaves < len(firsts):
            self._leaves *= 2
        # A heap-shaped tree: _least[i] is the least budget left below node i, and _taken[i] what
        # was charged to all of it and has not been handed down.
        padding = [max(budgets)] * (self._leaves - len(budgets))
        self._least = [0] * self._leaves + [*budgets, *padding]
        self._taken = [0] * (2 * self._leaves)
        for node in range(self._leaves - 1, 0, -1):
            self._least[node] = min(self._least[2 * node], self._least[2 * node + 1])

    def remaining(self, t: int) -> int:
        """The least that is left of the records in round t."""
        taken, least = 0, None
        for node, is_whole in self._path(t):
            if is_whole:
                here = self._least[node] - taken
                least = here if least is None else min(least, here)
            else:
                taken += self._taken[node]
        assert least is not None
        return least

    def _take(self, t: int, units: int) -> None:
        """Charge every record up to the round."""
        partial = []
        for node, is_whole in self._path(t):
            if is_whole:
                self._least[node] -= units
                self._taken[node] += units
            else:
                partial.append(node)
        for node in reversed(partial):
            below = min(self._least[2 * node], self._least[2 * node + 1])
            self._least[node] = below - self._taken[node]

    def _path(self, t: int) -> list[tuple[int, bool]]:
        """The nodes that make up the pieces in a round, and those above that are only partly in.

        From the root down to the last piece in it: a left child on the way is wholly in.
        """
        stop = bisect_right(self._firsts, t)
        path: list[tuple[int, bool]] = []
        node, size = 1, self._leaves
        while stop < size:
            path.append((node, False))
            size //= 2
            if stop > size:
                path.append((2 * node, True))
                node, stop = 2 * node + 1, stop - size
            else:
                node = 2 * node
        path.append((node, True))
        return path


class CappedFilter(Filter):
    """Another filter, of which no more than ``most`` may be taken: what one analyst may spend."""

    def __init__(self, whole: Filter, most: int) -> None:
        self._whole, self._most = whole, most

    def remaining(self, t: int) -> int:
        """What is left of both."""
        return max(0, min(self._whole.remaining(t), self._most))

    def _take(self, t: int, units: int) -> None:
        self._whole.charge(t, units)
        self._most -= units


class ReservedFilter(Filter):
    """Another filter, of which some units are kept for others."""

    def __init__(self, whole: Filter, kept: int) -> None:
        self._whole, self._kept = whole, kept

    def remaining(self, t: int) -> int:
        """What is left once the others have had theirs."""
        return max(0, self._whole.remaining(t) - self._kept)

    def _take(self, t: int, units: int) -> None:
        self._whole.charge(t, units)


class FixedFilter(Filter):
    """The filter of a schedule whose queries may not be moved: each round has its own budget.

    The paper's certificates for fixed schedules are proved for just the schedule they are given.
    """

    def __init__(self, budgets: Mapping[int, int]) -> None:
        self._left = dict(budgets)

    def remaining(self, t: int) -> int:
        """What is left of a round's budget."""
        return self._left[t]

    def _take(self, t: int, units: int) -> None:
        self._left[t] -= units


class UncommittedFilter(Filter):
    """Another filter, and charges that are taken off it once they are durable.

    That of an earlier draft of the same transaction is gone on with, and stays as it is.
    """

    def __init__(self, whole: Filter) -> None:
        self._whole, self._round, self._units = whole, 0, 0
        if isinstance(whole, UncommittedFilter):
            self._whole, self._round, self._units = whole._whole, whole._round, whole._units

    def remaining(self, t: int) -> int:
        """What is left after the charges."""
        if self._units and t != self._round:  # of two questions that were asked at once
            self._whole = copy.deepcopy(self._whole)
            self._whole.charge(self._round, self._units)
            self._units = 0
        return self._whole.remaining(t) - self._units

    def _take(self, t: int, units: int) -> None:
        self._round, self._units = t, self._units + units

    def commit(self) -> Filter:
        """Take the charges off the other filter, or off a copy that has others already."""
        if self._units:
            self._whole.charge(self._round, self._units)
        return self._whole
