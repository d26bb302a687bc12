"""Checked expressions as Polars expressions, with the meaning of language.md.

Assumed of the frames (``data`` sees to it when records are appended): columns of type Int64,
Float64, Boolean, String, Date and Datetime in microseconds; no NaN and no infinity, but null in
their place. Were there one all the same, sums could differ from those of another engine; nothing
would raise, and no record would count for more than its range.

Each operand is printed once, so that printed expressions do not grow exponentially.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_

import polars as pl

from surehold.data.engines.polars_arrays import DTYPES
from surehold.data.engines.polars_bytes import Letters
from surehold.data.engines.polars_numbers import (
    arithmetic,
    choose,
    cut,
    number_of_truth,
    pick,
    root,
    saturate,
)
from surehold.data.engines.polars_text_functions import (
    code_points,
    compare,
    compare_columns,
    is_among,
    number_of_text,
    position,
    text_test,
)
from surehold.data.engines.polars_times import (
    calendar,
    date_of,
    elapsed,
    number_of_time,
    time_column,
)
from surehold.queries import ColumnType, Measure
from surehold.queries.expressions import (
    LARGEST,
    TIMES,
    Arithmetic,
    Case,
    Choice,
    Column,
    Compare,
    Connective,
    Elapsed,
    Expression,
    Function,
    In,
    IsNull,
    Negate,
    Not,
    Null,
    Number,
    Position,
    Text,
    TextTest,
    Time,
    ToNumber,
    Truth,
    Type,
)

_COMPARE: Mapping[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "=": eq,
    "<>": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EXACT_INTEGERS = 2.0**53
_FEW = 4


class PolarsPrinter:
    """Prints for one frame after another; it has no state."""

    def total(self, measure: Measure) -> pl.Expr:
        """Return the sum of a measure's integers."""
        if measure.bits == 0:
            # Unknown is null, which a sum passes over.
            return self.print_node(measure.expression).sum()
        value = cut(self._unsaturated(measure.expression), measure.low, measure.high)
        steps = ((value - measure.low) * measure.scale + 0.5).floor()
        return steps.cast(pl.Int64, strict=False).sum()

    def print_node(self, node: Expression) -> pl.Expr:
        """Return the value for each record: Float64 (finite), String or Boolean, or null.

        Dates and timestamps are Int64: days or microseconds.

        An expression that reads no column is evaluated here and printed as a literal, so that
        Polars never sees a part with one value where the others have one per record.
        """
        if node.columns or not node.children:
            return self._print_node(node)
        value = pl.select(self._print_node(node)).item()
        return pl.lit(value, dtype=DTYPES[node.type])

    def _print_node(self, node: Expression) -> pl.Expr:
        match node:
            case Number(value) | Text(value) | Truth(value) | Time(value):
                return pl.lit(value, dtype=DTYPES[node.type])
            case Null():
                return pl.lit(None, dtype=DTYPES[node.type])
            case Column():
                return self._column(node)
            case Negate(operand):
                return -self.print_node(operand)
            case Arithmetic():
                return self._arithmetic(node)
            case ToNumber(operand):
                if operand.type is Type.TEXT:
                    return number_of_text(_text_column(operand)[0])
                number = self.print_node(operand)
                if operand.type in TIMES:
                    return number_of_time(number)
                return number_of_truth(number) if operand.type is Type.BOOLEAN else number
            case Elapsed(_, left, right):
                return elapsed(self.print_node(left), self.print_node(right), left.type)
            case Compare():
                return self._compare(node)
            case In():
                return self._in(node)
            case Position(operand, values):
                return position(*_text_column(operand), values)
            case IsNull(operand):
                return self._unsaturated(operand).is_null()
            case Not(operand):
                return ~self.print_node(operand)
            case Connective(operator, parts):
                # Polars' & and | on nullable booleans are Kleene's.
                return reduce(and_ if operator == "and" else or_, map(self.print_node, parts))
            case TextTest(operand, function, value):
                column, case = _text_column(operand)
                return text_test(column, case, function, value)
            case Case() | Choice() if node.type is Type.TEXT:
                # Whose work depends on which is chosen: surehold.queries.branches.
                raise NotImplementedError("a choice among texts")
            case Case():
                return self._case(node)
            case Choice(operator, parts):
                return choose(operator, [self.print_node(part) for part in parts], node.type)
            case Function(operand, "length"):
                return code_points(_text_column(operand)[0])
            case Function(operand, "date"):
                return date_of(self.print_node(operand))
            case Function(operand, function) if operand.type in TIMES:
                return calendar(function, self.print_node(operand))
            case Function(operand, function):
                return _FUNCTIONS[function](self.print_node(operand))
            case _:
                raise NotImplementedError(type(node).__name__)

    def _arithmetic(self, node: Arithmetic) -> pl.Expr:
        """Print a whole tree of operators, each operand once."""
        numbers: dict[Expression, int] = {}
        steps: list[int | str] = []

        def follow(part: Expression) -> None:
            if isinstance(part, Arithmetic):
                follow(part.left)
                follow(part.right)
                steps.append(part.operator)
            else:
                steps.append(numbers.setdefault(part, len(numbers)))

        follow(node)
        return arithmetic(steps, [self.print_node(part) for part in numbers])

    def _column(self, node: Column) -> pl.Expr:
        if node.holds is ColumnType.FLOAT:
            return saturate(pl.col(node.name))
        return self._unsaturated(node)

    def _unsaturated(self, node: Expression) -> pl.Expr:
        """Print, but leave a column of floats unsaturated where the result is the same."""
        if not isinstance(node, Column):
            return self.print_node(node)
        column = pl.col(node.name)
        if node.holds is ColumnType.INT:
            return column.cast(pl.Float64)
        return time_column(node.name, node.type) if node.type in TIMES else column

    def _case(self, node: Case) -> pl.Expr:
        printed = self.print_node(node.otherwise)
        for condition, value in reversed(node.branches):
            when, then = self.print_node(condition), self.print_node(value)
            printed = pick(when, then, printed, node.type)
        return printed

    # -------------------------------------------------------------- comparisons

    def _compare(self, node: Compare) -> pl.Expr:
        operator, left, right = node.operator, node.left, node.right
        if not left.columns:
            # Also a must: Polars (2.1) makes one value of `literal < x` where x happens to be the
            # same for all records of a chunk, and one for each record of `x > literal`.
            operator, left, right = _MIRRORED[operator], right, left
        if left.type is Type.TEXT:
            return _compare_texts(operator, left, right)
        if isinstance(left, Column) and isinstance(right, Time):
            stored, dtype = _stored_times(left)
            return _COMPARE[operator](stored, pl.lit(right.value, dtype=dtype))
        if isinstance(left, Column) and isinstance(right, Number):
            return self._compare_column(operator, left, right.value)
        return _COMPARE[operator](self.print_node(left), self.print_node(right))

    def _compare_column(self, operator: str, column: Column, value: float) -> pl.Expr:
        """A column of numbers with a literal, in the column's own type if that is the same.

        *Floats.* For \\|c\\| < LARGEST, x and its saturation lie on the same side of c.

        *Integers.* Let d(x) be the double nearest to x, and \\|c\\| < 2^53. If \\|x\\| <= 2^53,
        d(x) = x; else \\|d(x)\\| >= 2^53 with x's sign, as d is monotone. So d(x) and x lie on the
        same side of c. And for whole x, x > c iff x > floor(c), x <= c iff x <= floor(c),
        x < c iff x < ceil(c), x >= c iff x >= ceil(c).
        """
        compare = _COMPARE[operator]
        if column.holds is ColumnType.INT and abs(value) < _EXACT_INTEGERS:
            whole = math.floor(value) if operator in (">", "<=") else math.ceil(value)
            if whole == value or operator not in ("=", "<>"):
                return compare(pl.col(column.name), pl.lit(whole))
        # Without its type, which the column's decides: naming it takes longer than all the rest.
        literal = pl.lit(value)
        if abs(value) < LARGEST:
            return compare(self._unsaturated(column), literal)
        return compare(self.print_node(column), literal)

    def _in(self, node: In) -> pl.Expr:
        operand = node.operand
        if operand.type is Type.TEXT:
            return is_among(*_text_column(operand), [str(value) for value in node.values])
        if operand.type in TIMES:
            if isinstance(operand, Column):
                printed, dtype = _stored_times(operand)
            else:
                printed, dtype = self.print_node(operand), DTYPES[operand.type]
            return printed.is_in(pl.Series(node.values, dtype=dtype).implode())
        numbers = [value for value in node.values if isinstance(value, float)]
        # As in _compare_column; a fraction or a huge number sends all of them to the doubles.
        whole = all(value.is_integer() and abs(value) < _EXACT_INTEGERS for value in numbers)
        if whole and isinstance(operand, Column) and operand.holds is ColumnType.INT:
            listed = pl.Series([int(value) for value in numbers], dtype=pl.Int64())
            return pl.col(operand.name).is_in(listed.implode())
        if isinstance(operand, Column) and len(numbers) <= _FEW:
            # Faster than is_in; the very definition of it, too.
            return reduce(or_, (self._compare_column("=", operand, value) for value in numbers))
        return self.print_node(operand).is_in(pl.Series(numbers, dtype=pl.Float64()).implode())


def _stored_times(column: Column) -> tuple[pl.Expr, pl.DataType]:
    """Return the integers of a column of times as they are stored, and their type."""
    dtype = pl.Int32() if column.type is Type.DATE else pl.Int64()
    return pl.col(column.name).to_physical(), dtype


# ------------------------------------------------------------------------------- texts


def _text_column(text: Expression) -> tuple[pl.Expr, Letters]:
    """Return a text column, and the case in which it is read."""
    match text:
        case Column(name):
            return pl.col(name), None
        case Function(Column(name), case):
            return pl.col(name), case
        case _:
            # Whose work depends on which is chosen: surehold.queries.branches.
            raise NotImplementedError("a text that is no column")


def _compare_texts(operator: str, left: Expression, right: Expression) -> pl.Expr:
    column, case = _text_column(left)
    if isinstance(right, Text):
        return compare(column, case, operator, right.value)
    return compare_columns(column, case, operator, *_text_column(right))


_FUNCTIONS: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {
    "abs": lambda number: number.abs(),
    "ceil": lambda number: number.ceil(),
    "floor": lambda number: number.floor(),
    "sqrt": root,
}
