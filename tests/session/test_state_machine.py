"""Everything that can be done to a dataset, in any order, with a fault at every commit point."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import holdfast as hf
from holdfast.data import growing, segments
from holdfast.data.growing import Exact, GrowingData
from holdfast.data.segments import SegmentWriter
from holdfast.ledger.filter import RecordFilter
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.policy import Policy
from holdfast.ledger.store import Store
from holdfast.session.dataset import Dataset
from noise_sources import FastSeededNoise
from runtime import N0, adaptive_plan, age_of, batch_plan, made, older, records

AGES = (5, 20, 50, 80, 95)
FAULTS = (
    *("before", "after", "crash before", "crash after"),  # COMMIT
    *("before", "after"),  # these oftener
    *("publish before", "publish after", "crash publish before", "crash publish after"),
    *("fsync", "full"),
)
Faults = st.none() | st.sampled_from(FAULTS)
Asked = st.sampled_from(AGES)
Keys = st.none() | st.sampled_from(("a", "b", "c"))


class Crash(BaseException):
    """The machine stops here; what goes on is a copy of the disk as it was."""


class Faulty:
    """Makes one fault happen, and remembers that it did."""

    def __init__(self) -> None:
        self.armed: str | None = None
        self.fired: str | None = None
        self.path = self.copy = Path()

    @contextmanager
    def with_one(self, fault: str | None, path: Path, copy: Path) -> Iterator[None]:
        self.armed, self.fired, self.path, self.copy = fault, None, path, copy
        try:
            yield
        finally:
            self.armed = None

    def at(self, point: str, error: Exception) -> None:
        if self.armed == point:
            self.fired, self.armed = point, None
            raise error
        if self.armed == f"crash {point}":
            self.fired, self.armed = self.armed, None
            shutil.copytree(self.path, self.copy)
            raise Crash

    def install(self, patch: pytest.MonkeyPatch) -> None:
        commit, publish, fsync = Store._commit, SegmentWriter.publish, os.fsync
        broken = sqlite3.OperationalError("disk I/O error")
        lost = OSError(errno.EIO, "Input/output error")

        def commit_with_faults(store: Store) -> None:
            self.at("before", broken)
            commit(store)
            self.at("after", broken)

        def publish_with_faults(writer: SegmentWriter, start: int) -> Any:
            with segments._told_plainly():
                self.at("publish before", lost)
                published = publish(writer, start)
                self.at("publish after", lost)
            return published

        def fsync_with_faults(file: int) -> None:
            self.at("fsync", lost)
            fsync(file)

        patch.setattr(Store, "_commit", commit_with_faults)
        patch.setattr(SegmentWriter, "publish", publish_with_faults)
        patch.setattr(os, "fsync", fsync_with_faults)
        patch.setattr(growing, "LARGE", 50)
        patch.setattr(growing, "RECORDS", 50)


FAULTY = Faulty()


class Model:
    """What a dataset must be like, in a few plain values."""

    def __init__(self, policy: Policy, n: int) -> None:
        self.policy = policy
        self.n = n
        self.spent = 0
        self.values: dict[tuple[int, int], float | None] = {}  # by age and round; None: not told
        self.keys: dict[str, tuple[int, int]] = {}

    def round(self, held: int | None) -> int | None:
        try:
            return self.policy.round_for(self.n, held)
        except hf.NotReady:
            return None

    def fits(self, round: int, count: int) -> bool:
        """The filter from scratch: every record that is first in its piece, one by one."""
        charge = self.policy.mechanism.charge
        if len(self.values) + count > self.policy.plan.queries:
            return False
        if self.policy.schedule is None:
            return self.spent + count * charge(round) <= self.policy.budget
        for start in (0, *self.policy.rounds[:-1]):
            if start < round:
                budget = sum(k * charge(t) for t, k in self.policy.schedule if t > start)
                spent = sum(charge(t) for _, t in self.values if t > start)
                if spent + count * charge(round) > budget:
                    return False
        return True

    def charge(self, questions: list[tuple[int, int]]) -> None:
        for age, round in questions:
            assert (age, round) not in self.values
            self.values[age, round] = None
            self.spent += self.policy.mechanism.charge(round)

    @property
    def state(self) -> tuple[int, int, int]:
        return self.n, len(self.values), self.spent


class Machine(RuleBasedStateMachine):
    """Up to two connections to one dataset, and the model beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="machine-"))
        self.copies = 0
        self.now = 1000.0
        self.open: list[tuple[Dataset, hf.Session]] = []
        self.history: list[tuple[int, int, int]] = []
        self.witnessed = 0  # from here on in history; a crash after COMMIT leaves it behind

    def teardown(self) -> None:
        self.close_all()
        shutil.rmtree(self.root, ignore_errors=True)

    def close_all(self) -> None:
        for dataset, _ in self.open:
            dataset.close()
        self.open.clear()

    def connect(self) -> None:
        self.copies += 1
        dataset = Dataset(self.path, FastSeededNoise(self.copies), lambda: self.now)
        self.open.append((dataset, dataset.session(f"analyst {self.copies}")))

    def new_copy(self) -> Path:
        self.copies += 1
        return self.root / f"copy-{self.copies}"

    def happened(self, came: str) -> None:
        if not self.history or self.history[-1] != self.model.state:
            self.history.append(self.model.state)
            if came == "told":
                self.witnessed = len(self.history) - 1

    @initialize(batches=st.booleans(), count=st.sampled_from((0, N0 - 1, 300, 790, 1950)))
    def create(self, batches: bool, count: int) -> None:
        plan = batch_plan() if batches else adaptive_plan()
        self.path = self.root / "clinic"
        made(self.path, plan).close()
        self.connect()
        self.model = Model(Policy(plan), 0)
        self.happened("told")
        if count:
            self.append(count, None, 0)

    def do(self, fault: str | None, work: Callable[[], Any], which: int) -> tuple[str, Any]:
        """What came of it: told, refused (nothing happened), or lost (it happened, untold)."""
        store = self.open[which][0]._ledger.store
        if fault == "full":
            [pages] = store._connection.execute("PRAGMA page_count").fetchone()
            store._connection.execute(f"PRAGMA max_page_count = {pages}")
        try:
            with FAULTY.with_one(fault, self.path, self.new_copy()):
                return "told", work()
        except hf.StorageFailed as error:
            if fault != "full" and FAULTY.fired != fault:
                raise AssertionError("nothing was wrong with the disk") from error
            return ("lost" if FAULTY.fired == "after" else "refused"), error
        except Crash:
            self.close_all()
            self.path = FAULTY.copy
            self.connect()
            return ("lost" if FAULTY.fired == "crash after" else "refused"), None
        finally:
            if fault == "full" and self.open:
                store._connection.execute("PRAGMA max_page_count = 1000000")

    # ------------------------------------------------------------------------------ records

    @rule(count=st.integers(1, 49) | st.integers(50, 200), fault=Faults, which=st.integers(0, 1))
    def append(self, count: int, fault: str | None, which: int) -> None:
        which %= len(self.open)
        dataset, n = self.open[which][0], self.model.n
        came, result = self.do(fault, lambda: dataset.append(records(n, n + count)), which)
        if came in ("told", "lost"):
            self.model.n += count
        if came == "told":
            assert (result.count, result.n) == (count, self.model.n)
        self.happened(came)

    @rule(fault=Faults, which=st.integers(0, 1))
    def seal(self, fault: str | None, which: int) -> None:
        which %= len(self.open)
        self.do(fault, self.open[which][0]._data.seal, which)

    @rule(bad=st.sampled_from(({"age": "old"}, {"weight": 1}, 7)), which=st.integers(0, 1))
    def append_badly(self, bad: Any, which: int) -> None:
        dataset = self.open[which % len(self.open)][0]
        with pytest.raises(hf.BadRecord):
            dataset.append([*records(self.model.n, self.model.n + 60), bad])

    # ------------------------------------------------------------------------------- asking

    @rule(age=Asked, which=st.integers(0, 1))
    def quote(self, age: int, which: int) -> None:
        _, session = self.open[which % len(self.open)]
        quote, round = session.quote(f"age > {age}"), self.model.round(session.held)
        if round is None:
            assert not quote.allowed
            return
        recorded = (age, round) in self.model.values
        assert (quote.round, quote.recorded) == (round, recorded)
        assert quote.allowed == (recorded or self.model.fits(round, 1))

    @rule(age=Asked, key=Keys, fault=Faults, which=st.integers(0, 1))
    def ask(self, age: int, key: str | None, fault: str | None, which: int) -> None:
        self.ask_some(
            [age], [key], fault, which, lambda session: [session.ask(f"age > {age}", key=key)]
        )

    @rule(
        ages=st.lists(Asked, min_size=1, max_size=6),
        key=Keys,
        fault=Faults,
        which=st.integers(0, 1),
    )
    def ask_many(self, ages: list[int], key: str | None, fault: str | None, which: int) -> None:
        keys = [None if key is None else f"{key}/{i}" for i in range(len(ages))]
        texts = [f"age > {age}" for age in ages]
        self.ask_some(ages, keys, fault, which, lambda session: session.ask_many(texts, key=key))

    def ask_some(
        self,
        ages: list[int],
        keys: list[str | None],
        fault: str | None,
        which: int,
        ask: Callable[[hf.Session], Any],
    ) -> None:
        which %= len(self.open)
        model, session = self.model, self.open[which][1]
        held = [model.keys.get(key) if key else None for key in keys]
        if any(found and found[0] != age for found, age in zip(held, ages, strict=True)):
            with pytest.raises(hf.InvalidInput, match="key"):
                ask(session)
            return
        round = model.round(session.held)
        if round is None and not all(held):
            with pytest.raises(hf.NotReady):
                ask(session)
            return
        questions = [found or (age, round) for found, age in zip(held, ages, strict=True)]
        fresh = [q for q in dict.fromkeys(questions) if q not in model.values]
        if fresh and not model.fits(round, len(fresh)):
            with pytest.raises(hf.BudgetExhausted):
                ask(session)
            return
        came, answers = self.do(fault, lambda: ask(session), which)
        if came == "refused":
            return
        model.charge(fresh)
        model.keys |= {key: q for key, q in zip(keys, questions, strict=True) if key}
        self.happened(came)
        if came == "told":
            seen: set[tuple[int, int]] = set()
            for question, answer in zip(questions, answers, strict=True):
                assert answer.query == f"fraction(age > {question[0]})"
                assert answer.round == question[1]
                assert answer.recorded == (question not in fresh or question in seen)
                assert model.values[question] in (None, answer.value)
                model.values[question] = answer.value
                seen.add(question)

    @rule(data=st.data(), which=st.integers(0, 1))
    def hold(self, data: st.DataObject, which: int) -> None:
        _, session = self.open[which % len(self.open)]
        policy = self.model.policy
        round = data.draw(st.none() | st.sampled_from(policy.rounds or (N0, 500, 1000, 1990)))
        if round is not None and round > self.model.n:
            with pytest.raises(hf.NotReady):
                session.hold(round)
        else:
            session.hold(round)

    @rule(age=Asked, share=st.floats(0, 1), which=st.integers(0, 1))
    def sum_over_a_snapshot(self, age: int, share: float, which: int) -> None:
        dataset = self.open[which % len(self.open)][0]
        round = int(share * self.model.n)
        measure = hf.fraction(f"age > {age}").measure(dataset._ledger.schema)
        assert dataset._data.sums([measure], round) == [older(age, round)]

    # ------------------------------------------------------------------- open, close, verify

    @precondition(lambda self: len(self.open) < 2)
    @rule()
    def open_another(self) -> None:
        self.connect()

    @precondition(lambda self: len(self.open) == 2)
    @rule(which=st.integers(0, 1))
    def close(self, which: int) -> None:
        self.open.pop(which)[0].close()

    @rule()
    def reopen(self) -> None:
        self.close_all()
        self.connect()

    @rule()
    def rename(self) -> None:
        self.close_all()
        self.path = self.path.rename(self.new_copy())
        self.connect()

    @rule(time=st.floats(0, 1e10))
    def set_clock(self, time: float) -> None:
        self.now = time

    @rule(which=st.integers(0, 1))
    def verify(self, which: int) -> None:
        dataset = self.open[which % len(self.open)][0]
        verified = dataset.verify()
        assert (verified.records, verified.answers) == self.model.state[:2]
        told = {(a.query, a.round): a.value for a in dataset.transcript}
        assert len(told) == len(self.model.values)
        for (age, round), value in self.model.values.items():
            assert value in (None, told[f"fraction(age > {age})", round])

    @rule(
        cut=st.floats(0, 1),
        garbage=st.binary(max_size=50),
        witness=st.sampled_from(("kept", "old")),
    )
    def tear_the_log_of_a_copy(self, cut: float, garbage: bytes, witness: str) -> None:
        """As after a power cut on a disk that lies: some prefix of history, or LedgerCorrupt."""
        copy = self.new_copy()
        shutil.copytree(self.path, copy)
        log = copy / "ledger.sqlite-wal"
        if log.exists():
            content = log.read_bytes()
            log.write_bytes(content[: int(cut * len(content))] + garbage)
        if witness == "old":
            with sqlite3.connect(self.path / "ledger.sqlite") as connection:
                query = "SELECT hash FROM entries WHERE seq = 1"
                [(digest,)] = connection.execute(query).fetchall()
            connection.close()
            (copy / "witness").write_text(f"1 {digest.hex()}".ljust(127) + "\n")
        try:
            dataset = Dataset(copy, FastSeededNoise(0))
        except hf.LedgerCorrupt:
            return
        with dataset:
            state = dataset._ledger.state
            found = (state.records, state.answers, state.spent)
            assert found in self.history[0 if witness == "old" else self.witnessed :]
            dataset.verify()
        shutil.rmtree(copy)

    # --------------------------------------------------------------------------- what holds

    @invariant()
    def everything_is_as_in_the_model(self) -> None:
        for dataset, session in self.open:
            assert dataset.n == self.model.n
            state, policy = dataset._ledger.state, dataset._ledger.policy
            assert (state.records, state.answers, state.spent) == self.model.state
            assert state.spent <= policy.budget
            left = dataset._ledger.filter.remaining(policy.first_round)
            if policy.schedule is None:
                assert left == policy.budget - state.spent
            for round in policy.rounds or (N0, 2000):
                fitting = dataset._ledger.answers_left(round)
                assert not fitting or self.model.fits(round, fitting)
                assert not self.model.fits(round, fitting + 1)
            assert session.budget.remaining >= 0.0
        assert self.history[-1] == self.model.state
        before, now = self.history[-2:][0], self.history[-1]
        assert all(a <= b for a, b in zip(before, now, strict=True))  # nothing ever falls


