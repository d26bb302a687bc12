"""When a query does not fit: by how much, and when it would."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import BudgetExhausted
from holdfast.ledger.ledger import Ledger
from holdfast.mechanisms import to_float
from holdfast.queries import Form


def refusal(ledger: Ledger, round: int, forms: Sequence[Form]) -> BudgetExhausted:
    """The error for queries that do not fit together at a round."""
    policy, records = ledger.policy, ledger.state.records
    price, slots = sum(form.price for form in forms), sum(form.slots for form in forms)
    needed, left = price * policy.mechanism.charge(round), ledger.filter.remaining(round)
    unasked = ledger.plan.queries - ledger.state.answers
    fits_at = policy.fits_at(ledger.filter, round, price) if slots <= unasked else None
    more = None if fits_at is None else max(fits_at - records, 0)
    hint, what = _hint(ledger, round, forms, fits_at), ""
    if slots > unasked and slots > len(forms):
        what = (
            f"the plan's answers do not suffice at round {round:,}: it counts for {slots:,} and "
            f"{unasked:,} are left"
        )
        hint = "ask for fewer cells, or for a lower price"
    return BudgetExhausted(to_float(needed), to_float(left), round, fits_at, more, hint, what)


def _hint(ledger: Ledger, round: int, forms: Sequence[Form], fits_at: int | None) -> str:
    policy, records = ledger.policy, ledger.state.records
    if fits_at is None:
        fitting, simple = ledger.answers_left(round), all(form.price == 1 for form in forms)
        if fitting and len(forms) > 1 and simple:
            return f"{fitting:,} of the {len(forms):,} queries would fit"
        return f"no more answers fit before the plan ends, at n = {policy.last_round:,}"
    if fits_at <= records:
        return f"it would fit at round {fits_at:,}, which is there: hold a later round"
    return f"it would fit after {fits_at - records:,} more records, at {fits_at:,}"
