"""Backups of datasets in use: whole, of one moment, and asked by nobody until they are restored."""

from __future__ import annotations

import shutil
import threading

import pytest

import surehold as sh
from support.runtime import COLUMNS, GUARDS, ID, guarded, numbered, opened
from surehold.server.tokens import TokenBook
from surehold.session.backup import backup, repair_witness
from surehold.session.dataset import create


@pytest.fixture(params=GUARDS)
def clinic(request, tmp_path):
    """With sealed and pending records, a side table, tokens and an answer."""
    path = tmp_path / "clinic"
    create(path, **guarded(request.param), columns={ID: "int", **COLUMNS}, id=ID).close()
    with opened(path) as dataset:
        dataset.append(numbered(0, 1200))
        dataset._data.seal()
        dataset.append(numbered(1200, 1400))
        dataset.keep_table([{ID: i, "answer": i % 2} for i in range(50)], name="run-17")
        TokenBook(path, guard=dataset.guard).create("ann", "analyst", seconds=60.0)
        dataset.session().ask("age > 65", key="first")
        yield dataset


def heads(path):
    with opened(path) as dataset:
        return [entry.hash.hex() for entry in dataset._ledger.store.entries()]


def test_a_backup_is_restored_with_the_head_that_was_noted(clinic, tmp_path):
    copy, status = tmp_path / "backups" / "monday", clinic.status()
    verified = backup(clinic.path, copy)
    assert (verified.name, verified.records, verified.answers) == ("monday", 1400, 1)
    assert verified.head == status.head
    assert not {"witness", "writing.lock", "incoming"} & {path.name for path in copy.iterdir()}
    assert [path.name for path in copy.parent.iterdir()] == ["monday"]
    with pytest.raises(sh.LedgerCorrupt, match="missing, as in a backup"):
        sh.open(copy)
    repair_witness(copy, status.head[:12])
    with sh.open(copy) as restored:
        assert restored.status().to_dict() == {**status.to_dict(), "name": "monday"}
        again = restored.session().ask("age > 65", key="first")
        assert again.recorded
        assert restored.table("run-17").rows == 50
        assert restored.session().ask(f"age > {ID}").round == 1400
    assert TokenBook(copy, guard=clinic.guard).tokens == TokenBook(clinic.path).tokens


def test_an_older_copy_is_refused_if_a_newer_head_is_known_and_else_explained(clinic, tmp_path):
    backup(clinic.path, tmp_path / "copy")
    clinic.session().ask("age > 66")
    with pytest.raises(sh.LedgerCorrupt, match="it is an older copy"):
        repair_witness(tmp_path / "copy", clinic.status().head)
    with pytest.raises(sh.LedgerCorrupt):
        sh.open(tmp_path / "copy")
    # Into the folder of the dataset: its witness knows better.
    shutil.copy(tmp_path / "copy" / "ledger.sqlite", clinic.path / "ledger.sqlite.older")
    clinic.close()
    for left in clinic.path.glob("ledger.sqlite-*"):
        left.unlink()
    (clinic.path / "ledger.sqlite.older").replace(clinic.path / "ledger.sqlite")
    with pytest.raises(sh.LedgerCorrupt, match="it ends at entry"):
        sh.open(clinic.path)


def test_a_backup_put_in_the_place_of_an_open_dataset_is_not_answered_past(clinic, tmp_path):
    """The open one would go on writing into files that nobody finds any more."""
    backup(clinic.path, tmp_path / "copy")
    repair_witness(tmp_path / "copy", None)
    shutil.rmtree(clinic.path)
    with pytest.raises(sh.StorageFailed):
        clinic.session().ask("age > 66")
    shutil.copytree(tmp_path / "copy", clinic.path)
    with pytest.raises(sh.StorageFailed, match="removed or replaced"):
        clinic.session().ask("age > 67")
    with sh.open(clinic.path) as restored:
        assert restored.status().answers == 1
        assert restored.session().ask("age > 66").recorded is False


def test_a_dataset_that_is_written_meanwhile_is_copied_as_of_one_moment(clinic, tmp_path):
    over, asked, failed = threading.Event(), [], []

    def write() -> None:
        try:
            with opened(clinic.path, seed=5) as dataset:
                for i in range(10_000):
                    if over.is_set():
                        return
                    dataset.append(numbered(2000 + 20 * i, 2020 + 20 * i))
                    if i % 3 == 0:
                        dataset._data.seal()
                        dataset.keep_table([{ID: i, "answer": i}], name=f"table-{i}")
                    asked.append(dataset.session().ask("age > 65").entry)
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=write)
    thread.start()
    try:
        found = []
        for number in range(4):
            before = len(asked)
            found.append(backup(clinic.path, tmp_path / f"copy-{number}"))
            while len(asked) < before + 2 and thread.is_alive():
                over.wait(0.001)
    finally:
        over.set()
        thread.join()
    assert failed == []
    chain = heads(clinic.path)
    assert [one.entries for one in found] == sorted({one.entries for one in found})
    assert all(chain[one.entries - 1] == one.head for one in found)


def test_what_fails_leaves_nothing_behind(clinic, tmp_path, monkeypatch):
    target = tmp_path / "backups" / "copy"
    target.mkdir(parents=True)
    (target / "mine").touch()
    with pytest.raises(sh.InvalidInput):
        backup(clinic.path, target)
    (target / "mine").unlink()
    for file in (clinic.path / "segments").iterdir():
        bytes_ = file.read_bytes()
        file.write_bytes(bytes_[:-9] + b"X" + bytes_[-8:])
    with pytest.raises(sh.LedgerCorrupt):
        backup(clinic.path, target)
    assert list(target.parent.iterdir()) in ([], [target])
    monkeypatch.setattr(shutil, "copytree", fail)
    with pytest.raises(sh.StorageFailed, match="making a backup"):
        backup(clinic.path, target)
    assert list(target.parent.iterdir()) in ([], [target])


def fail(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")
