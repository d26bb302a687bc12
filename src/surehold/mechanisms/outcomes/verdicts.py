"""Decisions: gates, which report a verdict only, and the ladder's improvements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from surehold.errors import InvalidInput
from surehold.mechanisms.outcomes.base import (
    Asking,
    Claim,
    Exact,
    Past,
    Report,
    exact_number,
    on_unit,
    read_menu,
    write_menu,
)
from surehold.mechanisms.outcomes.differences import DifferenceAsking
from surehold.mechanisms.outcomes.numbers import NumberAsking
from surehold.mechanisms.outcomes.rate_differences import RateDifferenceAsking
from surehold.mechanisms.outcomes.rates import RateAsking
from surehold.queries import Source
from surehold.theory.surprise.claims.base import Statistic, rejects
from surehold.theory.surprise.claims.binomial import tail
from surehold.theory.surprise.claims.mixtures import CentredMixture
from surehold.theory.surprise.menus.cells import half_cell
from surehold.theory.surprise.menus.verdicts import (
    GateMenu,
    ImprovementMenu,
    Verdict,
    expected_gate,
)

_SWAPPED = {"pass": "fail", "fail": "pass"}


@dataclass(frozen=True)
class GateAsking(Asking):
    """Whether a number is at least, or at most, a threshold (Surprise, section 4, "gate").

    It uses the claim of its query, unless only ``pass`` is claimed or a difference is compared with
    0: both have a claim of their own.
    """

    query: NumberAsking | RateAsking | DifferenceAsking | RateDifferenceAsking
    side: str
    limit: float

    def __post_init__(self) -> None:
        """A gate takes verdicts and doubts."""
        if self.asked.within is not None:
            raise InvalidInput("within", "left out for a gate", str(self.asked.within))
        if self.asked.expect not in (None, "pass", "fail", "undecided", "not pass"):
            required = "pass, fail, undecided or not pass"
            raise InvalidInput("expect", required, str(self.asked.expect))
        if not 0 < self._threshold < 1:
            required = "strictly between the least and the most that the query can give"
            raise InvalidInput(self.side, required, self.limit)

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.query.sources

    @property
    def subject(self) -> str:
        if self.is_one_sided:
            return f"pass {self.canonical}"
        return f"better {self.query.canonical}" if self._is_mcnemar else self.query.subject

    @property
    def is_one_round(self) -> bool:
        return self.query.is_one_round

    @property
    def is_always(self) -> bool:
        return self.query.is_always and not self._is_mcnemar

    @property
    def is_one_sided(self) -> bool:
        return self.asked.expect == "not pass"

    @property
    def claims(self) -> int:
        return self.query.claims

    @property
    def _is_mcnemar(self) -> bool:
        """Whether it asks if one of two is better: a test among the records that differ."""
        return isinstance(self.query, DifferenceAsking) and self.limit == 0.0

    @property
    def _threshold(self) -> Fraction:
        """On [0, 1]."""
        limit = exact_number(self.limit)
        if isinstance(self.query, DifferenceAsking):
            return (limit + 1) / 2
        threshold = on_unit(limit, self.query.low, self.query.high)
        return self.query.place_of(threshold) if isinstance(self.query, RateAsking) else threshold

    def menu(self, past: Past) -> dict[str, Any]:
        expect = cast("Verdict | None", self.asked.expect)
        if self.side == "at_most" and not self.is_one_sided:
            expect = cast("Verdict | None", _SWAPPED.get(str(expect), expect))
        doubt = self.asked.doubt or past.doubt
        return write_menu(
            expected_gate(self._threshold, expect, doubt, one_sided=self.is_one_sided)
        )

    def _statistic(
        self,
        query: NumberAsking | RateAsking | DifferenceAsking,
        claim: Claim,
        t: int,
        exact: Sequence[Exact],
    ) -> Statistic | None:
        """What is compared with the level; None if no record counts."""
        if isinstance(query, DifferenceAsking):
            if not self._is_mcnemar:
                return query.mixture(exact, t)
            better, worse = query.only(exact)
            if not better + worse:
                return None
            if claim.is_once(t):
                return tail(better, better + worse)
            return CentredMixture(better, better + worse, claim.kappa)
        if isinstance(query, RateAsking):
            found = query.among(exact, t)
            return None if found.x is None else query.statistic(found, t, claim)
        return query.statistic(query.x(exact, t), t, claim)

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> str:
        """With two sides ``pass`` is at or above the threshold here, whichever is wanted."""
        assert claim is not None
        listed = read_menu(GateMenu, menu)
        if isinstance(self.query, RateDifferenceAsking):
            found = self.query.interval(exact, t, claim)
            is_above, is_below = found.low > listed.threshold, found.high < listed.threshold
        else:
            statistic = self._statistic(self.query, claim, t, exact)
            is_above = statistic is not None and self._certifies(statistic, listed, claim, t, 1)
            is_below = statistic is not None and self._certifies(statistic, listed, claim, t, -1)
        if listed.is_one_sided:
            passes = is_above if self.side == "at_least" else is_below
            return "pass" if passes else "not pass"
        return "pass" if is_above else "fail" if is_below else "undecided"

    def _certifies(
        self, statistic: Statistic, listed: GateMenu, claim: Claim, t: int, way: int
    ) -> bool:
        """Whether the number is above (1) or below (-1), however its values were rounded."""
        query = self.query
        margin = query.rounding(t) if isinstance(query, NumberAsking | RateAsking) else 0
        edge = listed.threshold + way * margin if margin else listed.threshold
        is_there = edge < statistic.centre if way > 0 else statistic.centre < edge
        return is_there and 0 < edge < 1 and rejects(statistic, edge, claim.level(t))

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        is_swapped = self.side == "at_most" and not self.is_one_sided
        verdict = _SWAPPED.get(outcome, outcome) if is_swapped else outcome
        body = {
            "kind": "decision",
            "verdict": verdict,
            "side": self.side,
            "limit": self.limit,
        }
        return Report((read_menu(GateMenu, menu).weight(outcome),), body)

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        weights = [weight for _, weight in read_menu(GateMenu, menu).weights]
        return max(weights), min(weights)

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        """Not if it left open what is asked now: one side may decide what two sides do not."""
        return bool(recorded["verdict"] != ("undecided" if self.is_one_sided else "not pass"))

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        """A verdict has no width."""
        return None


@dataclass(frozen=True)
class LadderAsking(Asking):
    """By how many whole steps is the first of two better, over these records?

    Or, if "not better" is expected, is it better by a step or more?

    Surprise, section 4, "improvement". It claims nothing about the population: ask a gate to
    certify an improvement.
    """

    query: NumberAsking

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.query.sources

    @property
    def claims(self) -> int:
        return 0

    @property
    def _span(self) -> Fraction:
        return self.query.high

    def menu(self, past: Past) -> dict[str, Any]:
        """Steps of ``within`` or, if nothing is said, of the grid that a number would have."""
        from surehold.theory.surprise.levels import Level

        step = self.asked.within
        if step is None:
            step = 2 * half_cell(past.t, Level(Fraction(1000), 0), always=False) * self._span
        doubt = self.asked.doubt or past.doubt
        return write_menu(ImprovementMenu(step / self._span, doubt, self._only_better))

    @property
    def _only_better(self) -> bool:
        return self.asked.expect == "not better"

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> int:
        gain = 2 * self.query.x(exact, t) - 1
        return read_menu(ImprovementMenu, menu).outcome(gain)

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        listed = read_menu(ImprovementMenu, menu)
        body = {
            "kind": "steps",
            "steps": outcome,
            "step": float(listed.step * self._span),
        }
        return Report((listed.weight(outcome),), body)

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        listed = read_menu(ImprovementMenu, menu)
        most = 1 if listed.only_better else int(1 / listed.step)
        weights = [listed.weight(k) for k in (0, 1, most)]
        return max(weights), min(weights)

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        """Not if it is the difference itself, or in other steps."""
        if recorded["kind"] != "steps":
            return False
        within, menu = self.asked.within, recorded["menu"]
        if menu.get("only_better") and recorded["steps"] and not self._only_better:
            return False  # by how many steps was not said
        return within is None or Fraction(menu["step"]) == within / self._span

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        """It has no interval."""
        return None
