"""`split`: Proposition C.5. Every query gets records of its own, and waits for them."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from surehold.errors import InvalidInput
from surehold.theory.arrays import FloatArray, Numbers, as_floats
from surehold.theory.certificates.base import (
    NOWHERE,
    Certificate,
    Width,
    needs_statistical,
    total_width,
)
from surehold.theory.exposure import Design
from surehold.theory.noise import OUTWARD


class Split(Certificate):
    """Fresh records for every query; Hoeffding's inequality and a union bound."""

    name: ClassVar[str] = "split"
    theorem: ClassVar[str] = "Proposition C.5"
    summary: ClassVar[str] = "fresh records for every query"
    mechanism: ClassVar[str] = "split"
    is_prompt: ClassVar[bool] = False

    def objection(self, design: Design) -> str | None:
        """Statistical queries only: no other can be asked of a sample of any size."""
        return needs_statistical(design)

    def _width(self, design: Design, beta: float, sigma: float | None) -> Width:
        if sigma is not None:
            raise InvalidInput("sigma", "left out, since splitting adds no noise", sigma)
        k = math.ceil(design.queries)
        size, larger = divmod(design.n, k)
        if size == 0:
            return NOWHERE
        # k - larger samples of one size and the rest of one record more use every record.
        sizes, counts = as_floats([size, size + 1]), as_floats([k - larger, larger])

        def log_failure(alpha: float) -> float:
            return math.log(float(split_failure(sizes, counts, alpha)) / beta)

        low, high = (math.sqrt(math.log(2.0 * k / beta) / (2.0 * m)) for m in (size + 1, size))
        alpha = high
        if larger:
            alpha = min(high, float(brentq(log_failure, low * (1 - 1e-9), high * (1 + 1e-9))))
            while log_failure(alpha) > 0.0:
                alpha *= OUTWARD
        return total_width({"sampling": alpha}, {"sample_size": float(size)}, None)


def split_failure(sizes: Numbers, counts: Numbers, alpha: Numbers) -> FloatArray:
    """Proposition C.5: the probability ``sum_j 2 e^{-2 n_j alpha^2}`` that some answer fails.

    ``counts`` says how many samples there are of each of the ``sizes``, along the last axis.
    """
    exponents = np.exp(-2.0 * as_floats(sizes) * as_floats(alpha)[..., None] ** 2)
    return as_floats(np.sum(2.0 * as_floats(counts) * exponents, axis=-1))


def split_records(k: Numbers, alpha: Numbers, beta: Numbers) -> FloatArray:
    """Proposition C.5 for equal samples: ``n = k / (2 alpha^2) log(2 k / beta)`` records."""
    k = as_floats(k)
    return as_floats(k / (2.0 * as_floats(alpha) ** 2) * np.log(2.0 * k / as_floats(beta)))
