"""What every mechanism is: something that states its charge beforehand, then answers."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod

from surehold.errors import InvalidInput


class Mechanism(ABC):
    """Turns the exact sum over a snapshot into a noisy value.

    The charge is a function of sizes and parameters alone, so that a filter can decide before any
    data is touched. Noise is an argument: one draw of a source of :mod:`surehold.mechanisms.noise`.
    """

    @abstractmethod
    def charge(self, round: int) -> int:
        """What one answer at this round costs each of its records, in units, rounded up.

        It does not rise with the round.
        """

    @abstractmethod
    def answer(self, total: int, bits: int, round: int, noise: int) -> float:
        """A noisy value in [0, 1] of the mean ``total / (round 2^bits)`` over the snapshot.

        ``total`` is the sum over the first ``round`` records, each a whole number from 0 to 2^bits.
        """

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


def check_round(round: int) -> int:
    """Return the size of a snapshot as a plain int, whose products never overflow, or raise."""
    if round < 1:
        raise InvalidInput("round", "a whole number of at least 1", round)
    return operator.index(round)
