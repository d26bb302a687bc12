"""The text of a tree, which is parsed to the same tree."""

from __future__ import annotations

from surehold.queries import expressions as ex
from surehold.queries.expressions import Expression, Type
from surehold.queries.lexer import BARE, WORDS
from surehold.queries.side_tables import QUALIFIER
from surehold.queries.times import DAY, write_time

# How tightly each kind binds; brackets go around what binds less tightly than its place asks.
_LEVEL = {"or": 1, "and": 2, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
_NOT, _COMPARE, _OPERAND, _UNARY, _PRIMARY = 3, 4, 5, 7, 8


def write(expression: Expression) -> str:
    """The text of an expression as it is, without redundant blanks and brackets.

    >>> from surehold.queries.parser import parse
    >>> write(parse("NOT((a)!=1.50) AND b  BETWEEN 1 and (2+c)*3"))
    'not a <> 1.5 and b >= 1 and b <= (2 + c) * 3'
    """
    return _print(expression)[0]


def number(value: float) -> str:
    """The shortest decimal that reads back as the same double, whole numbers without a point.

    >>> number(65.0), number(-0.1), number(1e20)
    ('65', '-0.1', '1e+20')
    """
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def name(column: str) -> str:
    """A column's name, in quotes only where it needs them; a side table's column after a dot."""
    source, is_qualified, rest = column.partition(QUALIFIER)
    if is_qualified:
        return f"{name(source)}.{name(rest)}"
    if BARE.fullmatch(column) and column.lower() not in WORDS:
        return column
    return f'"{column}"'


def text(value: str) -> str:
    """A text literal."""
    return "'" + value.replace("'", "''") + "'"


def _element(operand: Expression, value: float | str) -> str:
    """A value of a list; of a checked one, times are integers."""
    if isinstance(value, str):
        return text(value)
    is_time = type(value) is int
    return write(ex.Time(int(value), operand.type)) if is_time else number(value)


def _at(expression: Expression, level: int) -> str:
    """Printed where something has to bind at least this tightly."""
    written, binds = _print(expression)
    return written if binds >= level else f"({written})"


def _print(expression: Expression) -> tuple[str, int]:
    """The text and how tightly its outermost operator binds."""
    match expression:
        case ex.Number(value):
            # A sign binds like the unary minus, so that -1 is not mistaken for a primary.
            return number(value), _UNARY if value < 0 else _PRIMARY
        case ex.Column(column):
            return name(column), _PRIMARY
        case ex.Compare(operator, left, right):
            return f"{_at(left, _OPERAND)} {operator} {_at(right, _OPERAND)}", _COMPARE
        case ex.Connective(operator, parts):
            level = _LEVEL[operator]
            return f" {operator} ".join(_at(part, level + 1) for part in parts), level
        case ex.Text(value):
            return text(value), _PRIMARY
        case ex.Time(value, kind):
            return text(write_time(value * DAY if kind is Type.DATE else value)), _PRIMARY
        case ex.Truth(value):
            return "true" if value else "false", _PRIMARY
        case ex.Null():
            return "null", _PRIMARY
        case ex.Negate(operand):
            return f"-{_at(operand, _PRIMARY)}", _UNARY
        case ex.Arithmetic(operator, left, right) | ex.Elapsed(operator, left, right):
            level = _LEVEL[operator]
            return f"{_at(left, level)} {operator} {_at(right, level + 1)}", level
        case ex.In(operand, values):
            listed = ", ".join(_element(operand, value) for value in values)
            return f"{_at(operand, _OPERAND)} in ({listed})", _COMPARE
        case ex.IsNull(operand):
            return f"{_at(operand, _OPERAND)} is null", _COMPARE
        case ex.Not(operand):
            return f"not {_at(operand, _NOT)}", _NOT
        case ex.Case(branches, otherwise):
            whens = (f" when {write(c)} then {write(v)}" for c, v in branches)
            last = "" if isinstance(otherwise, ex.Null) else f" else {write(otherwise)}"
            return f"case{''.join(whens)}{last} end", _PRIMARY
        case ex.Choice(function, parts):
            return f"{function}({', '.join(map(write, parts))})", _PRIMARY
        case ex.Function(operand, function):
            return f"{function}({write(operand)})", _PRIMARY
        case ex.TextTest(operand, function, value):
            return f"{function}({write(operand)}, {text(value)})", _PRIMARY
        case ex.ToNumber(operand):
            return f"cast({write(operand)} as number)", _PRIMARY
        case _:
            raise NotImplementedError(type(expression).__name__)
