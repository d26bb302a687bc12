"""The theorems in sixty digits, written down as they are printed.

Nothing here is rearranged for speed or for double precision: sixty digits leave room for every
cancellation that the corners of the tests bring. Doubles go in exactly, so a difference from
``surehold.theory`` is an error of ``surehold.theory``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import MPContext

Real = Any  # an mpf: mpmath has no types

mp = MPContext()  # a context of our own: nobody else's precision is touched
mp.dps = 60
mpf = mp.mpf


def relative_error(got: object, exact: Real) -> float:
    """|got / exact - 1|; 0 where both are too small for a normal double."""
    got = mpf(float(got))  # type: ignore[arg-type]
    if abs(got) < 1e-300 and abs(exact) < 1e-300:
        return 0.0
    return float(abs(got / exact - 1))


# ------------------------------------------------------------------------ Gaussian privacy


def ndtr(x: Real) -> Real:
    """Phi, to full relative precision in the lower tail too."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def erfcinv(y: Real) -> Real:
    return mp.erfinv(1 - mpf(y))


def tradeoff(mu: float, alpha: float) -> Real:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu)."""
    quantile = mp.sqrt(2) * mp.erfinv(1 - 2 * mpf(alpha))
    return ndtr(quantile - mpf(mu))


def profile(mu: Real, eps: Real) -> Real:
    """delta_mu(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
    mu, eps = mpf(mu), mpf(eps)
    return ndtr(mu / 2 - eps / mu) - mp.exp(eps) * ndtr(-mu / 2 - eps / mu)


def tilt_divergence(mu: Real, eps: Real) -> Real:
    """(7.1) of sharp-bound.md."""
    mu, eps = mpf(mu), mpf(eps)
    with mp.extradps(int(eps)):  # 1 - kappa is about 2 exp(-eps/2)
        kappa = mp.tanh(eps / 4)
        return (
            (1 - kappa) * ndtr(mu / 2 - eps / mu)
            - (1 + kappa) * ndtr(-mu / 2 - eps / mu)
            - 2 * kappa * mp.exp(-(mu**2) / 8) * ndtr(-eps / mu)
        )


def tilt_divergence_by_definition(mu: Real, eps: Real) -> Real:
    """(4) of the note: E (l - 1 - kappa (1 + sqrt l)^2)^+, l = exp(mu y - mu^2/2), y ~ N(0, 1)."""
    mu, eps = mpf(mu), mpf(eps)
    kappa = mp.tanh(eps / 4)

    def integrand(y: Real) -> Real:
        ratio = mp.exp(mu * y - mu**2 / 2)
        return (ratio - 1 - kappa * (1 + mp.sqrt(ratio)) ** 2) * mp.npdf(y)

    start = eps / mu + mu / 2  # l > e^eps from here on
    return mp.quad(integrand, [start + step for step in (0, 1, 2, 4, 8, 16, 16 + mu, 32 + mu)])


def tilt_mass(mu: Real, eps: Real) -> Real:
    """The summand of (7.3)."""
    mu, eps = mpf(mu), mpf(eps)
    return (
        ndtr(mu / 2 - eps / mu)
        + ndtr(-mu / 2 - eps / mu)
        + 2 * mp.exp(-(mu**2) / 8) * ndtr(-eps / mu)
    )


def tilt_slope(mu: Real, eps: Real) -> Real:
    """The derivative of (7.1) in mu, by the limit that defines it."""
    with mp.extradps(int(mpf(mu) ** 2 / 4)):  # it is about exp(-mu^2/8), next to a value of 1
        return mp.diff(lambda m: tilt_divergence(m, eps), mpf(mu))


# ------------------------------------------------------------------------ the largest noise


def snapshot_quantile(k: float, beta: float) -> Real:
    """Lemma 4.3: sqrt 2 erfc^-1(2 - 2 (1 - beta/2)^(1/k))."""
    return mp.sqrt(2) * erfcinv(2 - 2 * (1 - mpf(beta) / 2) ** (1 / mpf(k)))


def snapshot_quantile_loose(k: float, beta: float) -> Real:
    """Lemma 4.3, right side: sqrt 2 erfc^-1(beta / k)."""
    return mp.sqrt(2) * erfcinv(mpf(beta) / mpf(k))


def largest_tail(k: float, x: Real) -> Real:
    """P(max_j |N_j| > x) = 1 - P(|N| <= x)^k."""
    with mp.extradps(int(mpf(x) ** 2 / 4)):
        return 1 - mp.erf(mpf(x) / mp.sqrt(2)) ** mpf(k)


def largest_quantile(k: float, beta: float) -> Real:
    """The u with P(M > u) = beta."""
    return mp.sqrt(2) * mp.erfinv((1 - mpf(beta)) ** (1 / mpf(k)))


def largest_density(k: float, x: Real) -> Real:
    """The derivative of P(|N| <= x)^k."""
    inside = mp.erf(x / mp.sqrt(2))
    return mpf(k) * inside ** (mpf(k) - 1) * mp.sqrt(2 / mp.pi) * mp.exp(-(x**2) / 2)


def largest_mean(g: Callable[[Real], Real], k: float, start: Real, *kinks: Real) -> Real:
    """E[g(M); M > start] by quadrature of the density, at forty digits: it is slow."""
    start = mpf(start)
    with mp.workdps(40):
        # Past the end even k noises have less than 1e-39 of the mass beyond a quantile.
        end = mp.sqrt(start**2 + 2 * mp.log(k) + 180)
        steps = [mpf(step) / 2 for step in (0, 1, 2, 4, 8, 14, 20, 28)]
        inner = sorted({start + step for step in steps if start + step < end} | set(kinks))
        scale = max(largest_density(k, x) for x in inner)  # quad stops at an absolute error
        return scale * mp.quad(
            lambda x: g(x) * (largest_density(k, x) / scale),
            [*inner, end],
            method="gauss-legendre",
        )


def largest_excess(k: float, start: Real) -> Real:
    """E (M - start)^+."""
    start = mpf(start)
    return largest_mean(lambda x: x - start, k, start)


def largest_cvar(k: float, beta: float) -> Real:
    """The mean of M over its worst beta fraction: E[M; M > u] / beta, u the quantile."""
    return largest_mean(lambda x: x, k, largest_quantile(k, beta)) / mpf(beta)


def own_noise_cvar(k: float, beta: float, low: float, high: float, factor: float) -> Real:
    """CVaR_beta of ``high (M - C)^+ - low (C - M)^+``, which rises with M (docs, section 10)."""
    c = mpf(factor)

    def g(x: Real) -> Real:
        return mpf(high) * (x - c) if x > c else -mpf(low) * (c - x)

    return largest_mean(g, k, largest_quantile(k, beta), c) / mpf(beta)


# ------------------------------------------------------------------------ conversions


def rdp_delta(order: Real, divergence: Real, eps: Real) -> Real:
    """Proposition D.8: e^((order-1)(divergence-eps)) / (order-1) (1 - 1/order)^order."""
    order = mp.convert(order)
    if order == 1:
        return mpf(1)  # the limit
    with _room_next_to_one(order):
        factor = mp.exp((order - 1) * (mpf(divergence) - mpf(eps)))
        return factor / (order - 1) * (1 - 1 / order) ** order


def rdp_epsilon(order: Real, divergence: Real, delta: Real) -> Real:
    """Proposition D.8 solved for eps; not below 0."""
    order = mp.convert(order)
    with _room_next_to_one(order):
        scale = (1 - 1 / order) ** order / (order - 1)
        return max(mpf(divergence) + mp.log(scale / mpf(delta)) / (order - 1), mpf(0))


def _room_next_to_one(order: Real) -> Any:
    """As many digits more as order - 1 hides, twice."""
    return mp.extradps(max(0, int(-2 * mp.log10(order - 1))))


def psi(order: Real, rho: Real, eps: Real) -> Real:
    """Lemma 4.2 and Corollary D.9: the delta of rho-zCDP from one order."""
    return rdp_delta(order, order * mpf(rho), eps)


def zcdp_order(rho: float, eps: float) -> Real:
    """The order that makes psi smallest.

    log psi = (g - 1)(g rho - eps) + g log(1 - 1/g) - log(g - 1) is smooth and convex in g (proof of
    Corollary D.9): the zero of its derivative, found in log(g - 1), in which the derivative rises.
    """
    rho, eps = mpf(rho), mpf(eps)

    def slope(log_less: Real) -> Real:
        less = mp.exp(log_less)
        return (2 * less + 1) * rho - eps + mp.log(less / (1 + less))

    low, high = mpf(-5000), mpf(100)
    while high - low > 1:
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    root = mp.findroot(slope, (low, high), solver="secant")
    with mp.extradps(max(0, int(-root))):
        return 1 + mp.exp(root)


def zcdp_delta(rho: float, eps: float) -> Real:
    """Corollary D.9 with the record's own order."""
    return psi(zcdp_order(rho, eps), rho, eps)


def zcdp_epsilon_bun_steinke(rho: float, delta: float) -> Real:
    """Theorem C.3's exponent: rho + 2 sqrt(rho log(sqrt(pi rho) / delta))."""
    rho = mpf(rho)
    return rho + 2 * mp.sqrt(rho * mp.log(mp.sqrt(mp.pi * rho) / mpf(delta)))
