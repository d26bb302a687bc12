"""The surprise guard over counts alone: what a session does, without disk, records or queries.

It is deterministic, so a test can hold it against a session digit by digit.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from surehold.theory.surprise.claims.binomial import BinomialTail
from surehold.theory.surprise.claims.mixtures import CentredMixture, concentration
from surehold.theory.surprise.ends import Interval
from surehold.theory.surprise.intervals import fraction_interval
from surehold.theory.surprise.levels import (
    ClaimLevels,
    Level,
    Rounds,
    claim_level,
    question_levels,
)
from surehold.theory.surprise.menus.cells import Cell, Grid, half_cell
from surehold.theory.surprise.menus.numbers import (
    NumberMenu,
    again_menu,
    expected_menu,
    known_menu,
    learned_doubt,
    plain_menu,
)
from surehold.theory.surprise.menus.verdicts import GateMenu, Verdict
from surehold.theory.surprise.prices import price
from surehold.theory.surprise.shares import Shares


class Reported(NamedTuple):
    """An answer: the cell that the mean lies in, the interval of the claim, and the price."""

    cell: Cell
    interval: Interval
    price: int


@dataclass
class _Claim:
    """A registered question: its levels, for good, and the cells reported so far, by round."""

    levels: ClaimLevels
    records: int
    first_round: int | None = None
    cells: dict[int, Cell] = field(default_factory=dict)

    def at(self, t: int) -> tuple[Level, int | None]:
        """The level at a round, and the kappa of claim (b) if that is the one."""
        is_first = self.first_round == t and self.levels.first is not None
        level = self.levels.at(is_first)
        if level is None:  # registered for one round only
            raise ValueError(f"nothing is claimed at round {t}")
        return level, None if is_first else concentration(self.records, level)


class SurpriseBook:
    """All claims about fractions of one dataset, and what was spent on their outcomes.

    Questions go by any name. One that is asked for the first time is registered then, for both
    claims: (a) at that round, (b) at all others. Nothing is ever refused.

    >>> book = SurpriseBook(Fraction(1, 20))
    >>> first = book.ask("correct", 1699, 2000)
    >>> float(first.cell.middle), float(first.interval.low), float(first.interval.high)
    (0.845, 0.811942259, 0.874345964)
    >>> book.ask("correct", 1699, 2000).price
    0
    """

    def __init__(self, beta: Fraction, shares: Shares | None = None) -> None:
        self.spent = 0
        self._beta = beta
        self._shares = shares or Shares()
        self._claims: dict[Hashable, _Claim] = {}
        self._expectations = 0
        self._surprises = 0

    def register(
        self,
        name: Hashable,
        records: int,
        *,
        rounds: Rounds = "always",
        share: Fraction | None = None,
    ) -> None:
        """Claim a question without asking it yet; ``share`` was declared, or is the next default.

        A caller who declares shares ensures that all of them add up to at most 1.
        """
        if share is None:
            share, self._shares = self._shares.default()
        level = claim_level(self._beta, share, self.spent)
        self._claims[name] = _Claim(question_levels(level, rounds), records)

    def ask(
        self,
        name: Hashable,
        count: int,
        t: int,
        *,
        expect: Fraction | None = None,
        within: Fraction | None = None,
        doubt: Fraction | None = None,
        records: int | None = None,
    ) -> Reported:
        """Report the cell of ``count / t``; ``records`` are there now, by default t."""
        claim = self._claim_at(name, t, records)
        level, kappa = claim.at(t)
        e = half_cell(t, level, kappa is not None) if within is None else within
        menu = self._menu(claim, t, e, expect, doubt)
        k = menu.outcome(Fraction(count, t))
        cell = claim.cells[t] = menu.cell(k)
        cost = price(menu.weight(k))
        self.charge(cost)
        self._expectations += menu.doubt is not None
        self._surprises += menu.is_surprise(k)
        return Reported(cell, fraction_interval(cell, t, level, kappa), cost)

    def gate(
        self, name: Hashable, count: int, t: int, menu: GateMenu, records: int | None = None
    ) -> Verdict:
        """Report only a verdict about the mean."""
        level, kappa = self._claim_at(name, t, records).at(t)
        claimed = BinomialTail(count, t) if kappa is None else CentredMixture(count, t, kappa)
        verdict = menu.outcome(claimed, level)
        self.charge(price(menu.weight(verdict)))
        return verdict

    def charge(self, units: int) -> None:
        """Add the price of an outcome to what was spent."""
        self.spent += units

    def _claim_at(self, name: Hashable, t: int, records: int | None) -> _Claim:
        """The question's claim, registered now if it is new, with its first round."""
        if name not in self._claims:
            self.register(name, t if records is None else records, rounds="both")
        claim = self._claims[name]
        if claim.first_round is None:
            claim.first_round = t
        return claim

    def _menu(
        self,
        claim: _Claim,
        t: int,
        e: Fraction,
        expect: Fraction | None,
        doubt: Fraction | None,
    ) -> NumberMenu:
        """Known, expected, again or plain (Surprise, section 4)."""
        if t in claim.cells:
            grid = Grid.plain(e) if expect is None else Grid.around(expect, e)
            return known_menu(grid, claim.cells[t])
        doubt = doubt or learned_doubt(self._expectations, self._surprises)
        if expect is not None:
            return expected_menu(expect, e, doubt)
        if claim.cells:
            return again_menu(claim.cells[max(claim.cells)], e, doubt)
        return plain_menu(e)
