"""The custodian's own statistics."""

import json
import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from surehold.data.statistics import Statistic
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import Declared, Schema

FRAME = pl.DataFrame({"x": [1.0, None, 3.0, 4.0], "city": ["Oslo", None, "Rome", ""]})
SCHEMA = Schema.of({"x": "float", "city": "str"})


def share_of_known(table):
    return 1 - table["x"].null_count / table.num_rows


def made(function=share_of_known, constant=1.0, columns=("x",), **others):
    return Statistic("known", function, constant, columns=columns, **others)


def unit(statistic, frame=FRAME):
    source = statistic.query.form(SCHEMA).source
    return Fraction(*statistic.unit(source, frame))


def test_what_it_says():
    statistic = made(constant=2, low=0, high=1)
    assert statistic.to_dict() == {
        "name": "known",
        "constant": 2.0,
        "power": 1.0,
        "low": 0.0,
        "high": 1.0,
        "columns": ["x"],
        "function": statistic.digest,
    }
    assert json.loads(json.dumps(statistic.to_dict())) == statistic.to_dict()
    assert statistic.declared == Declared(2.0, 1.0, 0.0, 1.0)
    assert statistic.columns == ("x",)
    assert statistic.query.canonical == "statistic('known', 2, 1, 0, 1)"


def test_it_gets_an_arrow_table_of_its_columns():
    seen = []

    def looks(table):
        seen.append(table)
        return 0.0

    made(looks, columns=["city", "x"]).value(FRAME)
    [table] = seen
    assert isinstance(table, pa.Table)
    assert table.to_pydict() == {"city": ["Oslo", None, "Rome", ""], "x": [1.0, None, 3.0, 4.0]}
    assert table.schema.types == [pa.large_string(), pa.float64()]


def test_units():
    assert made().value(FRAME) == 0.75
    form = made().query.form(SCHEMA)
    assert unit(made()) == Fraction(3, 4) / Fraction(form.span_at(4))
    # Told on the scale of the form it is the value again.
    scaled = made(lambda table: 7.5, constant=20, power=0.5, low=5, high=10)
    form = scaled.query.form(SCHEMA)
    assert form.low + float(unit(scaled)) * form.span_at(4) == pytest.approx(7.5, rel=1e-15)
    assert 40 < form.span_at(4) < 40.1


def test_the_largest_is_within_the_units():
    assert unit(made(lambda table: 1.0)) == 1 / Fraction(1 + 2.0**-10)
    assert unit(made(lambda table: 1.0), FRAME.head(0)) <= 1


def test_one_record_moves_the_unit_by_at_most_one_in_t():
    """The rounding included: a mean of doubles, which are off by a little."""

    def average(table):
        return float(np.mean(table["x"].to_numpy()))

    statistic = made(average)
    random = np.random.default_rng(1)
    for size in (1, 2, 3, 10, 1000):
        values = random.random(size)
        found = []
        for last in (0.0, 1.0, 1 / 3):
            values[-1] = last
            found.append(unit(statistic, pl.DataFrame({"x": values})))
        assert Fraction(999, 1000 * size) <= max(found) - min(found) <= Fraction(1, size)


def raises(table):
    raise RuntimeError(str(table))


def warns(table):
    warnings.warn("a record", stacklevel=1)
    return np.float64(1.0) / np.float64(0.0)


@pytest.mark.parametrize(
    "function",
    [
        *[raises, warns, lambda table: None, lambda table: "many", lambda table: float("nan")],
        *[lambda table: -np.inf, lambda table: table, lambda table: 1j, lambda table: -3],
        *[lambda: 1, lambda table: table["gone"], lambda table: 10**400],
    ],
)
def test_whatever_a_function_does_there_is_a_value(function):
    assert made(function, low=0.25).value(FRAME) == 0.25


def test_values_are_cut_off():
    assert made(lambda table: 3).value(FRAME) == 1.0
    assert made(lambda table: True).value(FRAME) == 1.0


def test_an_edited_function_has_another_digest():
    def one(table):
        return 1

    def two(table):
        return 2

    def bound(share):
        return lambda table: share

    def given(table, share=0.1):
        return share

    digests = {made(f).digest for f in (one, two, bound(0.1), bound(0.2), given)}
    given.__defaults__ = (0.2,)
    digests.add(made(given).digest)
    assert len(digests) == 6
    assert made(bound(0.1)).digest == made(bound(0.1)).digest
    assert made(one).digest == made(one, constant=2).digest


def test_a_function_without_a_text():
    def typed(source):
        names = {}
        exec(source, names)
        return made(names["f"]).digest

    first = typed("def f(table):\n    return max(0.1 for _ in [1])")
    assert first == typed("def f(table):\n    return max(0.1 for _ in [1])")
    assert first != typed("def f(table):\n    return max(0.2 for _ in [1])")


@pytest.mark.parametrize(
    "wrong",
    [
        {"constant": 0}, {"constant": -1}, {"constant": "1"}, {"constant": True},
        {"constant": float("nan")}, {"constant": float("inf")}, {"constant": 0.9},
        {"power": 0}, {"power": 1.5}, {"power": None},
        {"low": 1}, {"low": 2}, {"high": float("inf")}, {"high": 1.5},
        {"columns": []}, {"columns": "x"}, {"columns": ["x", "x"]}, {"columns": [1]},
        {"columns": None}, {"function": max}, {"function": "1"},
    ],
)  # fmt: skip
def test_what_cannot_be_declared(wrong):
    with pytest.raises(InvalidInput):
        made(**wrong)


@pytest.mark.parametrize("name", ["", "a b", "1a", "é", "a" * 129, None, "a'"])
def test_names(name):
    with pytest.raises(InvalidInput):
        Statistic(name, share_of_known, 1.0, columns=["x"])


def test_columns_have_to_be_there():
    made().check(SCHEMA)
    with pytest.raises(InvalidInput, match="gone"):
        made(columns=["x", "gone"]).check(SCHEMA)


def test_the_registration_decides():
    other = made(constant=3)
    with pytest.raises(InvalidQuery):
        made().unit(other.query.form(SCHEMA).source, FRAME)
