"""The golden values, and ends as real numbers to compare with them."""

from __future__ import annotations

import json
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from surehold.theory.surprise.claims.base import Statistic
from surehold.theory.surprise.digits import decimal_of, precise
from surehold.theory.surprise.levels import Level

PATH = Path(__file__).parents[2] / "golden" / "surprise.json"
GOLDEN: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
SIXTEEN = Context(prec=16)


def sixteen_digits(text: str | Decimal) -> Decimal:
    return SIXTEEN.plus(Decimal(text))


def real_end(statistic: Statistic, level: Level, *, upper: bool) -> Decimal:
    """The end itself, by bisection of the thirty-digit statistic."""
    with precise():
        inside, outside = decimal_of(statistic.centre), Decimal(1 if upper else 0)
        if inside == outside:
            return inside
        for _ in range(90):
            middle = (inside + outside) / 2
            if statistic.exact(middle) < level.exact:
                inside = middle
            else:
                outside = middle
        return inside


def assert_ends(low: Statistic, high: Statistic, level: Level, expected: list[str]) -> None:
    found = (real_end(low, level, upper=False), real_end(high, level, upper=True))
    assert [sixteen_digits(end) for end in found] == [sixteen_digits(end) for end in expected]


def fractions(texts: list[str]) -> list[Fraction]:
    return [Fraction(text) for text in texts]
