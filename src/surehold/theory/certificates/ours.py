"""`ours-n` and `ours-u`: Theorem 4.4 of the paper, with non-uniform and with uniform privacy.

Also `adaptive`, Theorem C.2: the same bound for an analyst who schedules freely under a uniform
zCDP filter. For a sensitivity profile Delta_t they rest on Theorem 3.6 instead of 3.4.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import erfcinv

from surehold.theory.arrays import FloatArray, as_floats
from surehold.theory.certificates.base import Certificate, Width, round_noise, total_width
from surehold.theory.conversion import log_rdp_delta, zcdp_order
from surehold.theory.exposure import Adaptive, Design, Exposure
from surehold.theory.noise import snapshot_quantile_loose
from surehold.theory.transfer import best_constants, failure_term

_SQRT2 = math.sqrt(2.0)
# Logarithms of snapshot beta, eps and sigma beyond which no useful bound lies.
_DOMAIN = (np.array([-200.0, -80.0, -100.0]), np.array([-1e-9, 3.0, 100.0]))


class OursN(Certificate):
    """Theorem 4.4 with one delta(t) for each record."""

    name: ClassVar[str] = "ours-n"
    theorem: ClassVar[str] = "Theorem 4.4"
    summary: ClassVar[str] = "the paper's bound, per record"
    is_uniform: ClassVar[bool] = False

    def objection(self, design: Design) -> str | None:
        """The number of queries in each round must be known beforehand."""
        if isinstance(design, Adaptive) and design.n0 < design.n:
            return "it needs a schedule that is fixed in advance (use 'adaptive' or 'sharp')"
        return None

    def _width(self, design: Design, beta: float, sigma: float | None) -> Width:
        exposure = design.exposure()
        if self.is_uniform:
            exposure = exposure.uniform()
        sigma, snapshot_beta, eps = _best(exposure.coarse(), beta, sigma)
        return theorem_4_4(exposure, beta, sigma, snapshot_beta, eps, round_noise(design))


class OursU(OursN):
    """Theorem 4.4 with the largest delta(t) for every record."""

    name: ClassVar[str] = "ours-u"
    summary: ClassVar[str] = "the paper's bound, as if all records were the most exposed"
    is_uniform: ClassVar[bool] = True


class AdaptiveFilter(OursU):
    """Theorem C.2: the number of queries in each round decided as the analysis goes."""

    name: ClassVar[str] = "adaptive"
    theorem: ClassVar[str] = "Theorem C.2"
    summary: ClassVar[str] = "the paper's bound under its filter, any schedule"

    def objection(self, design: Design) -> str | None:
        """None: the filter holds whatever the analyst does."""
        return None


def theorem_4_4(
    exposure: Exposure,
    beta: float,
    sigma: float,
    snapshot_beta: float,
    eps: float,
    noise: FloatArray | None = None,
) -> Width:
    """Theorem 4.4 at any sigma > 0, snapshot beta in (0, 1) and eps > 0, with Corollary D.9.

    ``sqrt2 sigma erfc^-1(b/k) + e^eps - 1 + (sqrt b + sqrt(2 sum delta / n0))^2 / beta``.
    """
    gamma = _order(exposure, sigma, eps)
    delta = np.exp(np.minimum(log_rdp_delta(gamma, gamma * exposure.rho(sigma), eps), 600.0))
    slope = _slope(exposure) * float(np.dot(exposure.records, delta))
    best = best_constants(snapshot_beta, slope, beta)
    quantile = float(snapshot_quantile_loose(exposure.queries, snapshot_beta))
    spread = exposure.extremes.t_delta_high - exposure.extremes.t_delta_low
    terms = {
        "noise": sigma * exposure.noise_high * quantile,
        "stability": math.expm1(eps) * exposure.extremes.t_delta_high + spread,
        "failure": float(failure_term(snapshot_beta, slope, beta)),
    }
    constants = {
        "sigma": sigma,
        "beta": snapshot_beta,
        "epsilon": eps,
        "gamma": gamma,
        "c": float(best.c),
        "d": float(best.d),
    }
    return total_width(terms, constants, sigma, noise)


def _order(exposure: Exposure, sigma: float, eps: float) -> float:
    """gamma* of Corollary D.9 for the most exposed record; strictly above 1, as it must be."""
    return max(float(zcdp_order(exposure.most / (2.0 * sigma**2), eps)), 1.0 + 1e-12)


def _slope(exposure: Exposure) -> float:
    """What multiplies c sum delta(t): 2/n0 in Theorem 3.4, 4 max Delta in Theorem 3.6."""
    return (
        2.0 / exposure.first_round
        if exposure.extremes.is_statistical
        else 4.0 * exposure.extremes.delta_high
    )


def _best(exposure: Exposure, beta: float, sigma: float | None) -> tuple[float, float, float]:
    """The sigma, snapshot beta and eps that make Theorem 4.4 smallest, in their logarithms."""
    fixed = None if sigma is None else math.log(sigma)

    def complete(x: FloatArray) -> FloatArray:
        return x if fixed is None else np.append(x, fixed)

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        # The logarithm of the width, so that one tolerance serves widths of every size.
        value, gradient = _log_gradient(exposure, beta, complete(x))
        return math.log(value), gradient[: x.size] / value

    start = _start(exposure, beta, fixed)
    # Not L-BFGS-B: its calls into threaded BLAS take most of the time on a busy machine.
    found = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-7})
    best = found.x if found.fun <= objective(start)[0] else start
    snapshot_beta, eps, best_sigma = np.exp(np.clip(complete(best), *_DOMAIN)).tolist()
    return (best_sigma if sigma is None else sigma), snapshot_beta, eps


def _log_gradient(exposure: Exposure, beta: float, x: FloatArray) -> tuple[float, FloatArray]:
    """Theorem 4.4 and its gradient in (log snapshot beta, log eps, log sigma)."""
    snapshot_beta, eps, sigma = np.exp(np.clip(x, *_DOMAIN)).tolist()
    y = float(erfcinv(snapshot_beta / exposure.queries))
    scale = _SQRT2 * sigma * exposure.noise_high
    noise_by_beta = -scale * 0.5 * math.sqrt(math.pi) * math.exp(y * y)
    noise_by_beta *= snapshot_beta / exposure.queries

    rho = exposure.rho(sigma)
    most = exposure.most / (2.0 * sigma**2)
    gamma = _order(exposure, sigma, eps)
    delta = np.exp(np.minimum(log_rdp_delta(gamma, gamma * rho, eps), 600.0))
    # gamma* moves with eps and the largest rho; it is not the best order of the other records.
    pull = (2.0 * gamma - 1.0) * (rho - most) / (2.0 * most + 1.0 / (gamma * (gamma - 1.0)))
    by_eps = eps * (pull - (gamma - 1.0))
    by_sigma = 2.0 * (most * (2.0 * gamma - 1.0) * pull - gamma * (gamma - 1.0) * rho)
    weights = _slope(exposure) * exposure.records * delta
    slope = float(weights.sum())
    root = math.sqrt(slope * snapshot_beta)

    value = (
        scale * y
        + math.exp(eps) * exposure.extremes.t_delta_high
        - exposure.extremes.t_delta_low
        + (slope + snapshot_beta + 2.0 * root) / beta
    )
    by_slope = (1.0 + root / slope) / beta if slope > 0.0 else 0.0
    gradient = [
        noise_by_beta + (snapshot_beta + root) / beta,
        eps * math.exp(eps) * exposure.extremes.t_delta_high
        + by_slope * float(np.dot(weights, by_eps)),
        scale * y + by_slope * float(np.dot(weights, by_sigma)),
    ]
    return value, np.array(gradient)


def _start(exposure: Exposure, beta: float, log_sigma: float | None) -> FloatArray:
    """The best point of a coarse grid, every record counted as the most exposed."""
    rho = np.geomspace(1e-20, 10.0, 85)
    if log_sigma is not None:
        rho = np.array([exposure.most / 2.0 * math.exp(-2.0 * log_sigma)])
    rho = rho[:, None, None]
    eps = rho + np.linspace(2.0, 9.0, 15)[None, :, None] * np.sqrt(2.0 * rho)
    snapshot_beta = beta * np.geomspace(1e-9, 0.3, 18)[None, None, :]
    sigma = np.sqrt(exposure.most / (2.0 * rho))
    gamma = 1.0 + eps / (2.0 * rho)
    delta = np.exp(np.minimum(log_rdp_delta(gamma, gamma * rho, eps), 0.0))
    slope = _slope(exposure) * exposure.records.sum() * delta
    value = (
        sigma * exposure.noise_high * snapshot_quantile_loose(exposure.queries, snapshot_beta)
        + np.exp(np.minimum(eps, 50.0)) * exposure.extremes.t_delta_high
        + failure_term(snapshot_beta, slope, beta)
    )
    i, j, k = np.unravel_index(int(np.argmin(value)), value.shape)
    point = as_floats([snapshot_beta[0, 0, k], eps[i, j, 0], sigma[i, 0, 0]])
    return np.log(point[: 3 if log_sigma is None else 2])
