"""Where records come from: files, tables of other libraries, and plain mappings."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import polars as pl
import pyarrow as pa
from pyarrow import csv

from holdfast.data.frames import frame_of, schema_of, typed, untold
from holdfast.data.records import REQUIRED, Row, rows_of
from holdfast.data.segments import RECORDS, dataset_of
from holdfast.errors import BadRecord, InvalidInput
from holdfast.queries import ColumnType, Schema

Batch: TypeAlias = pl.DataFrame | list[Row]

_ROWS = 1 << 14  # mappings checked at a time
_BLOCK = 1 << 24  # bytes of a CSV file read at a time
_SAMPLE = 10_000  # records of a text file that are looked at to tell its types
_KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
}
FORMATS = tuple(dict.fromkeys(_KINDS.values()))
# What readers of files raise; their messages may repeat what a record holds.
_UNREADABLE = (pl.exceptions.PolarsError, pa.ArrowException, UnicodeDecodeError, OSError)


def batches(source: Any, schema: Schema, format: str | None = None) -> Iterator[Batch]:
    """Checked records in order of arrival, a batch at a time; BadRecord at the first bad one.

    Rows stay rows, so that a small append needs no data frame.
    """
    if isinstance(source, str | Path):
        yield from _from_file(Path(source), schema, format)
    elif isinstance(source, Mapping):
        yield rows_of([source], schema)
    elif isinstance(source, io.IOBase) or hasattr(source, "readline"):
        yield from _from_lines(source, schema)
    elif _is_pandas(source):
        yield from _from_pandas(source, schema)
    elif (table := _as_table(source, schema)) is not None:
        yield from _typed_frames(table, schema)
    elif isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        yield from _from_rows(source, schema)
    else:
        required = "a file, a table (pandas, Polars, Arrow) or mappings of column names to values"
        raise InvalidInput("the records", required, type(source).__name__)


def sampled_schema(source: Any, format: str | None = None) -> Schema:
    """The columns of a file or a table like which others will come."""
    if isinstance(source, str | Path):
        path = Path(source)
        kind = _kind_of(path, format)
        try:
            if kind in ("csv", "tsv"):
                return _told_by_csv(path, _separator(kind))
            if kind == "ndjson":
                with path.open("rb") as file:
                    return _told_by_objects(islice(_objects(file), _SAMPLE))
            return schema_of(next(_tables(path, kind, None)))
        except _UNREADABLE:
            raise _unreadable(path, kind) from None
        except StopIteration:
            raise InvalidInput("the sample", "a file with records", str(path)) from None
    table = _as_table(_polars_of(source) if _is_pandas(source) else source, None)
    if table is None:
        required = "a file or a table (pandas, Polars, Arrow)"
        raise InvalidInput("the sample", required, type(source).__name__)
    return schema_of(next(iter(table)))


def _told_by_csv(path: Path, separator: str) -> Schema:
    with path.open("rb") as file:
        file.readline().decode()  # Polars would make up other names
    scan = partial(pl.scan_csv, path, separator=separator, glob=False)
    types = scan(infer_schema_length=_SAMPLE).collect_schema()
    texts = scan(infer_schema=False, n_rows=_SAMPLE).collect()
    missing = [name for name in texts.columns if texts[name].null_count() == texts.height]
    return schema_of(pl.DataFrame(schema={**types, **dict.fromkeys(missing, pl.Null())}))


def _told_by_objects(records: Iterable[Any]) -> Schema:
    seen: dict[str, set[str]] = {}
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            raise BadRecord(number, None, "one JSON object on one line", "another value")
        for name, value in record.items():
            kinds = seen.setdefault(name, set())
            kinds |= set() if value is None else {type(value).__name__}
    for name, kinds in seen.items():
        if kinds == {"int", "float"}:
            kinds.remove("int")
        if len(kinds) != 1 or not kinds <= set(ColumnType):
            raise untold(name, " and ".join(sorted(kinds)) or "missing")
    return Schema.of({name: kind for name, [kind] in seen.items()})


def _from_file(path: Path, schema: Schema, format: str | None) -> Iterator[Batch]:
    kind = _kind_of(path, format)
    if kind == "ndjson":
        with path.open("rb") as file:
            yield from _from_lines(file, schema)
        return
    frames = (
        _csv_texts(path, _separator(kind), schema)
        if kind in ("csv", "tsv")
        else _tables(path, kind, schema)
    )
    try:
        yield from _typed_frames(frames, schema)
    except _UNREADABLE:
        raise _unreadable(path, kind) from None


def _tables(path: Path, kind: str, schema: Schema | None) -> Iterator[pl.DataFrame]:
    """The tables of a file that has types of its own."""
    if kind == "parquet":
        scan = pl.scan_parquet(path, glob=False)
        yield from scan.collect_batches(chunk_size=RECORDS, maintain_order=True)
        yield pl.DataFrame(schema=scan.collect_schema())  # its columns, if it has no records
    else:
        yield from _as_table(_arrow_table(path), schema) or ()


def _csv_texts(path: Path, separator: str, schema: Schema) -> Iterator[pl.DataFrame]:
    """The fields of a CSV file as text; nothing between two separators is a missing value.

    Arrow reads it, as it finds lines with too few fields, which Polars fills up, and numbers them
    (without threads only, and it is not slower so). An empty line is no record, but in a file of
    one column it is a missing value.
    """
    ragged: list[csv.InvalidRow] = []

    def note(row: csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    try:
        reader = csv.open_csv(
            path,
            csv.ReadOptions(block_size=_BLOCK, use_threads=False),
            csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=True,
                ignore_empty_lines=len(schema) > 1,
                invalid_row_handler=note,
            ),
            csv.ConvertOptions(
                column_types={name: pa.binary() for name in schema.names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        _check_names(reader.schema)
        done = 0
        for batch in chain(reader, [pa.RecordBatch.from_pylist([], reader.schema)]):
            yield _decoded(batch, done)
            done += batch.num_rows
    except pa.ArrowInvalid:
        if not ragged:
            raise
        row = ragged[0]
        required = f"{row.expected_columns:,} fields, as the first line has"
        raise BadRecord(row.number - 1, None, required, f"{row.actual_columns:,}") from None


def _decoded(batch: pa.RecordBatch, done: int) -> pl.DataFrame:
    """Bytes as text; others are columns that the dataset doesn't have."""
    for i, field in enumerate(batch.schema):
        if field.type != pa.binary():
            continue
        try:
            text = batch.column(i).cast(pa.string())
        except pa.ArrowInvalid:
            values = batch.column(i).to_pylist()
            first = next(at for at, value in enumerate(values) if not _is_utf8(value))
            got = "bytes that are no UTF-8"
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


