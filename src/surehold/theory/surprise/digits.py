"""Functions of the claims to fifty digits, to settle what doubles leave open.

The decimal arithmetic of the standard library is fast enough and needs no other package. All
functions expect to be called within :func:`precise`, which leaves some ten digits for rounding.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import TypeVar

DIGITS = 50
CONTEXT = Context(prec=DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""What :func:`precise` computes in."""
_STIRLING_FROM = 40
_STIRLING_TERMS = 25
LOG_TWO = Decimal("0.69314718055994530941723212145817656807550013436025525412068")
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
_HALF_LOG_TAU = Decimal("0.91893853320467274178032973640561763986139747363778341281715")

Real = TypeVar("Real", float, Decimal)


def precise() -> AbstractContextManager[Context]:
    """Within it arithmetic with Decimal has fifty digits."""
    return localcontext(CONTEXT)


def decimal_of(number: Fraction) -> Decimal:
    """A fraction to fifty digits."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def text_of(number: Decimal, digits: int = 20) -> str:
    """A number as text, to a number of digits, without zeros at its end.

    >>> text_of(Decimal("1.25") + Decimal("1e-30"))
    '1.25'
    """
    return f"{Context(prec=digits).plus(number).normalize():f}"


def log_gamma(x: Decimal) -> Decimal:
    """ln Gamma(x) for x > 0: Stirling's series from 40 on, by recurrence below.

    The 26th term is below 1e-55 there.

    >>> with precise():
    ...     print(round(log_gamma(Decimal("0.5")) * 2, 40))
    1.1447298858494001741434273513530587116473
    """
    factor = Decimal(1)
    while x < _STIRLING_FROM:
        factor *= x
        x += 1
    series, power, square = Decimal(0), 1 / x, 1 / (x * x)
    for coefficient in _stirling_coefficients():
        term = coefficient * power
        series += term
        if abs(term) < Decimal("1e-55"):
            break
        power *= square
    return (x - Decimal("0.5")) * x.ln() - x + _HALF_LOG_TAU + series - factor.ln()


def log_beta(a: Decimal, b: Decimal) -> Decimal:
    """ln B(a, b) for a, b > 0."""
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


def beta_fraction(a: Real, b: Real, x: Real, tolerance: Real) -> Real:
    """The continued fraction F in ``I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * F``.

    DLMF 8.17.22, evaluated forwards (Lentz). It converges quickly for x below (a+1)/(a+b+2), the
    slower the nearer x comes: after some sqrt(a + b) steps at worst.
    """
    one = a / a
    numerator, denominator = one, one / (one - (a + b) * x / (a + one))
    value = denominator
    m, step = one, denominator
    while True:
        here = a + m + m
        even = m * (b - m) * x / ((here - one) * here)
        denominator = one / (one + even * denominator)
        numerator = one + even / numerator
        value *= denominator * numerator
        odd = -(a + m) * (a + b + m) * x / (here * (here + one))
        denominator = one / (one + odd * denominator)
        numerator = one + odd / numerator
        step = denominator * numerator
        value *= step
        if abs(step - one) < tolerance:
            return value
        m += one


@lru_cache(maxsize=1)
def _stirling_coefficients() -> tuple[Decimal, ...]:
    """B_2n / (2n (2n - 1)) for n = 1, 2, ..., by the recurrence of the Bernoulli numbers."""
    numbers = [Fraction(1)]
    for n in range(1, 2 * _STIRLING_TERMS + 1):
        numbers.append(-sum((comb(n + 1, k) * numbers[k] for k in range(n)), Fraction(0)) / (n + 1))
    with localcontext(Context(prec=DIGITS + 10)):
        return tuple(
            decimal_of(numbers[2 * n] / (2 * n * (2 * n - 1)))
            for n in range(1, _STIRLING_TERMS + 1)
        )
