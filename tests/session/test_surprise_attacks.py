"""Attempts to get two outcomes for one price, or an answer that was not asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.runtime import record
from surehold.data.record_store import RecordStore
from surehold.session.dataset import Dataset
from surehold.session.outcomes import LadderOutcome, NumberOutcome

COLUMNS = {"age": "int", "bmi": "float", "city": "str"}
OLD = "age > 50"
DIFFERENCE = "difference(age > 50, bmi > 20)"
MEANS = "means(bmi, 0, 50, city in ('Oslo'))"


class Cut(BaseException):
    """As if the process had been killed here."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with sh.create(tmp_path / "evals", beta="0.05", columns=COLUMNS) as dataset:
        dataset.append([record(i) for i in range(200)])
    return tmp_path / "evals"


@pytest.fixture
def dataset(path: Path) -> Iterator[Dataset]:
    with sh.open(path) as opened:
        yield opened
        opened.verify()


@pytest.fixture
def session(dataset: Dataset) -> sh.Session:
    return dataset.session("ann")


@contextmanager
def at_the_records(patch: pytest.MonkeyPatch, happens: Callable[[], Any]) -> Iterator[None]:
    """Something happens once, between the charge of an ask and its look at the records."""
    real = RecordStore.exact

    def exact(self: RecordStore, *rest: Any) -> Any:
        patch.setattr(RecordStore, "exact", real)
        happens()
        return real(self, *rest)

    patch.setattr(RecordStore, "exact", exact)
    yield
    assert RecordStore.exact is real, "no record was looked at"


def cut() -> None:
    raise Cut


@pytest.fixture
def charge(session: sh.Session, monkeypatch) -> Callable[..., None]:
    """Charge for a question, and be cut off before it is answered."""

    def ask(query: Any, **options: Any) -> None:
        with at_the_records(monkeypatch, cut), pytest.raises(Cut):
            session.ask(query, **options)

    return ask


# ------------------------------------------------------------- two kinds of one question


def test_the_steps_of_a_ladder_are_not_the_difference(session: sh.Session) -> None:
    steps = session.ask(DIFFERENCE, expect="no", within="0.1")
    difference = session.ask(DIFFERENCE)
    finer = session.ask(DIFFERENCE, expect="no", within="0.01")
    assert [type(one) for one in (steps, difference, finer)] == [
        LadderOutcome,
        NumberOutcome,
        LadderOutcome,
    ]
    assert (steps.step, finer.step) == (0.1, 0.01)
    assert finer.spent == pytest.approx(steps.surprise + difference.surprise + finer.surprise)


def test_whether_it_is_better_says_nothing_of_steps(session: sh.Session) -> None:
    query, options = "difference(age > 20, age > 60)", {"within": "0.1", "doubt": "0.1"}
    better = session.ask(query, expect="not better", **options)
    assert (better.steps, better.improved, better.exact["weights"]) == (1, True, ("1/10",))
    assert session.ask(query, expect="not better", **options).recorded
    steps = session.ask(query, expect="no", **options)
    assert not steps.recorded
    assert steps.steps > 1
    assert session.ask(query, expect="not better", **options) == replace(steps, recorded=True)
    worse = session.ask("difference(age > 60, age > 20)", expect="not better", **options)
    assert (worse.steps, worse.exact["weights"], worse.expected) == (0, ("9/10",), True)
    assert session.ask("difference(age > 60, age > 20)", expect="no", **options).recorded


def test_the_steps_of_a_ladder_are_not_known_of_a_mean(session: sh.Session) -> None:
    query = "difference(mean(bmi, 0, 50), mean(age, 0, 50))"
    steps = session.ask(query, expect="no")
    assert isinstance(steps, LadderOutcome)
    for options in ({}, {"within": "0.5"}, {"expect": "no"}, {"within": "0.1"}):
        session.ask(query, **options)


@pytest.mark.parametrize("first", [{}, {"expect": "no"}])
def test_a_charge_of_another_kind_is_settled_first(session, charge, first) -> None:
    """What was charged is evaluated as it was charged, and then what is asked now is asked."""
    charge(DIFFERENCE, **first)
    options = {} if first else {"expect": "no"}
    found = session.ask(DIFFERENCE, **options)
    assert isinstance(found, LadderOutcome if options else NumberOutcome)
    assert found.spent > found.surprise  # for what had been charged


def test_a_table_is_answered_on_the_terms_of_its_charge(session, charge, dataset) -> None:
    charge(MEANS, within="0.25")
    plain = session.ask(MEANS)
    dataset.verify()
    assert session.ask(MEANS, within="0.25").entry == plain.entry


def test_one_side_may_decide_what_two_do_not(session: sh.Session) -> None:
    gate = sh.gate(OLD, at_least=0.4)
    both = session.ask(gate)
    assert both.verdict == "undecided"
    one = session.ask(gate, expect="not pass")
    assert one.verdict in ("pass", "not pass")
    assert one.claim != both.claim


@pytest.mark.parametrize("query", ["histogram(city in ('Oslo'))", MEANS])
def test_a_finer_table_is_another_outcome(session: sh.Session, query: str) -> None:
    coarse = session.ask(query, within="0.25")
    finer = session.ask(query, within="0.01")
    assert finer.spent == pytest.approx(coarse.surprise + finer.surprise)
    assert finer.claim == coarse.claim
    assert session.ask(query).entry == session.ask(query, within="0.2").entry == finer.entry


