"""Gaussian noise on the mean of vectors of bounded length: what a fit goes by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from surehold.errors import InvalidInput
from surehold.mechanisms.charge import check_round, units_up
from surehold.mechanisms.noise import SCALE

_ROOM = 1.0 + 1e-9  # for the rounding of all coordinates to the grid


@dataclass(frozen=True)
class GaussianVector:
    """The mean over t records of vectors no longer than 1, and noise sigma in each coordinate.

    Another record in one place moves the mean by at most 2/t in length: the charge is
    ``(2 / (t sigma))^2`` (sharp-bound.md, sections 13 and 15). Rounding to the grid of
    sigma / SCALE moves each of ``size`` coordinates by at most half a step, before and after.
    """

    sigma: float
    size: int

    @classmethod
    def within(cls, sigma: float, size: int, steps: int, answers: int) -> GaussianVector:
        """The least noise with which ``steps`` cost no more than ``answers``.

        ``sigma`` is the noise of an answer, whose charge is (1 / (t sigma))^2.
        """
        return cls(2.0 * sigma * math.sqrt(steps / answers) * _ROOM, size)

    def charge(self, t: int) -> int:
        """The mu^2 of one mean, in units, rounded up."""
        moved = Fraction(2) / (check_round(t) * Fraction(self.sigma))
        grid = Fraction(math.isqrt(self.size) + 1, SCALE)
        return units_up((moved + grid) ** 2)

    def noisy(self, totals: Sequence[int], divisor: int, noise: Sequence[int]) -> list[float]:
        """The means ``totals / divisor`` with noise, which nothing is cut from.

        >>> GaussianVector(sigma=0.5, size=2).noisy([3, -4], divisor=10, noise=[0, SCALE])
        [0.3, 0.1]
        """
        if len(totals) != self.size:
            raise InvalidInput("totals", f"{self.size} of them", len(totals))
        numerator, denominator = self.sigma.as_integer_ratio()
        found = []
        for total, drawn in zip(totals, noise, strict=True):
            above, below = total * SCALE * denominator, divisor * numerator
            nearest = (2 * above + below) // (2 * below)
            found.append((nearest + drawn) * numerator / (SCALE * denominator))
        return found
