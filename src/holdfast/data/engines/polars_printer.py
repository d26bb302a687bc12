"""Checked expressions as Polars expressions, with the meaning of language.md.

Assumed of the frames (``data`` sees to it when records are appended): columns of type Int64,
Float64, Boolean and String; no NaN and no infinity, but null in their place. Were
there one all the same, sums could differ from those of another engine; nothing would raise, and
no record would count for more than its range.

Each operand is printed once (twice for ``%``, which an expression's size accounts for), so that
printed expressions do not grow exponentially.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.queries import ColumnType, Measure
from holdfast.queries.expressions import (
    LARGEST,
    SMALLEST,
    Arithmetic,
    Case,
    Choice,
    Column,
    Compare,
    Connective,
    Expression,
    Function,
    In,
    IsNull,
    Negate,
    Not,
    Null,
    Number,
    Text,
    TextTest,
    ToNumber,
    Truth,
    Type,
)

Floats: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]

_DTYPES: Mapping[Type, pl.DataType] = {
    Type.NUMBER: pl.Float64(),
    Type.TEXT: pl.String(),
    Type.BOOLEAN: pl.Boolean(),
}
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
_UPPER = [chr(code) for code in range(ord("A"), ord("Z") + 1)]
_LOWER = [letter.lower() for letter in _UPPER]
# language.md, "Casts": so few digits that no engine over- or underflows on reading them.
_NUMERAL = r"^([+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?)$"


class PolarsPrinter:
    """Prints for one frame after the other; it has no state."""

    def total(self, measure: Measure) -> pl.Expr:
        """The sum of a measure's integers."""
        if measure.bits == 0:
            # Unknown is null, which a sum passes over.
            return self.printed(measure.expression).sum()
        value = _cut(self._unsaturated(measure.expression), measure.low, measure.high)
        steps = ((value - measure.low) * measure.scale + 0.5).floor()
        return steps.cast(pl.Int64, strict=False).sum()

    def printed(self, node: Expression) -> pl.Expr:
        """The value for each record: Float64 (finite), String or Boolean, or null.

        What reads no column is worked out here and printed as a literal, so that Polars never
        meets a part with one value where the others have one for each record.
        """
        if node.columns or not node.children:
            return self._printed(node)
        value = pl.select(self._printed(node)).item()
        return pl.lit(value, dtype=_DTYPES[node.type])

    def _printed(self, node: Expression) -> pl.Expr:
        match node:
            case Number(value) | Text(value) | Truth(value):
                return pl.lit(value, dtype=_DTYPES[node.type])
            case Null():
                return pl.lit(None, dtype=_DTYPES[node.type])
            case Column():
                return self._column(node)
            case Negate(operand):
                return -self.printed(operand)
            case Arithmetic(operator, left, right):
                return _arithmetic(operator, self.printed(left), self.printed(right))
            case ToNumber(operand):
                return _to_number(operand.type, self.printed(operand))
            case Compare():
                return self._compare(node)
            case In():
                return self._in(node)
            case IsNull(operand):
                return self._unsaturated(operand).is_null()
            case Not(operand):
                return ~self.printed(operand)
            case Connective(operator, parts):
                # Polars' & and | on nullable booleans are Kleene's.
                return reduce(and_ if operator == "and" else or_, map(self.printed, parts))
            case TextTest(operand, function, value):
                return _text_test(function, self.printed(operand), value)
            case Case():
                return self._case(node)
            case Choice(operator, parts):
                return _CHOICES[operator]([self.printed(part) for part in parts])
            case Function(operand, function):
                return _FUNCTIONS[function](self.printed(operand))
            case _:
                raise NotImplementedError(type(node).__name__)

    def _column(self, node: Column) -> pl.Expr:
        if node.holds is ColumnType.FLOAT:
            return _saturated(pl.col(node.name))
        return self._unsaturated(node)

    def _unsaturated(self, node: Expression) -> pl.Expr:
        """As printed, but a column of floats as it is: for what gives the same either way."""
        if not isinstance(node, Column):
            return self.printed(node)
        column = pl.col(node.name)
        if node.holds is ColumnType.INT:
            return column.cast(pl.Float64)
        return column

    def _case(self, node: Case) -> pl.Expr:
        printed = self.printed(node.otherwise)
        for condition, value in reversed(node.branches):
            operands = [self.printed(condition), self.printed(value), printed]
            printed = _applied(_pick, operands, node.type)
        return printed

    # -------------------------------------------------------------- comparisons

    def _compare(self, node: Compare) -> pl.Expr:
        operator, left, right = node.operator, node.left, node.right
        if not left.columns:
            # Also a must: Polars (2.1) makes one value of `literal < x` where x happens to be the
            # same for all records of a chunk, and one for each record of `x > literal`.
            operator, left, right = _MIRRORED[operator], right, left
        if isinstance(left, Column) and isinstance(right, Number | Text):
            return self._compare_column(operator, left, right.value)
        return _COMPARE[operator](self.printed(left), self.printed(right))

    def _compare_column(self, operator: str, column: Column, value: float | str) -> pl.Expr:
        """A column with a literal: the common case, in the column's own type if that is the same.

        *Floats.* For \\|c\\| < LARGEST, x and its saturation lie on the same side of c.

        *Integers.* Let d(x) be the double nearest to x, and \\|c\\| < 2^53. If \\|x\\| <= 2^53,
        d(x) = x; else \\|d(x)\\| >= 2^53 with x's sign, as d is monotone. So d(x) and x lie on the
        same side of c. And for whole x, x > c iff x > floor(c), x <= c iff x <= floor(c),
        x < c iff x < ceil(c), x >= c iff x >= ceil(c).
        """
        compare = _COMPARE[operator]
        if isinstance(value, str):
            return compare(self.printed(column), pl.lit(value, dtype=pl.String()))
        if column.holds is ColumnType.INT and abs(value) < _EXACT_INTEGERS:
            whole = math.floor(value) if operator in (">", "<=") else math.ceil(value)
            if whole == value or operator not in ("=", "<>"):
                return compare(pl.col(column.name), pl.lit(whole))
        # Without its type, which the column's decides: naming it takes longer than all the rest.
        literal = pl.lit(value)
        if abs(value) < LARGEST:
            return compare(self._unsaturated(column), literal)
        return compare(self.printed(column), literal)

    def _in(self, node: In) -> pl.Expr:
        operand, values = node.operand, node.values
        if isinstance(operand, Column) and operand.holds is ColumnType.INT:
            # As in _compare_column; a fraction or a huge number sends all of them to the doubles.
            numbers = [value for value in values if isinstance(value, float)]
            if all(value.is_integer() and abs(value) < _EXACT_INTEGERS for value in numbers):
                listed = pl.Series([int(value) for value in numbers], dtype=pl.Int64())
                return pl.col(operand.name).is_in(listed.implode())
        if isinstance(operand, Column) and len(values) <= _FEW:
            # Several times as fast as is_in on texts; the very definition of it, too.
            equal = (self._compare_column("=", operand, value) for value in values)
            return reduce(or_, equal)
        kind = Type.TEXT if isinstance(values[0], str) else Type.NUMBER
        listed = pl.Series(values, dtype=_DTYPES[kind]).implode()
        return self.printed(operand).is_in(listed)


