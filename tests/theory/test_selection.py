"""Selections: their charge against fifty digits, and their allowance against its worst analysts.

The proof of the allowance (sharp-bound.md, section 15) is checked in three ways: its
conditions in forty digits, the best that any analyst can do by dynamic programming, and runs of
some analysts.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfc, expit, log_expit, ndtri_exp

from surehold.errors import InvalidInput
from surehold.theory.gaussian import profile
from surehold.theory.noise import OUTWARD, largest_cvar, largest_quantile
from surehold.theory.selection import (
    SLACK,
    bounded_range_epsilon,
    bounded_range_mu,
    paper_selection_allowance,
    pure_mu,
    selection_allowance,
)
from theory.oracles import mp, mpf, relative_error

# ------------------------------------------------------------------------ the charge

EPSILONS = [1e-12, *np.geomspace(1e-9, 30.0, 40), 0.5, 0.9999, 1.0, 1.0001, 2.0, 100.0, 700.0]


def exact_mu(eps):
    """2 Phi^-1(expit(eps/2)) = 2 sqrt 2 erfinv(tanh(eps/4)), in as many digits as it takes."""
    with mp.workdps(60 + int(eps)):
        return 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(mpf(eps) / 4))


@pytest.mark.parametrize("eps", EPSILONS)
def test_bounded_range_mu(eps):
    exact, got = exact_mu(eps), float(bounded_range_mu(eps))
    assert got >= exact  # outwards
    assert relative_error(got, exact * mpf(OUTWARD)) < 2e-15  # measured 3.3e-16


@pytest.mark.parametrize("eps", EPSILONS[:-1])
def test_pure_mu(eps):
    assert pure_mu(eps) == bounded_range_mu(2.0 * eps)
    assert float(pure_mu(eps)) >= exact_mu(2 * mpf(eps))


@pytest.mark.parametrize("mu", [1e-300, 2.0**-96, 1e-12, *np.geomspace(1e-9, 30.0, 25), 1.0, 1e100])
def test_the_inverse_is_safe_and_nearly_the_largest(mu):
    eps = float(bounded_range_epsilon(mu))
    assert bounded_range_mu(eps) <= mu
    assert bounded_range_mu(np.nextafter(eps, np.inf) * (1.0 + 1e-15)) > mu
    if eps < 1000.0:
        assert exact_mu(eps) <= mu < exact_mu(mpf(eps) * (1 + mpf(1e-11)))


@given(st.floats(1e-200, 1e100))
def test_the_inverse_is_safe_anywhere(mu):
    eps = bounded_range_epsilon(mu)
    assert bounded_range_mu(eps) <= mu
    assert bounded_range_mu(eps * (1.0 + 1e-14)) > mu


def test_ends_and_shapes():
    np.testing.assert_array_equal(bounded_range_mu([0.0, np.inf, -1.0]), [0.0, np.inf, np.nan])
    assert bounded_range_epsilon(0.0) == 0.0
    assert bounded_range_mu(np.ones((3, 2))).shape == bounded_range_epsilon(np.ones((3, 2))).shape
    np.testing.assert_allclose(
        bounded_range_mu(1e-9), 1e-9 * math.sqrt(2 * math.pi) / 4, rtol=2e-12
    )


def shifted_mu(eps, y):
    """Phi^-1(expit(y + eps/2)) - Phi^-1(expit(y - eps/2)), of the two-point pair at y."""

    def normal_score(x):
        return -np.sign(x) * ndtri_exp(log_expit(-np.abs(x)))

    return normal_score(y + 0.5 * eps) - normal_score(y - 0.5 * eps)


@pytest.mark.parametrize("eps", [1e-3, 0.1, 1.0, 5.0, 30.0])
def test_the_worst_pair_is_the_symmetric_one(eps):
    y = np.linspace(-40.0, 40.0, 4001)
    mu = shifted_mu(eps, y)
    assert np.all(mu <= bounded_range_mu(eps))
    np.testing.assert_allclose(mu.max(), bounded_range_mu(eps), rtol=2e-12)
    assert np.all(np.diff(mu[y >= 0.0]) < 1e-13)  # and it falls from there, as the proof says


def two_point_divergence(eps, y, h):
    """H_h of (p, 1 - p) against (p', 1 - p'), log-odds y + eps/2 and y - eps/2."""
    up = expit(y + 0.5 * eps) - np.exp(h) * expit(y - 0.5 * eps)
    down = expit(-y - 0.5 * eps) - np.exp(h) * expit(-y + 0.5 * eps)
    return np.maximum(np.maximum(up, down), 0.0)


@pytest.mark.parametrize("eps", [1e-3, 0.1, 1.0, 5.0, 30.0])
def test_two_point_pairs_are_dominated_by_the_gaussian_one(eps):
    h = np.linspace(0.0, eps, 401)[:, None]
    y = np.linspace(-2.0 * eps, 2.0 * eps, 401)[None, :]
    divergence = two_point_divergence(eps, y, h)
    mu = float(bounded_range_mu(eps))
    assert np.all(divergence <= profile(mu, h) * (1.0 + 1e-13))
    assert not np.all(divergence <= profile(0.98 * mu, h) * (1.0 + 1e-13))


# ------------------------------------------------------------------------ the allowance

# candidates, rate * sigma, answers, queries, beta: a few per end of (15.3) that decides.
SETTINGS = [
    (10, 0.8, 1, 1, 0.05),
    (10, 3.2, 16, 100, 0.05),
    (2, 3.2, 16, 1_000, 0.05),
    (1000, 0.8, 1, 1e5, 0.05),
    (10, 4.6, 32, 1e5, 1e-6),
    (50, 25.0, 1000, 1e9, 0.2),
    (5, 8.0, 100, 100, 0.9),
    (7, 1.5, 3.5, 1e12, 1e-12),
]
SIGMA = 1e-4


def allowance(candidates, rate_sigma, answers, queries, beta, sigma=SIGMA):
    """In units of sigma, of which it is a function of the other five."""
    found = selection_allowance(
        candidates, rate_sigma / sigma, answers=answers, queries=queries, beta=beta, sigma=sigma
    )
    assert np.all(found < 1.0)
    return found / sigma


def broken_conditions(share, candidates, rate_sigma, answers, queries, beta):
    """Which conditions of the proof a share of the allowance breaks, in forty digits, sigma = 1."""
    with mp.workdps(40):
        m, k, beta_, rs = mpf(answers), mpf(queries), mpf(beta), mpf(rate_sigma)
        a = mpf(float(allowance(candidates, rate_sigma, answers, queries, beta))) * mpf(share)
        u = mpf(float(largest_quantile(queries, beta)))
        c = mpf(largest_cvar(queries, beta))
        slack = m / k * beta_ * mpf(SLACK)

        def room(z):
            log_inside = mp.log1p(-mp.erfc(z / mp.sqrt(2)))
            return -mp.exp((k - m) * log_inside) * mp.expm1(m * log_inside)

        def tail(z):
            return max(candidates - 1, 1) * mp.exp(-rs * (a + 2 * (z - c)))

        low, high = u, mpf(40)
        for _ in range(100):  # where the room has fallen to 2 r slack
            middle = (low + high) / 2
            low, high = (middle, high) if room(middle) > 2 * rs * slack else (low, middle)
        inner = [u + (low - u) * i / 60 for i in range(61)]
        broken = {"near"} if tail(u) > room(u) else set()
        broken |= {"inside"} if any(tail(z) > room(z) for z in inner[1:-1]) else set()
        broken |= {"far"} if tail(low) / (2 * rs) > slack else set()
        return broken


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_conditions_of_the_proof_hold_and_would_not_with_less(setting):
    assert broken_conditions(1.0, *setting) == set()
    # The point at which the tail is cut off is found in floats, and costs 1e-3 of it at the most.
    assert broken_conditions(0.998, *setting) != set()


def test_either_end_may_decide():
    broken = [broken_conditions(0.998, *setting) for setting in SETTINGS]
    assert any("near" in found and "far" not in found for found in broken)
    assert any("far" in found and "near" not in found for found in broken)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_it_is_measured_in_units_of_sigma(setting):
    small, large = allowance(*setting, sigma=1e-9), allowance(*setting, sigma=1e-3)
    np.testing.assert_allclose(small, large, rtol=1e-12)
    _, _, _, queries, beta = setting
    gap = largest_cvar(queries, beta) - float(largest_quantile(queries, beta))
    assert small >= 2.0 * gap  # less would fail even without any excess


settings = st.tuples(
    st.integers(1, 10**6),
    st.floats(0.5, 4.0),
    st.floats(1.0, 100.0),
    st.floats(100.0, 1e9),
    st.floats(1e-12, 0.1),
)


@given(settings, st.floats(1.0, 10.0))
def test_it_rises_and_falls_as_it_should(setting, factor):
    n, rate, m, k, beta = setting
    at, just_above = allowance(*setting), 1.0 + 1e-12
    assert at <= allowance(n * factor, rate, m, k, beta) * just_above
    assert at >= allowance(n, rate * factor, m, k, beta) / just_above
    assert at >= allowance(n, rate, min(m * factor, k), k, beta) / just_above
    assert at <= allowance(n, rate, m, k * factor, beta) * just_above
    assert at <= allowance(n, rate, m, k, beta / factor) * just_above


def test_no_excess_is_above_1():
    plan = {"answers": 1, "queries": 100, "beta": 0.05, "sigma": 0.01}
    found = selection_allowance([[2], [1000]], [0.0, 1e-300, 1.0, 1e4, 1e300], **plan)
    assert found.shape == (2, 5)
    np.testing.assert_array_equal(found[:, :3], 1.0)
    assert np.all(found[:, 3:] < 0.1)


def test_what_it_refuses():
    good = {"candidates": 5, "rate": 10.0, "answers": 2, "queries": 10, "beta": 0.05, "sigma": 0.1}
    bad = {
        "candidates": [0, math.nan, [3, 0.5]],
        "rate": [-1.0, math.inf, math.nan],
        "answers": [0.5, 11, math.nan],
        "queries": [0.5, math.inf, math.nan, "10"],
        "beta": [0.0, 1.0, 1e-31],
        "sigma": [0.0, -1.0, math.inf],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(InvalidInput, match=name):
                selection_allowance(**(good | {name: value}))


# ------------------------------------------------- the best that any analyst can do against it


def best_attack(share, candidates, rate_sigma, answers, queries, beta, points=6000):
    """The largest E(X - u*)^+ of all analysts, over beta (C - u): at most 1 if the claim is true.

    Dynamic programming over what happened so far, from u* on, and the answers left; sigma = 1. A
    selection has the worst tail that (15.2) admits. The mean of U after a step is U(s) plus the
    integral of U' times the tail beyond s, here by the trapezoidal rule.
    """
    a = float(allowance(candidates, rate_sigma, answers, queries, beta)) * share
    u, c = float(largest_quantile(queries, beta)), largest_cvar(queries, beta)
    s = np.linspace(u - c, 12.0 + 20.0 / rate_sigma, points)
    rivals = max(candidates - 1, 1)
    gaussian = erfc((s + c) / math.sqrt(2.0))
    selection = np.minimum(rivals * np.exp(-rate_sigma * (a + 2.0 * s)), 1.0)

    def after(value, tail):
        steps = np.diff(value) * 0.5 * (tail[1:] + tail[:-1])
        return value + np.append(np.cumsum(steps[::-1])[::-1], 0.0)

    values = [s - s[0]]
    for left in range(1, queries + 1):
        best = after(values[left - 1], gaussian)
        if left >= answers:
            best = np.maximum(best, after(values[left - answers], selection))
        values.append(best)
    return float(values[queries][0] / (beta * (c - u)))


ATTACKED = [
    (8, 0.8, 1, 40, 0.05),
    (8, 2.0, 6, 24, 0.05),
    (8, 3.2, 16, 100, 0.05),
    (2, 4.0, 24, 24, 0.05),
    (100, 4.4, 30, 300, 0.5),
    (8, 5.0, 40, 80, 1e-4),
]


@pytest.mark.parametrize("setting", ATTACKED, ids=str)
def test_no_analyst_can_break_it(setting):
    assert best_attack(1.0, *setting) <= 1.0 + 1e-4  # the trapezoidal rule's; Gaussians give 1


@pytest.mark.parametrize("setting", ATTACKED[2:], ids=str)
def test_with_less_some_analyst_does(setting):
    assert best_attack(0.8, *setting) > 1.1


# ------------------------------------------------------------------------ some analysts at work

RUNS = 150_000
PLAYED = (8, 3.2, 16, 64, 0.05)
ANALYSTS = {
    "never": lambda s, left, rng: np.zeros_like(left, bool),
    "at once": lambda s, left, rng: np.ones_like(left, bool),
    "at the end": lambda s, left, rng: left <= 32,
    "by a coin": lambda s, left, rng: rng.random(left.size) < 0.1,
    # Selects only when the noise so far was bad, or only when it was good.
    "when it hurts": lambda s, left, rng: s > -0.8,
    "when it helps": lambda s, left, rng: (s < -1.0) & (left < 40),
}


def worst_mean(analyst, share, seed=1):
    """CVaR_beta(X), the largest E[X; B] / P(B), and the standard error of its estimate."""
    candidates, rate, answers, queries, beta = PLAYED
    a = float(allowance(*PLAYED)) * share
    c, rng = largest_cvar(queries, beta), np.random.default_rng(seed)
    s, left = np.full(RUNS, -np.inf), np.full(RUNS, queries)
    while np.any(left > 0):
        gaussian = np.where(left > 0, np.abs(rng.standard_normal(RUNS)) - c, -np.inf)
        excess = (math.log(max(candidates - 1, 1)) + rng.exponential(size=RUNS)) / rate
        selects = ANALYSTS[analyst](s, left, rng) & (left >= answers)
        s = np.maximum(s, np.where(selects, 0.5 * (excess - a), gaussian))
        left = left - np.where(selects, answers, left > 0)
    worst = np.sort(s)[-int(beta * RUNS) :]
    # Of the mean beyond an estimated quantile: its spread, and that of how many are beyond.
    spread = math.sqrt(worst.var() + (1.0 - beta) * (worst.mean() - worst[0]) ** 2)
    return worst.mean(), spread / math.sqrt(worst.size)


@pytest.mark.parametrize("analyst", ANALYSTS)
def test_the_mean_of_the_worst_cases_is_at_most_0(analyst):
    mean, error = worst_mean(analyst, 1.0)
    assert mean <= 3.0 * error
    if analyst == "never":
        assert abs(mean) <= 3.0 * error  # nothing is given away


@pytest.mark.parametrize("analyst", [name for name in ANALYSTS if name != "never"])
def test_with_six_tenths_of_the_allowance_it_is_above_0(analyst):
    mean, error = worst_mean(analyst, 0.6)
    assert mean > 10.0 * error


# ------------------------------------------------------------------------ the paper's

PAPER = {"answers": 3, "queries": 1e4, "snapshot_beta": 1e-5}


def test_the_papers_allowance_is_the_union_bound():
    rate = 5000.0
    got = float(paper_selection_allowance(20, rate, **PAPER))
    exact = mp.log(mpf(20) * 10**4 / (3 * mpf(1e-5))) / rate
    assert exact <= got
    assert relative_error(got, exact * mpf(OUTWARD)) < 1e-15
    assert 20 * math.exp(-rate * got) <= 3 * 1e-5 / 1e4


def test_the_papers_allowance_broadcasts_and_says_nothing_at_1():
    found = paper_selection_allowance([2, 3, 4], [[0.0], [20.0], [1e5]], **PAPER)
    np.testing.assert_array_equal(found[:2], 1.0)
    assert np.all(np.diff(found[2]) > 0.0)
    for wrong in ({"snapshot_beta": 0.0}, {"answers": 2e4}, {"queries": 0}):
        with pytest.raises(InvalidInput):
            paper_selection_allowance(2, 1.0, **(PAPER | wrong))
