"""The first lines of a CSV file: what separates its fields, and whether names come first."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from surehold.data.file_formats import DELIMITERS, Dialect, open_bytes
from surehold.errors import BadRecord, InvalidInput
from surehold.formatting import shorten
from surehold.queries import Schema

_HEAD = 1 << 20  # bytes
_LINES = 50
_SHOWN = 8  # names of columns in a message
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_COMMA = re.compile(r"\d,\d")
_EXCEL = re.compile(r"\"?sep=.?\"?", re.IGNORECASE)
_DATE = re.compile(r"\s*(\d{4}-\d\d?-\d\d?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})\b.*")


def check_header(path: Path, dialect: Dialect, schema: Schema | None = None) -> None:
    """Refuse a first line that does not name each column once or, given some, names others.

    Messages repeat no field: without a header, the first line is a record.
    """
    head = read_head(path)
    header = next(iter(_rows(head, dialect.separator, 1)), [])
    _check_separator(path, head, header, dialect)
    if schema is not None:
        _check_known(path, header, schema)
    for at, name in enumerate(header, start=1):
        if not name.strip() and len(header) > 1 and not (schema is not None and name in schema):
            hint = "pandas writes its index so: use to_csv(..., index=False)" if at == 1 else ""
            raise InvalidInput(f"the name of column {at:,}", "text", name, hint)
        if header.index(name) < at - 1:
            raise BadRecord(None, shorten(name), "there once", "there more than once")


def read_head(path: Path) -> str:
    """Return the beginning of a text file; refuse one whose first line is not UTF-8."""
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD)
    except OSError:
        required = "a file that can be read: whole, and compressed as its name says"
        raise InvalidInput("the file", required, str(path)) from None
    text = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode(head)
    line = text.partition("\n")[0]
    if "\x00" in line or any("\ud800" <= one <= "\udfff" for one in line):
        hint = "save it as CSV UTF-8, or convert it, for example with iconv"
        raise InvalidInput("the file", "text in UTF-8", str(path), hint)
    return text


def guess_separator(head: str) -> str | None:
    """Return what splits the first lines into equally many fields; None if nothing does.

    >>> guess_separator("a;b;c\\n1,5;2;x\\n2,5;3;y\\n")
    ';'
    """
    fields = {mark: _width(_rows(head, mark, _LINES)) for mark in DELIMITERS}
    best = max(fields, key=lambda mark: fields[mark])
    return best if fields[best] > 1 else None


def is_record(header: Sequence[str]) -> bool:
    """Check whether a first line has numbers or dates, as a record has and names seldom are."""
    return any(_NUMBER.fullmatch(name) or _DATE.fullmatch(name) for name in header)


def header_of(path: Path, dialect: Dialect) -> list[str]:
    """Return the fields of the first line."""
    return next(iter(_rows(read_head(path), dialect.separator, 1)), [])


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of fields of every row; 0 if they differ."""
    widths = {len(row) for row in rows}
    return widths.pop() if len(widths) == 1 else 0


def _rows(head: str, separator: str, most: int) -> list[list[str]]:
    """Return the first rows, without empty ones and without the last, which may be cut off."""
    lines = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    found: list[list[str]] = []
    try:
        found += islice((row for row in lines if row), most + 1)
    except csv.Error:  # a field beyond all measure, such as after a quote that is never closed
        return found[:most]
    return found[:most]


def _check_separator(path: Path, head: str, header: Sequence[str], dialect: Dialect) -> None:
    required = f"separated by {DELIMITERS[dialect.separator]}"
    if _EXCEL.fullmatch(head.partition("\n")[0].strip()):
        hint = "its first line only says what separates the fields: remove that line"
        raise InvalidInput("the file", "headed by the names of its columns", str(path), hint)
    other = guess_separator(head)
    if len(header) > 1 or other is None or other == dialect.separator:
        return
    mark = "tab" if other == "\t" else other
    hint = f"its fields are separated by {DELIMITERS[other]}: give --delimiter '{mark}'"
    if other != "," and _COMMA.search(head):
        hint += ", and --decimal ',' if its numbers have decimal commas"
    raise InvalidInput("the file", required, str(path), f"{hint} (delimiter='{mark}' in Python)")


def _check_known(path: Path, header: Sequence[str], schema: Schema) -> None:
    """Refuse a file without names, which would lack every column."""
    if not header or any(name in schema for name in header):
        return
    shown = ", ".join(schema.names[:_SHOWN]) + (", ..." if len(schema) > _SHOWN else "")
    seen = "looks like a record" if is_record(header) else "has none of them"
    hint = f"its first line {seen}: add a line with the names; nothing of this append was kept"
    required = f"headed by the names of the columns ({shown})"
    raise InvalidInput("the file", required, str(path), hint)
