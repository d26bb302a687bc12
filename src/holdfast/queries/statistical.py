"""Statistical queries: the fraction of records with a property, and the mean of a bounded value.

They are inert: they know their text and its tree, no data.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from holdfast.errors import InvalidInput, InvalidQuery
from holdfast.queries.canonical import canonical, number
from holdfast.queries.checker import checked
from holdfast.queries.expressions import LARGEST, Expression, Number, Type
from holdfast.queries.lexer import LONGEST_QUERY, Kind
from holdfast.queries.measure import GRID_BITS, Measure
from holdfast.queries.parser import Parser, parse
from holdfast.queries.schema import Schema

_NARROWEST = 1e-150

QueryKind = Literal["fraction", "mean"]


@dataclass(frozen=True, repr=False)
class Query:
    """A question about the population, answered by a number from ``low`` to ``high``.

    Two queries are equal if their canonical texts are; ``text`` is kept as it was written.

    >>> query = fraction("Age>65 AND smoker")
    >>> query.canonical, query == query_of("fraction( Age > 65.0 and (smoker) )")
    ('fraction(Age > 65 and smoker)', True)
    """

    kind: QueryKind
    expression: Expression
    low: float
    high: float
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        """One text for all spellings; :func:`query_of` reads it back."""
        written = canonical(self.expression)
        if self.kind == "fraction":
            return f"fraction({written})"
        return f"mean({written}, {number(self.low)}, {number(self.high)})"

    def measure(self, schema: Schema) -> Measure:
        """What it makes of a record with these columns.

        >>> fraction("age > limit").measure(Schema.of({"age": "int"}))
        Traceback (most recent call last):
        ...
        holdfast.errors.InvalidQuery: invalid query: there is no column 'limit' at character 7 ...
        """
        wanted = Type.BOOLEAN if self.kind == "fraction" else Type.NUMBER
        expression = checked(self.expression, schema, self.text, wanted)
        bits = 0 if self.kind == "fraction" else GRID_BITS
        return Measure(self.kind, expression, self.low, self.high, bits, self.canonical)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them."""
        return {
            "kind": self.kind,
            "text": self.text,
            "low": self.low,
            "high": self.high,
            "canonical": self.canonical,
        }

    def __str__(self) -> str:
        return self.canonical

    def __repr__(self) -> str:
        written = canonical(self.expression)
        if self.kind == "fraction":
            return f"fraction({written!r})"
        return f"mean({written!r}, low={number(self.low)}, high={number(self.high)})"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(self.canonical)}</code>"


def fraction(text: str) -> Query:
    """The fraction of records for which an expression is true.

    >>> fraction("age > 65 and city = 'Oslo'")
    fraction("age > 65 and city = 'Oslo'")
    """
    return _written(Query("fraction", parse(text), 0.0, 1.0, text))


def mean(text: str, low: float, high: float) -> Query:
    """The mean of a number, cut off below ``low`` and above ``high``; a null counts as ``low``.

    >>> mean("weight / (height * height)", low=10, high=60)
    mean('weight / (height * height)', low=10, high=60)
    """
    bounds = _bounds(low, high)
    return _written(Query("mean", parse(text), *bounds, text))


def query_of(text: str) -> Query:
    """A query as a command line has it: plain text is a fraction.

    >>> query_of("age > 65"), query_of("mean(bmi, 10, 60)")
    (fraction('age > 65'), mean('bmi', low=10, high=60))
    """
    if not isinstance(text, str):
        raise InvalidInput("the query", "text", text)
    return _query_of(text)


@lru_cache(maxsize=1024)
def _query_of(text: str) -> Query:
    """Queries are inert, and analysts ask the same ones again as the data grows."""
    parser = Parser(text)
    called = parser.token.kind is Kind.NAME and parser.following.value == "("
    kind = parser.token.value.lower() if called else ""
    if kind not in ("fraction", "mean"):
        expression = parser.expression()
        parser.finish()
        return _written(Query("fraction", expression, 0.0, 1.0, text))
    parser.advance()
    parser.expect("(")
    expression = parser.expression()
    if kind == "fraction":
        bounds = (0.0, 1.0)
    else:
        bounds = _written_bounds(parser)
    parser.expect(")")
    if parser.token.kind is not Kind.END:
        parser.refuse(f"{kind}(...) stands alone", "a query asks for one fraction or one mean")
    return _written(Query("fraction" if kind == "fraction" else "mean", expression, *bounds, text))


def _written(query: Query) -> Query:
    """A query whose canonical text may be longer than its own, but can be read back."""
    length = len(query.canonical)
    if length > LONGEST_QUERY:
        reason = f"written out it is longer than {LONGEST_QUERY:,} characters ({length:,})"
        raise InvalidQuery(reason, query.text, hint="split it into several queries")
    return query


def _written_bounds(parser: Parser) -> tuple[float, float]:
    """The two numbers after the expression of a mean."""
    start = parser.token.position
    bounds = []
    for which in ("low", "high"):
        if not parser.at(","):
            hint = "for instance mean(bmi, 10, 60)"
            parser.refuse("a mean needs two bounds, low and high", hint)
        parser.advance()
        at = parser.token.position
        bound = parser.expression()
        if not isinstance(bound, Number):
            parser.refuse(f"{which} must be a number, as it is", at=at)
        bounds.append(bound.value)
    try:
        return _bounds(*bounds)
    except InvalidInput as error:
        raise InvalidQuery(str(error), parser.text, start) from error


def _bounds(low: object, high: object) -> tuple[float, float]:
    """Both bounds, checked."""
    first, last = _bound("low", low), _bound("high", high)
    if not last - first >= _NARROWEST:
        required = f"above low = {number(first)} (by {_NARROWEST:g} or more)"
        raise InvalidInput("high", required, high)
    return first, last


def _bound(name: str, given: object) -> float:
    required = f"a number from {-LARGEST:g} to {LARGEST:g}"
    if isinstance(given, bool | str | bytes | None):
        raise InvalidInput(name, required, given)
    try:
        value = float(given)  # type: ignore[arg-type]  # what isn't a number raises
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(name, required, given) from None
    if not (math.isfinite(value) and abs(value) <= LARGEST):
        raise InvalidInput(name, required, given)
    return value + 0.0  # zero for minus zero
