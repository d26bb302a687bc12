"""Selections: what an exponential mechanism charges, and the excess loss to allow for.

A selection picks one of N candidates with probability proportional to ``exp(-eps t loss / 2)``, the
loss on a snapshot of t records lying in [0, 1] and moving by at most 1/t when one is replaced. What
it costs each record is a number mu, as for Gaussian noise; that its choice is nearly the best is
certified together with the Gaussian answers of the plan, some of which it uses up.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf, erfc, erfcinv, erfinv, log_expit, log_ndtr, ndtri_exp

from surehold.checks import check_beta, check_number, check_positive, check_probability
from surehold.errors import InvalidInput
from surehold.theory.arrays import FloatArray, Numbers, as_floats, broadcast
from surehold.theory.noise import OUTWARD, largest_cvar, largest_quantile
from surehold.theory.search import smallest_float

_SQRT2 = math.sqrt(2.0)
SLACK = 1e-13
"""What selections may add to every width, in units of sigma: an eighth of what OUTWARD does."""


def bounded_range_mu(eps: Numbers) -> FloatArray:
    """The mu of a step whose log likelihood ratio lies in an interval of length ``eps``.

    Sharp bound, section 12: ``mu = 2 Phi^-1(e^{eps/2} / (1 + e^{eps/2}))``, rounded outwards. An
    exponential mechanism of parameter eps is such a step. Small eps as
    ``2 sqrt 2 erfinv(tanh(eps/4))``, large ones from the logarithm of the upper tail.

    >>> round(float(bounded_range_mu(0.1)), 6)
    0.062663
    """
    eps = as_floats(eps)
    small = 2.0 * _SQRT2 * erfinv(np.tanh(0.25 * np.minimum(eps, 2.0)))
    large = -2.0 * ndtri_exp(log_expit(-0.5 * np.maximum(eps, 0.5)))
    mu = np.where(eps < 1.0, small, large) * OUTWARD
    return np.where(eps >= 0.0, mu, np.nan)


def bounded_range_epsilon(mu: Numbers) -> FloatArray:
    """Largest eps with ``bounded_range_mu(eps) <= mu``, from below (the safe side).

    The inverse is known in closed form, ``eps = 2 logit Phi(mu/2)``; what is returned was itself
    put into :func:`bounded_range_mu`.

    >>> float(bounded_range_mu(bounded_range_epsilon(0.5))) <= 0.5
    True
    """
    mu = as_floats(mu)
    small = 4.0 * np.arctanh(erf(np.minimum(mu, 2.0) / (2.0 * _SQRT2)))
    large = 2.0 * (log_ndtr(0.5 * mu) - log_ndtr(-0.5 * mu))
    eps = np.where(mu < 1.0, small, large)
    # OUTWARD is some 1e-12 of eps; there is ample room below for that.
    return -smallest_float(lambda e: bounded_range_mu(-e) <= mu, -eps, -eps * (1.0 - 1e-9))


def pure_mu(eps: Numbers) -> FloatArray:
    """The mu of any ``eps``-DP step: its log likelihood ratio lies in [-eps, eps].

    Sharp bound, section 12, last remark: ``mu = 2 Phi^-1(e^eps / (1 + e^eps))``.
    """
    return bounded_range_mu(2.0 * as_floats(eps))


def selection_allowance(
    candidates: Numbers,
    rate: Numbers,
    *,
    answers: Numbers,
    queries: float,
    beta: float,
    sigma: float,
) -> FloatArray:
    """The excess loss A on the snapshot that a selection is allowed, in a plan of ``sharp``.

    Sharp bound, section 15, (15.2) and (15.3). With N candidates, losses in [0, 1] and
    ``rate`` r = eps t / 2 the excess E has ``P(E > y) <= max(N - 1, 1) e^{-r y}``. The selection
    stands in for ``answers`` of the plan's k = ``queries`` answers with noise ``sigma``; then its
    population excess loss is below A plus twice the plan's stability terms, together with all
    Gaussian answers and at the plan's own beta. Rounded outwards, SLACK included. At 1, which no
    excess exceeds, it says nothing.

    >>> plan = {"queries": 10_000, "beta": 0.05, "sigma": 0.001}
    >>> round(float(selection_allowance(10, 8000.0, answers=100, **plan)), 4)
    0.0016
    """
    candidates, rate, answers = broadcast(candidates, rate, answers)
    queries = _check_ranges(candidates, rate, answers, queries)
    beta, sigma = check_beta(beta), check_positive("sigma", sigma)
    near, factor = float(largest_quantile(queries, beta)), largest_cvar(queries, beta)
    log_rivals = np.log(np.maximum(candidates - 1.0, 1.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_share = np.log(2.0 * rate * sigma) + math.log(beta * SLACK) - math.log(queries)
        # About where what m answers add has fallen to m shares. Any other point is as safe.
        far = np.maximum(_SQRT2 * erfcinv(np.exp(np.clip(log_share, -690.0, 0.0))), near)

        def needed(log_room: FloatArray, z: Numbers) -> FloatArray:
            """r A such that the tail of (E - A)/2 at sigma (z - C) is at most ``e^log_room``."""
            return log_rivals - log_room - 2.0 * rate * sigma * (as_floats(z) - factor)

        exponent = np.maximum.reduce(
            [
                needed(_log_room(near, answers, queries), near),
                needed(_log_room(far, answers, queries), far),
                needed(log_share + np.log(answers), far),
            ]
        )
        allowance = exponent / rate * OUTWARD + 2.0 * sigma * SLACK
    return as_floats(np.where(rate > 0.0, np.minimum(allowance, 1.0), 1.0))


def paper_selection_allowance(
    candidates: Numbers, rate: Numbers, *, answers: Numbers, queries: float, snapshot_beta: float
) -> FloatArray:
    """The excess loss on the snapshot in a plan whose snapshot accuracy is a union bound.

    Theorem A.3 wants an accuracy on snapshots that fails with probability beta_0 in all. Each of
    the k = ``queries`` answers has beta_0 / k of it (the looser form of Lemma 4.3), a selection as
    many shares m as it stands in for ``answers``. From ``P(E > y) <= N e^{-r y}`` (sharp bound,
    section 12): ``A = ln(N k / (m beta_0)) / r``, rounded outwards and at most 1.

    >>> round(
    ...     float(paper_selection_allowance(10, 8e3, answers=1, queries=99, snapshot_beta=0.01)), 4
    ... )
    0.0014
    """
    candidates, rate, answers = broadcast(candidates, rate, answers)
    queries = _check_ranges(candidates, rate, answers, queries)
    log_beta = math.log(check_probability("snapshot_beta", snapshot_beta))
    exponent = np.log(candidates) + math.log(queries) - np.log(answers) - log_beta
    with np.errstate(divide="ignore", over="ignore"):
        return as_floats(np.minimum(exponent / rate * OUTWARD, 1.0))


def _log_room(z: Numbers, answers: FloatArray, queries: float) -> FloatArray:
    """ln(F^{k-m} - F^k) at z, F = P(|N| <= z): what the m answers given up may add beyond z."""
    log_inside = np.log1p(-erfc(as_floats(z) / _SQRT2))
    added = np.log(-np.expm1(answers * log_inside))
    return as_floats((queries - answers) * log_inside + added)


def _check_ranges(
    candidates: FloatArray, rate: FloatArray, answers: FloatArray, queries: float
) -> float:
    """The plan's number of answers, if everything is in the range that the proofs ask for."""
    required = "a finite number of at least 1"
    number = check_number("queries", queries, required, lambda x: 1.0 <= x < math.inf)
    for name, values, low, high, required in (
        ("candidates", candidates, 1.0, np.finfo(np.float64).max, "at least 1"),
        ("rate", rate, 0.0, np.finfo(np.float64).max, "finite and at least 0"),
        ("answers", answers, 1.0, number, f"from 1 to queries = {number:g}"),
    ):
        within = (values >= low) & (values <= high)
        if not np.all(within):
            raise InvalidInput(name, required, float(values[~within].flat[0]))
    return number
