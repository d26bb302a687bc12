"""What an engine has to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.engines import ROWS, SCHEMA, filled
from surehold.errors import InvalidInput
from surehold.queries import fraction, mean

MEASURES = [
    fraction("age > 65 and smoker").measure(SCHEMA),
    mean("bmi", low=10, high=60).measure(SCHEMA),
    fraction("true").measure(SCHEMA),
    fraction("city < 'P' or age / 0 > 1").measure(SCHEMA),
    mean("10 / 4", low=0, high=5).measure(SCHEMA),
]
VALUES = [
    [1, round(2**32 * 0.2), 1, 1, 2**31],
    [0, 2**31, 1, 0, 2**31],
    [0, 0, 1, 0, 2**31],
    [1, 2**32, 1, 0, 2**31],
]


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_sums_of_any_range(cut, one, other):
    start, stop = min(one, other), max(one, other)
    engine = filled([ROWS[:cut], ROWS[cut:]])
    expected = [sum(column) for column in zip(*VALUES[start:stop], strict=True)] or [0] * 5
    found = engine.sums(MEASURES, start, stop)
    assert found == expected
    assert all(type(total) is int for total in found)
    assert [engine.sums([measure], start, stop) for measure in MEASURES] == [[x] for x in expected]


def test_nothing_asked():
    engine = filled([ROWS])
    assert engine.size == 4
    assert engine.sums([], 0, 4) == []
    assert filled([]).sums(MEASURES, 0, 0) == [0] * 5


@pytest.mark.parametrize("where", [(-1, 2), (0, 5), (3, 2), (5, 5)])
def test_ranges_that_are_not_there(where):
    with pytest.raises(InvalidInput):
        filled([ROWS]).sums(MEASURES, *where)


def test_sums_are_kept_while_records_arrive():
    before = filled([ROWS[:2]]).sums(MEASURES, 0, 2)
    assert filled([ROWS[:2], ROWS[2:]]).sums(MEASURES, 0, 2) == before
