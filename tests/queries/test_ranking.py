"""AUC as a query: of an expression, and of a model."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier

from queries.generators import booleans, numbers
from queries.generators import written as spelled
from queries.wrong_types import check
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import Auc, ModelAuc, Reading, Schema, auc, gate, query_of
from surehold.queries.auc import divide_pairs

SCHEMA = Schema.of({"x": "float", "n": "int", "ill": "bool", "city": "str"})
X = np.arange(20.0).reshape(-1, 1)
MODEL = DummyClassifier().fit(X, X[:, 0] > 5)
OF_ILL = {"features": ["x", "n"], "target": "ill"}


def test_of_an_expression():
    query = auc(" (x) ", target="city='Oslo'")
    assert isinstance(query, Auc)
    assert query.canonical == str(query) == "auc(x, city = 'Oslo')"
    assert query == query_of("AUC( x , city = 'Oslo' )") == eval(repr(query))
    assert hash(query) == hash(query_of(query.canonical))
    assert query != auc("x", target="ill")
    pairs, positive, negative = query.parts
    assert pairs.canonical == "auc_pairs(x, city = 'Oslo')"
    assert positive.canonical == "fraction(city = 'Oslo' and not x is null)"
    assert negative.canonical == "fraction(city <> 'Oslo' and not x is null)"
    for part in query.parts:
        assert query_of(part.canonical) == part
        part.form(SCHEMA)
    assert sum(part.form(SCHEMA).price for part in query.parts) == 3
    assert json.loads(json.dumps(query.to_dict()))["canonical"] == query.canonical


def test_of_a_model():
    query = auc(MODEL, **OF_ILL)
    assert isinstance(query, ModelAuc)
    score = f"accuracy('{query.score.model.name}', ill in (false, true), x, n)"
    assert query.canonical == f"model_auc({score})"
    assert query == query_of(query.canonical) == auc(MODEL, **OF_ILL)
    assert hash(query) == hash(query_of(query.canonical))
    pairs, shares = query.parts
    assert pairs.canonical == f"model_pairs({score})"
    assert shares.canonical == "classes(ill in (false, true))"
    for part in query.parts:
        assert query_of(part.canonical) == part
    form = pairs.form(SCHEMA)
    assert (form.low, form.high, form.span, form.price, form.slots) == (0, 0.5, 1, 1, 1)
    assert form.needs == "low-sensitivity"
    form = shares.form(SCHEMA)
    assert (form.price, form.slots, form.labels) == (2, 3, ("false", "true", "other"))
    limited = gate(query, at_least=0.75)
    assert query_of(limited.canonical) == limited


@given(numbers, booleans)
def test_any_expression_reads_back(score, target):
    try:
        query = auc(spelled(score), target=spelled(target))
    except InvalidQuery:
        assume(False)
    assert query_of(query.canonical) == query
    for part in query.parts:
        assert query_of(part.canonical) == part


def test_what_is_put_together_has_to_be_small_enough_too():
    many = " and ".join(f"n > {i}" for i in range(165))
    with pytest.raises(InvalidQuery, match="together with what it needs, it is too large"):
        auc("x + 1 + 2 + 3", target=many)
    with pytest.raises(InvalidQuery, match="together with what it needs, it is too large"):
        query_of(f"auc(x + 1 + 2 + 3, {many})")
    deep = "x"
    for _ in range(48):
        deep = f"abs({deep})"
    with pytest.raises(InvalidQuery, match="50 levels"):
        auc(deep, target="ill")


@pytest.mark.parametrize("parameter", ["score", "target", "features", "classes", "takes"])
def test_wrong_types(parameter):
    check(auc, {"score": MODEL, **OF_ILL}, parameter)
    check(auc, {"score": "x", "target": "ill"}, parameter)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: auc(MODEL, target="ill"), "given with its features"),
        (lambda: auc(3, target="ill"), "an expression, or a model"),
        (lambda: auc("x", target="ill", features=["x"]), "ends in .onnx"),
        (
            lambda: auc(DummyClassifier().fit(X, X[:, 0] % 3), features=["x"], target="n"),
            "two classes",
        ),
    ],
)
def test_errors_that_help(make, match):
    with pytest.raises(InvalidInput, match=match):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("auc(", "expected a value"),
        ("auc(x)", "a score and a condition"),
        ("auc(x, ill, 3)", "expected '\\)'"),
        ("auc(x, ill) > 0.5", "stands alone"),
        ("model_auc(", "expected a value"),
        ("model_auc(x)", "given as its accuracy"),
        ("model_auc(loss(zero_one, 'm', ill in (false, true), x))", "given as its accuracy"),
        ("model_auc(accuracy('m', n in (1, 2, 3), x))", "two classes"),
        ("model_pairs(accuracy('m', n in (1, 2, 3), x))", "two classes"),
        ("classes(", "expected a value"),
        ("classes(n)", "classes must be listed"),
        ("classes(bins(n, 0, 1))", "classes must be listed"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(InvalidQuery, match=message):
        query_of(text)


def test_what_does_not_fit_the_columns():
    for query in (auc("city", target="ill"), auc("x", target="n"), auc("gone", target="ill")):
        with pytest.raises(InvalidQuery):
            [part.form(SCHEMA) for part in query.parts]


# ----------------------------------------------------------------------------- arithmetic


def reading(value, low, high):
    return Reading(value, (low, high))


def test_a_quotient_of_three_answers():
    found = divide_pairs(
        reading(0.2, 0.19, 0.21), reading(0.5, 0.49, 0.51), reading(0.5, 0.49, 0.51)
    )
    assert found.value == pytest.approx(0.8)
    assert found.interval == pytest.approx((0.19 / 0.25, 0.21 / 0.49**2))
    nobody = divide_pairs(reading(0.2, 0.19, 0.21), reading(0.0, 0.0, 0.1), reading(0.5, 0.4, 0.6))
    assert nobody == Reading(None, None)
    assert divide_pairs(Reading(None, None), reading(0.5, 0.4, 0.6), reading(0.5, 0.4, 0.6)) == (
        None, None)  # fmt: skip


unit = st.floats(0, 1)


@given(unit, unit, unit, unit)
def test_the_truth_is_in_the_interval(share, area, below, above):
    """For any share of positives and any AUC, with intervals that hold both ends of them."""
    negative = 1.0 - share
    pairs = area * share * negative
    parts = [
        reading(value, max(value - 0.3 * below, 0.0), value + 0.3 * above)
        for value in (pairs, share, negative)
    ]
    found = divide_pairs(*parts)
    if found.interval is None:
        assert min(part.interval[0] for part in parts[1:]) <= 0.0 or share * negative < 1e-300
        return
    low, high = found.interval
    slack = 1e-12 / max(share * negative, 1e-12)  # of pairs, which is rounded here
    assert 0.0 <= low <= found.value <= high <= 1.0
    assert low - slack <= area <= high + slack


@given(st.lists(st.tuples(unit, unit, unit), min_size=3, max_size=3))
def test_it_is_an_interval_or_nothing(parts):
    ordered = [sorted(part) for part in parts]
    found = divide_pairs(*(reading(middle, low, high) for low, middle, high in ordered))
    if found.interval is not None:
        low, high = found.interval
        assert 0.0 <= low <= found.value <= high <= 1.0
        assert math.isfinite(found.value)


def test_a_model_s_shares_are_negatives_first():
    query = auc(MODEL, **OF_ILL)
    shares = [reading(0.6, 0.59, 0.61), reading(0.4, 0.39, 0.41), reading(0.0, 0.0, 0.01)]
    told = query.derive([[reading(0.2, 0.19, 0.21)], shares])
    assert told["value"] == pytest.approx(0.2 / 0.24)
    assert told["kind"] == "estimate"
    assert told["range"] == [0.0, 1.0]
