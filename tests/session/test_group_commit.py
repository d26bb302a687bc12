"""Questions of several threads share a transaction: one wait for the disk, each all or nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import surehold as sh
from support.runtime import made
from surehold.ledger.store import Store
from surehold.ledger.tables import Spent
from surehold.session.dataset import Dataset


@pytest.fixture(params=["noise", "surprise"])
def guard(request):
    return request.param


def at_once(dataset: Dataset, *works: Callable[[], Any]) -> list[Any]:
    """What each work returns or raises, when all have come to write before the first may."""
    steps, held, results = dataset._ledger._steps, threading.Event(), [None] * len(works)

    def hold() -> None:
        dataset._ledger.write(lambda draft: held.wait(30))

    def run(i: int) -> None:
        try:
            results[i] = works[i]()
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=hold)]
    threads += [threading.Thread(target=run, args=(i,)) for i in range(len(works))]
    for count, thread in enumerate(threads):
        thread.start()
        until = time.monotonic() + 30
        while not steps._running or len(steps._waiting) < count:
            assert time.monotonic() < until, "a step does not come"
            time.sleep(0.001)
    held.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return results


def asks(dataset: Dataset, count: int) -> list[Callable[[], Any]]:
    """Questions of two rounds; each reads records."""
    session = dataset.session("ann")
    return [lambda i=i: session.at(1000 - i % 2).ask(f"age > {i}") for i in range(count)]


def test_one_commit_for_all(clinic, commits) -> None:
    before = commits.count
    told = at_once(clinic, *asks(clinic, 6))
    # One of the thread that holds the others up, one of all charges, and at most six of answers.
    assert commits.count - before <= 8
    assert len({answer.entry for answer in told}) == 6
    assert not any(answer.recorded for answer in told)
    assert {answer.entry for answer in told} == {answer.entry for answer in clinic.transcript}
    assert clinic.verify().answers == 6


@pytest.mark.parametrize("when", ["before", "after"])
def test_if_the_commit_fails_none_is_told_anything(clinic, commits, when) -> None:
    commits.passed_over, commits.fail = 1, when
    works = asks(clinic, 4)
    told = at_once(clinic, *works)
    assert all(isinstance(error, sh.StorageFailed) and error.kept is None for error in told)
    assert len(clinic.transcript) == 0
    for work in works:  # charged before or not, each is answered now, and charged once
        work()
    assert clinic.verify().answers == 4


def test_one_that_fails_undoes_only_itself(clinic) -> None:
    ledger = clinic._ledger

    def reserve(name: str) -> Callable[[], Any]:
        def body(draft: Any) -> None:
            draft.reserve(name, "1/100", Spent(1, 1))
            draft.store.note_key(name, draft.head.seq)
            if name == "eve":
                raise ValueError(name)

        return lambda: ledger.write(body)

    told = at_once(clinic, reserve("ann"), reserve("eve"), reserve("bob"))
    assert [type(one) for one in told] == [type(None), ValueError, type(None)]
    assert ledger.reserved.keys() == {"ann", "bob"}
    assert ledger.store.keyed("eve") is None
    clinic.close()
    with sh.open(clinic.path) as dataset:
        assert dataset._ledger.reserved.keys() == {"ann", "bob"}


def test_an_interrupt_ends_only_the_question_of_its_thread(clinic, monkeypatch) -> None:
    real, left = Store._commit, [None, KeyboardInterrupt()]

    def commit(store: Store) -> None:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        real(store)

    monkeypatch.setattr(Store, "_commit", commit)
    told = at_once(clinic, *asks(clinic, 4))
    assert [isinstance(one, KeyboardInterrupt) for one in told].count(True) == 1
    assert len(clinic.transcript) == 3
    assert clinic.verify().answers == 3


def test_together_they_spend_no_more_than_there_is(tmp_path) -> None:
    with made(tmp_path / "clinic", count=600) as dataset:
        fits = dataset._ledger.answers_left(600)
        session = dataset.session("ann")
        for i in range(fits - 2):
            session.ask(f"bmi > {i}")
        told = at_once(dataset, *(lambda i=i: session.ask(f"age > {i}") for i in range(5)))
        assert [isinstance(one, sh.BudgetExhausted) for one in told].count(True) == 3
        assert dataset._ledger.answers_left(600) == 0
        assert dataset.verify().answers == fits
