"""Replay of a ledger with the surprise guard: all of it follows from the past and the records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from surehold.errors import InvalidInput, LedgerCorrupt
from surehold.ledger.entries import Entry, State
from surehold.ledger.ledger import Ledger
from surehold.ledger.replay import Records, Replay, must
from surehold.ledger.submissions import ANSWERS, KeptSubmission, best_of, questions_of
from surehold.ledger.surprise_draft import (
    Terms,
    asking_of_entry,
    book_of,
    combine,
    is_latest,
    kept_terms,
    state_after,
    subject_key,
    subject_of,
    terms_of,
)
from surehold.ledger.tables import ClaimRow, RoundTotals, Spent
from surehold.ledger.view import View, check_registered, question
from surehold.mechanisms.outcomes.base import Asking
from surehold.queries.leaderboards import LeaderboardRules
from surehold.queries.side_tables import SideTable

_AT_ONCE = 256  # answers of a round that are computed again in one pass


class _Past(View):
    """What the ledger knew before an entry: claims and answers up to there."""

    def __init__(self, ledger: Ledger) -> None:
        self.store, self.rules = ledger.store, ledger.rules
        self.claims: dict[bytes, ClaimRow] = {}
        self.answers: dict[bytes, Entry] = {}

    def _claim(self, subject: bytes) -> ClaimRow | None:
        return self.claims.get(subject)

    def _find(self, keys: Sequence[bytes]) -> tuple[dict[bytes, Entry], dict[bytes, Entry]]:
        return {key: self.answers[key] for key in keys if key in self.answers}, {}


class _Answer(NamedTuple):
    """An answer whose outcome is yet to be computed from the records."""

    seq: int
    terms: Terms
    outcome: Any


class SurpriseReplay(Replay):
    """Claims, menus, prices and intervals again from the past, outcomes from the records."""

    def __init__(self, ledger: Ledger, records: Records) -> None:
        super().__init__(ledger, records)
        self._past = _Past(ledger)
        self._charges: dict[int, Entry] = {}
        self._answers: dict[int, list[_Answer]] = defaultdict(list)
        self._board: LeaderboardRules | None = None
        self._submissions: list[KeptSubmission] = []

    def _asking(self, body: dict[str, Any]) -> Asking:
        ledger = self._ledger
        asking = asking_of_entry(ledger.schema, body)
        check_registered(asking, self._registered.get)
        must(asking.canonical == body["canonical"], "its query is not in canonical form")
        return asking

    def check_claim(self, body: dict[str, Any], entry: Entry) -> State:
        policy, past = self._ledger.surprise, self._past
        asking, t = self._asking(body), body["at"]
        about = subject_of(asking, t)
        must(body["time"] == entry.state().time, "its time is not that of the state after it")
        must(body["subject"] == about, "its subject is not that of its query")
        must(subject_key(about) not in past.claims, "its question had a claim before")
        share = Fraction(body["share"]) * asking.claims if body["declared"] else None
        book = book_of(policy, self.state)
        spent, records = self.state.spent, self.state.records
        claim, after = policy.next_claim(book, spent, records, asking, t, share)
        for name, value in claim.to_dict().items():
            must(body[name] == value, f"its {name} does not follow from the past")
        past.claims[subject_key(about)] = ClaimRow(entry.seq, None)
        if body.get("free"):
            self._count_free(body, entry)
        return State(**{**vars(self.state), "book": after.to_dict()})

    def _fresh_terms(self, body: dict[str, Any], asking: Asking) -> Terms:
        """The terms of a question, which have to be what the past makes them."""
        t = int(body["round"])
        self._ledger.rules.round_for(self.state.records, t)
        self._past.state = self.state
        terms = terms_of(self._past, asking, t)
        if body["menu"] == asking.earlier_menu(terms.menu):
            terms = replace(terms, menu=body["menu"])
        for name, value in terms.to_dict().items():
            must(body[name] == value, f"its {name} does not follow from the past")
        return terms

    def check_charge(self, body: dict[str, Any], entry: Entry) -> State:
        self._fresh_terms(body, self._asking(body))
        self._check_asked(body, entry)
        self._charged[entry.seq] = body
        self._charges[entry.seq] = entry
        self._check_own_key(body, entry)
        return self.state

    def check_answer(self, body: dict[str, Any], entry: Entry) -> State:
        asking, past = self._asking(body), self._past
        past.state = self.state
        if "menu_entry" in body:
            charge = self._charges.pop(body["menu_entry"], None)
            must(charge is not None, "its menu was not fixed before, or was answered before")
            assert charge is not None
            fixed = self._charged.pop(charge.seq)
            for name in ("canonical", "round", "asked", "menu", "query", "analyst", "key"):
                must(body.get(name) == fixed.get(name), f"its {name} is not that of its menu")
            terms = kept_terms(past, asking, charge)
        else:
            terms = self._fresh_terms(body, asking)
            self._check_own_key(body, entry)
        t, subject = terms.t, subject_key(subject_of(asking, terms.t))
        row = past.claim_row(subject) if asking.is_number else None
        before = None if row is None or row.last is None else past.entry(row.last).read()
        again = terms.report(body["outcome"])
        for name, value in {**again, **combine(again, before)}.items():
            must(body[name] == value, f"its {name} does not follow from its outcome")
        if row is not None and is_latest(body, before):
            past.claims[subject] = ClaimRow(row.seq, entry.seq)
        past.answers[question(asking.canonical, t)] = entry
        self._answers[t].append(_Answer(entry.seq, terms, body["outcome"]))
        return self._count(body, entry, t)

    def check_leaderboard(self, body: dict[str, Any], entry: Entry) -> State:
        must(self._board is None, "a leaderboard was opened before")
        must(body["time"] == entry.state().time, "its time is not that of the state after it")
        self._board = LeaderboardRules.of(body)
        self._board.check(self._ledger.schema)
        must(self._board.round <= self.state.records, "its round had not been reached")
        return self.state

    def check_submission(self, body: dict[str, Any], entry: Entry) -> State:
        """It was compared with the best so far, by the board's question, at its round."""
        one, best, rules = KeptSubmission.of_entry(entry), best_of(self._submissions), self._board
        must(body["time"] == entry.state().time, "its time is not that of the state after it")
        must(rules is not None and one.of in self._kept, "it is not of a board, or a table")
        assert rules is not None
        must(one.of not in {known.of for known in self._submissions}, "it was submitted before")
        is_right = one.against == (None if best is None else best.of)
        must(is_right, "it was compared with another one than the best")
        new, old = (self._table(of) if of is not None else None for of in (one.of, one.against))
        assert new is not None
        answers = {}
        queries = questions_of(rules, new, old)
        for name in ANSWERS:
            seq = getattr(one, name)
            if seq is None:
                continue
            must(name in queries, f"it was compared with none, and has a {name}")
            answer = self._past.entry(seq)
            answers[name] = found = answer.read()
            is_it = answer.kind == "answer" and seq < entry.seq and found["round"] == rules.round
            canonical = self._canonical(self._with_tables(queries[name]))
            must(is_it and found["canonical"] == canonical, f"its {name} is another answer")
        step = float(Fraction(rules.step))
        must(answers.get("gain", {"step": step})["step"] == step, "its step is another one")
        wanted = {"gain"} if old else {"score"}
        is_best = old is None or answers.get("gain", {}).get("steps", 0) > 0
        if old is not None and is_best:
            wanted = {*ANSWERS}
        must(one.is_best is is_best, "whether it is the best does not follow from its answers")
        must({*answers} == wanted, "it does not have the answers that it needs")
        self._submissions.append(one)
        return self.state

    def _table(self, of: str) -> SideTable:
        return SideTable.of(self._kept[of], self._ledger.schema)

    def _count(self, body: dict[str, Any], entry: Entry, t: int) -> State:
        """What an answer adds to the accounts; the state after it."""
        units, analyst = int(body["charge"]), body["analyst"]
        self._filter.charge(1, units)
        self._rounds[t] = self._rounds.get(t, RoundTotals(t, 0, 0)).plus(1, 1)
        self._spending[analyst] = self._spending.get(analyst, Spent(0, 0)).plus(units, 1)
        self._check_asked(body, entry)
        book = book_of(self._ledger.surprise, self.state)
        after = state_after(self.state, book, body, self.state.time)
        most, kept = self._ledger.surprise.limit_units, self._kept_from(analyst).units
        is_free = most is None or after.spent + kept <= most
        must(is_free, "it spent what was reserved for another analyst, or more than the limit")
        return after

    def _claims(self) -> dict[bytes, ClaimRow]:
        return self._past.claims

    def _check_tables(self) -> None:
        self._questions = len(self._past.answers)
        super()._check_tables()
        kept = {key: entry.seq for key, entry in self._past.answers.items()}
        for key, found in self._ledger.store.find(list(kept))[0].items():
            must(found.seq == kept.pop(key), "its index leads to another answer than the last one")
        must(not kept, "its index does not lead to all answers")

    def finish(self, head: Entry, live: int) -> None:
        super().finish(head, live)
        if not self._ledger.has_records:
            return
        for t, answers in self._answers.items():
            for start in range(0, len(answers), _AT_ONCE):
                self._recompute(answers[start : start + _AT_ONCE], t)

    def _recompute(self, answers: Sequence[_Answer], t: int) -> None:
        """Compute outcomes from the records; models and functions may not be at hand."""
        there = [one for one in answers if self._is_at_hand(one, t)]
        sources = [source for one in there for source in one.terms.asking.sources]
        found = iter(self._records.exact(sources, t) if sources else ())
        for one in there:
            exact = [next(found) for _ in one.terms.asking.sources]
            terms = one.terms
            outcome = terms.asking.outcome(terms.menu, terms.claim, t, exact)
            if outcome != one.outcome:
                reason = "its outcome is not that of the records"
                raise LedgerCorrupt("the ledger", reason, one.seq)
        self.recomputed += len(there)

    def _is_at_hand(self, answer: _Answer, t: int) -> bool:
        try:
            self._records.check_evaluable(answer.terms.asking.sources, t)
        except InvalidInput:
            return False
        return True
