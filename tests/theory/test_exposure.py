"""What each record is exposed to: the short sums against loops over every record."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from surehold.errors import InvalidInput
from surehold.theory.exposure import (
    Adaptive,
    BudgetProfile,
    Exposure,
    Extremes,
    Schedule,
    statistical,
)

CLOSE = 5e-15  # sums of a few terms; measured 4.5e-16

# ------------------------------------------------------------------------ record by record


def table(rounds, deltas):
    """A sensitivity profile that knows the given rounds only."""
    values = dict(zip(rounds, deltas, strict=True))
    return lambda asked: np.array([values[int(t)] for t in asked])


@st.composite
def schedules(draw):
    """Up to six rounds, some without queries, perhaps with own sensitivities and own noise."""
    rounds = sorted(draw(st.sets(st.integers(1, 60), min_size=1, max_size=6)))
    size = len(rounds)

    def each(values):
        return draw(st.lists(values, min_size=size, max_size=size))

    counts = each(st.integers(0, 5))
    counts[draw(st.integers(0, size - 1))] = draw(st.integers(1, 5))
    deltas = each(st.floats(1e-3, 1.0)) if draw(st.booleans()) else None
    noise = each(st.floats(0.1, 10.0)) if draw(st.booleans()) else None
    return rounds, counts, deltas, noise


def build(rounds, counts, deltas, noise):
    sensitivity = statistical if deltas is None else table(rounds, deltas)
    return Schedule(rounds, counts, sensitivity, noise)


def by_record(values, exposure):
    """The values of pieces, one for each record."""
    return np.repeat(values, exposure.records.astype(int))


@given(schedules(), st.floats(1e-3, 10.0))
def test_exposure_is_that_of_lemma_4_2(schedule, sigma):
    rounds, counts, deltas, noise = schedule
    deltas = deltas or [1.0 / t for t in rounds]
    noise = noise or [1.0] * len(rounds)
    exposure = build(*schedule).exposure()
    last = max(t for t, k in zip(rounds, counts, strict=True) if k)
    # rho(t) = sum over tau of k_tau 1{t <= tau} Delta_tau^2 / (2 sigma_tau^2)
    rho = [
        sum(
            k * delta**2 / (2.0 * (sigma * relative) ** 2)
            for tau, k, delta, relative in zip(rounds, counts, deltas, noise, strict=True)
            if t <= tau
        )
        for t in range(1, last + 1)
    ]
    np.testing.assert_allclose(by_record(exposure.rho(sigma), exposure), rho, rtol=CLOSE)
    np.testing.assert_allclose(
        by_record(exposure.mu(sigma), exposure), np.sqrt(2.0 * np.array(rho)), rtol=CLOSE
    )


@given(schedules())
def test_reach_is_the_largest_sensitivity_still_to_come(schedule):
    rounds, counts, deltas, _ = schedule
    deltas = deltas or [1.0 / t for t in rounds]
    asked = [(t, d) for t, k, d in zip(rounds, counts, deltas, strict=True) if k]
    reach = [max(d for t, d in asked if t >= s) for s in range(1, asked[-1][0] + 1)]
    exposure = build(*schedule).exposure()
    np.testing.assert_allclose(
        by_record(exposure.reach / exposure.records, exposure), reach, rtol=CLOSE
    )


@given(schedules())
def test_the_rest_of_an_exposure(schedule):
    rounds, counts, deltas, noise = schedule
    exposure = build(*schedule).exposure()
    asked = [i for i, k in enumerate(counts) if k]
    assert exposure.queries == sum(counts)
    assert exposure.first_round == rounds[asked[0]]
    assert exposure.records.sum() == rounds[asked[-1]]
    assert exposure.most == exposure.unit[0] == exposure.unit.max()
    relative = [noise[i] for i in asked] if noise else [1.0]
    assert (exposure.noise_low, exposure.noise_high) == (min(relative), max(relative))
    extremes = exposure.extremes
    assert extremes.is_statistical == (deltas is None)
    delta = [deltas[i] if deltas else 1.0 / rounds[i] for i in asked]
    t_delta = [rounds[i] * d if deltas else 1.0 for i, d in zip(asked, delta, strict=True)]
    assert extremes.delta_high == max(delta)
    assert (extremes.t_delta_low, extremes.t_delta_high) == (min(t_delta), max(t_delta))


def test_rounds_without_queries_are_dropped():
    full = Schedule([3, 5, 8, 9], [0, 2, 0, 1], noise=[1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(full.rounds, [5, 9])
    np.testing.assert_array_equal(full.counts, [2.0, 1.0])
    np.testing.assert_array_equal(full.noise, [2.0, 4.0])
    assert (full.n, full.queries) == (9, 3.0)
    # The records after the last query are in no snapshot.
    assert Schedule([5, 9], [1, 0]).exposure().records.sum() == 5.0


def test_fresh_batches():
    sizes, counts = Schedule([5, 9, 30], [2, 1, 7]).fresh_batches
    np.testing.assert_array_equal(sizes, [5.0, 4.0, 21.0])
    np.testing.assert_array_equal(counts, [2.0, 1.0, 7.0])


def test_a_static_schedule_is_one_piece():
    exposure = Schedule([100], [7]).exposure()
    assert exposure.mu(0.5)[0] == pytest.approx(math.sqrt(7) / (100 * 0.5), rel=1e-15)
    assert exposure.reach == pytest.approx([1.0], rel=1e-15)
    assert exposure.extremes == Extremes(True, 0.01, 1.0, 1.0)


def test_uniform_counts_every_record_as_the_most_exposed():
    exposure = Schedule([10, 20, 40], [3, 1, 2]).exposure()
    flat = exposure.uniform()
    assert (flat.records.sum(), flat.most) == (40.0, exposure.most)
    assert flat.reach.sum() == pytest.approx(exposure.reach.sum())
    assert flat.unit.shape == flat.records.shape == flat.reach.shape == (1,)


def test_a_million_rounds():
    rounds = np.arange(1, 1_000_001)
    exposure = Schedule(rounds, np.ones(rounds.size)).exposure()
    assert exposure.unit.shape == exposure.records.shape == exposure.reach.shape == (1_000_000,)
    # sum 1/t^2 and sum 1/t, whose tails are known.
    assert exposure.most == pytest.approx(math.pi**2 / 6 - 1e-6 + 0.5e-12, rel=1e-13)
    harmonic = math.log(1e6) + np.euler_gamma + 0.5e-6
    assert exposure.reach.sum() == pytest.approx(harmonic, rel=1e-13)


# ------------------------------------------------------------------------ batches


@given(st.integers(1, 50), st.integers(0, 100), st.integers(2, 30), st.integers(1, 200))
def test_batches_are_even(n0, growth, b, queries):
    n = n0 + growth
    schedule = Schedule.batches(n0, n, b, queries)
    # linspace(n0, n, b) in whole numbers; the first batches get what is left over.
    expected = {}
    for i in range(b):
        t = math.floor(n0 + Fraction(i * growth, b - 1))
        expected[t] = expected.get(t, 0) + queries // b + (i < queries % b)
    expected = {t: k for t, k in expected.items() if k}
    np.testing.assert_array_equal(schedule.rounds, list(expected))
    np.testing.assert_array_equal(schedule.counts, list(expected.values()))
    assert schedule.queries == queries


def test_one_batch_is_asked_at_the_end():
    schedule = Schedule.batches(10, 30, 1, 7)
    assert (schedule.rounds.tolist(), schedule.counts.tolist()) == ([30], [7.0])


def test_the_remainder_goes_to_the_first_batches():
    assert Schedule.batches(10, 50, 5, 13).counts.tolist() == [3, 3, 3, 2, 2]
    assert Schedule.batches(10, 50, 5, 2).rounds.tolist() == [10, 20]


def test_more_batches_than_rounds():
    schedule = Schedule.batches(10, 12, 7, 700)
    assert schedule.rounds.tolist() == [10, 11, 12]
    assert schedule.counts.tolist() == [300, 300, 100]


def test_batches_of_no_growth_are_one_round():
    schedule = Schedule.batches(20, 20, 4, 9)
    assert (schedule.rounds.tolist(), schedule.counts.tolist()) == ([20], [9.0])


def test_batches_of_enormous_data_do_not_overflow():
    rounds = Schedule.batches(10**6, 10**17, 10**6, 10**6).rounds
    assert (rounds[0], rounds[-1], rounds.size) == (10**6, 10**17, 10**6)
    assert np.ptp(np.diff(rounds)) <= 1


def test_batches_keep_the_sensitivity():
    def halved(rounds):
        return 0.5 / rounds

    assert Schedule.batches(10, 30, 3, 7, halved).exposure().extremes.t_delta_high == 0.5
    assert Schedule.batches(10, 30, 1, 7, halved).exposure().extremes.t_delta_high == 0.5


# ------------------------------------------------------------------------ adaptive designs


@pytest.mark.parametrize(("n0", "n"), [(1, 1), (7, 7), (1, 50), (30, 100), (500_000, 1_500_000)])
def test_adaptive_reach(n0, n):
    exposure = Adaptive(n0, n, 100.0).exposure()
    exact = math.fsum(1.0 / max(s, n0) for s in range(1, n + 1))
    assert exposure.reach.sum() == pytest.approx(exact, rel=5e-15)  # measured 6.7e-16
    assert exposure.records.tolist() == [float(n)]
    assert exposure.extremes == Extremes(True, 1.0 / n0, 1.0, 1.0)
    assert (exposure.queries, exposure.first_round) == (100.0, float(n0))


def test_a_uniform_budget_is_spent_by_asking_everything_at_the_end():
    exposure = Adaptive(30, 100, 250.0).exposure()
    assert exposure.unit == pytest.approx([250.0 / 100**2], rel=1e-15)
    static = Schedule([100], [250]).exposure()
    np.testing.assert_allclose(exposure.unit, static.unit, rtol=1e-15)


@st.composite
def profiles(draw):
    """n0, n, and a budget profile that reaches n or goes beyond it."""
    n = draw(st.integers(1, 25))
    n0 = draw(st.integers(1, n))
    ends = sorted({*draw(st.sets(st.integers(1, n + 5), max_size=4)), n + draw(st.integers(0, 3))})
    levels = draw(st.lists(st.floats(0.1, 10.0), min_size=len(ends), max_size=len(ends)))
    return n0, n, BudgetProfile(ends, levels)


def budget_by_record(n, profile):
    return [profile.levels[int(np.searchsorted(profile.ends, s))] for s in range(1, n + 1)]


def most_answers(n0, n, budgets, delta):
    """The most answers that the filter admits, by a linear program.

    In the charges x_tau = k_tau Delta_tau^2 >= 0 of the rounds: for every record s the charges of
    the rounds tau >= s stay within its budget.
    """
    rounds = range(n0, n + 1)
    answers_per_charge = np.array([delta(t) ** -2.0 for t in rounds])
    is_charged = np.array([[float(s <= t) for t in rounds] for s in range(1, n + 1)])
    solved = linprog(-answers_per_charge, A_ub=is_charged, b_ub=budgets)
    assert solved.success
    return -solved.fun


def running_least(n0, n, profile):
    """For each record the least budget of all up to it, or up to n0: a query charges them all."""
    least = np.minimum.accumulate(budget_by_record(n, profile))
    return least[np.maximum(np.arange(1, n + 1), n0) - 1]


@given(profiles())
def test_the_cap_of_a_budget_profile_is_that_of_a_linear_program(design):
    n0, n, profile = design
    exposure = Adaptive(n0, n, 1.0, profile).exposure()
    cap = running_least(n0, n, profile)[-1] / exposure.unit[-1]  # what the levels themselves admit
    exact = most_answers(n0, n, budget_by_record(n, profile), lambda t: 1.0 / t)
    assert cap == pytest.approx(exact, rel=1e-9)


@given(profiles())
def test_a_record_is_exposed_to_the_least_budget_up_to_it(design):
    n0, n, profile = design
    exposure = Adaptive(n0, n, 1.0, profile).exposure()
    unit = by_record(exposure.unit, exposure)
    least = running_least(n0, n, profile)
    np.testing.assert_allclose(unit / unit[-1], least / least[-1], rtol=CLOSE)


@given(profiles())
def test_the_reach_of_a_budget_profile(design):
    n0, n, profile = design
    exposure = Adaptive(n0, n, 1.0, profile).exposure()
    edges = np.concatenate(([0], np.cumsum(exposure.records))).astype(int)
    for low, high, reach in zip(edges[:-1], edges[1:], exposure.reach, strict=True):
        exact = math.fsum(1.0 / max(s, n0) for s in range(low + 1, high + 1))
        assert reach == pytest.approx(exact, abs=1e-14)


def test_a_flat_profile_is_no_profile():
    plain = Adaptive(10, 40, 99.0).exposure()
    flat = Adaptive(10, 40, 99.0, BudgetProfile([15, 40, 90], [2.0, 2.0, 2.0])).exposure()
    np.testing.assert_allclose(flat.unit, plain.unit[0], rtol=1e-14)
    assert flat.reach.sum() == pytest.approx(plain.reach.sum(), rel=1e-14)


def test_a_profile_may_go_beyond_the_horizon():
    exact = Adaptive(10, 40, 99.0, BudgetProfile([15, 40], [2.0, 1.0])).exposure()
    beyond = Adaptive(10, 40, 99.0, BudgetProfile([15, 70, 90], [2.0, 1.0, 0.1])).exposure()
    np.testing.assert_array_equal(beyond.unit, exact.unit)
    np.testing.assert_array_equal(beyond.records, exact.records)


def test_a_later_record_cannot_use_a_larger_budget():
    lower = Adaptive(5, 40, 99.0, BudgetProfile([15, 40], [1.0, 1.0])).exposure()
    higher = Adaptive(5, 40, 99.0, BudgetProfile([15, 40], [1.0, 7.0])).exposure()
    np.testing.assert_array_equal(higher.unit, lower.unit)


def test_fresh_batches_are_known_only_without_growth():
    assert Adaptive(10, 20, 5.0).fresh_batches is None
    sizes, counts = Adaptive(20, 20, 5.0).fresh_batches
    assert (sizes.tolist(), counts.tolist()) == ([20.0], [5.0])


# ------------------------------------------------------------------------ adaptive, low sensitivity


@st.composite
def sensitivities(draw):
    n = draw(st.integers(1, 25))
    n0 = draw(st.integers(1, n))
    size = n - n0 + 1
    deltas = draw(st.lists(st.floats(0.05, 1.0), min_size=size, max_size=size))
    return n0, n, dict(zip(range(n0, n + 1), deltas, strict=True))


@given(sensitivities())
def test_adaptive_low_sensitivity(design):
    n0, n, delta = design
    exposure = Adaptive(n0, n, 10.0, sensitivity=table(delta, delta.values())).exposure()
    # One budget for all: record 1 binds, and the cheapest rounds give the most answers.
    cap = most_answers(n0, n, np.ones(n), delta.__getitem__)
    assert 10.0 / exposure.unit[0] == pytest.approx(cap, rel=1e-9)
    reach = math.fsum(max(delta[t] for t in delta if t >= s) for s in range(1, n + 1))
    assert exposure.reach.sum() == pytest.approx(reach, rel=CLOSE)
    t_delta = [float(t) * d for t, d in delta.items()]
    extremes = Extremes(False, max(delta.values()), min(t_delta), max(t_delta))
    assert exposure.extremes == extremes


def test_one_over_t_written_by_hand_is_statistical_but_for_the_label():
    known = Adaptive(30, 100, 250.0).exposure()
    by_hand = Adaptive(30, 100, 250.0, sensitivity=lambda t: 1.0 / t).exposure()
    np.testing.assert_allclose(by_hand.unit, known.unit, rtol=1e-15)
    np.testing.assert_allclose(by_hand.reach, known.reach, rtol=1e-14)
    assert by_hand.extremes.t_delta_high == pytest.approx(1.0)


# ------------------------------------------------------------------------ coarse


def many_pieces():
    rounds = np.arange(1000, 9000, 3)
    counts = 1.0 + np.arange(rounds.size) % 7
    return Schedule(rounds, counts).exposure()


def test_coarse_conserves_records_reach_and_their_exposure():
    fine = many_pieces()
    coarse = fine.coarse()
    assert coarse.unit.size <= 512 < fine.unit.size
    assert coarse.records.sum() == fine.records.sum()
    assert coarse.reach.sum() == pytest.approx(fine.reach.sum(), rel=1e-13)
    assert coarse.reach @ coarse.unit == pytest.approx(fine.reach @ fine.unit, rel=1e-13)
    assert (coarse.queries, coarse.first_round) == (fine.queries, fine.first_round)
    assert coarse.extremes == fine.extremes


def test_coarse_stays_within_the_exposures_there_are():
    fine = many_pieces()
    coarse = fine.coarse()
    assert coarse.most <= fine.most
    assert coarse.most == pytest.approx(fine.most, rel=0.02)
    assert coarse.unit.min() >= fine.unit.min()


def test_few_pieces_are_left_as_they_are():
    exposure = Schedule(np.arange(1, 1025), np.ones(1024)).exposure()
    assert exposure.coarse() is exposure


def test_coarse_of_pieces_that_are_all_alike():
    ones = np.ones(3000)
    extremes = Extremes(True, 1.0, 1.0, 1.0)
    coarse = Exposure(ones, 0.3 * ones, 0.1 * ones, 5.0, 1.0, extremes).coarse()
    assert (coarse.records.tolist(), coarse.unit.size) == ([3000.0], 1)
    assert coarse.unit[0] == pytest.approx(0.3)
    assert coarse.unit[0] <= 0.3


def test_coarse_of_a_million_rounds():
    fine = Schedule(np.arange(1, 1_000_001), np.ones(1_000_000)).exposure()
    coarse = fine.coarse()
    assert coarse.unit.size <= 512
    assert coarse.records.sum() == 1e6
    assert coarse.reach.sum() == pytest.approx(fine.reach.sum(), rel=1e-12)


# ------------------------------------------------------------------------ refusals


def refused(call, *arguments, **named):
    """The parameter that an InvalidInput names."""
    with pytest.raises(InvalidInput) as caught:
        call(*arguments, **named)
    return caught.value.parameter


@pytest.mark.parametrize(
    "rounds",
    [
        [],
        [[1, 2]],
        3,
        [0, 1],
        [-5, 3],
        [3, 2],
        [3, 3],
        [1.5, 2.0],
        ["1", "2"],
        [True, True],
        [2**70, 2**71],
        None,
        [1.0, math.nan],
        [math.nan],
        [1.0, math.inf],
        [1e30],
    ],
)
def test_bad_rounds(rounds):
    assert refused(Schedule, rounds, [1.0] * np.size(rounds)) == "rounds"


@pytest.mark.parametrize(
    "counts",
    [[1.0], [1, 2, 3], [[1, 2]], [1, -1], [1, math.nan], [math.inf, 1], [0, 0], 5],
)
def test_bad_counts(counts):
    assert refused(Schedule, [3, 4], counts) == "counts"


@pytest.mark.parametrize("noise", [[1.0], [1, 0], [1, -1], [1, math.nan], [1, math.inf], 1.0, []])
def test_bad_noise(noise):
    assert refused(Schedule, [3, 4], [1, 1], noise=noise) == "noise"


@pytest.mark.parametrize(
    "sensitivity",
    [
        lambda t: 0.0 * t,
        lambda t: -1.0 / t,
        lambda t: 1.0 + t,
        lambda t: math.nan * t,
        lambda t: 0.5,
        lambda t: t[:-1],
    ],
    ids=["zero", "negative", "above one", "nan", "one number", "too short"],
)
def test_bad_sensitivity(sensitivity):
    assert refused(Schedule([3, 4], [1, 1], sensitivity).exposure) == "sensitivity"
    assert refused(Adaptive(3, 4, 1.0, sensitivity=sensitivity).exposure) == "sensitivity"


@pytest.mark.parametrize(
    ("n0", "n", "queries", "parameter"),
    [
        (0, 10, 1.0, "n0"),
        (2.5, 10, 1.0, "n0"),
        (math.nan, 10, 1.0, "n0"),
        (True, 10, 1.0, "n0"),
        ("3", 10, 1.0, "n0"),
        (3, -1, 1.0, "n"),
        (3, math.inf, 1.0, "n"),
        (3, 2, 1.0, "n"),
        (3, 10, 0.0, "queries"),
        (3, 10, -1.0, "queries"),
        (3, 10, math.nan, "queries"),
        (3, 10, math.inf, "queries"),
    ],
)
def test_bad_adaptive_design(n0, n, queries, parameter):
    assert refused(Adaptive, n0, n, queries) == parameter


@pytest.mark.parametrize(
    "levels", [[1.0], [1, 2, 3], [1, 0], [1, -1], [1, math.nan], [1, math.inf], [[1, 2]]]
)
def test_bad_levels(levels):
    assert refused(BudgetProfile, [3, 4], levels) == "levels"


@pytest.mark.parametrize("ends", [[], [3, 2], [0, 5], [1.5, 3]])
def test_bad_ends(ends):
    assert refused(BudgetProfile, ends, [1.0] * len(ends)) == "ends"


def test_a_profile_has_to_reach_the_horizon():
    assert refused(Adaptive, 3, 10, 1.0, BudgetProfile([5, 9], [2.0, 1.0])) == "profile"


def test_profiles_are_for_statistical_queries():
    design = Adaptive(3, 10, 1.0, BudgetProfile([10], [1.0]), lambda t: 1.0 / t)
    assert refused(design.exposure) == "profile"


def test_a_sensitivity_profile_over_too_many_rounds():
    design = Adaptive(1, 10**9, 1.0, sensitivity=lambda t: 1.0 / t)
    assert refused(design.exposure) == "n"


@pytest.mark.parametrize(
    ("n0", "n", "b", "queries", "parameter"),
    [
        (30, 10, 3, 7, "n"),
        (0, 10, 3, 7, "n0"),
        (10, 30, 0, 7, "batches"),
        (10, 30, -2, 7, "batches"),
        (10, 30, 2.5, 7, "batches"),
        (10, 30, 3, 0, "queries"),
        (10, 30, 3, 7.5, "queries"),
        (10, 30, 1, math.nan, "queries"),
    ],
)
def test_bad_batches(n0, n, b, queries, parameter):
    assert refused(Schedule.batches, n0, n, b, queries) == parameter
