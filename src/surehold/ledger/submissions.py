"""Submissions to a leaderboard, as the ledger keeps them: each is compared with the best so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from surehold.errors import LedgerCorrupt
from surehold.ledger.entries import Entry
from surehold.queries.leaderboards import LeaderboardRules
from surehold.queries.side_tables import SideTable

ANSWERS = ("gain", "score", "certified")
"""What is asked about a submission. Only a new best has the last two, and the first has no gain."""


@dataclass(frozen=True)
class KeptSubmission:
    """The table ``of`` a submission, the best one ``against`` which it was compared, and answers.

    The answers are numbers of entries.
    """

    of: str
    against: str | None
    is_best: bool
    gain: int | None
    score: int | None
    certified: int | None
    analyst: str
    time: float = 0.0

    def to_entry(self) -> dict[str, Any]:
        """Return the body of its entry."""
        return asdict(self)

    @classmethod
    def of_entry(cls, entry: Entry) -> Self:
        """Read what an entry says."""
        body = entry.read()
        try:
            return cls(**{name: body[name] for name in cls.__dataclass_fields__})
        except (KeyError, TypeError):
            raise LedgerCorrupt("the ledger", "it is not a submission", entry.seq) from None


def best_of(submissions: Iterable[KeptSubmission]) -> KeptSubmission | None:
    """Return the best one so far: the last that was better than all before."""
    return next((one for one in reversed([*submissions]) if one.is_best), None)


def questions_of(rules: LeaderboardRules, new: SideTable, best: SideTable | None) -> dict[str, Any]:
    """Return the queries about a submission, by the names in :data:`ANSWERS`."""
    score = rules.score(new.name, new.columns.names)
    if best is None:
        return {"score": score}
    gain = rules.gain(score, rules.score(best.name, best.columns.names))
    return {"gain": gain, "score": score, "certified": rules.certified(gain)}
