"""Statistical queries: a fraction of the records, a mean of a bounded value, a difference of two.

They are inert: they know their text and its tree, no data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

from surehold.checks import check_number
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.base import NumberForm, Query, ScalarQuery
from surehold.queries.checker import check_types
from surehold.queries.expressions import LARGEST, Expression, Type
from surehold.queries.lexer import LONGEST_QUERY
from surehold.queries.measure import GRID_BITS, Contrast, Measure
from surehold.queries.normal_form import canonical
from surehold.queries.parser import Parser, parse
from surehold.queries.schema import Schema
from surehold.queries.writer import number, write

_NARROWEST = 1e-150

QueryKind = Literal["fraction", "mean"]
Q = TypeVar("Q", bound=Query)


@dataclass(frozen=True, repr=False, eq=False)
class Statistical(ScalarQuery):
    """A mean over records, of a number from ``low`` to ``high``.

    >>> from surehold.queries import query_of
    >>> query = fraction("Age>65 AND smoker")
    >>> query.canonical, query == query_of("fraction( Age > 65.0 and (smoker) )")
    ('fraction(Age > 65 and smoker)', True)
    """

    kind: QueryKind
    expression: Expression
    low: float
    high: float
    text: str = field(compare=False)

    @property
    def inner(self) -> str:
        """The canonical text of its expression."""
        return canonical(self.expression, counts_true=self.kind == "fraction")

    @cached_property
    def canonical(self) -> str:
        if self.kind == "fraction":
            return f"fraction({self.inner})"
        return f"mean({self.inner}, {number(self.low)}, {number(self.high)})"

    def measure(self, schema: Schema) -> Measure:
        """What it makes of a record with these columns.

        >>> fraction("age > limit").measure(Schema.of({"age": "int"}))
        Traceback (most recent call last):
        ...
        surehold.errors.InvalidQuery: invalid query: there is no column 'limit' at character 7 ...
        """
        is_fraction = self.kind == "fraction"
        wanted = Type.BOOLEAN if is_fraction else Type.NUMBER
        expression = check_types(self.expression, schema, self.text, wanted, is_fraction)
        bits = 0 if is_fraction else GRID_BITS
        return Measure(self.kind, expression, self.low, self.high, bits, self.canonical)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **super().to_dict(), "low": self.low, "high": self.high}

    def form(self, schema: Schema) -> NumberForm:
        """A mean: one record of t moves it by a share of 1/t of its range."""
        measure = self.measure(schema)
        span = self.high - self.low
        return NumberForm(self.canonical, measure, self.low, self.high, span, measure.bits)

    def __repr__(self) -> str:
        written = write(self.expression)
        if self.kind == "fraction":
            return f"fraction({written!r})"
        return f"mean({written!r}, low={number(self.low)}, high={number(self.high)})"


@dataclass(frozen=True, repr=False, eq=False)
class Difference(ScalarQuery):
    """How much larger one mean is than another of the same range, in one answer.

    >>> from surehold.queries import difference
    >>> difference("clicked and variant = 'B'", "clicked and variant = 'A'").high
    1.0
    """

    plus: Statistical
    minus: Statistical
    text: str = field(compare=False)

    @property
    def low(self) -> float:
        return self.minus.low - self.minus.high

    @property
    def high(self) -> float:
        return self.plus.high - self.plus.low

    @cached_property
    def canonical(self) -> str:
        return f"difference({_inside(self.plus)}, {_inside(self.minus)})"

    def form(self, schema: Schema) -> NumberForm:
        """A mean over records of a value from -range to range."""
        plus, minus = self.plus.measure(schema), self.minus.measure(schema)
        source = Contrast(plus, minus, plus.bits, self.canonical)
        span = self.high - self.low
        return NumberForm(self.canonical, source, self.low, self.high, span, plus.bits)

    def __repr__(self) -> str:
        return f"difference({_given(self.plus)}, {_given(self.minus)})"


def fraction(text: str) -> Statistical:
    """The fraction of records for which an expression is true.

    >>> fraction("age > 65 and city = 'Oslo'")
    fraction("age > 65 and city = 'Oslo'")
    """
    return check_length(Statistical("fraction", parse(text), 0.0, 1.0, text))


def mean(text: str, low: float, high: float) -> Statistical:
    """The mean of a number, cut off below ``low`` and above ``high``; a null counts as ``low``.

    >>> mean("weight / (height * height)", low=10, high=60)
    mean('weight / (height * height)', low=10, high=60)
    """
    bounds = check_bounds(low, high)
    return check_length(Statistical("mean", parse(text), *bounds, text))


def contrast(plus: Statistical, minus: Statistical, text: str) -> Difference:
    """The difference of two queries of one kind and range."""
    if (plus.kind, plus.low, plus.high) != (minus.kind, minus.low, minus.high):
        hint = "write both as means with the same low and high"
        raise InvalidQuery("a difference needs two means of the same range", text, hint=hint)
    return check_length(Difference(plus, minus, text))


def read_statistical(parser: Parser, kind: str) -> Statistical:
    """What follows the name ``fraction`` or ``mean``, up to the closing bracket."""
    expression = parser.expression()
    if kind == "fraction":
        return Statistical("fraction", expression, 0.0, 1.0, parser.text)
    return Statistical("mean", expression, *read_bounds(parser, "mean(bmi, 10, 60)"), parser.text)


def _inside(query: Statistical) -> str:
    """A part of a larger query: a fraction is its expression."""
    return query.inner if query.kind == "fraction" else query.canonical


def _given(query: Statistical) -> str:
    return repr(write(query.expression)) if query.kind == "fraction" else repr(query)


def build(
    read: Callable[[Parser, str], Q], name: str, parts: Sequence[str], bounds: Sequence[float] = ()
) -> Q:
    """Put the parts that a user gave together and read them, so that positions fit."""
    for part in parts:
        parse(part)  # by itself first, so that none can reach into the next
    written = ", ".join([*parts, *map(number, bounds)])
    return check_length(Parser(f"{name}({written})").brackets(read))


def check_length(query: Q) -> Q:
    """A query whose canonical text may be longer than its own, but can be read back."""
    length = len(query.canonical)
    if length > LONGEST_QUERY:
        reason = f"written out it is longer than {LONGEST_QUERY:,} characters ({length:,})"
        raise InvalidQuery(reason, query.text, hint="split it into several queries")
    return query


def read_bounds(parser: Parser, example: str) -> tuple[float, float]:
    """The two numbers after an expression, each after a comma."""
    start = parser.token.position
    bounds = []
    for which in ("low", "high"):
        if not parser.accept(","):
            parser.refuse("it needs two bounds, low and high", f"for instance {example}")
        bounds.append(parser.number(f"{which} must be a plain number"))
    try:
        return check_bounds(*bounds)
    except InvalidInput as error:
        raise InvalidQuery(str(error), parser.text, start) from error


def check_bounds(low: object, high: object) -> tuple[float, float]:
    """Both bounds, checked."""
    first, last = check_literal("low", low), check_literal("high", high)
    if not last - first >= _NARROWEST:
        required = f"above low = {number(first)} (by {_NARROWEST:g} or more)"
        raise InvalidInput("high", required, high)
    return first, last


def check_literal(name: str, given: object, what: str = "a number") -> float:
    """Return a number that a query may hold, and that can be read back."""
    required = f"{what} from {-LARGEST:g} to {LARGEST:g}"
    # Adding zero turns minus zero into zero.
    return check_number(name, given, required, lambda x: abs(x) <= LARGEST) + 0.0
