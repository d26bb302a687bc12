"""plan() and compare(): consistent in every direction, and fixed once made."""

import dataclasses
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.soak import length
from surehold import InvalidInput, Plan, Unreachable, compare, plan
from surehold.theory.certificates import CERTIFICATES

BETA = 0.05


@pytest.mark.parametrize("batches", [None, 1, 2, 7])
@pytest.mark.parametrize("certificate", [None, "sharp", "split", "ours-n", "adaptive"])
def test_the_three_questions_agree(batches, certificate):
    if batches is None and certificate == "ours-n":
        return  # does not hold there; tested to be refused
    how = {"beta": BETA, "batches": batches, "certificate": certificate}
    by_alpha = plan(n0=50_000, n=100_000, alpha=0.15, **how)
    assert by_alpha.width <= 0.15
    by_queries = plan(n0=50_000, n=100_000, queries=by_alpha.queries, **how)
    assert by_queries.width == pytest.approx(by_alpha.width, rel=1e-9)
    by_records = plan(queries=by_alpha.queries, alpha=0.15, growth=2, **how)
    assert by_records.n <= 100_000
    assert by_records.n == pytest.approx(100_000, rel=0.01)
    assert by_records.width <= 0.15
    assert [p.solved_for for p in (by_alpha, by_queries, by_records)] == [
        "queries",
        "width",
        "records",
    ]


@settings(max_examples=length(30, full=100))
@given(
    n0=st.integers(10, 10**7),
    growth=st.integers(1, 50),
    beta=st.floats(1e-9, 0.9),
    batches=st.none() | st.integers(1, 60),
    queries=st.integers(1, 10**6),
)
def test_survives_json(n0, growth, beta, batches, queries):
    try:
        solved = plan(n0=n0, n=n0 * growth, queries=queries, beta=beta, batches=batches)
    except Unreachable:
        return
    text = solved.to_json()
    assert Plan.from_json(text) == solved
    assert Plan.from_dict(json.loads(text)) == solved
    assert math.fsum(solved.terms.values()) == pytest.approx(solved.width, rel=1e-9)
    assert 0.0 < solved.width < 1.0


def test_a_plan_is_frozen():
    solved = plan(n0=1_000, n=3_000, alpha=0.2, beta=BETA)
    with pytest.raises(dataclasses.FrozenInstanceError):
        solved.width = 0.1
    with pytest.raises(TypeError):
        solved.terms["noise"] = 0.0
    assert hash(solved) == hash(Plan.from_json(solved.to_json()))


@pytest.mark.parametrize(
    "change",
    [
        {"paces": {"x": 1}},
        {"paces": 5},
        {"assumptions": None},
        {"beta": math.nan},
        {"width": -1},
        {"queries": "many"},
        {"queries": 2.5},
        {"format": 2},
        {"certificate": "best"},
        {"certificate": ["sharp"]},
        {"terms": [1]},
        {"solved_for": "fun"},
    ],
)
def test_a_doctored_plan_is_refused(change):
    values = plan(n0=1_000, n=3_000, alpha=0.2, beta=BETA).to_dict()
    with pytest.raises(InvalidInput):
        Plan.from_dict({**values, **change})


@pytest.mark.parametrize("n0", [1_000, 1_500, 7_777, 500_000])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_the_budget_admits_the_queries_it_stands_for(n0, alpha):
    """In exact arithmetic on the numbers of the plan, at each of the three paces."""
    n = 3 * n0
    try:
        solved = plan(n0=n0, n=n, alpha=alpha, beta=BETA)
    except Unreachable:
        return
    room = Fraction(solved.budget) * Fraction(solved.sigma) ** 2
    assert Fraction(solved.paces.at_n, n**2) <= room
    assert Fraction(solved.paces.at_n0, n0**2) <= room
    assert Fraction(solved.paces.evenly, n0 * n) <= room
    assert Fraction(solved.max_queries + 1, n**2) > room


def test_a_batch_plan_tells_its_schedule():
    schedule = plan(n0=10, n=30, queries=7, batches=3, beta=0.9, certificate="split").schedule()
    assert schedule.rounds.tolist() == [10, 20, 30]
    assert schedule.counts.tolist() == [3, 2, 2]
    assert plan(n0=1_000, n=3_000, alpha=0.2, beta=BETA).schedule() is None


@pytest.mark.parametrize("broken", ["[]", "{}", '{"format": 2}', '{"format": 1, "n": 3}'])
def test_a_broken_plan_is_refused(broken):
    with pytest.raises(InvalidInput):
        Plan.from_json(broken)


@pytest.mark.parametrize("text", ["", "nonsense", "{"])
def test_text_that_is_no_json_is_refused(text):
    with pytest.raises(InvalidInput, match="JSON"):
        Plan.from_json(text)


def test_an_adaptive_plan_has_a_budget_and_paces():
    solved = plan(n0=1_000, n=3_000, alpha=0.2, beta=BETA)
    assert solved.batches is None
    assert solved.max_queries == solved.queries == solved.paces.at_n
    assert solved.paces.at_n0 == solved.queries // 9
    assert solved.paces.evenly == solved.queries // 3
    assert solved.budget == pytest.approx(solved.queries / (3_000 * solved.sigma) ** 2)
    assert any("filter" in line for line in solved.assumptions)


