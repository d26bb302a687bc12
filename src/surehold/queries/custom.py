"""Statistics that the custodian wrote and registered, asked by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from surehold.checks import check_positive
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.base import NumberForm, ScalarQuery, Source
from surehold.queries.expressions import LARGEST, Text
from surehold.queries.lexer import BARE, LONGEST_NAME
from surehold.queries.parser import Parser
from surehold.queries.schema import Schema
from surehold.queries.statistical import check_bounds
from surehold.queries.writer import number, text

RESULT_BITS = 52
"""A width allows for a result that is off by 2^-52 of the range from low to high."""
ROOM = 1.0 + 2.0**-10
"""The declared sensitivity is taken to be so much larger, for what arithmetic rounds.

If a result is off by e, the sensitivity grows by 2 e. With ROOM that is covered while e is at most
2^-11 constant / t^power, so while it is at most 2^-11 (high - low) / t: a millionth of a millionth
of the range for 400 million records. Nothing else rounds: a unit is an exact ratio.
"""
MOST = 2**42
"""The most that t^power may be: up to there ROOM covers results that are doubles near 1."""
_EXAMPLE = "statistic('stability'), or statistic('stability', 2, 1, 0, 1) with its declaration"


class Declared(NamedTuple):
    """That one of t records moves a number from low to high by at most constant / t**power."""

    constant: float
    power: float
    low: float
    high: float

    @classmethod
    def of(cls, constant: object, power: object, low: object, high: object) -> Declared:
        """Check what the custodian gave.

        Replacing all t records, one by one, moves the statistic by at most constant * t**(1-power),
        which for t = 1 is the constant: its range can be no wider than that.
        """
        first, last = check_bounds(low, high)
        slope = check_positive("power", power, 1.0)
        largest = check_positive("constant", constant, LARGEST)
        if largest < last - first:
            required = f"at least high - low = {number(last - first)}"
            hint = "one record moves it over its whole range; give it a narrower one"
            raise InvalidInput("constant", required, constant, hint)
        return cls(largest, slope, first, last)


@dataclass(frozen=True)
class CustomMeasure(Source):
    """A registered statistic of a snapshot, as a unit from 0 to 1."""

    name: str
    declared: Declared
    canonical: str

    def check_round(self, t: int) -> None:
        """Refuse sizes at which rounding could move a result by more than is charged."""
        if float(t) ** self.declared.power > MOST:
            required = f"of t records with t^{number(self.declared.power)} up to {MOST:,}"
            raise InvalidInput(f"the round of {self.canonical}", required, t)

    @property
    def form(self) -> NumberForm:
        constant, power, low, high = self.declared
        return NumberForm(
            self.canonical,
            self,
            low,
            high,
            constant * ROOM,
            RESULT_BITS,
            needs="low-sensitivity",
            power=power,
        )


@dataclass(frozen=True, repr=False, eq=False)
class CustomStatistic(ScalarQuery):
    """A registered statistic; ``declared`` is None until the registration has been looked up.

    >>> from surehold.queries import query_of
    >>> asked = statistic("stability").resolve(Declared(2.0, 1.0, 0.0, 1.0))
    >>> asked.canonical, query_of(asked.canonical) == asked
    ("statistic('stability', 2, 1, 0, 1)", True)
    """

    name: str
    declared: Declared | None
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        return f"statistic({', '.join([text(self.name), *map(number, self.declared or ())])})"

    def resolve(self, declared: Declared) -> CustomStatistic:
        """As registered. What an analyst declares is no proof: it has to be the same."""
        if self.declared not in (None, declared):
            hint = f"leave the numbers out, or write {', '.join(map(number, declared))}"
            reason = f"the statistic {self.name!r} is registered with other numbers"
            raise InvalidQuery(reason, self.text, hint=hint)
        return replace(self, declared=declared)

    def form(self, schema: Schema) -> NumberForm:
        """One number, with the price of one answer; only of one that is resolved."""
        if self.declared is None:
            hint = "the custodian of a dataset registers its statistics"
            raise InvalidQuery(f"no statistic {self.name!r} is registered", self.text, hint=hint)
        return CustomMeasure(self.name, self.declared, self.canonical).form

    def to_dict(self) -> dict[str, Any]:
        declared: Mapping[str, float] = self.declared._asdict() if self.declared else {}
        return {"kind": "statistic", "name": self.name, **super().to_dict(), **declared}

    def __repr__(self) -> str:
        return f"statistic({self.name!r})"


def statistic(name: str) -> CustomStatistic:
    """A statistic that the custodian has registered.

    >>> statistic("stability")
    statistic('stability')
    """
    return CustomStatistic(check_name(name), None, f"statistic({text(name)})")


def check_name(name: object) -> str:
    """Letters, digits and ``_``."""
    if not isinstance(name, str) or not BARE.fullmatch(name) or len(name) > LONGEST_NAME:
        required = f"up to {LONGEST_NAME} letters, digits and _, and no digit first"
        raise InvalidInput("the name of a statistic", required, name)
    return name


def read_custom(parser: Parser, kind: str) -> CustomStatistic:
    """What follows ``statistic(``: its name in quotes and, if at all, all four numbers."""
    start, named = parser.token.position, parser.expression()
    if not isinstance(named, Text):
        parser.refuse("a statistic's name must be in quotes", f"for instance {_EXAMPLE}", at=start)
    numbers = []
    while parser.accept(","):
        numbers.append(parser.number("a declaration must consist of plain numbers"))
    if len(numbers) not in (0, 4):
        parser.refuse("a declaration needs four numbers", f"for instance {_EXAMPLE}", at=start)
    try:
        name = check_name(named.value)
        return CustomStatistic(name, Declared.of(*numbers) if numbers else None, parser.text)
    except InvalidInput as error:
        raise InvalidQuery(str(error), parser.text, start) from error
