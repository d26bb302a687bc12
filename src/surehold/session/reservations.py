"""Reservations: what a custodian keeps for an analyst, so that nobody else can spend it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from surehold import formatting
from surehold.checks import check_fraction
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.ledger.draft import Draft
from surehold.ledger.ledger import Ledger
from surehold.ledger.tables import Spent
from surehold.session.keys import check_text
from surehold.session.outcomes import AnalystSpending


@dataclass(frozen=True, repr=False)
class Reservation(Shown):
    """What is kept for an analyst in all, what they have spent, and what is still kept.

    ``unit`` is share (of the budget) or, under the surprise guard, bits. What an analyst spends
    counts against their reservation first; beyond it they spend what nobody has reserved.
    """

    analyst: str
    unit: str
    reserved: float
    spent: float
    left: float
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        names = ("reserved", "spent", "left")
        return {name: formatting.amount(getattr(self, name), self.unit) for name in names}

    def __str__(self) -> str:
        if not self.reserved:
            return f"nothing is reserved for {self.analyst}"
        shown = self.display
        return f"{shown['reserved']} reserved for {self.analyst}; spent so far: {shown['spent']}"


def reserve(ledger: Ledger, analyst: object, amount: object) -> Reservation:
    """Keep a share of the budget, or some bits, for an analyst; 0 releases it."""
    name = check_text("analyst", analyst)
    kept = ledger.rules.reservation(amount) or Spent(0, 0)
    with ledger.writing() as draft:
        if any(kept):
            _check_left(ledger, draft, name, kept)
        if kept != draft.reserved.get(name, Spent(0, 0)):
            draft.reserve(name, _exact(amount), kept)
    return next(
        (one for one in reservations(ledger) if one.analyst == name),
        Reservation(name, _unit(ledger), 0.0, _size(ledger, ledger.spent_by(name).units), 0.0),
    )


def reservations(ledger: Ledger) -> tuple[Reservation, ...]:
    """All that is reserved, by analyst."""
    with ledger.store.lock:
        ledger.refresh()
        found = [(name, kept.units, ledger.spent_by(name).units) for name, kept in _all(ledger)]
    return tuple(
        Reservation(
            name,
            _unit(ledger),
            _size(ledger, kept),
            _size(ledger, spent),
            _size(ledger, max(kept - spent, 0)),
        )
        for name, kept, spent in found
    )


def spending(ledger: Ledger) -> tuple[AnalystSpending, ...]:
    """What each analyst has spent, the largest first, and what is reserved for each."""
    with ledger.store.lock:
        ledger.refresh()
        spent, kept = ledger.store.spending(), dict(_all(ledger))
    everyone = {**dict.fromkeys(kept, Spent(0, 0)), **spent}
    return tuple(
        AnalystSpending(
            analyst,
            _size(ledger, one.units),
            one.answers,
            _size(ledger, kept.get(analyst, Spent(0, 0)).units),
            _unit(ledger),
        )
        for analyst, one in sorted(everyone.items(), key=lambda pair: -pair[1].units)
    )


def _all(ledger: Ledger) -> list[tuple[str, Spent]]:
    return sorted(ledger.reserved.items())


def _check_left(ledger: Ledger, draft: Draft, analyst: str, kept: Spent) -> None:
    """Refuse to keep what is spent already, or kept for another."""
    if ledger.rules.guard == "noise":
        (filter, answers), spent = draft.room_for(analyst), draft.spent_by(analyst)
        left = Spent(filter.remaining(ledger.policy.first_round), answers)
        needed = Spent(kept.units - spent.units, kept.answers - spent.answers)
    else:
        from surehold.session.surprise_admission import SurpriseAdmission  # loads SciPy

        needed, left = SurpriseAdmission(ledger, analyst, None).unreserved(draft, kept)
    if any(need > max(there, 0) for need, there in zip(needed, left, strict=True)):
        paid = kept.units - needed.units
        most = formatting.amount(_size(ledger, left.units + paid), _unit(ledger), up=False)
        required = f"at most {most}, as the rest is spent by others or reserved for them"
        got = formatting.amount(_size(ledger, kept.units), _unit(ledger))
        raise InvalidInput("the reservation", required, got)


def _exact(amount: object) -> str:
    """What the custodian said, exactly."""
    return str(check_fraction("the reservation", amount, "a number"))


def _unit(ledger: Ledger) -> str:
    return "share" if ledger.rules.guard == "noise" else "bits"


def _size(ledger: Ledger, units: int) -> float:
    """Units as a share of the budget, or as bits."""
    if ledger.rules.guard == "noise":
        return units / max(ledger.policy.budget, 1)
    from surehold.ledger.surprise_policy import to_bits  # loads SciPy

    return to_bits(units)
