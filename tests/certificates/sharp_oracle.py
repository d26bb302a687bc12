"""The sharp width written down again, slowly and from the note, to check ours against.

Nothing of ``surehold`` is used: the normal tails are differences in 40 digits, the CVaR is an
mpmath quadrature, and the optimum is looked for by a simplex search from several starts.
"""

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import minimize

mp.dps = 40


def cvar(k, beta):
    """CVaR_beta of the largest of k absolute standard normals."""
    k, beta = mpf(k), mpf(beta)

    def tail(x):
        return -mp.expm1(k * mp.log1p(-mp.erfc(x / mp.sqrt(2))))

    quantile = mp.findroot(
        lambda x: mp.log(tail(x)) - mp.log(beta), mp.sqrt(2 * mp.log(k / beta + 2))
    )
    points = [quantile + mpf(i) / 4 for i in range(13)] + [quantile + 6, quantile + 12]
    return quantile + mp.quad(tail, points) / beta


def divergence(mu, eps):
    """D_kappa(mu), as printed in the note."""
    mu, eps = mpf(mu), mpf(eps)
    kappa = mp.tanh(eps / 4)
    return (
        (1 - kappa) * mp.ncdf(mu / 2 - eps / mu)
        - (1 + kappa) * mp.ncdf(-mu / 2 - eps / mu)
        - 2 * kappa * mp.exp(-(mu**2) / 8) * mp.ncdf(-eps / mu)
    )


def width(pieces, k, beta, sigma, eps):
    """Sharp theorem (a) at given constants; pieces are (unit exposure, reach) pairs."""
    failure = sum(reach * divergence(mp.sqrt(unit) / sigma, eps) for unit, reach in pieces)
    return sigma * cvar(k, beta) + mp.tanh(mpf(eps) / 4) + failure / mpf(beta)


def best_width(pieces, k, beta):
    """The least width over sigma and eps, as a float; an infimum found by search."""
    factor = cvar(k, beta)
    most = float(max(unit for unit, _ in pieces)) ** 0.5

    def objective(x):
        sigma, centre = np.exp(x)
        eps = centre * most / sigma
        mp.dps = 25  # enough for a search; differences of tails lose about ten digits here
        try:
            failure = sum(reach * divergence(mp.sqrt(unit) / sigma, eps) for unit, reach in pieces)
        finally:
            mp.dps = 40
        return float(sigma * factor + mp.tanh(mpf(eps) / 4) + failure / mpf(beta))

    starts = [(np.log(most / mu), np.log(c)) for mu in (0.03, 0.3) for c in (1.5, 3.0)]
    # Near the least width a step of x changes it by some x^2: one part in 10^8, or less.
    options = {"xatol": 1e-4, "fatol": 1e-9}
    found = [minimize(objective, start, method="Nelder-Mead", options=options) for start in starts]
    return min(result.fun for result in found)


def schedule_pieces(n0, n, b, k):
    """Unit exposure and reach of ``linspace(n0, n, b)``, k/b queries each, by the definition."""
    if b == 1:
        return [(k / n**2, 1.0)]
    rounds = [n0 + i * (n - n0) // (b - 1) for i in range(b)]
    pieces, before = [], 0
    for j, tau in enumerate(rounds):
        unit = sum(k / b / later**2 for later in rounds[j:])
        pieces.append((unit, (tau - before) / tau))
        before = tau
    return pieces


def adaptive_pieces(n0, n, k):
    """One budget for all, k = B sigma^2 n^2, reach 1 + sum of 1/s."""
    return [(k / n**2, float(1 + mp.harmonic(n) - mp.harmonic(n0)))]
