"""Warnings about a sample: columns that are stored as text because nothing else fits.

Dates such as 31/12/2026 do not compare as dates, and a column of numbers with "NA" among them is
not a column of numbers. Neither is an error, and both give unexpected answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from surehold.data.csv_files import SEPARATORS, sample_texts
from surehold.queries.canonical import canonical
from surehold.queries.expressions import Column

_MOST = 0.9  # of the texts of a column
_DATE = r"^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(\s|$)"
_MONTH = r"(?i)^\s*\d{1,2}[ .-]*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"


def doubts(path: Path, columns: Mapping[str, str]) -> list[str]:
    """Return warnings about columns that are stored as text, from a CSV sample.

    They name columns, never values of records.
    """
    separator = SEPARATORS.get(path.suffix.lower().lstrip("."))
    if separator is None:
        return []
    sample = sample_texts(path, separator)
    found = (
        _doubt(name, sample[name].drop_nulls()) for name, kind in columns.items() if kind == "str"
    )
    return [doubt for doubt in found if doubt is not None]


def _doubt(name: str, texts: pl.Series) -> str | None:
    if texts.is_empty():
        return None
    dates = texts.str.contains(_DATE) | texts.str.contains(_MONTH)
    if _share(dates) >= _MOST:
        return f"{name!r} is text, and its dates compare correctly only if written like 2026-11-16"
    numbers = texts.str.strip_chars().cast(pl.Float64, strict=False).is_not_null()
    if _MOST <= _share(numbers) < 1.0:
        return (
            f"{name!r} is text, as some fields are not numbers; leave those empty, or ask about "
            f"cast({canonical(Column(name, position=0))} as number)"
        )
    return None


def _share(flags: pl.Series) -> float:
    return float(flags.fill_null(False).sum()) / len(flags)
