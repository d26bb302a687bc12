"""Noise for tests: seeded, which the lab has too, or none at all."""

from __future__ import annotations

import random

import numpy as np

from surehold.lab.seeded_noise import SeededNoise
from surehold.mechanisms.noise import SCALE

__all__ = ["FastSeededNoise", "NoNoise", "SeededNoise"]


class FastSeededNoise:
    """Doubles of NumPy's normal times SCALE, ten times as fast: for many runs.

    Not the discrete law, as only 53 bits of each draw are random, but no test of widths can tell.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def draw(self, count: int) -> list[int]:
        # SCALE is a power of two, so the product is exact and a whole number but for tiny draws.
        return [int(z * float(SCALE)) for z in self._generator.standard_normal(count).tolist()]

    def bits(self) -> random.Random:
        return random.Random(int(self._generator.integers(2**63)))


class NoBits:
    """Zeros: the uniform number 0, with which an exponential mechanism chooses the best."""

    def getrandbits(self, k: int, /) -> int:
        return 0


class NoNoise:
    """Exact answers, which protect nothing: tests of coverage must fail with it.

    A selection picks the first candidate of the smallest loss.
    """

    def draw(self, count: int) -> list[int]:
        return [0] * count

    def bits(self) -> NoBits:
        return NoBits()