def _arrow_table(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()


def _is_pandas(source: Any) -> bool:
    """Without loading pandas for those who don't use it."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def _polars_of(frame: Any) -> pl.DataFrame | None:
    """A pandas frame, without its index; None if a column holds what Arrow has no one type for."""
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    _check_names(named.columns)
    try:
        return pl.from_pandas(named)
    except (pa.ArrowException, pl.exceptions.PolarsError, ValueError, TypeError, OverflowError):
        return None


def _from_pandas(frame: Any, schema: Schema) -> Iterator[Batch]:
    table = _polars_of(frame)
    if table is not None:
        return _typed_frames([table], schema)
    # Value by value, so that the error is ours and names the record.
    plain = frame.astype(object).where(frame.notna(), None)
    names = [str(name) for name in frame.columns]
    records = plain.itertuples(index=False, name=None)
    return _from_rows((dict(zip(names, record, strict=True)) for record in records), schema)


def _as_table(source: Any, schema: Schema | None) -> Iterator[pl.DataFrame] | None:
    """The frames of another library's table; None if it is none."""
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
        _check_names(reader.schema)
        _check_types(reader.schema, schema)
        return _arrow_frames(reader)
    return None


def _arrow_frames(reader: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    for batch in chain(reader, [pa.RecordBatch.from_pylist([], reader.schema)]):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                column.validate(full=True)  # Polars takes text for UTF-8 without looking
            except pa.ArrowInvalid:
                raise BadRecord(None, name, "valid, its text in UTF-8", "not") from None
        frame = pl.from_arrow(batch)
        assert isinstance(frame, pl.DataFrame)
        yield frame


def _check_names(names: Any) -> None:
    names = [getattr(name, "name", name) for name in names]
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise BadRecord(None, name, "there once", "there more than once")


def _check_types(given: pa.Schema, schema: Schema | None) -> None:
    """Some types of Arrow make Polars raise, or worse."""
    for field in given:
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if any(fits(kind) for fits in _TYPES):
            continue
        if schema is None:
            raise untold(field.name, field.type)
        if field.name in schema:
            required = REQUIRED[schema[field.name]]
            raise BadRecord(1, field.name, required, f"of type {field.type}")
        raise BadRecord(None, field.name, "left out", "not a column of this dataset")


_TYPES = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal128,
    pa.types.is_null,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)


def _check_foreign(schema: pa.Schema) -> None:
    """A segment appended again would give the same records a fresh budget."""
    if dataset_of(schema) is not None:
        required = "records that are in no dataset yet"
        raise InvalidInput("the records", required, f"a segment of dataset {dataset_of(schema)}")


def _typed_frames(frames: Iterable[pl.DataFrame], schema: Schema) -> Iterator[Batch]:
    done = 0
    for frame in frames:
        yield typed(frame, schema, done)
        done += frame.height


def _from_rows(records: Iterable[Any], schema: Schema) -> Iterator[Batch]:
    done, left = 0, iter(records)
    while some := list(islice(left, _ROWS)):
        rows = rows_of(some, schema, done)
        done += len(rows)
        yield rows


def _from_lines(file: IO[Any], schema: Schema) -> Iterator[Batch]:
    """One JSON object a line; empty lines are passed over."""
    return _from_rows(_objects(file), schema)


def _objects(file: IO[Any]) -> Iterator[Mapping[str, Any]]:
    number = 0
    try:
        for line in file:
            text = line.strip()
            if not text:
                continue
            number += 1
            try:
                record = json.loads(text, parse_float=_float)
            except (ValueError, RecursionError):
                required = "one JSON object on one line"
                raise BadRecord(number, None, required, "text that is not valid JSON") from None
            yield record
    except UnicodeDecodeError:  # a file that was opened as text; how far it was read ahead is open
        raise BadRecord(None, None, "text in UTF-8", "not") from None


def _float(text: str) -> float | Decimal:
    """What is beyond a float is no float, rather than infinite: infinity is a missing value."""
    value = float(text)
    return value if math.isfinite(value) else Decimal(text)


def _kind_of(path: Path, format: str | None) -> str:
    if not path.is_file():
        raise InvalidInput("the records", "a file that is there", str(path))
    if format is not None:
        if format not in FORMATS:
            raise InvalidInput("format", f"one of {', '.join(FORMATS)}", format)
        return format
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        required = f"a file named {', '.join(f'*{suffix}' for suffix in _KINDS)}"
        raise InvalidInput("the records", required, str(path), "or say its format")
    return kind


def _separator(kind: str) -> str:
    return "\t" if kind == "tsv" else ","


def _unreadable(path: Path, kind: str) -> InvalidInput:
    """Without the reader's own message, which may repeat what a record holds."""
    what = {"csv": "lines of as many fields as the first", "tsv": "lines of as many fields"}
    required = f"a {kind} file that can be read ({what.get(kind, 'whole and valid')}, in UTF-8)"
    return InvalidInput("the records", required, str(path))


def as_frame(batch: Batch, schema: Schema) -> pl.DataFrame:
    """A batch as a frame."""
    return batch if isinstance(batch, pl.DataFrame) else frame_of(batch, schema)
