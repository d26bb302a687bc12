"""A draft of a ledger with the surprise guard: claims, menus and outcomes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from surehold.errors import LedgerCorrupt
from surehold.ledger.draft import Draft
from surehold.ledger.entries import Entry, State
from surehold.ledger.surprise_policy import Book, SurprisePolicy
from surehold.ledger.tables import ClaimRow, RoundTotals
from surehold.ledger.view import View, question
from surehold.mechanisms.outcomes.base import Asking, Claim, Exact, Past
from surehold.mechanisms.outcomes.forms import asking_of
from surehold.queries import Expectation, Schema
from surehold.theory.surprise.prices import price

_BILL = ("query", "analyst", "key")


@dataclass(frozen=True)
class Terms:
    """On what terms a question is asked: fixed before any record is looked at.

    ``claim_entry`` is where its claim was registered, None if it claims nothing.
    """

    asking: Asking
    t: int
    claim: Claim | None
    claim_entry: int | None
    menu: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As the ledger keeps them."""
        return {"asked": self.asking.asked.to_dict(), **self._claimed(), "menu": self.menu}

    def _claimed(self) -> dict[str, Any]:
        if self.claim is None:
            return {"claim": None, "claim_entry": None, "level": None}
        level = str(self.asking.level(self.claim, self.t))
        return {"claim": self.claim.number, "claim_entry": self.claim_entry, "level": level}

    @property
    def least(self) -> int:
        """What the cheapest outcome costs, in units."""
        return price(self.asking.extremes(self.menu, self.t, self.claim)[0])

    @property
    def most(self) -> int:
        """What the dearest outcome costs, in units: each of its prices is rounded up."""
        rounding = self.asking.prices - 1
        return price(self.asking.extremes(self.menu, self.t, self.claim)[1]) + rounding

    def body(self, exact: Sequence[Exact]) -> dict[str, Any]:
        """The body of the answer; nothing else may see the exact numbers."""
        return self.report(self.asking.outcome(self.menu, self.claim, self.t, exact))

    def report(self, outcome: Any) -> dict[str, Any]:
        """The body that follows from an outcome."""
        weights, body = self.asking.report(self.menu, self.claim, self.t, outcome)
        units = sum(price(weight) for weight in weights)
        return {
            **self.to_dict(),
            "outcome": outcome,
            "weights": [*map(str, weights)],
            "charge": str(units),
            **body,
        }


class SurpriseDraft(Draft):
    """A ledger with the surprise guard as it will be once the transaction is committed."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._new_claims: dict[bytes, ClaimRow] = {}

    @property
    def book(self) -> Book:
        """What the guard keeps count of."""
        return book_of(self.surprise, self.state)

    def _claim(self, subject: bytes) -> ClaimRow | None:
        return self._new_claims.get(subject) or super()._claim(subject)

    def entry(self, seq: int) -> Entry:
        """An entry, also one of this draft."""
        ahead = seq - self._head.seq - 1 + len(self._added)
        return self._added[ahead] if ahead >= 0 else super().entry(seq)

    def add_claim(
        self,
        asking: Asking,
        t: int | None,
        bill: Mapping[str, Any],
        share: Fraction | None = None,
    ) -> Entry:
        """Register what a question claims, at this point of the past."""
        claim, book = self.surprise.next_claim(
            self.book, self.state.spent, self.state.records, asking, t, share
        )
        after = replace(self._unchanged(), book=self.surprise.write_book(book))
        about = subject_of(asking, t)
        body = {
            "subject": about,
            "canonical": asking.canonical,
            "asked": asking.asked.to_dict(),
            "at": t,
            **claim.to_dict(),
            "declared": share is not None,
            **bill,
        }
        entry = self._chain("claim", {**body, "time": after.time}, after)
        self._new_claims[subject_key(about)] = ClaimRow(entry.seq, None)
        self.surprise.remember(entry.hash, claim)
        return entry

    def count_free(self, analyst: str) -> dict[str, Any]:
        """Count a claim that costs nothing among the analyst's free entries; what it says then."""
        self._take_free(analyst)
        return {"free": True}

    def prepare(self, form: Any, t: int, bill: Mapping[str, Any]) -> None:
        """Register the claim of a question, unless it has one: those of a list come first."""
        if form.claims and self.claim_row(subject_key(subject_of(form, t))) is None:
            self.add_claim(form, t, bill)

    def terms(self, form: Any, t: int) -> Terms:
        """The terms of a question at round t."""
        return terms_of(self, form, t)

    def add_charge(self, body: Mapping[str, Any], form: Any, t: int, key: str | None) -> Entry:
        """Fix the terms of a question that is answered later; what it costs, the outcome says."""
        terms, after = self.terms(form, t), self._unchanged()
        asked = {"canonical": form.canonical, "round": t, **terms.to_dict(), **body}
        entry = self._add("charge", {**asked, "time": after.time}, after, key)
        self._new_charged[question(form.canonical, t)] = entry
        if terms.claim is not None:
            self.surprise.remember(entry.hash, terms.claim)
        return entry

    def add_answer(
        self, body: Mapping[str, Any], form: Any, t: int, charge: Entry | None, key: str | None
    ) -> Entry:
        """Keep an outcome and what it costs."""
        paid: dict[str, Any] = {}
        if charge is not None:
            bill = charge.read()
            paid = {name: bill[name] for name in _BILL if name in bill} | {"menu_entry": charge.seq}
            self._settled.append(question(form.canonical, t))
            key = None  # the charge has it
        subject = subject_key(subject_of(form, t))
        row = self.claim_row(subject) if form.is_number else None
        before = None if row is None or row.last is None else self.entry(row.last).read()
        values = {**body, **paid, **combine(body, before)}
        analyst, units = values["analyst"], int(body["charge"])
        self.filter.charge(1, units)
        totals = self._rounds.get(t, RoundTotals(t, 0, 0))
        self._rounds[t] = totals.plus(1, 1)
        self.spending[analyst] = self.spent_by(analyst).plus(units, 1)
        after = state_after(self.state, self.book, body, self._now())
        entry = self._add_result("answer", values, form.canonical, t, key, after)
        if row is not None and is_latest({**values, "round": t}, before):
            self._new_claims[subject] = ClaimRow(row.seq, entry.seq)
        return entry

    def flush(self) -> None:
        super().flush()
        if self._new_claims:
            self.store.note_claims(self._new_claims)


