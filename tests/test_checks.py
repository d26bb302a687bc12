"""Numbers of other libraries are numbers; what is none, or not a number, is refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from surehold.checks import check_number
from surehold.errors import InvalidInput


@pytest.mark.parametrize("value", [Decimal("0.5"), Fraction(1, 2), np.float32(0.5), 0.5])
def test_numbers(value):
    found = check_number("alpha", value, "a number")
    assert (type(found), found) == (float, 0.5)


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("sNaN"), 10**400, True, "0.5", None, 1j])
def test_what_is_no_number(value):
    with pytest.raises(InvalidInput, match="alpha must be a number"):
        check_number("alpha", value, "a number")
