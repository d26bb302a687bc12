"""Two connections at once: whoever looks while another writes sees one state or the next."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.runtime import COLUMNS, GUARDS, batch_plan, guarded, opened, records
from surehold.data import intake
from surehold.ledger.ledger import Ledger
from surehold.ledger.store import Store
from surehold.ledger.witness import Witness
from surehold.session.dataset import Dataset

# Where a reader can be overtaken: after it read the head, the segments, the pending records, ...
LOOKS: dict[str, tuple[type, str]] = {
    "head": (Store, "head"),
    "last": (Store, "last"),
    "an entry": (Store, "entry"),
    "segments": (Store, "segments"),
    "pending": (Store, "pending"),
    "rounds": (Store, "rounds"),
    "questions": (Store, "questions"),
    "witness": (Witness, "read"),
    "all that is loaded": (Ledger, "_reload"),
}


def append_few(writer: Dataset) -> None:
    writer.append(records(writer.n, writer.n + 3))


def append_many(writer: Dataset) -> None:
    writer.append(records(writer.n, writer.n + 40))


def seal(writer: Dataset) -> None:
    writer.append(records(writer.n, writer.n + 1))
    writer._data.seal()


def ask(writer: Dataset) -> None:
    with contextlib.suppress(sh.BudgetExhausted):
        writer.session().ask(f"age > {writer._ledger.head.seq}")


CHANGES = [append_few, append_many, seal, ask]


@pytest.fixture(params=GUARDS)
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any) -> Any:
    monkeypatch.setattr(intake, "LARGE", 30)
    guard = {"plan": batch_plan()} if request.param == "noise" else guarded("surprise", limit=150)
    sh.create(tmp_path / "data", **guard, columns=COLUMNS).close()
    with opened(tmp_path / "data") as dataset:
        dataset.append(records(0, 900))
        ask(dataset)
        append_few(dataset)
        yield dataset


def standing(dataset: Dataset) -> Any:
    """What was spent and what is left, as a session says."""
    return dataset.session().budget if dataset.guard == "noise" else dataset.status()


def overtaken(
    monkeypatch: pytest.MonkeyPatch, look: str, writer: Dataset, change: Callable[[Dataset], None]
) -> list[bool]:
    """From now on the first such look of anybody else is followed by a change."""
    owner, name = LOOKS[look]
    real = getattr(owner, name)
    happened: list[bool] = []
    ours = {id(writer._ledger), id(writer._ledger.store), id(writer._ledger._witness)}

    def looked(self: Any, *args: Any) -> Any:
        found = real(self, *args)
        if not happened and id(self) not in ours and may_write(writer.path):
            happened.append(True)
            change(writer)
        return found

    monkeypatch.setattr(owner, name, looked)
    return happened


def may_write(path: Path) -> bool:
    """Whether nobody is writing just now: then nobody can be overtaken either."""
    with contextlib.closing(sqlite3.connect(path / "ledger.sqlite", timeout=0.0)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.rollback()
        return True


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("look", ["head", "segments", "pending", "rounds", "witness", "last"])
def test_opening_while_another_writes(
    look: str, change: Any, writer: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        overtaken(patch, look, writer, change)
        reader = opened(writer.path)
    with reader:
        assert reader.n == writer.n
        assert standing(reader) == standing(writer)
        assert reader.verify().records == writer.n


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("look", LOOKS)
def test_using_it_while_another_writes(
    look: str, change: Any, writer: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(writer.path) as reader:
        for use in (Dataset.verify, Dataset.status, ask, append_few, append_many, seal):
            change(writer)  # so that there is something to take in
            with monkeypatch.context() as patch:
                overtaken(patch, look, writer, change)
                use(reader)
        assert reader.n == writer.n
        assert reader.verify() == writer.verify()
        assert standing(reader) == standing(writer)


def test_a_refusal_is_not_made_up(writer: Dataset) -> None:
    """Both spend the same budget to its end, in turns, and neither more."""
    with opened(writer.path) as other:
        told = 0
        for number in range(100):
            try:
                (writer, other)[number % 2].session().ask(f"bmi > {number}")
                told += 1
            except sh.BudgetExhausted:
                break
        assert told == writer._ledger.state.answers - 1
        assert standing(writer) == standing(other)
        with pytest.raises(sh.BudgetExhausted):
            writer.session().ask("bmi > 1000")
