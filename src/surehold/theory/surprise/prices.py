"""What outcomes cost: whole numbers of 2^-64 nat, rounded up.

Surprise, section 2: an outcome of weight w costs -ln w, and what counts is the sum of all so far.
In whole units the sum is exact, whatever the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from surehold.errors import InvalidInput
from surehold.theory.surprise.digits import LOG_TWO, decimal_of, precise

UNITS = 2**64
"""Units in a nat."""

Outcome = TypeVar("Outcome")


@lru_cache(maxsize=4096)
def price(weight: Fraction) -> int:
    """What an outcome of this weight costs: ceil(2^64 (-ln w)) units (Surprise, section 7).

    The logarithm of a fraction other than 1 is irrational, so enough digits always decide.

    >>> price(Fraction(19, 20)), price(Fraction(1))
    (946194274264587208, 0)
    """
    if not 0 < weight <= 1:
        raise InvalidInput("weight", "above 0 and at most 1", str(weight))
    digits = 36
    while True:
        with localcontext(Context(prec=digits)):
            units = -decimal_of(weight).ln() * UNITS
            whole = units.to_integral_value(ROUND_CEILING)
            nearest = units.to_integral_value()
            if weight == 1 or abs(units - nearest) > Decimal(10) ** (30 - digits):
                return int(whole)
        digits *= 2


def nats(units: int) -> Decimal:
    """Units as nats, to fifty digits.

    >>> float(nats(price(Fraction(1, 100))))
    4.605170185988092
    """
    with precise():
        return Decimal(units) / UNITS


def bits(units: int) -> Decimal:
    """Units as bits, which are for display only.

    >>> float(bits(price(Fraction(1, 4))))
    2.0
    """
    with precise():
        return Decimal(units) / UNITS / LOG_TWO


def check_weights(weights: Mapping[Outcome, Fraction]) -> None:
    """Refuse weights that are not positive or add up to more than 1 (Surprise, section 1)."""
    if not weights or min(weights.values()) <= 0:
        raise InvalidInput("weights", "above 0, one for each outcome", _shown(weights))
    if sum(weights.values()) > 1:
        raise InvalidInput("weights", "at most 1 in all", _shown(weights))


def _shown(weights: Mapping[Outcome, Fraction]) -> dict[str, str]:
    return {str(outcome): str(weight) for outcome, weight in weights.items()}
