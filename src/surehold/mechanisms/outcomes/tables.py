"""Tables: the shares of all cells at once, or a number for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from surehold.errors import InvalidInput
from surehold.mechanisms.outcomes.base import (
    Asking,
    Claim,
    Exact,
    Past,
    Report,
    read_menu,
    write_menu,
)
from surehold.mechanisms.outcomes.numbers import NumberAsking
from surehold.mechanisms.outcomes.rates import RateAsking
from surehold.queries import Expectation, NumberForm, Source
from surehold.theory.surprise.intervals import fraction_interval
from surehold.theory.surprise.menus.cells import half_cell
from surehold.theory.surprise.menus.tables import TableMenu


class _Numbers(NamedTuple):
    """One cell of a table, as if it had been evaluated by itself."""

    numerators: tuple[int, ...]
    denominator: int


@dataclass(frozen=True)
class SharesAsking(Asking):
    """The shares of cells that each record is in one of (Surprise, section 4, "table")."""

    form: NumberForm

    def __post_init__(self) -> None:
        """The whole table is one outcome."""
        if self.asked.expect is not None or self.asked.doubt is not None:
            required = "left out for a table, which is one outcome of many"
            raise InvalidInput("expect or doubt", required, "given")

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.form.sources

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the cells."""
        assert self.form.labels is not None
        return self.form.labels

    @property
    def claims(self) -> int:
        return len(self.labels)

    def menu(self, past: Past) -> dict[str, Any]:
        """Shares within e each, by the rule for a fraction, or as asked."""
        assert past.claim is not None
        e = self.asked.within
        if e is None:
            e = half_cell(past.t, past.claim.level(past.t), not past.claim.is_once(past.t))
        return write_menu(TableMenu(len(self.labels), max(int(1 / e), 1)))

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> list[int]:
        return list(read_menu(TableMenu, menu).outcome(exact[0].numerators))

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        assert claim is not None
        listed, level = read_menu(TableMenu, menu), claim.level(t)
        kappa = None if claim.is_once(t) else claim.kappa
        found = {part: fraction_interval(listed.cell(part), t, level, kappa) for part in {*outcome}}
        body = {
            "kind": "table",
            "range": [0.0, 1.0],
            "values": [float(Fraction(part, listed.parts)) for part in outcome],
            "intervals": [[float(found[p].low), float(found[p].high)] for p in outcome],
        }
        return Report((listed.weight(outcome),), body)

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        weight = read_menu(TableMenu, menu).weight(())
        return weight, weight

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        return _is_as_fine(self.asked, recorded)

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        """The half-width of a cell that has half of the records."""
        assert claim is not None
        listed = read_menu(TableMenu, menu)
        kappa = None if claim.is_once(t) else claim.kappa
        found = fraction_interval(listed.cell(listed.parts // 2), t, claim.level(t), kappa)
        return float(found.half_width)


@dataclass(frozen=True)
class NumbersAsking(Asking):
    """A number for each cell, each with a claim and a menu of its own.

    ``cells`` are asked one by one: of each source the number with the cell's index is its own.
    """

    labels: tuple[str, ...]
    cells: tuple[NumberAsking | RateAsking, ...]

    def __post_init__(self) -> None:
        """What is expected of one cell is not expected of all."""
        if self.asked.expect is not None or self.asked.doubt is not None:
            required = "left out for a table; ask for one of its cells instead"
            raise InvalidInput("expect or doubt", required, "given")

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.cells[0].sources

    @property
    def claims(self) -> int:
        return len(self.cells)

    @property
    def prices(self) -> int:
        return sum(cell.prices for cell in self.cells)

    def menu(self, past: Past) -> dict[str, Any]:
        plain = past._replace(known=None, last=None)
        return {"kind": "numbers", "cells": [cell.menu(plain) for cell in self.cells]}

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> list[Any]:
        return [
            cell.outcome(
                one, claim, t, [_Numbers((e.numerators[i],), e.denominator) for e in exact]
            )
            for i, (cell, one) in enumerate(zip(self.cells, menu["cells"], strict=True))
        ]

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        parts = zip(self.cells, menu["cells"], outcome, strict=True)
        reports = [cell.report(one, claim, t, out) for cell, one, out in parts]
        body = {
            "kind": "table",
            "range": reports[0].body["range"],
            "values": [one.body["value"] for one in reports],
            "intervals": [
                None if one.body["value"] is None else one.body["interval"] for one in reports
            ],
        }
        return Report(tuple(weight for one in reports for weight in one.weights), body)

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        least, most = Fraction(1), Fraction(1)
        for cell, one in zip(self.cells, menu["cells"], strict=True):
            light, heavy = cell.extremes(one, t, claim)
            least, most = least * light, most * heavy
        return least, most

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        return _is_as_fine(self.asked, recorded)

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        return self.cells[0].forecast(menu["cells"][0], claim, t)


def _is_as_fine(asked: Expectation, recorded: Mapping[str, Any]) -> bool:
    """Whether a table was asked within no more than it is now."""
    before = recorded["asked"]["within"]
    return asked.within is None or (before is not None and Fraction(before) <= asked.within)
