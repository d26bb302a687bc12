"""What a contest found: how often each defender's intervals all held, and at what price."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from scipy.special import betaincinv

from surehold.display import Shown
from surehold.lab.setting import Setting

CONFIDENCE = 0.95
"""Of the bounds around a coverage."""

_FORMAT = 1


def clopper_pearson(
    times: int, repeats: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Exact bounds for the probability of what happened that many times (Clopper and Pearson 1934).

    Each side fails with probability at most (1 - confidence) / 2.

    >>> low, high = clopper_pearson(40, 40)
    >>> round(low, 4), high
    (0.9119, 1.0)
    """
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(times, repeats - times + 1, tail)) if times > 0 else 0.0
    high = float(betaincinv(times + 1, repeats - times, 1.0 - tail)) if times < repeats else 1.0
    return low, high


@dataclass(frozen=True)
class Row(Shown):
    """One attacker against one defender.

    ``covered`` of ``repeats`` analyses had no answer outside its interval. ``asked`` and
    ``answered`` are means; errors are the largest of an analysis, over all (``largest_error``) and
    the usual one (``usual_error``, the median). ``spent`` is the share of the budget that is gone,
    if there is a budget. ``last`` has value, lower end, upper end and truth of each analysis' last
    answer. If there is a ``reason`` the defender had no answers at all.
    """

    attack: str
    kind: str
    defender: str
    repeats: int
    covered: int
    asked: float
    answered: float
    largest_error: float
    usual_error: float
    widest: float
    spent: float | None
    seconds: float = field(compare=False)
    last: tuple[tuple[float, float, float, float], ...]
    reason: str | None = None

    @property
    def coverage(self) -> tuple[float, float]:
        """Between which bounds the probability lies that a whole analysis is right."""
        return clopper_pearson(self.covered, self.repeats)

    def breaks(self, beta: float, confidence: float = CONFIDENCE) -> bool:
        """Whether a coverage of 1 - beta can be ruled out, with that confidence."""
        high = clopper_pearson(self.covered, self.repeats, confidence)[1]
        return self.reason is None and high < 1.0 - beta

    def to_dict(self) -> dict[str, Any]:
        low, high = self.coverage
        return {**super().to_dict(), "coverage_low": low, "coverage_high": high}


@dataclass(frozen=True)
class Report:
    """All rows of a contest, and what it takes to run it again."""

    setting: Setting
    repeats: int
    seed: int
    rows: tuple[Row, ...]
    data: str

    @property
    def attacks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.attack for row in self.rows))

    @property
    def defenders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.defender for row in self.rows))

    def row(self, attack: str, defender: str) -> Row:
        [found] = [row for row in self.rows if (row.attack, row.defender) == (attack, defender)]
        return found

    def wanted(self, attack: str) -> float:
        """How many answers an attack asks for where it is refused least."""
        return max(row.asked for row in self.rows if row.attack == attack)

    def share(self, defender: str) -> float | None:
        """How much of what is wanted a defender answers, over all attacks; None if nothing."""
        rows = [row for row in self.rows if row.defender == defender and row.reason is None]
        shares = [row.answered / (self.wanted(row.attack) or 1.0) for row in rows]
        return sum(shares) / len(shares) if shares else None

    def breaks(self, row: Row) -> bool:
        """Whether a row's coverage is below 1 - beta for sure.

        All attacks together are given the error of one, so that a defender which keeps its promise
        is seldom called broken by any of them.
        """
        return row.breaks(self.setting.beta, self._confidence)

    @property
    def can_tell(self) -> bool:
        """Whether the repeats are enough to call any defender broken."""
        return clopper_pearson(0, self.repeats, self._confidence)[1] < 1.0 - self.setting.beta

    @property
    def _confidence(self) -> float:
        return 1.0 - (1.0 - CONFIDENCE) / len(self.attacks)

    def broken(self, defender: str) -> tuple[str, ...]:
        return tuple(
            row.attack for row in self.rows if row.defender == defender and self.breaks(row)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "setting": self.setting.to_dict(),
            "data": self.data,
            "repeats": self.repeats,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False, indent=2)
