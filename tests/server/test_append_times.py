"""Dates and timestamps over HTTP: every format, unit and zone keeps the same times."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl
import pytest

import surehold as sh
from support.service import Running, running, send

COLUMNS = {"day": "date", "at": "timestamp", "ok": "bool"}
RECORDS: list[dict[str, Any]] = [
    {
        "day": date(2026, 11, 1) + timedelta(days=i % 9),
        "at": datetime(2026, 11, 1, 23, 30, 0, 250_000, tzinfo=UTC) + timedelta(hours=i),
        "ok": i % 3 == 0,
    }
    for i in range(20)
] + [{"day": None, "at": None, "ok": True}]
FRAME = pl.DataFrame(RECORDS)
OSLO = FRAME.with_columns(pl.col("at").dt.convert_time_zone("Europe/Oslo"))
BARE = FRAME.with_columns(pl.col("at").dt.replace_time_zone(None).dt.cast_time_unit("ms"))
ISO = [
    {name: value.isoformat() if isinstance(value, date) else value for name, value in one.items()}
    for one in RECORDS
]
CSV, LINES = "text/csv", "application/x-ndjson"
PARQUET, ARROW = "application/vnd.apache.parquet", "application/vnd.apache.arrow.file"


def binary(frame: pl.DataFrame, kind: str) -> bytes:
    buffer = io.BytesIO()
    (frame.write_parquet if kind == PARQUET else frame.write_ipc)(buffer)
    return buffer.getvalue()


BODIES: list[tuple[str, bytes]] = [
    ("application/json", json.dumps(ISO).encode()),
    (LINES, "\n".join(map(json.dumps, ISO)).encode()),
    (CSV, pl.DataFrame(ISO).write_csv().encode()),
    ("text/tab-separated-values", FRAME.write_csv(separator="\t").encode()),
    *((CSV, frame.write_csv().encode()) for frame in (FRAME, OSLO, BARE)),
    *((LINES, frame.write_ndjson().encode()) for frame in (FRAME, OSLO, BARE)),
    *((kind, binary(frame, kind)) for kind in (PARQUET, ARROW) for frame in (FRAME, OSLO, BARE)),
]


@pytest.fixture
def door(tmp_path) -> Iterator[Running]:
    with (
        sh.create(tmp_path / "shop", beta=0.1, columns=COLUMNS) as dataset,
        running(dataset) as run,
    ):
        yield run


def append(door: Running, body: Any, kind: str = "application/json") -> Any:
    path = "/v1/append?again=true"
    token = door.token("appender")
    return send(door.url, "POST", path, body, token=token, headers={"Content-Type": kind})


def test_every_format_keeps_the_same_times(door):
    size = len(RECORDS)
    for number, (kind, body) in enumerate(BODIES):
        got = append(door, body, kind)
        assert got.status == 200, (kind, got.content)
        kept = door.dataset._data
        n = door.dataset.n
        assert n == size * (number + 1)
        assert kept.text(n - size, n) == kept.text(0, size), kind
    [first] = json.loads(kept.text(0, 1))
    midnight, epoch = datetime(2026, 11, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)
    late = timedelta(hours=23, minutes=30, milliseconds=250)
    microseconds = (midnight + late - epoch) // timedelta(microseconds=1)
    assert first == [(midnight - epoch).days, microseconds, True]


@pytest.mark.parametrize(
    ("record", "column", "required"),
    [
        ({"day": "2026-02-30"}, "day", "a date such as 2026-11-08"),
        ({"day": "2026-11-08T09:00"}, "day", "a date such as 2026-11-08"),
        ({"day": 20_000}, "day", "a date such as 2026-11-08"),
        ({"at": "soon"}, "at", "a timestamp such as 2026-11-08T12:30:00Z"),
        ({"at": "2026-11-08T25:00Z"}, "at", "a timestamp such as 2026-11-08T12:30:00Z"),
    ],
)
def test_what_is_no_time_is_refused_by_place_and_not_by_value(door, record, column, required):
    some = [ISO[0], {"day": None, "at": None, "ok": True} | record]
    for kind, body in (
        ("application/json", json.dumps(some).encode()),
        (LINES, "\n".join(map(json.dumps, some)).encode()),
        (CSV, pl.DataFrame(_as_text(some)).write_csv().encode()),
    ):
        got = append(door, body, kind)
        assert (got.status, got.error) == (422, "BadRecord"), kind
        details = got.json["error"]["details"]
        assert (details["record"], details["column"]) == (2, column)
        assert details["required"] == required
        assert str(record[column]) not in got.json["error"]["message"]
    assert door.dataset.n == 0


def _as_text(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "day": None if one["day"] is None else str(one["day"])} for one in records]
