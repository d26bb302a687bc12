"""The clipped Gaussian on its grid: exact against fractions, and charged for what it moves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold
from support.noise_sources import FastSeededNoise
from surehold.errors import InvalidInput
from surehold.mechanisms import SCALE, UNIT_BITS, ClippedGaussian, to_float, units_down, units_up

SIGMAS = st.floats(1e-12, 1e3)
ROUNDS = st.integers(1, 10**18)
BITS = st.integers(0, 64)


@st.composite
def snapshots(draw):
    """A round, its bits and a sum that it can have."""
    round, bits = draw(ROUNDS), draw(BITS)
    return round, bits, draw(st.integers(0, round << bits))


def on_grid(sigma, total, bits, round):
    """N as the docstring has it, in fractions."""
    return math.floor(Fraction(total * SCALE, round << bits) / Fraction(sigma) + Fraction(1, 2))


@given(SIGMAS, snapshots(), st.integers(-6 * SCALE, 6 * SCALE))
def test_an_answer_is_exact_until_it_is_a_double(sigma, snapshot, noise):
    round, bits, total = snapshot
    value = (on_grid(sigma, total, bits, round) + noise) * Fraction(sigma) / SCALE
    expected = float(min(max(value, Fraction(0)), Fraction(1)))
    assert ClippedGaussian(sigma).noisy(total, round << bits, noise) == expected


@given(SIGMAS, snapshots(), st.data())
def test_one_record_moves_the_grid_point_by_no_more_than_is_charged(sigma, snapshot, data):
    round, bits, total = snapshot
    lowest, highest = max(0, total - (1 << bits)), min(round << bits, total + (1 << bits))
    other = data.draw(st.integers(lowest, highest))
    moved = abs(on_grid(sigma, total, bits, round) - on_grid(sigma, other, bits, round))
    assert moved <= SCALE / (round * Fraction(sigma)) + 1
    assert units_up(Fraction(moved, SCALE) ** 2) <= ClippedGaussian(sigma).charge(round)


@given(SIGMAS, ROUNDS)
def test_a_charge_is_the_formula_rounded_up(sigma, round):
    exact = (1 / (round * Fraction(sigma)) + Fraction(1, SCALE)) ** 2
    units = ClippedGaussian(sigma).charge(round)
    assert units == units_up(exact)
    assert 0 <= Fraction(units, 2**UNIT_BITS) - exact < Fraction(1, 2**UNIT_BITS)
    plain = 1 / (round * Fraction(sigma)) ** 2
    assert plain < exact
    if round * sigma < 1e12:  # the grid costs next to nothing
        assert exact < plain * (1 + Fraction(1, 10**16))


@given(SIGMAS, snapshots())
def test_without_noise_the_answer_is_the_mean(sigma, snapshot):
    round, bits, total = snapshot
    answer = ClippedGaussian(sigma).noisy(total, round << bits, 0)
    # Half a step of the grid and half a unit in the last place.
    slack = Fraction(sigma) / (2 * SCALE) + Fraction(1, 2**54)
    assert abs(Fraction(answer) - Fraction(total, round << bits)) <= slack


def test_clipping():
    mechanism = ClippedGaussian(0.25)
    assert mechanism.noisy(1, 2, 2 * SCALE) == 1.0
    assert mechanism.noisy(1, 2, 2 * SCALE + 1) == 1.0
    assert mechanism.noisy(1, 2, 10 * SCALE) == 1.0
    assert mechanism.noisy(1, 2, -2 * SCALE) == 0.0
    assert mechanism.noisy(1, 2, -99 * SCALE) == 0.0
    assert mechanism.noisy(1, 2, -SCALE) == 0.25


def test_unbiased_and_as_noisy_as_it_says():
    mechanism, draws = ClippedGaussian(0.01), FastSeededNoise(1).draw(40_000)
    answers = np.array([mechanism.noisy(123 << 20, 400 << 20, z) for z in draws])
    assert abs(answers.mean() - 123 / 400) < 4 * 0.01 / 200
    assert answers.std() == pytest.approx(0.01, rel=0.015)


def test_numpys_numbers_do_not_overflow():
    mechanism, round = ClippedGaussian(np.float64(0.1)), 10**12
    assert mechanism.charge(np.int64(round)) == ClippedGaussian(0.1).charge(round)
    given = (np.int64(10**15), np.int64(10**18), np.int64(3))
    assert mechanism.noisy(*given) == mechanism.noisy(*map(int, given))


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.inf, math.nan])
def test_refuses_a_sigma_that_is_no_noise(sigma):
    with pytest.raises(InvalidInput, match="sigma"):
        ClippedGaussian(sigma)


def test_a_plan_admits_exactly_the_queries_it_promises():
    plan = surehold.plan(n0=500_000, n=1_500_000, alpha=0.1, beta=0.05)
    mechanism, budget = ClippedGaussian(plan.sigma), units_down(plan.budget)
    assert plan.max_queries * mechanism.charge(plan.n) <= budget
    assert (plan.max_queries + 1) * mechanism.charge(plan.n) > budget
    assert plan.paces.at_n0 * mechanism.charge(plan.n0) <= budget
    assert (plan.paces.at_n0 + 1) * mechanism.charge(plan.n0) > budget


@given(st.floats(0, 1e30))
def test_units_round_to_the_safe_side(amount):
    down, up = units_down(amount), units_up(amount)
    assert Fraction(down, 2**UNIT_BITS) <= Fraction(amount) <= Fraction(up, 2**UNIT_BITS)
    assert up - down == (Fraction(amount) * 2**UNIT_BITS % 1 != 0)
    if amount > 1e-40:
        assert to_float(down) == pytest.approx(amount, rel=1e-15)


@pytest.mark.parametrize("convert", [units_up, units_down])
@pytest.mark.parametrize("amount", [-1e-300, Fraction(-1, 3), math.inf, math.nan])
def test_units_refuse_what_is_no_amount(convert, amount):
    with pytest.raises(InvalidInput, match="amount"):
        convert(amount)
