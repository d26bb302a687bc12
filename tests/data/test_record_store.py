"""Records in order of arrival; a snapshot is exactly the first t of them, for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.noise_sources import NoNoise
from support.runtime import contents, made, older, opened, record, records
from surehold.data import intake, record_store
from surehold.data.segments import sweep
from surehold.ledger.store import Store
from surehold.queries import Measure, Schema, fraction, mean
from surehold.session.dataset import Dataset

SCHEMA = Schema.of({"age": "int", "bmi": "float", "city": "str"})
OLD = fraction("age > 40").measure(SCHEMA)
BMI = mean("bmi", low=0, high=64).measure(SCHEMA)
OSLO = fraction("city = 'Oslo'").measure(SCHEMA)
MEASURES = [OLD, BMI, OSLO]


def expected(measure: Measure, round: int) -> int:
    """By plain Python."""
    if measure is OLD:
        return older(40, round)
    if measure is OSLO:
        return sum(record(number)["city"] == "Oslo" for number in range(round))
    return sum(int(record(number)["bmi"] * 2**26 + 0.5) for number in range(round))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of up to 50 records, from 30 on at once, or once 40 are pending."""
    monkeypatch.setattr(record_store, "SEAL_AT", 40)
    monkeypatch.setattr(intake, "LARGE", 30)
    monkeypatch.setattr(intake, "RECORDS", 50)


# Appends of all sizes: one, few, enough to be sealed, many, and exactly whole segments.
SIZES = [1, 3, 29, 5, 1, 30, 2, 120, 50, 1, 39, 100, 10, 25]
TOTAL = sum(SIZES)


def grown(path: Path) -> sh.Dataset:
    dataset, start = made(path), 0
    for size in SIZES:
        assert dataset.append(records(start, start + size)).n == start + size
        start += size
    return dataset


@pytest.mark.usefixtures("small")
def test_order_of_arrival(tmp_path: Path) -> None:
    with grown(tmp_path / "data") as dataset:
        rows = json.loads(dataset._data.text(0, TOTAL))
        assert rows == [list(record(number).values()) for number in range(TOTAL)]
        for start, count in ((0, 1), (3, 30), (33, 200), (TOTAL - 1, 1)):
            assert json.loads(dataset._data.text(start, count)) == rows[start : start + count]
        status, verified = dataset.status(), dataset.verify()
        assert status.segments == verified.segments > 6
        assert 0 < status.pending < 40


@pytest.mark.usefixtures("small")
def test_every_snapshot(tmp_path: Path) -> None:
    with grown(tmp_path / "data") as dataset:
        wanted = {t: [expected(m, t) for m in MEASURES] for t in range(1, TOTAL + 1)}
        for t in wanted:  # from what is known
            assert dataset._data.sums(MEASURES, t) == wanted[t]
        for t in reversed(wanted):  # and backwards
            assert dataset._data.sums(MEASURES[::-1], t) == wanted[t][::-1]
        fresh = record_store.RecordStore(dataset._ledger)
        for t in (1, 200, 7, TOTAL):  # by others, together with one that is known
            assert fresh.sums([OLD], t) == wanted[t][:1]
            assert fresh.sums(MEASURES, t) == wanted[t]
    with opened(tmp_path / "data") as dataset:
        for t in (1, 30, 99, TOTAL):  # from scratch, each time
            assert record_store.RecordStore(dataset._ledger).sums(MEASURES, t) == wanted[t]


@pytest.mark.usefixtures("small")
def test_snapshots_stay_while_another_appends(tmp_path: Path) -> None:
    with made(tmp_path / "data", count=10) as reader, opened(tmp_path / "data") as writer:
        n = 10
        for size in SIZES:
            writer.append(records(n, n + size))
            n += size
            assert reader.n == n
            for t in (10, (10 + n) // 2, n):
                assert reader._data.sums(MEASURES, t) == [expected(m, t) for m in MEASURES]
        assert reader.verify().records == n


def test_a_thread_that_asks_while_another_appends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_store, "SEAL_AT", 20)
    with made(tmp_path / "data", count=10) as dataset, opened(tmp_path / "data") as other:
        done = threading.Event()

        def append() -> None:
            for number in range(10, 300):
                other.append(record(number))
            done.set()

        thread = threading.Thread(target=append)
        thread.start()
        rounds = 0
        while not done.is_set() or rounds == 0:
            n = dataset.n
            fresh = record_store.RecordStore(dataset._ledger)
            assert fresh.sums([OLD], n) == dataset._data.sums([OLD], n) == [older(40, n)]
            rounds += 1
        thread.join()


