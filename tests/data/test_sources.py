"""Whatever form records come in, the very same records are kept."""

from __future__ import annotations

import decimal
import enum
import gzip
import io
import json
import math
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
from data.forms import FORMS, arrow, csv, polars
from support.runtime import adaptive_plan
from surehold.queries import Schema

SCHEMA = Schema.of({"age": "int", "bmi": "float", "smoker": "bool", "city": "str"})
RECORDS: list[dict[str, Any]] = [
    {"age": 71, "bmi": 28.4, "smoker": False, "city": "Oslo"},
    {"age": None, "bmi": None, "smoker": None, "city": None},
    {"age": -5, "bmi": -0.1, "smoker": True, "city": "Tromsø, north\tof 'here'"},
    {"age": 0, "bmi": 1e-300, "smoker": True, "city": 'say "no"'},
    {"age": 2**53, "bmi": 1e300, "smoker": False, "city": "two\nlines"},
    {"age": 1, "bmi": 0.1 + 0.2, "smoker": False, "city": " blanks "},
    {"age": 2, "bmi": 7.0, "smoker": True, "city": "東京 🌊"},
]
ROWS = [[r[name] for name in SCHEMA.names] for r in RECORDS]


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[sh.Dataset]:
    with sh.create(tmp_path / "data", plan=adaptive_plan(), columns=SCHEMA.to_dict()) as made:
        yield made


def kept(dataset: sh.Dataset) -> list[list[Any]]:
    rows: list[list[Any]] = json.loads(dataset._data.text(0, dataset.n))
    return rows


def one_column(tmp_path: Path, kind: str) -> sh.Dataset:
    return sh.create(tmp_path / "one", plan=adaptive_plan(), columns={"x": kind})


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_records(form: str, dataset: sh.Dataset, tmp_path: Path) -> None:
    appended = dataset.append(FORMS[form](RECORDS, SCHEMA, tmp_path))
    assert (appended.count, appended.n) == (len(RECORDS), len(RECORDS))
    assert kept(dataset) == ROWS
    assert dataset.verify().strays == ()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_in_segments(
    form: str, dataset: sh.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a large append has it: several files, cut anywhere."""
    monkeypatch.setattr("surehold.data.intake.LARGE", 2)
    monkeypatch.setattr("surehold.data.intake.RECORDS", 3)
    monkeypatch.setattr("surehold.data.sources.RECORDS", 3)
    monkeypatch.setattr("surehold.data.sources._ROWS", 2)
    dataset.append(FORMS[form](RECORDS, SCHEMA, tmp_path))
    assert kept(dataset) == ROWS
    verified = dataset.verify()
    assert (verified.segments, verified.strays) == (3, ())


@pytest.mark.parametrize("form", FORMS)
def test_nothing_to_append(form: str, dataset: sh.Dataset, tmp_path: Path) -> None:
    before = dataset.status()
    assert dataset.append(FORMS[form]([], SCHEMA, tmp_path)) == sh.Appended(0, 0)
    assert dataset.status() == before


def test_one_record(dataset: sh.Dataset) -> None:
    assert dataset.append(RECORDS[0]).n == 1
    assert kept(dataset) == ROWS[:1]


def test_columns_come_in_any_order(dataset: sh.Dataset, tmp_path: Path) -> None:
    turned = polars(RECORDS, SCHEMA).select(reversed(SCHEMA.names))
    turned.write_csv(tmp_path / "a.csv", quote_style="non_numeric")
    dataset.append(turned)
    dataset.append(tmp_path / "a.csv")
    dataset.append([dict(reversed(record.items())) for record in RECORDS])
    assert kept(dataset) == ROWS * 3


# ---------------------------------------------------------------------------------------- CSV


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,x\n2,y", [[1, "x"], [2, "y"]]),
        ("a,b\r\n1,x\r\n", [[1, "x"]]),
        ("a,b\r1,x\r2,y\r", [[1, "x"], [2, "y"]]),
        ("\ufeffa,b\n1,x\n", [[1, "x"]]),
        ('"a","b"\n"1","x, ""y"""\n', [[1, 'x, "y"']]),
        ("a,b\n1,\n,y\n", [[1, None], [None, "y"]]),
        ('a,b\n1,""\n', [[1, ""]]),
        ("a,b\n 1 , x \n\t2,y\n", [[1, " x "], [2, "y"]]),
        ("a,b\n1,x\n\n\n2,y\n\n", [[1, "x"], [2, "y"]]),  # empty lines are no records
        ('a,b\n1,"two\n\nlines"\n', [[1, "two\n\nlines"]]),
        ("a,b\n+1,x\n-0,y\n007,z\n", [[1, "x"], [0, "y"], [7, "z"]]),
        ("a,b\n71.0,x\n,y\n1e3,z\n", [[71, "x"], [None, "y"], [1000, "z"]]),
        ("a,b\n9007199254740993,x\n1.0,y\n", [[9007199254740993, "x"], [1, "y"]]),
        ("a,b\n-9223372036854775808,x\n", [[-(2**63), "x"]]),
        ("a,b\nnan,NA\n", [[None, "NA"]]),
        ("a,b\n", []),
    ],
)
def test_csv(text: str, rows: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    with sh.create(
        tmp_path / "data", plan=adaptive_plan(), columns={"a": "int", "b": "str"}
    ) as dataset:
        assert dataset.append(path).count == len(rows)
        assert kept(dataset) == rows


def test_csv_of_one_column(tmp_path: Path) -> None:
    """Where an empty line is a missing value, as Polars writes it."""
    pl.DataFrame({"x": [1, None, 2]}).write_csv(tmp_path / "a.csv")
    with one_column(tmp_path, "int") as dataset:
        dataset.append(tmp_path / "a.csv")
        assert kept(dataset) == [[1], [None], [2]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e5", 1e5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1E-3", -0.001),
        ("7", 7.0),
        ("NaN", None),
        ("-inf", None),
        ("Infinity", None),
        ("0.1000000000000000055511151231257827", 0.1),
        ("2.2250738585072011e-308", 2.2250738585072011e-308),
        ("1e-400", 0.0),
    ],
)
def test_numbers_in_csv(text: str, value: float | None, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"x\n{text}\n")
    with one_column(tmp_path, "float") as dataset:
        dataset.append(tmp_path / "a.csv")
        assert kept(dataset) == [[value]]


