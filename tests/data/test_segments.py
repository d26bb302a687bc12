"""Segments: plain Arrow files, named by what they hold."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import surehold as sh
from support.runtime import COLUMNS, made, older, opened, records
from surehold.data import intake, record_store, segments
from surehold.queries import Schema, fraction

OLD = fraction("age > 40").measure(Schema.of(COLUMNS))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "LARGE", 20)
    monkeypatch.setattr(intake, "RECORDS", 30)


def files(dataset: sh.Dataset) -> list[Path]:
    """In the order of their records."""
    folder = dataset.path / "segments"
    return [folder / f"{s.digest}.arrow" for s in dataset._ledger.store.segments()]


def test_any_arrow_tool_reads_them(tmp_path: Path) -> None:
    with made(tmp_path / "data", count=100) as dataset:
        found = files(dataset)
        tables = [pa.ipc.open_file(path).read_all() for path in found]
        assert [table.num_rows for table in tables] == [30, 30, 30, 10]
        together = pa.concat_tables(tables)
        assert together.to_pylist() == records(0, 100)
        assert pl.concat([pl.read_ipc(path) for path in found]).rows(named=True) == records(0, 100)
        for table in tables:
            assert (
                table.schema.metadata[b"surehold.dataset"].decode() == dataset._ledger.fingerprint
            )


def test_names_are_hashes(tmp_path: Path) -> None:
    with made(tmp_path / "data", count=100) as dataset:
        dataset.append(records(100, 105))
        dataset._data.seal()
        assert sorted(files(dataset)) == sorted((dataset.path / "segments").iterdir())
        for path in files(dataset):
            assert path.stem == hashlib.sha256(path.read_bytes()).hexdigest()


def test_nulls_and_texts_survive(tmp_path: Path) -> None:
    rows = [
        {"age": None, "bmi": None, "city": None},
        {"age": 1, "bmi": -0.0, "city": ""},
        {"age": 2, "bmi": 5e-324, "city": "Ø🌊\x00\n"},
    ] * 10
    with made(tmp_path / "data") as dataset:
        dataset.append(rows)
        assert pa.ipc.open_file(files(dataset)[0]).read_all().to_pylist() == rows


def test_identical_appends_share_a_file(tmp_path: Path) -> None:
    with made(tmp_path / "data") as dataset:
        for _ in range(3):
            dataset.append(records(0, 25))
            dataset._data.sums([OLD], dataset.n)  # the file is mapped while it is written again
        assert len(set(files(dataset))) == 1
        assert len(list((dataset.path / "segments").iterdir())) == 1
        assert dataset._data.sums([OLD], 75) == [3 * older(40, 25)]
        assert dataset.verify().segments == 3
    with opened(tmp_path / "data") as dataset:
        assert dataset._data.sums([OLD], 75) == [3 * older(40, 25)]


@pytest.mark.parametrize("harm", ["delete", "shorten", "change", "swap"])
def test_a_file_that_is_not_what_it_was(harm: str, tmp_path: Path) -> None:
    with made(tmp_path / "data", count=90) as dataset:
        first, second, _ = files(dataset)
    content = first.read_bytes()
    if harm == "delete":
        first.unlink()
    elif harm == "shorten":
        first.write_bytes(content[:-1])
    elif harm == "change":
        at = content.index(b"Bergen")
        first.write_bytes(content[:at] + b"Oslooo" + content[at + 6 :])
    else:
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
    if harm in ("delete", "shorten"):
        with pytest.raises(sh.LedgerCorrupt, match=first.stem[:12]):
            opened(tmp_path / "data")
        return
    # Told without reading only by the size; verify reads all of it.
    try:
        dataset = opened(tmp_path / "data")
    except sh.LedgerCorrupt:
        assert harm == "swap"
        return
    with dataset, pytest.raises(sh.LedgerCorrupt, match=first.stem[:12]):
        dataset.verify()


def test_a_file_that_goes_while_the_dataset_is_open(tmp_path: Path) -> None:
    with made(tmp_path / "data", count=90) as dataset:
        files(dataset)[1].unlink()
        with pytest.raises(sh.LedgerCorrupt, match="missing"):
            record_store.RecordStore(dataset._ledger).sums([OLD], 90)
        with pytest.raises(sh.LedgerCorrupt):
            dataset.verify()


def test_files_that_no_entry_names_are_told_and_passed_over(tmp_path: Path) -> None:
    with made(tmp_path / "data", count=90) as dataset:
        (dataset.path / "segments" / "stray.arrow").write_bytes(b"")
        assert dataset.verify().strays == ("stray.arrow",)


def test_a_file_holds_the_long_texts_of_its_own_records_only(tmp_path: Path) -> None:
    """Slices of a frame share the bytes of its texts, and Arrow writes all that are shared."""
    texts = [f"a text number {i} that is too long to be stored in place" for i in range(20_000)]
    frame = pl.DataFrame({"text": texts})
    path = tmp_path / "part.arrow"
    segments.write_file(path, frame.slice(19_990), "0" * 32)
    assert path.stat().st_size < 10_000
    assert b"number 19990 " in path.read_bytes()
    assert b"number 19989 " not in path.read_bytes()
