"""Results: frozen, with numbers, words and one dictionary each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal

from surehold import formatting
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.queries.side_tables import show_names

NO_NAMES: Mapping[str, str] = MappingProxyType({})
_SHOWN_CELLS = 200
_LISTED = 12
_LONGEST = 500


@dataclass(frozen=True, repr=False)
class Result(Shown):
    """What every result has.

    ``kind`` names the class in dictionaries, so that readers need not guess it from the fields.
    ``title`` is the name of its question, None if it has none. ``query`` is the query in canonical
    form and ``text`` as it was written. ``round`` is the size of the snapshot. ``recorded`` is True
    if it had been given before and cost nothing now. ``names`` are what people call the tables
    and models that the query names by their hashes; ``among`` are the tables whose records it is
    about, if it is not about all. ``display`` has the numbers as text, rounded to the safe side,
    and the query with those names.
    """

    kind: str = field(init=False)
    title: str | None
    query: str
    text: str
    round: int
    theorem: str
    beta: float
    assumptions: tuple[str, ...]
    analyst: str
    time: str
    entry: int
    key: str | None
    recorded: bool
    names: Mapping[str, str] = field(default_factory=lambda: NO_NAMES, kw_only=True)
    among: tuple[str, ...] = field(default=(), kw_only=True)
    display: Mapping[str, str | tuple[str, ...]] = field(init=False, compare=False)

    def __hash__(self) -> int:
        return hash((self.query, self.entry))

    def __str__(self) -> str:
        texts = self.display
        shown = " ".join(str(texts[name]) for name in ("value", "width") if name in texts)
        interval = [str(texts["interval"])] if "interval" in texts else []
        return "  ".join([shown, *interval, self._size()])

    def _size(self) -> str:
        """How many records there were and, if they are not all, which of them it is about."""
        if not self.among:
            return f"n = {self.round:,}"
        cover = "cover" if self.among[1:] else "covers"
        return f"n = {self.round:,}, of the records that {' and '.join(self.among)} {cover}"

    @property
    def shown_query(self) -> str:
        """The query with names of people's choosing in place of hashes."""
        return show_names(self.query, self.names)

    @property
    def brief(self) -> str:
        """One line."""
        return str(self)

    @property
    def label(self) -> str:
        """The name of its question, or else the query."""
        return self.title or self.shown_query

    def explain(self) -> str:
        """The result in full sentences: what it says, what it cost and what it rests on."""
        named = [] if self.title is None else [f"question    {self.title}"]
        return "\n".join([str(self), *named, *self._sentences()])

    def _sentences(self) -> list[str]:
        raise NotImplementedError

    def _display(self) -> dict[str, Any]:
        confidence = {"confidence": formatting.percent(self.beta)}
        return {**confidence, "query": self.shown_query} if self.names else confidence

    def _promise(self) -> str:
        return (
            f"holds       with probability {self.display['confidence']}, for all answers of the "
            "analysis together"
        )


@dataclass(frozen=True, repr=False)
class NoisyResult(Result):
    """What every result of a noise guard has.

    ``charge`` is what it cost, and ``remaining`` what it left, in mu^2 of the record that is
    exposed most; ``price`` is the charge in answers at that round.
    """

    certificate: str
    charge: float
    price: int
    remaining: float
    answers_left: int

    __hash__ = Result.__hash__

    def _sentences(self) -> list[str]:
        return [
            f"query       {_shortened(self.shown_query)}",
            *self._about_width(),
            self._promise(),
            f"by          {self.certificate} ({self.theorem})",
            f"cost        {self._cost()}; {self.remaining:.4g} is left, "
            f"enough for {formatting.several(self.answers_left, 'answer')} at this round",
            *(f"if          {sentence}" for sentence in self.assumptions),
        ]

    def _about_width(self) -> list[str]:
        return []

    def _cost(self) -> str:
        if self.price == 0:
            return "nothing beyond the answers it follows from"
        as_many = f", that of {self.price:,} answers" if self.price > 1 else ""
        return f"{self.charge:.4g} of each record's budget{as_many}"


