"""Tables of other libraries: Polars, Arrow and pandas."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from surehold.data.frames import unknown_type
from surehold.data.records import REQUIRED
from surehold.data.segments import dataset_of
from surehold.errors import BadRecord, InvalidInput
from surehold.queries import Schema

# What Polars takes without raising, or worse.
_TYPES = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal128,
    pa.types.is_null,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def as_table(source: Any, schema: Schema | None) -> Iterator[pl.DataFrame] | None:
    """Return the frames of another library's table; None if it is not one."""
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        return iter([source])
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if hasattr(source, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(source)
        except pa.ArrowInvalid:
            return None  # a single column
        _check_foreign(reader.schema)
        check_names(reader.schema)
        _check_types(reader.schema, schema)
        return _arrow_frames(reader)
    return None


def _arrow_frames(reader: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    none = [pa.nulls(0, field.type) for field in reader.schema]
    for batch in chain(reader, [pa.RecordBatch.from_arrays(none, schema=reader.schema)]):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                column.validate(full=True)  # Polars takes text for UTF-8 without looking
            except pa.ArrowInvalid:
                raise BadRecord(None, name, "valid, its text in UTF-8", "not") from None
        frame = pl.from_arrow(_plain_times(batch))
        assert isinstance(frame, pl.DataFrame)
        yield frame


def _plain_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return timestamps in UTC, and without a zone: Polars does not know all zones, nor seconds."""
    for at, field in enumerate(batch.schema):
        column, kind = batch.column(at), field.type
        if pa.types.is_dictionary(kind) and pa.types.is_temporal(kind.value_type):
            column, kind = column.dictionary_decode(), kind.value_type
        if pa.types.is_timestamp(kind):
            try:
                column = column.cast(pa.timestamp("ms" if kind.unit == "s" else kind.unit))
            except pa.ArrowInvalid:
                required = "in the years 1 to 9999"
                raise BadRecord(None, field.name, required, "another time") from None
        if column is not batch.column(at):
            batch = batch.set_column(at, field.name, column)
    return batch


def arrow_table(path: Path) -> pa.Table:
    """Return the table of an Arrow file, in either of its two formats."""
    with pa.memory_map(str(path)) as source:
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()


def is_pandas(source: Any) -> bool:
    """Check for a pandas frame without importing pandas."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def polars_of(frame: Any) -> pl.DataFrame | None:
    """Convert a pandas frame without its index; None if Arrow has no type for a column."""
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    check_names(named.columns)
    try:
        return pl.from_pandas(named)
    except (pa.ArrowException, pl.exceptions.PolarsError, ValueError, TypeError, OverflowError):
        return None


def check_names(names: Any) -> None:
    """Check that no column occurs twice."""
    names = [getattr(name, "name", name) for name in names]
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise BadRecord(None, name, "there once", "there more than once")


def _check_types(given: pa.Schema, schema: Schema | None) -> None:
    """Refuse Arrow types that make Polars raise, or worse."""
    for field in given:
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if any(fits(kind) for fits in _TYPES):
            continue
        if schema is None:
            raise unknown_type(field.name, field.type)
        if field.name in schema:
            required = REQUIRED[schema[field.name]]
            raise BadRecord(1, field.name, required, f"of type {field.type}")
        raise BadRecord(None, field.name, "left out", "not a column of this dataset")


def _check_foreign(schema: pa.Schema) -> None:
    """Refuse a segment: appended again, it would give its records a fresh budget."""
    if dataset_of(schema) is not None:
        required = "records that are in no dataset yet"
        raise InvalidInput("the records", required, f"a segment of dataset {dataset_of(schema)}")
