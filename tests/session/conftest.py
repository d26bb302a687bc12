"""Fixtures that the tests of a session share."""

from __future__ import annotations

import sqlite3

import pytest

from support.noise_sources import NoNoise
from support.runtime import made
from support.workload import YOUTH, in_process
from surehold.data.record_store import RecordStore
from surehold.ledger.store import Store
from surehold.session.dataset import Dataset


@pytest.fixture
def guard():
    """Tests of both guards are given each of them."""
    return "noise"


@pytest.fixture
def clinic(tmp_path, guard):
    """With 1,000 records, where a query costs four times what it costs at the end."""
    with made(tmp_path / "clinic", count=1000, guard=guard) as dataset:
        yield dataset


@pytest.fixture
def session(clinic):
    return clinic.session("ann")


@pytest.fixture
def quick_models(monkeypatch):
    """Models that mean well need no process of their own."""
    in_process(monkeypatch)


@pytest.fixture
def full(tmp_path, guard):
    """With all records that its plan has, so that a query of any class fits."""
    with made(tmp_path / "full", count=2000, guard=guard) as dataset:
        dataset.register(YOUTH)
        yield dataset


@pytest.fixture
def exact(tmp_path):
    """A session on the same, without noise."""
    made(tmp_path / "exact", count=2000).close()
    with Dataset(tmp_path / "exact", NoNoise()) as dataset:
        dataset.register(YOUTH)
        yield dataset.session("ann")


class Commits:
    """Counts commits; may fail before or after the next one, or one that comes later.

    An ask that touches records has two: of its charge, and of its answer.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = self.passed_over = 0
        self.fail: str | None = None
        real = Store._commit

        def commit(store: Store) -> None:
            fail = None
            if self.passed_over:
                self.passed_over -= 1
            else:
                fail, self.fail = self.fail, None
            if fail == "before":
                raise sqlite3.OperationalError("disk I/O error")
            real(store)
            self.count += 1
            if fail == "after":
                raise sqlite3.OperationalError("disk I/O error")

        patch.setattr(Store, "_commit", commit)


@pytest.fixture
def commits(monkeypatch):
    return Commits(monkeypatch)


@pytest.fixture
def no_data(monkeypatch):
    """From now on whoever looks at a record fails."""

    def refuse(*_: object) -> None:
        raise AssertionError("a record was touched")

    def forbid() -> None:
        for name in ("exact", "sums", "text", "_catch_up"):
            monkeypatch.setattr(RecordStore, name, refuse)

    return forbid
