from __future__ import annotations

import os

import pytest

import holdfast as hf
from holdfast.ledger.entries import GENESIS, Entry
from holdfast.ledger.witness import Witness


def entry(seq: int) -> Entry:
    return Entry(seq, "answer", "{}", bytes([seq % 256]) * 32)


@pytest.fixture
def path(tmp_path):
    Witness.create(tmp_path / "witness", entry(1))
    return tmp_path / "witness"


def test_it_says_what_it_was_last_told(path) -> None:
    witness = Witness(path)
    assert witness.read() == (1, entry(1).hash)
    for seq in (2, 10, 10**15, 11):
        witness.write(entry(seq))
        assert witness.read() == (seq, entry(seq).hash)
        assert path.stat().st_size == 128  # in place, within one sector
    witness.close()
    witness.close()
    again = Witness(path)
    assert again.read() == (11, entry(11).hash)
    again.close()


def test_it_is_made_once(path) -> None:
    with pytest.raises(FileExistsError):
        Witness.create(path, entry(1))


def test_a_missing_witness_is_not_made_anew(tmp_path) -> None:
    with pytest.raises(hf.LedgerCorrupt, match="missing"):
        Witness(tmp_path / "witness")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"7", b"7 zz", b"x " + b"00" * 32, b"7 00 00", b"\xff" * 128, b"\0" * 128],
)
def test_a_witness_that_says_nothing(path, content: bytes) -> None:
    path.write_bytes(content)
    witness = Witness(path)
    with pytest.raises(hf.LedgerCorrupt, match="can't be read"):
        witness.read()
    witness.close()


def test_a_witness_that_can_not_be_opened(tmp_path) -> None:
    (tmp_path / "witness").mkdir()
    with pytest.raises(hf.StorageFailed, match="opening the witness"):
        Witness(tmp_path / "witness")


def test_a_failing_write_does_not_undo_what_is_durable(path, monkeypatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    witness = Witness(path)
    monkeypatch.setattr(os, "pwrite", fail)
    witness.write(Entry(2, "answer", "{}", GENESIS))
    monkeypatch.undo()
    assert witness.read() == (1, entry(1).hash)
    witness.close()
