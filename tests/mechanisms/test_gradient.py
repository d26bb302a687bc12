"""Noise on vectors: charged for what a record moves, never more than a fit's price."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.noise_sources import FastSeededNoise
from surehold.errors import InvalidInput
from surehold.mechanisms import SCALE, UNIT_BITS, ClippedGaussian, units_up
from surehold.mechanisms.gradient import GaussianVector

SIGMAS = st.floats(1e-6, 1e3)
ROUNDS = st.integers(1, 10**9)
SIZES = st.integers(1, 1001)


@given(SIGMAS, SIZES, ROUNDS)
def test_a_charge_is_the_formula_rounded_up(sigma, size, round):
    units = GaussianVector(sigma, size).charge(round)
    assert type(units) is int
    root = math.isqrt(size) + 1
    exact = (2 / (round * Fraction(sigma)) + Fraction(root, SCALE)) ** 2
    assert units == units_up(exact)
    assert 0 <= Fraction(units, 2**UNIT_BITS) - exact < Fraction(1, 2**UNIT_BITS)
    assert root**2 >= size  # the grid of all coordinates together is paid for


@given(SIGMAS, SIZES, ROUNDS)
def test_a_charge_falls_with_the_round_and_with_the_noise(sigma, size, round):
    vector = GaussianVector(sigma, size)
    assert vector.charge(round) > vector.charge(round + 1)
    assert vector.charge(round) > GaussianVector(1.01 * sigma, size).charge(round)
    assert vector.charge(round) <= GaussianVector(sigma, size + 1).charge(round)


def test_a_vector_costs_what_four_answers_with_its_noise_cost():
    for round in (1, 1000, 10**9):
        vector, answer = GaussianVector(0.01, 1).charge(round), ClippedGaussian(0.01).charge(round)
        assert vector == pytest.approx(4 * answer, rel=1e-9)


@given(SIGMAS, SIZES, st.integers(1, 10_000), st.integers(1, 1_000_000), ROUNDS)
@example(1e3, 1001, 10_000, 1, 10**9)
@example(1e-6, 501_501, 1, 1_000_000, 1)
def test_steps_never_cost_more_than_their_price(sigma, size, steps, answers, round):
    vector = GaussianVector.within(sigma, size, steps, answers)
    cost, price = steps * vector.charge(round), answers * ClippedGaussian(sigma).charge(round)
    assert cost <= price
    assert cost >= price * (1 - 1e-8)  # and waste next to nothing of it


@given(
    SIGMAS,
    st.lists(st.tuples(st.integers(-(2**60), 2**60), st.integers(-6 * SCALE, 6 * SCALE))),
    st.integers(1, 2**80),
)
def test_a_mean_is_exact_until_it_is_a_double(sigma, parts, divisor):
    totals, noise = [total for total, _ in parts], [drawn for _, drawn in parts]
    found = GaussianVector(sigma, len(parts)).noisy(totals, divisor, noise)
    for value, total, drawn in zip(found, totals, noise, strict=True):
        step = Fraction(sigma) / SCALE
        nearest = math.floor(Fraction(total, divisor) / step + Fraction(1, 2))
        assert value == float((nearest + drawn) * step)


@given(SIGMAS, st.lists(st.floats(-1, 1), min_size=1, max_size=30), ROUNDS, st.data())
def test_rounding_to_the_grid_is_within_the_charge(sigma, one, round, data):
    """Two means no farther apart than 2/t, put on the grid, are what is charged apart, or less."""
    size, bits = len(one), 40
    length = math.sqrt(sum(x * x for x in one)) or 1.0
    moves = data.draw(st.lists(st.floats(-1, 1), min_size=size, max_size=size))
    reach = math.sqrt(sum(x * x for x in moves)) or 1.0
    start = [int(x / length * round * 2**bits) for x in one]
    # Cut off towards zero, so that the move is no longer than 2.
    end = [a + int(2 * 0.999999 * x / reach * 2**bits) for a, x in zip(start, moves, strict=True)]
    step = Fraction(sigma) / SCALE
    divisor = round << bits
    square = 0
    for a, b in zip(start, end, strict=True):
        here, there = (math.floor(Fraction(x, divisor) / step + Fraction(1, 2)) for x in (a, b))
        square += (here - there) ** 2
    assert units_up(Fraction(square, SCALE**2)) <= GaussianVector(sigma, size).charge(round)


def test_nothing_is_cut_off():
    vector = GaussianVector(0.5, 3)
    assert vector.noisy([3, -3, 0], 1, [SCALE, -SCALE, 100 * SCALE]) == [3.5, -3.5, 50.0]


def test_unbiased_and_as_noisy_as_it_says():
    vector = GaussianVector(0.01, 20_000)
    found = np.array(vector.noisy([123] * 20_000, 400, FastSeededNoise(1).draw(20_000)))
    assert abs(found.mean() - 123 / 400) < 4 * 0.01 / math.sqrt(20_000)
    assert found.std() == pytest.approx(0.01, rel=0.02)


def test_numbers_that_do_not_fit_are_refused():
    vector = GaussianVector(0.5, 2)
    with pytest.raises(InvalidInput, match="2 of them"):
        vector.noisy([1], 10, [0])
    with pytest.raises(ValueError, match="zip"):
        vector.noisy([1, 2], 10, [0])
    with pytest.raises(InvalidInput, match="round"):
        vector.charge(0)
