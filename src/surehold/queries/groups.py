"""Means by group: a mean for every cell, from a histogram and the totals of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from surehold.errors import InvalidInput
from surehold.queries.axes import Axis
from surehold.queries.cells import Histogram, read_cells, totals
from surehold.queries.derived import Derived, Reading, quotient
from surehold.queries.parser import Parser
from surehold.queries.statistical import Statistical, check_length


@dataclass(frozen=True, repr=False, eq=False)
class GroupMeans(Derived):
    """The mean of a number in every cell; undetermined where a cell may be empty.

    >>> means("spend", low=0, high=100, by="country in ('NO', 'SE')").canonical
    "means(spend, 0, 100, country in ('NO', 'SE'))"
    """

    weight: Statistical
    axes: tuple[Axis, ...]
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        return f"means{self.amounts.canonical.removeprefix('totals')}"

    @property
    def amounts(self) -> Histogram:
        return Histogram(self.axes, self.weight, self.text)

    @cached_property
    def parts(self) -> tuple[Histogram, ...]:
        """How many records are in each cell, and what they come to."""
        return (Histogram(self.axes, None, self.text), self.amounts)

    def derive(self, parts: Sequence[Sequence[Reading]]) -> Mapping[str, Any]:
        shares, amounts = parts
        low, high = self.weight.low, self.weight.high
        pairs = zip(amounts, shares, strict=True)
        found = [quotient(amount, share, low, high) for amount, share in pairs]
        return {
            "kind": "means",
            "values": [reading.value for reading in found],
            "intervals": [None if r.interval is None else list(r.interval) for r in found],
            "range": [low, high],
        }

    def __repr__(self) -> str:
        return f"means{repr(self.amounts).removeprefix('totals')}"


def means(
    text: str,
    low: float,
    high: float,
    by: str | Sequence[str],
    cells: Iterable[Any] | None = None,
    bins: Iterable[float] | None = None,
) -> GroupMeans:
    """The mean of a number, cut off at the bounds, among the records of each cell.

    It is a histogram and its totals, and costs what they cost: as much as four answers, however
    many cells there are. The intervals follow from theirs.

    >>> means("spend", low=0, high=100, by="country in ('NO', 'SE')")
    means('spend', low=0, high=100, by="country in ('NO', 'SE')")
    """
    if not isinstance(by, Sequence):
        raise InvalidInput("by", "what to sort records by: an expression, or a list of them", by)
    query = totals(text, low, high, by, cells, bins)
    assert query.weight is not None
    return check_length(
        GroupMeans(query.weight, query.axes, f"means{query.text.removeprefix('totals')}")
    )


def read_means(parser: Parser, name: str) -> GroupMeans:
    """What follows ``means(``: as for totals."""
    query = read_cells(parser, "totals")
    assert query.weight is not None
    return GroupMeans(query.weight, query.axes, parser.text)
