"""CSV files as text; the columns decide what a field means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import csv

from surehold.data.csv_headers import check_header
from surehold.data.engines.polars_arrays import STORED
from surehold.data.file_formats import Dialect, open_bytes
from surehold.data.frames import SAMPLE, schema_of
from surehold.data.time_columns import kind_of_texts
from surehold.errors import BadRecord
from surehold.formatting import several
from surehold.queries import ColumnType, Schema

_BLOCK = 1 << 24  # bytes read at a time
# How Arrow says it; what the line holds comes after, and is not repeated.
_RAGGED = re.compile(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+):")
_NUMBERS = (ColumnType.INT, ColumnType.FLOAT)


def csv_schema(
    path: Path, dialect: Dialect, columns: Mapping[str, str], most: int | None
) -> Schema:
    """Infer types from the first records of a CSV file (None: from all), unless they are given."""
    check_header(path, dialect)
    types = scan(path, dialect, infer_schema_length=most).collect_schema()
    texts = sample_texts(path, dialect)
    for name in texts.columns:
        if types[name] == pl.String and texts[name].null_count() == texts.height:
            types[name] = pl.Null()
        elif types[name] == pl.String and (kind := kind_of_texts(texts[name])) is not None:
            types[name] = STORED[kind]
    return schema_of(pl.DataFrame(schema=types), columns)


def sample_texts(path: Path, dialect: Dialect) -> pl.DataFrame:
    """Return the first records of a CSV file as texts."""
    return scan(path, dialect, infer_schema=False, n_rows=SAMPLE).collect()


def scan(path: Path, dialect: Dialect, **options: Any) -> pl.LazyFrame:
    """Return Polars' scan of a file, which decompresses it if needed."""
    comma = dialect.decimal == ","
    return pl.scan_csv(
        path, separator=dialect.separator, decimal_comma=comma, glob=False, **options
    )


def csv_texts(path: Path, dialect: Dialect, schema: Schema) -> Iterator[pl.DataFrame]:
    """Read the fields of a CSV file as text; an empty field is a missing value.

    Arrow reads the file, because it detects and numbers lines with too few fields, which Polars
    fills up (only without threads, and that is not slower). An empty line is not a record, but in a
    file of one column it is a missing value.

    Arrow reads ahead in a thread that may outlive the interpreter. It gets none of our functions:
    releasing one then would abort the process.
    """
    check_header(path, dialect, schema)
    try:
        reader = csv.open_csv(
            path,
            csv.ReadOptions(block_size=_BLOCK, use_threads=False),
            csv.ParseOptions(
                delimiter=dialect.separator,
                newlines_in_values=True,
                ignore_empty_lines=len(schema) > 1,
            ),
            csv.ConvertOptions(
                column_types={name: pa.binary() for name in schema.names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        done, last = 0, pl.DataFrame()
        for batch in chain(reader, [pa.RecordBatch.from_pylist([], reader.schema)]):
            frame = _with_points(_decode(batch, done), dialect, schema)
            yield frame
            done += batch.num_rows
            last = frame.tail(1) if frame.height else last
        _refuse_open_quote(path, last, done)
    except pa.ArrowInvalid as error:
        ragged = _RAGGED.match(str(error))
        if ragged is None:
            raise
        line, fields, got = map(int, ragged.groups())
        required = f"as long as the first line, {several(fields, 'field')}"
        raise BadRecord(line - 1, None, required, f"{got:,}") from None


def _refuse_open_quote(path: Path, last: pl.DataFrame, record: int) -> None:
    """Refuse an unclosed quote, which swallows all lines after it."""
    for name in last.columns:
        value = last[name].item()
        if isinstance(value, str) and "\n" in value:
            with open_bytes(path) as file:
                quotes = sum(block.count(b'"') for block in iter(partial(file.read, _BLOCK), b""))
            if quotes % 2:
                required = "closed: a field that begins with a quote ends with one"
                raise BadRecord(record, name, required, "open at the end of the file")


def _decode(batch: pa.RecordBatch, done: int) -> pl.DataFrame:
    """Decode columns of bytes as text; the dataset does not have the others."""
    for i, field in enumerate(batch.schema):
        if field.type != pa.binary():
            continue
        try:
            text = batch.column(i).cast(pa.string())
        except pa.ArrowInvalid:
            values = batch.column(i).to_pylist()
            first = next(at for at, value in enumerate(values) if not _is_utf8(value))
            got = "bytes that are not UTF-8"
            raise BadRecord(done + first + 1, field.name, "text", got) from None
        batch = batch.set_column(i, field.name, text)
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _with_points(frame: pl.DataFrame, dialect: Dialect, schema: Schema) -> pl.DataFrame:
    """Write decimal commas as points. A point is no number then: 1.234 may mean 1234."""
    if dialect.decimal == ".":
        return frame
    names = [name for name in frame.columns if name in schema and schema[name] in _NUMBERS]
    texts = pl.col(names).str.replace_all(".", ";", literal=True)
    return frame.with_columns(texts.str.replace_all(",", ".", literal=True))


def _is_utf8(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
