"""The exact discrete Gaussian of Canonne, Kamath and Steinke, from fair bits and whole numbers.

C. Canonne, G. Kamath, T. Steinke, *The Discrete Gaussian for Differential Privacy*, NeurIPS 2020,
section 5. Every probability here is a ratio of whole numbers and every comparison is exact: no
float, no logarithm, no table, so the law is the one on paper, down to the last digit of its tails.
Where the bits come from is the caller's choice; nothing here draws any by itself.
"""

from __future__ import annotations

from typing import Protocol

_WORD = 64  # bits compared at a time: the first word decides but once in 2**64 times


class BitSource(Protocol):
    """Fair, independent bits, as :class:`random.Random` has them too."""

    def getrandbits(self, k: int, /) -> int:
        """A whole number of k fair bits, k >= 0."""


def bernoulli(numerator: int, denominator: int, bits: BitSource) -> bool:
    """True with probability numerator / denominator, a ratio from 0 to 1, exactly.

    A uniform number in [0, 1) is compared with the ratio, word by word of their binary expansions,
    and only as far as it takes: the first word in which they differ decides.
    """
    while True:
        word, numerator = divmod(numerator << _WORD, denominator)
        drawn = bits.getrandbits(_WORD)
        if drawn != word:
            return drawn < word


def bernoulli_exp(numerator: int, denominator: int, bits: BitSource) -> bool:
    """True with probability exp(-numerator / denominator), a ratio >= 0, exactly.

    Algorithm 1. For gamma in [0, 1] let K be the first k at which Bernoulli(gamma / k) fails; then
    ``P(K > k) = gamma^k / k!``, so K is odd with probability exp(-gamma). A larger gamma is a sum
    of ones and a rest, and its exponential the product of theirs.
    """
    while numerator > denominator:
        if not bernoulli_exp(1, 1, bits):
            return False
        numerator -= denominator
    # Bernoulli(1) needs no bits; the whole part of gamma is all made of it.
    k = 2 if numerator == denominator else 1
    while bernoulli(numerator, denominator * k, bits):
        k += 1
    return k % 2 == 1


def uniform(below: int, bits: BitSource) -> int:
    """A whole number from 0 to below - 1, each as likely: take bits until they make one."""
    length = (below - 1).bit_length()
    while True:
        drawn = bits.getrandbits(length)
        if drawn < below:
            return drawn


def discrete_laplace(scale: int, bits: BitSource) -> int:
    """A whole number x with probability proportional to exp(-|x| / scale), exactly.

    Algorithm 2 with s = 1. The size is ``u + scale v``: u < scale is kept with probability
    exp(-u / scale), v counts successes of probability exp(-1). Of +0 and -0 only one is kept, or
    zero would come twice as often as it should.
    """
    while True:
        u = uniform(scale, bits)
        if not bernoulli_exp(u, scale, bits):
            continue
        v = 0
        while bernoulli_exp(1, 1, bits):
            v += 1
        size = u + scale * v
        if not bits.getrandbits(1):
            return size
        if size:
            return -size


def discrete_gaussian(scale: int, bits: BitSource) -> int:
    """A whole number z with probability proportional to exp(-z^2 / (2 scale^2)), exactly.

    Algorithm 3: a discrete Laplace of any parameter t, kept with probability
    ``exp(-(|x| - sigma^2 / t)^2 / (2 sigma^2))``. The paper takes t = floor(sigma) + 1; for a whole
    sigma we take t = sigma = scale. Then sigma^2 / t = scale, and

        exp(-|x|/scale) exp(-(|x| - scale)^2 / (2 scale^2)) = exp(-x^2 / (2 scale^2)) exp(-1/2),

    so what is kept has the law that is asked for. About 0.76 of all x are kept.

    >>> import random
    >>> seeded = random.Random(1)
    >>> [discrete_gaussian(3, seeded) for _ in range(8)]
    [1, -6, 6, -4, -1, 1, -2, -2]
    """
    denominator = 2 * scale * scale
    while True:
        x = discrete_laplace(scale, bits)
        excess = abs(x) - scale
        if bernoulli_exp(excess * excess, denominator, bits):
            return x