# -------------------------------------------------------------------------- refinements


def test_a_refinement_is_not_lost_if_something_else_is_written(
    session, dataset, monkeypatch
) -> None:
    coarse = session.ask(OLD, within="0.1")
    with (
        sh.open(dataset._ledger.folder) as other,
        at_the_records(monkeypatch, lambda: dataset.append([record(200)])),
    ):
        finer = other.session("ann").ask(OLD, within="0.01")
    assert (finer.round, finer.recorded) == (200, False)
    assert finer.cell[1] - finer.cell[0] < coarse.cell[1] - coarse.cell[0]
    assert dataset.status().answers == 2


def test_a_refinement_that_was_cut_off_is_answered_later(dataset, session, monkeypatch) -> None:
    """Also if another entry comes between the decision and the charge."""
    session.ask(OLD, within="0.1")
    with sh.open(dataset._ledger.folder) as other:
        asking = other.session("ann")
        with at_the_records(monkeypatch, cut), pytest.raises(Cut):
            asking.ask(OLD, within="0.01")
        real, admission = type(asking._admission).confirm, type(asking._admission)

        def confirm(self: Any, *rest: Any) -> Any:
            monkeypatch.setattr(admission, "confirm", real)
            return self.decide(rest[0], rest[1], t=rest[2].t)

        monkeypatch.setattr(admission, "confirm", confirm)
        finer = asking.ask(OLD, within="0.01")
        assert admission.confirm is real
    assert finer.cell[1] - finer.cell[0] < 0.021
    assert dataset.status().answers == 2


def test_two_refinements_at_once_are_one(dataset, session, monkeypatch) -> None:
    session.ask(OLD, within="0.1")
    found = []
    with sh.open(dataset._ledger.folder) as one, sh.open(dataset._ledger.folder) as two:
        later = two.session("two")
        with at_the_records(monkeypatch, lambda: found.append(later.ask(OLD, within="0.02"))):
            found.append(one.session("one").ask(OLD, within="0.01"))
    assert found[0].entry == found[1].entry
    assert found[0].analyst == "one"  # whose charge it was
    assert dataset.status().answers == 2


def test_a_charge_that_came_since_is_not_answered_on_other_terms(
    dataset, session, monkeypatch
) -> None:
    """While one evaluates, another answers that and has charged for something finer."""
    session.ask(OLD, within="0.1")
    with sh.open(dataset._ledger.folder) as one, sh.open(dataset._ledger.folder) as two:
        other = two.session("two")

        def go_on() -> None:
            other.ask(OLD, within="0.01")
            cut_off = at_the_records(monkeypatch, cut), pytest.raises(Cut)
            with cut_off[0], cut_off[1], sh.open(dataset._ledger.folder) as third:
                third.session("three").ask(OLD, within="0.001")

        with at_the_records(monkeypatch, go_on):
            found = one.session("one").ask(OLD, within="0.01")
    assert found.cell[1] - found.cell[0] < 0.021
    dataset.verify()
    assert session.ask(OLD, within="0.001").cell[1] - found.cell[0] < 0.021


@pytest.mark.parametrize("limit", [None, 100])
def test_a_key_stands_for_its_answer_however_it_is_asked(dataset, limit) -> None:
    session = dataset.session("ann", limit=limit)
    first = session.ask(OLD, key="k")
    dataset.append([record(i) for i in range(200, 220)])
    again = session.ask(OLD, key="k", within="0.001", expect="0.5")
    assert (again.entry, again.recorded) == (first.entry, True)


def test_a_key_of_a_refinement_that_was_cut_off_leads_to_it(session, dataset, monkeypatch) -> None:
    session.ask(OLD, within="0.1")
    options = {"within": "0.01", "key": "k"}
    with sh.open(dataset._ledger.folder) as other:
        asking = other.session("ann")
        with at_the_records(monkeypatch, cut), pytest.raises(Cut):
            asking.ask(OLD, **options)
        finer = asking.ask(OLD, **options)
    assert finer.cell[1] - finer.cell[0] < 0.021
    assert session.ask(OLD, key="k").entry == finer.entry


def test_threads_that_refine_all_pay_once(dataset: Dataset, session: sh.Session) -> None:
    session.ask(OLD, within="0.1")
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(session.ask(OLD, within="0.01")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.entry for one in found}) == 1
    assert dataset.status().answers == 2


# ------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("side", ["at_least", "at_most"])
@pytest.mark.parametrize("limit", [0, 50])
def test_a_gate_at_the_end_of_its_range_is_refused(session, dataset, side, limit) -> None:
    before = dataset.status().entries
    for ask in (session.quote, session.ask):
        with pytest.raises(sh.InvalidInput, match=f"{side} must be strictly between"):
            ask(f"gate(mean(bmi, 0, 50), {side}, {limit})")
    assert dataset.status().entries == before


@pytest.mark.parametrize("side", ["at_least", "at_most"])
def test_one_sided_gates_pass_on_their_own_side(session: sh.Session, side: str) -> None:
    easy = {"at_least": 0.01, "at_most": 0.99}[side]
    gate = f"gate({OLD}, {side}, {easy})"
    assert session.ask(gate, expect="not pass").verdict == "pass"
    gate = f"gate({OLD}, {side}, {1 - easy})"
    assert session.ask(gate, expect="not pass").verdict == "not pass"
