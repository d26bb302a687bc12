"""The golden scenario of sixteen steps, digit by digit, from counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from theory.surprise.golden import GOLDEN, sixteen_digits
from theory.surprise.scenario import Guard

GIVEN = ("step", "question", "kind", "round")


def compared(value: Any) -> Any:
    """Real numbers of sixteen digits are compared as numbers: trailing zeros are left out there."""
    if isinstance(value, list) and all(isinstance(x, str) and "." in x for x in value):
        return [sixteen_digits(x) for x in value]
    return value


@pytest.fixture(scope="module")
def played() -> list[dict[str, Any]]:
    guard = Guard(Fraction(GOLDEN["beta"]))
    found, records = [], 2000
    for step in GOLDEN["scenario"]:
        records = max(records, step["round"] or 0)
        found.append(guard.play(step, records))
    return found


@pytest.mark.parametrize("step", GOLDEN["scenario"], ids=lambda step: step["step"])
def test_step(step, played):
    expected = {key: value for key, value in step.items() if key not in GIVEN}
    found = played[step["step"] - 1]
    if "within_of_best" in expected:
        expected["within_of_best"] = sixteen_digits(expected["within_of_best"])
    shown = expected.pop("shown", None)
    assert found.pop("shown", None) == shown
    assert found == {key: compared(value) for key, value in expected.items()}


def test_records_give_the_counts():
    """The records that the file describes have the counts that it lists."""
    rows = []
    for i in range(1, 3001):
        p, r = i * 7919 % 10007, i * 104729 % 10009
        a = p < 8506
        b = a if r >= 1201 else r < 500
        c, d, e = (3 * p + r) % 1000 < 652, (p + 5 * r) % 1000 < 730, p * r % 1013 < 515
        rows.append((a, b, c, d, e, not b, c and not b, a != b, a and not b, (p + r) % 5))
    names = ("a", "b", "c", "d", "e", "not_b", "c_and_not_b", "differ", "a_not_b")
    for t, counts in GOLDEN["counts"].items():
        for k, name in enumerate(names):
            assert sum(row[k] for row in rows[: int(t)]) == counts[name], name
        for value, count in counts["f"].items():
            assert sum(Fraction(row[-1], 4) == Fraction(value) for row in rows[: int(t)]) == count
