"""A bad record is named by its number and its column, never by its value, and nothing is kept."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import surehold as sh
from data.forms import FORMS
from support.runtime import adaptive_plan, contents
from surehold.queries import Schema, fraction

SCHEMA = Schema.of({"a": "int", "b": "str"})
GOOD = [{"a": i, "b": f"text {i}"} for i in range(10)]
SECRET = 987654321  # in no message


@pytest.fixture(params=["small", "large"])
def dataset(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[sh.Dataset]:
    """With some records in it; large appends have written segments by the time they fail."""
    if request.param == "large":
        monkeypatch.setattr("surehold.data.intake.LARGE", 4)
        monkeypatch.setattr("surehold.data.intake.RECORDS", 2)
        monkeypatch.setattr("surehold.data.sources.RECORDS", 2)
        monkeypatch.setattr("surehold.data.sources._ROWS", 1)
    path = tmp_path / "data"
    with sh.create(path, plan=adaptive_plan(), columns=SCHEMA.to_dict()) as made:
        made.append(GOOD)
        yield made


def refused(dataset: sh.Dataset, source: Any, format: str | None = None) -> sh.BadRecord:
    """The error; and the dataset is, to the last byte, what it was."""
    measure = fraction("a > 4").measure(SCHEMA)
    before, sums = contents(dataset.path), dataset._data.sums([measure], dataset.n)
    with pytest.raises(sh.BadRecord) as caught:
        dataset.append(source, format=format)
    assert contents(dataset.path) == before
    assert dataset._data.sums([measure], dataset.n) == sums
    assert dataset.verify().strays == ()
    told = "".join(traceback.format_exception(caught.value))
    error_lines = [line for line in told.splitlines() if not line.startswith("  ")]
    assert str(SECRET) not in "\n".join(error_lines)
    assert "nothing of this append was kept" in str(caught.value)
    return caught.value


# Values that column a, an int, does not take, however they come.
TEXT_OF_BAD = ["x987654321", "1.5", "9223372036854775808", "1e400", "1_000", "0x10", "true", "--1"]
BAD: dict[str, Any] = {
    "text": f"x{SECRET}",
    "a fraction": SECRET + 0.5,
    "too large": 10**18 * SECRET,
    "too large a float": 2.0**63,
    "a truth value": True,
    "a date": dt.date(2020, 1, 1),
    "a time": dt.datetime(2020, 1, 1, 12),
    "bytes": b"x987654321",
    "a list": [SECRET],
    "a mapping": {"a": SECRET},
    "a decimal": decimal.Decimal("0.5"),
    "a complex number": 1j,
    "an array": np.array([1, 2]),
    "a series": pl.Series([1, 2]),
    "NumPy's date": np.datetime64("2020-01-01"),
    "pandas' date": pd.Timestamp("2020-01-01"),
    "an object": object(),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_values_in_mappings(what: str, dataset: sh.Dataset) -> None:
    error = refused(dataset, iter([*GOOD[:6], {"a": BAD[what], "b": ""}, *GOOD[6:]]))
    assert (error.record, error.column) == (7, "a")


@pytest.mark.parametrize("text", TEXT_OF_BAD)
def test_bad_text_in_csv(text: str, dataset: sh.Dataset, tmp_path: Path) -> None:
    suffix, between = ("csv", ",") if len(text) % 2 else ("tsv", "\t")
    lines = ["a", "b"], *([str(r["a"]), r["b"]] for r in GOOD[:6]), [text, ""], ["7", "z"]
    path = tmp_path / f"a.{suffix}"
    path.write_text("".join(between.join(line) + "\n" for line in lines))
    error = refused(dataset, path)
    assert (error.record, error.column) == (7, "a")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("float", "1e400"),
        ("float", "1,5"),
        ("float", "x"),
        ("float", "0x1p3"),
        ("float", "1e"),
        ("bool", "yes"),
        ("bool", "2"),
        ("bool", "t"),
        ("int", "٣"),
    ],
)
def test_other_types_in_csv(kind: str, text: str, tmp_path: Path) -> None:
    columns = {"x": kind, "y": "str"}
    (tmp_path / "a.csv").write_text(f'x,y\n1,\n"{text}",\n')
    with (
        sh.create(tmp_path / "data", plan=adaptive_plan(), columns=columns) as dataset,
        pytest.raises(sh.BadRecord) as caught,
    ):
        dataset.append(tmp_path / "a.csv")
    assert (caught.value.record, caught.value.column) == (2, "x")


@pytest.mark.parametrize("kind", ["int", "float", "str"])
def test_truth_values_in_a_table_are_no_numbers(kind: str, tmp_path: Path) -> None:
    """As in mappings; kept as they are, they were not what was read back."""
    with (
        sh.create(tmp_path / "data", plan=adaptive_plan(), columns={"x": kind}) as dataset,
        pytest.raises(sh.BadRecord, match="of type bool") as caught,
    ):
        dataset.append(pl.DataFrame({"x": [True, None]}))
    assert (caught.value.record, caught.value.column) == (1, "x")


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ('{"a": "x987654321"}', "a"),
        ('{"a": 987654321.5}', "a"),
        ('{"a": 1e400}', "a"),
        ('{"a": 987654321987654321987654321}', "a"),
        ('{"a": true}', "a"),
        ('{"a": [987654321]}', "a"),
        ('{"a": {}}', "a"),
        ('{"b": 987654321}', "b"),
        ('{"b": NaN}', "b"),
        ('{"b": "\\ud800"}', "b"),
        ('{"c": 987654321}', "c"),
        ("[987654321]", None),
        ("987654321", None),
        ("null", None),
        ('{"a": 987654321', None),
        ("{a: 987654321}", None),
        ('{"a": ' + "9" * 5000 + "}", None),
        ('{"a": ' + "[" * 100_000, None),
        ("a,b", None),
    ],
)
@pytest.mark.parametrize("form", ["file", "text"])
def test_bad_lines(
    line: str, column: str | None, form: str, dataset: sh.Dataset, tmp_path: Path
) -> None:
    good = [json.dumps(record) for record in GOOD]
    text = "\n".join([*good[:3], "", *good[3:6], line, *good[6:]])
    source: Any = io.StringIO(text)
    if form == "file":
        source = tmp_path / "a.jsonl"
        source.write_text(text)
    error = refused(dataset, source)
    assert (error.record, error.column) == (7, column)


@pytest.mark.parametrize("form", ["file", "text", "bytes"])
def test_lines_that_are_no_utf8(form: str, dataset: sh.Dataset, tmp_path: Path) -> None:
    content = b'{"a": 1}\n{"b": "987654321 \xff"}\n'
    source: Any = io.BytesIO(content)
    if form == "text":
        source = io.TextIOWrapper(source, encoding="utf-8")
    elif form == "file":
        source = tmp_path / "a.ndjson"
        source.write_bytes(content)
    # A text reader reads ahead, so it can't say where.
    assert refused(dataset, source).record == (None if form == "text" else 2)


@pytest.mark.parametrize(
    ("line", "fields"), [("5", 1), ("5,x,987654321", 3), ('5,"x",""', 3), ('"5,x"', 1)]
)
def test_ragged_csv(line: str, fields: int, dataset: sh.Dataset, tmp_path: Path) -> None:
    """Too few fields are no missing values: the line may have been cut off."""
    path = tmp_path / "a.csv"
    path.write_text(f'a,b\n1,"x\n\ny"\n\n2,y\n{line}\n3,z\n')
    error = refused(dataset, path)
    assert (error.record, error.column, error.got) == (3, None, str(fields))


@pytest.mark.parametrize("at", [b"1,987654321 \xff\n", b"1,\xc3\n"])
def test_csv_that_is_no_utf8(at: bytes, dataset: sh.Dataset, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,\n2,\xc3\xb8\n" + at + b"3,z\n")
    error = refused(dataset, path)
    assert (error.record, error.column) == (3, "b")


COLUMNS = {
    "text": pa.array([None, "1", "x987654321"]),
    "fractions": pa.array([None, 1.0, SECRET + 0.5]),
    "too large": pa.array([None, 1, 2**64 - 1], pa.uint64()),
    "too large floats": pa.array([None, 1.0, 2.0**63]),
    "too large decimals": pa.array([None, None, decimal.Decimal(10**25)], pa.decimal128(30, 1)),
}


@pytest.mark.parametrize("form", ["arrow", "polars", "pandas", "parquet", "ipc", "reader"])
@pytest.mark.parametrize("what", COLUMNS)
def test_bad_values_in_tables(what: str, form: str, dataset: sh.Dataset, tmp_path: Path) -> None:
    table = pa.table({"a": COLUMNS[what], "b": pa.array(["x", "y", "z"])})
    error = refused(dataset, as_form(table, form, tmp_path))
    assert (error.record, error.column) == (3, "a")


TYPES = {
    "truth values": pa.array([True, None]),
    "dates": pa.array([dt.date(2020, 1, 1), None]),
    "times": pa.array([dt.datetime(2020, 1, 1), None]),
    "lists": pa.array([[SECRET], None]),
    "structs": pa.array([{"x": SECRET}, None]),
    "bytes": pa.array([b"x", None]),
    "durations": pa.array([dt.timedelta(1), None]),
    "maps": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "dates by number": pa.array([dt.date(2020, 1, 1), None]).dictionary_encode(),
}
ARROW_ONLY = {
    "large decimals": pa.array([decimal.Decimal(1), None], pa.decimal256(50, 2)),
    "run ends": pa.RunEndEncodedArray.from_arrays([2], [1]),
    "months": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
}


@pytest.mark.parametrize("form", ["arrow", "polars", "pandas", "parquet", "ipc", "reader"])
@pytest.mark.parametrize("what", TYPES)
def test_columns_of_another_type(what: str, form: str, dataset: sh.Dataset, tmp_path: Path) -> None:
    table = pa.table({"a": TYPES[what], "b": pa.array(["x", "y"])})
    if form in ("polars", "pandas") and what == "dates by number":
        table = table.set_column(0, "a", TYPES["dates"])
    error = refused(dataset, as_form(table, form, tmp_path))
    assert (error.record, error.column) == (1, "a")


@pytest.mark.parametrize("what", ARROW_ONLY)
def test_types_that_only_arrow_has(what: str, dataset: sh.Dataset) -> None:
    error = refused(dataset, pa.table({"a": ARROW_ONLY[what], "b": pa.array(["x", "y"])}))
    assert (error.record, error.column) == (1, "a")


def test_arrow_text_that_is_no_utf8(dataset: sh.Dataset) -> None:
    """Polars would take it as it is, and no tool could read the segment."""
    offsets = pa.py_buffer(np.array([0, 1], dtype=np.int32))
    text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff")])
    error = refused(dataset, pa.table({"a": pa.array([1]), "b": text}))
    assert (error.record, error.column) == (None, "b")


@pytest.mark.parametrize(
    "values",
    [[1, "x987654321"], [1, 2**70], [True, "x"], [1, 1.5], [1, b"x"], [[1], 2], [2, "\ud800"]],
    ids=str,
)
def test_mixed_objects_in_pandas(values: list[Any], dataset: sh.Dataset) -> None:
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": ["x", "y"]})
    error = refused(dataset, frame)
    first = 2 if type(values[0]) is int else 1
    assert (error.record, error.column) == (first, "a")


def test_surrogates(dataset: sh.Dataset) -> None:
    error = refused(dataset, [{"a": 1, "b": "x"}, {"a": 1, "b": "\udc80"}])
    assert (error.record, error.column) == (2, "b")
    frame = pd.DataFrame({"a": [1, 2], "b": pd.Series(["x", "\udc80"], dtype=object)})
    error = refused(dataset, frame)
    assert (error.record, error.column) == (2, "b")


TABLES = [form for form in FORMS if form not in ("dicts", "generator", "ndjson")]


@pytest.mark.parametrize("form", [form for form in TABLES if not form.startswith("lines")])
def test_columns_that_are_missing_or_unknown(
    form: str, dataset: sh.Dataset, tmp_path: Path
) -> None:
    less, more = Schema.of({"a": "int"}), Schema.of({"a": "int", "b": "str", "c": "bool"})
    error = refused(dataset, FORMS[form]([{"a": 1}], less, tmp_path))
    assert (error.record, error.column, error.got) == (None, "b", "missing")
    error = refused(dataset, FORMS[form]([{"a": 1, "c": True}], more, tmp_path))
    assert (error.record, error.column, error.required) == (None, "c", "left out")
    # Also without a record: the next file from there would be wrong too.
    error = refused(dataset, FORMS[form]([], more, tmp_path))
    assert error.column == "c"


@pytest.mark.parametrize("form", ["csv", "pandas", "arrow"])
def test_columns_that_are_there_twice(form: str, dataset: sh.Dataset, tmp_path: Path) -> None:
    source: Any = tmp_path / "a.csv"
    source.write_text("a,b,b\n1,x,y\n")
    if form == "pandas":
        source = pd.DataFrame([[1, "x", "y"]], columns=["a", "b", "b"])
    elif form == "arrow":
        source = pa.table([pa.array([1]), pa.array(["x"]), pa.array(["y"])], names=["a", "b", "b"])
    assert refused(dataset, source).column == "b"


def test_a_column_too_many_in_a_mapping(dataset: sh.Dataset) -> None:
    error = refused(dataset, [*GOOD, {"a": 1, "agee": SECRET}])
    assert (error.record, error.column) == (len(GOOD) + 1, "agee")
    assert refused(dataset, {1: SECRET}).column == "1"


def test_what_is_no_mapping(dataset: sh.Dataset) -> None:
    error = refused(dataset, [*GOOD, (1, f"x{SECRET}")])
    assert (error.record, error.column) == (len(GOOD) + 1, None)


def test_a_generator_that_fails_keeps_nothing(dataset: sh.Dataset) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from GOOD
        raise RuntimeError("the network is gone")

    before = contents(dataset.path)
    with pytest.raises(RuntimeError, match="network"):
        dataset.append(broken())
    assert contents(dataset.path) == before
    assert dataset.append(GOOD).n == 2 * len(GOOD)


def as_form(table: pa.Table, form: str, folder: Path) -> Any:
    if form == "arrow":
        return table
    if form == "reader":
        return table.to_reader(1)
    if form == "polars":
        return pl.from_arrow(table)
    if form == "pandas":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if form == "parquet":
        pq.write_table(table, folder / "a.parquet", row_group_size=1)
        return folder / "a.parquet"
    with pa.ipc.new_file(folder / "a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    return folder / "a.arrow"
