"""Charges as whole numbers: exact sums, and the same on replay as live, bit for bit.

One unit is 2**-192 of mu^2 = 2 rho. A charge is rounded up to whole units and a budget down, each
the safe side; adding and comparing units rounds nothing. The charge of a statistical query at
round 10**18 with sigma = 1 is still 6 * 10**21 units, so that rounding up costs no answer.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction

from surehold.errors import InvalidInput

UNIT_BITS = 192
"""One unit of charge is 2**-UNIT_BITS of mu^2."""

_ONE = 1 << UNIT_BITS


def units_up(amount: Fraction | float) -> int:
    """The fewest units that are at least ``amount`` of mu^2: for charges.

    >>> units_up(1) == 2**UNIT_BITS
    True
    >>> units_up(Fraction(1, 3 * 2**UNIT_BITS))
    1
    """
    return math.ceil(_exactly(amount) * _ONE)


def units_down(amount: Fraction | float) -> int:
    """The most units that are at most ``amount`` of mu^2: for budgets, which plans keep as floats.

    >>> units_down(0.25) == 2 ** (UNIT_BITS - 2)
    True
    >>> units_down(Fraction(1, 3 * 2**UNIT_BITS))
    0
    """
    return math.floor(_exactly(amount) * _ONE)


def to_float(units: int) -> float:
    """The double nearest to ``units`` of mu^2: to be shown, never to be added up.

    >>> to_float(units_down(0.1))
    0.1
    """
    return units / _ONE


def check_round(t: int) -> int:
    """Return the size of a snapshot as a plain int, whose products never overflow, or raise."""
    if t < 1:
        raise InvalidInput("round", "a whole number of at least 1", t)
    return operator.index(t)


def _exactly(amount: Fraction | float) -> Fraction:
    """A float is a ratio of whole numbers too, and this is the one it is."""
    if not 0 <= amount < math.inf:  # and so not NaN
        raise InvalidInput("amount", "a finite number >= 0", amount)
    return Fraction(amount)
