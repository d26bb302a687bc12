"""What a sample shows that its owner may not mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from surehold.data.sample_checks import doubts
from surehold.data.sources import sampled_schema
from surehold.queries import Schema, query_of


def doubted(folder: Path, values: list[str], name: str = "x", suffix: str = ".csv") -> list[str]:
    path = folder / f"sample{suffix}"
    separator = "\t" if suffix == ".tsv" else ","
    lines = [f"{name}{separator}other", *(f"{value}{separator}1" for value in values)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return doubts(path, sampled_schema(path).to_dict())


@pytest.mark.parametrize("date", ["18/05/2023", "5.1.24", "31-12-2026", "18 May 2023", "1-Jan-24"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_dates_that_do_not_compare_as_dates(tmp_path, date, suffix):
    [said] = doubted(tmp_path, [date] * 9 + [""], suffix=suffix)
    assert said == "'x' is text, and its dates compare correctly only if written like 2026-11-16"


@pytest.mark.parametrize(
    "texts",
    [["2026-11-16", "2026-11-17 10:00"], ["Oslo", "12/05 Street"], ["10.1.22.7", "1.2.34.5"]],
)
def test_dates_that_do_and_other_texts(tmp_path, texts):
    assert doubted(tmp_path, texts * 5) == []


def test_numbers_with_other_words_among_them(tmp_path):
    [said] = doubted(tmp_path, [*map(str, range(19)), "NA"], name="net amount")
    assert said == (
        "'net amount' is text, as some fields are not numbers; leave those empty, or ask about "
        'cast("net amount" as number)'
    )
    assert "NA" not in said
    assert doubted(tmp_path, ["1", "NA", "no", "?"] * 5) == []
    assert doubted(tmp_path, [*map(str, range(19)), ""]) == []


@pytest.mark.parametrize("name", ["case", "größe", "net amount", "x"])
def test_what_is_advised_can_be_asked(tmp_path, name):
    [said] = doubted(tmp_path, [*map(str, range(19)), "NA"], name=name)
    advised = said.partition("ask about ")[2]
    assert query_of(f"{advised} > 3").form(Schema.of({name: "str"})).price == 1


def test_columns_that_were_said_to_be_text_are_doubted_too_and_others_never(tmp_path):
    doubted(tmp_path, ["18/05/2023"] * 5)
    path = tmp_path / "sample.csv"
    assert len(doubts(path, {"x": "str", "other": "int"})) == 1
    assert doubts(path, {"x": "str in ('18/05/2023')", "other": "int"}) == []


def test_files_with_types_of_their_own_are_not_doubted(tmp_path):
    (tmp_path / "sample.ndjson").write_text('{"x": "18/05/2023"}\n', encoding="utf-8")
    assert doubts(tmp_path / "sample.ndjson", {"x": "str"}) == []
