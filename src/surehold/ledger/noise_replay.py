"""Replay of a ledger with the noise guard: charges against the plan, answers from noisy numbers."""

from __future__ import annotations

from typing import Any

from surehold.ledger.answer_entries import derived_body, recompute_body
from surehold.ledger.entries import Entry, State
from surehold.ledger.replay import Replay, must
from surehold.ledger.tables import RoundTotals, Spent
from surehold.ledger.view import check_registered, question
from surehold.queries import Derived, Form, form_of, recorded_query


class NoiseReplay(Replay):
    """What a plan allows, and what follows from noisy numbers."""

    def _form(self, body: dict[str, Any]) -> Form:
        """What was asked, in canonical form, and may be asked at its round."""
        policy, canonical = self._ledger.policy, str(body["canonical"])
        policy.round_for(self.state.records, int(body["round"]))
        form = form_of(canonical, self._ledger.schema)
        policy.check_covers(form)
        check_registered(form, self._registered.get)
        must(form.canonical == canonical, "its query is not in canonical form")
        return form

    def _take(self, body: dict[str, Any], form: Form) -> State:
        """Charge for a query, as it was charged; the state after that."""
        policy, t = self._ledger.policy, int(body["round"])
        units = policy.charge(form, t)
        must(body["charge"] == str(units), "its charge is not that of its query and round")
        must(self._filter.admits(t, units), "its charge did not fit")
        state = self.state.charged(units, 0.0, form.slots)
        must(state.answers <= self._ledger.plan.queries, "the plan has no more answers")
        kept, most = self._kept_from(body["analyst"]), self._ledger.plan.queries
        is_free = units <= self._filter.remaining(t) - kept.units
        is_free = is_free and state.answers <= most - kept.answers
        must(is_free, "it was charged to what was reserved for another analyst")
        self._filter.charge(t, units)
        totals = self._rounds.get(t, RoundTotals(t, 0, 0))
        self._rounds[t] = totals.plus(form.slots, form.price)
        spent = self._spending.get(body["analyst"], Spent(0, 0))
        self._spending[body["analyst"]] = spent.plus(units, form.slots)
        return state

    def check_charge(self, body: dict[str, Any], entry: Entry) -> State:
        state = self._take(body, self._form(body))
        self._check_asked(body, entry)
        self._charged[entry.seq] = body
        self._check_own_key(body, entry)
        return state

    def check_answer(self, body: dict[str, Any], entry: Entry) -> State:
        t, form = int(body["round"]), self._form(body)
        if "charged" in body:
            charge = self._charged.pop(body["charged"], None)
            must(charge is not None, "it was not charged, or was answered before")
            assert charge is not None
            for name in ("canonical", "round", "charge", "query", "analyst", "key"):
                must(body.get(name) == charge.get(name), f"its {name} is not that of its charge")
            state = self.state
        else:
            state = self._take(body, form)
            self._check_own_key(body, entry)
        again = recompute_body(form, body, self._ledger.policy, t)
        must(again["kind"] != "choice" or isinstance(body["name"], str), "it has no name")
        for name, value in again.items():
            must(body[name] == value, f"its {name} is not what its noisy number gives")
        self._check_result(body, entry, state)
        return state

    def check_derived(self, body: dict[str, Any], entry: Entry) -> State:
        canonical = str(body["canonical"])
        query = recorded_query(canonical)
        must(isinstance(query, Derived) and query.canonical == canonical, "it is no such query")
        assert isinstance(query, Derived)
        parts = [int(part) for part in body["parts"]]
        must(all(part < entry.seq for part in parts), "its parts come after it")
        for name, value in derived_body(query, parts, self._ledger).items():
            must(body[name] == value, f"its {name} does not follow from its parts")
        first = self._ledger.store.entry(parts[0])
        assert first is not None  # derived_body found all of them, at one round
        must(first.read()["round"] == int(body["round"]), "its round is not that of its parts")
        self._check_result(body, entry, self.state)
        self._check_own_key(body, entry)
        if body.get("free"):
            self._count_free(body, entry)
        return self.state

    def _check_result(self, body: dict[str, Any], entry: Entry, state: State) -> None:
        """What every answer has; ``state`` is the one after it."""
        self._check_asked(body, entry)
        left = self._ledger.policy.answers_left(self._filter, body["round"], state.answers)
        must(body["left"] == left, "it left another number of answers")
        asked = question(str(body["canonical"]), int(body["round"]))
        found = self._ledger.store.find([asked])[0].get(asked)
        must(found is not None and found.seq == entry.seq, "the index does not lead to it")
        self._questions += 1
