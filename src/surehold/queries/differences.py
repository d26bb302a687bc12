"""Differences: of two fractions or means in one answer, and of two rates from both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.base import Query
from surehold.queries.derived import (
    UNDETERMINED,
    DerivedNumber,
    Rate,
    Reading,
    between,
    down,
    up,
)
from surehold.queries.statistical import Difference, Statistical, check_length, contrast, fraction


@dataclass(frozen=True, repr=False)
class RateDifference(DerivedNumber):
    """How much larger one rate, or mean among some records, is than another of the same range.

    >>> from surehold.queries import query_of
    >>> query_of("difference(rate(bought, week = 46), rate(bought, week = 45))").high
    1.0
    """

    plus: Rate
    minus: Rate
    text: str = field(compare=False)

    @property
    def low(self) -> float:  # type: ignore[override]  # read only
        return self.minus.low - self.minus.high

    @property
    def high(self) -> float:  # type: ignore[override]  # read only
        return self.plus.high - self.plus.low

    @cached_property
    def canonical(self) -> str:
        return f"difference({self.plus.canonical}, {self.minus.canonical})"

    @property
    def parts(self) -> tuple[Query, ...]:
        return (self.plus, self.minus)

    def estimate(self, parts: Sequence[Reading]) -> Reading:
        """By arithmetic on both intervals, which hold together."""
        plus, minus = parts
        if plus.interval is None or minus.interval is None:
            return UNDETERMINED
        bottom = max(down(plus.interval[0] - minus.interval[1]), self.low)
        top = min(up(plus.interval[1] - minus.interval[0]), self.high)
        value = None
        if plus.value is not None and minus.value is not None:
            value = plus.value - minus.value
        return between(bottom, top, value)

    def __repr__(self) -> str:
        return f"difference({self.plus!r}, {self.minus!r})"


def contrast_rates(plus: Rate, minus: Rate, text: str) -> RateDifference:
    """Return the difference of two rates of one range."""
    if (plus.of.kind, plus.low, plus.high) != (minus.of.kind, minus.low, minus.high):
        hint = "give both the same low and high, or neither"
        raise InvalidQuery("a difference needs two rates of the same range", text, hint=hint)
    return check_length(RateDifference(plus, minus, text))


def difference(
    plus: str | Statistical | Rate, minus: str | Statistical | Rate
) -> Difference | RateDifference:
    """How much larger the first is than the second: fractions, or means or rates of one range.

    Of fractions or means it is one answer; asked one by one the two would be no narrower. Of rates
    it follows from the answers to both.

    >>> from surehold.queries import rate
    >>> difference("clicked and variant = 'B'", "clicked and variant = 'A'")
    difference("clicked and variant = 'B'", "clicked and variant = 'A'")
    >>> difference(rate("bought", given="week = 46"), rate("bought", given="week = 45"))
    difference(rate('bought', given='week = 46'), rate('bought', given='week = 45'))
    """
    if isinstance(plus, Rate) and isinstance(minus, Rate):
        return contrast_rates(plus, minus, f"difference({plus.text}, {minus.text})")
    first, second = check_statistical("plus", plus), check_statistical("minus", minus)
    return contrast(first, second, f"difference({first.text}, {second.text})")


def check_statistical(name: str, given: object) -> Statistical:
    """A fraction or a mean, as given or of an expression."""
    if isinstance(given, str):
        return fraction(given)
    if isinstance(given, Statistical):
        return given
    required, hint = "an expression, a fraction or a mean", "a difference may also be of two rates"
    raise InvalidInput(name, required, type(given).__name__, hint)
