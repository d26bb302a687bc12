"""What everyone in a contest shares: sizes, the number of queries, and the promise."""

from __future__ import annotations

from dataclasses import dataclass

from surehold.checks import check_probability, check_whole
from surehold.display import Shown
from surehold.errors import InvalidInput

_MOST_BYTES = 2**30  # of features; some attacks hold four times as much
_MOST_RECORDS = 10**8


@dataclass(frozen=True)
class Setting(Shown):
    """Data that grows from n0 to n records, of which up to ``queries`` are asked.

    Each defender is to answer within ``alpha``, if it is one that can choose, all answers together
    right with probability 1 - ``beta``.
    """

    n0: int
    n: int
    queries: int
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name, least in (("n0", 10), ("n", 10), ("queries", 2)):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least))
        if self.n < self.n0:
            raise InvalidInput("n", f"at least n0 = {self.n0:,}", self.n)
        if self.n > _MOST_RECORDS:
            raise InvalidInput("n", f"at most {_MOST_RECORDS:,} records, held in memory", self.n)
        for name in ("alpha", "beta"):
            check_probability(name, getattr(self, name))
        if self.n * self.queries > 8 * _MOST_BYTES:
            most = 8 * _MOST_BYTES // self.n
            required = f"at most {most:,} for {self.n:,} records, which are held in memory"
            raise InvalidInput("queries", required, self.queries, "use fewer queries or records")

    @property
    def grows(self) -> bool:
        """Whether records arrive while questions are asked."""
        return self.n > self.n0

    def stops(self, count: int) -> list[int]:
        """``count`` sizes from n0 to n, evenly; only n if the data does not grow."""
        if not self.grows or count == 1:
            return [self.n]
        return [self.n0 + (self.n - self.n0) * i // (count - 1) for i in range(count)]

    def visits(self, count: int) -> list[int]:
        """``count`` occasions to ask: at as many sizes, or all at the only one."""
        return self.stops(count) if self.grows else [self.n] * count
