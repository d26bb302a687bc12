"""The same records are known again, whatever they come in: counted twice they void every width."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest

import surehold as sh
from support.runtime import adaptive_plan
from surehold.data import intake
from surehold.data.content_hash import ContentHash
from surehold.queries import Schema

COLUMNS = {"age": "int", "bmi": "float", "city": "str", "ill": "bool"}


def frame(count: int = 900) -> pl.DataFrame:
    """With gaps, long texts and every type."""
    numbers = range(count)
    return pl.DataFrame(
        {
            "age": [None if i % 17 == 0 else i % 90 for i in numbers],
            "bmi": [None if i % 13 == 0 else i % 40 / 4 for i in numbers],
            "city": [
                None if i % 11 == 0 else f"a long name of a city {i % 7} \u00e6" for i in numbers
            ],
            "ill": [None if i % 19 == 0 else i % 3 == 0 for i in numbers],
        },
        schema={"age": pl.Int64, "bmi": pl.Float64, "city": pl.String, "ill": pl.Boolean},
    )


def as_file(kind: str, folder, records: pl.DataFrame):
    path = folder / f"records.{kind}"
    if kind == "csv":
        records.write_csv(path)
    elif kind == "parquet":
        records.write_parquet(path)
    elif kind == "ndjson":
        records.write_ndjson(path)
    elif kind == "arrow":
        records.write_ipc(path)
    elif kind == "frame":
        return pl.concat([records[:100], records[100:]], rechunk=False)
    elif kind == "pandas":
        return records.to_pandas()
    else:
        return records.to_dicts()
    return path


KINDS = ("csv", "parquet", "ndjson", "arrow", "frame", "pandas", "dicts")


@pytest.mark.parametrize("first", KINDS)
def test_the_same_records_are_refused_from_whatever_they_come(tmp_path, monkeypatch, first):
    monkeypatch.setattr(intake, "LARGE", 500)
    monkeypatch.setattr(intake, "RECORDS", 400)
    with sh.create(tmp_path / "clinic", plan=adaptive_plan(), columns=COLUMNS) as dataset:
        dataset.append(as_file(first, tmp_path, frame()), key="mine")
        for kind in KINDS:
            source = as_file(kind, tmp_path, frame())
            with pytest.raises(sh.InvalidInput, match="of new records"):
                dataset.append(source)
            assert dataset.append(source, key="mine") == sh.Appended(900, 900)
        other = frame().with_columns(age=pl.col("age") + 1)
        with pytest.raises(sh.InvalidInput, match="key must be new for each append"):
            dataset.append(other, key="mine")
        assert dataset.append(other).n == 1800
        dataset.verify()


def digest(*frames: pl.DataFrame) -> str:
    found = ContentHash(Schema.of(COLUMNS))
    for one in frames:
        found.take(one)
    return found.digest


def test_how_they_are_divided_makes_no_difference():
    whole = frame()
    assert digest(whole) == digest(whole[:1], whole[1:300], whole[300:])


CHANGES = {
    "a number": frame().with_columns(age=pl.col("age") + 1),
    "a gap for zero": frame().with_columns(bmi=pl.col("bmi").fill_null(0.0)),
    "a gap for an empty text": frame().with_columns(city=pl.col("city").fill_null("")),
    "a gap for false": frame().with_columns(ill=pl.col("ill").fill_null(False)),
    "the order": frame().reverse(),
    "one fewer": frame()[:-1],
    "texts that run together": frame().with_columns(
        city=pl.when(pl.int_range(pl.len()) == 1).then(pl.lit("ab")).otherwise(pl.lit("c"))
    ),
    "nothing": frame(),
}


@pytest.mark.parametrize("pair", list(combinations(CHANGES, 2)), ids=" and ".join)
def test_other_records_are_others(pair):
    one, other = (digest(CHANGES[name]) for name in pair)
    assert one != other
