"""Known sums, from which those of other rounds are computed, at least a block apart."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import add
from typing import TypeAlias, TypeVar

from surehold.queries import Source

BLOCK = 1 << 10
"""The fewest records that are evaluated alone, unless there are fewer in all.

Anyone who could have a single record evaluated, by asking at two consecutive rounds, could read
it off the clock.
"""
_MOST_NUMBERS = 20_000
_MOST_ROUNDS = 4  # of one source

Totals = tuple[int, ...]


S = TypeVar("S", bound=Source)
Evaluate: TypeAlias = Callable[[Sequence[S], int, int], Sequence[Totals]]


class KnownSums:
    """The last sums of each source at a few rounds; the least recently used are dropped.

    Two rounds of a source are at least a block apart.
    """

    def __init__(self, most: int = _MOST_NUMBERS) -> None:
        self._known: OrderedDict[str, dict[int, Totals]] = OrderedDict()
        self._most = most
        self._numbers = 0
        self._lock = threading.Lock()

    def at(self, canonical: str, t: int) -> Totals | None:
        """Return the sums at exactly that round, if they are known."""
        with self._lock:
            return self._known.get(canonical, {}).get(t)

    def nearest(self, canonical: str, t: int, back: bool = True) -> tuple[int, Totals]:
        """Return a round and its sums that leave the least work; 0 is from scratch.

        It is that round itself, or at least a block away; later rounds only if ``back``.
        """
        with self._lock:
            known = self._known.get(canonical, {})
            if t in known:
                return t, known[t]
            usable = [at for at in known if BLOCK <= abs(at - t) < t and (back or at < t)]
            at = min(usable, key=lambda at: abs(at - t), default=0)
            return at, known.get(at, ())

    def keep(self, canonical: str, t: int, totals: Totals) -> None:
        """Remember sums."""
        with self._lock:
            before = self._known.pop(canonical, {})
            now = {at: kept for at, kept in before.items() if abs(at - t) >= BLOCK}
            few = _MOST_ROUNDS if _MOST_ROUNDS * len(totals) <= self._most else 1
            while len(now) >= few:
                del now[next(iter(now))]
            now[t] = totals
            self._known[canonical] = now
            self._numbers += _count(now) - _count(before)
            while self._numbers > self._most and len(self._known) > 1:
                _, forgotten = self._known.popitem(last=False)
                self._numbers -= _count(forgotten)

    def sum_up(
        self,
        sources: Sequence[S],
        t: int,
        evaluate: Evaluate[S],
        back: bool = True,
    ) -> dict[str, Totals]:
        """Return the sums of all sources at a round, by their canonical texts.

        ``evaluate(sources, low, high)`` returns those over the records low, ..., high - 1. As sums
        are exact, the starting point makes no difference. A source that is asked about again, far
        from what is known, is first summed up to a landmark: data that grows record by record then
        costs less than two blocks per ask instead of everything.
        """
        landmark = (t // BLOCK - 1) * BLOCK
        again = [source for source in sources if self._is_far(source.canonical, t, back)]
        if landmark > 0 and again:
            self._step(again, landmark, evaluate, back)
        return self._step(sources, t, evaluate, back)

    def _is_far(self, canonical: str, t: int, back: bool) -> bool:
        return canonical in self._known and (
            abs(self.nearest(canonical, t, back)[0] - t) >= 2 * BLOCK
        )

    def _step(
        self, sources: Sequence[S], t: int, evaluate: Evaluate[S], back: bool
    ) -> dict[str, Totals]:
        found: dict[str, Totals] = {}
        groups: dict[int, list[tuple[S, Totals]]] = {}
        for source in sources:
            at, totals = self.nearest(source.canonical, t, back)
            if at == t and totals:
                found[source.canonical] = totals
            else:
                groups.setdefault(at, []).append((source, totals))
        for at, members in groups.items():
            low, high = min(at, t), max(at, t)
            parts = evaluate([source for source, _ in members], low, high)
            for (source, totals), part in zip(members, parts, strict=True):
                more = part if at < t else tuple(-one for one in part)
                found[source.canonical] = tuple(map(add, totals, more)) if totals else more
                self.keep(source.canonical, t, found[source.canonical])
        return found


def _count(known: dict[int, Totals]) -> int:
    return sum(map(len, known.values()))