# ------------------------------------------------------------------ functions of series


def _applied(
    function: Callable[[Sequence[pl.Series]], pl.Series], operands: list[pl.Expr], kind: Type
) -> pl.Expr:
    """A function of whole columns, all of whose operands are evaluated first, whatever they hold.

    Where Polars' own expressions do not do: ``when`` skips a branch that no record of a chunk
    takes, so that its time would tell of the records; ``fill_nan`` repeats its operand, so that
    nested ones would grow exponentially; and for arithmetic see :func:`_computed`.
    """
    return pl.map_batches(operands, function, _DTYPES[kind], is_elementwise=True)


def _pick(operands: Sequence[pl.Series]) -> pl.Series:
    """The value where the condition is true, else the other one."""
    condition, value, other = operands
    return value.zip_with(condition.fill_null(False), other)


# ---------------------------------------------------------------------------- numbers


def _saturated(number: pl.Expr) -> pl.Expr:
    return _cut(number, -LARGEST, LARGEST)


def _cut(number: pl.Expr, low: float, high: float) -> pl.Expr:
    """As ``clip``, whose time depends on which values are null (measured: 15 to 35 ms)."""

    def cut(operands: Sequence[pl.Series]) -> pl.Series:
        [value] = operands
        return pl.select(
            pl.when(value > high).then(high).when(value < low).then(low).otherwise(value)
        ).to_series()

    return _applied(cut, [number], Type.NUMBER)