def test_truth_values_in_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\ntrue\nFALSE\n1\n0\n True \n\n")
    with one_column(tmp_path, "bool") as dataset:
        dataset.append(tmp_path / "a.csv")
        assert kept(dataset) == [[True], [False], [True], [False], [True], [None]]


def test_a_csv_file_in_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surehold.data.csv_files._BLOCK", 2000)
    records = [{**RECORDS[i % len(RECORDS)], "age": i} for i in range(1000)]
    counts: list[int] = []
    columns = SCHEMA.to_dict()
    with sh.create(tmp_path / "data", plan=adaptive_plan(), columns=columns) as dataset:
        dataset.append(csv(records, SCHEMA, tmp_path / "a.csv"), progress=counts.append)
        assert [row[0] for row in kept(dataset)] == list(range(1000))
    assert len(counts) > 5
    assert counts == sorted(counts)
    assert counts[-1] == 1000


def test_names_that_look_like_patterns(dataset: sh.Dataset, tmp_path: Path) -> None:
    """A reader that takes [1] for a pattern would read another file, or none."""
    csv(RECORDS[:1], SCHEMA, tmp_path / "a1.csv")
    csv(RECORDS[2:3], SCHEMA, tmp_path / "a[1].csv")
    pq.write_table(arrow(RECORDS[:1], SCHEMA), tmp_path / "b1.parquet")
    pq.write_table(arrow(RECORDS[3:4], SCHEMA), tmp_path / "b?.parquet")
    dataset.append(tmp_path / "a[1].csv")
    dataset.append(tmp_path / "b?.parquet")
    assert kept(dataset) == [ROWS[2], ROWS[3]]


def test_formats_can_be_said(dataset: sh.Dataset, tmp_path: Path) -> None:
    csv(RECORDS, SCHEMA, tmp_path / "a.txt")
    with pytest.raises(sh.InvalidInput, match="or give its format"):
        dataset.append(tmp_path / "a.txt")
    with pytest.raises(sh.InvalidInput, match="one of csv"):
        dataset.append(tmp_path / "a.txt", format="xls")
    dataset.append(tmp_path / "a.txt", format="csv")
    assert kept(dataset) == ROWS


def packed(data: bytes, path: Path) -> Path:
    codec = "gzip" if path.suffix == ".gz" else "zstd"
    with pa.CompressedOutputStream(str(path), codec) as file:
        file.write(data)
    return path


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("form", ["csv", "tsv", "ndjson"])
def test_compressed_files(form: str, suffix: str, dataset: sh.Dataset, tmp_path: Path) -> None:
    plain = Path(FORMS[form](RECORDS, SCHEMA, tmp_path))
    whole = packed(plain.read_bytes(), tmp_path / f"a.{form}{suffix}")
    dataset.append(whole)
    assert kept(dataset) == ROWS
    with sh.create(tmp_path / "like", plan=adaptive_plan(), like=whole) as made:
        assert made.columns == SCHEMA.to_dict()
    cut = tmp_path / f"cut.{form}{suffix}"
    cut.write_bytes(whole.read_bytes()[:-9])
    for damaged in (cut, plain.rename(tmp_path / f"fake.{form}{suffix}")):
        with pytest.raises(sh.InvalidInput, match="file that can be read"):
            dataset.append(damaged)
    hidden = whole.rename(tmp_path / f"hidden.{form}")
    with pytest.raises(sh.InvalidInput, match=f"give its name the suffix {suffix}"):
        dataset.append(hidden)
    assert dataset.n == len(ROWS)


