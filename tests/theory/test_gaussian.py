"""Gaussian privacy against sixty digits, from mu = 1e-9 to mu = 50 and far into the tails.

Each tolerance is a few times the worst error that was measured, which the comment beside it gives.
The errors are the conditioning of ``exp(-c^2/2)``: 1e-16 in c = eps/mu = 30 is 1e-13 in the result.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehold.errors import NotCertified
from surehold.theory.gaussian import (
    profile,
    profile_epsilon,
    profile_mu,
    tilt_divergence,
    tilt_mass,
    tilt_slope,
    tradeoff,
)
from theory import oracles
from theory.oracles import mp, mpf, relative_error

MU = [1e-9, 1e-6, 1e-3, 0.08, 1.0, 10.0, 50.0]
# 0.5 is where the two ways of differencing meet, and 10 is where plain tails may take over.
MU_AT_SEAMS = [0.4999, 0.5, 0.5001, 9.99, 10.01, 15.0]
CENTRES = [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 2.5, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0]  # eps / mu
DELTAS = [1e-280, 1e-100, 1e-12, 1e-6, 1e-3, 0.05, 0.5, 0.999]
EPSILONS = [1e-12, 1e-9, 1e-6, 1e-3, 0.05, 1.0, 10.0, 100.0, 1000.0]
ROUNDING = 1e-12  # what an inverse may be over in its forward function; measured 1.3e-13


def worst_error(function, oracle, mu, centres=CENTRES):
    return max(relative_error(function(mu, c * mu), oracle(mu, c * mu)) for c in centres)


# ------------------------------------------------------------------------ forward functions


@pytest.mark.parametrize("mu", MU)
def test_tradeoff(mu):
    alphas = [1e-12, 1e-6, 1e-3, 0.05, 0.5, 0.999, 1.0 - 1e-9]
    errors = [relative_error(tradeoff(mu, a), oracles.tradeoff(mu, a)) for a in alphas]
    assert max(errors) < 4e-13  # measured 4.0e-14


def test_tradeoff_at_the_ends():
    np.testing.assert_array_equal(tradeoff([0.5, 3.0], [[0.0], [1.0]]), [[1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(tradeoff(0.0, [0.1, 0.9]), [0.9, 0.1], rtol=1e-15)


def test_tradeoff_is_its_own_inverse():
    # The trade-off of a symmetric pair of laws: exchange the two errors.
    alpha = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(tradeoff(1.5, tradeoff(1.5, alpha)), alpha, rtol=5e-15)


@pytest.mark.parametrize("mu", MU + MU_AT_SEAMS)
def test_profile(mu):
    assert worst_error(profile, oracles.profile, mu) < 5e-13  # measured 1.1e-13


@pytest.mark.parametrize("mu", MU + MU_AT_SEAMS)
def test_tilt_divergence(mu):
    assert worst_error(tilt_divergence, oracles.tilt_divergence, mu) < 1e-12  # measured 1.7e-13


@pytest.mark.parametrize("mu", MU + MU_AT_SEAMS)
def test_tilt_mass(mu):
    assert worst_error(tilt_mass, oracles.tilt_mass, mu) < 5e-13  # measured 1.3e-13


@pytest.mark.parametrize("mu", MU + MU_AT_SEAMS)
def test_tilt_slope(mu):
    # Thousands of digits are needed for mu = 50, so it gets fewer points.
    centres = CENTRES if mu < 50.0 else [0.0, 3.0, 8.0]
    assert worst_error(tilt_slope, oracles.tilt_slope, mu, centres) < 5e-13  # measured 7.9e-14


def test_the_profile_at_zero_is_the_total_variation():
    mu = np.array(MU)
    exact = [float(mp.erf(mpf(m) / 2 / mp.sqrt(2))) for m in MU]
    np.testing.assert_allclose(profile(mu, 0.0), exact, rtol=1e-14)  # measured 1.8e-15


@pytest.mark.parametrize(
    ("mu", "eps"), [(1e-3, 5e-3), (0.08, 0.2), (1.0, 0.0), (1.0, 2.0), (10.0, 20.0)]
)
def test_the_closed_form_of_the_divergence_is_its_definition(mu, eps):
    # An integral over likelihood ratios, which is what the proof uses.
    by_definition = oracles.tilt_divergence_by_definition(mu, eps)
    assert relative_error(tilt_divergence(mu, eps), by_definition) < 2e-14  # measured 2.9e-15


@pytest.mark.parametrize(("mu", "eps"), [(1e-3, 5e-3), (0.08, 0.2), (1.0, 2.0), (10.0, 20.0)])
def test_the_mass_is_minus_the_derivative_in_kappa(mu, eps):
    kappa = mp.tanh(mpf(eps) / 4)
    slope = mp.diff(lambda k: oracles.tilt_divergence(mu, 4 * mp.atanh(k)), kappa)
    assert relative_error(tilt_mass(mu, eps), -slope) < 2e-14  # measured 2.4e-15


# ------------------------------------------------------------------------ what theory promises

levels = st.floats(1e-9, 30.0)
centres = st.floats(0.0, 20.0)


@given(levels, centres)
def test_the_divergence_is_below_the_profile_bound(mu, centre):
    # (4.3): D_kappa <= (1 - kappa) delta.
    eps = centre * mu
    bound = float(profile(mu, eps)) * 2.0 / (1.0 + np.exp(0.5 * eps))
    assert 0.0 <= tilt_divergence(mu, eps) <= bound * (1.0 + 1e-12)


@given(levels, centres, st.floats(1.0, 2.0))
def test_more_exposure_is_never_better(mu, centre, factor):
    eps = centre * mu
    allowance = 1.0 + 1e-12
    for function in (profile, tilt_divergence):
        assert function(mu, eps) <= function(factor * mu, eps) * allowance


@given(levels, centres, st.floats(1.0, 2.0))
def test_a_larger_epsilon_is_never_worse(mu, centre, factor):
    eps = centre * mu
    allowance = 1.0 + 1e-12
    for function in (profile, tilt_divergence, tilt_mass):
        assert function(mu, factor * eps) <= function(mu, eps) * allowance


@pytest.mark.parametrize("function", [profile, tilt_divergence, tilt_mass, tilt_slope])
def test_an_unexposed_record_adds_nothing(function):
    np.testing.assert_array_equal(function(0.0, [0.0, 1e-9, 1.0, 1e3]), 0.0)


@pytest.mark.parametrize("function", [profile, tilt_divergence, tilt_mass, tilt_slope])
def test_far_tails_vanish_quietly(function):
    # Past the reach of doubles: no warning, no NaN.
    np.testing.assert_array_equal(function([1e-300, 1e-9, 1.0, 50.0], [1.0, 1.0, 1e3, 1e5]), 0.0)


@pytest.mark.parametrize("eps", [2e12, np.inf])
def test_the_profile_vanishes_for_absurd_epsilons_too(eps):
    assert profile(1.0, eps) == 0.0


@pytest.mark.parametrize("function", [profile, tilt_divergence, tilt_mass, tilt_slope])
def test_a_level_that_is_no_number_is_not_taken_for_no_exposure(function):
    assert np.isnan(function(np.nan, 1.0))


@pytest.mark.parametrize("function", [profile, tilt_divergence])
def test_exposure_without_limit_protects_nothing(function):
    # The divergence tends to 1 - kappa, the profile to 1.
    limit = 1.0 if function is profile else 2.0 / (1.0 + np.exp(0.5 * 3.0))
    np.testing.assert_allclose(function([1e3, 1e6, 1e100], 3.0), limit, rtol=1e-15)


@pytest.mark.parametrize("function", [profile, tilt_divergence, tilt_mass, tilt_slope])
def test_broadcasting(function):
    mu, eps = np.array([[1e-6], [0.3], [20.0]]), np.array([0.0, 1e-6, 0.5, 30.0])
    together = function(mu, eps)
    assert together.shape == (3, 4)
    assert function(1.0, 1.0).shape == ()
    # A point is worth the same alone, although the array takes several branches at once.
    single = [[float(function(m, e)) for e in eps] for m in mu[:, 0]]
    np.testing.assert_array_equal(together, single)


# ------------------------------------------------------------------------ inverses


def is_within(value: object, bound: float, allowance: float = ROUNDING) -> bool:
    return value <= mpf(bound) * (1 + mpf(allowance))


@pytest.mark.parametrize("mu", MU)
@pytest.mark.parametrize("delta", DELTAS)
def test_profile_epsilon_is_safe_and_tight(mu, delta):
    eps = float(profile_epsilon(mu, delta))
    assert is_within(oracles.profile(mu, eps), delta)
    if eps > 0.0:
        just_below = float(np.nextafter(eps, 0.0))
        assert not is_within(oracles.profile(mu, just_below), delta, -ROUNDING)


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_profile_mu_is_safe_and_tight(eps, delta):
    mu = float(profile_mu(eps, delta))
    assert is_within(oracles.profile(mu, eps), delta)
    just_above = float(np.nextafter(mu, np.inf))
    assert not is_within(oracles.profile(just_above, eps), delta, -ROUNDING)


def test_profile_epsilon_is_zero_where_no_epsilon_is_needed():
    delta = profile(MU, 0.0)
    np.testing.assert_array_equal(profile_epsilon(MU, delta), 0.0)
    assert profile_epsilon(0.0, 1e-12) == 0.0


def test_profile_mu_at_epsilon_zero_inverts_the_total_variation():
    delta = np.array(DELTAS)
    np.testing.assert_allclose(profile(profile_mu(0.0, delta), 0.0), delta, rtol=4e-15)


def test_no_epsilon_has_delta_zero():
    assert profile_epsilon(1.0, 0.0) == np.inf
    assert profile_epsilon(0.0, 0.0) == 0.0
    assert profile_mu(1.0, 0.0) == 0.0


def test_the_inverses_undo_each_other():
    mu = np.array([1e-6, 1e-3, 0.08, 1.0, 10.0])
    eps = 3.0 * mu
    delta = profile(mu, eps)
    np.testing.assert_allclose(profile_epsilon(mu, delta), eps, rtol=3e-15)  # measured 3.4e-16
    np.testing.assert_allclose(profile_mu(eps, delta), mu, rtol=1e-14)  # measured 2.3e-15


def test_inverses_broadcast():
    assert profile_epsilon(np.array([[0.1], [1.0]]), np.array([0.1, 1e-3, 1e-6])).shape == (2, 3)
    assert profile_mu(np.array([[0.1], [1.0]]), np.array([0.1, 1e-3, 1e-6])).shape == (2, 3)


@pytest.mark.parametrize("inverse", [profile_epsilon, profile_mu])
@pytest.mark.parametrize("delta", [np.nan, -0.1])
def test_an_impossible_delta_is_not_certified(inverse, delta):
    with pytest.raises(NotCertified):
        inverse(1.0, delta)
