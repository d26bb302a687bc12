"""The array types of the theory, and the checks that every formula shares."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from surehold.errors import InvalidInput

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.ArrayLike

LARGEST_COUNT = 10**18
"""Beyond any dataset or analysis, and still exact as a whole number of 64 bits."""

LARGEST_BATCHES = 10**6
"""Rounds are listed one by one."""

SMALLEST_BETA = 1e-30
"""Below it a probability is not worth the digits, and double precision starts to run out."""

WIDEST_RANGE = 1e9
"""Of the noises in one plan: no use beyond it, and every root is well-behaved within."""


def as_floats(values: Numbers) -> FloatArray:
    """Any number or array of numbers as an array of doubles."""
    return np.asarray(values, dtype=np.float64)


def broadcast(*values: Numbers) -> tuple[FloatArray, ...]:
    """The values as arrays of doubles of one common shape."""
    return tuple(np.broadcast_arrays(*(as_floats(value) for value in values)))


def check_probability(name: str, value: object, hint: str = "") -> float:
    """Return ``value`` as a float strictly between 0 and 1, or raise."""
    required = "a number strictly between 0 and 1"
    number = check_number(name, value, required)
    if not 0.0 < number < 1.0:
        raise InvalidInput(name, required, value, hint if number >= 1.0 else "")
    return number


def check_beta(value: object, hint: str = "") -> float:
    """Return the failure probability beta as a float in [1e-30, 1), or raise."""
    beta = check_probability("beta", value, hint)
    if beta < SMALLEST_BETA:
        raise InvalidInput("beta", f"at least {SMALLEST_BETA:g}", value)
    return beta


def check_positive(name: str, value: object) -> float:
    """Return ``value`` as a finite float above 0, or raise."""
    number = check_number(name, value, "a positive finite number")
    if not 0.0 < number < math.inf:
        raise InvalidInput(name, "a positive finite number", value)
    return number


def check_count(name: str, value: object, most: int = LARGEST_COUNT) -> int:
    """Return ``value`` as a whole number from 1 to ``most``, or raise."""
    required = f"a whole number from 1 to 10^{len(str(most)) - 1}"
    number = check_number(name, value, required)
    if not 1.0 <= number < math.inf or number != math.floor(number):
        raise InvalidInput(name, required, value)
    # Through float only what came as a float: whole numbers beyond 2**53 stay exact.
    whole = int(value) if isinstance(value, int | np.integer) else int(number)
    if whole > most:
        raise InvalidInput(name, required, value)
    return whole


def check_growth(n0: object, n: object) -> tuple[int, int]:
    """Return the sizes at the start and at the end as whole numbers with n0 <= n, or raise."""
    start, end = check_count("n0", n0), check_count("n", n)
    if end < start:
        hint = "n0 is the size at the first query, n that at the end"
        raise InvalidInput("n", f"at least n0 = {start}", end, hint)
    return start, end


def check_number(name: str, value: object, required: str) -> float:
    """Return ``value`` as a float that is not NaN, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidInput(name, required, value)
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        raise InvalidInput(name, required, "a number that is far too large") from None
    if math.isnan(number):
        raise InvalidInput(name, required, value)
    return number
