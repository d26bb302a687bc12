"""Differences of two rates, each with a claim and a menu of its own.

Given which records meet either condition, the values among them are independent draws, so each
rate has the interval of Surprise, section 3e, at its share of the level. Both hold together, and
so does the difference of their ends, whether the groups overlap or not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surehold.errors import InvalidInput
from surehold.mechanisms.outcomes.base import Asking, Claim, Exact, Past, Report
from surehold.mechanisms.outcomes.rates import RateAsking
from surehold.queries import Source
from surehold.theory.surprise.ends import Interval
from surehold.theory.surprise.intervals import EVERYTHING
from surehold.theory.surprise.menus.cells import Cell


@dataclass(frozen=True)
class RateDifferenceAsking(Asking):
    """How much larger the first of two rates of one range is than the second."""

    rates: tuple[RateAsking, RateAsking]

    def __post_init__(self) -> None:
        """What is expected of the difference is not expected of either rate."""
        if self.asked.expect is not None or self.asked.doubt is not None:
            required = "left out for a difference of rates; ask for one of them instead"
            raise InvalidInput("expect or doubt", required, "given")

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(source for rate in self.rates for source in rate.sources)

    @property
    def low(self) -> Fraction:
        """The least that the difference can be."""
        return -self.high

    @property
    def high(self) -> Fraction:
        """The most."""
        return self.rates[0].high - self.rates[0].low

    @property
    def claims(self) -> int:
        return len(self.rates)

    @property
    def prices(self) -> int:
        return sum(rate.prices for rate in self.rates)

    def menu(self, past: Past) -> dict[str, Any]:
        plain = past._replace(known=None, last=None)
        return {"kind": "rates", "rates": [rate.menu(plain) for rate in self.rates]}

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> list[Any]:
        parts = zip(self.rates, menu["rates"], self._split(exact), strict=True)
        return [rate.outcome(one, claim, t, numbers) for rate, one, numbers in parts]

    def _split(self, exact: Sequence[Exact]) -> tuple[Sequence[Exact], Sequence[Exact]]:
        """The numbers of each rate."""
        first = len(self.rates[0].sources)
        return exact[:first], exact[first:]

    def interval(self, exact: Sequence[Exact], t: int, claim: Claim) -> Interval:
        """Where the difference lies, on [0, 1], from the records themselves: for verdicts."""
        found = []
        for rate, numbers in zip(self.rates, self._split(exact), strict=True):
            records, x = rate.among(numbers, t)
            if x is None:
                found.append(EVERYTHING)
            else:
                x = min(x, Fraction(1))
                found.append(rate.interval(Cell(x, x, closed=True), records, t, claim))
        plus, minus = found
        return Interval((1 + plus.low - minus.high) / 2, (1 + plus.high - minus.low) / 2)

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        parts = zip(self.rates, menu["rates"], outcome, strict=True)
        reports = [rate.report(one, claim, t, found) for rate, one, found in parts]
        plus, minus = (report.body for report in reports)
        value = None
        if plus["value"] is not None and minus["value"] is not None:
            value = plus["value"] - minus["value"]
        low, high = plus["range"]
        reach = high - low
        ends = [
            max(math.nextafter(plus["interval"][0] - minus["interval"][1], -math.inf), -reach),
            min(math.nextafter(plus["interval"][1] - minus["interval"][0], math.inf), reach),
        ]
        body = {
            "kind": "cell",
            "range": [-reach, reach],
            "cell": None,
            "value": value,
            "interval": ends,
        }
        return Report(tuple(weight for one in reports for weight in one.weights), body)

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        heaviest, lightest = Fraction(1), Fraction(1)
        for rate, one in zip(self.rates, menu["rates"], strict=True):
            least, most = rate.extremes(one, t, claim)
            heaviest, lightest = heaviest * least, lightest * most
        return heaviest, lightest

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        """Not if it is asked more finely than before."""
        before, now = recorded["asked"]["within"], self.asked.within
        return now is None or (before is not None and Fraction(before) <= now)

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        """Unknown before the numbers of records are, which the records decide."""
        return None
