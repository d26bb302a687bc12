"""Look up the columns and check the types; what comes out means something for every record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import repeat
from typing import NoReturn

from surehold.errors import InvalidQuery
from surehold.formatting import shorten
from surehold.queries import expressions as ex
from surehold.queries.branches import distribute
from surehold.queries.calls import hint_for_word
from surehold.queries.canonical import canonical
from surehold.queries.cost import cost, refuse_costly
from surehold.queries.expressions import SIGNATURES, TYPE_OF_COLUMN, Expression, Type
from surehold.queries.schema import ColumnType, Schema


def check_types(
    expression: Expression, schema: Schema, text: str, wanted: Type | None
) -> Expression:
    """The tree with every column and null given its type, as engines evaluate it.

    Of the wanted type or, if that is None, of any.

    >>> from surehold.queries.parser import parse
    >>> check_types(parse("age > 65"), Schema.of({"age": "int"}), "age > 65", Type.BOOLEAN).left
    Column(name='age', holds=<ColumnType.INT: 'int'>)
    """
    checker = _Checker(schema, text)
    found = checker.check(expression, wanted)
    if checker.reads_text:
        found = distribute(found)
    refuse_costly(cost(found), text)
    return found


_WANTED = {
    ex.Negate: Type.NUMBER,
    ex.Arithmetic: Type.NUMBER,
    ex.Not: Type.BOOLEAN,
    ex.Connective: Type.BOOLEAN,
    ex.TextTest: Type.TEXT,
}
"""What a node wants each of its parts to be; the others take any type, or are literals."""


class _Checker:
    """Goes down the tree; what a place wants gives a null its type."""

    def __init__(self, schema: Schema, text: str) -> None:
        self.columns = dict(schema.columns)
        self.text = text
        self.reads_text = False

    def refuse(self, reason: str, at: Expression, hint: str = "") -> NoReturn:
        raise InvalidQuery(reason, self.text, at.position, hint)

    def check(self, node: Expression, wanted: Type | None = None) -> Expression:
        found = self._check(node, wanted)
        self.reads_text = self.reads_text or found.type is Type.TEXT
        if wanted is not None and found.type is not wanted:
            reason = f"expected {_a(wanted)}, but {shorten(canonical(node))} is {_a(found.type)}"
            self.refuse(reason, node, _hint(wanted, found))
        return found

    def check_alike(self, nodes: Sequence[Expression], wanted: Type | None) -> list[Expression]:
        """Several nodes of one type: the wanted one, or that of the first which has one."""
        first = 0
        if wanted is None:
            named = (at for at, node in enumerate(nodes) if not isinstance(node, ex.Null))
            first = next(named, 0)
        # Typed once only: twice on every level would be exponential in the depth.
        telling = self.check(nodes[first], wanted)
        return [
            telling if at == first else self.check(node, telling.type)
            for at, node in enumerate(nodes)
        ]

    def _check(self, node: Expression, wanted: Type | None) -> Expression:
        match node:
            case ex.Column():
                return self._column(node)
            case ex.Compare():
                return self._compare(node)
            case ex.Number() | ex.Text() | ex.Truth():
                return node
            case ex.Null():
                return replace(node, given=wanted or Type.NUMBER)
            case ex.Case():
                return self._case(node, wanted)
            case ex.Choice(function, parts):
                kind = wanted if function == "coalesce" else Type.NUMBER
                return node.rebuild(tuple(self.check_alike(parts, kind)))
            case ex.In(_, values):
                wanted = Type.TEXT if isinstance(values[0], str) else Type.NUMBER
            case ex.Function(_, function):
                wanted = SIGNATURES[function][0]
            case _:
                wanted = _WANTED.get(type(node))
        # No generator: chains are long, and its frames would count against the recursion limit.
        return node.rebuild(tuple(map(self.check, node.children, repeat(wanted))))

    def _column(self, node: ex.Column) -> Expression:
        holds = self.columns.get(node.name)
        if holds is None:
            self.refuse(f"there is no column {node.name!r}", node, self._nearest(node))
        return ex.Column(node.name, holds, position=node.position)

    def _nearest(self, node: ex.Column) -> str:
        """What the user may have meant by a name that no column has."""
        is_quoted = self.text.startswith('"', node.position)
        known = "" if is_quoted else hint_for_word(node.name)
        if known:
            return known
        lowered = {name.lower(): name for name in reversed(self.columns)}
        near = get_close_matches(node.name.lower(), lowered, n=1)
        if is_quoted:
            also = f'; or did you mean the column "{lowered[near[0]]}"?' if near else ""
            return f"double quotes name a column; use single quotes for text: '{node.name}'{also}"
        if near:
            return f"did you mean {lowered[near[0]]!r}?"
        first = ", ".join(list(self.columns)[:10])
        more = ", ..." if len(self.columns) > 10 else ""
        return f"the columns are {first}{more}; text is written in single quotes: '{node.name}'"

    def _compare(self, node: ex.Compare) -> Expression:
        self._refuse_mixed(node.operator, node.left, node.right)
        self._refuse_mixed(node.operator, node.right, node.left)
        left, right = self.check_alike((node.left, node.right), None)
        if left.type is Type.BOOLEAN and node.operator not in ("=", "<>"):
            self.refuse("booleans have no order", node, "compare them with = or <>")
        return node.rebuild((left, right))

    def _refuse_mixed(self, operator: str, column: Expression, literal: Expression) -> None:
        """A column beside a literal of another type: the commonest slip, so with its own hint."""
        if not isinstance(column, ex.Column) or not isinstance(
            literal, ex.Number | ex.Text | ex.Truth
        ):
            return
        kind = self.columns.get(column.name)
        if kind is None or TYPE_OF_COLUMN[kind] is literal.type:
            return
        name, written = canonical(column), canonical(literal)
        if kind is ColumnType.BOOL:
            hint = f"write {name}, or not {name}"
        elif kind is ColumnType.STR:
            hint = f"to compare it as a number write cast({name} as number) {operator} {written}"
            if not isinstance(literal, ex.Number):
                hint = f"text is written in single quotes: '{written}'"
        else:
            hint = "numbers are written without quotes"
        reason = f"{name} is {_a(TYPE_OF_COLUMN[kind])}, but {written} is {_a(literal.type)}"
        self.refuse(reason, literal, hint)

    def _case(self, node: ex.Case, wanted: Type | None) -> Expression:
        conditions = [self.check(condition, Type.BOOLEAN) for condition, _ in node.branches]
        values = [value for _, value in node.branches]
        *values, otherwise = self.check_alike([*values, node.otherwise], wanted)
        return replace(
            node, branches=tuple(zip(conditions, values, strict=True)), otherwise=otherwise
        )


def _a(kind: Type) -> str:
    return kind.value if kind is Type.TEXT else f"a {kind.value}"


def _hint(wanted: Type, found: Expression) -> str:
    """How to come from one type to another."""
    if wanted is Type.NUMBER and isinstance(found, ex.Text):
        return "write numbers without quotes"
    if wanted is Type.NUMBER and found.type is Type.BOOLEAN:
        return "write cast(x as number), or ask for a fraction"
    if wanted is Type.NUMBER:
        return "write cast(x as number)"
    if wanted is Type.BOOLEAN and found.type is Type.NUMBER:
        return "compare it with something, as in x > 0, or ask for a mean"
    if wanted is Type.BOOLEAN:
        return "compare it with something, as in x = 'yes'"
    return "text is written in single quotes: 'Oslo'"
