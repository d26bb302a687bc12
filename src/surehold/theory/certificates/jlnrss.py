"""`jlnrss` and `jlnrss+`: static bounds, one for every batch of fresh records.

Theorem C.3 (Jung et al. 2020, Theorem 13) and Proposition C.4; the "+" is Theorem 4.4 with n0 = n
on every batch. Both answer a batch of queries from the records that are new at its round only.
"""

from __future__ import annotations

import heapq
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from surehold.theory.arrays import FloatArray, IntArray, Numbers, as_floats
from surehold.theory.certificates.base import (
    NOWHERE,
    Certificate,
    Width,
    needs_fresh_batches,
    total_width,
)
from surehold.theory.certificates.ours import OursN
from surehold.theory.conversion import zcdp_epsilon_bun_steinke
from surehold.theory.exposure import Design, Schedule
from surehold.theory.noise import snapshot_quantile_loose


class _FreshBatches(Certificate):
    """Proposition C.4: the worst batch, each at beta/b."""

    mechanism: ClassVar[str] = "gaussian, fresh records for every batch"

    def objection(self, design: Design) -> str | None:
        """The batches must be known beforehand."""
        return needs_fresh_batches(design)

    def _width(self, design: Design, beta: float, sigma: float | None) -> Width:
        batches = design.fresh_batches
        assert batches is not None  # or there would have been an objection
        sizes, counts = batches
        share = beta / sizes.size
        return _widest(sizes, counts, lambda n, k: self._static(n, k, share, sigma))

    @abstractmethod
    def _static(self, n: float, k: float, beta: float, sigma: float | None) -> Width: ...


class Jlnrss(_FreshBatches):
    """Theorem C.3 on every batch, with the constants that its authors tie together."""

    name: ClassVar[str] = "jlnrss"
    theorem: ClassVar[str] = "Theorem C.3, Proposition C.4"
    summary: ClassVar[str] = "Jung et al. on every fresh batch"

    def _static(self, n: float, k: float, beta: float, sigma: float | None) -> Width:
        sigma, delta = _best(n, k, beta, sigma)
        terms = {name: float(term) for name, term in theorem_c_3(n, k, beta, sigma, delta).items()}
        return total_width(terms, {"sigma": sigma, "delta": delta}, sigma)


class JlnrssPlus(_FreshBatches):
    """Theorem 4.4 with n0 = n on every batch: free constants and the tighter conversion."""

    name: ClassVar[str] = "jlnrss+"
    theorem: ClassVar[str] = "Theorem 4.4 with n0 = n, Proposition C.4"
    summary: ClassVar[str] = "jlnrss with its constants set free"

    def _static(self, n: float, k: float, beta: float, sigma: float | None) -> Width:
        return OursN().width(Schedule([n], [k]), beta, sigma=sigma)


def theorem_c_3(
    n: Numbers, k: Numbers, beta: Numbers, sigma: Numbers, delta: Numbers
) -> dict[str, FloatArray]:
    """The three terms of Theorem C.3 at any sigma, delta > 0.

    ``sqrt2 sigma erfc^-1(delta/k) + e^eps - 1 + 6 delta / beta`` with the eps of Bun and Steinke.
    """
    rho = as_floats(k) / (2.0 * (as_floats(n) * as_floats(sigma)) ** 2)
    eps = np.minimum(zcdp_epsilon_bun_steinke(rho, delta), 600.0)
    return {
        "noise": as_floats(sigma) * snapshot_quantile_loose(k, delta),
        "stability": as_floats(np.expm1(eps)),
        "failure": 6.0 * as_floats(delta) / as_floats(beta),
    }


def _best(n: float, k: float, beta: float, sigma: float | None) -> tuple[float, float]:
    """The sigma and delta that make Theorem C.3 smallest, in their logarithms."""

    def value(log_sigma: Numbers, log_delta: Numbers) -> FloatArray:
        terms = theorem_c_3(n, k, beta, np.exp(log_sigma), np.exp(log_delta))
        return as_floats(sum(terms.values()))

    log_deltas = np.log(beta) + np.linspace(-22.0, -1.0, 64)
    scale = 0.5 * math.log(k) - math.log(n)  # sigma at which rho = 1/2
    log_sigmas = as_floats(
        [math.log(sigma)] if sigma is not None else scale + np.linspace(-2.0, 12.0, 64)
    )
    grid = value(log_sigmas[:, None], log_deltas[None, :])
    i, j = np.unravel_index(int(np.argmin(grid)), grid.shape)
    start = [log_deltas[j], log_sigmas[i]][: 1 if sigma is not None else 2]

    def objective(x: FloatArray) -> float:
        log_sigma = x[1] if sigma is None else log_sigmas[0]
        return float(value(log_sigma, min(x[0], -1e-9)))

    found = minimize(
        objective, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-15}
    )
    delta = math.exp(min(found.x[0], -1e-9))
    return (math.exp(found.x[1]) if sigma is None else sigma), delta


def _widest(sizes: FloatArray, counts: FloatArray, width: Callable[[float, float], Width]) -> Width:
    """The widest batch, found without looking at them all.

    A width rises with the queries of a batch and falls with its size, so only batches that no other
    beats in both can be widest, and a run of those is no wider than the smallest size with the most
    queries in it. Best-first search: the first single batch to come up is the widest.
    """
    if sizes.min() < 1.0:
        return NOWHERE
    hardest = _hardest(sizes, counts)
    sizes, counts = sizes[hardest], counts[hardest]  # both rising

    def run(first: int, last: int) -> tuple[float, int, int, Width]:
        ceiling = width(sizes[first], counts[last])
        return -ceiling.value, first, last, ceiling

    runs = [run(0, sizes.size - 1)]
    while True:
        _, first, last, ceiling = heapq.heappop(runs)
        if first == last:
            return ceiling
        middle = (first + last) // 2
        heapq.heappush(runs, run(first, middle))
        heapq.heappush(runs, run(middle + 1, last))


def _hardest(sizes: FloatArray, counts: FloatArray) -> IntArray:
    """Indices of the batches that no other beats in both fewer records and more queries."""
    order = np.lexsort((-counts, sizes))  # by size, and the most queries first among equals
    most_before = np.maximum.accumulate(np.concatenate(([-np.inf], counts[order][:-1])))
    return order[counts[order] > most_before]
