"""Means by group: a histogram and its totals."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.generators import numbers
from queries.generators import written as spelled
from queries.wrong_types import check
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import GroupMeans, Reading, Schema, means, query_of

SCHEMA = Schema.of({"x": "float", "n": "int", "ill": "bool", "city": "str in ('Oslo', 'Rome')"})

TEXTS = {
    "means(x, 0, 100, city)": means("(x)", 0, 100, by="city"),
    "means(x * 2, -1, 1, city in ('Oslo', 'Paris'))": means(
        "x*2", -1, 1, by="city", cells=["Oslo", "Paris"]
    ),
    "means(x, 0, 1, bins(n, 0, 18, 65))": means("x", 0, 1, by="n", bins=[0, 18, 65]),
    "means(x, 0, 1, city, ill)": means("x", 0, 1, by=["city", "ill"]),
    "means(x, 0, 1, bins(n, 0 to 100 by 10), ill)": means(
        "x", 0, 1, by=("bins(n, 0 to 100 by 10)", "ill")
    ),
}


@pytest.mark.parametrize("canonical", TEXTS)
def test_one_text_for_all_spellings(canonical):
    query = TEXTS[canonical]
    assert isinstance(query, GroupMeans)
    assert query.canonical == str(query) == canonical
    assert query_of(canonical) == query_of(canonical.replace(",", " , ")) == query
    assert hash(query_of(canonical)) == hash(query)
    assert eval(repr(query)) == query
    assert json.loads(json.dumps(query.to_dict()))["canonical"] == canonical
    counts, amounts = query.parts
    inside = canonical.removeprefix("means")
    assert amounts.canonical == f"totals{inside}"
    assert counts.canonical.startswith("histogram(")
    for part in query.parts:
        assert query_of(part.canonical) == part
    forms = [part.form(SCHEMA) for part in query.parts]
    assert [form.price for form in forms] == [2, 2]
    assert forms[0].labels == forms[1].labels


@given(numbers)
def test_any_expression_reads_back(number):
    query = means(spelled(number), -1, 1, by="ill")
    assert query_of(query.canonical) == query
    for part in query.parts:
        assert query_of(part.canonical) == part


@pytest.mark.parametrize("parameter", ["text", "low", "high", "by", "cells", "bins"])
def test_wrong_types(parameter):
    check(means, {"text": "x", "low": 0, "high": 1, "by": "city"}, parameter)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: means("x", 1, 0, by="city"), "above low"),
        (lambda: means("x", 0, 1, by=None), "what to sort records by"),
        (lambda: means("x", 0, 1, by=[]), "what to sort records by"),
        (lambda: means("x", 0, 1, by={"city"}), "what to sort records by"),
        (lambda: means("x", 0, 1, by="city", cells=["a"], bins=[0, 1]), "given once"),
    ],
)
def test_errors_that_help(make, match):
    with pytest.raises(InvalidInput, match=match):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("means(", "expected a value"),
        ("means(x)", "two bounds"),
        ("means(x, 0, 1)", "."),
        ("means(x, 1, 0, city)", "above low"),
        ("means(x, 0, 1, city, city, city, city, city)", "4 axes"),
        ("means(x, 0, 1, city) > 3", "stands alone"),
        ("gate(means(x, 0, 1, city), at_least, 1)", "a single number"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(InvalidQuery, match=message):
        query_of(text)


def reading(value, low, high):
    return Reading(value, (low, high))


def test_a_number_for_each_cell():
    query = means("x", 10, 20, by="ill")
    shares = [reading(0.5, 0.4, 0.6), reading(0.1, 0.0, 0.2), reading(0.4, 0.3, 0.5)]
    amounts = [reading(2.0, 1.0, 3.0), reading(0.5, 0.0, 1.0), reading(4.0, 3.0, 5.0)]
    told = query.derive([shares, amounts])
    assert told["kind"] == "means"
    assert told["range"] == [10.0, 20.0]
    assert told["values"] == [pytest.approx(14.0), None, pytest.approx(20.0)]
    assert told["intervals"][0] == pytest.approx([10 + 1 / 0.6, 10 + 3 / 0.4])
    assert told["intervals"][1] is None
    assert told["intervals"][2] == pytest.approx([16.0, 20.0])
    with pytest.raises(ValueError, match="zip"):
        query.derive([shares, amounts[:2]])


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 6), min_size=1, max_size=4))
def test_intervals_are_intervals(cells):
    query = means("x", -3, 5, by="ill")
    shares, amounts = [], []
    for cell in cells:
        low, value, high = sorted(cell[:3])
        shares.append(reading(value, low, high))
        low, value, high = sorted(cell[3:])
        amounts.append(reading(8 * value, 8 * low, 8 * high))
    told = query.derive([shares, amounts])
    for value, interval in zip(told["values"], told["intervals"], strict=True):
        assert (value is None) == (interval is None)
        if interval is not None:
            assert -3.0 <= interval[0] <= value <= interval[1] <= 5.0