def run(examples: int, steps: int, **more: Any) -> None:
    run_state_machine_as_test(
        Machine,
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


def test_whatever_is_done_in_whatever_order() -> None:
    run(60, 30)


# ------------------------------------------------------------------ that the machine can fail


def swallowed(self: Ledger) -> Any:
    """Tells although the commit failed."""

    @contextmanager
    def writing() -> Iterator[None]:
        try:
            with REAL["writing"](self):
                yield
        except hf.StorageFailed:
            pass

    return writing()


def of_all_records(self: GrowingData, sources: Any, round: int, progress: Any = None) -> Any:
    """All records where the first ``round`` are meant, which the divisor does not tell."""
    found = REAL["exact"](self, sources, self._ledger.refresh().records)
    return [
        Exact(exact.numerators, real.denominator)
        for exact, real in zip(found, REAL["exact"](self, sources, round), strict=True)
    ]


def uncharged(self: Ledger, body: Any, form: Any, round: int, key: str | None) -> Any:
    """Keeps the answer, and charges nothing."""
    entry = REAL["add_answer"](self, body, form, round, key)
    self.filter = self.policy.new_filter()
    return entry


REAL: dict[str, Any] = {
    "writing": Ledger.writing,
    "exact": GrowingData.exact,
    "add_answer": Ledger.add_answer,
}

MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "a filter that does not charge": (RecordFilter, "charge", lambda self, round, units: None),
    "a filter that admits one more": (
        RecordFilter,
        "remaining",
        lambda self, round, real=RecordFilter.remaining: real(self, round) + 2**150,
    ),
    "a filter that forgets after each answer": (Ledger, "add_answer", uncharged),
    "a ledger that tells although its commit failed": (Ledger, "writing", swallowed),
    "a ledger that does not ask its witness": (Ledger, "_check_ends", lambda *_: None),
    "a snapshot that grows": (GrowingData, "exact", of_all_records),
    "a ledger whose time goes back": (Ledger, "_now", lambda self: self._clock()),
    "appends that wait for no seal": (Store, "drop_pending", lambda self, stop: None),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str, monkeypatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises((AssertionError, hf.HoldfastError, ValueError, KeyError)):
        run(300, 25, phases=[Phase.generate], report_multiple_bugs=False)


def test_ages_are_spread() -> None:
    assert sorted({age_of(i) for i in range(100)}) == list(range(100))
