"""What is known before an answer: what it would cost, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surehold import formatting
from surehold.display import Shown
from surehold.session.outcomes import Outcome


@dataclass(frozen=True, repr=False)
class Budget(Shown):
    """In mu^2 of the record that is exposed most: what it may be charged, was, and may yet be."""

    total: float
    spent: float
    remaining: float
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        return _display_shares(self)

    def __str__(self) -> str:
        share = 0.0 if self.total == 0.0 else self.remaining / self.total
        return f"{share:.1%} of the budget left ({self.remaining:.6g} of {self.total:.6g})"


@dataclass(frozen=True, repr=False)
class SpendingLimit(Shown):
    """What one analyst may spend, has spent and may yet: in mu^2 of the record exposed most.

    What may yet be spent is never more than the budget has left for all. ``answers`` is how many of
    the plan's answers the analyst may have, and ``answered`` how many they have had.
    """

    total: float
    spent: float
    remaining: float
    answers: int
    answered: int
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        return _display_shares(self)

    def __str__(self) -> str:
        share = 0.0 if self.total == 0.0 else self.remaining / self.total
        return f"{share:.1%} of the limit left ({self.remaining:.6g} of {self.total:.6g})"


@dataclass(frozen=True, repr=False)
class Quote(Shown):
    """A free preview: what an answer would cost and how wide it would be. It touches no record.

    ``price`` is the charge in answers to one statistical query at this round, and ``counts_for``
    how many of the plan's answers it takes. ``width`` is the largest the answer could have; None
    where it follows from the answers only. If it is not ``allowed``, ``reason`` says why and
    ``more_records`` after how many more it would be, None if records do not help.
    ``answers_left_after`` is how many answers would fit at this round after it.
    """

    query: str
    round: int
    charge: float
    price: int
    counts_for: int
    width: float | None
    allowed: bool
    recorded: bool
    reason: str | None
    more_records: int | None
    remaining: float
    answers_left: int
    answers_left_after: int
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        texts = {"charge": formatting.share_spent(self.charge, self.remaining)}
        if self.width is not None:
            width = formatting.width(self.width)
            is_choice = self.query.startswith("select(")
            texts["width"] = f"within {width} of the best" if is_choice else f"± {width}"
        return texts

    def __str__(self) -> str:
        if not self.allowed:
            return f"refused: {self.reason}"
        cost = "free, as recorded" if self.recorded else f"costs {self.charge:.4g}"
        if self.price > 1:
            cost += f", the price of {self.price:,} fractions"
        if self.counts_for > self.price:
            cost += f", and reports {self.counts_for:,} numbers"
        width = self.display.get("width")
        return (
            f"{f'{width} ' if width else ''}at n = {self.round:,}, {cost}; "
            f"{formatting.several(self.answers_left, 'answer')} left at this round"
        )


def describe_left(session: Any, result: Any) -> str | None:
    """What a session, local or remote, has left after a result; None if nothing is limited."""
    limit = session.limit
    if isinstance(result, Outcome):
        return None if limit is None else f"{limit}, your limit"
    # The answer itself says what was left of the plan then, and not what is left for this analyst.
    left = formatting.several(session.answers_left(result.round), "answer")
    return f"{left} left at n = {result.round:,}; {limit or session.budget}"


def describe_own(place: Any, status: Any) -> str | None:
    """What a caller has left within their own limit; None for a custodian, or without a limit."""
    limit = getattr(place, "limit", None)
    if limit is None or status.guard == "surprise" or status.round is None:
        return None if limit is None else str(limit)
    left = formatting.several(place.answers_left(status.round), "answer")
    return f"{left} left at n = {status.round:,}; {limit}"


def _display_shares(spending: Budget | SpendingLimit) -> dict[str, str]:
    return {
        "spent": formatting.share_spent(spending.spent, spending.total),
        "remaining": formatting.share_left(spending.remaining, spending.total),
    }
