"""Polars gives the oracle's integers, for every expression, range and cut into frames."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queries import oracle
from queries.generators import (
    booleans,
    deep_booleans,
    deep_numbers,
    numbers,
    records,
    written,
)
from queries.pools import ENGINES, POOL, engine_of, measured
from support.soak import length
from surehold.data.engines import PolarsEngine
from surehold.queries import Schema, fraction, mean

BOUNDS = [(0.0, 1.0), (10.0, 60.0), (-1e150, 1e150), (-0.1, 0.3), (0.0, 1e-150), (1e15, 1e15 + 3.0)]


@settings(max_examples=length(90, full=250))
@given(st.one_of(deep_booleans, booleans), st.integers(0, 120), st.integers(0, 120))
def test_fractions(expression, one, other):
    start, stop = min(one, other), max(one, other)
    measure = measured(fraction(written(expression)))
    expected = sum(oracle.fraction_integer(expression, row) for row in POOL[start:stop])
    assert [engine.sums([measure], start, stop) for engine in ENGINES] == [[expected]] * 3


@settings(max_examples=length(90, full=250))
@given(st.one_of(deep_numbers, numbers), st.sampled_from(BOUNDS))
def test_means(expression, bounds):
    low, high = bounds
    measure = measured(mean(written(expression), low=low, high=high))
    integers = [oracle.mean_integer(expression, low, high, row) for row in POOL]
    assert 0 <= min(integers) <= max(integers) <= 1 << measure.bits
    assert [engine.sums([measure], 0, 120) for engine in ENGINES] == [[sum(integers)]] * 3


@settings(max_examples=length(60, full=150))
@given(
    st.lists(booleans, max_size=3),
    st.lists(numbers, max_size=3),
    # Also records that are all alike: Polars takes other ways where a column is constant.
    st.one_of(st.lists(records, min_size=1, max_size=6), records.map(lambda row: [row] * 5)),
    st.lists(st.integers(0, 6), max_size=3),
)
def test_many_at_once_on_records_of_any_kind(predicates, values, rows, cuts):
    measures = [measured(fraction(written(one))) for one in predicates]
    measures += [measured(mean(written(one), low=-10, high=50)) for one in values]
    expected = [sum(oracle.fraction_integer(one, row) for row in rows) for one in predicates]
    expected += [sum(oracle.mean_integer(one, -10.0, 50.0, row) for row in rows) for one in values]
    assert engine_of(rows, cuts).sums(measures, 0, len(rows)) == expected


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("weight / 10 = 0.3", {"weight": 3.0}, 1),
        ("weight / weight = 1", {"weight": 49.0}, 1),
        ("weight / 0 is null", {"weight": 49.0}, 1),
        ("weight % 0 is null", {"weight": 49.0}, 1),
        ("-7 % 3 = 2 and 7 % -3 = -2", {"weight": 0.0}, 1),
        ("sqrt(0 - weight) is null", {"weight": 2.0}, 1),
        ("weight * weight = 1e150", {"weight": 1e149}, 1),
        ("weight = 1e150", {"weight": 1e300}, 1),
        ("round(weight) = 3 and round(-weight) = -2", {"weight": 2.5}, 1),
        ("weight > 1", {"weight": None}, 0),
        ("not weight > 1", {"weight": None}, 0),
        ("weight > 1 or true", {"weight": None}, 1),
        ("(weight > 1) is not true", {"weight": None}, 1),
    ],
)
def test_examples(text, row, expected):
    schema = Schema.of({"weight": "float"})
    engine = PolarsEngine()
    engine.extend(pl.DataFrame({"weight": pl.Series([row["weight"]], dtype=pl.Float64())}))
    assert engine.sums([fraction(text).measure(schema)], 0, 1) == [expected]
