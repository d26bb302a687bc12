"""What an expression costs: a public number, known before any record is looked at.

A unit is about a nanosecond of a processor's time for each record, if every text of a column has
as many bytes as are read at all (measured: benchmarks/bench_constant_time.py). The cost adds up
what each node does, of the tree that is evaluated (:mod:`surehold.queries.branches`), and depends
on the text of a query and the types of columns alone.
"""

from __future__ import annotations

from surehold.errors import InvalidQuery
from surehold.queries import expressions as ex
from surehold.queries.expressions import LONGEST_READ, Expression, Type
from surehold.queries.schema import ColumnType

LARGEST_COST = 4_000
"""Of a query, all of its expressions together."""

_INLINE, _PREFIX = 12, 4
_BROUGHT = 130
"""To bring the bytes of a column's texts together."""
_FUNCTIONS = {"sqrt": 12, "lower": 0, "upper": 0, "date": 8, "hour": 8, "weekday": 10}
_FUNCTIONS |= dict.fromkeys(("day", "month", "year"), 30)
_COLUMNS = {ColumnType.FLOAT: 5, ColumnType.STR: 0}


def cost(expression: Expression) -> int:
    """The cost of a checked expression.

    >>> from surehold.queries import Schema, fraction
    >>> schema = Schema.of({"age": "int", "city": "str"})
    >>> for text in ("age > 65", "age / 10 > 6", "city = 'Oslo'", "contains(city, 'slo')"):
    ...     print(cost(fraction(text).measure(schema).expression), text)
    3 age > 65
    11 age / 10 > 6
    3 city = 'Oslo'
    350 contains(city, 'slo')
    """
    known: dict[int, int] = {}

    def found(node: Expression) -> int:
        # A part that stands in many places is looked at once, and counted in each.
        units = known.get(id(node))
        if units is None:
            units = known[id(node)] = _own(node) + sum(map(found, node.children))
        return units

    return found(expression)


def refuse_costly(costs: int, text: str) -> None:
    """InvalidQuery if a query costs more than the most that is allowed."""
    if costs > LARGEST_COST:
        shown = f"{costs:,}" if costs < 10**15 else "far more"
        reason = f"it costs {shown}, and {LARGEST_COST:,} is the most"
        hint = "split it into several queries, or list texts after in: city in ('Oslo', 'Bergen')"
        raise InvalidQuery(reason, text, hint=f"{hint} (language.md, 'Cost')")


def _own(node: Expression) -> int:
    """What a node does by itself."""
    match node:
        case ex.Number() | ex.Time():
            return 0
        case ex.Column(_, holds):
            return _COLUMNS.get(holds or ColumnType.INT, 2)
        case ex.Connective(_, parts):
            return len(parts)
        case ex.Arithmetic(operator):
            return {"%": 20, "/": 8}.get(operator, 5)
        case ex.Compare(operator, left, right) if left.type is Type.TEXT:
            return _of_texts(operator, left, right)
        case ex.Compare(_, left, right):
            return 1 if any(isinstance(side, ex.Number | ex.Time) for side in (left, right)) else 3
        case ex.In(operand, values) if operand.type is Type.TEXT:
            return _of_table(operand, [str(value) for value in values])
        case ex.Position(operand, values):
            return _of_table(operand, values)
        case ex.In():
            return 20
        case ex.TextTest(operand, function, value):
            return _of_test(operand, function, len(value.encode()))
        case ex.Case(branches):
            return 10 * len(branches)
        case ex.Choice(_, parts):
            return 9 * len(parts)
        case ex.ToNumber(operand):
            return 800 if operand.type is Type.TEXT else 6
        case ex.Function(_, "length"):
            return 350
        case ex.Function(_, function):
            # The case of letters is counted with what reads them.
            return _FUNCTIONS.get(function, 3)
        case ex.Elapsed():
            return 8
        case _:
            return 1 if node.children else 0


def _of_texts(operator: str, left: Expression, right: Expression) -> int:
    literal = right if isinstance(right, ex.Text) else left
    if not isinstance(literal, ex.Text):
        return 1100 + _folds(left, LONGEST_READ) + _folds(right, LONGEST_READ)
    operand = left if literal is right else right
    if operator in ("=", "<>"):
        return _of_table(operand, [literal.value])
    width = min(len(literal.value.encode()), LONGEST_READ)
    return _BROUGHT + 3 * width // 2 + _folds(operand, width)


def _of_table(operand: Expression, values: list[str] | tuple[str, ...]) -> int:
    sizes = [len(value.encode()) for value in values]
    if max(sizes) <= _INLINE:
        if len(values) <= 4 and isinstance(operand, ex.Column):
            return 3 * len(values)
        return 35 + _folds(operand, 16)
    width = min(max(sizes), LONGEST_READ)
    return _BROUGHT + 3 * width + _folds(operand, width)


def _of_test(operand: Expression, function: str, width: int) -> int:
    if function == "contains":
        within = 40 * width if width <= LONGEST_READ else 0
        return 230 + within + _folds(operand, LONGEST_READ)
    if function == "starts_with" and width <= _PREFIX:
        return 15 + _folds(operand, width)
    return _BROUGHT + width + _folds(operand, width)


def _folds(operand: Expression, width: int) -> int:
    """To bring ``width`` bytes to lower or upper case."""
    return width if isinstance(operand, ex.Function) else 0
