"""What a plan permits and promises at run time: rounds, charges, budgets and intervals."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING

from surehold.errors import NotApplicable, NotReady
from surehold.ledger.filter import Filter, FixedFilter, RecordFilter
from surehold.mechanisms import ClippedGaussian, units_down
from surehold.planning import Plan
from surehold.queries import Form, NumberForm, SelectForm

if TYPE_CHECKING:
    from surehold.theory.certificates.sharp import Lopsided

_FEW = 8
_OUTWARD = 1.0 + 1e-12  # as in surehold.theory.noise, which loads SciPy
_NARROW = 1e-3  # by far: 1e-12 of it is 2^-50
# These answer every query from all records that are there, with one noise for all.
_ANSWERABLE = frozenset({"sharp", "ours-n", "ours-u", "adaptive"})


@dataclass(frozen=True)
class Bounds:
    """Where the population's value lies: ``low`` to ``high``, no further than ``width``."""

    low: float
    high: float
    width: float


@dataclass(frozen=True)
class Selection:
    """The parameter of an exponential mechanism, and how far its choice can be from the best.

    ``allowance`` is for the snapshot, as a share of the span; ``width`` for the population.
    """

    epsilon: float
    allowance: float
    width: float
    terms: Mapping[str, float]


class Policy:
    """A plan, read once. It knows sizes and parameters, never a record."""

    def __init__(self, plan: Plan) -> None:
        if plan.sigma is None or (plan.certificate not in _ANSWERABLE and plan.batches != 1):
            reason = (
                "it answers from new records only, and datasets do not run that; "
                "make a plan with certificate 'sharp'"
            )
            raise NotApplicable(plan.certificate, reason)
        self.plan = plan
        self.mechanism = ClippedGaussian(plan.sigma)
        schedule = plan.schedule()
        self.schedule: tuple[tuple[int, int], ...] | None = None
        if schedule is not None:
            counts = (round(count) for count in schedule.counts.tolist())
            self.schedule = tuple(zip(schedule.rounds.tolist(), counts, strict=True))

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """The rounds that a fixed schedule has, in order; none if the plan is adaptive."""
        return tuple(round for round, _ in self.schedule or ())

    @property
    def first_round(self) -> int:
        """The smallest round at which anything may be asked."""
        return self.rounds[0] if self.rounds else self.plan.n0

    @property
    def last_round(self) -> int:
        """The largest."""
        return self.rounds[-1] if self.rounds else self.plan.n

    def new_filter(self) -> Filter:
        """The filter before the first answer.

        With `sharp` a fixed schedule gives each record the budget of the queries that are planned
        from its arrival on: what is left unasked early may not be asked late, but the reverse may.
        """
        if self.schedule is None:
            return RecordFilter([1], [self.budget])
        planned = {round: count * self.mechanism.charge(round) for round, count in self.schedule}
        if self.plan.certificate != "sharp":
            return FixedFilter(planned)
        firsts = [1, *(round + 1 for round in self.rounds[:-1])]
        from_then_on = list(accumulate(reversed(planned.values())))
        return RecordFilter(firsts, from_then_on[::-1])

    @cached_property
    def budget(self) -> int:
        """What the most exposed record may be charged in all, in units."""
        if self.schedule is None:
            assert self.plan.budget is not None
            return units_down(self.plan.budget)
        return sum(count * self.mechanism.charge(round) for round, count in self.schedule)

    def round_for(self, records: int, held: int | None) -> int:
        """The round of a query asked now; raises NotReady with what to do."""
        first, last = self.first_round, self.last_round
        numbers = {"records": records, "first_round": first, "last_round": last}
        if held is not None:
            return self._held(records, held, numbers)
        if records < first:
            more = first - records
            raise NotReady(
                f"asking starts at {first:,} records and there are {records:,}",
                f"append {more:,} more",
                {**numbers, "more_records": more},
            )
        if self.rounds:
            return self.nearest_round(records)
        if records > last:
            raise NotReady(
                f"the plan ends at n = {last:,} and there are {records:,} records",
                f"keep asking at an earlier round: hold({last}), or --round {last}",
                numbers,
            )
        return records

    def check_round(self, round: int) -> None:
        """Refuse a round that the plan does not have, whether or not it is there yet."""
        self._held(round, round, {"first_round": self.first_round, "last_round": self.last_round})

    def next_round(self, records: int) -> int | None:
        """The next round of a fixed schedule that the data has not reached, if there is one."""
        later = self.rounds[bisect_right(self.rounds, records) :]
        return later[0] if later else None

    def nearest_round(self, wanted: int) -> int:
        """A round of the plan: the wanted one, or else the last before it, or the first of all."""
        wanted = min(max(wanted, self.first_round), self.last_round)
        if self.rounds:
            return self.rounds[bisect_right(self.rounds, wanted) - 1]
        return wanted

    def _held(self, records: int, held: int, numbers: Mapping[str, int]) -> int:
        first, last = self.first_round, self.last_round
        numbers = {**numbers, "round": held}
        if not first <= held <= last:
            raise NotReady(
                f"the plan covers rounds {first:,} to {last:,}, and {held:,} is not one of them",
                f"hold a round from {first:,} to {min(last, max(records, first)):,}",
                numbers,
            )
        if self.rounds and held not in self.rounds:
            near = self.nearest_round(held)
            listed = ", ".join(f"{t:,}" for t in self.rounds[:_FEW])
            dots = ", ..." if len(self.rounds) > _FEW else ""
            raise NotReady(
                f"the plan has fixed rounds ({listed}{dots}), and {held:,} is not one of them",
                f"hold the one before it, {near:,}",
                {**numbers, "nearest_round": near},
            )
        if held > records:
            more = held - records
            raise NotReady(
                f"round {held:,} is not there yet: there are {records:,} records",
                f"append {more:,} more, or hold an earlier round",
                {**numbers, "more_records": more},
            )
        return held

    def charge(self, form: Form, round: int) -> int:
        """What a query costs each record of a round: its price in answers, in units."""
        return form.price * self.mechanism.charge(round)

    def check_covers(self, form: Form) -> None:
        """Refuse a query that the plan's theorem says nothing about."""
        if form.needs == "statistical":
            return
        if self.plan.rare is not None:
            reason = "its intervals for rare events are proved for means over records only"
            raise NotApplicable(f"{self.plan.certificate}, rare", reason)
        if self.plan.certificate != "sharp" and self.plan.covers == "statistical":
            reason = (
                "this plan covers means over records only; make one with "
                "covers='low-sensitivity' (--covers), or with certificate 'sharp'"
            )
            raise NotApplicable(self.plan.certificate, reason)

    def answers_left(self, filter: Filter, round: int, given: int) -> int:
        """How many more answers fit at a round after so many were given in all."""
        left = filter.remaining(round) // self.mechanism.charge(round)
        return min(left, self.plan.queries - given)

    def fits_at(self, filter: Filter, round: int, count: int = 1) -> int | None:
        """The smallest later round at which so many answers would fit; None if there is none."""
        if not self.rounds:
            left = filter.remaining(round) // count
            return self.mechanism.smallest_round(left, round, self.last_round)
        for later in self.rounds[bisect_left(self.rounds, round) :]:
            if filter.admits(later, count * self.mechanism.charge(later)):
                return later
        return None

    def bounds(
        self, value: float, low: float, high: float, bits: int, span: float | None = None
    ) -> Bounds:
        """The interval around an answer ``value`` on [0, 1], scaled to [low, low + span].

        It is cut to [low, high]; ``span`` is high - low unless it is said. With a grid of 2^bits
        steps per record the mean of what is asked, and that of its rounded values, differ by half a
        step; a whole step also covers the rounding of the arithmetic.
        """
        span = high - low if span is None else span
        grid = self._grid(low, high, bits, span)
        below, above = self._unit_interval(value)
        return Bounds(
            low=max(low, math.nextafter(low + (below - grid) * span, -math.inf)),
            high=min(high, math.nextafter(low + (above + grid) * span, math.inf)),
            width=(self._unit_width(value) + grid) * span,
        )

    def terms(
        self, value: float, low: float, high: float, bits: int, span: float | None = None
    ) -> Mapping[str, float]:
        """What the width of an answer ``value`` on [0, 1] adds up from."""
        span = high - low if span is None else span
        grid = self._grid(low, high, bits, span)
        if self._lopsided is None and not grid and span == 1.0:
            return self.plan.terms
        terms = dict(self.plan.terms)
        if self._lopsided is not None:  # the plan's own terms are those of an answer near `rare`
            terms["stability"] = max(self._unit_width(value) - self._lopsided.offset, 0.0)
        if grid:
            terms["grid"] = grid
        return MappingProxyType({name: term * span for name, term in terms.items()})

    def _unit_width(self, value: float) -> float:
        if self._lopsided is None:
            return self.plan.width
        below, above = self._unit_interval(value)
        return max(value - below, above - value)

    def _unit_interval(self, value: float) -> tuple[float, float]:
        if self._lopsided is None:
            return value - self.plan.width, value + self.plan.width
        below, above = self._lopsided.interval(value)
        return float(below), float(above)

    @cached_property
    def _lopsided(self) -> Lopsided | None:
        if self.plan.rare is None:
            return None
        from surehold.theory.certificates.sharp import Lopsided

        constants = self.plan.constants
        return Lopsided(constants["offset"], constants["epsilon"], self.mechanism.sigma)

    def width_of(self, form: Form, round: int) -> float | None:
        """The largest width of what a query tells at a round; None if it has none."""
        match form:
            case NumberForm():
                return self.widest(form.low, form.high, form.bits, form.span_at(round))
            case SelectForm():
                return self.selection(form, round).width
            case _:
                return None

    def selection(self, form: SelectForm, round: int) -> Selection:
        """How one of some candidates is chosen at a round, and what that promises.

        sharp-bound.md, section 15; for the paper's certificates Theorem A.3.
        """
        from surehold.mechanisms.exponential import ExponentialMechanism  # loads SciPy
        from surehold.theory.selection import paper_selection_allowance, selection_allowance

        plan, mechanism = self.plan, ExponentialMechanism.within(self.charge(form, round))
        count, rate = len(form.candidates), mechanism.rate(round)
        answers = min(form.answers, plan.queries)  # more are refused
        if plan.certificate == "sharp":
            allowance = selection_allowance(
                count,
                rate,
                answers=answers,
                queries=plan.queries,
                beta=plan.beta,
                sigma=self.mechanism.sigma,
            )
        else:
            allowance = paper_selection_allowance(
                count,
                rate,
                answers=answers,
                queries=plan.queries,
                snapshot_beta=plan.constants["beta"],
            )
        return self.selected(form, round, mechanism.epsilon, float(allowance))

    def selected(self, form: SelectForm, round: int, epsilon: float, allowance: float) -> Selection:
        """What a choice promises, given how near to the best it is on the snapshot.

        The excess over the best is 2/t-sensitive where the losses are 1/t-sensitive, so stability
        and its failure count twice. The paper's d is not a part of the stability (Theorem A.3).
        """
        plan, span = self.plan, form.scale.span_at(round)
        d = 0.0 if plan.certificate == "sharp" else plan.constants["d"]
        terms = {
            "selection": allowance,
            "stability": 2.0 * plan.terms["stability"],
            "failure": 2.0 * plan.terms["failure"] - d,
        }
        # Half a step of the grid for the choice, and half a step for the best.
        grid = max(self._grid(one.low, one.high, one.bits, span) for one in form.candidates)
        if grid:
            terms["grid"] = grid
        unit = min(sum(terms.values()) * _OUTWARD, form.scale.top_at(round))
        scaled = MappingProxyType({name: term * span for name, term in terms.items()})
        return Selection(epsilon, allowance, unit * span, scaled)

    def widest(self, low: float, high: float, bits: int, span: float | None = None) -> float:
        """The largest width that an answer can have: what is known before it is given.

        A lopsided interval reaches no further than its offset and the largest tilt, kappa.
        """
        plan, span = self.plan, high - low if span is None else span
        unit = (
            plan.width if plan.rare is None else plan.constants["offset"] + plan.constants["kappa"]
        )
        return (unit + self._grid(low, high, bits, span)) * span

    def _grid(self, low: float, high: float, bits: int, span: float) -> float:
        """What rounding adds to a width: to a mean's grid, and of the scaled value to a double.

        A fraction's value is rounded by 2^-54 at most, and its ends as much again. A width that is
        rounded outwards by 1e-12 of itself has room for that, unless it is very narrow.
        """
        if bits:
            return 2.0**-bits + 2.0 * math.ulp(max(abs(low), abs(high))) / span
        return 0.0 if self.plan.width > _NARROW else 2.0**-52
