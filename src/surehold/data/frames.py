"""Tables of records: Polars frames checked against the columns, one column at a time."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from surehold.data.engines.polars_arrays import STORED
from surehold.data.records import REQUIRED, Row, missing_id
from surehold.data.time_columns import build_times, count_microseconds, parse_times
from surehold.errors import BadRecord, InvalidInput
from surehold.queries import ColumnType, Schema

SAMPLE = 10_000
"""Records of a text file from which its types are inferred."""

_TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)
_TRUE, _FALSE = ("true", "1"), ("false", "0")
# What JavaScript and most database tools read and write as a number; no nan, inf or 0x.
_WHOLE = r"^[+-]?[0-9]+$"
_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def stored_schema(schema: Schema) -> dict[str, pl.DataType]:
    """Return the Polars types of the columns."""
    return {name: STORED[kind] for name, kind in schema}


def frame_of(rows: list[Row], schema: Schema) -> pl.DataFrame:
    """Return a frame of checked rows, which have integers for dates and timestamps."""
    stored = stored_schema(schema)
    times = {name: dtype for name, dtype in stored.items() if dtype.is_temporal()}
    if not times:
        return pl.DataFrame(rows, schema=stored, orient="row", strict=True)
    plain = stored | {name: _physical(dtype) for name, dtype in times.items()}
    return pl.DataFrame(rows, schema=plain, orient="row", strict=True).cast(times)  # type: ignore[arg-type]


def rows_from(frame: pl.DataFrame) -> list[Row]:
    """Return the rows that :func:`frame_of` makes the frame of."""
    times = {name: _physical(dtype) for name, dtype in frame.schema.items() if dtype.is_temporal()}
    return list(frame.cast(times).rows())  # type: ignore[arg-type]


def _physical(dtype: pl.DataType) -> pl.DataType:
    return pl.Int32() if dtype == pl.Date else pl.Int64()


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a copy without the texts of records that were left out.

    Polars shares the bytes of texts with the frame that they were taken from, and a file of a few
    records would hold all of them.
    """
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    copies = (frame[name].to_arrow(compat_level=pl.CompatLevel.oldest()) for name in texts)
    return frame.with_columns(pl.Series(*pair) for pair in zip(texts, copies, strict=True))


def cast_frame(frame: pl.DataFrame, schema: Schema, done: int = 0) -> pl.DataFrame:
    """Return the frame with exactly the columns and types of the schema, or raise BadRecord.

    ``done`` records of the same append came before. NaN and infinity become missing values.
    """
    given = frozenset(frame.columns)
    for name in schema.names:
        if name not in given:
            raise BadRecord(None, name, "there", "missing")
    names = frozenset(schema.names)
    for name in frame.columns:
        if name not in names:
            raise BadRecord(None, name, "left out", "not a column of this dataset")
    typed = pl.DataFrame([_typed_column(frame[name], kind, done) for name, kind in schema])
    if schema.id is not None and typed[schema.id].null_count():
        first = typed[schema.id].is_null().arg_max()
        assert first is not None
        raise missing_id(done + first + 1, schema)
    return typed


def schema_of(frame: pl.DataFrame, given: Mapping[str, str] | None = None) -> Schema:
    """Return the columns of a sample; one without values has no type, unless it is given."""
    columns = dict(given or {})
    for name, dtype in frame.schema.items():
        if name in columns:
            continue
        kind = _kind_of(dtype)
        if kind is None:
            raise unknown_type(name, dtype)
        columns[name] = kind.value
    return Schema.of({name: columns[name] for name in frame.columns})


def unknown_type(name: str, dtype: object) -> InvalidInput:
    """Return the error for a sample with a column of an unsupported type."""
    required = "int, float, bool, str, date or timestamp, which the sample must show"
    hint = f"give its type: --column {name}:TYPE, or in columns="
    return InvalidInput(f"the type of column {name!r}", required, str(dtype), hint)


def _kind_of(dtype: pl.DataType) -> ColumnType | None:
    if dtype.is_integer():
        return ColumnType.INT
    if dtype.is_float() or dtype.is_decimal():
        return ColumnType.FLOAT
    if dtype == pl.Boolean:
        return ColumnType.BOOL
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return ColumnType.STR
    if dtype == pl.Date:
        return ColumnType.DATE
    return ColumnType.TIMESTAMP if isinstance(dtype, pl.Datetime) else None


