"""How queries will come, before their number is known: what the inverse problems vary.

A setting turns a number of queries into a design (:mod:`surehold.theory.exposure`), and can be
moved to another size at the same growth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, TypeAlias

from surehold.checks import LARGEST_BATCHES, check_count, check_growth
from surehold.theory.exposure import Adaptive, Schedule, Sensitivity, statistical


@dataclass(frozen=True)
class _Growth:
    """A dataset that grows from n0 to n records."""

    n0: int
    n: int
    sensitivity: Sensitivity = statistical

    def __post_init__(self) -> None:
        check_growth(self.n0, self.n)

    def sized(self, n0: int, growth: Fraction) -> Self:
        """The same at another initial size; the last one is rounded down."""
        return replace(self, n0=n0, n=n0 * growth.numerator // growth.denominator)


@dataclass(frozen=True)
class Batches(_Growth):
    """b batches at rounds fixed in advance, evenly from n0 to n; b = 1 asks everything at n."""

    b: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("batches", self.b, LARGEST_BATCHES)

    def at(self, queries: int) -> Schedule:
        """The schedule of that many queries."""
        return Schedule.batches(self.n0, self.n, self.b, queries, self.sensitivity)


@dataclass(frozen=True)
class Growing(_Growth):
    """The analyst decides as they go, held by a filter with one budget for every record."""

    def at(self, queries: int) -> Adaptive:
        """The design whose filter admits at most that many answers."""
        return Adaptive(self.n0, self.n, queries, sensitivity=self.sensitivity)


Setting: TypeAlias = Batches | Growing
