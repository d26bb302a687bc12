"""The largest of k noises against sixty digits, for k up to 1e12 and beta down to 1e-12.

A tolerance is a few times the worst error that was measured; the comment beside it gives that.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehold.errors import InvalidInput
from surehold.theory.noise import (
    OUTWARD,
    largest_cvar,
    largest_excess,
    largest_quantile,
    largest_tail,
    own_noise_factor,
    snapshot_quantile,
    snapshot_quantile_loose,
)
from theory import oracles
from theory.oracles import mp, mpf, relative_error

K = [1, 2, 10, 1e3, 1e6, 1e9, 1e12]
BETA = [1e-12, 1e-6, 1e-3, 0.05, 0.5, 0.999]
# Every k and every beta once or twice: quadrature in forty digits takes 0.1 s a time.
SOME = [(1, 0.5), (2, 1e-12), (10, 0.999), (1e3, 1e-6), (1e6, 0.05), (1e9, 1e-3), (1e12, 1e-12)]

over_k = pytest.mark.parametrize("k", K)
over_some = pytest.mark.parametrize(("k", "beta"), SOME)


def worst_error(function, oracle, k):
    return max(relative_error(function(k, beta), oracle(k, beta)) for beta in BETA)


# ------------------------------------------------------------------------ quantiles


@over_k
def test_snapshot_quantile(k):
    assert worst_error(snapshot_quantile, oracles.snapshot_quantile, k) < 2e-15  # measured 4.4e-16


@over_k
def test_snapshot_quantile_loose(k):
    error = worst_error(snapshot_quantile_loose, oracles.snapshot_quantile_loose, k)
    assert error < 2e-15  # measured 3.4e-16


@over_k
def test_largest_quantile(k):
    assert worst_error(largest_quantile, oracles.largest_quantile, k) < 4e-15  # measured 6.8e-16


@over_k
def test_the_quantiles_are_in_order(k):
    # Lemma 4.3 splits beta between the two sides, its looser form uses a union bound on top. (At
    # k = 1 the two forms are one: the lemma's "<" is an equality there.)
    exact, loose = snapshot_quantile(k, BETA), snapshot_quantile_loose(k, BETA)
    assert np.all(largest_quantile(k, BETA) <= exact * (1.0 + 1e-15))
    assert np.all(exact <= loose * (1.0 + 1e-15))


@given(st.sampled_from(K), st.floats(1e-12, 0.999), st.floats(1.0, 1e3))
def test_quantiles_rise_with_k_and_fall_with_beta(k, beta, factor):
    for quantile in (snapshot_quantile, snapshot_quantile_loose, largest_quantile):
        at = quantile(k, beta)
        assert at <= quantile(factor * k, beta) * (1.0 + 1e-15)
        assert at <= quantile(k, beta / factor) * (1.0 + 1e-15)


def test_quantiles_broadcast():
    for quantile in (snapshot_quantile, snapshot_quantile_loose, largest_quantile):
        table = quantile(np.array(K)[:, None], BETA)
        assert table.shape == (len(K), len(BETA))
        assert table[2, 3] == quantile(10, 0.05)


# ------------------------------------------------------------------------ tail and excess


@over_k
def test_largest_tail(k):
    points = [0.0, 1e-9, 1e-3, 0.5, 1.0, 3.0, 5.0, 7.0, 9.0, 12.0, 20.0, 37.0]
    errors = [relative_error(largest_tail(k, x), oracles.largest_tail(k, x)) for x in points]
    assert max(errors) < 5e-13  # measured 1.2e-13, at x = 37: the conditioning of exp(-x^2/2)


@over_k
def test_the_tail_at_a_quantile_is_beta(k):
    np.testing.assert_allclose(largest_tail(k, largest_quantile(k, BETA)), BETA, rtol=1e-13)


def test_the_tail_is_one_below_zero():
    assert largest_tail(10, -0.5) == 1.0


def test_the_tail_is_one_at_zero_and_none_at_infinity():
    np.testing.assert_array_equal(largest_tail(np.array(K), 0.0), 1.0)
    np.testing.assert_array_equal(largest_tail(np.array(K), np.inf), 0.0)


@pytest.mark.parametrize(
    ("k", "starts"),
    [(1, [0.0, 20.0]), (10, [0.0, 12.0]), (1e3, [3.0, 9.0]), (1e6, [5.0, 20.0]), (1e12, [7.0])],
)
def test_largest_excess_is_just_above(k, starts):
    for start in starts:
        over = mpf(largest_excess(k, start)) / oracles.largest_excess(k, start) - 1
        assert 0 < over < 2e-12  # measured 1.00e-12 to 1.03e-12: hardly more than is added


@pytest.mark.parametrize("start", [1e-9, 0.1, 3.3, 9.0, 15.0, 25.0])
def test_the_excess_of_one_noise_in_closed_form(start):
    exact = 2 * (mp.npdf(mpf(start)) - mpf(start) * oracles.ndtr(-mpf(start)))
    assert 0 < mpf(largest_excess(1, start)) / exact - 1 < 2e-12


# ------------------------------------------------------------------------ CVaR


@over_k
@pytest.mark.parametrize("beta", BETA)
def test_largest_cvar_is_just_above(k, beta):
    over = mpf(largest_cvar(k, beta)) / oracles.largest_cvar(k, beta) - 1
    assert 0 <= over < 2e-12  # measured 9.3e-15 to 1.0e-12


@over_some
def test_cvar_is_the_least_of_its_bounds(k, beta):
    # CVaR = min over u of u + E(M - u)^+ / beta, so no other u may give less.
    best = largest_cvar(k, beta)
    start = float(largest_quantile(k, beta))
    for u in (0.5 * start, 0.99 * start, 1.01 * start, 1.5 * start):
        assert u + largest_excess(k, u) / beta > best


@given(st.floats(1.0, 1e12), st.floats(1e-12, 0.99), st.floats(1.0, 100.0))
def test_cvar_is_monotone_and_above_the_quantile(k, beta, factor):
    cvar = largest_cvar(k, beta)
    assert cvar > largest_quantile(k, beta)
    assert cvar <= largest_cvar(k * factor, beta) * OUTWARD
    assert cvar <= largest_cvar(k, beta / factor) * OUTWARD


# ------------------------------------------------------------------------ noise by the round

RATIOS = [1.0 + 1e-12, 1.001, 2.0, 1e3, 1e9]


@over_some
@pytest.mark.parametrize("ratio", RATIOS)
def test_own_noise_factor_is_safe_and_tight(k, beta, ratio):
    # The condition of the note itself, by quadrature of the density of M.
    factor = own_noise_factor(k, beta, 1.0, ratio)
    assert oracles.own_noise_cvar(k, beta, 1.0, ratio, factor) <= 0
    # Measured: the factor is at most 1.4e-12 above the smallest one.
    assert oracles.own_noise_cvar(k, beta, 1.0, ratio, factor * (1.0 - 1e-11)) > 0


@over_some
def test_equal_noise_needs_the_cvar(k, beta):
    assert own_noise_factor(k, beta, 0.3, 0.3) == largest_cvar(k, beta)
    nearly = own_noise_factor(k, beta, 1.0, 1.0 + 1e-12)
    assert nearly == pytest.approx(largest_cvar(k, beta), rel=1e-11)


@over_some
def test_own_noise_factor_rises_with_the_ratio(k, beta):
    factors = [own_noise_factor(k, beta, 1.0, ratio) for ratio in [1.0, *RATIOS]]
    assert np.all(np.diff(factors) >= 0.0)
    assert factors[-1] > factors[0]


@given(st.floats(1.0, 1e3), st.floats(1e-6, 1e6))
def test_only_the_ratio_of_the_noises_matters(ratio, scale):
    one = own_noise_factor(100, 0.05, 1.0, ratio)
    assert own_noise_factor(100, 0.05, scale, scale * ratio) == pytest.approx(one, rel=1e-11)


@pytest.mark.parametrize(
    ("parameter", "beta", "low", "high"),
    [
        ("beta", 0.0, 1.0, 2.0),
        ("beta", 1.0, 1.0, 2.0),
        ("beta", np.nan, 1.0, 2.0),
        ("beta", "0.05", 1.0, 2.0),
        ("low", 0.05, 0.0, 2.0),
        ("low", 0.05, -1.0, 2.0),
        ("low", 0.05, np.nan, 2.0),
        ("low", 0.05, np.inf, np.inf),
        ("high", 0.05, 2.0, 1.0),
        ("high", 0.05, 1.0, np.inf),
        ("high", 0.05, 1.0, np.nan),
    ],
)
def test_own_noise_factor_refuses(parameter, beta, low, high):
    with pytest.raises(InvalidInput) as caught:
        own_noise_factor(10, beta, low, high)
    assert caught.value.parameter == parameter