def _typed_column(column: pl.Series, kind: ColumnType, done: int) -> pl.Series:
    given = _kind_of(column.dtype)
    if column.dtype == pl.Null:
        return pl.Series(column.name, [None] * column.len(), dtype=STORED[kind])
    if given is None:
        raise BadRecord(done + 1, column.name, REQUIRED[kind], f"of type {column.dtype}")
    if kind in _TIMES:
        return _time_column(column, kind, done)
    if given is ColumnType.STR and kind is not ColumnType.STR:
        return _parse_texts(column.cast(pl.String), kind, done)
    if given is kind and kind in (ColumnType.BOOL, ColumnType.STR):
        return column.cast(STORED[kind])
    if given not in (ColumnType.INT, ColumnType.FLOAT) or kind is ColumnType.STR:
        raise BadRecord(done + 1, column.name, REQUIRED[kind], f"of type {given.value}")
    # A whole number, or zero and one, may come as a float: with missing values it often has to.
    missing = column.is_null()
    if given is ColumnType.FLOAT:
        column = column.cast(pl.Float64)
        if not column.is_finite().all():
            column = column.set(~column.is_finite(), None)
            missing = column.is_null()
    if kind is ColumnType.FLOAT:
        return column.cast(pl.Float64)
    if kind is ColumnType.INT:
        whole = column.cast(pl.Int64, strict=False)
        if given is ColumnType.FLOAT:
            whole = whole.set(whole.cast(pl.Float64) != column, None)
        _require(missing | whole.is_not_null(), column, kind, done)
        return whole
    _require(missing | (column == 0) | (column == 1), column, kind, done)
    return column.cast(pl.Boolean)


def _time_column(column: pl.Series, kind: ColumnType, done: int) -> pl.Series:
    """Read dates and timestamps, or ISO texts; a date may come as a timestamp at midnight."""
    given = _kind_of(column.dtype)
    if given is ColumnType.STR:
        text = column.cast(pl.String).str.strip_chars()
        column = text.set(text == "", None)
        found = parse_times(column)
    elif given in _TIMES:
        found = count_microseconds(column)
    else:
        assert given is not None
        raise BadRecord(done + 1, column.name, REQUIRED[kind], f"of type {given.value}")
    built = build_times(found, kind)
    _require(column.is_null() | built.is_not_null(), column, kind, done)
    return built.alias(column.name)


def _parse_texts(column: pl.Series, kind: ColumnType, done: int) -> pl.Series:
    """Parse text, for example from CSV, as numbers or booleans; blanks are stripped."""
    text = column.str.strip_chars()
    text = text.set(text == "", None)
    if kind is ColumnType.BOOL:
        lower = text.str.to_lowercase()
        yes, no = lower.is_in(_TRUE), lower.is_in(_FALSE)
        _require(text.is_null() | yes | no, column, kind, done)
        return yes
    unsaid = text.str.to_lowercase().str.contains(r"^[+-]?(nan|inf|infinity)$")
    text = text.set(unsaid.fill_null(value=False), None)
    whole = text.str.contains(_WHOLE)
    if kind is ColumnType.INT and whole.all():
        read = text.cast(pl.Int64, strict=False)
        fits = read.is_not_null()
    else:
        read = text.cast(pl.Float64, strict=False)
        fits = text.str.contains(_DECIMAL) & read.is_finite()
        if kind is ColumnType.INT:  # 71.0 is whole too: pandas writes it so beside missing values
            rounded = read.cast(pl.Int64, strict=False)
            fits &= whole | (rounded.cast(pl.Float64) == read)
            read = text.cast(pl.Int64, strict=False).zip_with(whole.fill_null(value=False), rounded)
            fits &= read.is_not_null()
    _require(text.is_null() | fits, column, kind, done)
    return read


def _require(fits: pl.Series, column: pl.Series, kind: ColumnType, done: int) -> None:
    fits = fits.fill_null(value=False)
    if not fits.all():
        first = fits.arg_min()
        assert first is not None
        given = "text that can't be read as one"
        if column.dtype != pl.String:
            given = "another time" if kind in _TIMES else "another number"
        raise BadRecord(done + first + 1, column.name, REQUIRED[kind], given)
