"""Ids: the column that identifies a record."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import surehold as sh
from surehold.errors import BadRecord, InvalidInput
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
