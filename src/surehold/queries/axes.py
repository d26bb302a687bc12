"""What records are sorted by: an expression, and cells that are declared, never discovered."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import NoReturn, TypeAlias

from surehold.errors import InvalidQuery
from surehold.formatting import shorten
from surehold.queries import expressions as ex
from surehold.queries.branches import distribute
from surehold.queries.checker import check_types, time_literal
from surehold.queries.expressions import TIMES, Expression, Type
from surehold.queries.lexer import Kind
from surehold.queries.normal_form import normal_form
from surehold.queries.parser import OPERAND, Parser
from surehold.queries.schema import Schema
from surehold.queries.times import DAY, write_time
from surehold.queries.writer import number, text, write

Literal: TypeAlias = ex.Number | ex.Text | ex.Truth | ex.Time

MOST_CELLS = 20_000
"""Cells of a query in all, "other" among them."""

OTHER = "other"
"""The last cell of every axis: what is in none of the others, missing values among them."""

BETWEEN_AXES = " | "
"""What stands between the labels of a crosstab's axes."""

_KNOWN = {"weekday": (1, 7), "month": (1, 12), "day": (1, 31), "hour": (0, 23)}
"""What functions of times can give: their cells, if no others are declared."""

_LAST_TIME = 2**53
"""Microseconds of cells and edges, from 1684 to 2255: an integer lies on the same side of each as
the double nearest to it."""

_BY_HAND = "country in ('NO', 'SE') or bins(age, 0, 18, 65)"


