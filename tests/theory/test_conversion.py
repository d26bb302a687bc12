"""Conversions of Appendix D against sixty digits: orders next to 1 and up to 1e10.

``rho = mu^2 / 2`` for the mu of test_gaussian.py, which is what the Gaussian mechanism brings.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehold.errors import NotCertified
from surehold.theory.conversion import (
    log_rdp_delta,
    privacy_loss_delta,
    rdp_delta,
    rdp_epsilon,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_epsilon_bun_steinke,
    zcdp_order,
    zcdp_rho,
)
from surehold.theory.gaussian import profile
from theory import oracles
from theory.oracles import mp, mpf, relative_error

MU = [1e-9, 1e-6, 1e-3, 0.08, 1.0, 10.0, 50.0]
CENTRES = [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0]  # eps / mu
DELTAS = [1e-100, 1e-12, 1e-6, 1e-3, 0.05, 0.5]
ORDERS = [1.0 + 1e-12, 1.0 + 1e-6, 1.001, 1.5, 2.0, 10.0, 1e3, 1e6, 1e8, 1e10]
ROUNDING = 3e-13  # what an inverse may be over in its forward function; measured 2.6e-14

over_mu = pytest.mark.parametrize("mu", MU)


# ------------------------------------------------------------------------ one Renyi order


def divergence_and_epsilon(order):
    """Values that keep the exponent (order - 1)(divergence - eps) within doubles."""
    scale = min(1.0, 100.0 / order)
    return [(0.0, 0.0), (1e-3 * scale, 0.5 * scale), (scale, 0.5 * scale), (scale, 2.0 * scale)]


def tolerance(order):
    """Measured 2.5e-16 up to order 10, 3.4e-14 beyond: there the exponent is about 100."""
    return 2.5e-15 if order <= 10.0 else 3e-13


@pytest.mark.parametrize("order", ORDERS)
def test_log_rdp_delta(order):
    for divergence, eps in divergence_and_epsilon(order):
        exact = mp.log(oracles.rdp_delta(order, divergence, eps))
        error = abs(mpf(float(log_rdp_delta(order, divergence, eps))) - exact)
        assert error < tolerance(order)  # absolute in log delta, so relative in delta


@pytest.mark.parametrize("order", ORDERS)
def test_rdp_delta_and_its_inverse(order):
    for divergence, eps in divergence_and_epsilon(order):
        exact = oracles.rdp_delta(order, divergence, eps)
        if exact >= 1:
            assert rdp_delta(order, divergence, eps) == 1.0
            continue
        assert relative_error(rdp_delta(order, divergence, eps), exact) < tolerance(order)
        # eps to rounding in delta: solved from delta it must give that delta again.
        found = float(rdp_epsilon(order, divergence, float(exact)))
        assert abs(oracles.rdp_delta(order, divergence, found) / exact - 1) < tolerance(order)


@pytest.mark.parametrize("order", [1.5, 2.0, 10.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_rdp_epsilon(order, delta):
    exact = oracles.rdp_epsilon(order, 0.7, delta)
    assert float(abs(mpf(float(rdp_epsilon(order, 0.7, delta))) - exact)) < 2e-15 * (1 + exact)


def test_rdp_epsilon_is_not_negative():
    assert rdp_epsilon(2.0, 1e-6, 0.9) == 0.0


def test_rdp_broadcasts():
    order = np.array([[1.5], [2.0]])
    for function in (log_rdp_delta, rdp_delta, rdp_epsilon):
        assert function(order, 0.1, [0.1, 0.2, 0.3]).shape == (2, 3)


# ------------------------------------------------------------------------ zCDP, forward


@over_mu
def test_zcdp_order_is_the_root(mu):
    for centre in CENTRES:
        exact = oracles.zcdp_order(mu**2 / 2, centre * mu)
        got = mpf(float(zcdp_order(mu**2 / 2, centre * mu)))
        # Relative in order - 1, of which a double next to 1 holds what it can; measured 2.1e-16.
        assert abs(got - exact) < 1e-15 * (exact - 1) + 1.2e-16


@pytest.mark.parametrize("mu", [1e-3, 0.08, 1.0])
@pytest.mark.parametrize("centre", [0.5, 3.0, 12.0])
def test_zcdp_order_is_the_argmin(mu, centre):
    rho, eps = mu**2 / 2, centre * mu
    order = float(zcdp_order(rho, eps))
    best = oracles.psi(order, rho, eps)
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert best < oracles.psi(1 + (order - 1) * factor, rho, eps)


@over_mu
def test_zcdp_delta_per_record(mu):
    for centre in CENTRES:
        exact = oracles.zcdp_delta(mu**2 / 2, centre * mu)
        error = relative_error(zcdp_delta(mu**2 / 2, centre * mu), exact)
        assert error < 4e-13  # measured 4.3e-14


@over_mu
def test_zcdp_delta_with_a_common_order(mu):
    # As the corollary is printed: the order that is best for the most exposed record, for all.
    rho = mu**2 / 2 * np.array([1.0, 0.7, 0.1, 1e-3])
    for centre in (0.5, 2.0, 8.0):
        order = float(zcdp_order(rho.max(), centre * mu))
        got = zcdp_delta(rho, centre * mu, order)
        exact = [min(oracles.psi(order, r, centre * mu), 1) for r in rho]
        assert max(map(relative_error, got, exact)) < 1e-13  # measured 1.3e-14


@given(st.floats(0.05, 5.0), st.floats(0.0, 10.0), st.floats(1e-3, 1.0))
def test_an_order_of_ones_own_is_never_worse(mu, centre, share):
    rho, eps = mu**2 / 2, centre * mu
    own = zcdp_delta(share * rho, eps)
    common = zcdp_delta(share * rho, eps, zcdp_order(rho, eps))
    assert own <= common * (1.0 + 1e-12)


@given(st.floats(0.05, 5.0), st.floats(0.0, 20.0))
def test_the_exact_profile_is_below_the_conversion(mu, centre):
    assert profile(mu, centre * mu) <= zcdp_delta(mu**2 / 2, centre * mu) * (1.0 + 1e-12)


@pytest.mark.parametrize("rho", [201.0, 600.0, 1250.0, 5000.0])
def test_zcdp_delta_for_enormous_exposure(rho):
    for eps in (0.0, 0.5 * rho, 0.99 * rho, rho, 1.1 * rho):
        exact = oracles.zcdp_delta(rho, eps)
        assert relative_error(zcdp_delta(rho, eps), exact) < 7e-14  # measured 7.8e-15


def test_an_unexposed_record_has_no_delta():
    np.testing.assert_array_equal(zcdp_delta([0.0, 0.0], [0.0, 1.0]), 0.0)
    np.testing.assert_array_equal(zcdp_delta([0.0, 0.1], 1.0, order=3.0) > 0.0, [False, True])


def test_a_level_that_is_no_number_is_not_taken_for_no_exposure():
    assert np.isnan(zcdp_delta(np.nan, 1.0))


def test_zcdp_delta_is_a_probability():
    delta = zcdp_delta(np.geomspace(1e-6, 1e6, 50)[:, None], np.geomspace(1e-6, 1e3, 30))
    assert delta.shape == (50, 30)
    assert np.all((delta >= 0.0) & (delta <= 1.0))


@pytest.mark.parametrize("rho", [1e-4, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_bun_steinke(rho, delta):
    if delta < np.sqrt(np.pi * rho):
        exact = oracles.zcdp_epsilon_bun_steinke(rho, delta)
        # Measured 1.6e-16.
        assert relative_error(zcdp_epsilon_bun_steinke(rho, delta), exact) < 1.5e-15
    else:  # then eps = rho already has that delta
        assert zcdp_epsilon_bun_steinke(rho, delta) == rho


def test_bun_steinke_of_an_unexposed_record():
    assert zcdp_epsilon_bun_steinke(0.0, 1e-6) == 0.0


@pytest.mark.parametrize("rho", [1e-4, 0.01, 1.0, 100.0])
def test_bun_steinke_is_valid_and_looser(rho):
    delta = np.array(DELTAS)
    eps = zcdp_epsilon_bun_steinke(rho, delta)
    assert np.all(profile(np.sqrt(2.0 * rho), eps) <= delta)
    assert np.all(eps >= zcdp_epsilon(rho, delta))


# ------------------------------------------------------------------------ zCDP, inverse


def is_within(value: object, bound: float, allowance: float = ROUNDING) -> bool:
    return value <= mpf(bound) * (1 + mpf(allowance))


@over_mu
def test_zcdp_epsilon_is_safe_and_tight(mu):
    rho = mu**2 / 2
    for delta in DELTAS:
        eps = float(zcdp_epsilon(rho, delta))
        assert is_within(oracles.zcdp_delta(rho, eps), delta)
        if eps > 0.0:
            just_below = float(np.nextafter(eps, 0.0))
            assert not is_within(oracles.zcdp_delta(rho, just_below), delta, -ROUNDING)


@pytest.mark.parametrize("eps", [1e-9, 1e-6, 1e-3, 0.05, 1.0, 10.0, 100.0, 1000.0])
def test_zcdp_rho_is_safe_and_tight(eps):
    for delta in DELTAS:
        rho = float(zcdp_rho(eps, delta))
        assert is_within(oracles.zcdp_delta(rho, eps), delta)
        just_above = float(np.nextafter(rho, np.inf))
        assert not is_within(oracles.zcdp_delta(just_above, eps), delta, -ROUNDING)


def test_zcdp_epsilon_is_zero_where_no_epsilon_is_needed():
    assert zcdp_epsilon(0.0, 1e-12) == 0.0
    assert zcdp_epsilon(0.01, zcdp_delta(0.01, 0.0)) == 0.0
    assert zcdp_epsilon(3.0, 1.0) == 0.0


@pytest.mark.parametrize("inverse", [zcdp_epsilon, zcdp_rho])
def test_inverses_broadcast(inverse):
    table = inverse(np.array([[0.1], [1.0]]), [0.1, 1e-3, 1e-6])
    assert table.shape == (2, 3)
    assert table[1, 2] == inverse(1.0, 1e-6)


@pytest.mark.parametrize("delta", [np.nan, -0.1])
def test_an_impossible_delta_is_not_certified(delta):
    with np.errstate(invalid="ignore"), pytest.raises(NotCertified):
        zcdp_epsilon(0.1, delta)
    with pytest.raises(NotCertified):
        zcdp_rho(0.1, delta)


# ------------------------------------------------------------------------ Lemma D.7


def test_privacy_loss_delta_of_two_atoms():
    losses, weights = [-0.3, 0.8], [0.4, 0.6]
    for eps in (0.0, 0.5, 0.79):
        exact = mpf(0.6) * (1 - mp.exp(mpf(eps) - mpf(0.8)))
        assert relative_error(privacy_loss_delta(losses, weights, eps), exact) < 1e-15
    assert privacy_loss_delta(losses, weights, 0.8) == 0.0


def test_privacy_loss_delta_of_a_fine_grid_is_the_gaussian_profile():
    # The privacy loss of N(mu, 1) is N(mu^2/2, mu^2).
    mu, eps = 0.5, np.array([0.0, 0.3, 1.0])
    z = np.linspace(-9.0, 9.0, 20001)
    weights = np.exp(-0.5 * z**2)
    delta = privacy_loss_delta(mu**2 / 2 + mu * z, weights / weights.sum(), eps)
    np.testing.assert_allclose(delta, profile(mu, eps), rtol=2e-6)  # measured 2.1e-7: the kink


def test_no_exposure_at_all_has_delta_zero():
    assert zcdp_rho(1.0, 0.0) == 0.0
