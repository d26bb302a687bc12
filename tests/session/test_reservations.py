"""Reservations: what is kept for one analyst cannot be spent by another, to the last unit."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import surehold as sh
from support.runtime import adaptive_plan, batch_plan, records
from surehold.ledger.surprise_policy import units_of_bits
from surehold.ledger.tables import Spent
from surehold.ledger.view import View

COLUMNS = {"age": "int", "bmi": "float", "city": "str"}
NAMES = ("ann", "bob", "cy")
LIMIT = 40  # bits


def made(path: Path, guard: str, **options: Any) -> sh.Dataset:
    given: dict[str, Any] = {"plan": adaptive_plan()} if guard == "noise" else {"beta": 0.05}
    if guard == "surprise":
        given["limit"] = LIMIT
    data = sh.create(path, columns=COLUMNS, **{**given, **options})
    data.append(records(0, 300))
    return data


@pytest.fixture(params=["noise", "surprise"])
def dataset(request: Any, tmp_path: Path) -> Any:
    with made(tmp_path / "data", request.param) as data:
        yield data


def amount(dataset: sh.Dataset, share: str) -> Any:
    """A part of all that may be spent, as this guard counts it."""
    return share if dataset.guard == "noise" else str(Fraction(share) * LIMIT)


def exhaust(session: sh.Session, start: int = 0) -> tuple[int, sh.BudgetExhausted]:
    """Ask until nothing fits; quotes agree with what happens."""
    for asked in range(start, start + 500):
        query = f"age > {asked}.5"
        quote = session.quote(query)
        if not quote.allowed:
            with pytest.raises(sh.BudgetExhausted) as refused:
                session.ask(query)
            assert str(refused.value) == quote.reason
            return asked - start, refused.value
        session.ask(query)
    raise AssertionError("nothing ran out")


def test_what_is_reserved_is_there_however_much_others_ask(dataset: sh.Dataset) -> None:
    dataset.reserve("ann", amount(dataset, "1/2"))
    _, refused = exhaust(dataset.session("bob"))
    assert "reserved for other analysts" in str(refused)
    ledger = dataset._ledger
    whole = ledger.rules.limit_units
    assert whole is not None
    assert ledger.spent_by("bob").units <= whole - ledger.reserved["ann"].units
    count, refused = exhaust(dataset.session("ann"), 200)
    assert count > 0
    assert "reserved" not in str(refused)  # that is the end of it
    assert ledger.spent_by("ann").units + ledger.spent_by("bob").units <= whole
    dataset.verify()


def test_messages_tell_a_limit_from_a_reservation(dataset: sh.Dataset) -> None:
    dataset.reserve("ann", amount(dataset, "1/4"))
    mine = 0.25 if dataset.guard == "noise" else 10.0
    _, refused = exhaust(dataset.session("bob", limit=mine))
    assert "the limit of analyst 'bob'" in str(refused)
    _, refused = exhaust(dataset.session("bob"), 100)
    assert "reserved for other analysts" in str(refused)
    dataset.reserve("ann", 0)
    _, refused = exhaust(dataset.session("bob"), 200)
    said = "the budget is exhausted" if dataset.guard == "noise" else "the limit of the dataset"
    assert said in str(refused)


def test_recorded_answers_stay_free(dataset: sh.Dataset) -> None:
    bob = dataset.session("bob")
    answer = bob.ask("age > 3")
    left = dataset._ledger.rules.limit_units - dataset._ledger.state.spent  # type: ignore[operator]
    share = Fraction(left, dataset._ledger.rules.limit_units)  # type: ignore[arg-type]
    dataset.reserve("ann", float(share) * 0.999 * (1 if dataset.guard == "noise" else LIMIT))
    with pytest.raises(sh.BudgetExhausted):
        bob.ask("age > 4")
    assert bob.ask("age > 3").value == answer.value


def test_no_more_can_be_reserved_than_there_is(dataset: sh.Dataset) -> None:
    dataset.reserve("ann", amount(dataset, "3/4"))
    before = dataset._ledger.head.seq
    with pytest.raises(sh.InvalidInput, match="the rest is spent by others or reserved for them"):
        dataset.reserve("bob", amount(dataset, "1/2"))
    dataset._ledger.refresh()
    assert dataset._ledger.head.seq == before  # nothing changed
    dataset.reserve("bob", amount(dataset, "1/4"))
    with pytest.raises(sh.BudgetExhausted, match="reserved for other"):
        dataset.session("cy").ask("age > 3")
    dataset.reserve("ann", amount(dataset, "1/4"))  # less than before
    dataset.session("cy").ask("age > 3")
    assert [one.analyst for one in dataset.reservations] == ["ann", "bob"]


@pytest.mark.parametrize("bad", [-0.1, "x", None, float("nan"), 10**7])
def test_bad_amounts(dataset: sh.Dataset, bad: Any) -> None:
    with pytest.raises(sh.InvalidInput):
        dataset.reserve("ann", bad)
    with pytest.raises(sh.InvalidInput):
        dataset.reserve("", amount(dataset, "1/4"))
    assert dataset.reservations == ()


def test_what_has_nothing_to_reserve(tmp_path: Path) -> None:
    with (
        made(tmp_path / "a", "surprise", limit=None) as data,
        pytest.raises(sh.InvalidInput, match="without a limit nobody can use up"),
    ):
        data.reserve("ann", 5)
    with (
        sh.create(tmp_path / "b", plan=batch_plan(), columns=COLUMNS) as data,
        pytest.raises(sh.InvalidInput, match="without fixed rounds"),
    ):
        data.reserve("ann", 0.5)


def test_they_outlive_the_process_and_the_same_again_adds_nothing(dataset: sh.Dataset) -> None:
    kept = dataset.reserve("ann", amount(dataset, "1/4"))
    entries = dataset._ledger.head.seq
    assert dataset.reserve("ann", amount(dataset, "1/4")) == kept
    assert dataset._ledger.head.seq == entries
    with sh.open(dataset.path) as again:
        assert again.reservations == (kept,)
        assert again.status().by_analyst == dataset.status().by_analyst
        again.reserve("ann", 0)
    assert dataset.reservations == ()  # another process released it
    dataset.verify()


def test_a_reservation_that_was_never_there_is_found(dataset: sh.Dataset) -> None:
    with dataset._ledger.writing() as draft:
        draft.reserve("ann", "1/4", Spent(12345, 0))
    with pytest.raises(sh.LedgerCorrupt, match="its units are not those of its amount"):
        dataset.verify()


def test_a_charge_to_what_was_reserved_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made(tmp_path / "data", "noise") as dataset:
        dataset.reserve("ann", 1)
        with monkeypatch.context() as careless:
            careless.setattr(View, "kept_from", lambda *_: Spent(0, 0))
            dataset.session("bob").ask("age > 3")
        with pytest.raises(sh.LedgerCorrupt, match="reserved for another analyst"):
            dataset.verify()


RACER = """
import sys, surehold as sh
with sh.open(sys.argv[1]) as data:
    session = data.session(sys.argv[2])
    for i in range(200):
        try:
            session.ask(f"age > {i}.{sys.argv[3]}")
        except sh.BudgetExhausted:
            break
