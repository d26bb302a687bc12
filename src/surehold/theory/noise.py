"""The largest of k Gaussian noises: quantiles, mean excess, and the mean of the worst cases.

``M = max_j |N_j|`` over k independent standard normals is the snapshot error of a whole analysis,
in units of sigma. ``k`` may be as large as 1e12 and ``beta`` as small as 1e-12.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, erfcinv

from surehold.checks import check_positive, check_probability
from surehold.errors import InvalidInput
from surehold.theory.arrays import WIDEST_RANGE, FloatArray, Numbers, as_floats

_SQRT2 = np.sqrt(2.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_PANEL = 0.25  # the law of M falls over a length of about 1/sqrt(2 log k), 0.13 at k = 1e12
_REACH = 13.0  # beyond 13, and 6 past the start, even 1e12 noises have no mass worth a digit
# Relative rounding outwards of quadratures that are accurate to about 1e-14.
OUTWARD = 1.0 + 1e-12


def snapshot_quantile(k: Numbers, beta: Numbers) -> FloatArray:
    """Lemma 4.3, exact form: alpha_t / sigma_t with ``erfc^-1(2 - 2 (1 - beta/2)^(1/k))``.

    >>> round(float(snapshot_quantile(1, 0.05)), 4)
    1.96
    """
    tail = -2.0 * np.expm1(np.log1p(-0.5 * as_floats(beta)) / as_floats(k))
    return as_floats(_SQRT2 * erfcinv(tail))


def snapshot_quantile_loose(k: Numbers, beta: Numbers) -> FloatArray:
    """Lemma 4.3, looser form, as Theorem 4.4 uses it: ``sqrt 2 erfc^-1(beta / k)``."""
    return as_floats(_SQRT2 * erfcinv(as_floats(beta) / as_floats(k)))


def largest_quantile(k: Numbers, beta: Numbers) -> FloatArray:
    """The value that M exceeds with probability exactly ``beta`` (sharp bound, section 3)."""
    tail = -np.expm1(np.log1p(-as_floats(beta)) / as_floats(k))
    return as_floats(_SQRT2 * erfcinv(tail))


def largest_tail(k: Numbers, x: Numbers) -> FloatArray:
    """P(M > x), accurate also where it is tiny (sharp bound, section 3)."""
    single = np.minimum(erfc(as_floats(x) / _SQRT2), 1.0)  # below 0, M is larger for certain
    with np.errstate(divide="ignore"):  # log1p(-1) is -inf: the tail is 1
        return as_floats(-np.expm1(as_floats(k) * np.log1p(-single)))


def largest_excess(k: float, start: float) -> float:
    """E (M - start)^+, the integral of P(M > x) from ``start`` on, rounded outwards.

    Sharp bound, section 3: the bracket that CVaR minimises.
    """
    end = max(start + 6.0, _REACH)
    panels = int(np.ceil((end - start) / _PANEL))
    edges = np.linspace(start, end, panels + 1)
    half = 0.5 * np.diff(edges)[:, None]
    x = edges[:-1, None] + half * (1.0 + _NODES[None, :])
    body = float(np.sum(half * _WEIGHTS[None, :] * largest_tail(k, x)))
    return (body + _tail_beyond(k, end)) * OUTWARD


def largest_cvar(k: float, beta: float) -> float:
    """CVaR_beta(M): the mean of M over its worst ``beta`` fraction, rounded outwards.

    Sharp bound, section 3: for every event B of probability p >= beta, ``E[M; B] <= p CVaR_beta``.
    It is the smallest ``u + E(M - u)^+ / beta``, which any u bounds from above.

    >>> round(largest_cvar(1, 0.05), 4)
    2.3378
    """
    quantile = float(largest_quantile(k, beta))
    return quantile + largest_excess(k, quantile) / beta


def own_noise_factor(k: float, beta: float, low: float, high: float) -> float:
    """C such that ``sigma_t C`` covers the noise of rounds whose sigma_t lies in [low, high].

    Sharp bound, section 10: the smallest C with
    ``CVaR_beta(high (M - C)^+ - low (M - C)^-) <= 0``, which for C beyond the quantile of M is
    ``(high - low) E(M - C)^+ <= low beta (C - CVaR_beta(M))``. Equal noise gives CVaR_beta(M).
    """
    check_probability("beta", beta)
    check_positive("low", low)
    if not low <= high <= WIDEST_RANGE * low:
        raise InvalidInput("high", f"from low = {low} to {WIDEST_RANGE:g} times that", high)
    cvar = largest_cvar(k, beta)
    if low == high:
        return cvar

    def shortfall(factor: float) -> float:
        return (high - low) * largest_excess(k, factor) - low * beta * (factor - cvar)

    top = cvar + (high / low - 1.0) * largest_excess(k, cvar) / beta + 1e-9
    root = float(brentq(shortfall, cvar, top, xtol=1e-13, rtol=1e-13))
    while shortfall(root) > 0.0:
        root *= OUTWARD
    return root


def _tail_beyond(k: float, x: float) -> float:
    """An upper bound on the integral of P(M > .) beyond x: k erfc integrated, by Mills' ratio."""
    return float(k * erfc(x / _SQRT2) / x)
