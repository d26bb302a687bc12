"""The array types of the theory."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.ArrayLike

WIDEST_RANGE = 1e9
"""Of the noises in one plan: no use beyond it, and every root is well-behaved within."""


def as_floats(values: Numbers) -> FloatArray:
    """Any number or array of numbers as an array of doubles."""
    return np.asarray(values, dtype=np.float64)


def broadcast(*values: Numbers) -> tuple[FloatArray, ...]:
    """The values as arrays of doubles of one common shape."""
    return tuple(np.broadcast_arrays(*(as_floats(value) for value in values)))
