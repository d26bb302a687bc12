"""Dates and timestamps in whatever form they come: units, zones, texts, and what does not fit."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.dummy import DummyClassifier

import surehold as sh
from surehold.data.sources import sampled_schema
from surehold.queries import Schema

NOON = 1_794_139_200_000_000
"""2026-11-08T12:00:00Z"""
DAY = 20_765
OSLO = dt.timezone(dt.timedelta(hours=1))


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[sh.Dataset]:
    with sh.create(tmp_path / "data", beta=0.05, columns={"d": "date", "t": "datetime"}) as made:
        assert made.columns == {"d": "date", "t": "timestamp"}
        yield made


def kept(dataset: sh.Dataset) -> list[list[Any]]:
    rows: list[list[Any]] = json.loads(dataset._data.text(0, dataset.n))
    return rows


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-08T12:00:00Z",
        "2026-11-08 12:00",
        "2026-11-08T13:00:00.000+01:00",
        "2026-11-08 13:00:00 +0100",
        "2026-11-08T12:00:00.000000999Z",
        dt.datetime(2026, 11, 8, 12),
        dt.datetime(2026, 11, 8, 13, tzinfo=OSLO),
        pd.Timestamp("2026-11-08T13:00", tz="Europe/Oslo"),
        pd.Timestamp("2026-11-08T12:00:00.000000999"),
        np.datetime64("2026-11-08T12:00"),
        np.datetime64("2026-11-08T12:00:00.000000999", "ns"),
    ],
)
def test_one_moment(value: Any, dataset: sh.Dataset) -> None:
    dataset.append([{"t": value, "d": None}])
    dataset.append(pd.DataFrame({"t": [value], "d": [None]}), again=True)
    assert kept(dataset) == [[None, NOON]] * 2


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-08",
        "2026-11-08T00:00:00",
        "2026-11-08T01:00+01:00",
        dt.date(2026, 11, 8),
        dt.datetime(2026, 11, 8),
        pd.Timestamp("2026-11-08"),
        np.datetime64("2026-11-08"),
        np.datetime64("2026-11-08", "ns"),
    ],
)
def test_one_day(value: Any, dataset: sh.Dataset) -> None:
    dataset.append([{"d": value, "t": value}])
    assert kept(dataset) == [[DAY, NOON - 12 * 3_600_000_000]]


@pytest.mark.parametrize("missing", [None, pd.NaT, float("nan"), np.datetime64("NaT")])
def test_missing(missing: Any, dataset: sh.Dataset) -> None:
    dataset.append([{"d": missing, "t": missing}])
    assert kept(dataset) == [[None, None]]


@pytest.mark.parametrize(
    "bad",
    [
        {"d": 20_765},
        {"d": True},
        {"d": 1.5},
        {"d": "8/11/2026"},
        {"d": ""},
        {"d": "2026-11-08T12:00"},
        {"d": dt.datetime(2026, 11, 8, 12)},
        {"d": dt.time(12)},
        {"d": dt.datetime(2026, 11, 8, tzinfo=OSLO)},
        {"t": NOON},
        {"t": "noon"},
        {"t": dt.timedelta(1)},
        {"t": np.datetime64(2**60, "s")},
        {"t": np.datetime64("12026-01-01", "D")},
        {"t": "0001-01-01T00:00+01:00"},
        {"t": dt.datetime(1, 1, 1, tzinfo=OSLO)},
        {"t": dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-2)))},
    ],
    ids=str,
)
def test_what_does_not_fit(bad: dict[str, Any], dataset: sh.Dataset) -> None:
    [column] = bad
    with pytest.raises(sh.BadRecord) as refused:
        dataset.append([{"d": None, "t": None}, bad])
    assert (refused.value.record, refused.value.column) == (2, column)
    assert not any(str(value) in str(refused.value) for value in bad.values() if value)
    assert dataset.n == 0


@pytest.mark.parametrize("form", ["arrow", "parquet", "ipc"])
@pytest.mark.parametrize("zone", [None, "UTC", "+02:00", "America/New_York"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_and_zones(
    unit: str, zone: str | None, form: str, dataset: sh.Dataset, tmp_path: Path
) -> None:
    ticks = NOON * 1_000 // {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    stamps = pa.array([ticks, None], pa.timestamp(unit, zone))
    days = pa.array([DAY * 86_400_000, None], pa.date64()).dictionary_encode()
    table = pa.table({"t": stamps, "d": days})
    source: Any = table
    if form == "parquet":
        source = tmp_path / "a.parquet"
        pq.write_table(table, source)
    elif form == "ipc":
        source = tmp_path / "a.arrow"
        with pa.ipc.new_file(source, table.schema) as writer:
            writer.write_table(table)
    dataset.append(source)
    assert kept(dataset) == [[DAY, NOON], [None, None]]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**62], pa.timestamp("s")),
        pa.array([-(2**62)], pa.timestamp("s", "UTC")),
        pa.array([2**62], pa.timestamp("ms")),
        pa.array([2**62], pa.timestamp("us")),
        pa.array([-719_163], pa.date32()),
        pa.array([2_932_897], pa.date32()),
        pl.Series([2**62]).cast(pl.Datetime("ms")).to_arrow(),
        pa.array([NOON]),
        pa.array([dt.time(12)]),
    ],
    ids=lambda column: str(column.type),
)
def test_times_out_of_range(column: Any, dataset: sh.Dataset) -> None:
    with pytest.raises(sh.BadRecord) as refused:
        dataset.append(pa.table({"t": column, "d": pa.nulls(1)}))
    assert refused.value.column == "t"
    assert dataset.n == 0


def test_samples_and_their_records(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "d,t,mixed,other\n"
        "2026-11-08,2026-11-08 12:00,2026-11-08,2026-11-08\n"
        ",,2026-11-08T12:00Z,x\n"
    )
    lines = [
        {"d": "2026-11-08", "t": "2026-11-08T12:00", "mixed": "2026-11-08", "other": "2026-11-08"},
        {"d": None, "t": None, "mixed": "2026-11-08T12:00Z", "other": "x"},
    ]
    (tmp_path / "a.ndjson").write_text("\n".join(map(json.dumps, lines)))
    expected = {"d": "date", "t": "timestamp", "mixed": "timestamp", "other": "str"}
    made = pl.read_csv(tmp_path / "a.csv", try_parse_dates=True)
    assert sampled_schema(made.select("d", "t")).to_dict() == {"d": "date", "t": "timestamp"}
    for name in ("a.csv", "a.ndjson"):
        assert sampled_schema(tmp_path / name).to_dict() == expected
        with sh.create(tmp_path / name[2:], beta=0.05, like=tmp_path / name) as dataset:
            dataset.append(tmp_path / name)
            assert kept(dataset) == [
                [DAY, NOON, NOON - 12 * 3_600_000_000, "2026-11-08"],
                [None, None, NOON, "x"],
            ]
            assert dataset.session().ask("d = '2026-11-08'").value is not None
            dataset.verify()


def test_models_refuse_times() -> None:
    model = DummyClassifier().fit([[0.0], [1.0]], [False, True])
    schema = Schema.of({"d": "date", "t": "timestamp", "x": "float", "ok": "bool"})
    for feature in ("d", "t"):
        query = sh.accuracy(model, features=["x", feature], target="ok")
        with pytest.raises(sh.InvalidQuery, match=f"the feature '{feature}' is a") as refused:
            query.form(schema)
        assert "its days" in str(refused.value)
    for target in ("d", "t"):
        with pytest.raises(sh.InvalidQuery):
            sh.accuracy(model, features=["x"], target=target).form(schema)
    with pytest.raises(sh.InvalidQuery, match="expected a number"):
        sh.fit("logistic", target="ok", features={"d": (0, 1)}, price=10).form(schema)


def test_large_appends_are_known_again_whatever_they_came_in(tmp_path: Path) -> None:
    days = [dt.date(2026, 1, 1) + dt.timedelta(i % 365) for i in range(20_000)]
    frame = pl.DataFrame({"d": days, "t": pl.Series(days).cast(pl.Datetime("ms", "Europe/Oslo"))})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    with sh.create(tmp_path / "data", beta=0.05, columns={"d": "date", "t": "timestamp"}) as made:
        made.append(tmp_path / "a.parquet")
        with pytest.raises(sh.SureholdError):
            made.append(tmp_path / "a.csv")
        assert made.n == 20_000
        made.verify()
