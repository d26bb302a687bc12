"""Differences of two rates: what they read, and what follows from the rates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold as sh
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import RateDifference, Reading, query_of

WEEK = "difference(rate(bought, week = 46), rate(bought, week = 45))"
ENDS = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)).map(sorted)


def test_one_query_however_it_is_made():
    made = sh.difference(sh.rate("bought", given="week = 46"), sh.rate("bought", given="week=45"))
    assert made == query_of(WEEK)
    assert (made.canonical, query_of(made.canonical)) == (WEEK, made)
    assert eval(repr(made), {"difference": sh.difference, "rate": sh.rate}) == made
    assert [part.canonical for part in made.parts] == [
        "rate(bought, week = 46)",
        "rate(bought, week = 45)",
    ]
    assert (made.low, made.high) == (-1.0, 1.0)
    assert query_of("difference(rate(x, a, 0, 10), rate(y, b, 0, 10))").high == 10.0


@pytest.mark.parametrize(
    "text",
    [
        "difference(rate(x, a), b)",
        "difference(a, rate(x, b))",
        "difference(rate(x, a, 0, 10), rate(x, b))",
        "difference(rate(x, a, 0, 10), rate(x, b, 0, 20))",
        "difference(gate(x, at_least, 0.5), rate(x, b))",
    ],
)
def test_only_rates_of_one_range(text):
    with pytest.raises(InvalidQuery):
        query_of(text)
    with pytest.raises(InvalidInput):
        sh.difference(sh.rate("x", given="a"), "b")


@given(ENDS, ENDS)
def test_the_interval_holds_every_difference_of_what_it_follows_from(plus, minus):
    (low, value, high), (bottom, other, top) = plus, minus
    query = query_of(WEEK)
    assert isinstance(query, RateDifference)
    found = query.estimate([Reading(value, (low, high)), Reading(other, (bottom, top))])
    assert found.interval is not None
    assert found.interval[0] <= low - top
    assert found.interval[1] >= high - bottom
    assert found.interval[0] >= -1.0
    assert found.interval[1] <= 1.0
    assert query.estimate([Reading(None, None), Reading(other, (bottom, top))]).value is None


def test_both_guards_answer_it(tmp_path):
    columns = {"week": "int", "bought": "bool"}
    records = [{"week": 45 + i % 2, "bought": i // 2 % 10 < 2 + 2 * (i % 2)} for i in range(4_000)]
    plan = sh.plan(n0=2_000, n=20_000, alpha=0.2, beta=0.05)
    for guard in ({"beta": 0.05}, {"plan": plan}):
        with sh.create(tmp_path / next(iter(guard)), columns=columns, **guard) as dataset:
            dataset.append(records)
            session = dataset.session()
            found = session.ask(WEEK)
            again = session.ask(WEEK)
            assert (again.interval, again.value) == (found.interval, found.value)
            low, high = found.interval
            assert -1.0 <= low <= 0.2 <= high <= 1.0
            none = session.ask("difference(rate(bought, week = 46), rate(bought, week = 1))")
            assert none.value is None
            dataset.verify()
            limit = 0 if "beta" in guard else -1  # what either can decide
            assert session.ask(sh.gate(WEEK, at_least=limit)).verdict == "pass"


def test_side_tables_cover_both_rates(tmp_path):
    columns = {"id": "int", "week": "int", "label": "int"}
    records = [{"id": i, "week": 45 + i % 2, "label": i % 3} for i in range(400)]
    (tmp_path / "run.csv").write_text("id,answer\n" + "".join(f"{i},{i % 3}\n" for i in range(200)))
    with sh.create(tmp_path / "data", beta=0.05, columns=columns, id="id") as dataset:
        dataset.append(records)
        text = "difference(rate(p.answer = label, week = 46), rate(p.answer = label, week = 45))"
        found = dataset.session().ask(text, tables={"p": tmp_path / "run.csv"})
        # All of those that it covers are right, in both weeks, and no other counts.
        assert found.value == 0.0
        assert "covers" in str(found)
        dataset.verify()
