"""CSV files as text; the columns decide what a field means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import polars as pl
import pyarrow as pa
from pyarrow import csv

from surehold.data.frames import SAMPLE, schema_of
from surehold.data.tables import check_names
from surehold.errors import BadRecord, InvalidInput
from surehold.queries import Schema

SEPARATORS = {"csv": ",", "tsv": "\t"}
_BLOCK = 1 << 24  # bytes read at a time
# How Arrow says it; what the line holds comes after, and is not repeated.
_RAGGED = re.compile(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+):")


def csv_schema(path: Path, separator: str) -> Schema:
    """Infer columns and types from the first records of a CSV file."""
    with path.open("rb") as file:
        file.readline().decode()  # Polars would make up other names
    scan = pl.scan_csv(path, separator=separator, glob=False, infer_schema_length=SAMPLE)
    types, texts = scan.collect_schema(), sample_texts(path, separator)
    if len(types) == 1 and any(mark in next(iter(types)) for mark in ";\t|"):
        required = "separated by commas, or by tabs if it is named *.tsv"
        raise InvalidInput("the file", required, str(path), "save it that way")
    missing = [name for name in texts.columns if texts[name].null_count() == texts.height]
    return schema_of(pl.DataFrame(schema={**types, **dict.fromkeys(missing, pl.Null())}))


def sample_texts(path: Path, separator: str) -> pl.DataFrame:
    """Return the first records of a CSV file as texts."""
    scan = pl.scan_csv(path, separator=separator, glob=False, infer_schema=False, n_rows=SAMPLE)
    return scan.collect()


def csv_texts(path: Path, separator: str, schema: Schema) -> Iterator[pl.DataFrame]:
    """Read the fields of a CSV file as text; an empty field is a missing value.

    Arrow reads the file, because it detects and numbers lines with too few fields, which Polars
    fills up (only without threads, and that is not slower). An empty line is not a record, but in a
    file of one column it is a missing value.

    Arrow reads ahead in a thread that may outlive the interpreter. It gets none of our functions:
    releasing one then would abort the process.
    """
    try:
        reader = csv.open_csv(
            path,
            csv.ReadOptions(block_size=_BLOCK, use_threads=False),
            csv.ParseOptions(
                delimiter=separator,
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
        check_names(reader.schema)
        done, last = 0, pl.DataFrame()
        for batch in chain(reader, [pa.RecordBatch.from_pylist([], reader.schema)]):
            frame = _decode(batch, done)
            yield frame
            done += batch.num_rows
            last = frame.tail(1) if frame.height else last
        _refuse_open_quote(path, last, done)
    except pa.ArrowInvalid as error:
        ragged = _RAGGED.match(str(error))
        if ragged is None:
            raise
        line, fields, got = map(int, ragged.groups())
        required = f"{fields:,} fields, as the first line has"
        raise BadRecord(line - 1, None, required, f"{got:,}") from None


def _refuse_open_quote(path: Path, last: pl.DataFrame, record: int) -> None:
    """Refuse an unclosed quote, which swallows all lines after it."""
    for name in last.columns:
        value = last[name].item()
        if isinstance(value, str) and "\n" in value:
            with path.open("rb") as file:
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


def _is_utf8(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
