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
from surehold.queries.cost import cost, refuse_costly
from surehold.queries.expressions import SIGNATURES, TIMES, TYPE_OF_COLUMN, Expression, Type
from surehold.queries.normal_form import normal_form
from surehold.queries.schema import ColumnType, Schema
from surehold.queries.side_tables import QUALIFIER, type_in
from surehold.queries.times import DAY, read_time, write_time
from surehold.queries.writer import write


def check_types(
    expression: Expression,
    schema: Schema,
    text: str,
    wanted: Type | None,
    counts_true: bool = False,
) -> Expression:
    """The tree with every column and null given its type, as engines evaluate it.

    Of the wanted type or, if that is None, of any. It is the normal form of what was written, so
    that the same question takes the same time however it is asked.

    >>> from surehold.queries.parser import parse
    >>> check_types(parse("age > 65"), Schema.of({"age": "int"}), "age > 65", Type.BOOLEAN).left
    Column(name='age', holds=<ColumnType.INT: 'int'>)
    """
    checker = _Checker(schema, text)
    found = normal_form(checker.check(expression, wanted), counts_true)
    if checker.reads_text:
        found = distribute(found)
    refuse_costly(cost(found), text)
    return found


def time_literal(value: str, kind: Type, text: str, position: int) -> int:
    """Return the days or microseconds of a text literal, or raise InvalidQuery.

    Each time has one spelling, so that a question has one text, whatever the columns are.

    >>> (
    ...     time_literal("1970-01-02", Type.DATE, "", 0),
    ...     time_literal("1970-01-02", Type.TIMESTAMP, "", 0),
    ... )
    (1, 86400000000)
    """
    found = read_time(value)
    if found is None:
        reason = f"{shorten(write(ex.Text(value)))} is not {_a(kind)}"
        hint = f"write {_EXAMPLES[kind]}"
    elif kind is Type.DATE and found % DAY:
        reason = f"'{value}' has a time of day, and a date has none"
        hint = f"write '{write_time(found // DAY * DAY)}'"
    elif value != write_time(found):
        reason = f"'{value}' is not the one spelling of that time: the shortest, in UTC"
        hint = f"write '{write_time(found)}'"
    else:
        return found // DAY if kind is Type.DATE else found
    raise InvalidQuery(reason, text, position, hint)