def terms_of(view: View, asking: Asking, t: int) -> Terms:
    """The terms of a question as the past has them now.

    A claim that is not registered yet is taken to be the next one.
    """
    policy, claim, row = view.surprise, None, None
    known = last = None
    book = book_of(policy, view.state)
    if asking.claims:
        row = view.claim_row(subject_key(subject_of(asking, t)))
    if row is not None:
        claim = claim_of(policy, view.entry(row.seq))
        found = view.answered(asking.canonical, t) if asking.is_number and row.last else None
        known = None if found is None else found.read()
        last = None if row.last is None else view.entry(row.last).read()
        if known is not None and known.get("cell") is None:
            known = None
    elif asking.claims:
        spent, records = view.state.spent, view.state.records
        claim, _ = policy.next_claim(book, spent, records, asking, t)
    menu = asking.menu(Past(t, claim, known, last, book.doubt))
    return Terms(asking, t, claim, None if row is None else row.seq, menu)


def kept_terms(view: View, asking: Asking, entry: Entry) -> Terms:
    """The terms that an entry fixed, whatever came since; ``asking`` is as it was charged."""
    body, claim = entry.read(), view.surprise.known_claim(entry.hash)
    if claim is None and body["claim_entry"] is not None:
        claim = claim_of(view.surprise, view.entry(int(body["claim_entry"])))
    return Terms(asking, int(body["round"]), claim, body["claim_entry"], body["menu"])


def is_latest(body: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    """Whether a number is the one to expect from now on: that of the last round."""
    is_later = before is None or body["round"] >= before["round"]
    return is_later and body["cell"] is not None


def combine(body: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """What all answers to a question say together; None if they contradict each other."""
    if body["kind"] != "cell":
        return {}
    low, high = body["interval"]
    if before is not None:
        past = before["combined"] or before["interval"]
        low, high = max(low, past[0]), min(high, past[1])
    return {"combined": [low, high] if low <= high else None}


def state_after(state: State, book: Book, body: Mapping[str, Any], time: float) -> State:
    """The state after an answer: what it cost, and whether it came as expected."""
    came, after = came_as_expected(body), state.charged(int(body["charge"]), time)
    if came is None:
        return after
    surprised = book.surprised + (not came)
    book = replace(book, expected=book.expected + 1, surprised=surprised)
    return replace(after, book=book.to_dict())


def came_as_expected(body: Mapping[str, Any]) -> bool | None:
    """Whether a number came as expected; None if nothing was, or if it is no number."""
    menu, outcome = body["menu"], body["outcome"]
    if menu["kind"] == "rate":
        is_expected = menu["mode"] in ("expected", "again") and len(outcome) > 1
        return outcome[1] == 0 if is_expected else None
    return outcome == 0 if menu["kind"] in ("expected", "again") else None


def book_of(policy: SurprisePolicy, state: State) -> Book:
    """What a state keeps count of."""
    if state.book is None:
        raise LedgerCorrupt("the ledger", "it does not keep count of its claims")
    return policy.book_of(state.book)


def claim_of(policy: SurprisePolicy, entry: Entry) -> Claim:
    """The claim that an entry registered."""
    known = policy.known_claim(entry.hash)
    return known or policy.remember(entry.hash, Claim.from_dict(policy.beta, entry.read()))


def subject_of(asking: Asking, t: int | None) -> str:
    """What a claim is about: a question or, if it holds for one round only, that round's."""
    return f"{asking.subject} at {t}" if asking.is_one_round else asking.subject


@lru_cache(maxsize=1024)
def subject_key(subject: str) -> bytes:
    """The key under which the index has a claim."""
    return hashlib.sha256(subject.encode()).digest()[:20]


def asking_of_entry(schema: Schema, body: Mapping[str, Any]) -> Asking:
    """The question of a charge or an answer."""
    asked = Expectation.of(**body["asked"])
    return asking_of(str(body["canonical"]), schema, asked)
