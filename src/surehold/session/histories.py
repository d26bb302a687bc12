"""Histories: one question over time, with its interval and its gate, in its own unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any

from surehold import formatting
from surehold.display import Shown
from surehold.ledger.ledger import Ledger
from surehold.queries import NamedQuestion
from surehold.queries.derived import judge
from surehold.queries.side_tables import show_names
from surehold.session.outcomes import NumberOutcome
from surehold.session.recorded_results import result_of
from surehold.session.results import NO_NAMES, Answer, Estimate, Result

_LOOKED_AT = 20_000  # entries, from the last one back, that are counted by question
MOST_POINTS = 1000
"""Answers that one history has: the last ones."""


@dataclass(frozen=True)
class Scale:
    """How the numbers of a question are shown: unit, factor and possible range."""

    unit: str | None
    range: tuple[float, float]

    @property
    def factor(self) -> int:
        """100 if a share is shown in percent."""
        is_share = self.range[0] >= -1.0 and self.range[1] <= 1.0
        return 100 if self.unit == "%" and is_share else 1

    def texts(self, value: float, low: float, high: float) -> dict[str, str]:
        """A value and its interval, rounded outwards, with the unit, for a ``display``."""
        span = self.range[1] - self.range[0]
        digits = formatting.decimals(max(0.5 * (high - low), 1e-9 * span), span)
        ends = (formatting.fixed(low, digits, up=False), formatting.fixed(high, digits, up=True))
        shown = (formatting.in_unit(end, None, self.factor) for end in ends)
        return {
            "value": formatting.in_unit(formatting.plain(value, digits), self.unit, self.factor),
            "interval": formatting.in_unit(f"[{', '.join(shown)}]", self.unit),
        }

    def gate(self, at_least: float | None, at_most: float | None) -> dict[str, str]:
        """A gate in words, for a ``display``; nothing if there is none."""
        limit = at_most if at_least is None else at_least
        if limit is None:
            return {}
        side = "at most" if at_least is None else "at least"
        text = f"{Decimal(repr(limit)):f}".removesuffix(".0")
        return {"gate": f"{side} {formatting.in_unit(text, self.unit, self.factor)}"}


@dataclass(frozen=True, repr=False)
class Point(Shown):
    """An answer in a history; ``verdict`` is None without a gate."""

    entry: int
    round: int
    time: str
    value: float
    low: float
    high: float
    verdict: str | None

    def __str__(self) -> str:
        return f"{self.value:g} in [{self.low:g}, {self.high:g}]  n = {self.round:,}"


@dataclass(frozen=True, repr=False)
class History(Shown):
    """All answers to one question that are numbers, by round.

    Numbers are as the query gives them; multiplied by ``factor`` they are in the ``unit``.
    ``title`` is the question's name, None if it has none; ``names`` are those of tables and models
    in the query. ``range`` is None before the first answer.
    """

    title: str | None
    query: str
    unit: str | None
    factor: int
    at_least: float | None
    at_most: float | None
    range: tuple[float, float] | None
    points: tuple[Point, ...]
    names: Mapping[str, str] = field(default_factory=lambda: NO_NAMES, kw_only=True)
    display: Mapping[str, str | tuple[str, ...]] = field(init=False, compare=False)

    def _display(self) -> dict[str, Any]:
        """The gate, and all values and intervals, in the unit."""
        shown = {"query": show_names(self.query, self.names)} if self.names else {}
        if self.range is None:
            return shown
        scale = Scale(self.unit, self.range)
        texts = [scale.texts(one.value, one.low, one.high) for one in self.points]
        return {
            **shown,
            **scale.gate(self.at_least, self.at_most),
            "values": tuple(one["value"] for one in texts),
            "intervals": tuple(one["interval"] for one in texts),
        }

    @property
    def label(self) -> str:
        """The name of the question, or else the query."""
        return self.title or show_names(self.query, self.names)

    def __str__(self) -> str:
        return f"{formatting.shorten(self.label)}: {formatting.several(len(self.points), 'answer')}"


def number_of(result: Result) -> Answer | Estimate | NumberOutcome | None:
    """A result that is a number with an interval; None if it is something else."""
    if isinstance(result, Answer):
        return result
    is_number = isinstance(result, Estimate | NumberOutcome) and result.value is not None
    return result if is_number else None  # type: ignore[return-value]  # checked just now


def history(ledger: Ledger, canonical: str, question: NamedQuestion | None) -> History:
    """The history of a question, named or not, from the index of answers."""
    rounds = [total.round for total in ledger.store.rounds()][-MOST_POINTS:]
    found = ledger.find((canonical, t) for t in rounds).answers
    entries = [found[canonical, t] for t in rounds if (canonical, t) in found]
    results = [number_of(result_of(entry, ledger, recorded=True)) for entry in entries]
    numbers = [one for one in results if one is not None]
    unit, gate = (None, None) if question is None else (question.unit, question.gate)
    limits = numbers[-1].range if numbers else None
    return History(
        title=ledger.names.titles.get(canonical) if question is None else question.name,
        query=canonical,
        unit=unit,
        factor=1 if limits is None else Scale(unit, limits).factor,
        at_least=None if question is None else question.at_least,
        at_most=None if question is None else question.at_most,
        range=limits,
        points=tuple(_point(one, gate) for one in numbers),
        names=numbers[-1].names if numbers else NO_NAMES,
    )


def histories(ledger: Ledger, most: int) -> list[History]:
    """One history for each named question or, if none has a name, for those asked most often."""
    ledger.refresh()
    named = [one for one in ledger.names.by_name.values() if one.question.watch]
    if named:
        found = (history(ledger, one.canonical, one.question) for one in named)
    else:
        found = (history(ledger, one, None) for one in _often(ledger))
    return [*islice((one for one in found if one.points), most)]


def _often(ledger: Ledger) -> list[str]:
    """The questions of the last answers, the most frequent first, then the latest."""
    entries = islice(ledger.store.entries_back(2**62), _LOOKED_AT)
    asked = Counter(
        str(one.read().get("canonical")) for one in entries if one.kind in ("answer", "derived")
    )
    return [canonical for canonical, _ in asked.most_common()]


def _point(number: Answer | Estimate | NumberOutcome, gate: tuple[str, float] | None) -> Point:
    assert number.value is not None
    assert number.interval is not None
    low, high = number.interval
    verdict = None if gate is None else judge(*gate, (low, high))
    return Point(number.entry, number.round, number.time, number.value, low, high, verdict)
