"""Where a dataset with the surprise guard stands."""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType

from surehold.ledger.ledger import Ledger
from surehold.ledger.surprise_draft import book_of
from surehold.ledger.surprise_policy import to_bits
from surehold.session.outcomes import SurpriseStatus
from surehold.session.reservations import spending
from surehold.theory.surprise.forecasts import forecast_interval
from surehold.theory.surprise.levels import claim_level, question_levels


def surprise_status(ledger: Ledger) -> SurpriseStatus:
    """The status in numbers: sizes, claims and bits; it touches no record."""
    policy, store = ledger.surprise, ledger.store
    with store.lock:
        state = ledger.refresh()
        first_pending = min(store.first_pending(), state.records)
        segments, head = len(store.segments()), ledger.head
    book = book_of(policy, state)
    width = None
    if state.records and book.shares.left and ledger.successor is None:
        share, _ = book.shares.default()
        level = question_levels(claim_level(policy.beta, share, state.spent), "both").first
        assert level is not None
        width = float(forecast_interval(Fraction(1, 2), state.records, level).half_width)
    advice = None if state.records else "there are no records yet; append some"
    if ledger.successor_name is not None:
        advice = f"closed for good: {ledger.successor_name} took over"
    limit = None if policy.limit is None else float(policy.limit)
    spent = to_bits(state.spent)
    return SurpriseStatus(
        name=ledger.folder.name,
        dataset=ledger.fingerprint,
        columns=MappingProxyType(ledger.schema.to_dict()),
        id=ledger.schema.id,
        predecessor=ledger.predecessor_name,
        successor=ledger.successor_name,
        n=state.records,
        ready=advice is None,
        round=None if advice else state.records,
        advice=advice,
        width=width,
        beta=float(policy.beta),
        claims=book.claims,
        claims_expected=policy.claims,
        share_left=float(book.shares.left),
        spent=spent,
        limit=limit,
        remaining=None if limit is None else max(limit - spent, 0.0),
        by_analyst=spending(ledger),
        answers=state.answers,
        segments=segments,
        pending=state.records - first_pending,
        entries=head.seq,
        head=head.hash.hex(),
    )
