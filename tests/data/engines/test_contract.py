"""What every engine has to be; engines are found by introspection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.engines import FILLED, ROWS, SCHEMA, concrete, every_engine
from surehold.data.engines import Engine, PolarsEngine
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


def test_every_engine_is_here():
    assert set(FILLED) == set(concrete(Engine)) >= {PolarsEngine}


@every_engine
@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_sums_of_any_range(make, cut, one, other):
    start, stop = min(one, other), max(one, other)
    engine = make([ROWS[:cut], ROWS[cut:]])
    expected = [sum(column) for column in zip(*VALUES[start:stop], strict=True)] or [0] * 5
    found = engine.sums(MEASURES, start, stop)
    assert found == expected
    assert all(type(total) is int for total in found)
    assert [engine.sums([measure], start, stop) for measure in MEASURES] == [[x] for x in expected]


@every_engine
def test_nothing_asked(make):
    engine = make([ROWS])
    assert engine.size == 4
    assert engine.sums([], 0, 4) == []
    assert make([]).sums(MEASURES, 0, 0) == [0] * 5


@every_engine
@pytest.mark.parametrize("where", [(-1, 2), (0, 5), (3, 2), (5, 5)])
def test_ranges_that_are_not_there(make, where):
    with pytest.raises(InvalidInput):
        make([ROWS]).sums(MEASURES, *where)


@every_engine
def test_sums_are_kept_while_records_arrive(make):
    before = make([ROWS[:2]]).sums(MEASURES, 0, 2)
    assert make([ROWS[:2], ROWS[2:]]).sums(MEASURES, 0, 2) == before
