"""Refusals: by how much a query does not fit, and when it would."""

from __future__ import annotations

from collections.abc import Sequence

from surehold.errors import BudgetExhausted
from surehold.formatting import several
from surehold.ledger.view import Room, View
from surehold.mechanisms import to_float
from surehold.queries import Form


def refusal(view: View, room: Room, t: int, forms: Sequence[Form], analyst: str) -> BudgetExhausted:
    """The error for queries that do not fit together at round t.

    ``room`` is what they do not fit: what is left for all, or within this analyst's limit.
    """
    policy, records = view.policy, view.state.records
    price, slots = sum(form.price for form in forms), sum(form.slots for form in forms)
    needed, left = price * policy.unit_charge(t), room.filter.remaining(t)
    unasked = max(room.answers, 0)
    fits_at = policy.fits_at(room.filter, t, price) if slots <= unasked else None
    more = None if fits_at is None else max(fits_at - records, 0)
    hint, what = _hint(view, room, t, forms, fits_at), ""
    # It would fit without the analyst's limit, or if nothing were kept for others.
    is_mine = view.fits(t, price, slots, view.room_for(analyst))
    is_kept = not is_mine and view.fits(t, price, slots, view.room())
    if slots > unasked and not is_kept and (slots > len(forms) or is_mine or needed <= left):
        whose = f"the limit of analyst {analyst!r}" if is_mine else "the plan"
        what = (
            f"{whose} has too few answers left at round {t:,}: this counts for {slots:,} and "
            f"{unasked:,} are left"
        )
        if slots > len(forms):
            hint = "ask for fewer cells, or for a lower price"
    elif is_kept:
        what = (
            f"the rest of the budget is reserved for other analysts at round {t:,}: the charge is "
            f"{to_float(needed):.6g} and {to_float(left):.6g} is not reserved"
        )
        hint += "; the custodian may release what is reserved"
    elif is_mine:
        what = (
            f"the limit of analyst {analyst!r} is reached at round {t:,}: the charge is "
            f"{to_float(needed):.6g} and {to_float(left):.6g} of it is left"
        )
    return BudgetExhausted(to_float(needed), to_float(left), t, fits_at, more, hint, what)


def _hint(view: View, room: Room, t: int, forms: Sequence[Form], fits_at: int | None) -> str:
    policy, records = view.policy, view.state.records
    if fits_at is None:
        fitting = view.answers_left(t, room)
        simple = all(form.price == 1 for form in forms)
        if fitting and len(forms) > 1 and simple:
            return f"{fitting:,} of the {len(forms):,} queries would fit"
        if fitting:
            return f"nothing of this price fits; {several(fitting, 'answer')} of price 1 would"
        single = policy.fits_at(room.filter, t) if room.answers > 0 else None
        if single is not None:
            return f"nothing of this price fits; single answers will again at round {single:,}"
        if records >= policy.last_round and not view.answers_left(t):
            return (
                "the plan is complete: recorded answers stay free, and new ones need another "
                "dataset, with a plan of its own or with the surprise guard, which has no end"
            )
        return f"no more answers fit before the plan ends, at n = {policy.last_round:,}"
    if fits_at <= records:
        return f"it would fit at round {fits_at:,}, which has been reached: hold a later round"
    return f"it would fit after {fits_at - records:,} more records, at {fits_at:,}"
