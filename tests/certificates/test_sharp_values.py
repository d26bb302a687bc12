"""The values of shared/theory/sharp-bound.md, and that none is better than the truth allows."""

import math

import numpy as np
import pytest

from certificates import sharp_oracle as oracle
from surehold.planning import plan
from surehold.theory.certificates import Batches, get
from surehold.theory.certificates.sharp import best_epsilon, one_mu_stability, stability_terms
from surehold.theory.exposure import Schedule

ALPHA, BETA = 0.1, 0.05
SHARP = get("sharp")

VALUES = [
    (10_000, 10_000, 1, 106),
    (100_000, 100_000, 1, 6_803),
    (1_500_000, 1_500_000, 1, 1_059_700),
    (500_000, 1_500_000, 4, 307_660),
    (500_000, 1_500_000, 40, 361_100),
]


@pytest.mark.parametrize(("n0", "n", "b", "expected"), VALUES)
def test_number_of_queries(n0, n, b, expected):
    found = SHARP.queries(Batches(n0, n, b=b), ALPHA, BETA)
    assert found == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize(("n0", "n", "b", "expected"), VALUES)
def test_never_above_the_true_optimum(n0, n, b, expected):
    """One query in two thousand more than we grant is more than the theorem grants."""
    found = SHARP.queries(Batches(n0, n, b=b), ALPHA, BETA)
    beyond = math.floor(found * 1.0005) + 1
    assert oracle.best_width(oracle.schedule_pieces(n0, n, b, beyond), beyond, BETA) > ALPHA


def test_never_far_below_the_true_optimum():
    found = SHARP.queries(Batches(1_500_000, 1_500_000), ALPHA, BETA)
    less = math.floor(found * 0.9995)
    assert oracle.best_width(oracle.schedule_pieces(0, 1_500_000, 1, less), less, BETA) < ALPHA


def test_adaptive_example():
    solved = plan(n0=500_000, n=1_500_000, alpha=ALPHA, beta=BETA)
    assert solved.sigma == pytest.approx(0.0089199, rel=1e-4)
    assert solved.budget == pytest.approx(0.0049845, rel=1e-4)
    paces = (solved.paces.at_n0, solved.paces.evenly, solved.paces.at_n)
    assert paces == pytest.approx((99_147, 297_441, 892_324), rel=5e-4)
    beyond = math.floor(solved.queries * 1.0005) + 1
    pieces = oracle.adaptive_pieces(500_000, 1_500_000, beyond)
    assert oracle.best_width(pieces, beyond, BETA) > ALPHA


@pytest.mark.parametrize(
    ("n0", "n", "b", "k", "beta"),
    [
        (1_000, 1_000, 1, 1, 0.05),
        (5_000, 20_000, 3, 100, 1e-6),
        (10**6, 10**8, 5, 10**7, 0.3),
        (10**9, 10**9, 1, 10**12, 1e-12),
    ],
)
def test_width_agrees_with_the_oracle_at_our_constants(n0, n, b, k, beta):
    k -= k % b  # so that every batch has the same number
    found = SHARP.width(Batches(n0, n, b=b).at(k), beta)
    pieces = oracle.schedule_pieces(n0, n, b, k)
    exact = oracle.width(pieces, k, beta, found.constants["sigma"], found.constants["epsilon"])
    assert found.value >= exact
    assert found.value == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 0.08, 1.0, 5.0])
@pytest.mark.parametrize("reach", [1.0, 1.0 + math.log(3.0), 10.0])
@pytest.mark.parametrize("beta", [1e-9, 0.05, 0.6])
def test_closed_form_where_one_mu_serves_all(mu, reach, beta):
    """The terms at the best eps of the general sum are the note's closed form."""
    closed = float(one_mu_stability(mu, beta, reach))

    def lhs(c):
        tails = oracle.mp.ncdf(mu / 2 - c) + oracle.mp.ncdf(-mu / 2 - c)
        return tails + 2 * oracle.mp.exp(-(oracle.mpf(mu) ** 2) / 8) * oracle.mp.ncdf(-c)

    share = oracle.mpf(beta) / reach
    c = oracle.mp.findroot(
        lambda c: oracle.mp.log(lhs(c) / share), (0.01, 40), solver="anderson", tol=1e-25
    )
    exact = (oracle.mp.ncdf(mu / 2 - c) - oracle.mp.ncdf(-mu / 2 - c)) / share
    assert closed == pytest.approx(float(exact), rel=1e-9)
    assert closed >= float(exact) * (1 - 1e-13)


def test_growth_is_nearly_free():
    """What the note says in words; its factors were slightly too large (see docs)."""
    base = float(one_mu_stability(0.08, 0.05))
    ratios = [
        float(one_mu_stability(0.08, 0.05, 1 + math.log(r))) / base for r in (3, 10, 100, 1e4)
    ]
    assert ratios == pytest.approx([1.095, 1.150, 1.212, 1.278], abs=0.001)


def test_any_eps_is_valid_and_the_chosen_one_is_best():
    exposure = Schedule([1_000, 2_500, 9_000], [40, 20, 70]).exposure()
    sigma = 0.01
    best = best_epsilon(exposure, sigma, BETA)
    value = sum(stability_terms(exposure, sigma, best, BETA))
    for eps in best * np.geomspace(0.2, 5.0, 41):
        assert sum(stability_terms(exposure, sigma, eps, BETA)) >= value * (1 - 1e-12)


def test_every_pace_really_fits_the_budget():
    solved = plan(n0=1_000, n=5_000, alpha=0.2, beta=BETA)
    count = solved.paces.evenly
    evenly = np.ceil(1_000 + (np.arange(count) + 0.5) / count * 4_000)
    for rounds in (
        np.full(solved.paces.at_n0, 1_000),
        evenly,
        np.full(solved.paces.at_n, 5_000),
    ):
        assert np.sum(1.0 / (rounds * solved.sigma) ** 2) <= solved.budget * (1 + 1e-12)
        over = np.append(rounds, [rounds[-1]] * 8)
        assert np.sum(1.0 / (over * solved.sigma) ** 2) > solved.budget
