"""The discrete Gaussian's probability mass: the sampler has it, and its plausible bugs do not.

Seeds are fixed. The sampler's own p-values must be plausible; each bug must be refuted with as many
draws. The mean of every bug is right and its variance often nearly so: moments would not do.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features
from scipy.special import ndtr
from scipy.stats import kstest

from mechanisms.goodness import chi_square, gaussian_p_value, two_sample_p_value
from support.noise_sources import FastSeededNoise, SeededNoise
from surehold.mechanisms import sampler
from surehold.mechanisms.noise import SCALE, SystemBits
from surehold.mechanisms.sampler import bernoulli, bernoulli_exp, discrete_gaussian, uniform

PLAUSIBLE = 1e-3
REFUTED = 1e-6
DRAWS = 120_000


def sample(scale, seed=1, draws=DRAWS):
    bits = random.Random(seed)
    return [discrete_gaussian(scale, bits) for _ in range(draws)]


@pytest.mark.parametrize("scale", [1, 2, 3, 5, 8])
def test_the_probability_mass(scale):
    assert gaussian_p_value(sample(scale), scale) > PLAUSIBLE


@pytest.mark.parametrize("scale", [1, 3])
def test_as_opendp_draws_it(scale):
    enable_features("contrib")
    domain, distance = vector_domain(atom_domain(T="i32")), l2_distance(T="i32")
    oracle = make_gaussian(domain, distance, scale=float(scale))([0] * 50_000)
    assert gaussian_p_value(oracle, scale) > REFUTED  # its seed is not ours to choose
    assert two_sample_p_value(sample(scale, draws=50_000), oracle) > REFUTED


def test_the_comparison_with_opendp_would_notice_a_wrong_scale():
    assert two_sample_p_value(sample(20, draws=30_000), sample(21, 2, 30_000)) < REFUTED


# ------------------------------------------------------------------------- plausible bugs


def with_patch(name, wrong):
    """The sampler with one of its parts exchanged."""

    def draw(scale, bits, monkeypatch):
        monkeypatch.setattr(sampler, name, wrong)
        return [sampler.discrete_gaussian(scale, bits) for _ in range(DRAWS)]

    return draw


def keeping(probability):
    """The last step, with another probability (a ratio) of keeping x."""

    def draw(scale, bits, monkeypatch):
        kept = []
        while len(kept) < DRAWS:
            x = sampler.discrete_laplace(scale, bits)
            if bernoulli_exp(*probability(x, scale), bits):
                kept.append(x)
        return kept

    return draw


def laplace_with_two_zeros(scale, bits):
    while True:
        u = uniform(scale, bits)
        if bernoulli_exp(u, scale, bits):
            size = u + scale * geometric(bits)
            return -size if bits.getrandbits(1) else size


def laplace_cut_short(most):
    def laplace(scale, bits):
        while True:
            u = uniform(scale, bits)
            if bernoulli_exp(u, scale, bits):
                size = u + scale * min(geometric(bits), most)
                if bits.getrandbits(1) or not size:
                    return size
                return -size

    return laplace


def geometric(bits):
    v = 0
    while bernoulli_exp(1, 1, bits):
        v += 1
    return v


def exp_by_a_short_series(numerator, denominator, bits):
    while numerator > denominator:
        if not exp_by_a_short_series(1, 1, bits):
            return False
        numerator -= denominator
    k = 1
    while k < 4 and bernoulli(numerator, denominator * k, bits):
        k += 1
    return k % 2 == 1


def uniform_by_remainder(below, bits):
    return bits.getrandbits((below - 1).bit_length()) % below


def rounded_normal(scale, bits, monkeypatch):
    return [round(bits.gauss(0.0, scale)) for _ in range(DRAWS)]


BUGS = {
    "zero counted as +0 and -0": (8, with_patch("discrete_laplace", laplace_with_two_zeros)),
    "a continuous Gaussian, rounded": (1, rounded_normal),
    "excess one too large": (8, keeping(lambda x, s: ((abs(x) - s + 1) ** 2, 2 * s * s))),
    "excess one too small": (8, keeping(lambda x, s: ((abs(x) - s - 1) ** 2, 2 * s * s))),
    "variance 10 % too large": (3, keeping(lambda x, s: (10 * (abs(x) - s) ** 2, 22 * s * s))),
    "variance 10 % too small": (3, keeping(lambda x, s: (10 * (abs(x) - s) ** 2, 18 * s * s))),
    "nothing beyond 3 sigma": (5, with_patch("discrete_laplace", laplace_cut_short(2))),
    "exp by a short series": (3, with_patch("bernoulli_exp", exp_by_a_short_series)),
    "uniform by remainder": (5, with_patch("uniform", uniform_by_remainder)),
}


@pytest.mark.parametrize("bug", BUGS)
def test_the_test_has_power(bug, monkeypatch):
    scale, draw = BUGS[bug]
    assert gaussian_p_value(draw(scale, random.Random(1), monkeypatch), scale) < REFUTED


# ------------------------------------------------------------- at the scale that is used


@pytest.fixture(scope="module")
def real():
    return SeededNoise(1).draw(100_000)


def test_it_is_gaussian_in_the_large(real):
    assert kstest(ndtr(np.array([z / SCALE for z in real])), "uniform").pvalue > PLAUSIBLE
    assert kstest(ndtr(np.array([1.02 * z / SCALE for z in real])), "uniform").pvalue < 0.01


def low_bits_p_value(draws, bits):
    counts = np.bincount([z % 2**bits for z in draws], minlength=2**bits)
    return chi_square(counts, np.full(2**bits, len(draws) / 2**bits))


def test_it_is_uniform_in_the_small(real):
    """What a sampler by way of doubles gets wrong (Mironov 2012)."""
    assert low_bits_p_value(real, 8) > PLAUSIBLE
    assert low_bits_p_value([z >> 32 for z in real], 8) > PLAUSIBLE
    assert low_bits_p_value(FastSeededNoise(1).draw(10_000), 8) < REFUTED


def test_the_systems_bits_are_fair():
    bits = SystemBits()
    for k in (0, 1, 7, 8, 64, 96, 50_000):
        assert all(0 <= bits.getrandbits(k) < 2**k for _ in range(20))
    drawn = [bits.getrandbits(8) for _ in range(100_000)]
    assert chi_square(np.bincount(drawn, minlength=256), np.full(256, len(drawn) / 256)) > 1e-9
    ones = sum(bits.getrandbits(1) for _ in range(100_000))
    assert abs(ones - 50_000) < 6.5 * 158.2  # standard deviations
