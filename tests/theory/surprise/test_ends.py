"""Ends: settled at multiples of the unit, growing with the count, shrinking with the records."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from surehold.theory.surprise.claims.base import Statistic, rejects
from surehold.theory.surprise.claims.betting import BettingMixture
from surehold.theory.surprise.claims.binomial import BinomialTail
from surehold.theory.surprise.claims.chernoff import Chernoff
from surehold.theory.surprise.claims.mixtures import CentredMixture, HalfMixture
from surehold.theory.surprise.ends import (
    UNIT,
    Interval,
    interval,
    lower_end,
    round_up,
    upper_end,
)
from surehold.theory.surprise.intervals import EVERYTHING, fraction_interval, mean_interval
from surehold.theory.surprise.levels import Level
from surehold.theory.surprise.menus.cells import Cell
from surehold.theory.surprise.prices import UNITS

quick = partial(settings, deadline=None, derandomize=True, max_examples=60)
levels = st.integers(1, 800 * 64).map(lambda n: Level(Fraction(2), n * UNITS // 64))


def made(claim: str, count: int, t: int) -> Statistic:
    match claim:
        case "exact":
            return BinomialTail(count, t)
        case "chernoff":
            return Chernoff(Fraction(count, t), t)
        case "centred":
            return CentredMixture(count, t, 40)
        case "half":
            return HalfMixture(Fraction(count, t), t)
        case _:
            values = {Fraction(z): n for z, n in ((0, t - count), (1, count)) if n}
            return BettingMixture.of(values)


ALL = ("exact", "chernoff", "centred", "half", "betting")
every_claim = pytest.mark.parametrize("claim", ALL)


@st.composite
def counts(draw, most=20_000):
    t = draw(st.integers(1, most))
    return draw(st.integers(0, t)), t


@every_claim
@quick()
@given(observed=counts(), level=levels, unit=st.sampled_from([UNIT, Fraction(1, 250)]))
def test_ends_are_the_last_multiples_outside(claim, observed, level, unit):
    statistic = made(claim, *observed)
    low, high = lower_end(statistic, level, unit), upper_end(statistic, level, unit)
    assert 0 <= low <= statistic.centre <= high <= 1
    assert low % unit == high % unit == 0
    # Each end is rejected, or there is no further multiple; the next one inwards is not.
    assert low == 0 or rejects(statistic, low, level)
    assert high == 1 or rejects(statistic, high, level)
    assert low + unit > statistic.centre or not rejects(statistic, low + unit, level)
    assert high - unit < statistic.centre or not rejects(statistic, high - unit, level)


@every_claim
@quick(max_examples=40)
@given(observed=counts(most=5000), level=levels)
def test_ends_grow_with_the_count(claim, observed, level):
    """What makes an interval for a cell of two ends (Surprise, section 3, "Cells")."""
    count, t = observed
    if count == t:
        return
    one, two = made(claim, count, t), made(claim, count + 1, t)
    assert lower_end(one, level) <= lower_end(two, level)
    assert upper_end(one, level) <= upper_end(two, level)


@pytest.mark.parametrize("claim", ["exact", "centred"])
@pytest.mark.parametrize("nats", ["0.39", "1", "5"])
@pytest.mark.parametrize("t", [1, 2, 3, 10, 47])
def test_ends_grow_with_every_count(claim, nats, t):
    """Down to l = 0.39, from where on the proof for the centred mixture holds."""
    level = Level(Fraction(1), math.ceil(Fraction(nats) * UNITS))
    ends = [interval(s, s, level) for s in (made(claim, count, t) for count in range(t + 1))]
    assert [end.low for end in ends] == sorted(end.low for end in ends)
    assert [end.high for end in ends] == sorted(end.high for end in ends)
    assert ends[0].low == 0
    assert ends[-1].high == 1


@pytest.mark.parametrize("claim", ["chernoff", "half"])
@quick()
@given(
    mean=st.fractions(0, 1, max_denominator=1000),
    t=st.integers(1, 10**5),
    more=st.integers(1, 1000),
    level=levels,
)
def test_intervals_shrink_with_the_records(claim, mean, t, more, level):
    """At a fixed mean (Surprise, section 3e): so the lower end of a cell of records is safe."""
    always = claim == "half"
    cell = Cell(mean, mean, closed=True)
    few = mean_interval(cell, t, level, always=always)
    many = mean_interval(cell, t + more, level, always=always)
    assert few.low <= many.low
    assert many.high <= few.high


@every_claim
@quick(max_examples=30)
@given(observed=counts(), level=levels, more=st.integers(1, 10 * UNITS))
def test_intervals_widen_with_the_level(claim, observed, level, more):
    statistic = made(claim, *observed)
    before = interval(statistic, statistic, level)
    after = interval(statistic, statistic, Level(level.factor, level.spent + more))
    assert after.low <= before.low
    assert before.high <= after.high


@quick(max_examples=30)
@given(observed=counts(most=3000), level=levels)
def test_exact_is_inside_chernoff_inside_the_mixtures(observed, level):
    exact, chernoff, *mixtures = (
        interval(s, s, level) for s in (made(claim, *observed) for claim in ALL)
    )
    assert chernoff.low <= exact.low
    assert exact.high <= chernoff.high
    for mixture in mixtures:
        assert mixture.low <= chernoff.low
        assert chernoff.high <= mixture.high


@pytest.mark.parametrize("guess", [None, -1.0, 0.0, 0.3, 0.849, 0.9, 1.0, 2.0])
def test_a_wrong_guess_costs_time_only(guess, monkeypatch):
    statistic, level = BinomialTail(1699, 2000), Level(Fraction(1680), 0)
    expected = interval(statistic, statistic, level)
    monkeypatch.setattr(BinomialTail, "guess", lambda *args, **kwargs: guess)
    assert interval(statistic, statistic, level) == expected


def test_the_union_over_a_cell():
    level, cell, t = Level(Fraction(1680), 0), Cell(Fraction(2, 5), Fraction(1, 2)), 50
    for kappa in (None, 3):
        whole = fraction_interval(cell, t, level, kappa)
        single = [
            fraction_interval(Cell(Fraction(s, t), Fraction(s, t), closed=True), t, level, kappa)
            for s in range(20, 25)
        ]
        assert whole.low == min(one.low for one in single)
        assert whole.high == max(one.high for one in single)


def test_a_mean_over_no_records_is_anything():
    level = Level(Fraction(1680), 0)
    assert mean_interval(Cell(Fraction(0), Fraction(1, 2)), 0, level, always=True) == EVERYTHING


def test_intervals_are_kept_and_meet():
    one = Interval(Fraction(1, 10), Fraction(1, 2))
    assert Interval.from_dict(one.to_dict()) == one
    assert one.meet(Interval(Fraction(1, 2), Fraction(1))) == Interval(
        Fraction(1, 2), Fraction(1, 2)
    )
    assert one.meet(Interval(Fraction(3, 5), Fraction(1))) is None
    assert one.half_width == Fraction(1, 5)


def test_round_up():
    level = Level(Fraction(2), 0)
    root = level.exact
    assert round_up(root) == Fraction(693147181, 10**9)
    assert round_up(root, Fraction(1, 10)) == Fraction(7, 10)


def test_the_mean_of_many_values_is_inside():
    rng = np.random.default_rng(3)
    values, times = np.unique(rng.integers(0, 2**32, 500), return_counts=True)
    mixture, level = BettingMixture(values, times, 2**32), Level(Fraction(1680), 0)
    found = interval(mixture, mixture, level, Fraction(1, 10**4))
    assert found.low < mixture.centre < found.high
    # Uniform values spread less than coins: sd 0.29, not 0.5.
    half = HalfMixture(mixture.centre, 500)
    assert found.half_width < Fraction(7, 10) * interval(half, half, level).half_width


@pytest.mark.parametrize(("count", "t", "nats"), [(3, 50, 572), (2, 50, 435), (5, 50, 528)])
def test_quantiles_that_scipy_gives_up_on_are_found_by_bisection(count, t, nats):
    level = Level(Fraction(1), nats * UNITS)
    low = lower_end(BinomialTail(count, t), level)
    assert 0 <= low < Fraction(count, t)
    assert not low or rejects(BinomialTail(count, t), low, level)
    assert upper_end(BinomialTail(t - count, t), level) == 1 - low
