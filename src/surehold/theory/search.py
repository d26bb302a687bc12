"""Solvers that stop on the safe side.

Each returns a point at which the wanted property was itself evaluated and found true; rounding and
early stopping can cost a little optimality, never validity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surehold.checks import LARGEST_COUNT
from surehold.errors import NotCertified
from surehold.theory.arrays import FloatArray


def smallest_float(
    holds: Callable[[FloatArray], npt.NDArray[np.bool_]], low: FloatArray, high: FloatArray
) -> FloatArray:
    """Elementwise smallest x in [low, high] with ``holds(x)``, for a property that stays true.

    Bisects to adjacent doubles. Raises if the property is false at ``high``.

    >>> float(smallest_float(lambda x: x * x >= 2.0, np.array(0.0), np.array(2.0)))
    1.4142135623730951
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    if not np.all(holds(high)):
        raise NotCertified("a bracket for bisection", {"low": low.min(), "high": high.max()})
    high = np.where(holds(low), low, high)
    while True:
        middle = low + 0.5 * (high - low)
        if not np.any((middle > low) & (middle < high)):
            return high
        true = holds(middle)
        low, high = np.where(true, low, middle), np.where(true, middle, high)


def largest_count(cost: Callable[[int], float], limit: float, guess: int = 1000) -> int:
    """Largest whole k from 1 to 10^18 with ``cost(k) <= limit`` for a rising cost; 0 if none.

    Both ``cost(k) <= limit`` and, below 10^18, ``cost(k + 1) > limit`` have been evaluated.

    >>> largest_count(lambda k: float(k * k), 10_000_000.0)
    3162
    """

    def probe(k: int) -> _Probe:
        value = cost(k)
        return _Probe(value <= limit, _log_ratio(value, limit))

    return _last_left(probe, guess, LARGEST_COUNT)


def smallest_count(
    cost: Callable[[int], float], limit: float, guess: int = 1000, most: int = LARGEST_COUNT
) -> int:
    """Smallest whole n from 1 to ``most`` with ``cost(n) <= limit`` for a falling cost.

    Raises if not even ``most`` will do. Both ``cost(n) <= limit`` and, for n > 1,
    ``cost(n - 1) > limit`` have been evaluated on return.

    >>> smallest_count(lambda n: 1 / n, 0.001)
    1000
    """

    def probe(n: int) -> _Probe:
        value = cost(n)
        # Not "value > limit": a NaN must count as over the limit.
        return _Probe(not value <= limit, -_log_ratio(value, limit))

    last = _last_left(probe, guess, most)
    if last == most:
        raise NotCertified("a smallest count", {"searched up to": most, "limit": limit})
    return last + 1


class _Probe(NamedTuple):
    """Whether the crossing lies to the right of a point, and how far off it seems (only a hint)."""

    is_left: bool
    offset: float


def _log_ratio(value: float, limit: float) -> float:
    if 0.0 < value < math.inf and 0.0 < limit < math.inf:
        return math.log(value) - math.log(limit)
    return -math.inf if value <= limit else math.inf


def _last_left(probe: Callable[[int], _Probe], guess: int, most: int) -> int:
    """Last point in [1, most] left of the crossing, 0 if none; decided by ``is_left`` alone."""
    low, high = 0, 0
    low_offset, high_offset = -math.inf, math.inf

    def look(point: int) -> _Probe:
        nonlocal low, high, low_offset, high_offset
        found = probe(point)
        if found.is_left:
            low, low_offset = point, found.offset
        else:
            high, high_offset = point, found.offset
        return found

    point = min(max(1, guess), most)
    step = 4
    while low == 0 or high == 0:  # bracket, with strides that widen
        is_left, offset = look(point)
        if is_left and low == most:
            return most
        if not is_left and high == 1:
            return 0
        point = min(low * step, most) if is_left else max(1, high // step)
        step = min(step * 4, 4096)
    halve = False
    while high - low > 1:
        width = high - low
        point = (
            _geometric_middle(low, high)
            if halve
            else _interpolate(low, low_offset, high, high_offset)
        )
        is_left, offset = look(point)
        if high - low > 1 and math.isfinite(offset) and not halve:
            # The interpolated point is usually right but for its last digits: look just beyond it
            # on the other side, so that the bracket closes from both ends.
            slope = _slope(low, low_offset, high, high_offset)
            reach = 1 + math.ceil(1.05 * abs(offset) / slope * point) if slope > 0.0 else 1
            look(min(max(point + (reach if is_left else -reach), low + 1), high - 1))
        halve = high - low > width // 2
    return low


def _geometric_middle(low: int, high: int) -> int:
    return min(max(math.isqrt(low * high), low + 1), high - 1)


def _slope(low: int, low_offset: float, high: int, high_offset: float) -> float:
    slope = (high_offset - low_offset) / math.log1p((high - low) / low)
    return slope if math.isfinite(slope) else 0.0


def _interpolate(low: int, low_offset: float, high: int, high_offset: float) -> int:
    slope = _slope(low, low_offset, high, high_offset)
    if slope <= 0.0:
        return _geometric_middle(low, high)
    point = round(low * math.exp(-low_offset / slope))
    return min(max(point, low + 1), high - 1)
