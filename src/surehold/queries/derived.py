"""Derived queries: what follows from answers that are given, by arithmetic on their intervals.

All intervals of an analysis hold together, so whatever is worked out from them holds with them, at
no further cost. A ratio asked as one query would not: one record moves it by more than any charge
could pay for when its denominator is small.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.base import Query, ScalarQuery
from surehold.queries.expressions import Case, Expression, Number
from surehold.queries.normal_form import canonical
from surehold.queries.parser import Parser, join
from surehold.queries.statistical import (
    Statistical,
    build,
    check_bounds,
    check_length,
    check_literal,
    read_bounds,
)
from surehold.queries.writer import number, write

Side: TypeAlias = Literal["at_least", "at_most"]
Q = TypeVar("Q", bound=Query)


class Reading(NamedTuple):
    """One number of an answer: its value and where the population's lies; None if undetermined."""

    value: float | None
    interval: tuple[float, float] | None


UNDETERMINED = Reading(None, None)


class Derived(Query):
    """A query that is answered from the answers to its parts, all at one round."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Query, ...]:
        """What is asked."""

    @abstractmethod
    def derive(self, parts: Sequence[Sequence[Reading]]) -> Mapping[str, Any]:
        """What follows from the readings of each part, as the ledger keeps it."""


D = TypeVar("D", bound=Derived)


class DerivedNumber(Derived):
    """A derived query whose answer is one number with its interval."""

    low: float
    high: float

    @abstractmethod
    def estimate(self, parts: Sequence[Reading]) -> Reading:
        """The number, from one reading for each part."""

    def derive(self, parts: Sequence[Sequence[Reading]]) -> Mapping[str, Any]:
        found = self.estimate([reading for [reading] in parts])
        interval = None if found.interval is None else list(found.interval)
        return {
            "kind": "estimate",
            "value": found.value,
            "interval": interval,
            "range": [self.low, self.high],
        }


@dataclass(frozen=True, repr=False, eq=False)
class Rate(DerivedNumber):
    """A fraction or a mean among the records with a property.

    >>> rate("churned", given="plan = 'pro'").canonical
    "rate(churned, plan = 'pro')"
    """

    of: Statistical
    given: Expression
    text: str = field(compare=False)

    @property
    def low(self) -> float:  # type: ignore[override]  # read only
        return self.of.low

    @property
    def high(self) -> float:  # type: ignore[override]  # read only
        return self.of.high

    @cached_property
    def canonical(self) -> str:
        bounds = "" if self.of.kind == "fraction" else f", {number(self.low)}, {number(self.high)}"
        return f"rate({self.of.inner}, {canonical(self.given, counts_true=True)}{bounds})"

    @cached_property
    def parts(self) -> tuple[Query, ...]:
        """How many there are with both properties, or how much of it; and how many with one."""
        of, given = self.of, self.given
        if of.kind == "fraction":
            both = join("and", of.expression, given)
        else:
            both = Case(((given, of.expression),), Number(of.low, position=0), position=0)
        text = self.text
        return (
            check_readable(Statistical(of.kind, both, of.low, of.high, text), text),
            check_readable(Statistical("fraction", given, 0.0, 1.0, text), text),
        )

    def estimate(self, parts: Sequence[Reading]) -> Reading:
        amount, share = parts
        return quotient(above(amount, self.low), share, self.low, self.high)

    def __repr__(self) -> str:
        of, given, bounds = write(self.of.expression), write(self.given), ""
        if self.of.kind == "mean":
            bounds = f", low={number(self.low)}, high={number(self.high)}"
        return f"rate({of!r}, given={given!r}{bounds})"


def judge(side: str, limit: float, interval: tuple[float, float] | None) -> str:
    """Pass if the whole interval is on the right side, fail if none of it is.

    >>> judge("at_least", 0.8, (0.81, 0.84)), judge("at_most", 0.8, (0.81, 0.84))
    ('pass', 'fail')
    """
    if interval is None:
        return "undecided"
    low, high = interval
    if side == "at_most":
        low, high, limit = -high, -low, -limit
    return "pass" if low >= limit else "fail" if high < limit else "undecided"


@dataclass(frozen=True, repr=False, eq=False)
class Gate(Derived):
    """Whether a number is at least, or at most, so much: pass, fail or undecided."""

    query: ScalarQuery | DerivedNumber
    side: Side
    limit: float
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        return f"gate({self.query.canonical}, {self.side}, {number(self.limit)})"

    @property
    def parts(self) -> tuple[Query, ...]:
        return (self.query,)

    def derive(self, parts: Sequence[Sequence[Reading]]) -> Mapping[str, Any]:
        """Pass if the whole interval is on the right side, fail if none of it is."""
        [[reading]] = parts
        verdict = judge(self.side, self.limit, reading.interval)
        interval = None if reading.interval is None else list(reading.interval)
        return {
            "kind": "verdict",
            "verdict": verdict,
            "side": self.side,
            "limit": self.limit,
            "value": reading.value,
            "interval": interval,
        }

    def __repr__(self) -> str:
        return f"gate({self.query!r}, {self.side}={number(self.limit)})"


def rate(text: str, given: str, *, low: float | None = None, high: float | None = None) -> Rate:
    """The fraction of the records with a property, ``given``, that have another too.

    With ``low`` and ``high`` it is the mean of a number among them. Two answers and one interval,
    by exact arithmetic on the intervals of both; undetermined when there may be no such records.

    >>> rate("spend", given="plan = 'pro'", low=0, high=100)
    rate('spend', given="plan = 'pro'", low=0, high=100)
    """
    bounds = () if low is None and high is None else check_bounds(low, high)
    return build(read_rate, "rate", (text, given), bounds)


def gate(
    query: Query | str, *, at_least: float | None = None, at_most: float | None = None
) -> Gate:
    """Whether the population's value is at least, or at most, so much.

    >>> gate("churned", at_most=0.1)
    gate(fraction('churned'), at_most=0.1)
    """
    from surehold.queries.query_text import query_of

    if (at_least is None) == (at_most is None):
        raise InvalidInput("the gate", "given by one of at_least and at_most", (at_least, at_most))
    asked = query_of(query) if isinstance(query, str) else query
    if not isinstance(asked, ScalarQuery | DerivedNumber):
        raise InvalidInput("the query of a gate", "one whose answer is a single number", str(asked))
    side: Side = "at_least" if at_most is None else "at_most"
    limit = check_literal(side, at_least if at_most is None else at_most)
    return check_length(Gate(asked, side, limit, f"gate({asked.text}, {side}, {number(limit)})"))


def quotient(amount: Reading, share: Reading, low: float, high: float) -> Reading:
    """``low + amount / share``, on [low, high].

    ``amount`` is the mean over all records of what a number has above ``low``, 0 for those
    outside of the group, and ``share`` is the share of the group. Undetermined when the share may
    be zero. Every step is rounded outwards.
    """
    if amount.interval is None or share.interval is None or share.interval[0] <= 0.0:
        return UNDETERMINED
    least, most = amount.interval
    bottom = max(down(low + down(max(least, 0.0) / share.interval[1])), low)
    top = min(up(low + up(most / share.interval[0])), high)
    value = None
    if amount.value is not None and share.value is not None and share.value > 0.0:
        value = low + amount.value / share.value
    return between(bottom, top, value)


def between(bottom: float, top: float, value: float | None) -> Reading:
    """A value on its interval, in the middle if there is none; undetermined if that is empty."""
    if bottom > top:  # they contradict each other, which is as unlikely as beta
        return UNDETERMINED
    value = 0.5 * (bottom + top) if value is None else value
    return Reading(min(max(value, bottom), top), (bottom, top))


def above(reading: Reading, low: float) -> Reading:
    """What a reading has above ``low``, rounded outwards."""
    if low == 0.0 or reading.value is None or reading.interval is None:
        return reading
    least, most = reading.interval
    return Reading(reading.value - low, (down(least - low), up(most - low)))


def down(value: float) -> float:
    """The next double below."""
    return math.nextafter(value, -math.inf)


def up(value: float) -> float:
    """The next double above."""
    return math.nextafter(value, math.inf)


def read_rate(parser: Parser, name: str) -> Rate:
    """What follows ``rate(``: an expression, the condition and, for a mean, two bounds."""
    expression = parser.expression()
    if not parser.accept(","):
        parser.refuse("a rate needs a condition", "for instance rate(churned, plan = 'pro')")
    given = parser.expression()
    of = Statistical("fraction", expression, 0.0, 1.0, parser.text)
    if parser.at(","):
        bounds = read_bounds(parser, "rate(spend, plan = 'pro', 0, 100)")
        of = Statistical("mean", expression, *bounds, parser.text)
    return check_parts(Rate(of, given, parser.text))


def check_readable(part: Q, text: str) -> Q:
    """A part that was put together of what was written: a ledger has to read it back."""
    from surehold.queries.query_text import query_of

    try:
        query_of(part.canonical)
    except InvalidQuery as error:
        reason = f"together with what it needs, {error.reason}"
        raise InvalidQuery(reason, text, hint=error.hint) from None
    return part


def check_parts(query: D) -> D:
    """A query all of whose parts can be read back, or InvalidQuery."""
    assert query.parts
    return query


def read_limit(parser: Parser, query: Query) -> Gate:
    """What follows the query of a gate: ``, at_least, 0.8``."""
    if not isinstance(query, ScalarQuery | DerivedNumber):
        parser.refuse("a gate needs a query whose answer is a single number")
    parser.expect(",")
    side = parser.advance().value
    if side not in ("at_least", "at_most"):
        parser.refuse("a gate needs at_least or at_most", "gate(churned, at_most, 0.1)")
    parser.expect(",")
    limit = parser.number("the limit of a gate must be a plain number")
    return Gate(query, "at_least" if side == "at_least" else "at_most", limit, parser.text)
