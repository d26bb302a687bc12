"""Warnings about a sample: columns that are stored as text because nothing else fits.

Dates such as 31/12/2026 do not compare as dates, and a column of numbers with "NA" among them is
not a column of numbers. Neither is an error, and both give unexpected answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from surehold.data.csv_files import sample_texts
from surehold.data.csv_headers import header_of, is_record
from surehold.data.file_formats import FileFormat
from surehold.queries.expressions import Column
from surehold.queries.writer import write

_MOST = 0.9  # of the texts of a column
_DATE = r"^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(\s|$)"
_COMMA = r"^[+-]?\d*,\d+$"
_WHOLE = r"^[+-]?\d+$"
_THOUSANDS = r"^[+-]?\d{1,3},\d{3}$"
_MONTH = r"(?i)^\s*\d{1,2}[ .-]*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"

NO_HEADER = "the first line looks like a record, but gives the columns their names"


def doubts(path: Path, columns: Mapping[str, str], format: FileFormat | None = None) -> list[str]:
    """Return warnings about a CSV sample: its first line, and columns that are stored as text.

    They name columns, never values of records.
    """
    dialect = FileFormat.of(format).of_file(path).dialect
    if dialect is None:
        return []
    found = []
    if is_record(header_of(path, dialect)):
        found.append(NO_HEADER)
    sample = sample_texts(path, dialect)
    texts = [name for name, kind in columns.items() if kind == "str"]
    found += [_doubt(name, sample[name].drop_nulls()) or "" for name in texts]
    return [doubt for doubt in found if doubt]


def has_decimal_commas(texts: pl.Series) -> bool:
    """Check whether a column of texts has numbers with decimal commas and nothing else.

    Commas before three digits each may separate thousands, so they prove nothing.
    """
    texts = texts.drop_nulls().str.strip_chars()
    commas = texts.str.contains(_COMMA)
    if texts.is_empty() or not (commas | texts.str.contains(_WHOLE)).all():
        return False
    return bool((commas & ~texts.str.contains(_THOUSANDS)).any())


def _doubt(name: str, texts: pl.Series) -> str | None:
    if texts.is_empty():
        return None
    dates = texts.str.contains(_DATE) | texts.str.contains(_MONTH)
    if _share(dates) >= _MOST:
        return f"{name!r} is text, and its dates compare correctly only if written like 2026-11-16"
    if has_decimal_commas(texts):
        return f"{name!r} is text, as its numbers have decimal commas; give --decimal ','"
    numbers = texts.str.strip_chars().cast(pl.Float64, strict=False).is_not_null()
    if _MOST <= _share(numbers) < 1.0:
        return (
            f"{name!r} is text, as some fields are not numbers; leave those empty, or ask about "
            f"cast({write(Column(name, position=0))} as number)"
        )
    return None


def _share(flags: pl.Series) -> float:
    return float(flags.fill_null(False).sum()) / len(flags)