@dataclass(frozen=True, repr=False)
class Answer(NoisyResult):
    """A value and how far it can be from the population's, jointly with all other answers.

    ``interval`` is (low, high); ``width`` the half-width, the larger side if they differ; ``range``
    what the answer could be at all, 0 to 1 for a fraction.
    """

    kind: Literal["answer"] = field(default="answer", init=False)
    value: float
    width: float
    interval: tuple[float, float]
    range: tuple[float, float]
    terms: Mapping[str, float]
    sigma: float

    __hash__ = Result.__hash__

    def _display(self) -> dict[str, Any]:
        digits = formatting.decimals(self.width, self.range[1] - self.range[0])
        return {
            **super()._display(),
            "value": formatting.plain(self.value, digits),
            "width": f"± {formatting.fixed(self.width, digits, up=True)}",
            "interval": shown_interval(self.interval, digits),
            "terms": _sum_of(self.terms),
        }

    def _about_width(self) -> list[str]:
        width = f"width       ± {formatting.width(self.width)} ({self.display['terms']})"
        return [*self._about_values(), width]

    def _about_values(self) -> list[str]:
        """What a mean makes of values that are missing or beyond its range."""
        if not self.query.startswith("mean("):
            return []
        low, high = self.range
        return [
            f"values      below {low:g} or missing count as {low:g}, above {high:g} as {high:g}"
        ]


@dataclass(frozen=True, repr=False)
class Cell(Shown):
    """One number of a table; ``value`` and ``interval`` are None where it is undetermined."""

    label: str
    value: float | None
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        return self.shown(_digits([self]))

    def shown(self, digits: int) -> str:
        """With this many decimals."""
        if self.value is None or self.interval is None:
            return "undetermined"
        return f"{formatting.plain(self.value, digits)}  {shown_interval(self.interval, digits)}"


@dataclass(frozen=True, repr=False)
class Table(NoisyResult):
    """A number for every cell, all of whose intervals hold together.

    ``width`` is the largest half-width of a cell, None where they differ from cell to cell.
    """

    kind: Literal["table"] = field(default="table", init=False)
    cells: tuple[Cell, ...]
    width: float | None
    range: tuple[float, float]

    __hash__ = Result.__hash__

    def __str__(self) -> str:
        return "\n".join([*cells_text(self.cells, self.display["cells"]), f"n = {self.round:,}"])

    def _display(self) -> dict[str, Any]:
        texts = {"value": f"{len(self.cells):,} cells", "cells": shown_cells(self.cells)}
        texts |= super()._display()
        if self.width is not None:
            texts["width"] = f"± {formatting.width(self.width)} each"
        return texts

    @property
    def brief(self) -> str:
        """One line."""
        return f"{len(self.cells):,} cells  n = {self.round:,}"

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, label: object) -> Cell:
        return find_cell(self.cells, label)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def _about_width(self) -> list[str]:
        return (
            [] if self.width is None else [f"width       ± {formatting.width(self.width)} a cell"]
        )


@dataclass(frozen=True, repr=False)
class Estimate(NoisyResult):
    """A number that follows from other answers, with the interval that follows from theirs.

    Both are None if it is undetermined: the answers leave open whether there is such a number.
    """

    kind: Literal["estimate"] = field(default="estimate", init=False)
    value: float | None
    interval: tuple[float, float] | None
    range: tuple[float, float]
    parts: tuple[int, ...]

    __hash__ = Result.__hash__

    @property
    def is_determined(self) -> bool:
        """Whether there is an interval."""
        return self.interval is not None

    def _display(self) -> dict[str, Any]:
        if self.value is None or self.interval is None:
            return {**super()._display(), "value": "undetermined"}
        span = self.range[1] - self.range[0]
        digits = formatting.decimals(
            max(0.5 * (self.interval[1] - self.interval[0]), 1e-9 * span), span
        )
        return {
            **super()._display(),
            "value": formatting.plain(self.value, digits),
            "interval": shown_interval(self.interval, digits),
        }


@dataclass(frozen=True, repr=False)
class Verdict(NoisyResult):
    """Whether a number is at least, or at most, a limit: pass, fail or undecided.

    It passes if its whole interval does, and fails if none of it does.
    """

    kind: Literal["verdict"] = field(default="verdict", init=False)
    verdict: str
    side: str
    limit: float
    value: float | None
    interval: tuple[float, float] | None
    parts: tuple[int, ...]

    __hash__ = Result.__hash__

    @property
    def passed(self) -> bool:
        """Whether it certainly is on the right side."""
        return self.verdict == "pass"

    def _display(self) -> dict[str, Any]:
        wanted = f"{self.verdict}: {self.side.replace('_', ' ')} {self.limit:g} wanted"
        if self.value is None or self.interval is None:
            return {**super()._display(), "value": f"{wanted}, and it is undetermined"}
        digits = formatting.decimals(max(0.5 * (self.interval[1] - self.interval[0]), 1e-9), 1.0)
        return {
            **super()._display(),
            "value": f"{wanted}, {formatting.plain(self.value, digits)}",
            "interval": shown_interval(self.interval, digits),
        }


