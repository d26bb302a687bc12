from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import surehold as sh
from support.runtime import made
from surehold.cli import surehold
from surehold.ledger.entries import GENESIS, Entry
from surehold.ledger.witness import Witness
from surehold.session.backup import repair_witness


def entry(seq: int) -> Entry:
    return Entry(seq, "answer", "{}", bytes([seq % 256]) * 32)


@pytest.fixture
def path(tmp_path):
    Witness.create(tmp_path / "witness", entry(1))
    return tmp_path / "witness"


def test_it_says_what_it_was_last_told(path) -> None:
    witness = Witness(path)
    assert witness.read() == (1, entry(1).hash)
    for seq in (2, 10, 11, 10**15):
        witness.write(entry(seq))
        assert witness.read() == (seq, entry(seq).hash)
        assert path.stat().st_size == 256  # in place, two lines
    again = Witness(path)
    assert again.read() == (10**15, entry(10**15).hash)


def test_made_anew_it_is_another_file(path) -> None:
    """Whole under its name, or what was there before: never a part of it."""
    before = path.stat().st_ino
    Witness.create(path, entry(2))
    witness = Witness(path)
    assert witness.read() == (2, entry(2).hash)
    assert path.stat().st_ino != before
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_witness_is_not_made_anew(tmp_path) -> None:
    with pytest.raises(sh.LedgerCorrupt, match="missing"):
        Witness(tmp_path / "witness").read()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"7", b"7 zz", b"x " + b"00" * 32, b"7 00 00", b"\xff" * 128, b"\0" * 128],
)
def test_a_witness_that_says_nothing(path, content: bytes) -> None:
    path.write_bytes(content)
    witness = Witness(path)
    with pytest.raises(sh.LedgerCorrupt, match="can't be read"):
        witness.read()


def test_a_witness_that_can_not_be_opened(tmp_path) -> None:
    (tmp_path / "witness").mkdir()
    with pytest.raises(sh.StorageFailed, match="opening the witness"):
        Witness(tmp_path / "witness").read()


def test_a_failing_write_does_not_undo_what_is_durable(path, monkeypatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    witness = Witness(path)
    monkeypatch.setattr(os, "pwrite", fail)
    witness.write(Entry(2, "answer", "{}", GENESIS))
    monkeypatch.undo()
    assert witness.read() == (1, entry(1).hash)


@pytest.mark.parametrize("length", range(128))
def test_a_write_that_is_cut_off_leaves_what_was_there(path, length, monkeypatch) -> None:
    witness = Witness(path)
    for seq in (98, 99):
        witness.write(entry(seq))
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, line, at: real(file, line[:length], at))
    witness.write(entry(100))
    monkeypatch.undo()
    # Blanks and the end of the line are the same in both: then all that matters is there.
    assert witness.read() in ((99, entry(99).hash), (100, entry(100).hash))
    witness.write(entry(101))
    assert witness.read() == (101, entry(101).hash)


def test_a_witness_of_an_earlier_version(path) -> None:
    path.write_bytes(f"7 {entry(7).hash.hex()}".ljust(127).encode() + b"\n")
    witness = Witness(path)
    assert witness.read() == (7, entry(7).hash)
    witness.write(entry(8))
    assert witness.read() == (8, entry(8).hash)
    assert path.stat().st_size == 256


# --------------------------------------------------------------------------------- repairing


@pytest.fixture
def clinic(tmp_path):
    with made(tmp_path / "clinic", count=1000) as dataset:
        dataset.session().ask("age > 50")
    return tmp_path / "clinic"


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"\0" * 256)])
@pytest.mark.parametrize("noted", [True, False])
def test_a_damaged_witness_is_made_anew(clinic, damage, noted) -> None:
    with sh.open(clinic) as dataset:
        head = dataset.status().head
    damage(clinic / "witness")
    with pytest.raises(sh.LedgerCorrupt, match="--repair-witness"):
        sh.open(clinic)
    verified = repair_witness(clinic, head[:12] if noted else None)
    assert verified.head == head
    with sh.open(clinic) as dataset:
        dataset.verify()


def test_a_witness_that_can_be_read_is_not_made_anew(clinic) -> None:
    before = (clinic / "witness").read_bytes()
    with pytest.raises(sh.InvalidInput, match="missing or damaged"):
        repair_witness(clinic, None)
    assert (clinic / "witness").read_bytes() == before


def test_an_older_copy_is_not_repaired_if_a_head_was_noted(clinic) -> None:
    older = (clinic / "ledger.sqlite").read_bytes()
    with sh.open(clinic) as dataset:
        dataset.session().ask("age > 30")
        head = dataset.status().head
    (clinic / "ledger.sqlite").write_bytes(older)
    with pytest.raises(sh.InvalidInput, match="missing or damaged"):  # it saw the newer one
        repair_witness(clinic, None)
    (clinic / "witness").unlink()
    with pytest.raises(sh.LedgerCorrupt, match="an older copy"):
        repair_witness(clinic, head)
    assert not (clinic / "witness").exists()


def test_the_command_repairs_it_and_says_what_it_can_not_know(clinic) -> None:
    (clinic / "witness").unlink()
    run = CliRunner().invoke(surehold, ["verify", str(clinic), "--repair-witness", "unknown"])
    assert run.exit_code == 0, run.output
    assert "known whether it once went further" in " ".join(run.output.split())
    for head in ("zz", "ab"):
        with pytest.raises(sh.InvalidInput, match="12 digits"):
            repair_witness(clinic, head)