"""


def test_two_processes_cannot_overspend_together(dataset: sh.Dataset) -> None:
    dataset.reserve("ann", amount(dataset, "2/3"))
    command = [sys.executable, "-c", RACER, str(dataset.path)]
    racers = [
        subprocess.Popen([*command, name, digit]) for name, digit in (("bob", "1"), ("cy", "2"))
    ]
    assert [racer.wait(timeout=300) for racer in racers] == [0, 0]
    ledger = dataset._ledger
    ledger.refresh()
    assert ledger.rules.limit_units is not None
    most = ledger.rules.limit_units - ledger.reserved["ann"].units
    assert 0 < ledger.spent_by("bob").units + ledger.spent_by("cy").units <= most
    dataset.session("ann").ask("age > 3")
    dataset.verify()


class Machine(RuleBasedStateMachine):
    """Two connections; the model adds up whole units."""

    guard = "noise"

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="reservations-"))
        self.reserved: dict[str, int] = {}

    def teardown(self) -> None:
        self.open[0].verify()
        for dataset in self.open:
            dataset.close()
        shutil.rmtree(self.root, ignore_errors=True)

    @initialize()
    def create(self) -> None:
        first = made(self.root / "data", self.guard)
        self.open = [first, sh.open(first.path)]
        whole = first._ledger.rules.limit_units
        assert whole is not None
        self.whole = whole

    def spent(self, name: str) -> int:
        self.open[0]._ledger.refresh()
        return self.open[0]._ledger.spent_by(name).units

    def kept_from(self, name: str) -> int:
        others = [other for other in self.reserved if other != name]
        return sum(max(self.reserved[other] - self.spent(other), 0) for other in others)

    def left_for(self, name: str) -> int:
        return self.whole - sum(map(self.spent, NAMES)) - self.kept_from(name)

    @rule(
        name=st.sampled_from(NAMES),
        part=st.sampled_from((0, 1, 2, 3, 5, 8)),
        which=st.integers(0, 1),
    )
    def reserve(self, name: str, part: int, which: int) -> None:
        share = Fraction(part, 8)
        dataset = self.open[which]
        units = int(share * self.whole)
        if self.guard == "surprise":
            units = units_of_bits(share * LIMIT)
        if units - self.spent(name) > max(self.left_for(name), 0):
            with pytest.raises(sh.InvalidInput):
                dataset.reserve(name, amount(dataset, str(share)))
            return
        dataset.reserve(name, amount(dataset, str(share)))
        self.reserved[name] = units

    @rule(name=st.sampled_from(NAMES), age=st.integers(0, 60), which=st.integers(0, 1))
    def ask(self, name: str, age: int, which: int) -> None:
        session, query = self.open[which].session(name), f"age > {age}.5"
        left, before = self.left_for(name), self.open[which]._ledger.refresh()
        quote = session.quote(query)
        if quote.allowed:
            session.ask(query)
            assert sum(map(self.spent, NAMES)) - before.spent <= max(left, 0)
        else:
            with pytest.raises(sh.BudgetExhausted):
                session.ask(query)
            assert self.open[which]._ledger.refresh() == before

    @invariant()
    def nobody_spends_what_is_kept_for_another(self) -> None:
        kept = sum(max(self.reserved[name] - self.spent(name), 0) for name in self.reserved)
        assert sum(map(self.spent, NAMES)) + kept <= self.whole
        for dataset in self.open:
            dataset._ledger.refresh()
            found = {name: kept.units for name, kept in dataset._ledger.reserved.items()}
            assert found == {name: units for name, units in self.reserved.items() if units}


class SurpriseMachine(Machine):
    guard = "surprise"


@pytest.mark.parametrize("machine", [Machine, SurpriseMachine])
def test_in_any_order(machine: Any) -> None:
    few = settings(max_examples=12, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(machine, settings=few)