def test_a_batch_plan_has_neither():
    solved = plan(n0=1_000, n=3_000, alpha=0.2, beta=BETA, batches=3)
    assert (solved.budget, solved.max_queries, solved.paces) == (None, None, None)
    assert any("fixed before" in line for line in solved.assumptions)


def test_the_default_is_the_tightest_that_answers_at_once():
    for batches in (None, 1, 3):
        question = {"n0": 30_000, "n": 90_000, "alpha": 0.15, "beta": BETA, "batches": batches}
        chosen = plan(**question)
        certificates = compare(**question)[: len(CERTIFICATES)]  # the last row is the other guard
        prompt = [e for e in certificates if e.is_useful and e.is_prompt]
        assert chosen.queries == max(entry.queries for entry in prompt)


def test_compare_has_an_entry_for_each_certificate():
    entries = compare(n0=30_000, n=90_000, alpha=0.15, beta=BETA)
    assert [entry.certificate for entry in entries] == [*CERTIFICATES, "surprise"]
    for entry in entries:
        values = (entry.queries, entry.width, entry.terms, entry.constants, entry.n0, entry.n)
        if entry.is_useful:
            assert None not in values
            json.dumps(entry.to_dict(), allow_nan=False)
        else:
            assert set(values) == {None}
            assert entry.reason


def test_compare_says_why_a_bound_gives_nothing():
    reasons = {
        entry.certificate: entry.reason
        for entry in compare(n0=30_000, n=90_000, alpha=0.02, beta=BETA, batches=3)
    }
    assert reasons["sharp"] is None
    assert "out of reach" in reasons["jlnrss"]


@pytest.mark.parametrize(
    ("question", "better"),
    [
        ({"queries": 1, "alpha": 0.05, "batches": 1}, True),
        ({"n0": 1_000, "n": 1_000, "queries": 2}, True),
        ({"n0": 10**6, "n": 10**6, "alpha": 0.1}, False),
    ],
)
def test_advice_names_the_surprise_guard_exactly_when_it_is_better(question, better):
    solved = plan(**question, beta=BETA)
    other = compare(**question, beta=BETA)[-1]
    lines = [line for line in solved.advice if "The surprise guard would give" in line]
    assert bool(lines) is better
    for line in lines:
        assert line.endswith(
            f"surehold create NAME --beta 0.05 --claims {other.queries} --like FILE"
        )


def test_says_what_waiting_would_give():
    solved = plan(n0=50_000, n=500_000, alpha=0.1, beta=BETA, batches=4)
    waited = plan(n0=50_000, n=500_000, alpha=0.1, beta=BETA, batches=1)
    (line,) = [line for line in solved.advice if "Waiting" in line]
    assert f"{waited.queries:,} queries instead of {solved.queries:,} queries" in line
    assert not any("Waiting" in line for line in waited.advice)


def test_advice_says_nothing_of_waiting_where_all_records_are_there():
    for solved in (
        plan(n0=1_500, n=1_500, alpha=0.1, beta=BETA),
        plan(n0=500, n=1_500, alpha=0.1, beta=BETA, batches=1),
    ):
        assert "The surprise guard" in solved.advice[0]
        assert not any("wait" in line for line in solved.advice)


@pytest.mark.parametrize("asked", [{"n0": 500, "n": 1_500}, {"alpha": 0.3, "growth": 3}])
def test_who_asks_for_queries_is_told_when_they_fit(asked):
    solved = plan(queries=100, beta=BETA, **asked)
    (line,) = [line for line in solved.advice if "fit if they are asked once all" in line]
    assert "evenly as the data grows, plan for 300; at any time, for 900." in line
    assert plan(queries=300, beta=BETA, n0=500, n=1_500).paces.evenly == 100
    assert plan(queries=900, beta=BETA, n0=500, n=1_500).paces.at_n0 == 100


def test_a_beta_that_looks_like_a_confidence_is_questioned():
    assert any(
        "Did you mean 0.05?" in line for line in plan(n0=900, n=900, queries=5, beta=0.95).advice
    )


def test_split_plans_warn_that_answers_may_be_late():
    solved = plan(n0=1_000, n=9_000, alpha=0.2, beta=BETA, certificate="split")
    assert any("wait" in line for line in solved.advice)
    assert solved.sigma is None


def test_advice_says_what_a_further_horizon_would_cost():
    solved = plan(n0=20_000, n=60_000, alpha=0.1, beta=BETA)
    further = plan(n0=20_000, n=600_000, alpha=0.1, beta=BETA)
    [line] = solved.advice
    for number in (further.n, *further.paces.__dict__.values(), *solved.paces.__dict__.values()):
        if number not in (further.paces.at_n, solved.paces.at_n):
            assert f"{number:,}" in line
    assert not any("horizon" in line for line in plan(n0=60, n=60, alpha=0.5, beta=BETA).advice)
    fixed = plan(n0=20_000, n=60_000, alpha=0.1, beta=BETA, batches=3)
    assert not any("horizon" in line for line in fixed.advice)
