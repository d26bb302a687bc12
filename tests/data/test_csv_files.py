"""CSV as people have it: other delimiters, decimal commas, headers that are none."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold as sh
from surehold.data.csv_headers import guess_separator
from surehold.data.file_formats import FileFormat
from surehold.data.sample_checks import doubts
from surehold.data.sources import batches, sampled_schema
from surehold.queries import Schema

COLUMNS = {"age": "int", "bmi": "float", "city": "str"}
ROWS = [[30, 21.5, "Oslo"], [31, -0.5, "a;b,c"], [None, None, None], [-4, 1e3, "x|y"]]
MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def written(path: Path, mark: str, decimal: str, rows: list[list[Any]] = ROWS) -> Path:
    def field(value: Any) -> str:
        if isinstance(value, float):
            value = repr(value).replace(".", decimal)
        return "" if value is None else f'"{value}"' if mark in str(value) else str(value)

    lines = [mark.join(COLUMNS), *(mark.join(map(field, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def kept(path: Path, written: FileFormat, columns: dict[str, str] = COLUMNS) -> list[list[Any]]:
    found: list[list[Any]] = []
    for batch in batches(path, Schema.of(columns), written):
        found += [list(row) for row in (batch if isinstance(batch, list) else batch.rows())]
    return found


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("mark", MARKS)
def test_delimiters_and_decimal_marks(tmp_path: Path, mark: str, decimal: str) -> None:
    path = written(tmp_path / "a.csv", mark, decimal)
    form = FileFormat.of(None, mark, decimal)
    assert kept(path, form) == ROWS
    assert sampled_schema(path, form).to_dict() == COLUMNS
    assert doubts(path, COLUMNS, form) == []


@pytest.mark.parametrize("mark", [mark for mark in MARKS if mark != ","])
def test_another_delimiter_is_named_by_create_and_append(tmp_path: Path, mark: str) -> None:
    path = written(tmp_path / "a.csv", mark, ",")
    said = "tab" if mark == "\t" else mark
    with sh.create(tmp_path / "data", beta=0.05, columns=COLUMNS) as data:
        for call in (lambda: sampled_schema(path), lambda: data.append(path)):
            with pytest.raises(sh.InvalidInput) as error:
                call()
            assert "must be separated by commas" in str(error.value)
            advice = f"its fields are separated by {MARKS[mark]}: give --delimiter '{said}', and"
            assert f"{advice} --decimal ','" in str(error.value)
        assert data.append(path, delimiter=said, decimal=",").count == len(ROWS)
        assert json.loads(data._data.text(0, data.n)) == ROWS


def test_a_point_is_no_decimal_mark_where_a_comma_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age;bmi;city\n30;1.234;Oslo\n", encoding="utf-8")
    with pytest.raises(sh.BadRecord, match="record 1, column 'bmi' must be a number"):
        kept(path, FileFormat.of(None, ";", ","))
    assert kept(path, FileFormat.of(None, ";")) == [[30, 1.234, "Oslo"]]


@pytest.mark.parametrize("line", ["30,21.5,Oslo", "Anna,Bob,Oslo", "age2,bmi2,town"])
def test_a_missing_header_is_named_without_its_fields(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{line}\n31,20.5,Bergen\n", encoding="utf-8")
    with pytest.raises(sh.InvalidInput, match=r"names of the columns \(age, bmi, city\)") as error:
        kept(path, FileFormat())
    assert "add a line with the names" in str(error.value)
    assert "Oslo" not in str(error.value)
    assert ("looks like a record" in str(error.value)) == line.startswith("30")


def test_a_sample_without_a_header_is_doubted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("30,21.5,Oslo\n31,20.5,Bergen\n", encoding="utf-8")
    [doubt] = doubts(path, sampled_schema(path).to_dict())
    assert "the first line looks like a record" in doubt


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a,b,a\n1,2,3\n", "column 'a' must be there once"),
        (",a\n0,1\n", r"the name of column 1 must be text.*index=False"),
        ("a,,b\n0,1,2\n", "the name of column 2 must be text"),
        ("sep=;\na;b\n1;2\n", "remove that line"),
        ("", "a csv file that can be read"),
    ],
)
def test_headers_that_name_no_columns(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(sh.SureholdError, match=error):
        sampled_schema(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("größe,b\n1,2\n", encoding=encoding)
    with pytest.raises(sh.InvalidInput, match=r"text in UTF-8.*iconv"):
        sampled_schema(path)


def test_a_byte_order_mark_belongs_to_no_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,bmi,city\n30,1.5,Oslo\n", encoding="utf-8-sig")
    assert sampled_schema(path).to_dict() == COLUMNS
    assert kept(path, FileFormat()) == [[30, 1.5, "Oslo"]]


@pytest.mark.parametrize(
    ("values", "doubted"),
    [
        (["1,5", "2,25", "3"], True),
        (["1,234", "5,678"], False),  # may be thousands
        (["1,5", "x"], False),
        (["1", "2"], False),
    ],
)
def test_decimal_commas_are_doubted(tmp_path: Path, values: list[str], doubted: bool) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["x;y", *(f"{value};a" for value in values)]), encoding="utf-8")
    form = FileFormat.of(None, ";")
    found = doubts(path, sampled_schema(path, form).to_dict(), form)
    assert [doubt for doubt in found if "--decimal" in doubt] == (
        ["'x' is text, as its numbers have decimal commas; give --decimal ','"] if doubted else []
    )


def test_what_only_csv_has(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"age": 1}\n', encoding="utf-8")
    with sh.create(tmp_path / "data", beta=0.05, columns=COLUMNS) as data:
        for source in (tmp_path / "a.ndjson", [{"age": 1}]):
            with pytest.raises(sh.InvalidInput, match="delimiter must be left out"):
                data.append(source, delimiter=";")
        with pytest.raises(sh.InvalidInput, match="delimiter must be one of"):
            data.append("a.csv", delimiter="::")
        with pytest.raises(sh.InvalidInput, match="decimal must be a point or a comma"):
            data.append("a.csv", decimal="'")
        assert data.n == 0


_FIELDS = st.text(st.sampled_from('a1,;|\t"\n\r \x00é.-\ufeff'), max_size=6)


@given(st.lists(st.lists(_FIELDS, min_size=1, max_size=4), max_size=6), st.sampled_from(",;\t|"))
def test_no_text_makes_a_traceback(tmp_path_factory: Any, rows: Any, mark: str) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.csv"
    path.write_bytes("\n".join(mark.join(row) for row in rows).encode())
    for form in (FileFormat(), FileFormat.of(None, mark, ",")):
        with contextlib.suppress(sh.SureholdError):
            schema = sampled_schema(path, form)
            doubts(path, schema.to_dict(), form)
            kept(path, form, schema.to_dict())


@given(st.binary(max_size=60), st.sampled_from(["csv", "tsv", "csv.gz", "csv.zst", "ndjson"]))
def test_no_bytes_make_a_traceback(tmp_path_factory: Any, data: bytes, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"hostile.{suffix}"
    path.write_bytes(data)
    for call in (lambda: sampled_schema(path), lambda: kept(path, FileFormat())):
        with contextlib.suppress(sh.SureholdError):
            call()


def test_what_separates_nothing() -> None:
    assert guess_separator("") is None
    assert guess_separator("one\ntwo\n") is None
    assert guess_separator('a;b\n"x;y";1\n') == ";"
    assert guess_separator("a,b;c\n1,5;2\n") == ","  # both split into two: commas are usual
