"""Gradient descent on noisy gradients: the one query that looks at a snapshot many times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surehold.data.record_store import Progress, RecordStore
from surehold.ledger.policy import Policy
from surehold.mechanisms import NoiseSource
from surehold.queries import FitForm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from surehold.data.gradients import Gradients
    from surehold.mechanisms.gradient import GaussianVector

_SHARE = 5
"""One fifth of the price is for the second moments of the features."""


def fit(
    form: FitForm,
    data: RecordStore,
    policy: Policy,
    t: int,
    noise: NoiseSource,
    progress: Progress | None,
) -> list[float]:
    """The coefficients of intercept and features, each scaled to [-1, 1], after all steps.

    Every step sees the records through one noisy gradient only, so that the coefficients are a
    function of noisy vectors; each costs its share of the price. Steps go in the directions, and
    are of the lengths, that a bound on the curvature allows: a quarter of the features' second
    moments (Boehning and Lindsay 1988) for logistic regression, all of them for linear. The mean of
    the last half of the iterates is returned, which averages out noise.
    """
    from surehold.mechanisms.gradient import GaussianVector

    gradients = data.gradients(form, t)
    sigma, size = policy.mechanism.sigma, gradients.size
    for_moments = form.price // _SHARE
    steps = GaussianVector.within(sigma, size, form.steps, form.price - for_moments)
    cost = form.steps * steps.charge(t)
    moments = None
    if for_moments:
        pairs = size * (size + 1) // 2
        moments = GaussianVector.within(sigma, pairs, 1, for_moments)
        cost += moments.charge(t)
    if cost > policy.charge(form, t):
        raise AssertionError("the steps cost more than the price")
    curvature = _curvature(form, gradients, moments, noise)
    at, averaged = np.zeros(size), np.zeros(size)
    tail = form.steps - form.steps // 2
    for step in range(form.steps):
        totals, divisor = gradients.total(at.tolist())
        mean = steps.noisy(totals, divisor, noise.draw(size))
        slope = form.clip * np.asarray(mean) + form.penalty * np.concatenate(([0.0], at[1:]))
        at = at - np.linalg.solve(curvature, slope)
        if step >= form.steps - tail:
            averaged += at / tail
        if progress is not None:
            progress((step + 1) * t)
    coefficients: list[float] = averaged.tolist()
    return coefficients


def _curvature(
    form: FitForm,
    gradients: Gradients,
    moments: GaussianVector | None,
    noise: NoiseSource,
) -> NDArray[np.float64]:
    """A bound on the curvature, from noisy second moments or, without any, from the range alone.

    Where noise is of the order of a moment no direction is trusted to be flatter than that.
    """
    size, most = gradients.size, 0.25 if form.kind == "logistic" else 1.0
    ridge = form.penalty * np.eye(size)
    if moments is None:
        return most * size * np.eye(size) + ridge
    totals, divisor = gradients.moments()
    upper = moments.noisy(totals, divisor, noise.draw(moments.size))
    found = np.zeros((size, size))
    found[np.triu_indices(size)] = upper
    found = size * (found + np.triu(found, 1).T)
    least = 2.0 * moments.sigma * size * np.sqrt(size) + 1e-6
    lengths, directions = np.linalg.eigh(found)
    bounded: NDArray[np.float64] = (directions * np.maximum(lengths, least)) @ directions.T
    return most * bounded + ridge
