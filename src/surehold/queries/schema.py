"""The columns of a dataset, their types and, where they are declared, their categories."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from surehold.errors import InvalidInput
from surehold.formatting import shorten

_MOST_COLUMNS = 4096
# No surrogates either: they have no UTF-8.
_NAME = re.compile(r"[^\x00-\x1f\x7f\"\ud800-\udfff]{1,128}")

Category: TypeAlias = str | int

MOST_CATEGORIES = 19_999
"""As many cells as can be asked about at once, without the one for all others."""
_LONGEST_TYPE = 1_000_000
_LONGEST_TEXT = 1_000  # bytes: what a literal of the language can be
_LARGEST_WHOLE = 2**53  # below it no two integers are read as the same number

_ID = " id"  # what follows the type of the column that identifies records
_SYNONYMS = {"datetime": "timestamp"}

_DECLARED = re.compile(r"\s*(int|str)\s+in\s*\((.*)\)\s*", re.DOTALL)
_CATEGORY = re.compile(r"\s*(?:'((?:[^']|'')*)'|(-?[0-9]{1,16}))\s*(,|\Z)")


class ColumnType(StrEnum):
    """What a column holds. Every column may have missing values."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"
    DATE = "date"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class Schema:
    """Names and types, in order.

    A column of texts or integers may declare its categories, which are then the cells of a
    histogram. They bind no record: one with another value is counted with all others.

    One column may be the ``id`` of the records: it is never missing, and no two records have the
    same. Its type says so, so that the id is wherever the columns are.

    >>> Schema.of({"age": "int", "city": "str"})["age"].value
    'int'
    >>> Schema.of({"country": "str in ('NO','SE')"}).to_dict()
    {'country': "str in ('NO', 'SE')"}
    >>> Schema.of({"user": "int", "age": "int"}, id="user").to_dict()
    {'user': 'int id', 'age': 'int'}
    """

    columns: tuple[tuple[str, ColumnType], ...]
    declared: tuple[tuple[str, tuple[Category, ...]], ...] = ()
    id: str | None = None

    @classmethod
    def of(cls, columns: object, id: object = None) -> Schema:
        """Check what a user gave."""
        if not isinstance(columns, Mapping) or not 1 <= len(columns) <= _MOST_COLUMNS:
            required = f"a mapping of 1 to {_MOST_COLUMNS} names to types"
            raise InvalidInput("columns", required, columns)
        for name in columns:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                required = "text of 1 to 128 characters without quotes or control characters"
                raise InvalidInput("the name of a column", required, name)
        if id is not None and id not in columns:
            raise InvalidInput("the id", f"one of the columns: {', '.join(columns)}", id)
        types, declared, ids = [], [], []
        for name, given in columns.items():
            marked = isinstance(given, str) and given.endswith(_ID)
            kind, categories = _type_of(name, str(given)[: -len(_ID)] if marked else given)
            types.append((name, kind))
            if categories:
                declared.append((name, categories))
            if marked or name == id:
                _check_id(name, kind, categories)
                ids.append(name)
        if len(ids) > 1:
            raise InvalidInput("the id", "one column", ", ".join(ids))
        return cls(tuple(types), tuple(declared), ids[0] if ids else None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def __getitem__(self, name: str) -> ColumnType:
        return self._types[name]

    def __contains__(self, name: object) -> bool:
        return name in self._types

    @cached_property
    def _types(self) -> dict[str, ColumnType]:
        return dict(self.columns)

    def categories(self, name: str) -> tuple[Category, ...] | None:
        """Those that were declared for a column, in that order; None if none were."""
        return self._categories.get(name)

    @cached_property
    def _categories(self) -> dict[str, tuple[Category, ...]]:
        return dict(self.declared)

    def __iter__(self) -> Iterator[tuple[str, ColumnType]]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def to_dict(self) -> dict[str, str]:
        """As :meth:`of` reads it."""
        return {
            name: kind.value
            + _write_categories(self.categories(name))
            + (_ID if name == self.id else "")
            for name, kind in self.columns
        }


def _type_of(name: str, given: object) -> tuple[ColumnType, tuple[Category, ...]]:
    text = str(given)
    try:
        return ColumnType(_SYNONYMS.get(text, text)), ()
    except ValueError:
        pass
    what = f"the type of column {name!r}"
    match = _DECLARED.fullmatch(text) if len(text) <= _LONGEST_TYPE else None
    if match is None:
        required = f"one of {', '.join(ColumnType)}, or categories such as str in ('NO', 'SE')"
        raise InvalidInput(what, required, shorten(text) if isinstance(given, str) else given)
    kind = ColumnType(match[1])
    return kind, _categories(what, kind, match[2])


def _check_id(name: str, kind: ColumnType, categories: tuple[Category, ...]) -> None:
    """An id is compared for equality, which is exact for whole numbers and texts only."""
    if kind not in (ColumnType.INT, ColumnType.STR) or categories:
        got = "categories" if categories else kind.value
        required = "int or str, without categories: it identifies a record"
        raise InvalidInput(f"the type of the id {name!r}", required, got)


def _categories(what: str, kind: ColumnType, text: str) -> tuple[Category, ...]:
    """What stands between the brackets."""
    required = (
        f"{kind.value} in (...) with {'texts in single quotes' if kind == 'str' else 'integers'}"
    )
    found: dict[Category, None] = {}
    position, more = 0, True
    while more:
        match = _CATEGORY.match(text, position)
        if match is None or (match[1] is None) == (kind is ColumnType.STR):
            raise InvalidInput(what, f"{required}, each after a comma", shorten(text[position:]))
        category = int(match[2]) if match[1] is None else match[1].replace("''", "'")
        _check_category(what, category)
        if category in found:
            raise InvalidInput(what, f"{required}, each of them once", shorten(str(category)))
        found[category] = None
        position, more = match.end(), match[3] == ","
        if len(found) > MOST_CATEGORIES:
            raise InvalidInput(what, f"{required}, {MOST_CATEGORIES:,} at most", "more")
    return tuple(found)


def _check_category(what: str, category: Category) -> None:
    """A category has to be a literal of the language, so that it can be asked about by itself."""
    if isinstance(category, int):
        if not abs(category) < _LARGEST_WHOLE:
            raise InvalidInput(what, "int in (...) with integers below 2^53", category)
        return
    if any(map(is_hidden, category)) or len(category.encode()) > _LONGEST_TEXT:
        required = f"str in (...) with visible texts of up to {_LONGEST_TEXT:,} bytes"
        raise InvalidInput(what, required, shorten(category))


def is_hidden(character: str) -> bool:
    """A control, a format character (a bidi override, say), a surrogate or a separator."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _write_categories(categories: tuple[Category, ...] | None) -> str:
    if not categories:
        return ""
    doubled = (c if isinstance(c, int) else "'" + c.replace("'", "''") + "'" for c in categories)
    return f" in ({', '.join(map(str, doubled))})"