def _arithmetic(operator: str, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    if operator == "%":
        whole = _arithmetic("/", left, right).floor()
        return _arithmetic("-", left, _arithmetic("*", right, whole))
    return _applied(_UFUNCS[operator], [left, right], Type.NUMBER)


def _computed(function: Callable[..., Floats]) -> Callable[[Sequence[pl.Series]], pl.Series]:
    """A function of doubles as one of columns, in NumPy, which always does all of the work.

    Polars divides by a constant, or what happens to be one in a chunk, by multiplying with the
    reciprocal, which gives another last bit now and then (x / 10 in every third case); and whether
    a column has a null decides how it goes about it. Here the values and the nulls go separate
    ways, the same for every column, and no number is subnormal, which takes many times as long.
    """

    def computed(operands: Sequence[pl.Series]) -> pl.Series:
        values, known = zip(*map(_parts, operands), strict=True)
        with np.errstate(all="ignore"):
            found = np.clip(function(*values), -LARGEST, LARGEST)
        found = _kept(found, ~(np.abs(found) < SMALLEST))
        there = ~np.isnan(found) & reduce(np.logical_and, known)
        bits = np.packbits(there, bitorder="little")
        buffers = [pa.py_buffer(bits), pa.py_buffer(found)]
        column = pl.from_arrow(pa.Array.from_buffers(pa.float64(), found.size, buffers))
        assert isinstance(column, pl.Series)
        return column

    return computed


def _parts(column: pl.Series) -> tuple[Floats, Truths]:
    """The values of a column, zero where null, and where it is not null."""
    array = column.to_arrow()
    bits, data = array.buffers()
    first, stop = array.offset, array.offset + len(array)
    if bits is None:
        known = np.full(stop // 8 + 1, 255, np.uint8)
    else:
        known = np.frombuffer(bits, np.uint8)
    # As booleans without a copy: the bits are unpacked to bytes of 0 and 1.
    known = np.unpackbits(known, count=stop, bitorder="little")[first:].view(np.bool_)
    return _kept(np.frombuffer(data, np.float64)[first:stop], known), known


def _kept(values: Floats, wanted: Truths) -> Floats:
    """Zero where not wanted. By bits, as a choice takes longer where it often changes."""
    kept: Floats = (values.view(np.int64) & -wanted.astype(np.int64)).view(np.float64)
    return kept


def _quotient(x: Floats, y: Floats) -> Floats:
    """No number, all bits set, where the divisor is zero."""
    quotient: Floats = x / y
    undefined: Truths = y == 0.0
    found: Floats = (quotient.view(np.int64) | -undefined.astype(np.int64)).view(np.float64)
    return found


_UFUNCS = {
    "+": _computed(np.add),
    "-": _computed(np.subtract),
    "*": _computed(np.multiply),
    "/": _computed(_quotient),
}
_root = _computed(np.sqrt)


def _to_number(kind: Type, value: pl.Expr) -> pl.Expr:
    if kind is Type.TEXT:
        return value.str.extract(_NUMERAL, 1).cast(pl.Float64, strict=False)
    return value.cast(pl.Float64)


# ------------------------------------------------------------------------------- text


def _text_test(function: str, text: pl.Expr, value: str) -> pl.Expr:
    literal = pl.lit(value, dtype=pl.String())
    match function:
        case "starts_with":
            return text.str.starts_with(literal)
        case "ends_with":
            return text.str.ends_with(literal)
        case _:
            return text.str.contains(literal, literal=True)


_CHOICES: Mapping[str, Callable[[Sequence[pl.Expr]], pl.Expr]] = {
    "coalesce": pl.coalesce,
    "least": pl.min_horizontal,
    "greatest": pl.max_horizontal,
}
_FUNCTIONS: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {
    "abs": lambda number: number.abs(),
    "ceil": lambda number: number.ceil(),
    "floor": lambda number: number.floor(),
    "length": lambda text: text.str.len_chars().cast(pl.Float64),
    "lower": lambda text: text.str.replace_many(_UPPER, _LOWER),
    "sqrt": lambda number: _applied(_root, [number], Type.NUMBER),
    "upper": lambda text: text.str.replace_many(_LOWER, _UPPER),
}
