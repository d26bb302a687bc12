"""A look at a file before a dataset is made of it: columns, ids, a target, and what is doubtful.

Only the custodian looks so, at a file that is not a dataset yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from surehold.data.csv_files import sample_texts
from surehold.data.csv_headers import guess_separator, header_of, is_record, read_head
from surehold.data.file_formats import Dialect, FileFormat
from surehold.data.sample_checks import doubts, has_decimal_commas
from surehold.data.sources import as_frame, batches, sampled_schema
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.formatting import Finding, several
from surehold.queries import ColumnType, Schema

_ID = re.compile(r"(?i:(.*[_. -])?(id|uuid|guid|key))|.*[a-z0-9](Id|ID|Uuid|UUID)")
_TARGET = re.compile(
    r"(?i)(is_?)?(target|label|correct|right|outcome|converted|churn(ed)?|success|passed|y)"
)


@dataclass(frozen=True)
class Survey(Shown):
    """What a file holds, as far as a look at all of it can tell.

    ``ids`` are columns that identify records by their name and values; ``target`` is a column of
    true and false that people are likely to ask about. ``delimiter`` and ``decimal`` are None
    except for CSV.
    """

    file: str
    records: int
    columns: Mapping[str, str]
    delimiter: str | None
    decimal: str | None
    ids: tuple[str, ...]
    target: str | None
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        holds = f"{several(self.records, 'record')} in {several(len(self.columns), 'column')}"
        return f"{self.file}: {holds}"


def survey(
    path: Path, format: FileFormat, columns: Mapping[str, str], *, has_header: bool
) -> Survey:
    """Read a whole file and describe it; BadRecord or InvalidInput if it cannot be appended.

    ``columns`` corrects types. ``has_header`` accepts a first line that looks like a record.
    """
    written = _with_dialect(path, format)
    dialect = written.of_file(path).dialect
    if dialect is not None and not has_header and is_record(header_of(path, dialect)):
        hint = "add a line with the names, or give --header if these are the names"
        got = Finding("looks like a record")
        raise InvalidInput("the first line", "the names of the columns", got, hint)
    schema = sampled_schema(path, written, columns, whole=True)
    looked = _Look(schema)
    for batch in batches(path, schema, written):
        looked.take(as_frame(batch, schema))
    if not looked.records:
        raise InvalidInput("the file", "a file with records", str(path))
    remarks = doubts(path, schema.to_dict(), written)
    return Survey(
        file=path.name,
        records=looked.records,
        columns=schema.to_dict(),
        delimiter=None if dialect is None else dialect.separator,
        decimal=None if dialect is None else dialect.decimal,
        ids=looked.ids,
        target=_target(schema),
        remarks=(*remarks, *looked.remarks),
    )


class _Look:
    """One pass over all records."""

    def __init__(self, schema: Schema) -> None:
        self.records = 0
        self._ids: dict[str, list[pl.Series]] = {
            name: []
            for name, kind in schema
            if kind in (ColumnType.INT, ColumnType.STR) and _ID.fullmatch(name)
        }
        self._flags = {name for name, kind in schema if kind is ColumnType.INT}

    def take(self, frame: pl.DataFrame) -> None:
        self.records += frame.height
        self._flags = {name for name in self._flags if frame[name].is_in((0, 1)).all()}
        for name in list(self._ids):
            self._ids[name].append(frame[name])
            if frame[name].null_count():
                del self._ids[name]

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns that are named like ids, complete and without duplicates."""
        return tuple(
            name for name, parts in self._ids.items() if not pl.concat(parts).is_duplicated().any()
        )

    @property
    def remarks(self) -> list[str]:
        return [
            f"{name!r} has only 0 and 1; --column {name}:bool makes it a condition to ask about"
            for name in sorted(self._flags)
        ]


def _target(schema: Schema) -> str | None:
    flags = [name for name, kind in schema if kind is ColumnType.BOOL]
    return next(filter(_TARGET.fullmatch, flags), flags[0] if flags else None)


def _with_dialect(path: Path, format: FileFormat) -> FileFormat:
    """Guess how a CSV file is written, as far as nobody said."""
    found = format.of_file(path)
    if found.dialect is None:
        return format
    if format.delimiter is None:
        found = replace(found, delimiter=guess_separator(read_head(path)))
    if format.decimal is None and _prefers_commas(path, found):
        found = replace(found, decimal=",")
    return found


def _prefers_commas(path: Path, format: FileFormat) -> bool:
    """Check whether more columns are numbers if commas are decimal marks."""
    assert format.dialect is not None
    try:
        texts = sample_texts(path, Dialect(format.dialect.separator))
    except (pl.exceptions.PolarsError, OSError):
        return False  # the pass over all records will say what is wrong
    columns = [texts[name].drop_nulls().str.strip_chars() for name in texts.columns]
    points = sum(column.str.contains(r"^[+-]?\d*\.\d+$").any() for column in columns)
    return sum(map(has_decimal_commas, columns)) > points
