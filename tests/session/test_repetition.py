"""Queries of every class asked again: by question, by key, by several at once."""

from __future__ import annotations

import dataclasses
import os
import threading
from typing import Any

import pytest

import surehold as sh
from support.runtime import (
    contents,
    made,
    opened,
    records,
)
from support.workload import CASES, YOUTH
from surehold.ledger.draft import Draft
from surehold.mechanisms.outcomes.rates import RateAsking

pytestmark = pytest.mark.usefixtures("quick_models")


@pytest.fixture
def dataset(full):
    return full


@pytest.fixture
def session(dataset):
    return dataset.session("ann")


# ---------------------------------------------------------------------------- keys, repetition


@pytest.mark.parametrize("name", CASES)
def test_a_key_gives_the_recorded_answer_across_rounds(tmp_path, name: str) -> None:
    with made(tmp_path / "clinic", count=1900) as dataset:
        dataset.register(YOUTH)
        session, case = dataset.session("ann"), CASES[name]
        first = session.ask(case.query, key="k")
        assert (first.key, first.recorded) == ("k", False)
        dataset.append(records(1900, 2000))
        with opened(dataset.path) as other:
            state = other._ledger.state
            again = other.session("bob").ask(case.query, key="k")
            assert again == dataclasses.replace(first, recorded=True)
            assert other._ledger.state == state
            with pytest.raises(sh.InvalidInput, match="it was used for another one"):
                other.session().ask("age > 77", key="k")
        dataset.verify()


def test_the_same_rate_twice(dataset, session) -> None:
    first = session.ask(CASES["rate"].query)
    state, head = dataset._ledger.state, dataset._ledger.head
    again = session.ask(sh.rate("(age > 50.0)", given="bmi>20"))
    assert again == dataclasses.replace(first, recorded=True)
    assert (dataset._ledger.state, dataset._ledger.head) == (state, head)
    assert (first.price, first.charge) == (0, 0.0)
    parts = [dataset._ledger.store.entry(part).read()["canonical"] for part in first.parts]
    assert parts == [leaf.canonical for leaf in CASES["rate"].leaves]


def test_a_key_may_be_given_to_what_was_derived_before(dataset, session) -> None:
    first = session.ask(CASES["rate"].query)
    again = session.ask(CASES["rate"].query, key="later")
    assert (again.entry, again.recorded) == (first.entry, True)
    session.hold(1500)
    assert session.ask(CASES["rate"].query, key="later").round == 2000
    dataset.verify()


def test_parts_that_a_key_has_at_another_round_are_not_mixed(tmp_path) -> None:
    """A rate whose numerator was asked before, by the name of its part, would be of two rounds."""
    with made(tmp_path / "clinic", count=1900) as dataset:
        session, rate = dataset.session(), CASES["rate"]
        session.ask(rate.leaves[0].canonical, key="k/0")
        dataset.append(records(1900, 2000))
        before = contents(dataset.path)
        with pytest.raises(sh.InvalidInput, match="used for a part of this one"):
            session.ask(rate.query, key="k")
        assert contents(dataset.path) == before
        session.hold(1900)
        assert session.ask(rate.query, key="k").round == 1900
        dataset.verify()


