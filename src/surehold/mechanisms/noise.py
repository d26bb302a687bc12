"""Where noise comes from: the one module of the package that draws any.

Noise is a whole number Z with the discrete Gaussian law of parameter :data:`SCALE`,
``P(Z = z)`` proportional to ``exp(-z^2 / (2 SCALE^2))``. It knows no round, plan or dataset: a
mechanism measures in steps of g = sigma / SCALE, so that g Z has the standard deviation sigma.

**Discrete instead of continuous** (sharp-bound.md, section 13). With g / sigma = 2**-96:

* k answers cost less than ``k (g / sigma)^2`` of beta: for k = 10**18 that is
  10**18 / 2**192 = 1.6e-40, where 1e-12 is asked for;
* rounding the noise and the exact value to the grid widens by g/2 each, g = sigma 2**-96 together:
  relative to sigma, and so to any width, 1.3e-29.

Both are far inside the relative 1e-12 by which every reported width is rounded outwards
(``OUTWARD`` in theory/noise.py). That rounding the value adds g to the sensitivity is part of the
charge (:mod:`surehold.mechanisms.gaussian`).

**Secret and fresh.** Bits are the operating system's, a draw is handed out once, and neither a copy
of the process (fork) nor a printed object has any of the draws in it. There is no seed here: a
seeded source is test code.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from typing import NoReturn, Protocol

from surehold.errors import InvalidInput
from surehold.mechanisms.sampler import BitSource, discrete_gaussian

SCALE = 2**96
"""Standard deviation of the noise, in steps of the grid."""

_BATCH = 1024  # about 10 ms of work
_BUFFER = 4096  # bytes asked of the system at a time


class NoiseSource(Protocol):
    """A source of independent draws of the discrete Gaussian of parameter SCALE, and of bits.

    A selection (:mod:`surehold.mechanisms.exponential`) adds no noise; it is random by itself, and
    takes fair bits.
    """

    def draw(self, count: int) -> list[int]:
        """``count`` draws, none of which any other caller gets."""

    def bits(self) -> BitSource:
        """Fair bits for one selection, shared with no other."""


class SystemBits:
    """Bits from the operating system's cryptographic source, taken a buffer at a time.

    For one thread, and not to be kept: across a fork its bits would be shared.
    """

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0

    def getrandbits(self, k: int, /) -> int:
        """A whole number of k fair bits, k >= 0."""
        size = (k + 7) // 8
        start, end = self._at, self._at + size
        if end > len(self._bytes):
            self._bytes = os.urandom(max(_BUFFER, size))
            start, end = 0, size
        self._at = end
        return int.from_bytes(self._bytes[start:end], "little") >> (8 * size - k)


class SystemNoise:
    """A pool of draws from the system's randomness; any thread may draw.

    The sampler takes longer for some values than for others, so the clock must not see it work on
    the noise of one answer. A draw takes the oldest values in the pool, all made before it was
    called; at the low-water mark a thread in the background makes the next ``ahead`` values. Only
    if the pool holds too little, as at the first draw, are they made while the caller waits, and
    then the time is that of ``ahead`` values. ``fill()`` beforehand avoids even that.

    With ``ahead=0`` there is no pool: each draw makes as many values as it gives. That is for a
    command that asks once and exits: its user can read the records anyway.

    >>> noise = SystemNoise()
    >>> len(noise.draw(3))
    3
    """

    _pool: deque[int]
    _refilling: bool

    def __init__(self, ahead: int = _BATCH) -> None:
        self._ahead, self._low = ahead, ahead // 2
        self._empty()
        _POOLS.add(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"  # of the draws, not even how many

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pool of noise is never copied or saved: its draws would be used twice")

    def draw(self, count: int) -> list[int]:
        """The ``count`` oldest draws of the pool, which are then no longer in it."""
        if count < 0:
            raise InvalidInput("count", "a whole number >= 0", count)
        with self._lock:
            while (missing := count - len(self._pool)) > 0:
                self._pool.extend(_sample(self._ahead or missing))
            drawn = [self._pool.popleft() for _ in range(count)]
            if len(self._pool) < self._low and not self._refilling:
                self._start_refill()
        return drawn

    def bits(self) -> SystemBits:
        """The system's bits, straight from it: they have nothing to do with the pool."""
        return SystemBits()

    def fill(self) -> None:
        """Fill the pool now, if it is low, rather than while a caller waits for an answer."""
        with self._lock:
            if len(self._pool) < self._low:
                self._pool.extend(_sample(self._ahead))

    def _start_refill(self) -> None:
        self._refilling = True
        try:
            threading.Thread(target=self._refill, name="surehold-noise", daemon=True).start()
        except RuntimeError:  # no more threads, or Python is shutting down: a later draw fills
            self._refilling = False

    def _refill(self) -> None:
        try:
            made = _sample(self._ahead)  # outside the lock, so that other draws need not wait
            with self._lock:
                self._pool.extend(made)
        finally:
            self._refilling = False

    def _empty(self) -> None:
        """Reset: an empty pool, no refill under way, and a new lock."""
        self._lock = threading.Lock()
        self._pool = deque()
        self._refilling = False


def system_noise() -> SystemNoise:
    """The pool of this process."""
    return _SYSTEM


def _sample(count: int) -> list[int]:
    """New draws, on bits that are used for nothing else."""
    bits = SystemBits()
    return [discrete_gaussian(SCALE, bits) for _ in range(count)]


def _forget_parent() -> None:
    """In a forked child: a draw that the parent also has would be used twice."""
    for pool in list(_POOLS):
        pool._empty()


_POOLS: weakref.WeakSet[SystemNoise] = weakref.WeakSet()
_SYSTEM = SystemNoise()
if hasattr(os, "register_at_fork"):  # where there is fork, which Windows has not
    os.register_at_fork(after_in_child=_forget_parent)
