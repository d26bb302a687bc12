"""`sharp`: our theorem (sharp-bound.md) for the clipped Gaussian mechanism.

``alpha = sigma CVaR_beta(max |N_j|) + min_eps { kappa + (1/beta) sum_s D_kappa(mu_s) / m_s }``,
with mu_s from a fixed schedule or from a per-record filter. Every eps is valid, so an inexact
optimum is still safe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import ndtri

from surehold.checks import check_beta, check_probability
from surehold.errors import NotApplicable
from surehold.theory.arrays import FloatArray, Numbers, as_floats, broadcast
from surehold.theory.certificates.base import (
    Certificate,
    Width,
    needs_statistical,
    round_noise,
    total_width,
)
from surehold.theory.exposure import Design, Exposure
from surehold.theory.gaussian import profile, tilt_divergence, tilt_mass, tilt_slope
from surehold.theory.noise import OUTWARD, own_noise_factor
from surehold.theory.search import smallest_float
from surehold.theory.transfer import kappa, sharp_interval, tilt

_LARGEST_LOG_EPSILON = math.log(1000.0)


class Sharp(Certificate):
    """The tightest certificate for every Gaussian design, fixed or adaptive."""

    name: ClassVar[str] = "sharp"
    theorem: ClassVar[str] = "Sharp theorem (a)"
    summary: ClassVar[str] = "our theorem"

    def _width(self, design: Design, beta: float, sigma: float | None) -> Width:
        exposure = design.exposure()
        factor = _noise_factor(exposure, beta)
        coarse = exposure.coarse()

        def at(sigma: float) -> Width:
            eps = best_epsilon(coarse, sigma, beta)
            stable, failure = stability_terms(exposure, sigma, eps, beta)
            noise = sigma * exposure.noise_high * factor
            terms = {"noise": noise, "stability": stable, "failure": failure}
            constants = {
                "sigma": sigma,
                "epsilon": eps,
                "kappa": float(kappa(eps)),
                "factor": factor,
            }
            return total_width(terms, constants, sigma, round_noise(design))

        if sigma is not None:
            return at(sigma)
        loudest = factor * exposure.noise_high
        found = at(_best_sigma(coarse, beta, loudest))
        # No population value is further than max t Delta_t from its snapshot's, noise or none.
        trivial = exposure.extremes.t_delta_high
        return found if found.value <= trivial else at(1e-9 * trivial / loudest)

    def lopsided(
        self, design: Design, beta: float, *, at: float, sigma: float | None = None
    ) -> Lopsided:
        """Part (b): intervals that are narrow near 0 and 1, chosen best for a true value ``at``.

        A plan reports either these or the uniform width: to use both costs the sum of their betas.
        """
        beta, at = check_beta(beta), check_probability("at", at)
        objection = needs_statistical(design)
        if objection is not None:
            raise NotApplicable("sharp, part (b)", objection)
        start = self.width(design, beta, sigma=sigma).constants  # and checks sigma
        fixed = sigma
        exposure = design.exposure()
        coarse, factor = exposure.coarse(), _noise_factor(exposure, beta)

        def unpack(x: FloatArray) -> tuple[float, float]:
            return math.exp(x[0]), math.exp(x[1]) if fixed is None else fixed

        def offset(pieces: Exposure, eps: float, sigma: float) -> float:
            reached = float(np.dot(pieces.reach, profile(pieces.mu(sigma), eps)))
            return sigma * factor + reached / beta

        def objective(x: FloatArray) -> float:
            eps, sigma = unpack(x)
            sides = float(tilt(at, eps)) + float(tilt(1.0 - at, eps))
            return offset(coarse, eps, sigma) + 0.5 * sides

        first = [math.log(start["epsilon"]), math.log(start["sigma"])][: 2 - (fixed is not None)]
        found = minimize(objective, first, method="Nelder-Mead", options={"xatol": 1e-6})
        eps, sigma = unpack(found.x)
        return Lopsided(offset(exposure, eps, sigma) * OUTWARD, eps, sigma)


class RareSharp(Sharp):
    """Part (b) of the sharp theorem: the width is that of an answer ``at`` the value named.

    Not in the registry: it is `sharp` for events of about that probability, chosen when the plan is
    made. Other answers have widths of their own, up to offset + kappa.
    """

    theorem: ClassVar[str] = "Sharp theorem (b)"

    def __init__(self, at: float) -> None:
        self.at = check_probability("rare", at)

    def objection(self, design: Design) -> str | None:
        """Part (b) has no analogue for low-sensitivity queries."""
        return needs_statistical(design)

    def _width(self, design: Design, beta: float, sigma: float | None) -> Width:
        sharp = Sharp()
        found = sharp.lopsided(design, beta, at=self.at, sigma=sigma)
        low, high = (float(end) for end in found.interval(self.at))
        width = max(self.at - low, high - self.at)
        noise = found.sigma * _noise_factor(design.exposure(), beta)
        terms = {
            "noise": noise,
            "stability": max(width - found.offset, 0.0),
            "failure": max(found.offset - noise, 0.0),
        }
        constants = {
            "sigma": found.sigma,
            "epsilon": found.epsilon,
            "kappa": float(kappa(found.epsilon)),
            "offset": found.offset,
        }
        return total_width(terms, constants, found.sigma)


@dataclass(frozen=True)
class Lopsided:
    """Part (b) of the sharp theorem, with its constants fixed before the first answer."""

    offset: float
    epsilon: float
    sigma: float

    def interval(self, answer: Numbers) -> tuple[FloatArray, FloatArray]:
        """The interval of population values around an answer."""
        return sharp_interval(answer, self.offset, self.epsilon)


def stability_terms(
    exposure: Exposure, sigma: float, eps: float, beta: float
) -> tuple[float, float]:
    """``kappa max t Delta_t`` and ``(1/beta) sum_s D_kappa(mu_s) max Delta`` at any eps > 0.

    Sharp bound, (7.2), and (11.1) for a sensitivity profile.
    """
    divergence = tilt_divergence(exposure.mu(sigma), eps)
    failure = float(np.dot(exposure.reach, divergence)) / beta
    return exposure.extremes.t_delta_high * float(kappa(eps)), failure


def best_epsilon(exposure: Exposure, sigma: float, beta: float) -> float:
    """The eps that makes the stability terms smallest: they are convex in kappa.

    Sharp bound, (7.3): root of ``sum_s reach_s mass(mu_s, eps) = beta max t Delta_t``, whose left
    side falls in eps.
    """
    mu = exposure.mu(sigma)
    target = beta * exposure.extremes.t_delta_high

    def surplus(log_eps: float) -> float:
        mass = float(np.dot(exposure.reach, tilt_mass(mu, math.exp(log_eps))))
        return math.log(max(mass, 1e-300) / target)

    mu_most = float(mu.max())
    centre = _one_mu_centre(target / float(exposure.reach.sum()))
    guess = min(math.log(mu_most * centre), _LARGEST_LOG_EPSILON)
    low, high = guess - 0.1, guess + 0.1
    while surplus(low) < 0.0:
        low -= 1.0
    while surplus(high) > 0.0:
        if high > _LARGEST_LOG_EPSILON:  # kappa is 1 in double precision: nothing is stable here
            return math.exp(_LARGEST_LOG_EPSILON)
        high += 1.0
    return math.exp(float(brentq(surplus, low, high, xtol=1e-10, rtol=1e-14)))


def one_mu_stability(mu: Numbers, beta: float, reach: Numbers = 1.0) -> FloatArray:
    """The stability terms where one mu serves all records, in closed form.

    Sharp bound, (7.4). With ``reach`` L = sum_s 1/m_s (1 for static data, at most 1 + log(n/n0))
    find c with ``Phi(mu/2 - c) + Phi(-mu/2 - c) + 2 e^{-mu^2/8} Phi(-c) = beta/L``. The terms add
    up to ``(L/beta) (Phi(mu/2 - c) - Phi(-mu/2 - c))``, but that holds at the root only: here they
    are evaluated as they stand, which any c makes valid.
    """
    mu, reach = broadcast(mu, reach)
    top = mu * (60.0 + mu)
    eps = smallest_float(lambda e: reach * tilt_mass(mu, e) <= beta, np.zeros_like(mu), top)
    return as_floats(kappa(eps) + reach * tilt_divergence(mu, eps) / beta)


def _noise_factor(exposure: Exposure, beta: float) -> float:
    return own_noise_factor(exposure.queries, beta, exposure.noise_low, exposure.noise_high)


def _one_mu_centre(share: float) -> float:
    """c of the closed form as mu goes to 0: 4 Phi(-c) = beta/L."""
    return max(float(-ndtri(min(0.25 * share, 0.5))), 0.05)


def _best_sigma(exposure: Exposure, beta: float, factor: float) -> float:
    """The noise that balances ``sigma factor`` against the stability terms at their best eps."""
    root = np.sqrt(exposure.unit)

    def surplus(log_sigma: float) -> float:
        """sigma times the derivative of the width, by the envelope theorem."""
        sigma = math.exp(log_sigma)
        mu = root / sigma
        eps = best_epsilon(exposure, sigma, beta)
        fall = float(np.dot(exposure.reach, tilt_slope(mu, eps) * mu)) / beta
        return sigma * factor - fall

    # For small mu the terms are about slope * mu.
    share = beta * exposure.extremes.t_delta_high / float(exposure.reach.sum())
    centre = _one_mu_centre(share)
    slope = math.exp(-0.5 * centre**2) / math.sqrt(2 * math.pi) * float(exposure.reach.sum()) / beta
    guess = 0.5 * math.log(slope * math.sqrt(exposure.most) / factor)
    low, high = guess - 0.05, guess + 0.05
    while surplus(high) < 0.0:
        high += 0.3
    for _ in range(12):  # far below, noise is too small to matter and the bound says nothing anyway
        if surplus(low) < 0.0:
            return math.exp(float(brentq(surplus, low, high, xtol=1e-7, rtol=1e-12)))
        low -= 0.3
    return math.exp(guess)
