"""The tree of the expression language: what an expression about one record can be.

A parser builds it, a checker gives each column and each null its type, and one printer per engine
writes it down. The meaning of every node is fixed in language.md, not by an engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import is_
from typing import TYPE_CHECKING

from surehold.queries.schema import ColumnType

if TYPE_CHECKING:
    from functools import cached_property as once
else:

    class once:  # noqa: N801 (a decorator)
        """`cached_property` without the lock, which takes longer than parsing most queries."""

        def __init__(self, function):
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, node, owner=None):
            if node is None:
                return self
            value = self._function(node)
            object.__setattr__(node, self._name, value)
            return value


LARGEST = 1e150
"""Numbers saturate here, so that the product of any two is still a finite double."""


SMALLEST = 1e-150
"""Results of arithmetic that are smaller are zero, so that none is subnormal: on those every
processor takes many times as long, and the clock would tell how many records have them."""


LONGEST_READ = 256
"""Bytes of a column's text that are read, in UTF-8: as many first code points as fit. So no record
can make an answer take longer than a known time."""


class Type(StrEnum):
    """What an expression gives for a record; each type has a null besides its values."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


TIMES = frozenset((Type.DATE, Type.TIMESTAMP))
"""Types whose values are integers: days, or microseconds, since the start of 1970 in UTC."""


TYPE_OF_COLUMN = {
    ColumnType.INT: Type.NUMBER,
    ColumnType.FLOAT: Type.NUMBER,
    ColumnType.BOOL: Type.BOOLEAN,
    ColumnType.STR: Type.TEXT,
    ColumnType.DATE: Type.DATE,
    ColumnType.TIMESTAMP: Type.TIMESTAMP,
}


@dataclass(frozen=True)
class Expression:
    """One node; ``position`` is where it begins in the text, and no part of what it means."""

    position: int = field(default=0, kw_only=True, compare=False, repr=False)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The nodes right below, in the order of the text."""
        return ()

    @once
    def type(self) -> Type:
        """What it gives; asked of checked trees only."""
        raise NotImplementedError(type(self).__name__)

    @once
    def size(self) -> int:
        """How many nodes a printer writes at most, which is the work per record."""
        return 1 + self._size()

    @once
    def depth(self) -> int:
        """The longest way down, as a reader counts it: a chain such as a + b - c is one level.

        A linear model is such a chain, and may be as long as the size allows.
        """
        return max([1 + child.depth - self._continues(child) for child in self.children])

    def _continues(self, child: Expression) -> bool:
        """Whether a child is the earlier part of the same chain, written without brackets."""
        return False

    @once
    def columns(self) -> frozenset[str]:
        return frozenset().union(*[child.columns for child in self.children])

    def rebuild(self, children: tuple[Expression, ...]) -> Expression:
        """The same node over other children."""
        if all(map(is_, children, self.children)):
            return self
        return self._rebuild(children)

    def walk(self) -> Iterator[Expression]:
        yield self
        for child in self.children:
            yield from child.walk()

    def _rebuild(self, children: tuple[Expression, ...]) -> Expression:
        raise NotImplementedError(type(self).__name__)

    def _size(self) -> int:
        return sum([child.size for child in self.children])


@dataclass(frozen=True)
class _Leaf(Expression):
    """A node over no other."""

    size = 1
    depth = 1


@dataclass(frozen=True)
class _Unary(Expression):
    """A node over one other."""

    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def _rebuild(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, operand=children[0])


@dataclass(frozen=True)
class _Binary(Expression):
    """A node over two others."""

    operator: str
    left: Expression
    right: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def _rebuild(self, children: tuple[Expression, ...]) -> Expression:
        return type(self)(self.operator, *children, position=self.position)


@dataclass(frozen=True)
class _Many(Expression):
    """A node over two or more others."""

    operator: str
    parts: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.parts

    def _rebuild(self, children: tuple[Expression, ...]) -> Expression:
        return type(self)(self.operator, children, position=self.position)


# ---------------------------------------------------------------------------- leaves


@dataclass(frozen=True)
class Number(_Leaf):
    """A finite double, at most LARGEST either way; minus zero is zero."""

    type = Type.NUMBER
    value: float


@dataclass(frozen=True)
class Text(_Leaf):
    """A text literal."""

    type = Type.TEXT
    value: str


@dataclass(frozen=True)
class Truth(_Leaf):
    """true or false."""

    type = Type.BOOLEAN
    value: bool


@dataclass(frozen=True)
class Time(_Leaf):
    """A date or a timestamp, which the checker makes of a text literal beside one."""

    value: int
    given: Type

    @once
    def type(self) -> Type:
        return self.given


@dataclass(frozen=True)
class Null(_Leaf):
    """No value; of the type its place asks for, which the checker fills in."""

    given: Type | None = None

    @once
    def type(self) -> Type:
        return self.given or Type.NUMBER


@dataclass(frozen=True)
class Column(_Leaf):
    """The record's value in a column; the checker fills in what the column holds."""

    name: str
    holds: ColumnType | None = None

    @once
    def columns(self) -> frozenset[str]:
        return frozenset((self.name,))

    @once
    def type(self) -> Type:
        if self.holds is None:
            return super().type
        return TYPE_OF_COLUMN[self.holds]


