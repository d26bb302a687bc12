"""What every query is: inert text; checked against the columns, a form that can be priced."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from surehold.formatting import shorten
from surehold.queries.schema import Schema

Needs: TypeAlias = Literal["statistical", "low-sensitivity"]
"""Which queries a certificate has to cover: means over records, or other functions of them too."""


class Source:
    """What the data works out exactly: whole numbers over a snapshot, and a divisor.

    ``canonical`` tells sources apart, given the columns.
    """

    canonical: str


@dataclass(frozen=True)
class CheckedQuery(ABC):
    """A query, checked against the columns."""

    canonical: str

    @property
    @abstractmethod
    def sources(self) -> tuple[Source, ...]:
        """What it needs of the snapshot."""


@dataclass(frozen=True)
class Form(CheckedQuery):
    """A query of the noise guard: what it costs is known, whatever the records hold.

    ``price`` is its charge, in answers to one statistical query at the same round. ``slots`` is how
    many of the plan's answers it counts for: one for each number reported with a width. ``needs``
    is what a certificate has to cover.
    """

    price: int = field(default=1, kw_only=True)
    needs: Needs = field(default="statistical", kw_only=True)

    @property
    @abstractmethod
    def slots(self) -> int:
        """What it takes of the number of answers that the plan has."""


@dataclass(frozen=True)
class NumberForm(Form):
    """One number from ``low`` to ``high`` or, where there are ``labels``, one for each cell.

    A number is ``low + unit * span`` for a unit that moves by at most 1/t when one of t records is
    replaced: a mean over records has ``span = high - low``, a statistic of sensitivity c/t has
    ``span = c`` (sharp-bound.md, section 15). The ``price`` is the squared L2 sensitivity of all
    cells together, in units of 1/t^2. ``bits`` are those of the
    grid on which values of records lie, 0 if they are exact. With a ``power`` below 1 a number
    moves by ``span / t**power``: :meth:`span_at` is its span at one round.
    """

    source: Source
    low: float
    high: float
    span: float
    bits: int
    labels: tuple[str, ...] | None = None
    power: float = 1.0

    def span_at(self, t: int) -> float:
        """How much one of ``t`` records moves it, times ``t``; rounded up."""
        if self.power == 1.0:
            return self.span
        return float(self.span * float(t) ** (1.0 - self.power) * (1.0 + 1e-12))

    def top_at(self, t: int) -> float:
        """The largest unit there can be at a round."""
        return min((self.high - self.low) / self.span_at(t), 1.0)

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.source,)

    @property
    def slots(self) -> int:
        """Every cell is an answer."""
        return 1 if self.labels is None else len(self.labels)


class Query(ABC):
    """A question about the population. Two are equal if their canonical texts are.

    ``text`` is kept as it was written; :func:`surehold.queries.query_of` reads ``canonical`` back.
    """

    text: str

    @property
    @abstractmethod
    def canonical(self) -> str:
        """One text for all spellings."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "canonical": self.canonical}

    def __str__(self) -> str:
        return self.canonical

    def __repr__(self) -> str:
        return f"<{shorten(self.canonical, 80)}>"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(self.canonical)}</code>"


class Charged(Query):
    """A query that is answered from the data, at a price."""

    @abstractmethod
    def form(self, schema: Schema) -> Form:
        """What it comes to with these columns; raises InvalidQuery if it makes no sense there."""


class ScalarQuery(Charged):
    """A charged query whose answer is one number."""

    @abstractmethod
    def form(self, schema: Schema) -> NumberForm:
        """What it comes to with these columns."""
