"""Side tables: columns that an ask brings along, a function of the record's id.

A column of a side table has two names, its table's and its own. As an analyst writes it the first
is an alias, ``p.answer``; in a question it is what the table holds: ``"table:HASH:str".answer``,
with the column's type, so that a ledger can be read without the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from surehold.errors import InvalidInput
from surehold.queries.schema import ColumnType, Schema

if TYPE_CHECKING:
    from surehold.queries.base import Query
    from surehold.queries.expressions import Column

T = TypeVar("T")

QUALIFIER = '"'
"""What stands between a table and its column inside of a name: a sign that no name has."""
_RESOLVED = re.compile(r"(table:[0-9a-f]{64}):([a-z_]+)")
_DOT = re.compile(r"\.[^0-9]")
_MENTION = f"{QUALIFIER}table:"
"""What the canonical text of every question about a side table has in it."""


@dataclass(frozen=True)
class SideTable:
    """What a question needs to know of a table: its hash, what people call it, its columns.

    ``reference`` is ``table:HASH``; ``id`` is the column that identifies records.
    """

    reference: str
    name: str
    id: str
    columns: Schema

    @classmethod
    def of(cls, noted: Mapping[str, Any], schema: Schema) -> SideTable:
        """The table of a name in the ledger of a dataset with these columns."""
        assert schema.id is not None
        columns = Schema.of(noted["columns"])
        return cls(str(noted["of"]), str(noted["name"]), schema.id, columns)

    def column(self, name: str) -> str:
        """The name of a column in a question; InvalidInput if there is none."""
        if name not in self.columns:
            required = f"one of its columns: {', '.join(self.columns.names[:10])}"
            raise InvalidInput(f"a column of the table {self.name!r}", required, name)
        return qualify(f"{self.reference}:{self.columns[name].value}", name)

    @cached_property
    def covering(self) -> str:
        """The column that is null for exactly the records that the table lacks."""
        return self.column(self.id)


def qualify(source: str, column: str) -> str:
    """The name of a column of a side table, as trees and engines have it."""
    return f"{source}{QUALIFIER}{column}"


def split(name: str) -> tuple[str, str]:
    """The reference ``table:HASH`` of a resolved name, and the column."""
    source, _, column = name.partition(QUALIFIER)
    return source.rpartition(":")[0], column


def type_in(name: str) -> ColumnType | None:
    """What a column holds, by its resolved name; None if it has only an alias."""
    match = _RESOLVED.fullmatch(name.partition(QUALIFIER)[0])
    if match is None or match[2] not in set(ColumnType):
        return None
    return ColumnType(match[2])


def may_name_table(query: Query) -> bool:
    """Whether a query may have a qualified name; if not, it has none.

    Such a name has a dot in it, which is not followed by a digit as in a number.
    """
    return _DOT.search(query.canonical) is not None


def mentions_table(canonical: str) -> bool:
    """Whether a canonical text may be about a side table; if not, it is not."""
    return _MENTION in canonical


def columns_in(part: object) -> Iterator[str]:
    """The names of all columns of side tables in a query, a form or a source, at any depth."""
    from surehold.queries.expressions import Expression

    if isinstance(part, Expression):
        yield from (name for name in part.columns if QUALIFIER in name)
    elif isinstance(part, tuple):
        for item in part:
            yield from columns_in(item)
    elif is_dataclass(part) and _is_ours(part):
        for field in fields(part):
            yield from columns_in(getattr(part, field.name))


def resolve(query: T, find: Callable[[str], SideTable]) -> T:
    """The query with every alias replaced by what it stands for.

    ``find`` looks up an alias, a name or a reference, or raises InvalidInput.
    """

    def resolved(column: Column) -> Column:
        source, is_qualified, name = column.name.partition(QUALIFIER)
        if not is_qualified:
            return column
        match = _RESOLVED.fullmatch(source)
        table = find(match[1] if match else source)
        found = table.column(name)
        if match and found != column.name:
            required = f"of the type that the table says, {table.columns[name].value}"
            raise InvalidInput(f"the column {name!r} of {table.name!r}", required, match[2])
        return replace(column, name=found)

    rewritten: T = _rewrite(query, resolved)
    return rewritten


def _rewrite(part: Any, change: Callable[[Column], Column]) -> Any:
    """The same inert thing with every column changed."""
    from surehold.queries.expressions import Column

    if isinstance(part, Column):
        return change(part)
    if isinstance(part, tuple):
        items = [_rewrite(item, change) for item in part]
        same = all(new is old for new, old in zip(items, part, strict=True))
        return part if same else tuple(items)
    if not (is_dataclass(part) and _is_ours(part)):
        return part
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
    changed = {name: _rewrite(value, change) for name, value in values.items()}
    if all(changed[name] is value for name, value in values.items()):
        return part
    return replace(cast("Any", part), **changed)


def _is_ours(part: object) -> bool:
    """Whether something is a description of this package; models that it holds are not."""
    return type(part).__module__.startswith("surehold.queries.")


def show_names(text: str, names: Mapping[str, str]) -> str:
    """A canonical text with names of people's choosing in place of hashes.

    >>> show_names("fraction(a)", {})
    'fraction(a)'
    """
    from surehold.queries.writer import name as written

    for reference, name in names.items():
        for kind in ("", *(f":{kind.value}" for kind in ColumnType)):
            text = text.replace(f'"{reference}{kind}"', written(name))
        text = text.replace(f"'{reference}'", f"'{name}'")
    return text
