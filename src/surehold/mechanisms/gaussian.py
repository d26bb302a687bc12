"""The clipped Gaussian mechanism, on a grid: exact up to the one rounding to a double."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

from surehold.errors import InvalidInput
from surehold.mechanisms.charge import UNIT_BITS, check_round
from surehold.mechanisms.noise import SCALE


@dataclass(frozen=True)
class ClippedGaussian:
    """The mean over a snapshot plus Gaussian noise of standard deviation sigma, cut to [0, 1].

    It works in whole steps of g = sigma / SCALE. The exact mean is put on the grid, N = the whole
    number nearest to mean / g, noise Z of parameter SCALE is added, and (N + Z) g is clipped and
    made a double: the clipped Gaussian mechanism of sharp-bound.md, section 7, with the
    discrete noise of section 13.

    >>> from surehold.mechanisms import system_noise
    >>> mechanism = ClippedGaussian(sigma=0.01)
    >>> (noise,) = system_noise().draw(1)
    >>> 0.0 <= mechanism.noisy(total=312, divisor=1000, noise=noise) <= 1.0
    True
    """

    sigma: float

    def __post_init__(self) -> None:
        if not 0.0 < self.sigma < math.inf:
            raise InvalidInput("sigma", "a positive finite number", self.sigma)

    def charge(self, t: int) -> int:
        """The mu^2 of one answer, ``(1/(t sigma) + 1/SCALE)^2``, in units, rounded up.

        A function of sizes alone, so that a filter can decide before any data is touched; it does
        not rise with the round.

        Lemma 4.2 (rho = Delta^2 / (2 sigma^2), and mu^2 = 2 rho) and sharp-bound.md,
        sections 7 and 13. Another record in one place moves the sum by at most 2^bits, and so
        mean / g by at most SCALE/(t sigma) and the whole number N by one step more; the noise has a
        standard deviation of SCALE steps.

        >>> from surehold.mechanisms import to_float
        >>> to_float(ClippedGaussian(sigma=0.5).charge(100))
        0.0004
        """
        numerator, denominator = self.sigma.as_integer_ratio()
        below = check_round(t) * numerator
        above = SCALE * denominator + below
        # With t sigma = below / denominator the charge is (above / (SCALE below))^2.
        return -(-(above * above << UNIT_BITS) // (SCALE * below) ** 2)

    def smallest_round(self, units: int, low: int, high: int) -> int | None:
        """The first round from ``low`` to ``high`` at which an answer costs at most ``units``.

        None if it costs more at all of them. By bisection in whole numbers.
        """
        low, high = check_round(low), operator.index(high)
        if high < low or self.charge(high) > units:
            return None
        while low < high:
            middle = (low + high) // 2
            if self.charge(middle) <= units:
                high = middle
            else:
                low = middle + 1
        return low

    def noisy(self, total: int, divisor: int, noise: int) -> float:
        """The noisy mean ``clip((N + noise) sigma / SCALE)``, correctly rounded to a double.

        The mean is ``total / divisor``, any ratio in [0, 1] that another record moves by at most
        1/t. ``noise`` is one draw of a :class:`~surehold.mechanisms.noise.NoiseSource`.

        >>> ClippedGaussian(sigma=0.25).noisy(total=1, divisor=4, noise=-SCALE)
        0.0
        """
        numerator, denominator = self.sigma.as_integer_ratio()
        # NumPy's whole numbers would overflow.
        total, divisor = operator.index(total), operator.index(divisor)
        nearest = _nearest(total * SCALE * denominator, divisor * numerator)
        above = (nearest + operator.index(noise)) * numerator
        below = SCALE * denominator
        return min(max(above, 0), below) / below


def _nearest(numerator: int, denominator: int) -> int:
    """The whole number nearest to a ratio, of two the larger."""
    return (2 * numerator + denominator) // (2 * denominator)
