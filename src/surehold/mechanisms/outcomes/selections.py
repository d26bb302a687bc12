"""Selections: the best of m, by their means over the records (Surprise, section 3c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surehold.errors import InvalidInput
from surehold.mechanisms.outcomes.base import (
    Asking,
    Claim,
    Exact,
    Past,
    Report,
    exact_number,
    scaled_value,
)
from surehold.queries import SelectForm, Source
from surehold.theory.surprise.claims.selection import selection_gap
from surehold.theory.surprise.ends import round_up
from surehold.theory.surprise.levels import Level, selection_level
from surehold.theory.surprise.menus.verdicts import SelectionMenu


@dataclass(frozen=True)
class SelectAsking(Asking):
    """Which candidate has the lowest or highest mean; no value is reported."""

    form: SelectForm

    def __post_init__(self) -> None:
        """All candidates are equally likely to be the best."""
        if not self.asked.is_plain:
            required = "left out for a selection, whose candidates all have the same weight"
            raise InvalidInput("expect, within or doubt", required, "given")

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.form.sources

    @property
    def is_one_round(self) -> bool:
        return True

    def menu(self, past: Past) -> dict[str, Any]:
        return {"kind": "selection", "candidates": len(self.form.candidates)}

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> int:
        means = [Fraction(one.numerators[0], one.denominator) for one in exact]
        if self.form.best == "lowest":
            means = [1 - mean for mean in means]
        return SelectionMenu.equal(len(means)).outcome(means)

    def level(self, claim: Claim, t: int) -> Level:
        """L + ln(m - 1)."""
        return selection_level(claim.whole, len(self.form.candidates))

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        assert claim is not None
        body = {"kind": "selection", "chosen": outcome, "width": self._width(claim, t)}
        return Report((Fraction(1, menu["candidates"]),), body)

    def _width(self, claim: Claim, t: int) -> float:
        """How far the chosen one can be from the best, in the units of the candidates."""
        scale = self.form.scale
        gap = min(round_up(selection_gap(t, self.level(claim, t))), Fraction(1))
        if any(one.bits for one in self.form.candidates):
            gap += Fraction(1, 10**9)
        return scaled_value(gap, Fraction(0), exact_number(scale.high) - exact_number(scale.low))

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        weight = Fraction(1, menu["candidates"])
        return weight, weight

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        assert claim is not None
        return self._width(claim, t)
