"""Single records: plain Python values checked against the columns, and their text form.

Small appends never become a data frame: they are checked here and stored as JSON rows, whose hash
the ledger records. The hash is the same once they are in a segment.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

from surehold.errors import BadRecord
from surehold.queries import ColumnType, Schema
from surehold.queries.times import DAY, is_in_range, microseconds_of, read_time

Value: TypeAlias = int | float | bool | str | None
Row: TypeAlias = Sequence[Value]

LARGEST_INT = 2**63 - 1
_FINER = frozenset(f"datetime64[{unit}]" for unit in ("ns", "ps", "fs", "as"))
_PLAIN = frozenset({bool, int, float, str})
_JSON = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))

# What a column takes, in words.
REQUIRED = {
    ColumnType.INT: "a whole number of at most 64 bits",
    ColumnType.FLOAT: "a number",
    ColumnType.BOOL: "true or false",
    ColumnType.STR: "text (valid Unicode)",
    ColumnType.DATE: "a date such as 2026-11-08",
    ColumnType.TIMESTAMP: "a timestamp such as 2026-11-08T12:30:00Z",
}


def rows_of(records: Iterable[Any], schema: Schema, done: int = 0) -> list[Row]:
    """Check mappings of names to values. A missing name, None and NaN are missing values.

    ``done`` records of the same append came before.

    >>> rows_of([{"age": 71, "city": None}], Schema.of({"age": "int", "city": "str"}))
    [[71, None]]
    """
    columns, names = schema.columns, frozenset(schema.names)
    id_at = None if schema.id is None else schema.names.index(schema.id)
    rows: list[Row] = []
    for number, record in enumerate(records, start=done + 1):
        if not isinstance(record, Mapping):
            required = "a mapping of column names to values"
            raise BadRecord(number, None, required, f"a value of type {type(record).__name__}")
        row = [check_value(record.get(name), kind, number, name) for name, kind in columns]
        extra = next((name for name in record if name not in names), None)
        if extra is not None:
            raise BadRecord(number, str(extra), "left out", "not a column of this dataset")
        if id_at is not None and row[id_at] is None:
            raise missing_id(number, schema)
        rows.append(row)
    return rows


def check_value(value: Any, kind: ColumnType, record: int, column: str) -> Value:
    """Return one value as its column stores it, or raise BadRecord."""
    if value is None:
        return None
    if kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
        return _check_time(value, kind, record, column)
    value = _plain(value)
    if isinstance(value, bool):
        if kind is ColumnType.BOOL:
            return value
    elif isinstance(value, int):
        if kind is ColumnType.INT and -LARGEST_INT - 1 <= value <= LARGEST_INT:
            return value
        if kind is ColumnType.FLOAT:
            with contextlib.suppress(OverflowError):
                return float(value)
        if kind is ColumnType.BOOL and value in (0, 1):
            return bool(value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            if kind is not ColumnType.STR:
                return None
        elif kind is ColumnType.FLOAT:
            return value
        elif kind is ColumnType.INT and value.is_integer() and -(2.0**63) <= value < 2.0**63:
            return int(value)
        elif kind is ColumnType.BOOL and value in (0.0, 1.0):
            return bool(value)
    elif isinstance(value, str) and kind is ColumnType.STR and _is_unicode(value):
        return value
    given = "text" if type(value) is str else type(value).__name__
    raise BadRecord(record, column, REQUIRED[kind], f"of type {given}")


def missing_id(record: int, schema: Schema) -> BadRecord:
    """Return the error for a record without an id."""
    return BadRecord(record, schema.id, "there: it identifies the record", "missing")


def _check_time(value: Any, kind: ColumnType, record: int, column: str) -> int | None:
    """Return the days of a date, or the microseconds of a timestamp; a date is at midnight."""
    if str(getattr(value, "dtype", "")) in _FINER:
        # Which NumPy makes a number of; what is coarser may overflow, and Python's types do not.
        value = value.astype("datetime64[us]")
    value = _plain(value)
    if value is None or value != value:  # pandas' NaT, or NaN
        return None
    given = f"of type {type(value).__name__}"
    found = None
    if isinstance(value, str):
        found, given = read_time(value), "text that can't be read as one"
    elif isinstance(value, date):
        found, given = microseconds_of(value), "another time"
    if found is not None and is_in_range(found):
        days, of_day = divmod(found, DAY)
        if kind is ColumnType.TIMESTAMP:
            return found
        if not of_day:
            return days
    raise BadRecord(record, column, REQUIRED[kind], given)


def dump_rows(rows: Sequence[Row]) -> str:
    """Write rows as JSON text: one list per record, in the order of the columns."""
    return _JSON.encode(rows)


def load_rows(text: str) -> list[Row]:
    """Read what :func:`dump_rows` wrote."""
    rows: list[Row] = json.loads(text)
    return rows


def _plain(value: Any) -> Any:
    """Convert NumPy's scalars, and anything with a plain value, to Python's."""
    if type(value) in _PLAIN:
        return value
    # Subclasses (NumPy's float64 and str_ among them) would not be written as plain JSON.
    if isinstance(value, str):
        return str.__str__(value)  # what it holds, whatever it calls itself (an Enum, say)
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        return item()
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
