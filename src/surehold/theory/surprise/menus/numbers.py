"""Menus for a mean: the cell it lies in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from surehold.errors import InvalidInput
from surehold.theory.surprise.menus.cells import Cell, Grid

NumberKind = Literal["plain", "known", "expected", "again"]


@dataclass(frozen=True)
class NumberMenu:
    """Cells ``first`` to ``last`` of a grid; with a ``doubt``, number 0 is the expected one.

    Surprise, section 4. Without a doubt all have equal weights. What is reported is cut to what was
    ``known`` before.
    """

    kind: NumberKind
    grid: Grid
    first: int
    last: int
    doubt: Fraction | None = None
    known: Cell | None = None

    def outcome(self, x: Fraction) -> int:
        """The number of the cell that has the observed mean."""
        if not 0 <= x <= 1 or (self.known is not None and x not in self.known):
            # Never which one: nothing but the outcome may be said of it.
            raise InvalidInput("x", "a mean that the past allows", "another one")
        return self.grid.index(x)

    def weight(self, k: int) -> Fraction:
        """The weight of the k-th cell."""
        if not self.first <= k <= self.last:
            raise InvalidInput("cell", f"from {self.first} to {self.last}", k)
        if self.first == self.last:
            return Fraction(1)
        if self.doubt is None:
            return Fraction(1, self.last - self.first + 1)
        return 1 - self.doubt if k == 0 else self.doubt / (2 * abs(k) * (abs(k) + 1))

    def cell(self, k: int) -> Cell:
        """What is reported: the k-th cell, cut to what is known."""
        cell = self.grid.cell(k)
        if self.known is None:
            return cell
        met = cell.meet(self.known)
        if met is None:
            raise InvalidInput("cell", "one that the past allows", k)
        return met

    def is_surprise(self, k: int) -> bool:
        """Whether a cell other than the expected one came: it counts for later doubts."""
        return self.doubt is not None and k != 0

    @property
    def typical(self) -> int:
        """The cell that a forecast is for: the expected one, or else the one with 1/2."""
        return self._inside(0 if self.doubt is not None else self.grid.index(Fraction(1, 2)))

    @property
    def heaviest(self) -> Fraction:
        """The weight of the outcome that costs least; beside the expected one in great doubt."""
        return max(self.weight(self._inside(k)) for k in (-1, 0, 1))

    @property
    def lightest(self) -> Fraction:
        """The weight of the outcome that costs most."""
        return min(self.weight(k) for k in {self.first, self.last, self._inside(0)})

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps: all weights follow from it."""
        return {
            "kind": self.kind,
            "origin": str(self.grid.origin),
            "width": str(self.grid.width),
            "cells": [self.first, self.last],
            "top": self.grid.last,
            "doubt": None if self.doubt is None else str(self.doubt),
            "known": None if self.known is None else self.known.to_dict(),
        }

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> NumberMenu:
        """Read what :meth:`to_dict` wrote."""
        grid = Grid(Fraction(given["origin"]), Fraction(given["width"]), given["top"])
        doubt = None if given["doubt"] is None else Fraction(given["doubt"])
        known = None if given["known"] is None else Cell.from_dict(given["known"])
        first, last = given["cells"]
        return cls(given["kind"], grid, first, last, doubt, known)

    def _inside(self, k: int) -> int:
        return min(max(k, self.first), self.last)


def plain_menu(e: Fraction) -> NumberMenu:
    """Equal cells of width 2e (Surprise, section 4, "plain").

    >>> menu = plain_menu(Fraction(1, 200))
    >>> menu.outcome(Fraction(1699, 2000)), menu.weight(84)
    (84, Fraction(1, 100))
    """
    grid = Grid.plain(e)
    return NumberMenu("plain", grid, grid.first, grid.last)


def expected_menu(
    g: Fraction, e: Fraction, doubt: Fraction, kind: NumberKind = "expected"
) -> NumberMenu:
    """Weight 1 - d for g +- e, d/(2|k|(|k|+1)) for the k-th cell (Surprise, section 4, "expected").

    >>> menu = expected_menu(Fraction(3, 5), Fraction(1, 100), Fraction(1, 10))
    >>> menu.outcome(Fraction(1305, 2000)), menu.weight(3)
    (3, Fraction(1, 240))
    """
    if not 0 < doubt < 1:
        raise InvalidInput("doubt", "strictly between 0 and 1", str(doubt))
    grid = Grid.around(g, e)
    return NumberMenu(kind, grid, grid.first, grid.last, doubt)


def again_menu(last_known: Cell, e: Fraction, doubt: Fraction) -> NumberMenu:
    """At a later round: expect the middle of what was known (Surprise, section 4, "again")."""
    return expected_menu(last_known.middle, e, doubt, "again")


def known_menu(grid: Grid, known: Cell) -> NumberMenu:
    """At a round at which cells were reported (Surprise, section 4, "known").

    Only the cells that meet the known part have weight, equal ones; if one is left it is free.

    >>> menu = known_menu(Grid.plain(Fraction(1, 1000)), Cell(Fraction(21, 25), Fraction(17, 20)))
    >>> menu.weight(menu.outcome(Fraction(1699, 2000))), menu.cell(424).counts(2000)
    (Fraction(1, 5), (1696, 1699))
    """
    last = grid.index(known.high)
    if grid.cell(last).meet(known) is None:  # the known part ends where the cell begins
        last -= 1
    return NumberMenu("known", grid, grid.index(known.low), last, known=known)


def learned_doubt(expectations: int, surprises: int) -> Fraction:
    """d = (f + 1/2)/(i + 10) after i expectations of which f surprised (Surprise, section 4).

    >>> learned_doubt(0, 0), learned_doubt(2, 1)
    (Fraction(1, 20), Fraction(1, 8))
    """
    if not 0 <= surprises <= expectations:
        raise InvalidInput("surprises", f"from 0 to {expectations}", surprises)
    return Fraction(2 * surprises + 1, 2 * expectations + 20)
