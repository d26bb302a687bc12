"""Checks of numbers that callers give, each written once.

NumPy's numbers are recognised without importing it: they are registered with :mod:`numbers`.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Rational, Real

from surehold.errors import InvalidInput

LARGEST_COUNT = 10**18
"""Beyond any dataset or analysis, and still exact as a whole number of 64 bits."""

LARGEST_BATCHES = 10**6
"""Rounds are listed one by one."""

SMALLEST_BETA = 1e-30
"""Below it a probability is not worth the digits, and double precision starts to run out."""


LONGEST_FRACTION = 100
"""Characters of a number that is kept exactly."""

# An exponent of two digits at most: "1e999999999" would fill the memory.
_FRACTION = re.compile(
    r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)(e[+-]?\d{1,2})?)", re.ASCII | re.IGNORECASE
)


def check_number(
    name: str,
    value: object,
    required: str,
    is_allowed: Callable[[float], bool] = lambda number: True,
) -> float:
    """Return ``value`` as a float that is not NaN and is allowed, or raise."""
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise InvalidInput(name, required, value)
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        raise InvalidInput(name, required, "a number that is far too large") from None
    except ValueError:  # a signalling NaN
        raise InvalidInput(name, required, value) from None
    if math.isnan(number) or not is_allowed(number):
        raise InvalidInput(name, required, value)
    return number


def check_positive(name: str, value: object, most: float = math.inf) -> float:
    """Return ``value`` as a finite float above 0 and up to ``most``, or raise."""
    required = "a positive finite number" if most == math.inf else f"above 0 and up to {most:g}"
    return check_number(name, value, required, lambda x: 0.0 < x <= most and x < math.inf)


def check_probability(name: str, value: object, hint: str = "") -> float:
    """Return ``value`` as a float strictly between 0 and 1, or raise with a hint on percents."""
    required = "a number strictly between 0 and 1"
    number = check_number(name, value, required, lambda x: x > 0.0)
    if number >= 1.0:
        raise InvalidInput(name, required, value, hint)
    return number


def check_beta(value: object, hint: str = "") -> float:
    """Return the failure probability beta as a float in [1e-30, 1), or raise."""
    beta = check_probability("beta", value, hint)
    return check_number("beta", beta, f"at least {SMALLEST_BETA:g}", lambda x: x >= SMALLEST_BETA)


def check_share(name: str, value: object) -> float:
    """Return a share of the budget as a float above 0 and up to 1, or raise."""
    required = "a share of the budget, above 0 and up to 1 (0.25 is a quarter)"
    return check_number(name, value, required, lambda x: 0.0 < x <= 1.0)


@lru_cache(maxsize=1024)
def _fraction(text: str) -> Fraction:
    """A number that is written out; the same few come again and again."""
    return Fraction(text)


def check_fraction(
    name: str,
    value: object,
    required: str,
    is_allowed: Callable[[Fraction], bool] = lambda number: True,
) -> Fraction:
    """Return ``value`` as the exact fraction that its text says, or raise; 0.1 is 1/10.

    >>> check_fraction("expect", "0.83", "a number"), check_fraction("expect", 0.1, "a number")
    (Fraction(83, 100), Fraction(1, 10))
    """
    if isinstance(value, bool) or not isinstance(value, str | Real | Decimal):
        raise InvalidInput(name, required, value)
    if isinstance(value, Rational):
        number = Fraction(int(value.numerator), int(value.denominator))
    else:
        # NumPy's numbers show their type in repr(), so they become floats first.
        text = value.strip() if isinstance(value, str) else str(_plain_number(value))
        if not (len(text) <= LONGEST_FRACTION and _FRACTION.fullmatch(text)):
            raise InvalidInput(name, required, value)
        try:
            number = _fraction(text)
        except ZeroDivisionError:
            raise InvalidInput(name, required, value) from None
    if not is_allowed(number):
        raise InvalidInput(name, required, value)
    return number


def _plain_number(value: Real | Decimal) -> object:
    return value if isinstance(value, Decimal) else float(value)


def check_whole(name: str, value: object, least: float = -math.inf, most: float = math.inf) -> int:
    """Return ``value`` as a plain int from ``least`` to ``most``, or raise; no float will do.

    >>> check_whole("price", 2.5, 1, 1_000)
    Traceback (most recent call last):
    ...
    surehold.errors.InvalidInput: price must be a whole number from 1 to 1,000, but is 2.5
    """
    whole = None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if whole is not None and least <= whole <= most:
        return whole
    required = "a whole number"
    if most < math.inf:
        required += f" from {least:,} to {most:,}"
    elif least > -math.inf:
        required += f" of at least {least:,}"
    raise InvalidInput(name, required, value)


def check_count(name: str, value: object, most: int = LARGEST_COUNT) -> int:
    """Return ``value`` as a whole number from 1 to ``most``, a power of ten, or raise.

    >>> check_count("queries", 1e6)
    1000000
    """
    required = f"a whole number from 1 to 10^{len(str(most)) - 1}"
    number = check_number(name, value, required, lambda x: 1.0 <= x < math.inf and x.is_integer())
    # Through float only what came as a float: whole numbers beyond 2**53 stay exact.
    whole = int(value) if isinstance(value, Integral) else int(number)
    if whole > most:
        raise InvalidInput(name, required, value)
    return whole


def check_growth(n0: object, n: object) -> tuple[int, int]:
    """Return the sizes at the start and at the end as whole numbers with n0 <= n, or raise."""
    start, end = check_count("n0", n0), check_count("n", n)
    if end < start:
        hint = "n0 is the size at the first query, n the size at the end"
        raise InvalidInput("n", f"at least n0 = {start}", end, hint)
    return start, end


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address, which may be in brackets."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_text(name: str, value: object, longest: int = 200) -> str:
    """Return text as a ledger keeps it: an analyst's name, a key, the name of a question."""
    if not isinstance(value, str) or not 1 <= len(value) <= longest or not value.isprintable():
        raise InvalidInput(name, f"text of 1 to {longest} printable characters", value)
    return value
