"""When a query does not fit: by how much, and when it would."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import BudgetExhausted
from holdfast.ledger.filter import Filter
from holdfast.ledger.ledger import Ledger
from holdfast.mechanisms import to_float
from holdfast.queries import Form


def refusal(
    ledger: Ledger, filter: Filter, round: int, forms: Sequence[Form], whose: str
) -> BudgetExhausted:
    """The error for queries that do not fit together at a round.

    ``filter`` is what they do not fit, the ledger's own or one within an analyst's limit, and
    ``whose`` says which.
    """
    policy, records = ledger.policy, ledger.state.records
    price, slots = sum(form.price for form in forms), sum(form.slots for form in forms)
    needed, left = price * policy.mechanism.charge(round), filter.remaining(round)
    unasked = ledger.plan.queries - ledger.state.answers
    fits_at = policy.fits_at(filter, round, price) if slots <= unasked else None
    more = None if fits_at is None else max(fits_at - records, 0)
    hint = _hint(ledger, filter, round, forms, fits_at)
    if needed <= ledger.filter.remaining(round) and slots <= unasked:
        what = (
            f"{whose} is reached at round {round:,}: the charge is {to_float(needed):.6g} and "
            f"{to_float(left):.6g} of it is left"
        )
    elif slots > unasked and slots > len(forms):
        what = (
            f"the plan's answers do not suffice at round {round:,}: it counts for {slots:,} and "
            f"{unasked:,} are left"
        )
        hint = "ask for fewer cells, or for a lower price"
    else:
        what = ""
    return BudgetExhausted(to_float(needed), to_float(left), round, fits_at, more, hint, what)


def _hint(
    ledger: Ledger, filter: Filter, round: int, forms: Sequence[Form], fits_at: int | None
) -> str:
    policy, records = ledger.policy, ledger.state.records
    if fits_at is None:
        fitting = policy.answers_left(filter, round, ledger.state.answers)
        simple = all(form.price == 1 for form in forms)
        if fitting and len(forms) > 1 and simple:
            return f"{fitting:,} of the {len(forms):,} queries would fit"
        return f"no more answers fit before the plan ends, at n = {policy.last_round:,}"
    if fits_at <= records:
        return f"it would fit at round {fits_at:,}, which is there: hold a later round"
    return f"it would fit after {fits_at - records:,} more records, at {fits_at:,}"