# --------------------------------------------------------------------------- numbers


@dataclass(frozen=True)
class Negate(_Unary):
    """Minus a number."""

    type = Type.NUMBER


@dataclass(frozen=True)
class Arithmetic(_Binary):
    """``+ - * / %`` of two numbers."""

    type = Type.NUMBER

    def _continues(self, child: Expression) -> bool:
        return (
            child is self.left
            and isinstance(child, Arithmetic)
            and (child.operator in "+-") == (self.operator in "+-")
        )

    def _size(self) -> int:
        # x % y is written x - y * floor(x / y), so that a printer writes both twice.
        return (2 if self.operator == "%" else 1) * super()._size()


@dataclass(frozen=True)
class ToNumber(_Unary):
    """A text or a boolean as a number; null where the text is none.

    Only axes have that of a date, its days, or of a timestamp, the double nearest to its
    microseconds.
    """

    type = Type.NUMBER


@dataclass(frozen=True)
class Elapsed(_Binary):
    """The days from the second of two dates, or of two timestamps, to the first."""

    type = Type.NUMBER


# -------------------------------------------------------------------------- booleans


@dataclass(frozen=True)
class Compare(_Binary):
    """``= <> < <= > >=`` of two values of one type; only = and <> of booleans."""

    type = Type.BOOLEAN


@dataclass(frozen=True)
class In(_Unary):
    """Equal to one of some literals, all numbers or all texts; for times the checker makes ints."""

    type = Type.BOOLEAN
    values: tuple[float | str, ...]

    def _size(self) -> int:
        return super()._size() + len(self.values)


@dataclass(frozen=True)
class IsNull(_Unary):
    """Whether there is no value; itself never null."""

    type = Type.BOOLEAN


@dataclass(frozen=True)
class Not(_Unary):
    """Kleene's negation."""

    type = Type.BOOLEAN


@dataclass(frozen=True)
class Connective(_Many):
    """Kleene's ``and`` or ``or``; no part is the same connective again."""

    type = Type.BOOLEAN


@dataclass(frozen=True)
class TextTest(_Unary):
    """``starts_with``, ``ends_with`` or ``contains``, with a literal."""

    type = Type.BOOLEAN
    function: str
    value: str


@dataclass(frozen=True)
class Position(_Unary):
    """Which of some texts a text is, counted from 0; null if none. Only axes have it."""

    type = Type.NUMBER
    values: tuple[str, ...]


# --------------------------------------------------------------------------- any type


@dataclass(frozen=True)
class Case(Expression):
    """The value of the first branch whose condition is true. All branches are evaluated."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*(node for branch in self.branches for node in branch), self.otherwise)

    @once
    def type(self) -> Type:
        return self.otherwise.type


@dataclass(frozen=True)
class Choice(_Many):
    """``coalesce``, ``least`` or ``greatest``: one of its values that is not null."""

    @once
    def type(self) -> Type:
        return self.parts[0].type


@dataclass(frozen=True)
class Function(_Unary):
    """A function of one value; :data:`SIGNATURES` says of what it makes what."""

    function: str

    @once
    def type(self) -> Type:
        return SIGNATURES[self.function][1]


SIGNATURES = {
    "abs": (Type.NUMBER, Type.NUMBER),
    "ceil": (Type.NUMBER, Type.NUMBER),
    "date": (Type.DATE, Type.DATE),
    "day": (Type.DATE, Type.NUMBER),
    "floor": (Type.NUMBER, Type.NUMBER),
    "hour": (Type.TIMESTAMP, Type.NUMBER),
    "length": (Type.TEXT, Type.NUMBER),
    "lower": (Type.TEXT, Type.TEXT),
    "month": (Type.DATE, Type.NUMBER),
    "sqrt": (Type.NUMBER, Type.NUMBER),
    "upper": (Type.TEXT, Type.TEXT),
    "weekday": (Type.DATE, Type.NUMBER),
    "year": (Type.DATE, Type.NUMBER),
}
