"""Gaussian differential privacy: trade-off function, privacy profile and the tilt divergence.

A record is protected at level ``mu`` when telling it from another record, given the transcript, is
at least as hard as telling N(0, 1) from N(mu, 1) (Dong, Roth and Su 2022). The clipped Gaussian
mechanism composes exactly in ``mu**2``, also adaptively.

The formulas are differences of nearly equal normal tails when ``mu`` is small, so they are computed
from ``m(x) = exp(x**2 / 2) erfc(x / sqrt 2)``, in which the common factor is gone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, expit, log_ndtr, ndtr, ndtri

from surehold.theory.arrays import FloatArray, Numbers, as_floats, broadcast
from surehold.theory.search import smallest_float

_SQRT_2_OVER_PI = np.sqrt(2.0 / np.pi)
_INV_SQRT_2PI = 1.0 / np.sqrt(2.0 * np.pi)
# Below this half-step a plain difference of m loses digits; eight Gauss-Legendre nodes are exact
# to rounding there. Beyond the last value of x, exp(-x**2 / 2) is zero in double precision.
_SMALL_STEP = 0.25
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_FAR = 1e6


def tradeoff(mu: Numbers, alpha: Numbers) -> FloatArray:
    """Smallest type II error at type I error ``alpha``: G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu).

    Dong, Roth and Su 2022, Definition 6.

    >>> round(float(tradeoff(0.0, 0.05)), 12)
    0.95
    """
    return as_floats(ndtr(-ndtri(as_floats(alpha)) - as_floats(mu)))


def profile(mu: Numbers, eps: Numbers) -> FloatArray:
    """Exact privacy profile delta_mu(eps) of the Gaussian mechanism.

    ``delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`` (Balle and Wang 2018).

    >>> round(float(profile(1.0, 1.0)), 6)
    0.126937
    """
    mu, eps, centre, half = _coordinates(mu, eps)
    # e^{eps/2} times the common factor
    scaled = 0.5 * np.exp(-0.5 * (centre - half) ** 2) * _drop(centre, half)
    direct = ndtr(half - centre) - np.exp(np.minimum(eps, 1e6) + log_ndtr(-half - centre))
    return _of_exposed(mu, np.where(_is_far_below(centre, half), direct, scaled))


def profile_epsilon(mu: Numbers, delta: Numbers) -> FloatArray:
    """Smallest eps >= 0 with ``profile(mu, eps) <= delta``, from above (the safe side).

    No eps has delta = 0, but for a record that is not exposed: there it is infinite.
    """
    mu, delta = broadcast(mu, delta)
    top = mu * (40.0 + 0.5 * mu)
    eps = smallest_float(lambda eps: profile(mu, eps) <= delta, np.zeros_like(top), top)
    return np.where((delta > 0.0) | (mu == 0.0), eps, np.inf)


def profile_mu(eps: Numbers, delta: Numbers) -> FloatArray:
    """Largest mu with ``profile(mu, eps) <= delta``, from below (the safe side)."""
    eps, delta = broadcast(eps, delta)
    top = np.sqrt(2.0 * eps) + 80.0
    negated = smallest_float(lambda m: profile(-m, eps) <= delta, -top, np.zeros_like(top))
    return np.where(delta > 0.0, -negated, 0.0)  # a profile may underflow, but is never 0


def tilt_divergence(mu: Numbers, eps: Numbers) -> FloatArray:
    """Sharp bound, (7.1): D_kappa(mu), kappa = tanh(eps/4), what one record may add.

    ``E_Q (l - 1 - kappa (1 + sqrt l)^2)^+`` for the likelihood ratio l of N(mu, 1) to N(0, 1):
    ``(1-kappa) Phi(mu/2 - eps/mu) - (1+kappa) Phi(-mu/2 - eps/mu) - 2 kappa e^{-mu^2/8}
    Phi(-eps/mu)``. It never exceeds ``(1 - kappa) profile(mu, eps)``.
    """
    mu, eps, centre, half = _coordinates(mu, eps)
    kappa = np.tanh(0.25 * eps)
    outer = _m(centre - half) + _m(centre + half)
    bend = outer - 2.0 * _m(centre)
    scaled = 0.5 * _common_factor(centre, half) * (_drop(centre, half) + kappa * bend)
    middle = log_ndtr(-centre) - 0.5 * half**2
    direct = (
        2.0
        * expit(-0.5 * eps)
        * (
            ndtr(half - centre)
            - np.exp(0.5 * eps + log_ndtr(-half - centre))
            - np.exp(0.5 * eps + middle)
            + np.exp(middle)
        )
    )
    return _of_exposed(mu, np.where(_is_far_below(centre, half), direct, scaled))


def tilt_mass(mu: Numbers, eps: Numbers) -> FloatArray:
    """Minus the derivative of :func:`tilt_divergence` in kappa, at fixed mu.

    ``Phi(mu/2 - c) + Phi(-mu/2 - c) + 2 e^{-mu^2/8} Phi(-c)``, c = eps/mu. At the best eps these,
    weighted by the reach of the records, sum to beta (sharp bound, (7.3)).
    """
    mu, eps, centre, half = _coordinates(mu, eps)
    mass = ndtr(half - centre) + ndtr(-half - centre) + 2.0 * np.exp(-0.5 * half**2) * ndtr(-centre)
    return _of_exposed(mu, mass)


def tilt_slope(mu: Numbers, eps: Numbers) -> FloatArray:
    """Derivative of :func:`tilt_divergence` in mu, at fixed eps."""
    mu, eps, centre, half = _coordinates(mu, eps)
    kappa = np.tanh(0.25 * eps)
    slope = _INV_SQRT_2PI * _common_factor(centre, half) + kappa * half * np.exp(
        -0.5 * half**2
    ) * ndtr(-centre)
    return _of_exposed(mu, slope)


def _coordinates(
    mu: Numbers, eps: Numbers
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Broadcast, and give the centre c = eps/mu and the half step h = mu/2 of the two tails."""
    mu, eps = broadcast(mu, eps)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        centre = np.where(mu > 0.0, np.minimum(eps / mu, _FAR), _FAR)
    return mu, eps, centre, 0.5 * mu


def _of_exposed(mu: FloatArray, values: FloatArray) -> FloatArray:
    """Nothing for a record that is not exposed, and NaN for a mu that is no exposure at all."""
    return np.where(mu > 0.0, values, np.where(mu == 0.0, 0.0, np.nan))


def _common_factor(centre: FloatArray, half: FloatArray) -> FloatArray:
    return np.exp(-0.5 * centre**2 - 0.5 * half**2)


def _is_far_below(centre: FloatArray, half: FloatArray) -> npt.NDArray[np.bool_]:
    """Where m would overflow, and the plain tails no longer cancel."""
    return centre - half < -5.0


def _m(x: FloatArray) -> FloatArray:
    return as_floats(erfcx(np.maximum(x, -7.0) / np.sqrt(2.0)))


def _drop(centre: FloatArray, half: FloatArray) -> FloatArray:
    """m(c - h) - m(c + h) to full relative precision."""
    plain = _m(centre - half) - _m(centre + half)
    small = half < _SMALL_STEP
    if not small.any():
        return plain
    centre_small, half_small = centre[small], half[small]
    total = np.zeros_like(centre_small)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        x = centre_small + half_small * node
        total += weight * (_SQRT_2_OVER_PI - x * _m(x))  # -m'(x)
    plain = np.array(plain)
    plain[small] = half_small * total
    return plain
