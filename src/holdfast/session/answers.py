"""What an analyst gets: frozen, with numbers, words and one dictionary each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any, overload

from holdfast import numerals
from holdfast.errors import LedgerCorrupt
from holdfast.ledger.entries import Entry
from holdfast.ledger.ledger import Ledger
from holdfast.mechanisms import to_float
from holdfast.shown import Shown


@dataclass(frozen=True, repr=False)
class Budget(Shown):
    """In mu^2 of the record that is exposed most: what it may be charged, was, and may yet be."""

    total: float
    spent: float
    remaining: float

    def __str__(self) -> str:
        share = 0.0 if self.total == 0.0 else self.remaining / self.total
        return f"{share:.1%} of the budget left ({self.remaining:.6g} of {self.total:.6g})"


@dataclass(frozen=True, repr=False)
class Answer(Shown):
    """A value and how far it can be from the population's, jointly with all other answers.

    ``query`` is the query in canonical form and ``text`` as it was written. ``interval`` is (low,
    high); ``width`` the half-width, the larger side if they differ; ``range`` what the answer could
    be at all, 0 to 1 for a fraction. ``round`` is the size of the snapshot. ``charge`` is what it
    cost, and ``remaining`` what it left, in mu^2 of the record that is exposed most. ``recorded``
    is True if it had been given before and cost nothing now.
    """

    query: str
    text: str
    value: float
    width: float
    interval: tuple[float, float]
    range: tuple[float, float]
    round: int
    certificate: str
    theorem: str
    beta: float
    terms: Mapping[str, float]
    assumptions: tuple[str, ...]
    charge: float
    remaining: float
    answers_left: int
    sigma: float
    analyst: str
    time: str
    entry: int
    key: str | None
    recorded: bool

    def __str__(self) -> str:
        low, high = self.interval
        digits = _decimals(self.width, self.range[1] - self.range[0])
        return (
            f"{self.value:.{digits}f} ± {numerals.fixed(self.width, digits, up=True)}  "
            f"[{numerals.fixed(low, digits, up=False)}, {numerals.fixed(high, digits, up=True)}]  "
            f"n = {self.round:,}"
        )

    def __hash__(self) -> int:
        return hash((self.entry, self.value))

    def explain(self) -> str:
        """The answer in full sentences: where the width comes from, and what it rests on."""
        parts = " + ".join(f"{term:.4g} {name}" for name, term in self.terms.items())
        lines = [
            f"{self}",
            f"query       {self.query}",
            f"width       ± {numerals.width(self.width)} ({parts})",
            f"holds       with probability {numerals.percent(self.beta)}, for all answers of the "
            "analysis together",
            f"by          {self.certificate} ({self.theorem})",
            f"cost        {self.charge:.4g} of each record's budget; {self.remaining:.4g} is left, "
            f"enough for {numerals.several(self.answers_left, 'answer')} more at this round",
            *(f"if          {sentence}" for sentence in self.assumptions),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Quote(Shown):
    """A free preview: what an answer would cost and how wide it would be. It touches no record.

    ``width`` is the largest the answer could have. If it is not ``allowed``, ``reason`` says why
    and ``more_records`` after how many more it would be, None if never.
    """

    query: str
    round: int
    charge: float
    width: float
    allowed: bool
    recorded: bool
    reason: str | None
    more_records: int | None
    remaining: float
    answers_left: int

    def __str__(self) -> str:
        if not self.allowed:
            return f"refused: {self.reason}"
        cost = "free, as recorded" if self.recorded else f"costs {self.charge:.4g}"
        return (
            f"± {numerals.width(self.width)} at n = {self.round:,}, {cost}; "
            f"{numerals.several(self.answers_left, 'answer')} left at this round"
        )


class Transcript(Sequence[Answer]):
    """All answers of a dataset in order, read from the ledger when they are looked at."""

    def __init__(self, ledger: Ledger, analyst: str | None = None) -> None:
        self._ledger = ledger
        self._analyst = analyst

    def __len__(self) -> int:
        if self._analyst is None:
            return self._ledger.refresh().answers
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Answer]:
        for entry in self._ledger.store.entries():
            if entry.kind == "answer":
                answer = answer_of(entry, self._ledger, recorded=True)
                if self._analyst in (None, answer.analyst):
                    yield answer

    def last(self, count: int) -> list[Answer]:
        """The last answers, in order, without reading those before."""
        found: list[Answer] = []
        for entry in self._ledger.store.entries_back(2**62):
            if len(found) == count:
                break
            if entry.kind == "answer":
                answer = answer_of(entry, self._ledger, recorded=True)
                found += [answer] if self._analyst in (None, answer.analyst) else []
        return found[::-1]

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> list[Answer]: ...
    def __getitem__(self, index: int | slice) -> Answer | list[Answer]:
        if isinstance(index, slice):
            return list(self)[index]
        if index < 0:
            found = self.last(-index)
            if len(found) < -index:
                raise IndexError("there are not so many answers")
            return found[0]
        for i, answer in enumerate(self):
            if i == index:
                return answer
        raise IndexError("there are not so many answers")

    def to_dict(self) -> dict[str, Any]:
        """All answers as plain values, as JSON has them."""
        return {"answers": [answer.to_dict() for answer in self]}

    def __repr__(self) -> str:
        return f"<transcript of {numerals.several(len(self), 'answer')}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(str(answer))}</td></tr>" for answer in self.last(20))
        return f"<table><caption>{escape(repr(self))}</caption>{rows}</table>"


def answer_of(entry: Entry, ledger: Ledger, recorded: bool) -> Answer:
    """The answer that an entry of the ledger keeps."""
    body, plan = entry.read(), ledger.plan
    try:
        low, high = body["interval"]
        units = int(body["charge"])
        return Answer(
            query=body["canonical"],
            text=body["query"],
            value=body["value"],
            width=body["width"],
            interval=(low, high),
            range=(body["low"], body["high"]),
            round=body["round"],
            certificate=plan.certificate,
            theorem=plan.theorem,
            beta=plan.beta,
            terms=ledger.policy.terms(body["unit"], body["low"], body["high"], body["bits"]),
            assumptions=plan.assumptions,
            charge=to_float(units),
            remaining=to_float(ledger.policy.budget - int(body["after"]["spent"])),
            answers_left=body["left"],
            sigma=body["sigma"],
            analyst=body["analyst"],
            time=when(body["time"]),
            entry=entry.seq,
            key=body.get("key"),
            recorded=recorded,
        )
    except (KeyError, TypeError, ValueError):
        raise LedgerCorrupt("the ledger", "it does not hold a whole answer", entry.seq) from None


def when(seconds: float) -> str:
    """A time as text that sorts, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _decimals(width: float, span: float) -> int:
    """As many decimals as show two digits of a width, and a thousandth of the range."""
    return max(0, 1 - math.floor(math.log10(width)), 3 - math.ceil(math.log10(span)))