@dataclass(frozen=True)
class Axis:
    """An operand with declared ``values``, or with ``edges`` e0 < e1 < ... of numbers.

    A record is in the cell of a value if ``operand = value`` is true of it. Edges make the cells
    [e0, e1), [e1, e2), ..., the last one closed: [e, e']. Without either, the cells are those that
    the columns tell: :meth:`resolve` fills them in.

    Edges of times are microseconds or, for a column of dates, days: ``unit`` is how many
    microseconds one is, and 0 for numbers.

    >>> axis_of("bins(age, 0, 18, 65)").labels, axis_of("country in ('NO', 'other')").labels
    (('[0, 18)', '[18, 65]', 'other'), ('NO', "'other'", 'other'))
    >>> axis_of("bins(day, '2026-11-02' to '2026-11-16' by 7)").labels
    ('[2026-11-02, 2026-11-09)', '[2026-11-09, 2026-11-16]', 'other')
    """

    operand: Expression
    values: tuple[Literal, ...] = ()
    edges: tuple[float, ...] = ()
    unit: int = 0

    @property
    def is_declared(self) -> bool:
        return bool(self.values or self.edges)

    @property
    def size(self) -> int:
        """How many cells there are, "other" among them."""
        return (len(self.values) or len(self.edges) - 1) + 1

    @property
    def numbered(self) -> Axis:
        """The same cells of a checked axis, with numbers for times and for texts of no column."""
        if self.operand.type in TIMES:
            times = (value.value for value in self.values if isinstance(value, ex.Time))
            numbers = tuple(ex.Number(float(value)) for value in times)
            return replace(self, operand=ex.ToNumber(self.operand), values=numbers)
        texts = tuple(value.value for value in self.values if isinstance(value, ex.Text))
        if not texts or isinstance(self.operand, ex.Column):
            return self
        numbers = tuple(ex.Number(float(at)) for at in range(len(texts)))
        return Axis(distribute(ex.Position(self.operand, texts)), numbers)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return one label per cell, all different."""
        if self.edges:
            shown = [_write_edge(edge, self.unit) for edge in self.edges]
            bins = [f"[{low}, {high}" for low, high in pairwise(shown)]
            return (*(f"{one})" for one in bins[:-1]), f"{bins[-1]}]", OTHER)
        return (*map(_label, self.values), OTHER)

    @property
    def canonical(self) -> str:
        """One text for all spellings, which reads back as the same axis."""
        operand = normal_form(self.operand)
        written = write(operand)
        if self.edges:
            edges = _progression(self.edges, self.unit)
            if edges is None:
                edges = ", ".join(_quote_edge(edge, self.unit) for edge in self.edges)
            return f"bins({written}, {edges})"
        if self.values:
            # The same brackets as for the operand of an `in`.
            values = ", ".join(map(write, self.values))
            return f"{write(ex.In(operand, (0.0,))).removesuffix('(0)')}({values})"
        # In brackets a condition, without them an axis with declared cells.
        return f"({written})" if isinstance(operand, ex.In) else written

    def resolve(self, schema: Schema, text: str) -> Axis:
        """With every column looked up and its cells declared, or InvalidQuery."""
        if self.edges and self.unit:
            return self._resolve_edges(schema, text)
        if self.edges:
            return replace(self, operand=check_types(self.operand, schema, text, Type.NUMBER))
        if self.values and self.values[0].type is Type.TEXT:
            return self._resolve_texts(schema, text)
        if self.values:
            operand = check_types(self.operand, schema, text, self.values[0].type)
            return replace(self, operand=operand)
        operand = check_types(self.operand, schema, text, None)
        if isinstance(self.operand, ex.Function) and self.operand.function in _KNOWN:
            first, last = _KNOWN[self.operand.function]
            return Axis(operand, tuple(ex.Number(float(n)) for n in range(first, last + 1)))
        if operand.type is Type.BOOLEAN:
            return Axis(operand, (ex.Truth(True), ex.Truth(False)))
        categories = schema.categories(operand.name) if isinstance(operand, ex.Column) else None
        if categories is None:
            reason = f"the cells of {shorten(write(self.operand))} are not declared"
            hint = f"list them, as in {_BY_HAND}: they are never taken from the records"
            raise InvalidQuery(reason, text, self.operand.position, hint)
        literals = (ex.Text(c) if isinstance(c, str) else ex.Number(float(c)) for c in categories)
        return Axis(operand, tuple(literals))

    def _resolve_edges(self, schema: Schema, text: str) -> Axis:
        operand = check_types(self.operand, schema, text, None)
        if operand.type is Type.DATE and all(edge % DAY == 0 for edge in self.edges):
            return Axis(operand, edges=tuple(edge / DAY for edge in self.edges), unit=DAY)
        if operand.type is Type.DATE:
            reason = f"{shorten(write(self.operand))} is a date, which has no time of day"
            raise InvalidQuery(reason, text, self.operand.position, "leave times out of its edges")
        if operand.type is not Type.TIMESTAMP:
            check_types(self.operand, schema, text, Type.DATE)
        return replace(self, operand=operand)

    def _resolve_texts(self, schema: Schema, text: str) -> Axis:
        operand = check_types(self.operand, schema, text, None)
        if operand.type not in TIMES:
            return replace(self, operand=check_types(self.operand, schema, text, Type.TEXT))
        literals = [value for value in self.values if isinstance(value, ex.Text)]
        times = [time_literal(one.value, operand.type, text, one.position) for one in literals]
        for literal, time in zip(literals, times, strict=True):
            if abs(time) >= _LAST_TIME:
                reason = "cells of times must lie between the years 1700 and 2200"
                raise InvalidQuery(reason, text, literal.position)
        return Axis(operand, tuple(ex.Time(time, operand.type) for time in times))


def _label(value: Literal) -> str:
    """As it is or, where that could be mistaken for something else, as a literal in quotes."""
    if isinstance(value, ex.Time):
        return write(value).strip("'")
    if not isinstance(value, ex.Text):
        return write(value)
    plain = value.value
    mistakable = plain in ("", OTHER) or plain != plain.strip() or plain[0] == "'"
    return text(plain) if mistakable or BETWEEN_AXES.strip() in plain else plain


# ------------------------------------------------------------------------------ edges


def _write_edge(edge: float, unit: int) -> str:
    return write_time(int(edge) * unit) if unit else number(edge)


def _quote_edge(edge: float, unit: int) -> str:
    return text(_write_edge(edge, unit)) if unit else number(edge)


def _progression(edges: tuple[float, ...], unit: int) -> str | None:
    """``0 to 120 by 10``, for four edges or more that such a text gives exactly."""
    if len(edges) < 4:
        return None
    first, last, step = edges[0], edges[-1], float(_decimal(edges[1]) - _decimal(edges[0]))
    if (_decimal(last) - _decimal(first)) / _decimal(step) != len(edges) - 1:
        return None
    if _steps(first, last, step) != edges:
        return None
    if unit:
        step = step * unit / DAY
        if step * DAY != (edges[1] - edges[0]) * unit:
            return None
    return f"{_quote_edge(first, unit)} to {_quote_edge(last, unit)} by {number(step)}"


def _steps(first: float, last: float, step: float) -> tuple[float, ...]:
    """From one number to another in steps of a third, each rounded to a double once.

    >>> _steps(0.0, 0.3, 0.1)
    (0.0, 0.1, 0.2, 0.3)
    """
    low, width = _decimal(first), _decimal(step)
    count = int((_decimal(last) - low) / width)
    return tuple(float(low + i * width) for i in range(count + 1))


def _decimal(value: float) -> Fraction:
    """The decimal that a number is written as, not the double that it is."""
    return Fraction(number(value))


# ---------------------------------------------------------------------------- reading


def axis_of(given: str) -> Axis:
    """The axis that a text describes, all of it."""
    parser = Parser(given)
    axis = read_axis(parser)
    parser.finish()
    return axis


def read_axis(parser: Parser) -> Axis:
    """The axis that starts here: ``bins(x, ...)``, ``x in (...)`` or an expression."""
    token = parser.token
    if token.kind is Kind.NAME and token.value.lower() == "bins" and parser.following.value == "(":
        return _bins(parser)
    if not _is_listed(parser):
        return Axis(parser.expression())
    operand = parser.expression(OPERAND)
    parser.expect("in")
    return Axis(operand, read_values(parser))


def _is_listed(parser: Parser) -> bool:
    """Whether all up to the next comma is an operand, ``in`` and a list, looking ahead only.

    Lists of cells may be longer than those in expressions, which count against their size.
    """
    ahead = copy.copy(parser)
    try:
        ahead.expression(OPERAND)
    except InvalidQuery:
        return False
    if not ahead.accept("in"):
        return False
    while ahead.token.kind is not Kind.END and not ahead.at(")"):
        ahead.advance()
    return not ahead.accept(")") or ahead.token.kind is Kind.END or ahead.at(",", ")")


def read_values(parser: Parser) -> tuple[Literal, ...]:
    """The literals of a list, in brackets, all of one type and no two the same."""
    parser.expect("(")
    values: dict[Literal, None] = {}
    while not values or parser.accept(","):
        at = parser.token.position
        value = _value(parser)
        if values and next(iter(values)).type is not value.type:
            parser.refuse("cells must be all numbers, all texts or all truth values", at=at)
        if value in values:
            parser.refuse(f"the cell {shorten(write(value))} is declared twice", at=at)
        values[value] = None
    parser.expect(")")
    return tuple(values)


def _value(parser: Parser) -> Literal:
    start = parser.token.position
    if parser.at("true", "false"):
        return ex.Truth(parser.advance().value == "true", position=start)
    if parser.token.kind is Kind.TEXT:
        return ex.Text(parser.advance().value, position=start)
    if parser.at("null"):
        hint = "leave it out: missing values go into the last cell, 'other'"
        parser.refuse("null cannot be a cell", hint)
    return ex.Number(
        _number(parser, "cells must be plain numbers, texts, true or false"), position=start
    )


def _number(parser: Parser, reason: str) -> float:
    """A number with its sign; minus zero is zero."""
    sign = -1.0 if parser.accept("-") else 1.0
    if parser.token.kind is not Kind.NUMBER:
        parser.refuse(f"{reason}, but found {parser.token.shown}")
    return sign * float(parser.advance().value) + 0.0


def _bins(parser: Parser) -> Axis:
    start = parser.advance().position
    parser.expect("(")
    operand = parser.expression()
    if not parser.accept(","):
        parser.refuse("bins need their edges", "for instance bins(age, 0, 18, 65, 120)")
    at = parser.token.position
    is_time = parser.token.kind is Kind.TEXT
    read = _read_time if is_time else _read_number
    first = read(parser)
    if _accept_name(parser, "to"):
        edges = _read_steps(parser, first, read(parser), DAY if is_time else 1, at)
    else:
        edges = _read_edges(parser, first, read)
    if len(edges) < 2:
        parser.refuse("bins need two edges or more", "for instance bins(age, 0, 18)", start)
    parser.expect(")")
    return Axis(operand, edges=tuple(edges), unit=int(is_time))


def _read_number(parser: Parser) -> float:
    return _number(parser, "edges must be plain numbers, or dates in quotes")


def _read_time(parser: Parser) -> float:
    """The microseconds of an edge, which a double holds exactly."""
    token = parser.advance()
    if token.kind is not Kind.TEXT:
        parser.refuse("edges must be all numbers or all dates", at=token.position)
    found = time_literal(token.value, Type.TIMESTAMP, parser.text, token.position)
    if abs(found) >= _LAST_TIME:
        parser.refuse("edges must lie between the years 1700 and 2200", at=token.position)
    return float(found)


def _read_edges(parser: Parser, first: float, read: Callable[[Parser], float]) -> list[float]:
    edges = [first]
    while parser.accept(","):
        at = parser.token.position
        edges.append(read(parser))
        if not edges[-2] < edges[-1]:
            parser.refuse("edges must increase", at=at)
    return edges


def _read_steps(parser: Parser, first: float, last: float, unit: int, at: int) -> list[float]:
    example = "for instance bins(age, 0 to 120 by 10)"
    if unit > 1:
        example = "for instance bins(day, '2026-11-02' to '2026-11-30' by 7), in days"
    if not _accept_name(parser, "by"):
        parser.refuse(f"expected 'by' and a step, but found {parser.token.shown}", example)
    step = _number(parser, "steps must be plain numbers") * unit
    if unit > 1 and not step.is_integer():
        parser.refuse("a step must be a whole number of microseconds", example, at)
    reach = _decimal(last) - _decimal(first)
    if step <= 0 or reach <= 0 or reach % _decimal(step):
        parser.refuse("the last edge must be a whole number of steps above the first", example, at)
    bins = reach / _decimal(step)
    if bins >= MOST_CELLS:
        refuse_many(int(bins) + 1, parser.text)
    edges = _steps(first, last, step)
    if not all(low < high for low, high in pairwise(edges)):
        parser.refuse("the step is too small: neighbouring edges would be equal", at=at)
    return list(edges)


def _accept_name(parser: Parser, name: str) -> bool:
    """Words that mean something here only, so that columns may have them as names."""
    if parser.token.kind is not Kind.NAME or parser.token.value.lower() != name:
        return False
    parser.advance()
    return True


def refuse_many(count: int, text: str) -> NoReturn:
    """More cells than are answered at once."""
    # A crosstab, or a step, can come to a number that is longer than the text.
    shown = f"{count:,}" if count < 10**15 else "far more"
    reason = f"it has {shown} cells, and {MOST_CELLS:,} is the most"
    hint = "'other' counts for one on each axis; declare fewer cells, or ask in parts"
    raise InvalidQuery(reason, text, hint=hint)
