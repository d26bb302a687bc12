"""What a question must be, and what is said when it is not."""

import math
from fractions import Fraction

import pytest

from surehold import InvalidInput, NotApplicable, Unreachable, compare, plan

GOOD = {"n0": 1_000, "n": 3_000, "alpha": 0.2, "beta": 0.05}


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"n0": 0}, "n0"),
        ({"n0": -5}, "n0"),
        ({"n0": 2.5}, "n0"),
        ({"n0": "1000"}, "n0"),
        ({"n0": True}, "n0"),
        ({"n0": math.nan}, "n0"),
        ({"n0": math.inf}, "n0"),
        ({"n0": None}, "n0"),
        ({"n": None}, "n"),
        ({"n": 999}, "n"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.0}, "alpha"),
        ({"alpha": -0.1}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"beta": 0.0}, "beta"),
        ({"beta": 1.0}, "beta"),
        ({"beta": 1.5}, "beta"),
        ({"beta": math.nan}, "beta"),
        ({"beta": "5%"}, "beta"),
        ({"beta": None}, "beta"),
        ({"batches": 0}, "batches"),
        ({"batches": 1.5}, "batches"),
        ({"growth": 3.0}, "growth"),
        ({"certificate": "best"}, "certificate"),
        ({"alpha": None, "queries": 0}, "queries"),
        ({"alpha": None, "queries": -1}, "queries"),
        ({"alpha": None, "queries": 10**19}, "queries"),
        ({"n": 1e300}, "n"),
    ],
)
def test_a_bad_value_is_named(change, parameter):
    with pytest.raises(InvalidInput) as caught:
        plan(**{**GOOD, **change})
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(f"{parameter} must be ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "question",
    [
        {"beta": 0.05},
        {"beta": 0.05, "alpha": 0.1},
        {"beta": 0.05, "queries": 10},
        {"beta": 0.05, "n0": 100, "n": 300},
        {"beta": 0.05, "n0": 100, "n": 300, "alpha": 0.1, "queries": 10},
    ],
)
def test_exactly_one_unknown(question):
    with pytest.raises(InvalidInput, match="exactly two of alpha, queries and records"):
        plan(**question)


@pytest.mark.parametrize("growth", [None, 0.5, -1, math.nan, math.inf, "3"])
def test_growth_is_needed_to_solve_for_records(growth):
    with pytest.raises(InvalidInput, match="growth"):
        plan(queries=10, alpha=0.1, beta=0.05, growth=growth)


def test_growth_is_not_needed_for_data_that_is_all_there():
    solved = plan(queries=10, alpha=0.1, beta=0.05, batches=1)
    assert solved.n0 == solved.n


def test_a_certificate_that_does_not_hold_is_refused():
    with pytest.raises(NotApplicable, match="'ours-n' does not hold here: it needs a schedule"):
        plan(**GOOD, certificate="ours-n")
    with pytest.raises(NotApplicable):
        plan(queries=10, alpha=0.1, beta=0.05, growth=2, certificate="ours-n")


def test_unreachable_width_says_what_is_reachable():
    with pytest.raises(Unreachable) as caught:
        plan(**{**GOOD, "alpha": 0.001})
    numbers = caught.value.numbers
    one = plan(n0=1_000, n=3_000, queries=1, beta=0.05)
    assert numbers["reachable_width"] == pytest.approx(one.width)
    enough = plan(n0=numbers["needed_n0"], n=numbers["needed_n"], alpha=0.001, beta=0.05)
    assert enough.queries >= 1


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ({"n0": 550, "n": 550, "alpha": 0.1}, r"3 queries if at most a .* --claims 3 "),
        ({"n0": 200, "n": 200, "alpha": 0.01}, r"±0\.09972 for one: .* --claims 1 "),
        ({"n0": 4, "n": 4, "queries": 1}, r"±0\.\d* for one: .* --claims 1 "),
        ({"n0": 50, "n": 50, "queries": 200}, r"±0\.\d* if .* --claims 200 "),
    ],
)
def test_unreachable_says_what_the_surprise_guard_would_give(question, given):
    with pytest.raises(Unreachable, match=f"the surprise guard would give {given}"):
        plan(**question, beta=0.05)


def test_unreachable_says_what_waiting_would_give():
    question = {"n0": 100, "n": 1_000_000, "alpha": 0.01, "beta": 0.05}
    waited = plan(**question, batches=1).queries
    with pytest.raises(Unreachable, match=f"waiting until n = 1,000,000 would give {waited}"):
        plan(**question, batches=2)


def test_a_single_querys_width_is_said_even_where_no_size_would_do():
    with pytest.raises(Unreachable, match=r"a single query has width ±.* more than 10\^18 records"):
        plan(n0=1, n=10**18, alpha=0.1, beta=0.05, batches=4)


@pytest.mark.parametrize("growth", [1.1, 1.5, 1.0000004, 2, 1000])
def test_growth_is_taken_as_it_was_written(growth):
    solved = plan(queries=10, alpha=0.1, beta=0.05, growth=growth)
    assert solved.n == int(solved.n0 * Fraction(str(growth)))
    assert {entry.certificate for entry in compare(queries=10, alpha=0.1, beta=0.05, growth=growth)}
    with pytest.raises(NotApplicable):
        plan(queries=10, alpha=0.1, beta=0.05, growth=growth, certificate="ours-n")


@pytest.mark.parametrize(
    "change",
    [
        {"n": 10**400},
        {"alpha": None, "queries": 10**400},
        {"n": 10**18 + 1},
        {"beta": 1e-31},
        {"beta": 10**400},
        {"batches": 10**7},
        {"certificate": ["sharp"]},
    ],
)
def test_absurd_values_are_refused(change):
    with pytest.raises(InvalidInput):
        plan(**{**GOOD, **change})


def test_an_absurdly_small_width_is_unreachable():
    with pytest.raises(Unreachable):
        plan(n0=100, n=100, alpha=1e-200, beta=0.05)


def test_too_many_queries_says_how_many_would_do():
    with pytest.raises(Unreachable) as caught:
        plan(n0=1_000, n=3_000, queries=10**9, beta=0.05)
    most = caught.value.numbers["reachable_queries"]
    assert plan(n0=1_000, n=3_000, queries=most, beta=0.05).width <= 0.5


def test_more_records_than_there_could_be():
    with pytest.raises(Unreachable, match="more than 10\\^18 records"):
        plan(queries=10**12, alpha=1e-9, beta=0.05, growth=2)