_EXAMPLES = {Type.DATE: "'2026-11-08'", Type.TIMESTAMP: "'2026-11-08' or '2026-11-08T12:30'"}
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
            reason = f"expected {_a(wanted)}, but {shorten(write(node))} is {_a(found.type)}"
            self.refuse(reason, node, _hint(wanted, found))
        return found

    def check_alike(self, nodes: Sequence[Expression], wanted: Type | None) -> list[Expression]:
        """Several nodes of one type: the wanted one, or that of the first which has one."""
        first = 0
        if wanted is None:
            # A text literal may be a date, if it is beside one.
            for silent in (ex.Null | ex.Text, ex.Null):
                named = (at for at, node in enumerate(nodes) if not isinstance(node, silent))
                first = next(named, 0)
                if not isinstance(nodes[first], silent):
                    break
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
            case ex.Text(value) if wanted in TIMES:
                found = time_literal(value, wanted, self.text, node.position)
                return ex.Time(found, wanted, position=node.position)
            case ex.Number() | ex.Text() | ex.Truth():
                return node
            case ex.Null():
                return replace(node, given=wanted or Type.NUMBER)
            case ex.Case():
                return self._case(node, wanted)
            case ex.Choice(function, parts):
                kind = wanted
                if function != "coalesce" and not any(map(self._is_time, parts)):
                    kind = Type.NUMBER
                return node.rebuild(tuple(self.check_alike(parts, kind)))
            case ex.Arithmetic("-", left, right) if self._is_time(left) or self._is_time(right):
                return ex.Elapsed("-", *self.check_alike((left, right), None))
            case ex.In(operand, values) if isinstance(values[0], str) and self._is_time(operand):
                return self._in_times(node)
            case ex.In(_, values):
                wanted = Type.TEXT if isinstance(values[0], str) else Type.NUMBER
            case ex.Function(operand, function) if SIGNATURES[function][0] is Type.DATE:
                return self._of_date(node)
            case ex.Function(_, function):
                wanted = SIGNATURES[function][0]
            case ex.ToNumber(operand) if self._is_time(operand):
                wanted = Type.NUMBER
            case _:
                wanted = _WANTED.get(type(node))
        # No generator: chains are long, and its frames would count against the recursion limit.
        return node.rebuild(tuple(map(self.check, node.children, repeat(wanted))))

    def _column(self, node: ex.Column) -> Expression:
        holds = self._type_of(node.name)
        if holds is None and QUALIFIER in node.name:
            self._refuse_table(node)
        if holds is None:
            self.refuse(f"there is no column {node.name!r}", node, self._nearest(node))
        return ex.Column(node.name, holds, position=node.position)

    def _type_of(self, name: str) -> ColumnType | None:
        """What a column holds; that of a side table says so by itself, once it is looked up."""
        return type_in(name) if QUALIFIER in name else self.columns.get(name)

    def _refuse_table(self, node: ex.Column) -> NoReturn:
        source, _, column = node.name.partition(QUALIFIER)
        hint = f'bring it with --with {source}=FILE, or tables={{"{source}": ...}} in Python'
        if (dotted := f"{source}.{column}") in self.columns:
            hint = f'the column with a dot in its name is written "{dotted}"'
        self.refuse(f"there is no side table {source!r}", node, hint)

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

    # ------------------------------------------------------------------- times

    def _is_time(self, node: Expression) -> bool:
        """Whether a node can be a date or a timestamp: a quick look, not a check."""
        match node:
            case ex.Column(name):
                kind = self.columns.get(name)
                return kind is not None and TYPE_OF_COLUMN[kind] in TIMES
            case ex.Function(_, function):
                return SIGNATURES[function][1] in TIMES
            case ex.Choice(_, parts):
                return any(map(self._is_time, parts))
            case ex.Case(branches, otherwise):
                return self._is_time(otherwise) or any(self._is_time(v) for _, v in branches)
            case _:
                return False

    def _in_times(self, node: ex.In) -> Expression:
        operand = self.check(node.operand)
        compared = (ex.Text(str(value), position=node.position) for value in node.values)
        for literal in compared:
            self._refuse_midnight("=", operand, node.operand, literal)
        values = (
            time_literal(str(value), operand.type, self.text, node.position)
            for value in node.values
        )
        return replace(node, operand=operand, values=tuple(values))

    def _of_date(self, node: ex.Function) -> Expression:
        """A function of a date, or of the date of a timestamp."""
        operand = self.check(node.operand)
        if operand.type is Type.TIMESTAMP:
            operand = ex.Function(operand, "date", position=node.position)
        elif operand.type is not Type.DATE:
            operand = self.check(node.operand, Type.DATE)
        return operand if node.function == "date" else replace(node, operand=operand)

    def _refuse_midnight(
        self, operator: str, time: Expression, written: Expression, literal: Expression
    ) -> None:
        """A timestamp equal to a date: true at midnight only, which nobody means."""
        if time.type is not Type.TIMESTAMP or operator not in ("=", "<>"):
            return
        if isinstance(literal, ex.Text) and len(literal.value) == len("2026-11-08"):
            name = shorten(write(written))
            reason = f"{name} is a timestamp, and equals a date at midnight only"
            self.refuse(reason, literal, f"write date({name}) {operator} {write(literal)}")

    # ------------------------------------------------------------- comparisons

    def _compare(self, node: ex.Compare) -> Expression:
        self._refuse_mixed(node.operator, node.left, node.right)
        self._refuse_mixed(node.operator, node.right, node.left)
        left, right = self.check_alike((node.left, node.right), None)
        if left.type is Type.BOOLEAN and node.operator not in ("=", "<>"):
            self.refuse("booleans have no order", node, "compare them with = or <>")
        self._refuse_midnight(node.operator, left, node.left, node.right)
        self._refuse_midnight(node.operator, right, node.right, node.left)
        return node.rebuild((left, right))

    def _refuse_mixed(self, operator: str, column: Expression, literal: Expression) -> None:
        """A column beside a literal of another type: the commonest slip, so with its own hint."""
        if not isinstance(column, ex.Column) or not isinstance(
            literal, ex.Number | ex.Text | ex.Truth
        ):
            return
        kind = self._type_of(column.name)
        if kind is None or TYPE_OF_COLUMN[kind] is literal.type:
            return
        if TYPE_OF_COLUMN[kind] in TIMES and isinstance(literal, ex.Text):
            return
        name, written = write(column), write(literal)
        if TYPE_OF_COLUMN[kind] in TIMES:
            hint = f"write {_EXAMPLES[TYPE_OF_COLUMN[kind]]}, in single quotes"
        elif kind is ColumnType.BOOL:
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
    if wanted is Type.DATE and found.type is Type.TIMESTAMP:
        return "write date(x)"
    if wanted is Type.TIMESTAMP and found.type is Type.DATE:
        return "write date(x) of the timestamp; a date has no time of day"
    if wanted in TIMES:
        return f"dates are written {_EXAMPLES[wanted]}, in single quotes"
    if found.type in TIMES:
        return "compare it, as in x >= '2026-11-08', or write year(x), or x - '2026-01-01' in days"
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
