"""Registered statistics, as queries."""

import json

import pytest

from holdfast.errors import InvalidInput, InvalidQuery
from holdfast.queries import CustomMeasure, Declared, Schema, query_of, statistic

SCHEMA = Schema.of({"x": "float"})
DECLARED = Declared.of(2, 0.5, -1, 1)


def test_by_name():
    query = statistic("drift")
    assert query == query_of("Statistic( 'drift' )") == eval(repr(query))
    assert (query.canonical, query_of(query.canonical)) == ("statistic('drift')", query)
    with pytest.raises(InvalidQuery, match="no statistic 'drift' is registered"):
        query.form(SCHEMA)


def test_as_registered():
    query = statistic("drift").resolved(DECLARED)
    assert query.canonical == "statistic('drift', 2, 0.5, -1, 1)"
    assert query_of(query.canonical) == query == query.resolved(DECLARED)
    assert query.to_dict() == {
        "kind": "statistic",
        "name": "drift",
        "text": "statistic('drift')",
        "canonical": query.canonical,
        "constant": 2.0,
        "power": 0.5,
        "low": -1.0,
        "high": 1.0,
    }
    assert json.loads(json.dumps(query.to_dict())) == query.to_dict()


def test_forms():
    form = statistic("drift").resolved(DECLARED).form(SCHEMA)
    assert (form.price, form.slots, form.needs) == (1, 1, "low-sensitivity")
    assert (form.low, form.high, form.power) == (-1, 1, 0.5)
    assert isinstance(form.source, CustomMeasure)
    assert form.source.form == form
    for round in (1, 100, 10**9):
        assert 2 * round**0.5 < form.span_at(round) < 2.01 * round**0.5


def test_an_analyst_declares_nothing():
    claimed = query_of("statistic('drift', 1, 1, 0, 1)")
    with pytest.raises(InvalidQuery, match="other numbers"):
        claimed.resolved(DECLARED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("statistic(drift)", "in quotes"),
        ("statistic('a b')", "letters, digits"),
        ("statistic('drift', 1)", "four numbers"),
        ("statistic('drift', 1, 1, 0, x)", "of numbers"),
        ("statistic('drift', 1, 2, 0, 1)", "power must be"),
        ("statistic('drift', 1, 1, 0, 2)", "constant must be at least high - low = 2"),
        ("statistic('drift') > 1", "stands alone"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(InvalidQuery, match=message):
        query_of(text)


def test_not_a_name():
    with pytest.raises(InvalidInput):
        statistic(3)
