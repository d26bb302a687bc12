"""Numbers: fractions, means, statistics of pairs and the custodian's own, as cells of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from surehold.mechanisms.outcomes.base import (
    Asking,
    Claim,
    Exact,
    Past,
    Report,
    cell_of,
    exact_number,
    given_number,
    is_unit,
    read_menu,
    scaled_ends,
    scaled_value,
    write_menu,
)
from surehold.queries import Expectation, NumberForm, Source
from surehold.theory.surprise.claims.base import Statistic
from surehold.theory.surprise.claims.binomial import tail
from surehold.theory.surprise.claims.chernoff import Chernoff
from surehold.theory.surprise.claims.mixtures import CentredMixture, HalfMixture
from surehold.theory.surprise.claims.selection import Sensitivity
from surehold.theory.surprise.ends import UNIT, Interval, interval
from surehold.theory.surprise.intervals import EVERYTHING, fraction_interval
from surehold.theory.surprise.menus.cells import Cell, Grid, half_cell
from surehold.theory.surprise.menus.numbers import (
    NumberMenu,
    again_menu,
    expected_menu,
    known_menu,
    plain_menu,
)

NumberClaim = Literal["fraction", "mean", "pairs", "statistic"]


@dataclass(frozen=True)
class NumberAsking(Asking):
    """A number from ``low`` to ``high``; ``x`` is where it lies between them, from 0 to 1.

    ``by`` says which claims hold for it: exact tails and the centred mixture for a fraction,
    Chernoff's bound and the mixture M for a mean (Surprise, sections 3a and 3b), half of the
    records for a mean over pairs, and the sensitivity for a statistic of the custodian's (3d).
    """

    form: NumberForm
    by: NumberClaim

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.form.sources

    @property
    def low(self) -> Fraction:
        """The least that the number can be."""
        return exact_number(self.form.low)

    @property
    def high(self) -> Fraction:
        """The most."""
        return exact_number(self.form.high)

    @property
    def is_one_round(self) -> bool:
        return self.by in ("pairs", "statistic")

    @property
    def is_number(self) -> bool:
        return True

    # ------------------------------------------------------------------------------- menus

    def menu(self, past: Past) -> dict[str, Any]:
        assert past.claim is not None
        e = self._within or self._rule(past.t, past.claim)
        return write_menu(choose_menu(self.asked, self._expected, e, past))

    @property
    def _expected(self) -> Fraction | None:
        return given_number(self.asked, self.low, self.high)

    @property
    def _within(self) -> Fraction | None:
        within = self.asked.within
        if within is None or is_unit(self.low, self.high):
            return within
        return within / (self.high - self.low)

    def _rule(self, t: int, claim: Claim) -> Fraction:
        spread = self._span(t) if self.by == "statistic" else Fraction(1)
        size = max(self._size(t), 1)
        return half_cell(size, claim.level(t), not claim.is_once(t), spread)

    def _size(self, t: int) -> int:
        """The number of independent values behind it."""
        return t // 2 if self.by == "pairs" else t

    def _span(self, t: int) -> Fraction:
        """t times what one record moves it, on [0, 1]."""
        return Fraction(self.form.span_at(t)) / (self.high - self.low)

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        """Not if a finer grid is asked for, which more than one cell of can be it."""
        if recorded["kind"] != "cell":  # the steps of a ladder
            return False
        within = self._within
        if within is None:
            return True
        known = known_menu(grid_of(self._expected, within), cell_of(recorded))
        return known.first == known.last

    # ---------------------------------------------------------------------------- outcomes

    def x(self, exact: Sequence[Exact], t: int) -> Fraction:
        """The observed number, on [0, 1]."""
        found = Fraction(exact[0].numerators[0], exact[0].denominator)
        if self.is_one_round:  # its unit is a share of t times its sensitivity
            found *= self._span(t)
        return found if found.numerator < found.denominator else Fraction(1)

    def statistic(self, x: Fraction, t: int, claim: Claim) -> Statistic | None:
        """How strongly an observed number speaks against others; None if it does not at all."""
        is_once, size = claim.is_once(t), self._size(t)
        if not size:
            return None
        match self.by:
            case "fraction":
                count = x.numerator * t // x.denominator
                return tail(count, t) if is_once else CentredMixture(count, t, claim.kappa)
            case "statistic":
                return Sensitivity(x, t, self._span(t))
            case _:
                return Chernoff(x, size) if is_once else HalfMixture(x, size)

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> int:
        return place(read_menu(NumberMenu, menu), self.x(exact, t))

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        assert claim is not None
        listed = read_menu(NumberMenu, menu)
        cell = listed.cell(outcome)
        return Report((listed.weight(outcome),), self.body(cell, self.interval(cell, t, claim)))

    def body(self, cell: Cell, found: Interval) -> dict[str, Any]:
        """A cell and its interval, as the ledger keeps them."""
        return {
            "kind": "cell",
            "range": [self.form.low, self.form.high],
            "cell": cell.to_dict(),
            "value": scaled_value(cell.middle, self.low, self.high),
            "interval": scaled_ends(found, self.low, self.high),
        }

    def interval(self, cell: Cell, t: int, claim: Claim) -> Interval:
        """Where the population's number lies, for all records with this cell, on [0, 1]."""
        level = claim.level(t)
        if self.by == "fraction":
            return fraction_interval(cell, t, level, None if claim.is_once(t) else claim.kappa)
        low, high = (self.statistic(x, t, claim) for x in (cell.low, cell.high))
        if low is None or high is None:
            return EVERYTHING
        return widened(interval(low, high, level), self.rounding(t))

    def rounding(self, t: int) -> Fraction:
        """Values lie on a grid of 2^32 steps: how far that can move the number."""
        if not self.form.bits:
            return Fraction(0)
        return UNIT + self._span(t) / Fraction(2**self.form.bits)

    # ------------------------------------------------------------------------------ quotes

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        listed = read_menu(NumberMenu, menu)
        return listed.heaviest, listed.lightest

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        assert claim is not None
        listed = read_menu(NumberMenu, menu)
        cell = listed.cell(listed.typical)
        ends = scaled_ends(self.interval(cell, t, claim), self.low, self.high)
        return 0.5 * (ends[1] - ends[0])


def grid_of(expected: Fraction | None, e: Fraction) -> Grid:
    """The grid of a number: around what is expected, or from 0 on."""
    return Grid.plain(e) if expected is None else Grid.around(expected, e)


def choose_menu(
    asked: Expectation, expected: Fraction | None, e: Fraction, past: Past
) -> NumberMenu:
    """Which menu a number has, by what is known and what is expected (Surprise, section 4)."""
    if past.known is not None:
        return known_menu(grid_of(expected, e), cell_of(past.known))
    doubt = asked.doubt or past.doubt
    if expected is not None:
        return expected_menu(expected, e, doubt)
    if past.last is not None:
        return again_menu(cell_of(past.last), e, doubt)
    return plain_menu(e)


def place(menu: NumberMenu, x: Fraction) -> int:
    """The cell that has an observed number, or the nearest one that the past allows.

    They differ only for a model that does not repeat itself, and then an error would say something
    of the records that nobody paid for. Any map to the menu will do (Surprise, section 1).
    """
    return min(max(menu.grid.index(x), menu.first), menu.last)


def widened(found: Interval, margin: Fraction) -> Interval:
    """An interval on [0, 1] with a margin on both sides."""
    return Interval(max(found.low - margin, Fraction(0)), min(found.high + margin, Fraction(1)))
