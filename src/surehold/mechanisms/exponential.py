"""The exponential mechanism: one of several candidates, the better the likelier, exactly."""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate

from surehold.errors import InvalidInput
from surehold.mechanisms.charge import UNIT_BITS, check_round, units_up
from surehold.mechanisms.sampler import BitSource

_DIGITS = 40  # with 128 bits: for 100 candidates undecided less than once in 10**29 times
_BITS = 128
_ERROR = 2  # units of the last digit by which a weight may be off
_LARGEST_MU = 1e100  # far beyond any budget, and its epsilon is a double


@dataclass(frozen=True)
class ExponentialMechanism:
    """Chooses i with probability proportional to ``exp(-epsilon L_i / 2)``, L_i = t loss_i.

    L_i, t times the loss of candidate i on a snapshot of t records, must move by at most 1 when one
    record is replaced. Then the log likelihood ratio of the choice lies in an interval of length
    epsilon (sharp-bound.md, section 12). ``epsilon`` is a double and taken exactly, losses are
    ratios of whole numbers.

    **Exact.** A uniform number U is compared with the cumulative sums of the weights. Weights are
    whole numbers in units of 10^-40, each known to be right within two units, and of U 128 bits are
    drawn. Where that leaves two candidates possible there are twice the digits and twice the bits,
    the first of them kept, until only one is. So the choice is that of real numbers, and its law
    is the one on paper, down to candidates of probability 10^-1000.

    **In nearly the same time for all records.** Every candidate costs one exponential of the same
    precision, about 20 microseconds whatever its loss, and a second pass is needed less than once
    in 10^20 times. Rejection sampling (draw a candidate, keep it with probability
    ``exp(-epsilon (L_i - min L) / 2)``) is as exact and simpler, but it takes the longer the fewer
    candidates are good: its number of trials tells of the records, and no charge covers that.

    >>> import random
    >>> mechanism = ExponentialMechanism(epsilon=0.5)
    >>> mechanism.choose([30, 2, 45], denominator=1, bits=random.Random(1))
    1
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon < math.inf:
            raise InvalidInput("epsilon", "a positive finite number", self.epsilon)

    @classmethod
    def within(cls, units: int) -> ExponentialMechanism:
        """The mechanism with the largest epsilon that charges at most ``units``.

        >>> from surehold.mechanisms import units_down
        >>> units = units_down(1e-4)
        >>> ExponentialMechanism.within(units).charge() <= units
        True
        """
        from surehold.theory.selection import bounded_range_epsilon  # loads SciPy

        units = operator.index(units)
        if units < 1:
            raise InvalidInput("units", "a whole number of at least 1", units)
        return cls(float(bounded_range_epsilon(_root_down(units))))

    def charge(self) -> int:
        """The mu^2 of one choice, in units, rounded up: the same at every round.

        sharp-bound.md, section 12: ``mu = 2 Phi^-1(e^{epsilon/2} / (1 + e^{epsilon/2}))``.

        >>> from surehold.mechanisms import to_float
        >>> round(to_float(ExponentialMechanism(epsilon=0.01).charge()), 8)
        3.927e-05
        """
        from surehold.theory.selection import bounded_range_mu  # loads SciPy

        return units_up(Fraction(float(bounded_range_mu(self.epsilon))) ** 2)

    def rate(self, t: int) -> float:
        """r = epsilon t / 2, with ``P(excess loss > y) <= N exp(-r y)`` at round t; rounded down.

        >>> ExponentialMechanism(epsilon=0.5).rate(100) <= 25.0
        True
        """
        return math.nextafter(0.5 * self.epsilon * check_round(t), 0.0)

    def choose(self, losses: Sequence[int], denominator: int, bits: BitSource) -> int:
        """The index of the chosen candidate, where ``L_i = losses[i] / denominator``.

        The first of the best is put first in the order in which weights are added up, the others
        follow as in a circle. That changes no probability, and on bits that are all 0 (which only a
        test has) the choice is this best candidate.
        """
        # NumPy's whole numbers would overflow, and silently. What is wrong with a loss is not
        # repeated: it speaks of records.
        losses, denominator = [operator.index(loss) for loss in losses], operator.index(denominator)
        if not losses:
            raise InvalidInput("losses", "at least one", "none")
        if denominator < 1:
            raise InvalidInput("denominator", "a whole number of at least 1", denominator)
        best = min(range(len(losses)), key=losses.__getitem__)
        if losses[best] < 0:
            raise InvalidInput("losses", "whole numbers >= 0", "less than that")
        numerator, scale = self.epsilon.as_integer_ratio()
        above = [numerator * (loss - losses[best]) for loss in losses[best:] + losses[:best]]
        below = 2 * scale * denominator
        digits, length = _DIGITS, _BITS
        drawn = bits.getrandbits(length)
        while True:
            first, last = _possible(_weights(above, below, digits), drawn, length)
            if first == last:
                return (best + first) % len(losses)
            digits, drawn = 2 * digits, drawn << length | bits.getrandbits(length)
            length *= 2


def _weights(above: Sequence[int], below: int, digits: int) -> list[int]:
    """``exp(-37/3 - a/below)`` for all a, in units of 10^-digits and off by less than two of them.

    The exponent is cut to that many digits, which changes less than a unit; the exponential, less
    than 1 and correctly rounded by :mod:`decimal`, is off by less than half a unit, and making it a
    whole number cuts off less than another. The exponent goes to -2.4 digits, where a weight is
    less than a unit. It starts at -37/3 for the clock: the exponential of 0, the best candidate's,
    is found at once, and that of a small or short number sooner than others.
    """
    context = Context(prec=digits + 8, traps=[])  # longer than the exponent, which is kept whole
    unit = 10**digits
    start, most = 37 * unit // 3, 12 * digits * unit // 5

    def weight(a: int) -> int:
        exponent = Decimal(-min(start + a * unit // below, most)).scaleb(-digits, context)
        return int(context.exp(exponent).scaleb(digits, context))

    return [weight(a) for a in above]


def _possible(weights: Sequence[int], drawn: int, length: int) -> tuple[int, int]:
    """The first and the last index that U may mean, U being from drawn to drawn + 1 over 2^length.

    U means the number of sums S_0, ..., S_{N-2} that are at most U S_{N-1}. For the first index
    sums are taken as large as they may be and U S_{N-1} as small, for the last the other way.
    """
    *sums, total = accumulate(weights)
    off = _ERROR * len(weights)
    largest = [at + _ERROR * terms for terms, at in enumerate(sums, 1)]
    # No sum is below an earlier one; its own lower bound may be, after weights of nearly nothing.
    smallest = list(accumulate((at - _ERROR * terms for terms, at in enumerate(sums, 1)), max))
    least = drawn * (total - off) >> length
    most = -(-(drawn + 1) * (total + off) >> length)
    return bisect_right(largest, least), bisect_left(smallest, most)


def _root_down(units: int) -> float:
    """A double mu with mu^2 at most ``units``, and nearly all of them."""
    extra = 128  # so that even one unit has a root of 64 bits
    root = math.isqrt(units << extra)
    surplus = max(root.bit_length() - 53, 0)
    try:
        mu = math.ldexp(root >> surplus, surplus - (UNIT_BITS + extra) // 2)
    except OverflowError:
        mu = math.inf
    return min(mu, _LARGEST_MU)
