"""Fits as queries: their texts, their scale, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.generators import booleans, numbers
from queries.generators import written as spelled
from queries.wrong_types import check
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import Fit, FitForm, Schema, fit, mean, query_of

SCHEMA = Schema.of({"x": "float", "n": "int", "ill": "bool", "city": "str"})
FEATURES = {"n": (18, 90), "x * 2": [-1, 1.5]}
LOGISTIC = {"kind": "logistic", "target": "ill", "features": FEATURES, "price": 100}
LINEAR = {"kind": "linear", "target": "x", "low": 0, "high": 1, "features": FEATURES, "price": 9}

TEXTS = {
    "fit(logistic, 100, 20, 0.001, fraction(ill), mean(n, 18, 90), mean(x * 2, -1, 1.5))": fit(
        **LOGISTIC
    ),
    "fit(linear, 9, 5, 0, mean(x, 0, 1), mean(n, 18, 90), mean(x * 2, -1, 1.5))": fit(
        **LINEAR, penalty=0, steps=5
    ),
    "fit(logistic, 1, 1, 1000000, fraction(city = 'Oslo'), mean(\"a b\", 0, 1e+20))": fit(
        "logistic", target="(city='Oslo')", features={'"a b"': (0, 1e20)}, price=1, steps=1,
        penalty=1e6,
    ),
}  # fmt: skip


@pytest.mark.parametrize("canonical", TEXTS)
def test_one_text_for_all_spellings(canonical):
    query = TEXTS[canonical]
    assert query.canonical == str(query) == query.text == canonical
    assert query_of(canonical) == query_of(canonical.replace(",", " , ")) == query
    assert hash(query_of(canonical)) == hash(query)
    assert isinstance(query_of(canonical), Fit)
    assert json.loads(json.dumps(query.to_dict()))["canonical"] == canonical
    with pytest.raises(FrozenInstanceError):
        query.price = 0


def test_equality():
    assert fit(**LOGISTIC) == fit(**{**LOGISTIC, "features": {"(n)": (18.0, 90), "x*2": (-1, 1.5)}})
    for change in ({"price": 101}, {"target": "not ill"}, {"steps": 21}, {"penalty": 0.01}):
        assert fit(**LOGISTIC) != fit(**{**LOGISTIC, **change})
    assert repr(fit(**LOGISTIC)) == "<fit: logistic on n, x * 2 for 100 answers>"


@given(booleans, numbers, numbers)
def test_any_expression_reads_back(condition, one, other):
    target, first, second = spelled(condition), spelled(one), spelled(other)
    features = {first: (0, 1), second: (-5, 5)}
    try:
        query = fit("logistic", target=target, features=features, price=5)
    except InvalidInput as error:
        assert error.required == "all different"  # noqa: PT017  # two spellings of one
        return
    assert query_of(query.canonical) == query
    straight = fit("linear", target=first, low=0, high=1, features={second: (0, 1)}, price=5)
    assert query_of(straight.canonical) == straight


def test_forms():
    form = fit(**LOGISTIC).form(SCHEMA)
    assert isinstance(form, FitForm)
    assert (form.price, form.slots, form.needs) == (100, 0, "statistical")
    assert form.clip == math.sqrt(3)
    assert [measure.canonical for measure in form.features] == [
        "mean(n, 18, 90)",
        "mean(x * 2, -1, 1.5)",
    ]
    assert (form.kind, form.penalty, form.steps) == ("logistic", 1e-3, 20)
    for wrong in ({"target": "n"}, {"target": "gone"}, {"features": {"city": (0, 1)}}):
        with pytest.raises(InvalidQuery):
            fit(**{**LOGISTIC, **wrong}).form(SCHEMA)


@given(
    st.lists(st.floats(-100, 100), min_size=3, max_size=3),
    st.floats(18, 90),
    st.floats(-0.5, 0.75),
)
def test_coefficients_in_the_units_of_the_features(scaled, n, x):
    """The same number whichever way it is worked out."""
    z = np.array([1.0, 2 * (n - 18) / 72 - 1, 2 * (2 * x + 1) / 2.5 - 1])
    expected = float(z @ scaled)
    intercept, slopes = fit(**LOGISTIC).in_units(scaled)
    assert list(slopes) == ["n", "x * 2"]
    found = intercept + slopes["n"] * n + slopes["x * 2"] * 2 * x
    assert found == pytest.approx(expected, abs=1e-9)
    # A linear target is on [-1, 1] as well: here from 0 to 1.
    intercept, slopes = fit(**LINEAR).in_units(scaled)
    found = intercept + slopes["n"] * n + slopes["x * 2"] * 2 * x
    assert found == pytest.approx(0.5 + 0.5 * expected, abs=1e-9)


def test_the_predictor_is_an_expression():
    predictor = fit(**LOGISTIC).predictor([0.5, -1.25, 2.0])
    assert predictor.count("least(greatest(") == 2
    asked = mean(predictor, -10, 10)
    assert query_of(asked.canonical) == asked
    asked.form(SCHEMA)


@pytest.mark.parametrize(
    "parameter", ["kind", "target", "features", "price", "low", "high", "penalty", "steps"]
)
def test_wrong_types(parameter):
    check(fit, LOGISTIC, parameter)
    check(fit, LINEAR, parameter)


@pytest.mark.parametrize("bounds", [None, 3, (1,), (1, 2, 3), (2, 1), ("a", "b"), (None, 1), "ab"])
def test_wrong_bounds(bounds):
    with pytest.raises(InvalidInput):
        fit(**{**LOGISTIC, "features": {"n": bounds}})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kind": "ridge"}, "logistic or linear"),
        ({"low": 0, "high": 1}, "left out: the target is a condition"),
        ({"features": ["n"]}, "a mapping of 1 to 1,000"),
        ({"features": {}}, "a mapping of 1 to 1,000"),
        ({"features": {"n": (0, 1), "(n)": (0, 2)}}, "all different"),
        ({"features": {"n": 3}}, "the bounds of 'n'"),
        ({"price": 0}, "price must be a whole number from 1 to 1,000,000"),
        ({"price": 2.0}, "price must be a whole number"),
        ({"price": True}, "price must be a whole number"),
        ({"steps": 10_001}, "steps must be a whole number from 1 to 10,000"),
        ({"penalty": -1e-9}, "from 0 to a million"),
        ({"penalty": math.nan}, "from 0 to a million"),
        ({"penalty": True}, "from 0 to a million"),
    ],
)
def test_errors_that_help(change, match):
    with pytest.raises(InvalidInput, match=match):
        fit(**{**LOGISTIC, **change})


def test_too_long_to_be_read_back():
    features = {f'"{letter * 120}{i}"': (0, 1) for i, letter in enumerate("abcdefghijkl" * 9)}
    with pytest.raises(InvalidQuery, match="longer than 10,000"):
        fit(**{**LOGISTIC, "features": features})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fit(", "logistic or linear"),
        ("fit(ridge, 1, 1, 0, fraction(ill), mean(x, 0, 1))", "logistic or linear"),
        ("fit(logistic", "needs its price"),
        ("fit(logistic, 1, 1)", "needs its penalty"),
        ("fit(logistic, n, 1, 0, fraction(ill), mean(x, 0, 1))", "price of a fit must be a number"),
        ("fit(logistic, 1.5, 1, 0, fraction(ill), mean(x, 0, 1))", "whole numbers"),
        ("fit(logistic, 1, 1.5, 0, fraction(ill), mean(x, 0, 1))", "whole numbers"),
        ("fit(logistic, 1, 1, 0)", "a target, and features"),
        ("fit(logistic, 1, 1, 0, fraction(ill))", "a target, and features"),
        ("fit(logistic, 1, 1, 0, ill, x)", "fraction\\(...\\) or mean"),
        ("fit(logistic, 1, 1, 0, mean(x, 0, 1), mean(x, 0, 1))", "a target, and features"),
        ("fit(linear, 1, 1, 0, fraction(ill), mean(x, 0, 1))", "a target, and features"),
        ("fit(linear, 1, 1, 0, mean(x, 0, 1), fraction(ill))", "a target, and features"),
        ("fit(logistic, 1, 1, 0, fraction(ill), mean(x, 0, 1)) > 3", "stands alone"),
        (
            "gate(fit(logistic, 1, 1, 0, fraction(ill), mean(x, 0, 1)), at_least, 1)",
            "single number",
        ),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(InvalidQuery, match=message):
        query_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "fit(logistic, 0, 1, 0, fraction(ill), mean(x, 0, 1))",
        "fit(logistic, 1, 1, -1, fraction(ill), mean(x, 0, 1))",
        "fit(logistic, 1, 1e6, 0, fraction(ill), mean(x, 0, 1))",
        "fit(logistic, 1, 1, 0, fraction(ill), mean(x, 0, 1), mean(x, 0, 2))",
    ],
)
def test_what_cannot_be_meant(text):
    with pytest.raises(InvalidInput):
        query_of(text)
