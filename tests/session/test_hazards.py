"""Forks, moves, interrupts: what a process does around an open dataset."""

import copy
import os
import pickle
from unittest import mock

import pytest

import surehold as sh
from support.runtime import GUARDS, adaptive_plan, made
from surehold.ledger.store import Store
from surehold.session.dataset import Dataset

COLUMNS = {"x": "int"}


def test_a_forked_child_must_open_for_itself(tmp_path):
    with made(tmp_path / "clinic", count=600) as dataset:
        session = dataset.session()
        session.ask("age > 1")
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                session.ask("age > 2")
                told = "answered"
            except sh.StorageFailed as error:
                told = str(error)
            dataset.close()  # and this must not fold away the parent's log
            os.write(write, told.encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert "open the dataset in this process" in os.read(read, 1000).decode()
        session.ask("age > 3")
    with sh.open(tmp_path / "clinic") as dataset:
        assert dataset.verify().answers == 2


def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        sh.create("clinic", plan=adaptive_plan(), columns=COLUMNS).close()
    monkeypatch.chdir(tmp_path / "a")
    dataset = sh.open("clinic")
    monkeypatch.chdir(tmp_path / "b")
    dataset.append([{"x": i} for i in range(20_000)])
    assert dataset.verify().records == 20_000
    dataset.close()
    assert sh.open("clinic").n == 0
    assert sh.open(tmp_path / "a" / "clinic").n == 20_000


@pytest.mark.parametrize("guard", GUARDS)
def test_an_interrupt_in_a_commit_leaves_nothing_behind(tmp_path, guard):
    with (
        made(tmp_path / "clinic", count=600, guard=guard) as dataset,
        Dataset(tmp_path / "clinic") as other,
    ):
        session = dataset.session()
        with (
            mock.patch.object(Store, "_commit", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt),
        ):
            session.ask("age > 1")
        other.session().ask("age > 2")
        session.ask("age > 3")
        assert dataset.verify().answers == 2


def test_appends_are_salted(tmp_path):
    """Otherwise a guessed record could be checked against a published head."""
    heads = set()
    for name in "ab":
        with sh.create(tmp_path / name, plan=adaptive_plan(), columns=COLUMNS) as dataset:
            dataset.append({"x": 1})
            heads.add(dataset._ledger.head.read()["salt"])
    assert len(heads) == 2


def test_only_the_owner_can_read(tmp_path):
    sh.create(tmp_path / "d", plan=adaptive_plan(), columns=COLUMNS).close()
    assert (tmp_path / "d").stat().st_mode & 0o077 == 0


def test_the_width_covers_the_rounding_of_a_mean_far_from_zero(tmp_path):
    base = 1_700_000_000_000_000_000
    with sh.create(tmp_path / "d", plan=adaptive_plan(), columns={"ns": "int"}) as dataset:
        dataset.append([{"ns": base + 384}] * 300)
        answer = dataset.session().ask(sh.mean("ns", base, base + 1024))
        assert answer.interval[0] <= base + 384 <= answer.interval[1]
        assert abs(answer.value - (base + 384)) <= answer.width
        assert answer.width >= 256


def test_results_can_be_copied_and_pickled(tmp_path):
    with made(tmp_path / "clinic", count=600) as dataset:
        session = dataset.session()
        results = [
            session.quote("age > 1"),
            session.ask("age > 1"),
            session.ask("mean(age, 0, 100)"),
            session.budget,
            dataset.status(),
            dataset.verify(),
            *dataset.rounds,
            dataset.plan,
        ]
    for result in results:
        for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            assert other == result
            assert other.to_dict() == result.to_dict()
        assert "<table>" in result._repr_html_()
        assert len(str(result)) < 300