def test_members_in_one_compressed_file(dataset: sh.Dataset, tmp_path: Path) -> None:
    data = csv(RECORDS, SCHEMA, tmp_path / "a.csv").read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(data[:70]) + gzip.compress(data[70:]))
    dataset.append(tmp_path / "a.csv.gz")
    assert kept(dataset) == ROWS


def test_parquet_is_not_compressed_again(dataset: sh.Dataset, tmp_path: Path) -> None:
    (tmp_path / "a.parquet.gz").write_bytes(b"")
    with pytest.raises(sh.InvalidInput, match="not compressed again"):
        dataset.append(tmp_path / "a.parquet.gz")


# ------------------------------------------------------------------------------- typed tables


@pytest.mark.parametrize(
    ("kind", "column", "values"),
    [
        ("int", pa.array([1, None, 255], pa.uint8()), [1, None, 255]),
        ("int", pa.array([1, -(2**31)], pa.int32()), [1, -(2**31)]),
        ("int", pa.array([1, 2**63 - 1], pa.uint64()), [1, 2**63 - 1]),
        ("int", pa.array([3.0, None, -0.0]), [3, None, 0]),
        ("int", pa.array([5, 5, None]).dictionary_encode(), [5, 5, None]),
        ("float", pa.array([1, None]), [1.0, None]),
        ("float", pa.array([0.5, math.nan, math.inf], pa.float32()), [0.5, None, None]),
        ("float", pa.array([np.float16(0.5)], pa.float16()), [0.5]),
        ("float", pa.array([decimal.Decimal("1.25"), None], pa.decimal128(9, 2)), [1.25, None]),
        ("bool", pa.array([1, 0, None]), [True, False, None]),
        ("bool", pa.array([1.0, 0.0, math.nan]), [True, False, None]),
        ("bool", pa.nulls(2), [None, None]),
        ("str", pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
        ("str", pa.array(["a", ""], pa.large_string()), ["a", ""]),
        ("str", pa.array(["a", "b" * 40], pa.string_view()), ["a", "b" * 40]),
        ("int", pa.array(["7", " 8 ", ""]), [7, 8, None]),
    ],
)
@pytest.mark.parametrize("form", ["table", "parquet", "arrow"])
def test_types_that_fit(
    form: str, kind: str, column: pa.Array, values: list[Any], tmp_path: Path
) -> None:
    source: Any = pa.table({"x": column})
    if form == "parquet":
        source = tmp_path / "a.parquet"
        pq.write_table(pa.table({"x": column}), source)
    elif form == "arrow":
        source = tmp_path / "a.feather"
        with pa.ipc.new_file(source, pa.schema([("x", column.type)])) as writer:
            writer.write_table(pa.table({"x": column}))
    with one_column(tmp_path, kind) as dataset:
        dataset.append(source)
        assert kept(dataset) == [[value] for value in values]


@pytest.mark.parametrize(
    ("kind", "column", "values"),
    [
        ("int", pd.Series([1.0, np.nan]), [1, None]),
        ("int", pd.Series([1, None], dtype="Int64"), [1, None]),
        ("int", pd.Series([1, 2], dtype="uint8"), [1, 2]),
        ("int", pd.Series([1, pd.NA], dtype=object), [1, None]),
        ("int", pd.Series([1, 2], dtype="category"), [1, 2]),
        ("int", pd.Series([1, None], dtype="int64[pyarrow]"), [1, None]),
        ("int", pd.Series(pd.arrays.SparseArray([0, 1])), [0, 1]),
        ("float", pd.Series([0.5, None], dtype="Float32"), [0.5, None]),
        ("float", pd.Series([1, 2.5], dtype=object), [1.0, 2.5]),
        ("float", pd.Series([np.inf, 1.0]), [None, 1.0]),
        ("bool", pd.Series([True, None, False], dtype=object), [True, None, False]),
        ("bool", pd.Series([True, np.nan], dtype=object), [True, None]),
        ("bool", pd.Series([True, 0, None], dtype=object), [True, False, None]),
        ("bool", pd.Series([True, None], dtype="boolean"), [True, None]),
        ("str", pd.Series(["a", None]), ["a", None]),
        ("str", pd.Series(["a", np.nan], dtype=object), ["a", None]),
        ("str", pd.Series(["a", None, "a"], dtype="category"), ["a", None, "a"]),
    ],
)
def test_pandas_columns(kind: str, column: pd.Series, values: list[Any], tmp_path: Path) -> None:
    with one_column(tmp_path, kind) as dataset:
        dataset.append(pd.DataFrame({"x": column}).set_axis(range(5, 5 + len(column))))
        assert kept(dataset) == [[value] for value in values]


def test_names_of_pandas_columns_that_are_no_text(tmp_path: Path) -> None:
    columns = {"0": "int", "1": "int"}
    with sh.create(tmp_path / "data", plan=adaptive_plan(), columns=columns) as dataset:
        dataset.append(pd.DataFrame(np.arange(4).reshape(2, 2)))
        assert kept(dataset) == [[0, 1], [2, 3]]


class Colour(str, enum.Enum):  # noqa: UP042 - not a StrEnum, whose str() is its value
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        ("int", np.int8(3), 3),
        ("int", np.uint64(3), 3),
        ("int", np.float32(3.0), 3),
        ("int", 3.0, 3),
        ("int", Level.HIGH, 3),
        ("int", -(2**63), -(2**63)),
        ("int", -(2.0**63), -(2**63)),
        ("int", math.nan, None),
        ("float", np.float64(0.1), 0.1),
        ("float", np.float32(0.5), 0.5),
        ("float", 3, 3.0),
        ("float", 10**308, 1e308),
        ("float", math.inf, None),
        ("float", np.array(1.5), 1.5),
        ("bool", np.True_, True),
        ("bool", 1, True),
        ("bool", 0.0, False),
        ("str", np.str_("a"), "a"),
        ("str", Colour.RED, "red"),
        ("str", "", ""),
        ("str", "\x00\u2028", "\x00\u2028"),
    ],
)
def test_values_in_mappings(kind: str, value: Any, plain: Any, tmp_path: Path) -> None:
    with one_column(tmp_path, kind) as dataset:
        dataset.append({"x": value})
        dataset.append([{}, {"x": None}])
        dataset._data.seal()
        rows = kept(dataset)
        assert rows == [[plain], [None], [None]]
        assert type(rows[0][0]) is type(plain)
        dataset.verify()


