"""The columns of a dataset and their types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from holdfast.errors import InvalidInput

_MOST_COLUMNS = 4096
# No surrogates either: they have no UTF-8.
_NAME = re.compile(r"[^\x00-\x1f\x7f\"\ud800-\udfff]{1,128}")


class ColumnType(StrEnum):
    """What a column holds. Every column may have missing values."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"


@dataclass(frozen=True)
class Schema:
    """Names and types, in order.

    >>> Schema.of({"age": "int", "city": "str"})["age"].value
    'int'
    """

    columns: tuple[tuple[str, ColumnType], ...]

    @classmethod
    def of(cls, columns: object) -> Schema:
        """Check what a user gave."""
        if not isinstance(columns, Mapping) or not 1 <= len(columns) <= _MOST_COLUMNS:
            required = f"a mapping of 1 to {_MOST_COLUMNS} names to types"
            raise InvalidInput("columns", required, columns)
        for name in columns:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                required = "text of 1 to 128 characters without quotes or control characters"
                raise InvalidInput("the name of a column", required, name)
        return cls(tuple((name, _type_of(name, given)) for name, given in columns.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names alone."""
        return tuple(name for name, _ in self.columns)

    def __getitem__(self, name: str) -> ColumnType:
        return self._types[name]

    def __contains__(self, name: object) -> bool:
        return name in self._types

    @cached_property
    def _types(self) -> dict[str, ColumnType]:
        return dict(self.columns)

    def __iter__(self) -> Iterator[tuple[str, ColumnType]]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def to_dict(self) -> dict[str, str]:
        """As :meth:`of` reads it."""
        return {name: kind.value for name, kind in self.columns}


def _type_of(name: str, given: object) -> ColumnType:
    try:
        return ColumnType(str(given))
    except ValueError:
        required = ", ".join(ColumnType)
        raise InvalidInput(f"the type of column {name!r}", f"one of {required}", given) from None
