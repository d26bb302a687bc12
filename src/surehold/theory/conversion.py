"""Renyi and zero-concentrated privacy to (epsilon, delta), uniform and per record.

The paper's Proposition D.8 and Corollary D.9 (after Canonne, Kamath and Steinke 2020), with their
inverses, and the older conversion of Bun and Steinke 2016 that the JLNRSS baseline uses. For the
Gaussian mechanism :func:`surehold.theory.gaussian.profile` is exact and tighter than all of them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlog1py

from surehold.theory.arrays import FloatArray, Numbers, as_floats, broadcast
from surehold.theory.search import smallest_float


def privacy_loss_delta(losses: Numbers, probabilities: Numbers, eps: Numbers) -> FloatArray:
    """Lemma D.7: the least delta for a privacy loss Z of known law, ``E max(0, 1 - e^{eps - Z})``.

    The law is given by its atoms along the last axis.

    >>> truth = np.e / (1.0 + np.e)  # randomised response, which is 1-DP
    >>> privacy_loss_delta([-1.0, 1.0], [1.0 - truth, truth], eps=[0.0, 1.0]).round(4)
    array([0.4621, 0.    ])
    """
    losses, eps = as_floats(losses), as_floats(eps)[..., None]
    excess = -np.expm1(np.minimum(eps - losses, 0.0))
    return as_floats(np.sum(as_floats(probabilities) * excess, axis=-1))


def log_rdp_delta(order: Numbers, divergence: Numbers, eps: Numbers) -> FloatArray:
    """Logarithm of the delta of Proposition D.8, from a Renyi divergence of the given order.

    ``delta = e^{(order-1)(divergence-eps)} / (order-1) (1 - 1/order)^order``.
    """
    order = as_floats(order)
    less = order - 1.0
    # (1 - 1/order)^order / (order - 1) = (1 - 1/order)^(order - 1) / order, also for order = 1
    return as_floats(
        less * (as_floats(divergence) - as_floats(eps))
        + xlog1py(less, -1.0 / order)
        - np.log(order)
    )


def rdp_delta(order: Numbers, divergence: Numbers, eps: Numbers) -> FloatArray:
    """Proposition D.8: delta from one Renyi order, at most 1."""
    return as_floats(np.exp(np.minimum(log_rdp_delta(order, divergence, eps), 0.0)))


def rdp_epsilon(order: Numbers, divergence: Numbers, delta: Numbers) -> FloatArray:
    """Inverse of Proposition D.8 in eps: the smallest eps >= 0 with that delta."""
    order = as_floats(order)
    log_delta_at_zero = log_rdp_delta(order, divergence, 0.0)
    eps = (log_delta_at_zero - np.log(as_floats(delta))) / (order - 1.0)
    return np.maximum(eps, 0.0)


def zcdp_order(rho: Numbers, eps: Numbers) -> FloatArray:
    """gamma*: the order that makes the delta of rho-zCDP smallest (Corollary D.9).

    Root of ``(2 gamma - 1) rho - eps + log(1 - 1/gamma)``, which is increasing and concave, so that
    Newton's method from the left climbs to it without ever passing it.

    >>> round(float(zcdp_order(0.005, 1.0)), 3)
    101.49
    """
    rho, eps = broadcast(rho, eps)
    rho = np.maximum(rho, 1e-100)  # an unexposed record: any order will do
    # gamma - 1 by itself, since gamma may be close to 1; both starts lie left of the root
    near_one = np.minimum(np.exp(np.clip(eps - rho - 1.0, -700.0, 700.0)), 0.5 / rho)
    less = np.maximum(0.5 * (eps / rho - 1.0), near_one)
    for _ in range(100):
        value = (2.0 * less + 1.0) * rho - eps - np.log1p(1.0 / less)
        step = -value / (2.0 * rho + 1.0 / (less * (less + 1.0)))
        less = less + np.maximum(step, 0.0)
        if np.all(np.abs(step) <= 1e-13 * less):
            break
    return as_floats(1.0 + less)


def zcdp_delta(rho: Numbers, eps: Numbers, order: Numbers | None = None) -> FloatArray:
    """Corollary D.9: delta(i) = psi(gamma, rho(i), eps) of rho-zCDP, at most 1.

    With ``order`` left out every record gets its own best gamma, which is also valid and tighter;
    the corollary as printed uses ``order=zcdp_order(max(rho), eps)`` for all.
    """
    rho = as_floats(rho)
    gamma = zcdp_order(rho, eps) if order is None else as_floats(order)
    delta = rdp_delta(gamma, gamma * rho, eps)
    return as_floats(np.where(rho > 0.0, delta, np.where(rho == 0.0, 0.0, np.nan)))


def zcdp_epsilon(rho: Numbers, delta: Numbers) -> FloatArray:
    """Smallest eps >= 0 with ``zcdp_delta(rho, eps) <= delta``, from above (the safe side)."""
    rho, delta = broadcast(rho, delta)
    # The plain conversion rho + 2 sqrt(rho log(1/delta)) is never better.
    top = rho + 2.0 * np.sqrt(rho * -np.log(delta)) + 1e-300
    return smallest_float(lambda eps: zcdp_delta(rho, eps) <= delta, np.zeros_like(top), top)


def zcdp_rho(eps: Numbers, delta: Numbers) -> FloatArray:
    """Largest rho with ``zcdp_delta(rho, eps) <= delta``, from below (the safe side)."""
    eps, delta = broadcast(eps, delta)
    top = eps + 50.0
    negated = smallest_float(lambda r: zcdp_delta(-r, eps) <= delta, -top, np.zeros_like(top))
    return np.where(delta > 0.0, -negated, 0.0)  # delta may underflow, but is never 0


def zcdp_epsilon_bun_steinke(rho: Numbers, delta: Numbers) -> FloatArray:
    """Bun and Steinke 2016, as in Theorem C.3: ``rho + 2 sqrt(rho log(sqrt(pi rho) / delta))``."""
    rho = as_floats(rho)
    with np.errstate(divide="ignore"):  # an unexposed record needs no eps
        log_ratio = 0.5 * np.log(np.pi * rho) - np.log(as_floats(delta))
    return as_floats(rho + 2.0 * np.sqrt(rho * np.maximum(log_ratio, 0.0)))
