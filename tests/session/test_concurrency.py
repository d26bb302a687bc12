from __future__ import annotations

import threading

import pytest

import surehold as sh
from support.runtime import GUARDS, exhausted, made, opened, records, warm
from surehold.data.record_store import RecordStore
from surehold.session.evaluation import Evaluator

BOTH = pytest.mark.parametrize("guard", GUARDS)


def in_threads(*works) -> list:
    results: list = [None] * len(works)

    def run(i: int) -> None:
        try:
            results[i] = works[i]()
        except Exception as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_two_threads_share_the_budget(tmp_path) -> None:
    with made(tmp_path / "clinic", count=600) as dataset:
        fits = dataset._ledger.answers_left(600)

        def work(name: str):
            session, told = dataset.session(name), 0
            for i in range(fits):
                try:
                    told += not session.ask(f"age > {i} + 0.{name}").recorded
                except sh.BudgetExhausted:
                    break
            return told

        told = in_threads(*(lambda name=str(i): work(name) for i in range(4)))
        assert sum(told) == fits
        assert len(dataset.transcript) == fits
        dataset.verify()


@BOTH
def test_threads_that_ask_the_same_at_once_get_one_answer(clinic) -> None:
    for i in range(10):
        barrier = threading.Barrier(3)

        def ask(i: int = i, barrier: threading.Barrier = barrier):
            session = clinic.session()
            barrier.wait()
            return session.ask(f"age > {i}", key=f"key {i}")

        answers = in_threads(ask, ask, ask)
        assert len({answer.value for answer in answers}) == 1, answers
        assert sorted(answer.recorded for answer in answers) == [False, True, True]
    assert len(clinic.transcript) == 10
    clinic.verify()


def meanwhile(patch: pytest.MonkeyPatch, what) -> None:
    """Do something once, just when an ask has its sums and is about to write."""
    real = RecordStore.exact
    todo = [what]

    def exact(self, sources, round, progress=None):
        found = real(self, sources, round, progress)
        if todo:
            todo.pop()()
        return found

    patch.setattr(RecordStore, "exact", exact)


@BOTH
@pytest.mark.parametrize("same_connection", [True, False])
def test_somebody_asks_the_same_while_records_are_touched(
    clinic, session, monkeypatch, same_connection
) -> None:
    with opened(clinic.path, seed=9) as second:
        other = (clinic if same_connection else second).session("bob")
        first = []
        meanwhile(monkeypatch, lambda: first.append(other.ask("age > 50")))
        answer = session.ask("age > 50")
        assert answer.recorded
        assert answer.value == first[0].value
        assert len(clinic.transcript) == 1
        clinic.verify()


@pytest.mark.parametrize("same_connection", [True, False])
def test_somebody_spends_the_rest_while_records_are_touched(
    clinic, session, monkeypatch, same_connection
) -> None:
    """What was charged before is answered, and it is the others who are refused."""
    with opened(clinic.path, seed=9) as second:
        other = (clinic if same_connection else second).session("bob")
        meanwhile(monkeypatch, lambda: exhausted(other))
        assert not session.ask("age > 50").recorded
        with pytest.raises(sh.BudgetExhausted):
            session.ask("age > 51")
        charge = clinic._ledger.policy.mechanism.charge(1000)
        assert clinic._ledger.state.spent == len(clinic.transcript) * charge
        assert session.budget.spent <= session.budget.total
        clinic.verify()


@BOTH
@pytest.mark.parametrize("same_connection", [True, False])
def test_somebody_uses_the_key_between_the_look_and_the_note(
    clinic, session, monkeypatch, same_connection
) -> None:
    first = session.ask("age > 50")
    with opened(clinic.path, seed=9) as second:
        other = (clinic if same_connection else second).session("bob")
        meanwhile(monkeypatch, lambda: other.ask("age > 50", key="k"))
        assert session.ask("age > 50", key="k").value == first.value
        clinic.verify()


@BOTH
def test_records_that_arrive_after_the_charge_do_not_count(clinic, session, monkeypatch) -> None:
    meanwhile(monkeypatch, lambda: clinic.append(records(1000, 1100)))
    assert session.ask("age > 50").round == 1000
    clinic.verify()


def test_a_refresh_does_not_disturb_a_thread_that_writes(clinic, session) -> None:
    """Reloading must not put an empty filter, or an old head, under somebody's transaction."""
    ledger, store = clinic._ledger, clinic._ledger.store
    real, inside, done = store.head, threading.Event(), threading.Event()

    def slow_head():
        found = real()
        inside.set()
        done.wait(0.2)  # the writer goes on, if nothing holds it back
        return found

    with opened(clinic.path) as other:
        other.append(records(1000, 1001))  # so that there is something to take in
    store.head = slow_head
    reader = threading.Thread(target=ledger.refresh)
    reader.start()
    inside.wait()
    store.head = real
    answers = session.ask_many([f"age > {i}" for i in range(5)])
    done.set()
    reader.join()
    assert len(answers) == 5
    assert ledger.state.answers == 5
    spent = ledger.policy.budget - ledger.filter.remaining(1001)
    assert spent == ledger.state.spent == 5 * ledger.policy.mechanism.charge(1001)
    clinic.verify()


def test_a_second_connection_sees_what_the_first_wrote(clinic, session) -> None:
    with opened(clinic.path) as other:
        assert other.n == 1000
        clinic.append(records(1000, 1100))
        assert other.n == 1100
        first = session.ask("age > 50")
        found = other.session("bob").ask("age > 50")
        assert (found.value, found.recorded) == (first.value, True)
        assert other.session().budget == session.budget
        assert other.status().answers_left == clinic.status().answers_left
        assert len(other.transcript) == 1
        assert other.status().head == clinic.status().head


def test_noise_for_a_question_that_another_process_charged_elsewhere_is_not_used(
    tmp_path, monkeypatch
) -> None:
    """Its sum was known here, but its key stands by now for a charge at another round."""
    with made(tmp_path / "clinic", count=600) as mine, opened(tmp_path / "clinic") as other:
        session = mine.session()
        first = session.at(500).ask("age > 30")
        warm(mine, "age > 40")
        real = Evaluator.known

        def charge_elsewhere(evaluator, due):
            drawn = real(evaluator, due)
            assert drawn  # the sum is known
            monkeypatch.setattr(Evaluator, "known", real)
            monkeypatch.setattr(Evaluator, "evaluate", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):  # after its charge, before its answer
                other.session("other").at(500).ask("age > 40", key="k")
            monkeypatch.undo()
            return drawn

        monkeypatch.setattr(Evaluator, "known", charge_elsewhere)
        answer = session.ask("age > 40", key="k")
        assert (answer.round, answer.analyst) == (500, "other")
        assert len(mine.transcript) == 2
        assert answer.charge == first.charge
        mine.verify()
