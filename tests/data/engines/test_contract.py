"""What every engine has to be; engines are found by introspection."""

import importlib
import inspect
import pkgutil

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehold.data import engines
from surehold.data.engines import Engine, PolarsEngine
from surehold.errors import InvalidInput
from surehold.queries import Schema, fraction, mean

for module in pkgutil.iter_modules(engines.__path__):
    importlib.import_module(f"{engines.__name__}.{module.name}")


def concrete(cls):
    is_theirs = cls.__module__.startswith(engines.__name__)  # others only hold made-up records
    found = [] if inspect.isabstract(cls) or not is_theirs else [cls]
    return found + [engine for below in cls.__subclasses__() for engine in concrete(below)]


# How records come into an engine is its own affair; here is how, for each.
FILLED = {}


def fills(cls):
    return lambda function: FILLED.setdefault(cls, function)


@fills(PolarsEngine)
def _polars(parts):
    engine = PolarsEngine()
    for part in parts:
        columns = {name: [row[name] for row in part] for name in DTYPES}
        engine.extend(pl.DataFrame(columns, schema=DTYPES))
    return engine


DTYPES = {"age": pl.Int64(), "bmi": pl.Float64(), "smoker": pl.Boolean(), "city": pl.String()}
SCHEMA = Schema.of({"age": "int", "bmi": "float", "smoker": "bool", "city": "str"})
ROWS = [
    {"age": 70, "bmi": 20.0, "smoker": True, "city": "Oslo"},
    {"age": 20, "bmi": 35.0, "smoker": None, "city": None},
    {"age": None, "bmi": None, "smoker": False, "city": "Rome"},
    {"age": 66, "bmi": 60.5, "smoker": True, "city": "oslo"},
]
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

every_engine = pytest.mark.parametrize("make", [FILLED[cls] for cls in concrete(Engine)])


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
