"""Claim (b) for values in [0, 1]: the betting mixture K, whose width follows the values' spread.

Surprise, section 3b: ``K_t(p) = (1/1024) sum_j prod_i (z_i h_j/p + (1-z_i)(1-h_j)/(1-p))`` with
``h_j = sin^2((2j-1) pi/4096)``. With s = logit h - logit p each product is that of
``(1-h)/(1-p)`` and ``1 - z + z e^s``, so all of it goes by one smooth function of s,
``G(s) = sum_i ln(1 - z_i + z_i e^s)``, whose singularities are pi away from the real line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.polynomial.chebyshev import chebpts1, chebval, chebvander
from scipy.special import logsumexp

from surehold.errors import InvalidInput
from surehold.theory.arrays import FloatArray, as_floats
from surehold.theory.surprise.claims.base import Rough, Statistic
from surehold.theory.surprise.digits import PI

NODES = 1024
_ROUNDING = 2.0**-44
"""For each record: forty units in the last place of numbers up to 4, as in the interpolation."""

_FEW = 64
"""Up to this number of distinct values each product is computed; beyond it G is interpolated."""

_SEGMENT = 4.0
_POINTS = 40
"""On a segment of length 4 the error falls by 3.4 with each point: 40 leave 1e-20 of G."""

_NEGLIGIBLE = 120.0


class BettingMixture(Statistic):
    """ln K_t(p) of whole numbers from 0 to ``steps``, each with how often it occurs.

    Surprise, section 3b; for differences of two models section 3e.

    >>> difference = BettingMixture.of({Fraction(0): 21, Fraction(1, 2): 2800, Fraction(1): 179})
    >>> difference.centre, round(difference.rough(0.5, 0.5).value, 6)
    (Fraction(1579, 3000), 68.56541)
    """

    def __init__(self, values: npt.ArrayLike, counts: npt.ArrayLike, steps: int) -> None:
        numbers, times = np.asarray(values, dtype=np.int64), np.asarray(counts, dtype=np.int64)
        if not numbers.size or numbers.min() < 0 or numbers.max() > steps or times.min() < 1:
            raise InvalidInput("values", f"whole numbers from 0 to {steps}, with counts", "others")
        self._values, self._counts = numbers.tolist(), times.tolist()
        self._steps, self.t = steps, sum(self._counts)
        self._z, self._rest = numbers / steps, (steps - numbers) / steps
        self._n = times.astype(np.float64)
        self._segments: dict[int, FloatArray] = {}
        total = sum(z * n for z, n in zip(self._values, self._counts, strict=True))
        self._mean = Fraction(total, steps * self.t)

    @classmethod
    def of(cls, counts: Mapping[Fraction, int]) -> BettingMixture:
        """From fractions in [0, 1] with how often each occurs."""
        steps = math.lcm(*(z.denominator for z in counts))
        return cls([int(z * steps) for z in counts], list(counts.values()), steps)

    @property
    def centre(self) -> Fraction:
        """The mean over the records, where K is at most 1 by Jensen's inequality."""
        return self._mean

    def rough(self, p: float, q: float) -> Rough:
        """In doubles."""
        value = float(logsumexp(self._products(p, q))) - math.log(NODES)
        return Rough(value, _ROUNDING * self.t * (1.0 - math.log(min(p, q))))

    def exact(self, p: Decimal) -> Decimal:
        """To more than thirty digits; nodes that add less than 1e-50 are left out."""
        q = 1 - p
        products = self._products(float(p), float(q))
        chosen = np.flatnonzero(products > products.max() - _NEGLIGIBLE)
        nodes = _exact_nodes()
        total = Decimal(0)
        for j in chosen.tolist():
            one, zero = nodes[j] / p, nodes[NODES - 1 - j] / q
            product = Decimal(1)
            for z, n in zip(self._values, self._counts, strict=True):
                product *= ((z * one + (self._steps - z) * zero) / self._steps) ** n
            total += product
        return total.ln() - Decimal(NODES).ln()

    def guess(self, level: float, upper: bool) -> float | None:
        """By the normal law."""
        mean = float(self._mean)
        variance = float(self._n @ np.square(self._z - mean)) / self.t
        reach = math.sqrt(2.0 * variance * (level + 0.5 * math.log(self.t + 1.0)) / self.t)
        return min(max(mean + (reach if upper else -reach), 0.0), 1.0)

    def _products(self, p: float, q: float) -> FloatArray:
        """The logarithm of each node's product."""
        ones, zeros = _nodes() / p, _nodes()[::-1] / q
        if self._z.size <= _FEW:
            factors = np.outer(self._z, ones) + np.outer(self._rest, zeros)
            return as_floats(self._n @ np.log(factors))
        shift = np.log(ones) - np.log(zeros)
        numbers = np.floor(shift / _SEGMENT).astype(np.int64)
        sums = np.empty(NODES)
        for number in np.unique(numbers).tolist():
            inside = numbers == number
            place = shift[inside] / (0.5 * _SEGMENT) - (2.0 * number + 1.0)
            sums[inside] = chebval(place, self._segment(number))
        return as_floats(self.t * np.log(zeros) + sums)

    def _segment(self, number: int) -> FloatArray:
        """Chebyshev coefficients of G on [4 number, 4 number + 4], computed when first needed."""
        if number not in self._segments:
            points = as_floats(chebpts1(_POINTS))
            sums = self._log_sums(_SEGMENT * (number + 0.5 + 0.5 * points))
            # The points are those of a discrete cosine transform.
            coefficients = 2.0 / _POINTS * (chebvander(points, _POINTS - 1).T @ sums)
            coefficients[0] *= 0.5
            self._segments[number] = as_floats(coefficients)
        return self._segments[number]

    def _log_sums(self, shifts: FloatArray) -> FloatArray:
        """G at shifts of one sign; below 0 as ``s + ln(z + (1-z) e^-s)``, which loses no digits."""
        if shifts[0] > 0.0:
            return as_floats([self._n @ np.log1p(self._z * tilt) for tilt in np.expm1(shifts)])
        sums = as_floats([self._n @ np.log1p(self._rest * tilt) for tilt in np.expm1(-shifts)])
        return as_floats(sums + self.t * shifts)


@lru_cache(maxsize=1)
def _nodes() -> FloatArray:
    """h_j for j = 1 to 1024; 1 - h_j is the j-th from the end."""
    odd = 2.0 * np.arange(1, NODES + 1) - 1.0
    return as_floats(np.square(np.sin(odd * (np.pi / (4.0 * NODES)))))


@lru_cache(maxsize=1)
def _exact_nodes() -> tuple[Decimal, ...]:
    """The same to fifty digits: (1 - cos)/2 of odd multiples of pi/2048, turned step by step."""
    angle = PI / (2 * NODES)
    cosine, sine = _turn(angle)
    double = (cosine * cosine - sine * sine, 2 * sine * cosine)
    nodes = []
    for _ in range(NODES):
        nodes.append((1 - cosine) / 2)
        cosine, sine = (
            cosine * double[0] - sine * double[1],
            sine * double[0] + cosine * double[1],
        )
    return tuple(nodes)


def _turn(angle: Decimal) -> tuple[Decimal, Decimal]:
    """Cosine and sine of a small angle by their series."""
    terms = [Decimal(1)]
    while abs(terms[-1]) > Decimal("1e-60"):
        terms.append(terms[-1] * angle / len(terms))
    signs = (1, 1, -1, -1)
    signed = [term * signs[k % 4] for k, term in enumerate(terms)]
    return sum(signed[::2], Decimal(0)), sum(signed[1::2], Decimal(0))
