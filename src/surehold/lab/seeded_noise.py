"""Seeded noise for the lab's own, made-up records, so that anyone can repeat a contest.

A session never takes it. The noise that guards real records comes from the operating system
(:mod:`surehold.mechanisms.noise`) and has no seed; here the records themselves are seeded, and a
contest must be the same when it is run again. It is the package's own sampler of the discrete
Gaussian, on the bits of a generator that can be seeded.
"""

from __future__ import annotations

import random

from surehold.mechanisms.noise import SCALE
from surehold.mechanisms.sampler import discrete_gaussian


class SeededNoise:
    """Draws of the discrete Gaussian, the same for the same seed.

    >>> SeededNoise(1).draw(2) == SeededNoise(1).draw(2)
    True
    """

    def __init__(self, seed: int) -> None:
        self._bits = random.Random(seed)

    def draw(self, count: int) -> list[int]:
        return [discrete_gaussian(SCALE, self._bits) for _ in range(count)]

    def bits(self) -> random.Random:
        """Fair bits for one selection."""
        return random.Random(self._bits.getrandbits(64))
