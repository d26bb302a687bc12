"""Rates and gates: what they ask for, and the arithmetic on intervals."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from queries.generators import booleans, numbers
from queries.generators import written as spelled
from queries.wrong_types import check
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import Reading, Schema, difference, fraction, gate, mean, query_of, rate
from surehold.queries.derived import above, quotient

SCHEMA = Schema.of({"x": "float", "n": "int", "ill": "bool", "city": "str"})

TEXTS = {
    "rate(ill, city = 'Oslo')": rate("( ill )", given="city='Oslo'"),
    "rate(x - 1, n > 3, -1, 1e+20)": rate("x-1", given="n>3.0", low=-1, high=1e20),
    "gate(fraction(ill), at_least, 0.8)": gate("ill", at_least=0.8),
    "gate(mean(x, 0, 10), at_most, -0.5)": gate(mean("x", 0, 10), at_most=-0.5),
    "gate(rate(ill, n > 3), at_most, 1)": gate(rate("ill", given="n > 3"), at_most=True + 0),
    "gate(difference(ill, n > 3), at_least, 0)": gate(difference("ill", "n > 3"), at_least=-0.0),
    "gate(kendall(x, n), at_least, 0.5)": gate("kendall(x, n)", at_least=0.5),
    "gate(auc(x, ill), at_least, 0.75)": gate("auc(x, ill)", at_least=0.75),
    "gate(statistic('drift'), at_most, 1)": gate("statistic('drift')", at_most=1),
}


@pytest.mark.parametrize("canonical", TEXTS)
def test_one_text_for_all_spellings(canonical):
    query = TEXTS[canonical]
    assert query.canonical == str(query) == canonical
    assert query_of(canonical) == query_of(f"  {canonical.replace('(', ' ( ', 1)} ") == query
    assert hash(query_of(canonical)) == hash(query)
    assert query != fraction("ill")
    assert json.loads(json.dumps(query.to_dict()))["canonical"] == canonical
    with pytest.raises(FrozenInstanceError):
        query.text = "other"


def test_equality_is_of_what_is_asked():
    assert rate("ill", given="n > 3") == rate("(ill)", given="n>3.0")
    assert rate("ill", given="n > 3") != rate("ill", given="n > 4")
    assert rate("x", given="ill", low=0, high=1) != rate("x", given="ill", low=0, high=2)
    assert gate("ill", at_least=0.5) != gate("ill", at_most=0.5) != gate("ill", at_most=0.4)
    assert len({gate("ill", at_least=0.5), gate("(ill)", at_least=0.50)}) == 1
    assert repr(rate("ill", given="n > 3")) == "rate('ill', given='n > 3')"
    assert repr(rate("x", given="ill", low=0, high=9)) == "rate('x', given='ill', low=0, high=9)"
    assert repr(gate("ill", at_most=0.5)) == "gate(fraction('ill'), at_most=0.5)"


@given(booleans, booleans, numbers)
def test_any_expression_reads_back(one, other, number):
    try:
        queries = [
            rate(spelled(one), given=spelled(other)),
            rate(spelled(number), given=spelled(one), low=-1, high=1),
        ]
    except InvalidQuery:
        assume(False)
    for query in queries:
        assert query_of(query.canonical) == query
        for part in query.parts:  # which a ledger has by themselves
            assert query_of(part.canonical) == part
        limited = gate(query, at_least=0.5)
        assert query_of(limited.canonical) == limited


def test_the_parts_of_a_rate():
    both, given_ = rate("ill", given="n > 3").parts
    assert (both.canonical, given_.canonical) == ("fraction(ill and n > 3)", "fraction(n > 3)")
    amount, share = rate("x", given="n > 3", low=-1, high=4).parts
    assert amount.canonical == "mean(case when n > 3 then x else -1 end, -1, 4)"
    assert share.canonical == "fraction(n > 3)"
    query = rate("x", given="n > 3", low=-1, high=4)
    assert (query.low, query.high) == (-1, 4)
    assert gate(query, at_least=2).parts == (query,)


def test_what_is_put_together_has_to_be_small_enough_too():
    """Else it would be answered, and the ledger could not be read any more."""
    many = " and ".join(f"n > {i}" for i in range(150))
    fraction(many)
    with pytest.raises(InvalidQuery, match="together with what it needs, it is too large"):
        rate(many, given=many.replace(">", "<"))
    with pytest.raises(InvalidQuery, match="together with what it needs, it is too large"):
        query_of(f"rate({many}, {many.replace('>', '<')})")
    deep = "x"
    for _ in range(49):
        deep = f"abs({deep})"
    mean(deep, 0, 1)
    with pytest.raises(InvalidQuery, match="50 levels"):
        rate(deep, given="ill", low=0, high=1)
    names = [f'"{letter * 120}"' for letter in "abcdefghijklmnopqrstuvwxyz"] * 2
    with pytest.raises(InvalidQuery, match="longer than 10,000"):
        rate(" and ".join(names), given=" or ".join(names))


@pytest.mark.parametrize("parameter", ["text", "given", "low", "high"])
def test_wrong_types_in_a_rate(parameter):
    check(rate, {"text": "ill", "given": "n > 3"}, parameter)
    check(rate, {"text": "x", "given": "n > 3", "low": 0, "high": 1}, parameter)


@pytest.mark.parametrize("parameter", ["query", "at_least", "at_most"])
def test_wrong_types_in_a_gate(parameter):
    limit = "at_least" if parameter == "at_least" else "at_most"
    check(gate, {"query": "ill", limit: 0.5}, parameter)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: gate("ill"), "one of at_least and at_most"),
        (lambda: gate("ill", at_least=0, at_most=1), "one of at_least and at_most"),
        (lambda: gate("histogram(ill)", at_least=0), "a single number"),
        (lambda: gate("select(lowest, 1, ill, n > 3)", at_least=0), "a single number"),
        (lambda: gate(gate("ill", at_least=0), at_least=0), "a single number"),
        (lambda: gate("ill", at_least=1e151), "to 1e\\+150"),
        (lambda: gate("ill", at_least=math.nan), "a number from"),
        (lambda: rate("x", given="ill", low=1, high=0), "above low"),
        (lambda: rate("x", given="ill", low=1), "high"),
    ],
)
def test_errors_that_help(make, match):
    with pytest.raises(InvalidInput, match=match):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate(", "expected a value"),
        ("rate(ill)", "needs a condition"),
        ("rate(ill,)", "expected a value"),
        ("rate(ill, n > 3, 0)", "two bounds"),
        ("rate(x, ill, 1, 0)", "above low"),
        ("rate(ill, n > 3) > 0.5", "stands alone"),
        ("rate(rate(ill, ill), ill)", "no function 'rate'"),
        ("gate(", "expected a value"),
        ("gate(ill", "expected ','"),
        ("gate(ill,", "at_least or at_most"),
        ("gate(ill, above, 3)", "at_least or at_most"),
        ("gate(ill, at_least", "expected ','"),
        ("gate(ill, at_least,", "expected a value"),
        ("gate(ill, at_least, n)", "a plain number"),
        ("gate(ill, at_least, 1e200)", "up to 1e\\+150"),
        ("gate(histogram(ill), at_least, 1)", "a single number"),
        ("gate(gate(ill, at_least, 1), at_least, 1)", "a single number"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(InvalidQuery, match=message):
        query_of(text)


# ----------------------------------------------------------------------------- arithmetic


def reading(value, low, high):
    return Reading(value, (low, high))


unit = st.floats(0, 1)


@st.composite
def intervals(draw):
    """A true number on [0, 1] and a reading whose interval has it."""
    truth = draw(st.fractions(0, 1, max_denominator=10**6))
    low = draw(st.floats(0, float(truth)))
    high = draw(st.floats(min(float(truth), 1.0), 1))
    low = low if Fraction(low) <= truth else math.nextafter(low, -1)
    high = high if Fraction(high) >= truth else math.nextafter(high, 2)
    value = draw(st.floats(max(low, 0.0), max(high, low, 0.0)))
    return truth, reading(value, low, high)


@given(intervals(), intervals(), st.sampled_from([(0.0, 1.0), (-5.0, 7.0), (1e6, 1e6 + 1)]))
def test_a_quotient_holds_what_the_intervals_hold(first, second, bounds):
    """Whatever numbers lie in them: also at the ends of the arithmetic."""
    low, high = bounds
    (part, amount), (share, among) = first, second
    assume(part <= share)
    span = high - low
    scaled = reading(
        amount.value * span,
        math.nextafter(amount.interval[0] * span, -1),
        math.nextafter(amount.interval[1] * span, math.inf),
    )
    found = quotient(scaled, among, low, high)
    if found.interval is None:
        assert among.interval[0] <= 0
        assert found.value is None
        return
    bottom, top = map(Fraction, found.interval)
    assert low <= bottom <= found.value <= top <= high
    if share > 0:
        assert bottom <= Fraction(low) + Fraction(span) * part / share <= top


@given(st.tuples(unit, unit), st.tuples(unit, unit), unit, unit)
def test_a_quotient_is_an_interval_or_nothing(one, other, amount, share):
    """Also of intervals that can't both be right."""
    found = quotient(reading(amount, *sorted(one)), reading(share, *sorted(other)), 2.0, 3.0)
    if found.interval is not None:
        assert 2.0 <= found.interval[0] <= found.value <= found.interval[1] <= 3.0