LISTS = {
    "longer": ["age > 1", "age > 2", "age > 3"],
    "shorter": ["age > 1"],
    "other": ["age > 1", "age > 7"],
    "in another order": ["age > 2", "age > 1"],
    "a rate of it": ["rate(age > 1, age > 2)"],
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("grown", [False, True])
def test_the_key_of_a_list_stands_for_that_list(tmp_path, name, grown) -> None:
    with made(tmp_path / "clinic", count=1900) as dataset:
        session, asked = dataset.session(), ["age > 1", "age > 2"]
        first = session.ask_many(asked, key="k")
        if grown:
            dataset.append(records(1900, 2000))
        before = contents(dataset.path)
        with pytest.raises(sh.InvalidInput, match="key must be new for each"):
            session.ask_many(LISTS[name], key="k")
        with pytest.raises(sh.InvalidInput, match="key must be new for each"):
            session.ask("age > 7", key="k")
        assert contents(dataset.path) == before
        again = session.ask_many(asked, key="k")
        assert [(one.entry, one.recorded) for one in again] == [(one.entry, True) for one in first]
        dataset.verify()


def test_a_key_of_one_query_is_none_of_a_list(dataset, session) -> None:
    session.ask("age > 1", key="k")
    with pytest.raises(sh.InvalidInput, match="key must be new for each list"):
        session.ask_many(["age > 1", "age > 2"], key="k")
    with pytest.raises(sh.InvalidInput, match="key must be new"):
        session.ask_many(["age > 2"], key="k")


def test_a_held_round_is_that_of_all_parts(dataset, session) -> None:
    session.ask("bmi > 20")  # at 2,000: of no use at 1,000
    session.hold(1000)
    for name, case in CASES.items():
        if case.price <= 4:
            result = session.ask(case.query)
            assert result.round == 1000, name
            for part in getattr(result, "parts", ()):
                assert dataset._ledger.store.entry(part).read()["round"] == 1000
    dataset.verify()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("key", [None, "k"])
def test_a_commit_that_fails_between_the_parts_and_what_follows(
    dataset, session, commits, monkeypatch, key, when: str
) -> None:
    """What is charged is there, and what follows is worked out when it is asked again."""
    real = Draft.add_derived

    def fail(*args: Any, **named: Any) -> Any:
        commits.fail = when
        return real(*args, **named)

    monkeypatch.setattr(Draft, "add_derived", fail)
    with pytest.raises(sh.StorageFailed):
        session.ask(CASES["rate"].query, key=key)
    monkeypatch.undo()
    state = dataset._ledger.refresh()
    assert state.answers == 2
    dataset.verify()
    again = session.ask(CASES["rate"].query, key=key)
    # Without a key it is implied by what is recorded, and needs no entry of its own.
    assert again.recorded == (when == "after" or key is None)
    assert dataset._ledger.state.answers == 2
    assert len(session.transcript) == (3 if when == "after" or key else 2)
    dataset.verify()


def test_threads_that_derive_the_same_at_once(dataset) -> None:
    queries = [CASES[name].query for name in ("rate", "auc", "means", "gate of a rate")]
    for i, query in enumerate(queries):
        barrier, results = threading.Barrier(3), []

        def ask(i: int = i, query: Any = query, barrier: Any = barrier, to: Any = results) -> None:
            session = dataset.session()
            barrier.wait()
            try:
                to.append(session.ask(query, key=f"key {i}"))
            except Exception as error:
                to.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({result.entry for result in results}) == 1, results
        assert sorted(result.recorded for result in results) == [False, True, True]
    dataset.verify()


def test_somebody_derives_the_same_between_the_parts_and_what_follows(
    dataset, session, monkeypatch
) -> None:
    real = type(session)._conclude
    with opened(dataset.path, seed=9) as second:
        other, todo = second.session("bob"), [1]

        def concluded(self: Any, *args: Any) -> Any:
            if todo and self is session:
                todo.pop()
                other.ask(CASES["rate"].query, key="k")
            return real(self, *args)

        monkeypatch.setattr(type(session), "_conclude", concluded)
        found = session.ask(CASES["rate"].query, key="k")
        assert (found.recorded, found.analyst) == (True, "bob")
        dataset.verify()


def test_a_forked_child_must_open_for_itself(dataset, session) -> None:
    session.ask(CASES["rate"].query)
    child = os.fork()
    if child == 0:
        failed = 0
        for name in ("rate", "select", "fit", "cells"):
            try:
                session.ask(CASES[name].query)
            except sh.StorageFailed:
                failed += 1
        os._exit(failed)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 4
    session.ask(CASES["select"].query)
    dataset.verify()


# ------------------------------------------------------------------------------ rates that grow

RATE = "rate(age > 40, city = 'Oslo')"


def test_a_rate_expects_the_same_share_of_the_records_after_growth(tmp_path) -> None:
    with made(tmp_path / "clinic", count=1000, guard="surprise") as dataset:
        session = dataset.session()
        first = session.ask(RATE)
        dataset.append(records(1000, 1200))
        again = session.ask(RATE)
        assert again.surprise < first.surprise / 3
        assert again.surprise < 3.0  # bits: 34 cells of the number alone would be 5
        dataset.verify()


def test_rates_that_an_earlier_version_asked_again_are_verified(tmp_path, monkeypatch) -> None:
    with made(tmp_path / "clinic", count=1000, guard="surprise") as dataset:
        dataset.session().ask(RATE)
        dataset.append(records(1000, 1200))
        with monkeypatch.context() as patch:
            patch.setattr(RateAsking, "_likely", lambda self, past: {})
            again = dataset.session().ask(RATE)
        assert again.surprise > 5.0
        assert "likely" not in dataset._ledger.store.entry(again.entry).read()["menu"]
        assert dataset.verify().answers == 2