def test_sealed_between_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process moves pending records into a segment, and appends, while this one reads."""
    with made(tmp_path / "data", count=20) as reader, opened(tmp_path / "data") as writer:
        looks = iter([True])

        def meanwhile() -> None:
            if next(looks, False):
                writer._data.seal()
                writer.append(records(20, 30))

        for name in ("segments", "pending"):
            real = getattr(Store, name)

            def looked(store: Store, after: int = 0, real: Any = real) -> Any:
                found = real(store, after)
                if store is reader._ledger.store:
                    meanwhile()
                return found

            monkeypatch.setattr(Store, name, looked)
        assert reader._data.sums([OLD], 20) == [older(40, 20)]
        assert reader._data.sums([OLD], reader.n) == [older(40, 30)]
        assert json.loads(reader._data.text(0, 30)) == [
            list(row.values()) for row in records(0, 30)
        ]


def test_from_another_process(tmp_path: Path) -> None:
    script = (
        "import sys, surehold as sh; from surehold.queries import Schema, fraction\n"
        "with sh.open(sys.argv[1]) as dataset:\n"
        "    measure = fraction('age > 40').measure(dataset._ledger.schema)\n"
        "    for line in sys.stdin:\n"
        "        print(dataset._data.sums([measure], int(line))[0], flush=True)\n"
    )
    with (
        made(tmp_path / "data", count=50) as dataset,
        subprocess.Popen(
            [sys.executable, "-c", script, str(dataset.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        for round in (50, 20, 60, 90, 60):
            if round > dataset.n:
                dataset.append(records(dataset.n, round))
                dataset._data.seal()
            process.stdin.write(f"{round}\n")
            process.stdin.flush()
            assert int(process.stdout.readline()) == older(40, round)
        process.stdin.close()
        assert process.wait(180) == 0


# ------------------------------------------------------------------------------------ sealing


def test_sealing_changes_nothing_that_can_be_seen(tmp_path: Path) -> None:
    """The hash of an append is the same from the database and from a segment."""
    odd = [
        {"age": -(2**63), "bmi": 0.1, "city": "\x00\u2028'\"\\"},
        {"age": None, "bmi": 5e-324, "city": ""},
        {"age": 2**63 - 1, "bmi": -0.0, "city": None},
        {"age": 0, "bmi": 1.7976931348623157e308, "city": "🌊"},
    ]
    with made(tmp_path / "data") as dataset:
        for row in odd:
            dataset.append(row)
        dataset.append(odd)
        before, text = dataset.verify(), dataset._data.text(0, 8)
        dataset._data.seal()
        after = dataset.verify()
        assert (before.segments, after.segments) == (0, 1)
        assert dataset.status().pending == 0
        assert record_store.RecordStore(dataset._ledger).text(0, 8) == text
        dataset._data.seal()  # nothing to do
        assert dataset.verify().entries == after.entries


def test_a_seal_that_fails_costs_no_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_store, "SEAL_AT", 10)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with made(tmp_path / "data", count=5) as dataset:
        with monkeypatch.context() as patch:
            patch.setattr("surehold.data.segments.write_file", full)
            assert dataset.append(records(5, 20)).n == 20
            assert dataset.verify().strays == ()
            with pytest.raises(sh.StorageFailed, match="No space left"):
                dataset._data.seal()
        assert dataset.status().pending == 20
        assert dataset.append(record(20)).n == 21
        assert dataset.status().pending == 0
        assert dataset._data.sums([OLD], 21) == [older(40, 21)]
        dataset.verify()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("step", ["write_file", "digest_of", "sync_folder"])
def test_a_large_append_that_fails_is_not_there(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with made(tmp_path / "data", count=5) as dataset:
        with monkeypatch.context() as patch:
            place = "files" if step == "sync_folder" else "data.segments"
            patch.setattr(f"surehold.{place}.{step}", full)
            with pytest.raises(sh.StorageFailed, match="No space left"):
                dataset.append(records(5, 200))
        assert dataset.n == 5
        assert dataset.verify().records == 5
        assert not [p for p in (dataset.path / "segments").iterdir() if p.name[0] == "."]
        assert dataset.append(records(5, 200)).n == 200
        assert dataset.verify().strays == ()


def test_exactly_full_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "LARGE", 20)
    monkeypatch.setattr(intake, "RECORDS", 20)
    monkeypatch.setattr("surehold.data.sources._ROWS", 10)
    with made(tmp_path / "data") as dataset:
        for n in (20, 60, 79, 80, 120):
            assert dataset.append(records(dataset.n, n)).n == n
        assert dataset._data.sums([OLD], 120) == [older(40, 120)]
        dataset.verify()


def test_leftovers_are_swept_after_a_day(tmp_path: Path) -> None:
    folder = tmp_path
    for name, age in ((".writing-old", 90_000), (".writing-new", 10), ("kept.arrow", 0)):
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (1e9 - age, 1e9 - age))
    sweep(folder)
    assert sorted(path.name for path in folder.iterdir()) == [".writing-new", "kept.arrow"]


# ------------------------------------------------------------------------------------- the rest


def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surehold.data.sources._ROWS", 40)
    seen: list[int] = []
    with made(tmp_path / "data") as dataset:
        dataset.append(records(0, 100), progress=seen.append)
        assert seen == [40, 80, 100]
        dataset.append(record(100), progress=seen.append)
        assert seen[3:] == [1]


def test_nothing_appended_leaves_no_trace(tmp_path: Path) -> None:
    with made(tmp_path / "data", count=3) as dataset:
        before = contents(dataset.path)
        for nothing in ([], iter(()), ()):
            assert dataset.append(nothing) == sh.Appended(0, 3)
        assert contents(dataset.path) == before


def test_answers_use_the_snapshot_of_their_round(tmp_path: Path) -> None:
    """From the data through the session: without noise an answer is the snapshot's mean."""
    made(tmp_path / "data", count=250).close()
    with sh.open(tmp_path / "data") as real:
        assert real.n == 250
    dataset = Dataset(tmp_path / "data", noise=NoNoise())
    with dataset:
        session = dataset.session()
        for n, held in ((260, None), (400, 230), (700, None)):
            dataset.append(records(dataset.n, n))
            session.hold(held)
            answer = session.ask("age > 40")
            assert answer.round == (held or n)
            assert answer.value == pytest.approx(older(40, answer.round) / answer.round, abs=1e-15)


def test_records_that_the_ledger_has_and_the_database_has_not(tmp_path: Path) -> None:
    """Loading stops with an error of ours rather than with fewer records."""
    with made(tmp_path / "data", count=20) as dataset:
        with dataset._ledger.writing() as draft:
            draft.store.drop_pending(20)
        with pytest.raises(sh.SureholdError):
            record_store.RecordStore(dataset._ledger).sums([OLD], 20)