def test_a_rate_is_undetermined_where_there_may_be_nobody():
    query = rate("ill", given="n > 3")
    told = query.derive([[reading(0.1, 0.0, 0.2)], [reading(0.1, 0.0, 0.2)]])
    assert told == {"kind": "estimate", "value": None, "interval": None, "range": [0.0, 1.0]}
    told = query.derive([[reading(0.1, 0.05, 0.15)], [reading(0.4, 0.3, 0.5)]])
    assert told["value"] == pytest.approx(0.25)
    assert told["interval"] == pytest.approx([0.1, 0.5])
    mean_ = rate("x", given="n > 3", low=10, high=20)
    told = mean_.derive([[reading(12, 11, 13)], [reading(0.5, 0.4, 0.6)]])
    assert told["value"] == pytest.approx(14)
    assert told["interval"] == pytest.approx([10 + 1 / 0.6, 10 + 3 / 0.4])
    assert told["range"] == [10.0, 20.0]


def test_above():
    assert above(reading(3.0, 2.0, 4.0), 0.0) == reading(3.0, 2.0, 4.0)
    found = above(reading(3.0, 2.0, 4.0), 1.0)
    assert found.interval[0] < 1.0 < 3.0 < found.interval[1]
    assert above(Reading(None, None), 1.0) == Reading(None, None)


@pytest.mark.parametrize(
    ("interval", "at_least", "at_most"),
    [
        ((0.5, 0.6), "pass", "undecided"),
        ((0.3, 0.5), "undecided", "pass"),
        ((0.5, 0.5), "pass", "pass"),
        ((0.3, 0.4), "fail", "pass"),
        ((0.6, 0.7), "pass", "fail"),
        ((0.4, 0.6), "undecided", "undecided"),
        (None, "undecided", "undecided"),
    ],
)
def test_verdicts(interval, at_least, at_most):
    """The limit itself is on the right side of both."""
    value = None if interval is None else interval[0]
    parts = [[Reading(value, interval)]]
    told = gate("ill", at_least=0.5).derive(parts)
    assert told == {
        "kind": "verdict",
        "verdict": at_least,
        "side": "at_least",
        "limit": 0.5,
        "value": value,
        "interval": None if interval is None else list(interval),
    }
    assert gate("ill", at_most=0.5).derive(parts)["verdict"] == at_most
