"""Queries as users make them."""

import json
import math
from dataclasses import FrozenInstanceError

import pytest

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import GRID_BITS, Schema, fraction, mean, query_of

SCHEMA = Schema.of({"age": "int", "bmi": "float", "smoker": "bool", "city": "str"})


def test_what_a_query_says():
    query = mean("bmi", low=10, high=60)
    assert query.to_dict() == {
        "kind": "mean",
        "text": "bmi",
        "low": 10.0,
        "high": 60.0,
        "canonical": "mean(bmi, 10, 60)",
    }
    assert json.loads(json.dumps(query.to_dict())) == query.to_dict()
    assert (str(query), repr(query)) == ("mean(bmi, 10, 60)", "mean('bmi', low=10, high=60)")
    assert fraction("age < 3")._repr_html_() == "<code>fraction(age &lt; 3)</code>"
    with pytest.raises(FrozenInstanceError):
        query.low = 3


def test_measures():
    predicate = fraction("smoker").measure(SCHEMA)
    assert (predicate.bits, predicate.canonical) == (0, "fraction(smoker)")
    value = query_of("mean(bmi, 10, 60)").measure(SCHEMA)
    assert value.bits == GRID_BITS == 32
    assert value == mean("(bmi)", low=10.0, high=6e1).measure(SCHEMA)


@pytest.mark.parametrize(
    "bounds",
    [
        *[(1, 1), (2, 1), (math.nan, 1), (0, math.inf), (-1e151, 0), ("0", 1), (None, 1)],
        *[(True, 2), (0, 1e-151), (0, 10**400), ([], 1), (1j, 2)],
    ],
)
def test_bounds_that_cannot_be_meant(bounds):
    with pytest.raises(InvalidInput):
        mean("bmi", low=bounds[0], high=bounds[1])


@pytest.mark.parametrize("given", [None, 3, b"age > 1", ["age"]])
def test_what_is_no_text(given):
    for make in (fraction, query_of, lambda text: mean(text, low=0, high=1)):
        with pytest.raises(InvalidInput):
            make(given)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smoker", "fraction(smoker)"),
        ("Fraction( smoker )", "fraction(smoker)"),
        ("MEAN(age+1, -5, 1e2)", "mean(age + 1, -5, 100)"),
        ("fraction > 1", "fraction(fraction > 1)"),
        ("mean = mean", "fraction(mean = mean)"),
    ],
)
def test_what_the_command_line_takes(text, expected):
    assert query_of(text).canonical == expected
    assert query_of(text).text == text


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("age = = 3", 6, ""),
        ("age == 3", 4, "single ="),
        ("age > 65 && smoker", 9, "write and"),
        ("!smoker", 0, "write not"),
        ('city = "Oslo"', 7, "use single quotes for text: 'Oslo'"),
        ('city in ("Oslo", "Bergen")', 9, "use single quotes for text"),
        ('city like "Os%"', 10, "use single quotes for text"),
        ('city = "smoke"', 7, "use single quotes for text: 'smoke'; or did you mean the column"),
        ("smokr", 0, "did you mean 'smoker'?"),
        ("SMOKER", 0, "did you mean 'smoker'?"),
        ("sqr(age) > 2", 0, "did you mean 'sqrt'?"),
        ("avg(age) > 2", 0, "mean(x, low, high)"),
        ("city = 3", 7, "cast(city as number) = 3"),
        ("age + '1' > 3", 6, "without quotes"),
        ("smoker + 1 > 1", 0, "cast(x as number)"),
        ("age", 0, "mean"),
        ("1 < age < 3", 8, "and"),
        ("age > 1 is not true", 8, "brackets"),
        ("age is true", 0, "compare"),
        ("smoker > false", 0, "= or <>"),
        ("age > 65;", 8, "single expression"),
        ("mean(smoker, 0, 1)", 5, "ask for a fraction"),
        ("mean(bmi, 10)", 12, "mean(bmi, 10, 60)"),
        ("mean(bmi, 60, 10)", 8, ""),
        ("mean(bmi, age, 10)", 10, ""),
        ("mean(bmi, 1, 2) > 3", 16, "one mean"),
        ("city like 'O_lo'", 10, "no _"),
        ("length(city, age) > 1", 0, ""),
        ("starts_with(city, city)", 0, ""),
        ("age in (1, null)", 11, ""),
        ("cast(age as text) = '3'", 12, "cast(x as number)"),
        ("case when smoker then age else city end = 1", 31, "cast"),
        ("age > 1_000", 7, "plain digits"),
    ],
)
def test_errors_point_to_the_place_and_say_what_to_do(text, position, hint):
    with pytest.raises(InvalidQuery) as caught:
        query_of(text).measure(SCHEMA)
    assert caught.value.position == position
    assert hint in caught.value.hint
    assert caught.value.text == text


def test_syntax_errors_come_at_once():
    with pytest.raises(InvalidQuery):
        fraction("age >")
    with pytest.raises(InvalidQuery):
        mean("age +", low=0, high=1)


def test_nulls_take_the_type_of_their_place():
    for text in ["null", "null = city", "coalesce(null, smoker)", "null is null", "null = null"]:
        fraction(text).measure(SCHEMA)
    mean("null", low=0, high=1).measure(SCHEMA)
