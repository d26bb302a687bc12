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
        plus, minus = self.rates
        first, second = menu["rates"]
        between = len(plus.sources)
        return [
            plus.outcome(first, claim, t, exact[:between]),
            minus.outcome(second, claim, t, exact[between:]),
        ]

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
