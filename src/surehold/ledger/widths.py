"""How wide an answer is: intervals, their terms, and what a selection promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from surehold.planning import Plan
from surehold.queries import Form, NumberForm, SelectForm

if TYPE_CHECKING:
    from surehold.theory.certificates.sharp import Lopsided

_OUTWARD = 1.0 + 1e-12  # as in surehold.theory.noise, which loads SciPy
_NARROW = 1e-3  # by far: 1e-12 of it is 2^-50


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


class Widths:
    """The widths of a plan; ``charge`` says what a query costs at a round, in units."""

    def __init__(self, plan: Plan, sigma: float, charge: Callable[[Form, int], int]) -> None:
        self._plan, self._sigma, self._charge = plan, sigma, charge

    def bounds(
        self, value: float, low: float, high: float, bits: int, span: float | None = None
    ) -> Bounds:
        """The interval around an answer ``value`` on [0, 1], scaled to [low, low + span].

        It is cut to [low, high]; ``span`` is high - low by default. With a grid of 2^bits steps per
        record the mean of what is asked, and that of its rounded values, differ by half a step; a
        whole step also covers the rounding of the arithmetic.
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
        """The terms that add up to the width of an answer ``value`` on [0, 1]."""
        span = high - low if span is None else span
        grid = self._grid(low, high, bits, span)
        if self._lopsided is None and not grid and span == 1.0:
            return self._plan.terms
        terms = dict(self._plan.terms)
        if self._lopsided is not None:  # the plan's own terms are those of an answer near `rare`
            terms["stability"] = max(self._unit_width(value) - self._lopsided.offset, 0.0)
        if grid:
            terms["grid"] = grid
        return MappingProxyType({name: term * span for name, term in terms.items()})

    def widest(self, low: float, high: float, bits: int, span: float | None = None) -> float:
        """The largest width that an answer can have: what is known before it is given.

        A lopsided interval reaches no further than its offset and the largest tilt, kappa.
        """
        plan, span = self._plan, high - low if span is None else span
        unit = plan.width
        if plan.rare is not None:
            unit = plan.constants["offset"] + plan.constants["kappa"]
        return (unit + self._grid(low, high, bits, span)) * span

    def of_form(self, form: Form, t: int) -> float | None:
        """The largest width of a query's answer at round t; None if it has none."""
        match form:
            case NumberForm():
                return self.widest(form.low, form.high, form.bits, form.span_at(t))
            case SelectForm():
                return self.selection(form, t).width
            case _:
                return None

    def selection(self, form: SelectForm, t: int) -> Selection:
        """How one of some candidates is chosen at round t, and what that promises.

        sharp-bound.md, section 15; for the paper's certificates Theorem A.3.
        """
        from surehold.mechanisms.exponential import ExponentialMechanism  # loads SciPy
        from surehold.theory.selection import paper_selection_allowance, selection_allowance

        plan, mechanism = self._plan, ExponentialMechanism.within(self._charge(form, t))
        count, rate = len(form.candidates), mechanism.rate(t)
        answers = min(form.price, plan.queries)  # more are refused
        if plan.certificate == "sharp":
            allowance = selection_allowance(
                count,
                rate,
                answers=answers,
                queries=plan.queries,
                beta=plan.beta,
                sigma=self._sigma,
            )
        else:
            allowance = paper_selection_allowance(
                count,
                rate,
                answers=answers,
                queries=plan.queries,
                snapshot_beta=plan.constants["beta"],
            )
        return self.selected(form, t, mechanism.epsilon, float(allowance))

    def selected(self, form: SelectForm, t: int, epsilon: float, allowance: float) -> Selection:
        """What a choice promises, given how near to the best it is on the snapshot.

        The excess over the best is 2/t-sensitive where the losses are 1/t-sensitive, so stability
        and its failure count twice. The paper's d is not a part of the stability (Theorem A.3).
        """
        plan, span = self._plan, form.scale.span_at(t)
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
        unit = min(sum(terms.values()) * _OUTWARD, form.scale.top_at(t))
        scaled = MappingProxyType({name: term * span for name, term in terms.items()})
        return Selection(epsilon, allowance, unit * span, scaled)

    def _unit_width(self, value: float) -> float:
        if self._lopsided is None:
            return self._plan.width
        below, above = self._unit_interval(value)
        return max(value - below, above - value)

    def _unit_interval(self, value: float) -> tuple[float, float]:
        if self._lopsided is None:
            return value - self._plan.width, value + self._plan.width
        below, above = self._lopsided.interval(value)
        return float(below), float(above)

    @cached_property
    def _lopsided(self) -> Lopsided | None:
        if self._plan.rare is None:
            return None
        from surehold.theory.certificates.sharp import Lopsided

        constants = self._plan.constants
        return Lopsided(constants["offset"], constants["epsilon"], self._sigma)

    def _grid(self, low: float, high: float, bits: int, span: float) -> float:
        """What rounding adds to a width: to a mean's grid, and of the scaled value to a double.

        A fraction's value is rounded by 2^-54 at most, and its ends as much again. A width that is
        rounded outwards by 1e-12 of itself allows for that, unless it is very narrow.
        """
        if bits:
            return 2.0**-bits + 2.0 * math.ulp(max(abs(low), abs(high))) / span
        return 0.0 if self._plan.width > _NARROW else 2.0**-52
