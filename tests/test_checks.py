"""Numbers of other libraries are numbers; what is none, or not a number, is refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from surehold.checks import LONGEST_FRACTION, check_fraction, check_number
from surehold.errors import InvalidInput


@pytest.mark.parametrize("value", [Decimal("0.5"), Fraction(1, 2), np.float32(0.5), 0.5])
def test_numbers(value):
    found = check_number("alpha", value, "a number")
    assert (type(found), found) == (float, 0.5)


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("sNaN"), 10**400, True, "0.5", None, 1j])
def test_what_is_no_number(value):
    with pytest.raises(InvalidInput, match="alpha must be a number"):
        check_number("alpha", value, "a number")


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        ("0.83", Fraction(83, 100)),
        (" 5e-2 ", Fraction(1, 20)),
        ("1/3", Fraction(1, 3)),
        (".5", Fraction(1, 2)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (1, Fraction(1)),
    ],
)
def test_a_fraction_is_what_its_text_says(value, exact):
    assert check_fraction("expect", value, "a number") == exact


@pytest.mark.parametrize(
    "value",
    [
        *("", "x", "1/0", "0.1.2", "1e999999999", "1_000", "nan", "inf", "\u0663", "1 / 2"),
        *(
            float("nan"),
            float("inf"),
            Decimal("NaN"),
            True,
            None,
            1j,
            "0." + "1" * LONGEST_FRACTION,
        ),
    ],
)
def test_what_is_no_fraction(value):
    with pytest.raises(InvalidInput, match="expect must be a number"):
        check_fraction("expect", value, "a number")


def test_a_fraction_that_is_not_allowed():
    with pytest.raises(InvalidInput, match="doubt must be below 1"):
        check_fraction("doubt", "1.5", "below 1", lambda x: x < 1)
