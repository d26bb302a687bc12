"""Evaluations against charges: races, faults and kills, in any order.

Whatever is asked, by however many at once, over however many connections, with keys that clash,
commits that fail and machines that stop: no record is touched without a charge that is on the disk
by then, and nobody is charged twice for the same question.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import surehold as sh
from support.machine import FAULTY, Crash
from support.noise_sources import FastSeededNoise
from support.runtime import made, numbered, sql
from support.tampering import bodies
from support.touches import Touches
from support.workload import CASES, OF_TABLES, SIDE, YOUTH, in_process
from surehold.ledger.store import Store
from surehold.session.dataset import Dataset
from surehold.session.evaluation import Evaluator
from surehold.session.session import Session

ALL = CASES | OF_TABLES
NAMES = (
    *("fraction", "mean", "bins", "rate", "gate", "variance", "select", "fit", "model"),
    *OF_TABLES,
)
WATCHED = {"old": "age > 50", "said": "p.says", "late": "bmi > 43"}
Names = st.sampled_from(NAMES)
Keys = st.none() | st.sampled_from(("a", "b", "c"))
Asks = st.tuples(Names, Keys, st.integers(0, 1))
FAULTS = ("before", "after", "crash before", "crash after")
REFUSALS = (sh.InvalidInput, sh.BudgetExhausted, sh.RequestRefused)
TOUCHES = Touches()


class Machine(RuleBasedStateMachine):
    """Two connections to one dataset, each with an analyst of its own."""

    guard = "noise"

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="evaluations-"))
        self.path = self.root / "clinic"
        self.copies = 0
        self.open: list[tuple[Dataset, Session]] = []
        TOUCHES.counts.clear()
        TOUCHES.uncharged.clear()

    @initialize()
    def create(self) -> None:
        with made(self.path, count=1200, guard=self.guard, ids=True) as dataset:
            dataset.keep_table(SIDE, "p")
            named = [{"name": name, "question": asked} for name, asked in WATCHED.items()]
            dataset.session().register(sh.Dashboard.of(named))
        self.connect()

    def connect(self) -> None:
        for i in range(2):
            self.copies += 1
            dataset = Dataset(self.path, FastSeededNoise(self.copies))
            dataset.register(YOUTH)
            # Nothing here is about time: nobody waits for a slot.
            session = dataset.session(f"analyst {i}", fixed_time=False)
            self.open.append((dataset, session))

    def close_all(self) -> None:
        for dataset, _ in self.open:
            dataset.close()
        self.open.clear()

    def teardown(self) -> None:
        TOUCHES.during = None
        for dataset, _ in self.open[:1]:
            dataset.verify()
        self.close_all()
        shutil.rmtree(self.root, ignore_errors=True)

    def ask(self, asked: tuple[str, str | None, int]) -> None:
        name, key, which = asked
        with suppress(*REFUSALS, sh.WrongGuard, sh.StorageFailed):
            self.open[which][1].ask(ALL[name].query, key=key)

    @rule(asked=Asks)
    def ask_alone(self, asked: tuple[str, str | None, int]) -> None:
        self.ask(asked)

    @rule(names=st.lists(Names, min_size=1, max_size=4), key=Keys, which=st.integers(0, 1))
    def ask_many(self, names: list[str], key: str | None, which: int) -> None:
        with suppress(*REFUSALS, sh.WrongGuard):
            self.open[which][1].ask_many([ALL[name].query for name in names], key=key)

    @rule(names=st.lists(st.sampled_from(sorted(WATCHED)), min_size=1), which=st.integers(0, 1))
    def watch(self, names: list[str], which: int) -> None:
        """What was registered before; some of it is asked elsewhere too."""
        with suppress(*REFUSALS):
            self.open[which][1].watch(names)

    @rule(asks=st.lists(Asks, min_size=2, max_size=5))
    def race(self, asks: list[tuple[str, str | None, int]]) -> None:
        """All at once, from as many threads."""
        barrier, failed = threading.Barrier(len(asks)), list[BaseException]()

        def run(asked: tuple[str, str | None, int]) -> None:
            barrier.wait()
            try:
                self.ask(asked)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=run, args=(asked,)) for asked in asks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]

    @rule(first=Asks, second=Asks)
    def ask_in_the_middle(self, first: Any, second: Any) -> None:
        """The second comes, over either connection, while records are being touched."""
        TOUCHES.during = lambda: self.ask(second)
        try:
            self.ask(first)
        finally:
            TOUCHES.during = None

    @rule(asked=Asks, fault=st.sampled_from(FAULTS))
    def fail(self, asked: Any, fault: str) -> None:
        """A commit fails, before or after it is durable, or the machine stops there."""
        try:
            with FAULTY.with_one(fault, self.path, self.new_path()):
                self.ask(asked)
        except Crash:
            self.go_on(FAULTY.copy)

    @rule(asked=Asks)
    def kill(self, asked: Any) -> None:
        """The machine stops while records are being touched."""
        copy = self.new_path()

        def stop() -> None:
            shutil.copytree(self.path, copy)
            raise Crash

        TOUCHES.during = stop
        try:
            self.ask(asked)
        except Crash:
            self.go_on(copy)
        finally:
            TOUCHES.during = None

    @rule(count=st.integers(1, 60), known=st.integers(0, 60))
    def append(self, count: int, known: int) -> None:
        dataset = self.open[0][0]
        if dataset.n + count <= 2000:
            added = dataset.append(numbered(dataset.n - known, dataset.n + count))
            assert (added.count, added.known) == (count, known)

    def new_path(self) -> Path:
        self.copies += 1
        return self.root / f"copy-{self.copies}"

    def go_on(self, copy: Path) -> None:
        self.close_all()
        self.path = copy
        self.connect()

    @invariant()
    def nothing_was_touched_uncharged(self) -> None:
        assert not TOUCHES.uncharged

    @invariant()
    def nobody_was_charged_twice(self) -> None:
        if self.open:
            paid = list(self.paid())
            assert all(count == 1 for count in Counter(one[:2] for one in paid).values())
            [(after,)] = sql(
                self.path,
                "SELECT json_extract(body, '$.after.spent') FROM entries ORDER BY seq DESC LIMIT 1",
            )
            assert int(after) == sum(charge for *_, charge in paid)

    def paid(self) -> Iterator[tuple[str, int, int]]:
        """What was paid for, at what round, and how much."""
        for kind, body in bodies(self.path).values():
            if kind == "charge" or (kind == "answer" and "charged" not in body):
                yield body["canonical"], body["round"], int(body["charge"])


class SurpriseMachine(Machine):
    """The same, where an outcome is paid for once it is known."""

    guard = "surprise"

    def paid(self) -> Iterator[tuple[str, int, int]]:
        found = [body for kind, body in bodies(self.path).values() if kind == "answer"]
        fixed = [body["menu_entry"] for body in found if "menu_entry" in body]
        assert len(set(fixed)) == len(fixed)  # no menu is answered twice
        for body in found:
            yield body["canonical"], body["round"], int(body["charge"])


# Threads race: a mutant that is found by a race need not be found again when it is replayed.
class WithoutRaces(Machine):
    race = None


class SurpriseWithoutRaces(SurpriseMachine):
    race = None


DETERMINISTIC = (WithoutRaces, SurpriseWithoutRaces)


def run(machine: type[Machine], examples: int, steps: int, **more: Any) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            **more,
        ),
    )


@pytest.fixture(autouse=True)
def watched(monkeypatch) -> None:
    FAULTY.install(monkeypatch)
    in_process(monkeypatch)
    TOUCHES.install(monkeypatch)


@pytest.mark.parametrize(("machine", "examples"), [(Machine, 25), (SurpriseMachine, 10)])
def test_no_record_is_touched_without_a_charge(machine: type[Machine], examples: int) -> None:
    run(machine, examples, 20)


def _touched_first(evaluator: Evaluator, due: Any) -> Any:
    """As an earlier version did: evaluate, then charge and answer in one step."""
    return evaluator._exact(due, None)


@pytest.mark.parametrize("machine", DETERMINISTIC)
def test_the_machine_finds_evaluations_before_the_charge(monkeypatch, machine) -> None:
    monkeypatch.setattr(Evaluator, "known", _touched_first)
    with pytest.raises(AssertionError):
        run(machine, 25, 20, phases=[Phase.generate], report_multiple_bugs=False)


@pytest.mark.parametrize("machine", DETERMINISTIC)
def test_the_machine_finds_charges_that_are_made_twice(monkeypatch, machine) -> None:
    def answers_only(store: Store, questions: Any, real: Any = Store.find) -> Any:
        return real(store, questions)[0], {}

    monkeypatch.setattr(Store, "find", answers_only)
    with pytest.raises((AssertionError, sh.SureholdError)):
        run(machine, 25, 20, phases=[Phase.generate], report_multiple_bugs=False)
