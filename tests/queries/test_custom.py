"""Registered statistics, as queries."""

import json
import math
from fractions import Fraction

import pytest

from surehold.data.statistics import unit_of
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import CustomMeasure, Declared, Schema, query_of, statistic
from surehold.queries.custom import MOST

SCHEMA = Schema.of({"x": "float"})
DECLARED = Declared.of(2, 0.5, -1, 1)


def test_by_name():
    query = statistic("drift")
    assert query == query_of("Statistic( 'drift' )") == eval(repr(query))
    assert (query.canonical, query_of(query.canonical)) == ("statistic('drift')", query)
    with pytest.raises(InvalidQuery, match="no statistic 'drift' is registered"):
        query.form(SCHEMA)


def test_as_registered():
    query = statistic("drift").resolve(DECLARED)
    assert query.canonical == "statistic('drift', 2, 0.5, -1, 1)"
    assert query_of(query.canonical) == query == query.resolve(DECLARED)
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
    form = statistic("drift").resolve(DECLARED).form(SCHEMA)
    assert (form.price, form.slots, form.needs) == (1, 1, "low-sensitivity")
    assert (form.low, form.high, form.power) == (-1, 1, 0.5)
    assert isinstance(form.source, CustomMeasure)
    assert form.source.form == form
    for round in (1, 100, 10**9):
        assert 2 * round**0.5 < form.span_at(round) < 2.01 * round**0.5


@pytest.mark.parametrize("exponent", [0, 20, 41, 42, 45, 52])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (0.1, 0.7)])
def test_a_unit_moves_by_what_is_charged_at_any_size(exponent, low, high):
    """Exactly: results that are constant / t apart, wherever they lie, and off by half an ulp."""
    measure = CustomMeasure("drift", Declared.of(high - low, 1, low, high), "")
    t, reach = 2**exponent, Fraction(high) - Fraction(low)
    allowed = Fraction(measure.declared.constant) / t
    for i in range(64):
        first = float(Fraction(low) + (reach - allowed) * i / 64)
        for second in (float(Fraction(first) + allowed), math.nextafter(first, math.inf)):
            moved = Fraction(second) - Fraction(first)
            units = [unit_of(measure, value, t) for value in (first, second)]
            assert abs(units[1] - units[0]) <= max(Fraction(1), moved / allowed) / t
            if t <= MOST and high == 1.0 and low == 0.0:  # rounded to a double, and yet covered
                assert abs(units[1] - units[0]) <= Fraction(1, t)


def test_sizes_beyond_are_refused():
    measure = CustomMeasure("drift", Declared.of(1, 1, 0, 1), "statistic('drift', 1, 1, 0, 1)")
    measure.check_round(MOST)
    with pytest.raises(InvalidInput, match="round"):
        measure.check_round(MOST + 1)
    CustomMeasure("drift", DECLARED, "").check_round(MOST**2)


def test_an_analyst_declares_nothing():
    claimed = query_of("statistic('drift', 1, 1, 0, 1)")
    with pytest.raises(InvalidQuery, match="other numbers"):
        claimed.resolve(DECLARED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("statistic(drift)", "in quotes"),
        ("statistic('a b')", "letters, digits"),
        ("statistic('drift', 1)", "four numbers"),
        ("statistic('drift', 1, 1, 0, x)", "of plain numbers"),
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
