"""Where records come from: files, tables of other libraries, and plain mappings."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa

from surehold.data.csv_files import csv_schema, csv_texts
from surehold.data.file_formats import FileFormat, open_bytes
from surehold.data.frames import SAMPLE, cast_frame, frame_of, schema_of
from surehold.data.json_lines import json_schema, objects
from surehold.data.records import Row, rows_of
from surehold.data.segments import RECORDS
from surehold.data.tables import arrow_table, as_table, is_pandas, polars_of
from surehold.errors import InvalidInput
from surehold.queries import Schema

Batch: TypeAlias = pl.DataFrame | list[Row]

_ROWS = 1 << 14  # mappings checked at a time
# What readers of files raise; their messages may repeat what a record holds.
_UNREADABLE = (pl.exceptions.PolarsError, pa.ArrowException, UnicodeDecodeError, OSError)


def batches(source: Any, schema: Schema, format: FileFormat | str | None = None) -> Iterator[Batch]:
    """Yield checked records in order of arrival, in batches; BadRecord at the first bad one.

    Rows stay rows, so that a small append needs no data frame.
    """
    written = FileFormat.of(format)
    if isinstance(source, str | Path):
        yield from _from_file(Path(source), schema, written)
        return
    written.check_no_dialect()
    if isinstance(source, Mapping):
        yield rows_of([source], schema)
    elif isinstance(source, io.IOBase) or hasattr(source, "readline"):
        yield from _from_rows(objects(source), schema)
    elif is_pandas(source):
        yield from _from_pandas(source, schema)
    elif (table := as_table(source, schema)) is not None:
        yield from _typed_frames(table, schema)
    elif isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        yield from _from_rows(source, schema)
    else:
        required = "a file, a table (pandas, Polars, Arrow) or mappings of column names to values"
        raise InvalidInput("the records", required, type(source).__name__)


def sampled_schema(
    source: Any,
    format: FileFormat | None = None,
    columns: Mapping[str, str] | None = None,
    whole: bool = False,
) -> Schema:
    """Infer the columns from a sample file or table; ``columns`` corrects it.

    The types of a text file are those of its first records, or of the ``whole`` file.
    """
    found = _sampled(source, format, columns or {}, None if whole else SAMPLE)
    for name in columns or {}:
        if name not in found:
            raise InvalidInput("columns", f"of the sample: {', '.join(found.names)}", name)
    return found


def _sampled(
    source: Any, format: FileFormat | None, columns: Mapping[str, str], most: int | None
) -> Schema:
    written = FileFormat.of(format)
    if isinstance(source, str | Path):
        path = Path(source)
        written = written.of_file(path)
        try:
            if written.dialect is not None:
                return csv_schema(path, written.dialect, columns, most)
            if written.kind == "ndjson":
                with open_bytes(path) as file:
                    return json_schema(islice(objects(file), most), columns)
            return schema_of(next(_tables(path, written.kind, None)), columns)
        except _UNREADABLE:
            raise _unreadable(path, written.kind) from None
        except StopIteration:
            raise InvalidInput("the sample", "a file with records", str(path)) from None
    written.check_no_dialect()
    table = as_table(polars_of(source) if is_pandas(source) else source, None)
    if table is None:
        required = "a file or a table (pandas, Polars, Arrow)"
        raise InvalidInput("the sample", required, type(source).__name__)
    return schema_of(next(iter(table)), columns)


def _from_file(path: Path, schema: Schema, format: FileFormat) -> Iterator[Batch]:
    written = format.of_file(path)
    try:
        if written.kind == "ndjson":
            with open_bytes(path) as file:
                yield from _from_rows(objects(file), schema)
        elif written.dialect is not None:
            yield from _typed_frames(csv_texts(path, written.dialect, schema), schema)
        else:
            yield from _typed_frames(_tables(path, written.kind, schema), schema)
    except _UNREADABLE:
        raise _unreadable(path, written.kind) from None


def _tables(path: Path, kind: str | None, schema: Schema | None) -> Iterator[pl.DataFrame]:
    """Yield the tables of a typed file."""
    if kind == "parquet":
        scan = pl.scan_parquet(path, glob=False)
        yield from scan.collect_batches(chunk_size=RECORDS, maintain_order=True)
        yield pl.DataFrame(schema=scan.collect_schema())  # its columns, if it has no records
    else:
        yield from as_table(arrow_table(path), schema) or ()


def _from_pandas(frame: Any, schema: Schema) -> Iterator[Batch]:
    table = polars_of(frame)
    if table is not None:
        return _typed_frames([table], schema)
    # Value by value, so that the error is ours and names the record.
    plain = frame.astype(object).where(frame.notna(), None)
    names = [str(name) for name in frame.columns]
    records = plain.itertuples(index=False, name=None)
    return _from_rows((dict(zip(names, record, strict=True)) for record in records), schema)


def _typed_frames(frames: Iterable[pl.DataFrame], schema: Schema) -> Iterator[Batch]:
    done = 0
    for frame in frames:
        yield cast_frame(frame, schema, done)
        done += frame.height


def _from_rows(records: Iterable[Any], schema: Schema) -> Iterator[Batch]:
    done, left = 0, iter(records)
    while some := list(islice(left, _ROWS)):
        rows = rows_of(some, schema, done)
        done += len(rows)
        yield rows


def _unreadable(path: Path, kind: str | None) -> InvalidInput:
    """Return an error without the reader's own message, which may quote a record."""
    what = {"csv": "lines of as many fields as the first", "tsv": "lines of as many fields"}
    required = (
        f"a {kind} file that can be read ({what.get(kind or '', 'whole and valid')}, in UTF-8)"
    )
    return InvalidInput("the records", required, str(path))


def as_frame(batch: Batch, schema: Schema) -> pl.DataFrame:
    """Return a batch as a frame."""
    return batch if isinstance(batch, pl.DataFrame) else frame_of(batch, schema)
