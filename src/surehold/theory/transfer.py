"""The transfer theorems: from snapshot accuracy and stability to the population.

One function a theorem, its free constants as arguments, transcribed literally and vectorised. Each
gives a bound on the error and the probability that it fails. Best constants are chosen elsewhere
(:func:`best_constants` here for c and d, the certificates for the rest).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from surehold.theory.arrays import FloatArray, Numbers, as_floats


class Accuracy(NamedTuple):
    """Errors stay below ``alpha`` together, but with probability at most ``beta``."""

    alpha: FloatArray
    beta: FloatArray


class Stability(NamedTuple):
    """(epsilon, delta)-posterior stability, Definition 2.3."""

    epsilon: FloatArray
    delta: FloatArray


def posterior_accuracy(alpha: Numbers, beta: Numbers, c: Numbers) -> Accuracy:
    """Lemma 3.1: snapshot accuracy (alpha, beta) to the posterior, for any c > 0."""
    return Accuracy(as_floats(alpha) + as_floats(c), as_floats(beta) / as_floats(c))


def posterior_stability_transfer(
    alpha: Numbers, beta: Numbers, epsilon: Numbers, delta: Numbers, c: Numbers
) -> Accuracy:
    """Theorem 3.2: snapshot accuracy and posterior stability to the population, for any c > 0.

    >>> float(posterior_stability_transfer(0.25, 0.001, 0.125, 0.01, c=0.125).alpha)
    0.5
    """
    posterior = posterior_accuracy(alpha, beta, c)
    return Accuracy(posterior.alpha + as_floats(epsilon), posterior.beta + as_floats(delta))


def statistical_stability(
    epsilon: Numbers, delta_sum: Numbers, n0: Numbers, c: Numbers
) -> Stability:
    """Lemma 3.3: (epsilon, delta(.))-DP to posterior stability, statistical queries, any c > 0."""
    c = as_floats(c)
    stable = np.expm1(as_floats(epsilon)) + 2.0 * c * as_floats(delta_sum) / as_floats(n0)
    return Stability(as_floats(stable), 1.0 / c)


def statistical_transfer(
    alpha: Numbers,
    beta: Numbers,
    epsilon: Numbers,
    delta_sum: Numbers,
    n0: Numbers,
    c: Numbers,
    d: Numbers,
) -> Accuracy:
    """Theorem 3.4: (epsilon, delta(.))-DP transfer for statistical queries, for any c, d > 0.

    ``alpha + e^eps - 1 + 2 c sum delta(t) / n0 + d`` fails with ``beta/d + 1/c``.
    """
    stable = statistical_stability(epsilon, delta_sum, n0, c)
    return posterior_stability_transfer(alpha, beta, stable.epsilon, stable.delta, d)


def low_sensitivity_stability(
    epsilon: Numbers,
    delta_sum: Numbers,
    t_delta_low: Numbers,
    t_delta_high: Numbers,
    delta_high: Numbers,
    c: Numbers,
) -> Stability:
    """Lemma 3.5: DP to posterior stability for a sensitivity profile Delta_t, any c > 0.

    ``t_delta_low`` and ``t_delta_high`` are the extremes of t Delta_t over the rounds, and
    ``delta_high`` is the largest Delta_t.
    """
    c = as_floats(c)
    # e^eps high - low, without cancelling when eps is small
    tilt_part = np.expm1(as_floats(epsilon)) * as_floats(t_delta_high) + (
        as_floats(t_delta_high) - as_floats(t_delta_low)
    )
    failure = 4.0 * c * as_floats(delta_sum) * as_floats(delta_high)
    return Stability(as_floats(tilt_part + failure), 1.0 / c)


def low_sensitivity_transfer(
    alpha: Numbers,
    beta: Numbers,
    epsilon: Numbers,
    delta_sum: Numbers,
    t_delta_low: Numbers,
    t_delta_high: Numbers,
    delta_high: Numbers,
    c: Numbers,
    d: Numbers,
) -> Accuracy:
    """Theorem 3.6: DP transfer for low-sensitivity queries, for any c, d > 0."""
    stable = low_sensitivity_stability(epsilon, delta_sum, t_delta_low, t_delta_high, delta_high, c)
    return posterior_stability_transfer(alpha, beta, stable.epsilon, stable.delta, d)


def minimisation_transfer(
    alpha: Numbers,
    beta: Numbers,
    epsilon: Numbers,
    delta_sum: Numbers,
    t_delta_low: Numbers,
    t_delta_high: Numbers,
    delta_high: Numbers,
    c: Numbers,
    d: Numbers,
) -> Accuracy:
    """Theorem A.3: Theorem 3.6 for the excess loss, which is 2 Delta_t-sensitive."""
    return low_sensitivity_transfer(
        alpha,
        beta,
        epsilon,
        delta_sum,
        2.0 * as_floats(t_delta_low),
        2.0 * as_floats(t_delta_high),
        2.0 * as_floats(delta_high),
        c,
        d,
    )


class Constants(NamedTuple):
    """The free constants of Theorems 3.4, 3.6 and A.3."""

    c: FloatArray
    d: FloatArray


def best_constants(beta: Numbers, slope: Numbers, failure: Numbers) -> Constants:
    """The c and d that make ``slope c + d`` smallest when ``beta/d + 1/c = failure``.

    ``slope`` is what c multiplies: 2 sum delta / n0 in Theorem 3.4. The least value is
    ``(sqrt slope + sqrt beta)^2 / failure`` (:func:`failure_term`), as in the proof of Theorem 4.4.
    """
    root_beta, root_slope = np.sqrt(as_floats(beta)), np.sqrt(as_floats(slope))
    total = (root_beta + root_slope) / as_floats(failure)
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing to share out: c is infinite
        return Constants(as_floats(total / root_slope), as_floats(total * root_beta))


def failure_term(beta: Numbers, slope: Numbers, failure: Numbers) -> FloatArray:
    """Least ``slope c + d`` under ``beta/d + 1/c = failure``; see :func:`best_constants`."""
    total = np.sqrt(as_floats(beta)) + np.sqrt(as_floats(slope))
    return as_floats(total**2 / as_floats(failure))


def kappa(epsilon: Numbers) -> FloatArray:
    """Sharp bound, section 2: the largest :func:`tilt`, tanh(eps/4), at a = 1/(1 + e^{eps/2})."""
    return as_floats(np.tanh(0.25 * as_floats(epsilon)))


def tilt(a: Numbers, epsilon: Numbers) -> FloatArray:
    """Sharp bound, section 2: how far e^eps can tilt an event of probability a.

    ``lambda a (1 - a) / (1 + lambda a)`` with lambda = e^eps - 1.
    """
    a, epsilon = as_floats(a), as_floats(epsilon)
    # Over e^eps, which may overflow, above and below.
    share = -np.expm1(-epsilon)
    rest = np.maximum(np.exp(-epsilon), np.finfo(np.float64).tiny)
    return as_floats(share * a * (1.0 - a) / (rest + share * a))


def sharp_transfer(
    cvar: Numbers,
    epsilon: Numbers,
    delta_reach: Numbers,
    beta: Numbers,
    t_delta_high: Numbers = 1.0,
) -> FloatArray:
    """The sharp theorem, part (a), for any (eps, delta(.))-DP interaction: the uniform width.

    ``CVaR_beta(M) + kappa + (1 - kappa)/beta sum_s delta(s) / m_s``, with ``cvar`` the first term
    and ``delta_reach`` the sum. For low-sensitivity queries give the largest t Delta_t, and
    ``max Delta_t`` over t >= m_s in place of 1/m_s; for minimisation queries both with 2 Delta_t,
    M being the largest excess loss on a snapshot. See sharp-bound.md for the proof.

    >>> round(float(sharp_transfer(0.05, 0.15, 1e-4, 0.05)), 4)
    0.0894
    """
    k = kappa(epsilon)
    failure = (1.0 - k) * as_floats(delta_reach) / as_floats(beta)
    return as_floats(as_floats(cvar) + k * as_floats(t_delta_high) + failure)


def sharp_interval(
    answer: Numbers, offset: Numbers, epsilon: Numbers
) -> tuple[FloatArray, FloatArray]:
    """The sharp theorem, part (b): the lopsided interval around an answer.

    ``offset`` is A = CVaR_beta(M) + sum_s delta(s) / (beta m_s). The population value theta obeys
    ``answer - A <= theta + tilt(theta)`` and the same for the complements; theta + tilt(theta) is
    ``e^eps theta / (1 + lambda theta)``, which is inverted here. Narrow for rare and near-certain
    events.

    >>> low, high = sharp_interval(0.02, 0.01, 0.2)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0082, 0.0364)
    """
    answer, offset = as_floats(answer), as_floats(offset)
    low = _untilt(answer - offset, epsilon)
    high = 1.0 - _untilt(1.0 - answer - offset, epsilon)
    return low, high


def _untilt(tilted: FloatArray, epsilon: Numbers) -> FloatArray:
    """The theta in [0, 1] with theta + tilt(theta) = tilted: a shift of the log-odds by eps."""
    return as_floats(expit(logit(np.clip(tilted, 0.0, 1.0)) - as_floats(epsilon)))