@dataclass(frozen=True, repr=False)
class Choice(NoisyResult):
    """The candidate that was chosen: ``name`` and, counted from 0, ``index``.

    Its expected loss exceeds that of the best candidate by at most ``width``, or its expected score
    falls short of the best by no more, jointly with all other answers.
    """

    kind: Literal["choice"] = field(default="choice", init=False)
    name: str
    index: int
    best: str
    candidates: int
    width: float
    terms: Mapping[str, float]

    __hash__ = Result.__hash__

    def _display(self) -> dict[str, Any]:
        off = "above the lowest" if self.best == "lowest" else "below the highest"
        return {
            **super()._display(),
            "value": self.name,
            "width": f"at most {formatting.width(self.width)} {off} of {self.candidates:,}",
            "terms": _sum_of(self.terms),
        }

    def __str__(self) -> str:
        return f"{self.name}  ({self.display['width']})  n = {self.round:,}"

    def _about_width(self) -> list[str]:
        return [f"excess      at most {formatting.width(self.width)} ({self.display['terms']})"]


@dataclass(frozen=True, repr=False)
class Fitted(NoisyResult):
    """A linear model that was fitted: its coefficients, in the units of the features.

    ``model`` is logistic or linear. Nothing is promised of the coefficients. ``predictor`` is the
    model as an expression of the query language, the log-odds of a logistic one, so that it can be
    asked about: that answer has its width.
    """

    kind: Literal["fit"] = field(default="fit", init=False)
    model: str
    intercept: float
    coefficients: Mapping[str, float]
    predictor: str

    __hash__ = Result.__hash__

    def _display(self) -> dict[str, Any]:
        parts = [
            f"{'-' if value < 0 else '+'} {abs(value):.4g} {name}"
            for name, value in self.coefficients.items()
        ]
        formula = f"{self.intercept:.4g} {' '.join(parts)}"
        return {**super()._display(), "value": f"{self.model} regression", "formula": formula}

    def __str__(self) -> str:
        return f"{self.model}: {self.display['formula']}  n = {self.round:,}"

    def _promise(self) -> str:
        return (
            "promises    nothing of the coefficients; all answers hold all the same, also those "
            "about this model"
        )


NOISY_RESULTS = (Answer, Table, Estimate, Verdict, Choice, Fitted)
"""Every class of result under the noise guard."""


def shown_cells(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The cells that a person reads, as text."""
    digits = _digits(cells)
    return tuple(cell.shown(digits) for cell in cells[:_SHOWN_CELLS])


def cells_text(cells: Sequence[Cell], texts: Any) -> list[str]:
    """A line for each cell that is shown, with its label."""
    shown = cells[:_SHOWN_CELLS]
    wide = max(len(cell.label) for cell in shown)
    lines = [f"{cell.label:{wide}}  {text}" for cell, text in zip(shown, texts, strict=True)]
    if len(cells) > _SHOWN_CELLS:
        more = len(cells) - _SHOWN_CELLS
        lines.append(f"... {more:,} more: all are in .cells, and in JSON")
    return lines


def find_cell(cells: Sequence[Cell], label: object) -> Cell:
    """The cell of that label."""
    for cell in cells:
        if cell.label == str(label):
            return cell
    labels = ", ".join(cell.label for cell in cells[:_LISTED])
    dots = ", ..." if len(cells) > _LISTED else ""
    raise InvalidInput("the cell", f"one of the table's: {labels}{dots}", label)


def _shortened(text: str) -> str:
    """A selection among many candidates is longer than anyone reads."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"


def when(seconds: float) -> str:
    """A time as text that sorts, in UTC; to the second, which tells nothing of an evaluation."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _sum_of(terms: Mapping[str, float]) -> str:
    return " + ".join(f"{term:.4g} {name}" for name, term in terms.items())


def shown_interval(interval: tuple[float, float], digits: int) -> str:
    """An interval, rounded outwards."""
    low, high = interval
    return f"[{formatting.fixed(low, digits, up=False)}, {formatting.fixed(high, digits, up=True)}]"


def _digits(cells: Sequence[Cell]) -> int:
    """As many decimals for all cells as show two digits of the widest half-width."""
    halves = [0.5 * (cell.interval[1] - cell.interval[0]) for cell in cells if cell.interval]
    widest = max(halves, default=0.0)
    return max(0, 1 - math.floor(math.log10(widest))) if widest > 0.0 else 3
