"""The menu for a table of shares that add up to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surehold.errors import InvalidInput
from surehold.theory.surprise.menus.cells import Cell


@dataclass(frozen=True)
class TableMenu:
    """All tables of m whole parts that add up to 1/e, with equal weights (Surprise, section 4).

    Shares are rounded to multiples of e by the method of the largest remainders, so each is off by
    less than e.

    >>> menu = TableMenu(3, 10)
    >>> menu.outcome([1, 1, 1]), menu.weight((4, 3, 3))
    ((4, 3, 3), Fraction(1, 66))
    """

    cells: int
    parts: int

    def __post_init__(self) -> None:
        """Refuse a table without cells or parts."""
        if self.cells < 1 or self.parts < 1:
            raise InvalidInput("table", "of at least one cell and one part", self)

    def outcome(self, counts: Sequence[int]) -> tuple[int, ...]:
        """The rounded table; of equal remainders the first are rounded up."""
        total = sum(counts)
        if len(counts) != self.cells or total < 1 or min(counts) < 0:
            raise InvalidInput("counts", f"{self.cells} counts, not all 0", "others")
        whole = [self.parts * count // total for count in counts]
        rest = [self.parts * count % total for count in counts]
        first = sorted(range(self.cells), key=lambda i: (-rest[i], i))[: self.parts - sum(whole)]
        return tuple(part + (i in first) for i, part in enumerate(whole))

    def weight(self, table: Sequence[int]) -> Fraction:
        """One over binomial(1/e + m - 1, m - 1)."""
        return Fraction(1, math.comb(self.parts + self.cells - 1, self.cells - 1))

    def cell(self, part: int) -> Cell:
        """Where a share lies that was rounded to this many parts."""
        low, high = Fraction(part - 1, self.parts), Fraction(part + 1, self.parts)
        return Cell(max(low, Fraction(0)), min(high, Fraction(1)), closed=high > 1)

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return {"kind": "table", "cells": self.cells, "parts": self.parts}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> TableMenu:
        """Read what :meth:`to_dict` wrote."""
        return cls(int(given["cells"]), int(given["parts"]))
