"""Files with one JSON object per line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import IO, Any

from surehold.data.frames import unknown_type
from surehold.errors import BadRecord
from surehold.queries import ColumnType, Schema
from surehold.queries.times import read_time


def objects(file: IO[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the object of each line; skip empty lines."""
    number = 0
    try:
        for line in file:
            text = line.strip()
            if not text:
                continue
            number += 1
            try:
                record = json.loads(text, parse_float=finite)
            except (ValueError, RecursionError):
                required = "one JSON object on one line"
                raise BadRecord(number, None, required, "text that is not valid JSON") from None
            yield record
    except UnicodeDecodeError:  # a file that was opened as text; how far it was read ahead is open
        raise BadRecord(None, None, "text in UTF-8", "not") from None


def finite(text: str) -> float | Decimal:
    """Parse a number; one beyond a float becomes a Decimal, which columns refuse."""
    value = float(text)
    return value if math.isfinite(value) else Decimal("Infinity")  # some are beyond Decimal too


def json_schema(records: Iterable[Any], given: Mapping[str, str] | None = None) -> Schema:
    """Infer columns and types from some records."""
    seen: dict[str, set[str]] = {}
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            raise BadRecord(number, None, "one JSON object on one line", "another value")
        for name, value in record.items():
            kinds = seen.setdefault(name, set())
            kinds |= set() if value is None else {_kind_of(value)}
    for name, kind in (given or {}).items():
        seen[name] = {kind}
    for name, kinds in seen.items():
        if name in (given or {}):
            continue
        if "str" in kinds or "timestamp" in kinds:
            kinds -= {"date", "timestamp"} if "str" in kinds else {"date"}
        if kinds == {"int", "float"}:
            kinds.remove("int")
        if len(kinds) != 1 or not kinds <= set(ColumnType):
            raise unknown_type(name, " and ".join(sorted(kinds)) or "missing")
    return Schema.of({name: kind for name, [kind] in seen.items()})


def _kind_of(value: Any) -> str:
    """Return the name of a value's type; ISO dates and timestamps are texts in JSON."""
    if isinstance(value, str) and read_time(value) is not None:
        return "date" if len(value) == len("2026-11-08") else "timestamp"
    return type(value).__name__
