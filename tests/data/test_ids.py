"""Ids: the column that identifies a record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surehold as sh
from surehold.data import intake, record_store
from surehold.data.repeats import remark_on
from surehold.errors import BadRecord, InvalidInput, LedgerCorrupt
from surehold.queries import Schema


def make(path: Path, id: str | None = "user", kind: str = "int") -> sh.Dataset:
    return sh.create(path / "shop", beta=0.05, columns={"user": kind, "age": "int"}, id=id)


def test_an_id_is_part_of_the_columns() -> None:
    schema = Schema.of({"user": "str", "age": "int"}, id="user")
    assert schema.id == "user"
    assert schema.to_dict() == {"user": "str id", "age": "int"}
    assert Schema.of(schema.to_dict()) == schema
    assert Schema.of({"user": "str"}).id is None


@pytest.mark.parametrize("kind", ["float", "bool", "str in ('a', 'b')"])
def test_an_id_is_int_or_str(kind: str) -> None:
    with pytest.raises(InvalidInput, match="int or str"):
        Schema.of({"user": kind}, id="user")


def test_an_id_is_one_column_that_is_there() -> None:
    with pytest.raises(InvalidInput, match="one of the columns: age"):
        Schema.of({"age": "int"}, id="user")
    with pytest.raises(InvalidInput, match="one column"):
        Schema.of({"a": "int id", "b": "int"}, id="b")


def test_a_dataset_shows_its_id(tmp_path: Path) -> None:
    with make(tmp_path) as made:
        assert made.status().id == "user"
    with sh.open(tmp_path / "shop") as opened:
        assert opened.status().to_dict()["id"] == "user"
        assert opened.columns == {"user": "int id", "age": "int"}


@pytest.mark.parametrize("as_frame", [False, True])
def test_every_record_has_its_id(tmp_path: Path, as_frame: bool) -> None:
    records = [{"user": 1, "age": 30}, {"user": None, "age": 40}]
    with make(tmp_path) as made, pytest.raises(BadRecord, match="record 2, column 'user'"):
        made.append(pl.DataFrame(records) if as_frame else records)


# ------------------------------------------------------------------------------- appending

AGES = st.one_of(st.none(), st.integers(0, 2))
FILES = st.lists(st.tuples(st.integers(0, 30), AGES), max_size=25)


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "LARGE", 6)
    monkeypatch.setattr(intake, "RECORDS", 4)
    monkeypatch.setattr(record_store, "SEAL_AT", 9)


def kept(dataset: sh.Dataset) -> list[tuple[object, ...]]:
    """All records, as they are kept."""
    return dataset._data._snapshot(dataset.n).frame(0, dataset.n).rows() if dataset.n else []


def as_source(rows: list[tuple[object, ...]], form: int, folder: Path) -> object:
    records = [{"user": user, "age": age} for user, age in rows]
    frame = pl.DataFrame(records, schema={"user": pl.Int64, "age": pl.Int64})
    if form == 0:
        return records
    if form == 1:
        return frame
    path = folder / ("rows.csv" if form == 2 else "rows.parquet")
    frame.write_csv(path) if form == 2 else frame.write_parquet(path)
    return path


class Oracle:
    """The same rules, in a dictionary."""

    def __init__(self) -> None:
        self.ages: dict[object, object] = {}

    def append(self, rows: list[tuple[object, ...]]) -> tuple[int, int] | None:
        """How many are new and known; None if they are refused."""
        after = dict(self.ages)
        for user, age in rows:
            if after.setdefault(user, age) != age:
                return None
        new = len(after) - len(self.ages)
        self.ages = after
        return new, len(rows) - new


@given(files=st.lists(st.tuples(FILES, st.integers(0, 3), st.booleans()), max_size=5))
@settings(max_examples=25, deadline=None)
def test_new_ids_are_added_and_known_ones_passed_over(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[list[tuple[int, int]], int, bool]]
) -> None:
    folder, oracle = tmp_path_factory.mktemp("ids"), Oracle()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "LARGE", 6)
        patch.setattr(intake, "RECORDS", 4)
        patch.setattr(record_store, "SEAL_AT", 9)
        dataset = make(folder)
        for rows, form, is_cumulative in files:
            whole = [*oracle.ages.items(), *rows] if is_cumulative else rows
            expected = oracle.append(whole)
            source = as_source(whole, form, folder)
            if expected is None:
                with pytest.raises(InvalidInput, match="nothing of this append was kept"):
                    dataset.append(source)
            else:
                appended = dataset.append(source)
                assert (appended.count, appended.known) == expected
                assert appended.n == len(oracle.ages)
        assert dict(kept(dataset)) == oracle.ages
        assert dataset.n == len(oracle.ages)
        assert dataset.verify().records == len(oracle.ages)
        dataset.close()


def test_a_cumulative_export(tmp_path: Path) -> None:
    with make(tmp_path) as made:
        rows = [{"user": i, "age": i % 90} for i in range(2_100)]
        assert str(made.append(rows[:2_000])) == "appended 2,000 records; there are 2,000"
        appended = made.append(rows[::-1])
        assert appended == sh.Appended(100, 2_100, 2_000)
        assert str(appended) == (
            "appended 100 new records and passed over 2,000 known by their ids; there are 2,100"
        )
        assert made.append(rows) == sh.Appended(0, 2_100, 2_100)


def test_a_refusal_counts_ids_and_says_no_value(tmp_path: Path, small_segments: None) -> None:
    with make(tmp_path, kind="str") as made:
        made.append({"user": f"u{i}", "age": 70 + i} for i in range(10))
        head = made.status().head
        changed = [{"user": f"u{i}", "age": 977} for i in (1, 1, 2)]
        twice = [{"user": "new", "age": 978}, {"user": "new", "age": 979}]
        with pytest.raises(InvalidInput) as refused:
            made.append([*changed, *({"user": f"v{i}", "age": 5} for i in range(9)), *twice])
        text = str(refused.value.to_dict())
        assert "2 known ids with other values and 1 id twice in it" in text
        assert not any(word in text for word in ("u1", "new'", "97", "u2"))
        assert made.status().head == head


@pytest.mark.parametrize("many", [3, 60])
def test_a_key_stands_for_one_append(tmp_path: Path, small_segments: None, many: int) -> None:
    with make(tmp_path) as made:
        made.append([{"user": -1, "age": 0}])
        rows = [{"user": i - 1, "age": i} for i in range(many)]
        first = made.append(rows, key="monday")
        assert first == sh.Appended(many - 1, many, 1)
        made.append([{"user": many, "age": 1}])
        assert made.append(rows, key="monday") == first
        assert made.n == many + 1
        for other in (rows[1:], [*rows, {"user": 99, "age": 1}]):
            with pytest.raises(InvalidInput, match="new for each append"):
                made.append(other, key="monday")


@pytest.mark.parametrize("many", [3, 60])
def test_what_another_process_added_meanwhile_counts(
    tmp_path: Path, small_segments: None, many: int
) -> None:
    """Another writer comes between the reading of a file and its commit."""
    rows = [{"user": i, "age": i} for i in range(many)]
    with make(tmp_path) as made, sh.open(tmp_path / "shop") as other:

        def quicker(done: int) -> None:
            other.append(rows[:2])

        assert made.append(rows, progress=quicker) == sh.Appended(many - 2, many, 2)
        assert [user for user, _ in kept(made)] == list(range(many))
        assert made.verify().records == many

        def otherwise(done: int) -> None:
            other.append({"user": 500, "age": 1})

        with pytest.raises(InvalidInput, match="1 known id with other values"):
            made.append([*rows, {"user": 500, "age": 2}], progress=otherwise)


def test_again_makes_no_sense_with_ids(tmp_path: Path) -> None:
    with make(tmp_path) as made, pytest.raises(InvalidInput, match="never added again"):
        made.append([{"user": 1, "age": 1}], again=True)


def test_verify_finds_an_id_that_is_there_twice(tmp_path: Path) -> None:
    with make(tmp_path) as made:
        made.append([{"user": 1, "age": 1}])
        with made._ledger.writing() as draft:
            draft.add_rows("[[1,2]]", 1, None, 0)
        with pytest.raises(LedgerCorrupt, match="1 of their ids are not unique"):
            made.verify()


# --------------------------------------------------------------------------------- without ids


def shop(count: int) -> list[dict[str, object]]:
    random = np.random.default_rng(4)
    return [{"user": i, "age": int(random.integers(0, 90))} for i in range(count)]


@pytest.mark.parametrize("reopen", [False, True])
def test_an_export_that_grows_is_remarked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reopen: bool
) -> None:
    monkeypatch.setattr(intake, "LARGE", 1_000)
    made = make(tmp_path, id=None)
    notes = []
    for count in (2_000, 2_100, 2_300, 2_600):
        rows = shop(count)
        notes.append(made.append(rows[::-1]).note)
        if reopen:
            made.close()
            made = sh.open(tmp_path / "shop")
    assert notes[0] is None
    assert all("of these records equal earlier ones" in str(note) for note in notes[1:])
    assert made.n == 9_000  # it was remarked on, not refused
    text = str(made.append(shop(2_601), key="mine"))
    assert text.partition("note: ")[2].startswith("over 99% of these records")
    assert made.append(shop(2_601), key="mine").note is None  # it is the same append
    made.close()


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_independent_records_are_not_remarked_on(data: st.DataObject) -> None:
    """Whatever their columns hold: few values, many, a few common ones among many rare."""
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    old, new = data.draw(st.integers(100, 4_000)), data.draw(st.integers(100, 4_000))
    values = data.draw(st.sampled_from([2, 50, 1_000, 20_000, 10**9]))
    power = data.draw(st.sampled_from([1, 3, 10]))
    drawn = (random.random(old + new) ** power * values).astype(np.int64)
    frame = pl.DataFrame({"x": drawn})
    assert remark_on(frame.tail(new), frame.head(old), old) is None