def test_json_constants_are_missing_values(tmp_path: Path) -> None:
    with one_column(tmp_path, "float") as dataset:
        dataset.append(io.StringIO('{"x": NaN}\n{"x": -Infinity}\n\n{"x": 1}\n{}\n'))
        assert kept(dataset) == [[None], [None], [1.0], [None]]


# ------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize("source", [7, None, b"a,b", pl.Series([1]), pd.Series([1]), object()])
def test_what_is_no_records_at_all(source: Any, dataset: sh.Dataset) -> None:
    with pytest.raises((sh.InvalidInput, sh.BadRecord)):
        dataset.append(source)
    assert dataset.n == 0


def test_no_such_file(dataset: sh.Dataset, tmp_path: Path) -> None:
    with pytest.raises(sh.InvalidInput, match="an existing file"):
        dataset.append(tmp_path / "none.csv")
    with pytest.raises(sh.InvalidInput, match="an existing file"):
        dataset.append(str(tmp_path))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow"])
@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\xff secret \x00", b"PAR1secretPAR1", b"ARROW1"],
    ids=["empty", "bytes", "as parquet", "as arrow"],
)
def test_broken_files(name: str, content: bytes, dataset: sh.Dataset, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((sh.InvalidInput, sh.BadRecord)) as caught:
        dataset.append(tmp_path / name)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert dataset.n == 0


@pytest.mark.parametrize("form", ["parquet", "arrow file", "arrow stream"])
@pytest.mark.parametrize("part", [0.3, 0.7, 0.95])
def test_files_that_end_early(form: str, part: float, dataset: sh.Dataset, tmp_path: Path) -> None:
    path = FORMS[form](RECORDS * 50, SCHEMA, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(sh.InvalidInput):
        dataset.append(path)
    assert dataset.n == 0
    assert dataset.verify().strays == ()


def test_segments_are_not_appended_again(dataset: sh.Dataset, tmp_path: Path) -> None:
    """That would give the same records a fresh budget; nor does another dataset take them."""
    dataset.append(RECORDS)
    dataset._data.seal()
    [segment] = (dataset.path / "segments").iterdir()
    columns = SCHEMA.to_dict()
    with sh.create(tmp_path / "other", plan=adaptive_plan(), columns=columns) as other:
        for target in (dataset, other):
            for source in (segment, pa.ipc.open_file(segment).read_all()):
                with pytest.raises(sh.InvalidInput, match="in no dataset yet"):
                    target.append(source)
        assert (dataset.n, other.n) == (len(RECORDS), 0)
