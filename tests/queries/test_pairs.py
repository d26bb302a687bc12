"""Statistics over pairs, as queries."""

import json
import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given

from queries.generators import numbers as number_trees
from queries.generators import written as spelled
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import (
    GRID_BITS,
    PairMeasure,
    Schema,
    auc_pairs,
    concordance,
    gini,
    kendall,
    query_of,
    variance,
)
from surehold.queries.expressions import Column

SCHEMA = Schema.of({"x": "float", "n": "int", "ill": "bool", "city": "str"})


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        (variance("( x )", low=10.0, high=6e1), "variance(x, 10, 60)"),
        (gini("x-1", -1, 1e20), "gini(x - 1, -1, 1e+20)"),
        (kendall("x", "N"), "kendall(x, N)"),
        (concordance("x", '"a b"'), 'concordance(x, "a b")'),
        (auc_pairs("0.5*x", target="city='Oslo'"), "auc_pairs(x * 0.5, city = 'Oslo')"),
    ],
)
def test_one_text_for_all_spellings(query, canonical):
    assert query.canonical == str(query) == canonical
    assert query_of(canonical) == query_of(f" {canonical.replace('(', ' ( ', 1)} ") == query
    assert hash(query_of(canonical)) == hash(query)
    assert eval(repr(query)) == query
    assert query.to_dict() == {
        "kind": query.kind,
        "text": query.text,
        "canonical": canonical,
    }
    assert json.loads(json.dumps(query.to_dict())) == query.to_dict()
    with pytest.raises(FrozenInstanceError):
        query.kind = "mean"


@given(number_trees, number_trees)
def test_any_expression_reads_back(one, other):
    for query in (kendall(spelled(one), spelled(other)), variance(spelled(one), -1, 1)):
        assert query_of(query.canonical) == query


def test_forms():
    found = {}
    for text in ("variance(x, 10, 60)", "gini(x, 10, 60)", "kendall(x, n)", "concordance(x, n)"):
        form = query_of(text).form(SCHEMA)
        found[text] = (form.low, form.high, form.span, form.bits)
        assert (form.price, form.slots, form.needs) == (1, 1, "low-sensitivity")
        assert form.high - form.low == form.span / 2
    assert found == {
        "variance(x, 10, 60)": (0, 1250, 2500, GRID_BITS - 1),
        "gini(x, 10, 60)": (0, 50, 100, GRID_BITS),
        "kendall(x, n)": (-1, 1, 4, 0),
        "concordance(x, n)": (0, 1, 2, 0),
    }
    form = auc_pairs("x", target="ill").form(SCHEMA)
    assert (form.low, form.high, form.span, form.bits, form.price) == (0, 0.5, 1, 0, 1)
    source = form.source
    assert isinstance(source, PairMeasure)
    assert (source.canonical, source.columns) == ("auc_pairs(x, ill)", {"x", "ill"})
    assert all(isinstance(operand, Column) and operand.holds for operand in source.operands)


@pytest.mark.parametrize("bounds", [(-1e150, 1e150), (0, 1e-150), (-1e150, -9e149)])
def test_extreme_bounds(bounds):
    for query in (variance("x", *bounds), gini("x", *bounds)):
        form = query.form(SCHEMA)
        assert 0 < form.high < form.span < math.inf


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (math.nan, 1), ("0", 1), (None, 1), (True, 2)])
def test_bounds_that_cannot_be_meant(bounds):
    for make in (variance, gini):
        with pytest.raises(InvalidInput):
            make("x", *bounds)


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("variance(x)", "two bounds", 10),
        ("gini(x, 10)", "two bounds", 10),
        ("variance(x, 1, n)", "high must be a plain number", 15),
        ("variance(x, 2, 1)", "above low", 10),
        ("kendall(x)", "kendall needs two expressions, but found '\\)'", 9),
        ("kendall(x, n, 3)", "expected '\\)'", 12),
        ("auc_pairs(x; ill)", "end of a statement", 11),
        ("kendall(x, n) > 0", "stands alone", 14),
        ("fraction(kendall(x, n) > 0)", "no function 'kendall'", 9),
    ],
)
def test_what_cannot_be_read(text, message, position):
    with pytest.raises(InvalidQuery, match=message) as caught:
        query_of(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("query", "message", "near"),
    [
        (variance("city", 0, 1), "expected a number", "city"),
        (kendall("x", "city"), "expected a number", "city"),
        (concordance("ill", "x"), "expected a number", "ill"),
        (auc_pairs("x", target="n"), "expected a boolean", "n)"),
        (auc_pairs("x", target="gone"), "there is no column 'gone'", "gone"),
    ],
)
def test_what_does_not_fit_the_columns(query, message, near):
    with pytest.raises(InvalidQuery, match=message) as caught:
        query.form(SCHEMA)
    assert query.text[caught.value.position :].startswith(near)


@pytest.mark.parametrize(
    "parts", [("least(x", "n), x"), ("x, n", "x"), ("x) + (n", "x"), ("", "x")]
)
def test_parts_that_reach_into_one_another(parts):
    with pytest.raises(InvalidQuery):
        kendall(*parts)


def test_not_a_text():
    with pytest.raises(InvalidInput):
        kendall("x", 3)
