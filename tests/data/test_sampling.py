"""like=: the columns of a sample."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import surehold as sh
from data.forms import FORMS
from support.runtime import adaptive_plan
from surehold.data.sources import sampled_schema
from surehold.queries import Schema

COLUMNS = {"age": "int", "bmi": "float", "smoker": "bool", "city": "str"}
RECORDS = [
    {"age": 71, "bmi": 28.4, "smoker": False, "city": "Oslo"},
    {"age": None, "bmi": None, "smoker": None, "city": None},
    {"age": 5, "bmi": 30.0, "smoker": True, "city": "Tromsø"},
]
SAMPLES = [
    form
    for form in FORMS
    if form not in ("dicts", "generator", "pandas objects") and not form.startswith("lines")
]


@pytest.mark.parametrize("form", SAMPLES)
def test_a_sample_of_every_form(form: str, tmp_path: Path) -> None:
    """And what it was sampled from can be appended."""
    sample = FORMS[form](RECORDS, Schema.of(COLUMNS), tmp_path)
    if form == "arrow reader":  # which can be read once
        assert sampled_schema(sample).to_dict() == COLUMNS
        return
    with sh.create(tmp_path / "data", plan=adaptive_plan(), like=sample) as dataset:
        assert dataset.columns == COLUMNS
        assert dataset.n == 0
        assert dataset.append(sample).n == 3


def test_whole_numbers_and_fractions_in_lines(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"x": 1}\n{"x": 2.5, "y": "a"}\n{"y": null}\n')
    assert sampled_schema(tmp_path / "a.ndjson").to_dict() == {"x": "float", "y": "str"}


def test_only_the_beginning_of_a_long_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("csv_files", "sources"):
        monkeypatch.setattr(f"surehold.data.{module}.SAMPLE", 100)
    (tmp_path / "a.csv").write_text("x,y\n" + "1,a\n" * 200 + "later,b\n")
    (tmp_path / "a.ndjson").write_text('{"x": 1}\n' * 200 + "later\n")
    assert sampled_schema(tmp_path / "a.csv").to_dict() == {"x": "int", "y": "str"}
    assert sampled_schema(tmp_path / "a.ndjson").to_dict() == {"x": "int"}


@pytest.mark.parametrize(
    "sample",
    [
        pa.table({"x": pa.array([dt.timedelta(1)])}),
        pa.table({"x": pa.nulls(2)}),
        pa.table({"x": pa.array([[1]])}),
        pl.DataFrame({"x": [None]}),
        pl.DataFrame({"x": [dt.time(12)]}),
        pd.DataFrame({"x": [pd.Timedelta(1)]}),
        pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)}),
    ],
)
def test_columns_that_tell_no_type(sample: Any, tmp_path: Path) -> None:
    with pytest.raises(sh.InvalidInput):
        sh.create(tmp_path / "data", plan=adaptive_plan(), like=sample)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.arrow", "a.ndjson"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe secret"], ids=["empty", "bytes"])
def test_samples_that_cannot_be_read(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((sh.InvalidInput, sh.BadRecord)) as caught:
        sampled_schema(tmp_path / name)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ['{"x": 1}\n{"x": "a"}\n', "[1]\n", '{"x": [1]}\n', '{"x": {"y": 1}}\n', "{\n"]
)
def test_lines_that_tell_no_columns(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(content)
    with pytest.raises((sh.InvalidInput, sh.BadRecord)):
        sampled_schema(tmp_path / "a.ndjson")


@pytest.mark.parametrize("content", ["x,y\n", "x,y\n1,\n2,\n"])
def test_csv_columns_without_values(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(sh.InvalidInput, match="the sample must show"):
        sampled_schema(tmp_path / "a.csv")


@pytest.mark.parametrize("sample", [7, {"x": 1}, [{"x": 1}], "no such file.csv", pl.Series([1])])
def test_what_is_no_sample(sample: Any) -> None:
    with pytest.raises(sh.InvalidInput):
        sampled_schema(sample)
