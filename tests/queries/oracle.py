"""The language once more, one record at a time, in exact fractions; it shares no code with it.

An expression is a tuple: its operator as users know it, then its operands. So ``between``,
``like`` and all else that the parser writes out has its own meaning here.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from fractions import Fraction
from itertools import pairwise

LARGEST = 1e150
NUMERAL = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?")


def rounded(exact):
    """To the nearest double, ties to even, saturated; what is too small is zero."""
    if abs(exact) >= Fraction(LARGEST):
        return LARGEST if exact > 0 else -LARGEST
    value = nearest(exact)
    return 0.0 if abs(value) < 1e-150 else value


def nearest(exact):
    """To the nearest double, ties to even: so Python divides whole numbers."""
    return exact.numerator / exact.denominator


def read(value):
    """A value of a column."""
    if isinstance(value, str):
        return value.encode()[:256].decode(errors="ignore")
    if isinstance(value, bool | dt.date | None):
        return value
    if isinstance(value, int):
        return rounded(Fraction(value))
    if not math.isfinite(value):
        return None
    return max(-LARGEST, min(LARGEST, value))


def time_of(text):
    """A text literal as a time: the canonical text has no other."""
    if not isinstance(text, str):
        return text
    return (
        dt.datetime.fromisoformat(f"{text}+00:00") if "T" in text else dt.date.fromisoformat(text)
    )


def date_of(time):
    return time.date() if isinstance(time, dt.datetime) else time


def alike(values):
    """Texts beside times as times of their kind."""
    if not any(isinstance(value, dt.date) for value in values):
        return values
    found = [time_of(value) for value in values]
    if not any(isinstance(value, dt.datetime) for value in found):
        return found
    midnight = dt.time(tzinfo=dt.UTC)
    return [
        value if isinstance(value, dt.datetime) else dt.datetime.combine(value, midnight)
        for value in found
    ]


def arithmetic(operator, x, y):
    if x is None or y is None:
        return None
    x, y = alike([time_of(x), time_of(y)])
    if isinstance(x, dt.datetime):
        microseconds = rounded(Fraction((x - y) // dt.timedelta(microseconds=1)))
        return rounded(Fraction(microseconds) / (24 * 3600 * 10**6))
    if isinstance(x, dt.date):
        return float((x - y).days)
    x, y = Fraction(x), Fraction(y)
    if operator == "+":
        return rounded(x + y)
    if operator == "-":
        return rounded(x - y)
    if operator == "*":
        return rounded(x * y)
    if y == 0:
        return None
    quotient = rounded(x / y)
    if operator == "/":
        return quotient
    return rounded(x - Fraction(rounded(y * math.floor(quotient))))


def key(value):
    return value.encode() if isinstance(value, str) else value


def compare(operator, x, y):
    if x is None or y is None:
        return None
    x, y = map(key, alike([x, y]))
    if operator in ("<", "<=", ">", ">="):
        return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[operator]
    return (x == y) == (operator == "=")


def conjunction(values):
    values = list(values)
    if False in values:
        return False
    return None if None in values else True


def disjunction(values):
    return negation(conjunction(negation(value) for value in values))


def negation(value):
    return None if value is None else not value


def like(text, pattern):
    if text is None:
        return None
    return re.fullmatch(".*".join(map(re.escape, pattern.split("%"))), text, re.DOTALL) is not None


def ascii_case(text, first, last, shift):
    changed = (chr(ord(c) + shift) if first <= c <= last else c for c in text)
    return "".join(changed)


def root(x):
    """Of the neighbours of an approximation, the one nearest to the root."""
    if x < 0:
        return None
    near = math.sqrt(x)
    candidates = (math.nextafter(near, 0.0), near, math.nextafter(near, math.inf))
    middle = [(Fraction(a) + Fraction(b)) / 2 for a, b in pairwise(candidates)]
    return candidates[sum(m * m < Fraction(x) for m in middle)]


ONE = {
    "abs": abs,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "round": lambda x: float(math.floor(rounded(Fraction(x) + Fraction(1, 2)))),
    "sqrt": root,
    "negate": lambda x: -x,
    "length": lambda text: float(len(text)),
    "lower": lambda text: ascii_case(text, "A", "Z", 32),
    "upper": lambda text: ascii_case(text, "a", "z", -32),
    "year": lambda time: float(time_of(time).year),
    "month": lambda time: float(time_of(time).month),
    "day": lambda time: float(time_of(time).day),
    "weekday": lambda time: float(time_of(time).isoweekday()),
    "hour": lambda time: float(time_of(time).hour),
    "date": lambda time: date_of(time_of(time)),
}


def number_of(value):
    if isinstance(value, str):
        return rounded(Fraction(value)) if NUMERAL.fullmatch(value) else None
    return None if value is None else float(value)


def value_of(expression, record):
    operator, *operands = expression
    if operator in ("number", "text", "truth", "time"):
        return operands[0]
    if operator == "null":
        return None
    if operator == "column":
        return read(record[operands[0]])
    if operator == "in":
        return disjunction(compare("=", value_of(operands[0], record), v) for v in operands[1])
    if operator == "like":
        return like(value_of(operands[0], record), operands[1])
    if operator in ("starts_with", "ends_with", "contains"):
        text = value_of(operands[0], record)
        if text is None:
            return None
        if operator == "contains":
            return operands[1] in text
        return (
            text.startswith(operands[1])
            if operator == "starts_with"
            else text.endswith(operands[1])
        )
    values = [value_of(operand, record) for operand in operands]
    x = values[0]
    if operator in ("+", "-", "*", "/", "%"):
        return arithmetic(operator, *values)
    if operator in ("=", "<>", "<", "<=", ">", ">="):
        return compare(operator, *values)
    if operator in ONE:
        return None if x is None else ONE[operator](x)
    if operator == "between":
        return conjunction((compare(">=", x, values[1]), compare("<=", x, values[2])))
    if operator == "and":
        return conjunction(values)
    if operator == "or":
        return disjunction(values)
    if operator == "not":
        return negation(x)
    if operator == "is null":
        return x is None
    if operator == "is true":
        return x is True
    if operator == "is false":
        return x is False
    there = [value for value in values if value is not None]
    if operator == "coalesce":
        return there[0] if there else None
    if operator == "least":
        return min(alike(there), default=None)
    if operator == "greatest":
        return max(alike(there), default=None)
    if operator == "nullif":
        return None if compare("=", *values) else x
    if operator == "cast":
        return number_of(x)
    assert operator == "case"
    *pairs, otherwise = values
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        if condition:
            return value
    return otherwise


def fraction_integer(expression, record):
    return int(value_of(expression, record) is True)


def mean_integer(expression, low, high, record):
    x = value_of(expression, record)
    if x is None:
        return 0
    # The grid lies outside of the language: its arithmetic does not saturate.
    scale = nearest(2**32 / Fraction(nearest(Fraction(high) - Fraction(low))))
    above = nearest(Fraction(max(low, min(high, x))) - Fraction(low))
    product = nearest(Fraction(above) * Fraction(scale))
    return math.floor(nearest(Fraction(product) + Fraction(1, 2)))
