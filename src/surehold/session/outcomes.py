"""Results under the surprise guard: outcomes, what they prove and what they cost in bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from surehold import formatting
from surehold.display import Shown
from surehold.session.results import Cell, Result, cells_text, find_cell, shown_interval


@dataclass(frozen=True, repr=False)
class Outcome(Result):
    """What every result of a surprise guard has.

    ``claim`` is the number of its claim and ``level`` the l at which it is made, in nats: it misses
    with probability e^-l at most; both are None if nothing is claimed. ``surprise`` is what it
    cost and ``spent`` what all outcomes so far have cost, in bits. ``exact`` has what is exact, as
    text: the level, the weights, and prices in units of 2^-64 nat.
    """

    claim: int | None
    level: float | None
    surprise: float
    spent: float
    expected: bool | None
    exact: Mapping[str, str | tuple[str, ...]]

    __hash__ = Result.__hash__

    def _display(self) -> dict[str, Any]:
        return {
            **super()._display(),
            "surprise": formatting.bits(self.surprise),
            "spent": formatting.bits(self.spent),
            "cost": self._cost(),
        }

    def _cost(self) -> str:
        came = {None: "", True: "as expected: ", False: "a surprise: "}[self.expected]
        return f"{came}{formatting.bits(self.surprise)} ({formatting.bits(self.spent)} in all)"

    def _sentences(self) -> list[str]:
        claim = "claims      nothing about the population"
        if self.claim is not None:
            claim = (
                f"claim       number {self.claim:,}, which misses with probability "
                f"e^-{self.level:.4g} at most"
            )
        return [
            f"query       {formatting.shorten(self.shown_query, 500)}",
            claim,
            self._promise(),
            f"by          {self.theorem}",
            f"cost        {self._cost()}",
            *(f"if          {sentence}" for sentence in self.assumptions),
        ]


@dataclass(frozen=True, repr=False)
class NumberOutcome(Outcome):
    """A number, reported as a cell of a grid: ``value`` is the middle of the cell.

    The population's number lies from ``low`` to ``high``. ``combined`` is what all answers to this
    question say together; None if they contradict each other, which has probability beta at most.
    ``records_at_least`` is how many records a rate is about, at least. ``cell`` and ``value`` are
    None where no record counts, and ``cell`` for a difference, whose ends are reported.
    """

    kind: Literal["number"] = field(default="number", init=False)
    value: float | None
    low: float
    high: float
    cell: tuple[float, float] | None
    range: tuple[float, float]
    combined: tuple[float, float] | None
    records_at_least: int | None

    __hash__ = Result.__hash__

    @property
    def interval(self) -> tuple[float, float]:
        """From low to high."""
        return self.low, self.high

    @property
    def width(self) -> float:
        """Half of the interval."""
        return 0.5 * (self.high - self.low)

    def __str__(self) -> str:
        texts = self.display
        if self.value is None:
            return f"{texts['value']}  {self._size()} · {texts['cost']}"
        return f"{texts['value']} in {texts['interval']}  {self._size()} · {texts['cost']}"

    def _display(self) -> dict[str, Any]:
        span = self.range[1] - self.range[0]
        digits = formatting.decimals(max(self.width, 1e-9 * span), span)
        texts = {**super()._display(), "interval": shown_interval(self.interval, digits)}
        if self.value is None:
            return {**texts, "value": "undetermined: no record counts"}
        if self.combined is not None:
            texts["combined"] = shown_interval(self.combined, digits)
        return {**texts, "value": formatting.plain(self.value, digits)}

    def _sentences(self) -> list[str]:
        first, *rest = super()._sentences()
        extra = []
        if self.cell is not None:
            low, high = self.cell
            extra.append(f"reported    the mean over these records is from {low:g} to {high:g}")
        if self.combined is None:
            extra.append(
                "combined    the answers to this question contradict each other: the event of "
                "probability beta has happened"
            )
        elif self.combined != self.interval:
            extra.append(f"combined    with earlier answers: {self.display['combined']}")
        return [first, *extra, *rest]


@dataclass(frozen=True, repr=False)
class DecisionOutcome(Outcome):
    """Whether a number is at least, or at most, a limit; nothing else is reported."""

    kind: Literal["decision"] = field(default="decision", init=False)
    verdict: str
    side: str
    limit: float

    __hash__ = Result.__hash__

    @property
    def passed(self) -> bool:
        """Whether it certainly is on the right side."""
        return self.verdict == "pass"

    def __str__(self) -> str:
        return f"{self.display['value']}  {self._size()} · {self.display['cost']}"

    def _display(self) -> dict[str, Any]:
        wanted = f"{self.side.replace('_', ' ')} {self.limit:g} wanted"
        return {**super()._display(), "value": f"{self.verdict}: {wanted}"}


@dataclass(frozen=True, repr=False)
class LadderOutcome(Outcome):
    """By how many whole steps of ``step`` the first of two is better over these records.

    0 means: by less than one step, or not at all. It claims nothing about the population.
    """

    kind: Literal["ladder"] = field(default="ladder", init=False)
    steps: int
    step: float

    __hash__ = Result.__hash__

    @property
    def improved(self) -> bool:
        """Whether it is better by a step or more."""
        return self.steps > 0

    def __str__(self) -> str:
        return f"{self.display['value']}  {self._size()} · {self.display['cost']}"

    def _display(self) -> dict[str, Any]:
        value = f"no: not better by {self.step:g}"
        if self.steps:
            value = f"better by {self.steps * self.step:g} or more, on these records"
        return {**super()._display(), "value": value}


@dataclass(frozen=True, repr=False)
class SelectionOutcome(Outcome):
    """The best candidate over these records: ``name`` and, counted from 0, ``index``.

    The population's best is better by ``width`` at most.
    """

    kind: Literal["selection"] = field(default="selection", init=False)
    name: str
    index: int
    best: str
    candidates: int
    width: float

    __hash__ = Result.__hash__

    def __str__(self) -> str:
        texts = self.display
        return f"{self.name}  ({texts['width']})  {self._size()} · {texts['cost']}"

    def _display(self) -> dict[str, Any]:
        off = "above the lowest" if self.best == "lowest" else "below the highest"
        width = f"at most {formatting.width(self.width)} {off} of {self.candidates:,}"
        return {**super()._display(), "value": self.name, "width": width}


@dataclass(frozen=True, repr=False)
class TableOutcome(Outcome):
    """A number for every cell, all of whose intervals hold together."""

    kind: Literal["shares"] = field(default="shares", init=False)
    cells: tuple[Cell, ...]
    range: tuple[float, float]

    __hash__ = Result.__hash__

    def __str__(self) -> str:
        lines = cells_text(self.cells, self.display["cells"])
        return "\n".join([*lines, f"{self._size()} · {self.display['cost']}"])

    def __repr__(self) -> str:
        return str(self)

    @property
    def brief(self) -> str:
        """One line."""
        return f"{len(self.cells):,} cells  {self._size()} · {self.display['cost']}"

    def _display(self) -> dict[str, Any]:
        from surehold.session.results import shown_cells

        texts = {"value": f"{len(self.cells):,} cells", "cells": shown_cells(self.cells)}
        return {**super()._display(), **texts}

    def __getitem__(self, label: object) -> Cell:
        return find_cell(self.cells, label)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)


OUTCOMES = (NumberOutcome, DecisionOutcome, LadderOutcome, SelectionOutcome, TableOutcome)
"""Every class of result under the surprise guard."""


@dataclass(frozen=True, repr=False)
class SurpriseQuote(Shown):
    """A free preview: what an outcome would cost, in bits, and how wide its interval would be.

    ``least`` is the cost of what is expected, or of any cell of a plain number; ``most`` that of
    the least likely outcome. ``width`` is half of the interval if it comes as expected, or at the
    middle of the range; None where the records decide it, or nothing is claimed.
    """

    query: str
    round: int
    claim: int | None
    level: float | None
    least: float
    most: float
    width: float | None
    spent: float
    allowed: bool
    recorded: bool
    reason: str | None
    more_records: int | None
    remaining: float | None
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        if self.recorded:
            charge = "free, as recorded"
        elif self.least == self.most:
            charge = formatting.bits(self.least)
        else:
            least, most = formatting.bits(self.least), formatting.bits(self.most)
            charge = f"{least} if it comes as expected, at most {most}"
        texts = {"charge": charge}
        amounts = ("least", "most", "spent", "remaining")
        given = {name: getattr(self, name) for name in amounts}
        texts |= {name: formatting.bits(one) for name, one in given.items() if one is not None}
        texts["after"] = formatting.bits(self.spent + (0.0 if self.recorded else self.most))
        if self.width is not None:
            width = formatting.width(self.width)
            is_choice = self.query.startswith("select(")
            texts["width"] = f"within {width} of the best" if is_choice else f"± {width}"
        return texts

    def __str__(self) -> str:
        if not self.allowed:
            return f"refused: {self.reason}"
        texts = self.display
        width = f"{texts['width']} " if "width" in texts else ""
        costs = "" if self.recorded else "costs "
        return f"{width}at n = {self.round:,}, {costs}{texts['charge']}"


@dataclass(frozen=True, repr=False)
class BitsLimit(Shown):
    """What one analyst may spend, has spent and may yet, in bits."""

    total: float
    spent: float
    remaining: float
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        amounts = ("total", "spent", "remaining")
        return {name: formatting.bits(getattr(self, name)) for name in amounts}

    def __str__(self) -> str:
        return f"{formatting.bits(self.remaining)} left of {formatting.bits(self.total)}"


@dataclass(frozen=True, repr=False)
class Registered(Shown):
    """A question that has a name, or whose interval is claimed, from now on.

    ``title`` is its name, if it has one. ``width`` is half of its interval at the present round, at
    the middle of its range; None where the records decide it. ``new`` is False if it had been
    registered just so before. Under the noise guard nothing is claimed: the plan has its width.
    """

    title: str | None
    query: str
    claim: int | None
    level: float | None
    share: float | None
    width: float | None
    new: bool
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        return {} if self.width is None else {"width": f"± {formatting.width(self.width)}"}

    def __str__(self) -> str:
        width = f", {self.display['width']} now" if "width" in self.display else ""
        state = "registered" if self.new else "was registered before"
        claim = "" if self.claim is None else f" as claim {self.claim:,}"
        return f"{self.title or formatting.shorten(self.query, 80)}: {state}{claim}{width}"


@dataclass(frozen=True, repr=False)
class AnalystSpending(Shown):
    """What one analyst's answers cost, how many there were, and what is reserved for the analyst.

    ``unit`` is bits or, under the noise guard, share: of the whole budget.
    """

    analyst: str
    spent: float
    answers: int
    reserved: float = 0.0
    unit: str = "bits"
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        texts = {"spent": formatting.amount(self.spent, self.unit)}
        if self.reserved:
            texts["reserved"] = formatting.amount(self.reserved, self.unit)
        return texts

    def __str__(self) -> str:
        cost = f"{self.display['spent']} in {formatting.several(self.answers, 'answer')}"
        kept = f", {self.display['reserved']} reserved" if self.reserved else ""
        return f"{self.analyst}: {cost}{kept}"


@dataclass(frozen=True, repr=False)
class SurpriseStatus(Shown):
    """Where a dataset with the surprise guard stands.

    ``spent`` is in bits, ``by_analyst`` whose it is. ``claims`` were registered so far of the
    ``claims_expected``, and ``share_left`` of beta is left for others. ``width`` is what a claim
    that is made and asked now would have at mean 1/2; None if there are no records. ``limit`` and
    ``remaining`` are None unless all analysts together have a limit. ``id`` is the column that
    identifies a record, None if there is none. ``predecessor`` and ``successor`` are the names of
    the datasets that it took over from, and that took over from it.
    """

    guard: str = field(default="surprise", init=False)
    name: str
    dataset: str
    columns: Mapping[str, str]
    id: str | None
    predecessor: str | None
    successor: str | None
    n: int
    ready: bool
    round: int | None
    advice: str | None
    width: float | None
    beta: float
    claims: int
    claims_expected: int
    share_left: float
    spent: float
    limit: float | None
    remaining: float | None
    by_analyst: tuple[AnalystSpending, ...]
    answers: int
    segments: int
    pending: int
    entries: int
    head: str
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        texts = {
            "confidence": formatting.percent(self.beta),
            "spent": formatting.bits(self.spent),
        }
        if self.limit is not None:
            texts["limit"] = formatting.bits(self.limit)
        if self.width is not None:
            texts["width"] = f"± {formatting.width(self.width)}"
        return texts

    def __str__(self) -> str:
        next_claim = "" if self.width is None else f"; a new claim is {self.display['width']} now"
        return (
            f"{self.name}: {formatting.several(self.n, 'record')}, "
            f"{formatting.several(self.answers, 'answer')} given for {self.display['spent']}"
            f"{next_claim}"
        )
