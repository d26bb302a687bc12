"""The state machine under the surprise guard: the same steps and faults, with options and claims.

What is told follows from the records, so what was spent is not predicted but added up: from the
weights of every outcome that anybody was told.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import surehold as sh
from session.test_state_machine import (
    FAULTS,
    Asked,
    Faults,
    Keys,
    Machine,
)
from session.test_state_mutants import of_all_records, swallowed
from support.machine import FAULTY, Crash
from support.noise_sources import FastSeededNoise
from support.runtime import COLUMNS, ID, N0
from support.workload import CASES, OF_TABLES, YOUTH, in_process
from surehold.data.record_store import RecordStore
from surehold.ledger.ledger import Ledger
from surehold.ledger.store import Store
from surehold.ledger.surprise_draft import SurpriseDraft
from surehold.ledger.surprise_policy import units_of_bits
from surehold.session import succession
from surehold.session.dataset import Dataset
from surehold.session.evaluation import Evaluator
from surehold.session.outcomes import (
    DecisionOutcome,
    LadderOutcome,
    NumberOutcome,
    SelectionOutcome,
    TableOutcome,
)
from surehold.session.surprise_admission import SurpriseAdmission

NUMBER = ({}, {"expect": "0.5", "within": "0.05"}, {"within": "0.001"}, {"doubt": "0.3"})
LADDER = (
    {},
    {"expect": "no"},
    {"expect": "not better", "within": "0.02"},
    {"expect": "no", "within": "0.02", "doubt": "0.1"},
)
GATE = ({}, {"expect": "undecided"}, {"expect": "not pass"}, {"expect": "fail", "doubt": "0.4"})
TABLE = ({}, {"within": "0.1"}, {"within": "0.01"})
OPTIONS: dict[str, tuple[dict[str, str], ...]] = {
    "fraction": NUMBER,
    "mean": ({}, {"expect": "10", "within": "0.5"}),
    "difference": LADDER,
    "improvement": LADDER,
    "rate": NUMBER,
    "conditional mean": ({}, {"within": "0.2"}),
    "gate": GATE,
    "gate of a rate": GATE,
    "cells": TABLE,
    "totals": TABLE,
    "means": TABLE,
    "auc": NUMBER,
}
KINDS = (NumberOutcome, DecisionOutcome, LadderOutcome, SelectionOutcome, TableOutcome)
CAPPED = 25  # bits, for every fourth analyst
WHOLE = 80  # bits, for some datasets


@dataclass
class Tally:
    """What the machine knows: sizes, and every outcome that was told, by its entry."""

    n: int = 0
    told: dict[int, dict[str, Any]] | None = None
    inherited: int = 0  # units that a predecessor spent


class SurpriseMachine(Machine):
    """Up to two connections to one dataset, whose analysts may have limits in bits."""

    model: Any

    def connect(self) -> None:
        self.copies += 1
        dataset = Dataset(self.path, FastSeededNoise(self.copies), lambda: self.now)
        dataset.register(YOUTH)
        limit = CAPPED if self.copies % 4 == 2 else None
        self.open.append((dataset, dataset.session(f"analyst {self.copies % 4}", limit=limit)))

    @initialize(
        count=st.sampled_from((0, 1, 2, 7, 60, 300)),
        data=st.data(),
        whole=st.sampled_from((None, None, WHOLE)),
        ids=st.booleans(),
    )
    def create(self, count: int, data: st.DataObject, whole: int | None, ids: bool) -> None:
        every = st.sampled_from(sorted(CASES.keys() - {"fit"}))
        names = data.draw(st.lists(every, min_size=2, max_size=5, unique=True), label="cases")
        self.path, self.names = self.root / "evals", names
        self.whole, self.has_ids = whole, ids
        columns, id = ({ID: "int", **COLUMNS}, ID) if ids else (COLUMNS, None)
        sh.create(self.path, beta="0.05", columns=columns, id=id, limit=self.whole).close()
        self.model = Tally(told={})
        self.connect()
        self.happened("told")
        if count:
            self.append(count, 0, None, 0)

    def happened(self, came: str) -> None:
        """Every state that an entry left behind is one that may be found after a power cut."""
        states = []
        for entry in self.open[0][0]._ledger.store.entries():
            state = entry.state()
            states.append((state.records, state.answers, state.spent))
        assert states[: len(self.history)] == self.history
        self.history = states
        if came == "told":
            self.witnessed = len(states) - 1

    @property
    def ledger(self) -> Ledger:
        ledger: Ledger = self.open[0][0]._ledger
        ledger.refresh()
        return ledger

    # -------------------------------------------------------------------------------- asking

    def drawn(self, asked: int, option: int) -> tuple[str, Any, dict[str, str]]:
        name = self.names[asked % len(self.names)]
        options = OPTIONS.get(name, ({},))
        return name, (CASES | OF_TABLES)[name].query, options[option % len(options)]

    def ask_about_tables(self) -> None:
        self.names = [*OF_TABLES, *self.names[:3]]

    @rule(asked=Asked, option=st.integers(0, 3), which=st.integers(0, 1))
    def quote(self, asked: int, option: int, which: int) -> None:
        _, session = self.open[which % len(self.open)]
        _, query, options = self.drawn(asked, option)
        head = self.ledger.head.seq
        quote = session.quote(query, **options)
        assert quote.least <= quote.most + 1e-9
        assert quote.recorded <= (quote.most == 0.0)
        if not self.model.n:
            assert not quote.allowed
        assert self.ledger.head.seq == head

    @rule(
        asked=Asked,
        option=st.integers(0, 3),
        key=Keys,
        fault=Faults,
        skipped=st.integers(0, 1),
        which=st.integers(0, 1),
    )
    def ask(
        self, asked: int, option: int, key: str | None, fault: str | None, skipped: int, which: int
    ) -> None:
        name, query, options = self.drawn(asked, option)
        session = self.open[which % len(self.open)][1]
        self.skipped = skipped
        found = self.attempt(fault, which, lambda: [session.ask(query, key=key, **options)])
        for one in found:
            self.check_told(name, one)

    @rule(
        asked=st.lists(Asked, max_size=4),
        key=Keys,
        fault=Faults,
        skipped=st.integers(0, 1),
        which=st.integers(0, 1),
    )
    def ask_many(
        self, asked: list[int], key: str | None, fault: str | None, skipped: int, which: int
    ) -> None:
        drawn = [self.drawn(one, 0) for one in asked]
        session = self.open[which % len(self.open)][1]
        self.skipped = skipped
        found = self.attempt(
            fault, which, lambda: session.ask_many([query for _, query, _ in drawn], key=key)
        )
        for (name, _, _), one in zip(drawn, found, strict=bool(found)):
            self.check_told(name, one)

    @rule(asked=st.lists(Asked, max_size=3), fault=Faults, which=st.integers(0, 1))
    def claim(self, asked: list[int], fault: str | None, which: int) -> None:
        """Registered at once, in one transaction, once for each question, free."""
        session = self.open[which % len(self.open)][1]
        queries, before = [self.drawn(one, 0)[1] for one in asked], self.ledger.state.spent
        self.skipped = 0
        for one in self.attempt(fault, which, lambda: session.register(queries)):
            assert one.claim is not None
            assert one.claim >= 1
            assert 0 < one.share < 1
        assert self.ledger.state.spent == before

    @rule(number=st.integers(0, 2), unit=st.sampled_from((None, "%")), fault=Faults)
    def name(self, number: int, unit: str | None, fault: str | None) -> None:
        """Named and claimed in one transaction: a name without its claim is never found."""
        question = {"name": f"q {number}", "question": f"age > {90 + number}", "unit": unit}
        session, self.skipped = self.open[0][1], 0
        dashboard = sh.Dashboard.of([question])
        for one in self.attempt(fault, 0, lambda: session.register(dashboard)):
            assert one.title == f"q {number}"
            assert one.claim is not None
        if not self.model.inherited:  # a successor claims anew, when it is asked
            names = {body["canonical"] for body in self.bodies("name")}
            assert names <= {body["canonical"] for body in self.bodies("claim")}

    @precondition(lambda self: self.bodies("name"))
    @rule(fault=Faults, which=st.integers(0, 1))
    def watch(self, fault: str | None, which: int) -> None:
        session, self.skipped = self.open[which % len(self.open)][1], 0
        named = {body["name"] for body in self.bodies("name")}
        found = self.attempt(fault, which, lambda: session.watch().questions)
        assert not found or {one.name for one in found} == named
        for one in found:
            self.check_told(None, one.result)

    @rule(bits=st.sampled_from((0, 10, 40)), fault=Faults, which=st.integers(0, 1))
    def reserve(self, bits: int, fault: str | None, which: int) -> None:
        """For one who never asks; that nobody spends it is seen after every step."""
        which %= len(self.open)
        dataset, before = self.open[which][0], self.ledger.reserved
        left = None if self.whole is None else units_of_bits(Fraction(self.whole))
        try:
            came, _ = self.do(fault, lambda: dataset.reserve("absent", bits), which)
        except sh.InvalidInput:
            is_open = self.ledger.store.unanswered() > 0  # whose cost is kept for them
            is_less = left is None or left - self.ledger.state.spent < units_of_bits(Fraction(bits))
            assert bits
            assert is_less or is_open
            return
        if came == "refused":
            assert self.ledger.reserved == before
        else:
            kept = self.ledger.reserved.get("absent")
            assert (kept.units if kept else 0) == units_of_bits(Fraction(bits))
        self.happened(came)

    @precondition(lambda self: self.has_ids and self.model.n > 2)
    @rule(
        erased=st.integers(0, 2),
        fault=st.none() | st.sampled_from(FAULTS[:-1]),
        skipped=st.integers(0, 4),
    )
    def succeed(self, erased: int, fault: str | None, skipped: int) -> None:
        """Another dataset takes over, once, with all that was spent, wherever that is cut off."""
        before, reserved, n = self.ledger.state, self.ledger.reserved, self.model.n
        named = {body["name"] for body in self.bodies("name")}
        self.close_all()
        place = self.new_copy()
        place.mkdir()
        self.path.rename(place / "old")
        wish: dict[str, Any] = {"columns": {"bmi": "float"}, "reason": "on request"}
        wish |= {"erase": range(n - erased, n)} if erased else {}
        try:
            with FAULTY.with_one(fault, place, self.new_copy(), skipped):
                sh.succeed(place / "old", place / "new", **wish)
        except Crash:
            place = FAULTY.copy
        except sh.StorageFailed:
            assert FAULTY.fired == fault
        with Dataset(place / "old") as old:
            old.verify()
        done = sh.succeed(place / "old", place / "new", **wish)  # finishes it, if need be
        assert (done.n, done.erased) == (n - erased, erased)
        with Dataset(place / "old") as old:
            assert replace(old._ledger.state, time=before.time) == before
            with pytest.raises(sh.RequestRefused, match="'new' took over"):
                old.session()
            old.verify()
        assert sorted(one.name for one in place.iterdir()) == ["new", "old"]
        taken = done.tables, set(done.questions), done.reservations, done.left_out
        assert taken == (("p",) * self.is_kept, named, tuple(reserved), ())
        self.path, self.history = place / "new", []
        self.is_cut = self.is_cut or bool(erased and self.is_kept)
        self.model = Tally(n - erased, {}, before.spent)
        self.connect()
        assert self.ledger.reserved == reserved
        self.happened("told")

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        return [entry.read() for entry in self.ledger.store.entries() if entry.kind == kind]

    def attempt(self, fault: str | None, which: int, work: Any) -> Any:
        """What came of it; a refusal changes nothing, and neither does a fault at the start."""
        which %= len(self.open)
        session = self.open[which][1]
        head = self.ledger.head.seq
        refused: sh.SureholdError | None = None
        try:
            came, results = self.do(fault, work, which)
        except (sh.InvalidInput, sh.NotReady, sh.BudgetExhausted) as error:
            came, results, refused = "told", [], error
        if refused is not None:
            is_right = {
                sh.InvalidInput: "key" in str(refused),
                sh.NotReady: not self.model.n,
                sh.BudgetExhausted: session.limit is not None or self.whole is not None,
            }[type(refused)]
            assert is_right, refused
            assert self.ledger.head.seq == head
        if came == "refused" and not self.skipped and fault != "full":
            assert self.ledger.head.seq == head
        self.happened(came)
        return results if came == "told" else []

    def check_told(self, name: str | None, result: Any) -> None:
        """It is in the ledger, as it was told before; and it is right of the records."""
        assert type(result) in KINDS
        said = {**result.to_dict(), "recorded": None}
        known = self.model.told.setdefault(result.entry, said)
        words = dict.fromkeys(("text", "title", "display", "name"))
        assert {**known, **words} == {**said, **words}
        bits = -sum(log2(Fraction(weight)) for weight in result.exact["weights"])
        assert result.surprise == pytest.approx(bits, abs=1e-9)
        exact = (CASES | OF_TABLES)[name].exact if name else None
        if exact is None or result.round < 2 or isinstance(result, DecisionOutcome | LadderOutcome):
            return
        with np.errstate(all="ignore"):
            truth = exact(result.round)
        match result:
            case SelectionOutcome() if result.round > 50:
                assert result.index == truth
            case TableOutcome():
                for cell, one in zip(result.cells, truth, strict=True):
                    assert cell.interval is None or cell.interval[0] - 1e-6 <= one
                    assert cell.interval is None or one <= cell.interval[1] + 1e-6
            case NumberOutcome() if result.value is not None:
                assert result.low - 1e-6 <= truth <= result.high + 1e-6

    @rule(data=st.data(), which=st.integers(0, 1))
    def hold(self, data: st.DataObject, which: int) -> None:
        _, session = self.open[which % len(self.open)]
        round = data.draw(st.none() | st.sampled_from((1, 2, 5, N0)))
        if round is not None and round > self.model.n:
            with pytest.raises(sh.NotReady):
                session.hold(round)
        else:
            session.hold(round)

    @rule(which=st.integers(0, 1))
    def verify(self, which: int) -> None:
        dataset = self.open[which % len(self.open)][0]
        verified = dataset.verify()
        assert (verified.records, verified.answers) == (self.model.n, self.history[-1][1])
        kept = {answer.entry: answer for answer in dataset.transcript}
        for entry, said in self.model.told.items():
            again = {**kept[entry].to_dict(), "recorded": None}
            for name in ("value", "low", "high", "verdict", "steps", "index", "cells", "exact"):
                assert again.get(name) == said.get(name)

    # --------------------------------------------------------------------------- what holds

    @invariant()
    def everything_is_as_in_the_model(self) -> None:
        for dataset, _ in self.open:
            ledger = dataset._ledger
            state = ledger.refresh()
            assert dataset.n == state.records == self.model.n
            answers = [e.read() for e in ledger.store.entries() if e.kind == "answer"]
            paid = sum(int(body["charge"]) for body in answers)
            assert state.spent == self.model.inherited + paid
            assert state.answers == len(answers)
            claims = [e.read()["subject"] for e in ledger.store.entries() if e.kind == "claim"]
            assert len(claims) == len(set(claims)) == len(ledger.store.claims())
            kept = sum(one.units for one in ledger.reserved.values())
            limits: list[tuple[int, int | None]] = [(state.spent + kept, self.whole)]
            limits += [(ledger.spent_by(f"analyst {i}").units, CAPPED) for i in (2,)]
            for spent, most in limits:
                assert most is None or spent <= units_of_bits(Fraction(most))
        pairs = zip(self.history, self.history[1:], strict=False)
        assert all(a <= b for one in pairs for a, b in zip(*one, strict=True))


def run(examples: int, steps: int, **more: Any) -> None:
    run_state_machine_as_test(
        SurpriseMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            **more,
        ),
    )


@pytest.fixture(autouse=True)
def faults(monkeypatch):
    FAULTY.install(monkeypatch)
    in_process(monkeypatch)


@pytest.fixture(autouse=True)
def charged_before_it_is_looked_at(monkeypatch):
    """Whatever is evaluated has a charge that others can see on the disk."""
    real = Evaluator.evaluate

    def evaluate(self: Evaluator, due: Any, charges: Any, *rest: Any) -> Any:
        path = self._ledger.folder / "ledger.sqlite"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as other:
            for asked in due:
                charge = charges[asked]
                row = other.execute("SELECT hash FROM entries WHERE seq = ?", (charge.seq,))
                assert row.fetchall() == [(charge.hash,)], "looked at before it was charged"
        return real(self, due, charges, *rest)

    monkeypatch.setattr(Evaluator, "evaluate", evaluate)


def test_whatever_is_done_in_whatever_order() -> None:
    run(30, 25)


# ------------------------------------------------------------------ that the machine can fail


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "a ledger that tells although its commit failed": (Ledger, "writing", swallowed),
    "a snapshot that grows": (RecordStore, "exact", of_all_records),
    "a charge that is forgotten": (Store, "note_charged", lambda *_: None),
    "a charge that is never settled": (Store, "drop_charged", lambda *_: None),
    "a claim at each ask": (SurpriseDraft, "claim_row", lambda *_: None),
    "a successor that forgets what was spent": (
        succession._Wish,
        "_past",
        lambda self, draft, erased, real=succession._Wish._past: {
            **real(self, draft, erased),
            "spent": "0",
            "spending": {},
        },
    ),
    "limits that are not looked at": (SurpriseAdmission, "_left", lambda *_: None),
    "outcomes that are free": (
        SurpriseDraft,
        "add_answer",
        lambda self, body, *rest, real=SurpriseDraft.add_answer: real(
            self, {**body, "charge": "0"}, *rest
        ),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str, monkeypatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    caught = (AssertionError, sh.SureholdError, AttributeError, ValueError, KeyError)
    caught = (*caught, UnboundLocalError)  # what a swallowed commit never assigned
    with pytest.raises(caught):
        run(300, 25, phases=[Phase.generate], report_multiple_bugs=False)
