"""Rates: numbers among the records that meet a condition, areas under ROC curves, and F1.

Surprise, section 3e: given which records meet the condition, their values are independent draws.
So a cell of their number is reported first, and then a cell of the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from surehold.mechanisms.outcomes.base import (
    Asking,
    Claim,
    Exact,
    Past,
    Report,
    cell_of,
    given_number,
    scaled_ends,
    scaled_value,
)
from surehold.mechanisms.outcomes.numbers import choose_menu, grid_of, place, widened
from surehold.queries import Source
from surehold.queries.f1 import f1_of, jaccard_of
from surehold.theory.surprise.claims.base import Statistic
from surehold.theory.surprise.claims.chernoff import Chernoff
from surehold.theory.surprise.claims.mixtures import HalfMixture
from surehold.theory.surprise.ends import UNIT, Interval
from surehold.theory.surprise.intervals import fraction_interval, mean_interval
from surehold.theory.surprise.menus.cells import Cell, half_cell
from surehold.theory.surprise.menus.numbers import NumberMenu, known_menu
from surehold.theory.surprise.menus.records import ALL, RecordMenu, likely_cells

LIKELY = "likely"
_COVERED = Fraction(1, 20)
"""The doubt that a table of predictions covers every record."""


class Among(NamedTuple):
    """How many records meet the condition, and the mean among them; None if there are none."""

    records: int
    x: Fraction | None


@dataclass(frozen=True)
class RateAsking(Asking):
    """A mean among some records, from ``low`` to ``high``.

    ``given`` are its sources, as :meth:`among` reads them: for a rate the sum over the records that
    meet the condition, and their number; for the area under a ROC curve the pairs in the right
    order, and the numbers of positives and of negatives. If its condition ``is_coverage``, that the
    side tables it reads have the record, all records are expected to meet it.

    If it ``is_f1`` the mean is a Jaccard index. Menus, outcomes and :meth:`interval` are about that
    mean; what is expected and reported, cells included, is the F1 that it comes to.
    """

    given: tuple[Source, ...]
    low: Fraction
    high: Fraction
    bits: int
    is_area: bool = False
    is_coverage: bool = False
    is_f1: bool = False

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.given

    @property
    def is_one_round(self) -> bool:
        return self.is_area

    @property
    def is_number(self) -> bool:
        return True

    @property
    def prices(self) -> int:
        return 2

    # ------------------------------------------------------------------------------- menus

    def check_expected(self) -> None:
        given_number(self.asked, self.low, self.high)

    def menu(self, past: Past) -> dict[str, Any]:
        """The cells of the number of records; those of the mean follow from that number."""
        known, mode = past.known, "plain"
        if known is not None:
            mode = "known"
        elif self.asked.expect is not None:
            mode = "expected"
        elif past.last is not None:
            mode = "again"
        return {
            "kind": "rate",
            "mode": mode,
            **({"covered": str(_COVERED)} if self.is_coverage else {}),
            "records": None if known is None else known["records_cell"],
            **self._likely(past),
            "number": {
                "known": None if known is None else known["cell"],
                "last": None if past.last is None else past.last["cell"],
                "doubt": str(self.asked.doubt or past.doubt),
            },
        }

    def _likely(self, past: Past) -> dict[str, Any]:
        """Which cells of the number of records the last answer leads one to expect."""
        last = past.last
        if past.known is not None or last is None or self.is_coverage:
            return {}
        return {LIKELY: list(likely_cells(last["records_cell"], last["round"], past.t))}

    def earlier_menu(self, menu: Mapping[str, Any]) -> dict[str, Any]:
        """Without what is expected of the number of records."""
        return {name: value for name, value in menu.items() if name != LIKELY}

    def _number_menu(
        self, menu: Mapping[str, Any], claim: Claim, t: int, records: int
    ) -> NumberMenu:
        """The menu of the mean, once the cell of the number of records is known."""
        number = menu["number"]
        e = self._within
        if e is None:
            e = half_cell(records, claim.level(t), not claim.is_once(t))
        known, last = (
            None if number[n] is None else {"cell": self._cell_of(number[n]).to_dict()}
            for n in ("known", "last")
        )
        past = Past(t, claim, known, last, Fraction(number["doubt"]))
        return choose_menu(self.asked, self._expected, e, past)

    @property
    def _expected(self) -> Fraction | None:
        """What is expected of the mean, on [0, 1]."""
        expected = given_number(self.asked, self.low, self.high)
        return None if expected is None else self.place_of(expected)

    @property
    def _within(self) -> Fraction | None:
        """Within what of the mean; an F1 is never further off than twice that."""
        if self.asked.within is None:
            return None
        return self.asked.within / (2 if self.is_f1 else self.high - self.low)

    def place_of(self, number: Fraction) -> Fraction:
        """Which mean, on [0, 1], comes to a number on [0, 1] that is reported."""
        return jaccard_of(number) if self.is_f1 and 0 < number < 1 else number

    def _cell_of(self, reported: Mapping[str, Any]) -> Cell:
        """The cell of the mean."""
        cell = cell_of({"cell": reported})
        return replace(cell, low=self.place_of(cell.low), high=self.place_of(cell.high))

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        within = self._within
        if within is None or recorded["cell"] is None:
            return True
        known = known_menu(grid_of(self._expected, within), self._cell_of(recorded["cell"]))
        return known.first == known.last

    def _records(self, t: int, menu: Mapping[str, Any]) -> RecordMenu:
        if LIKELY in menu:
            first, last = menu[LIKELY]
            return RecordMenu(t, Fraction(menu["number"]["doubt"]), (first, last))
        return RecordMenu(t, _COVERED if self.is_coverage else None)

    # ---------------------------------------------------------------------------- outcomes

    def among(self, exact: Sequence[Exact], t: int) -> Among:
        """What the records say."""
        if self.is_area:
            pairs, *shares = exact
            positive, negative = _two_counts(shares, t)
            if not positive * negative:
                return Among(0, None)
            right = Fraction(pairs.numerators[0], pairs.denominator) * t * (t - 1)
            return Among(min(positive, negative), right / (positive * negative))
        amount, share = exact
        records = share.numerators[0]
        if not records:
            return Among(0, None)
        return Among(records, Fraction(amount.numerators[0] * t, amount.denominator * records))

    def statistic(self, found: Among, t: int, claim: Claim) -> Statistic:
        """How strongly the records that meet the condition speak against other means."""
        assert found.x is not None
        return (Chernoff if claim.is_once(t) else HalfMixture)(found.x, found.records)

    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> list[int]:
        assert claim is not None
        found, listed = self.among(exact, t), self._records(t, menu)
        cell = listed.outcome(found.records)
        if found.x is None:
            return [cell]
        number = self._number_menu(menu, claim, t, listed.at_least(cell))
        return [cell, place(number, min(found.x, Fraction(1)))]

    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        assert claim is not None
        listed = self._records(t, menu)
        records_cell, *rest = outcome
        records = listed.at_least(records_cell)
        is_known = menu["records"] is not None
        weights = [] if is_known else [listed.weight(records_cell)]
        body: dict[str, Any] = {
            "kind": "cell",
            "range": [float(self.low), float(self.high)],
            "records_cell": records_cell,
            "records_at_least": records,
            "cell": None,
            "value": None,
            "interval": [float(self.low), float(self.high)],
        }
        if rest:
            number = self._number_menu(menu, claim, t, records)
            cell = number.cell(rest[0])
            weights.append(number.weight(rest[0]))
            if records_cell == ALL and not self.bits and claim.is_once(t):
                found = fraction_interval(cell, t, claim.level(t))  # the number is known exactly
            else:
                found = self.interval(cell, records, t, claim)
            if self.is_f1:
                cell = replace(cell, low=f1_of(cell.low), high=f1_of(cell.high))
                found = Interval(f1_of(found.low), f1_of(found.high))
            body |= {
                "cell": cell.to_dict(),
                "value": scaled_value(cell.middle, self.low, self.high),
                "interval": scaled_ends(found, self.low, self.high),
            }
        return Report(tuple(weights) or (Fraction(1),), body)

    def interval(self, cell: Cell, records: int, t: int, claim: Claim) -> Interval:
        """Where the population's mean lies, on [0, 1], if at least this many records count."""
        found = mean_interval(cell, records, claim.level(t), always=not claim.is_once(t))
        return widened(found, self.rounding(t))

    def rounding(self, t: int) -> Fraction:
        """How far the grid of values can move the number."""
        return UNIT if self.bits else Fraction(0)

    # ------------------------------------------------------------------------------ quotes

    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        """With as many records as there can be, whose grid is the finest."""
        assert claim is not None
        most = max(t // 2, 1) if self.is_area else t
        number = self._number_menu(menu, claim, t, most)
        one = (Fraction(1), Fraction(1))
        heaviest, lightest = self._records(t, menu).extremes if menu["records"] is None else one
        return heaviest * number.heaviest, lightest * number.lightest

    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        """Unknown before the number of records is, unless all of them are expected."""
        if not self.is_coverage or claim is None:
            return None
        number = self._number_menu(menu, claim, t, t)
        low, high = self.report(menu, claim, t, [ALL, number.typical]).body["interval"]
        return float(0.5 * (high - low))


def _two_counts(shares: Sequence[Exact], t: int) -> tuple[int, int]:
    """Positives and negatives: two fractions, or a table of negatives, positives and others."""
    if len(shares) == 2:
        return shares[0].numerators[0], shares[1].numerators[0]
    negative, positive, *_ = shares[0].numerators
    return positive, negative
