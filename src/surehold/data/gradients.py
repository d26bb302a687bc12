"""Gradients of a linear model's loss: a short integer vector for each record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from surehold.data.engines.polars_records import steps_of
from surehold.queries import FitForm

Floats: TypeAlias = NDArray[np.float64]

BITS = 40
"""A record's gradient, no longer than 1 once it is cut, has coordinates in steps of 2^-BITS."""
_BLOCK = 1 << 16
_MOMENT_BITS = 16
_SHORTER = 1.0 - 1e-9  # so that, whatever the rounding, no vector is longer than 1


class Gradients:
    """Features and target of a snapshot, in memory as single precision: 4 bytes per number."""

    def __init__(self, form: FitForm, rows: pl.DataFrame) -> None:
        self._form = form
        self.records = rows.height
        self.size = 1 + len(form.features)
        self._features = np.ones((rows.height, self.size), np.float32)
        self._target = np.empty(rows.height, np.float32)
        for start in range(0, rows.height, _BLOCK):
            block = rows.slice(start, _BLOCK)
            part = slice(start, start + block.height)
            for at, measure in enumerate(form.features):
                self._features[part, at + 1] = steps_of(measure, block) * 2.0 ** (1 - measure.bits)
            self._features[part, 1:] -= 1.0
            self._target[part] = steps_of(form.target, block) * 2.0**-form.target.bits
        if form.kind == "linear":
            self._target *= 2.0
            self._target -= 1.0

    def total(self, coefficients: Sequence[float]) -> tuple[list[int], int]:
        """Sum the records' gradients, clipped to length ``clip`` and divided by it.

        Also returns the divisor of the sum. Replacing one record moves the quotient by at most 2/t
        in length: each vector is no longer than 1, and truncating its digits makes it shorter. Sums
        of 2^16 numbers of at most 2^40 stay below 2^56.
        """
        at = np.asarray(coefficients, np.float64)
        totals = np.zeros(self.size, object)  # Python's integers
        for start in range(0, self.records, _BLOCK):
            features = self._features[start : start + _BLOCK].astype(np.float64)
            target = self._target[start : start + _BLOCK]
            said = features @ at
            residual = (expit(said) if self._form.kind == "logistic" else said) - target
            lengths = np.sqrt(np.einsum("ij,ij->i", features, features))
            longest = self._form.clip / lengths
            cut = np.clip(np.nan_to_num(residual), -longest, longest)
            scale = cut * (_SHORTER / self._form.clip * 2.0**BITS)
            steps = np.trunc(features * scale[:, None]).astype(np.int64)
            totals += steps.sum(axis=0)
        return totals.tolist(), self.records << BITS

    def moments(self) -> tuple[list[int], int]:
        """Sum z z' over records, with z on a grid: the upper triangle, row by row.

        Also returns the divisor of the sum. As z'z is at most ``size``, a record's z z' / size is
        no longer than 1. On the grid z is an integer up to 2^16, so sums of 2^16 products stay
        below 2^49, where doubles are exact in any order of addition.
        """
        upper = np.triu_indices(self.size)
        totals = np.zeros(upper[0].size, object)
        for start in range(0, self.records, _BLOCK):
            features = self._features[start : start + _BLOCK].astype(np.float64)
            steps = np.trunc(features * 2.0**_MOMENT_BITS)
            totals += (steps.T @ steps)[upper].astype(np.int64)
        return totals.tolist(), self.records * self.size << 2 * _MOMENT_BITS
