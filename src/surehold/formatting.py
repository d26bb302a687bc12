"""How numbers are written for people: widths up, budgets down, counts exact."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext


def width(value: float, digits: int = 4) -> str:
    """Format a half-width with a few significant digits, never smaller than it is.

    >>> width(0.09991), width(0.099912), width(1e-7 / 3)
    ('0.09991', '0.09992', '3.334e-08')
    """
    if value == 0.0 or not math.isfinite(value):
        return str(value)
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    # A relative hair's breadth, so that 0.1 is not shown as 0.1001.
    return f"{math.ceil(value / unit * (1.0 - 1e-12)) * unit:.{digits}g}"


def budget(value: float, digits: int = 6) -> str:
    """Format a budget with a few significant digits, never larger than it is.

    >>> budget(0.00498447885)
    '0.00498447'
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return f"{math.floor(value / unit * (1.0 + 1e-12)) * unit:.{digits}g}"


def fixed(value: float, decimals: int, *, up: bool) -> str:
    """Format an end of an interval with some decimals, rounded outwards, to the given side.

    >>> fixed(0.27101, 3, up=False), fixed(0.35201, 3, up=True), fixed(-0.0, 2, up=False)
    ('0.271', '0.353', '0.00')
    """
    # As it is written: 0.1 is a tenth here, not the double a hair above it.
    side = ROUND_CEILING if up else ROUND_FLOOR
    with localcontext(prec=400, rounding=side):  # a double has at most 309 digits before the point
        shown = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals))
        return f"{abs(shown) if shown.is_zero() else shown:f}"


def plain(value: float, decimals: int) -> str:
    """Format a value with some decimals, rounded to nearest; no sign before a zero.

    >>> plain(0.1349, 3), plain(-0.0004, 3)
    ('0.135', '0.000')
    """
    shown = f"{value:.{decimals}f}"
    return shown.removeprefix("-") if float(shown) == 0.0 else shown


def in_unit(text: str, unit: str | None, factor: int = 1) -> str:
    """Put the unit behind a formatted number; a ``factor`` of 100 moves its point for percent.

    >>> in_unit("0.0312", "%", 100), in_unit("12.40", "€"), in_unit("7", None)
    ('3.12 %', '12.40 €', '7')
    """
    if factor == 100:
        text = f"{Decimal(text).scaleb(2):f}"
    return text if unit is None else f"{text} {unit}"


def count(value: int) -> str:
    """Format a count with thousands separators.

    >>> count(1059740)
    '1,059,740'
    """
    return f"{value:,}"


def bits(value: float) -> str:
    """Format a number of bits: a cost, rounded up to what anyone reads.

    >>> bits(0.074), bits(6.6438), bits(0.0), bits(0.0004)
    ('0.08 bits', '6.7 bits', '0 bits', '0.001 bits')
    """
    places = 1 if value >= 1.0 else 2 if value >= 0.01 else 3
    # A hair's breadth, so that the two bits of four outcomes are not shown as 2.1.
    text = _trim(fixed(max(value - 1e-9, 0.0), places, up=True))
    return f"{text} bit" if text == "1" else f"{text} bits"


def amount(value: float, unit: str, up: bool = True) -> str:
    """Format what is spent or reserved: bits, or a share of the budget; a cost is rounded up.

    >>> amount(6.6438, "bits"), amount(0.25, "share"), amount(0.30001, "share", up=False)
    ('6.7 bits', '25% of the budget', '30% of the budget')
    """
    if unit == "bits":
        return bits(value) if up else f"{_trim(fixed(value, 2, up=False))} bits"
    return f"{share_spent(value, 1.0) if up else share_left(value, 1.0)} of the budget"


def decimals(width: float, span: float) -> int:
    """Return how many decimals show two digits of a width, and a thousandth of the range.

    >>> decimals(0.031, 1.0), decimals(12.0, 100.0)
    (3, 1)
    """
    return max(0, 1 - math.floor(math.log10(width)), 3 - math.ceil(math.log10(span)))


def several(number: int, noun: str) -> str:
    """Format a number of things, with the noun in the right form.

    >>> several(1, "record"), several(20_000, "record"), several(2, "query")
    ('1 record', '20,000 records', '2 queries')
    """
    if number != 1:
        noun = f"{noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun}"


def duration(seconds: float) -> str:
    """Format a duration to one or two digits.

    >>> duration(7.6), duration(200.0), duration(9_000.0)
    ('8 s', '3 min', '2.5 h')
    """
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5_400.0 else f"{seconds / 3_600.0:.1f} h"


def share_left(part: float, whole: float) -> str:
    """Format the share of a budget that is left, rounded down.

    >>> share_left(0.99999, 1.0), share_left(0.0001, 1.0), share_left(0.3, 1.0)
    ('99.9%', 'below 0.1%', '30%')
    >>> share_left(1.0, 1.0), share_left(0.0, 1.0)
    ('100%', '0%')
    """
    if whole <= 0.0 or part <= 0.0:
        return "0%"
    share = float(f"{min(100.0 * part / whole, 100.0):.12g}")
    return "below 0.1%" if share < 0.1 else f"{_trim(fixed(share, 1, up=False))}%"


def share_spent(part: float, whole: float) -> str:
    """Format the share of a budget that is charged or spent, rounded up.

    >>> share_spent(0.00001, 1.0), share_spent(0.30001, 1.0), share_spent(0.3, 1.0)
    ('0.001%', '30.1%', '30%')
    >>> share_spent(1.0, 1.0), share_spent(0.0, 1.0)
    ('100%', '0%')
    """
    if whole <= 0.0 or part <= 0.0:
        return "0%"
    share = float(f"{100.0 * part / whole:.12g}")
    decimals = 1 if share >= 1.0 else 2 if share >= 0.1 else 3
    return f"{_trim(fixed(share, decimals, up=True))}%"


def percent(beta: float) -> str:
    """Format the confidence 1 - beta, exactly.

    >>> percent(0.05), percent(1e-6)
    ('95%', '99.9999%')
    """
    confidence = 100 * (1 - Decimal(repr(beta)))
    return f"{confidence.normalize():f}%"


def shorten(text: str, most: int = 40) -> str:
    """Cut a text to a number of characters, with dots for the rest."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


class Finding(str):
    """What is wrong, in words that follow "but" in an error; a value would follow "but is".

    >>> from surehold.errors import InvalidInput
    >>> print(InvalidInput("the table", "a table with an id", Finding("has none")))
    the table must be a table with an id, but has none
    """

    __slots__ = ()

    @property
    def found(self) -> str:
        """The words."""
        return str(self)
