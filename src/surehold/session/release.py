"""When an answer is released: at a moment that public facts decide, not how long it took."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SLOT = 0.025
"""Seconds of the first slot; each of the following ones is twice as long."""
MARGIN = 3.0
"""A slot is at least this many times the expected seconds."""

REST = 0.005
"""The last seconds of a slot, which every ask spends asleep.

A processor that has rested for longer wakes more slowly. So the last sleep is of the same length
for all, whatever came before it.
"""

Clock = Callable[[], float]
Sleep = Callable[[float], None]
Note = Callable[[float], None]


def slot_after(seconds: float) -> float:
    """The first slot of the grid that is no shorter.

    >>> [slot_after(seconds) for seconds in (0.0, 0.025, 0.026, 0.7)]
    [0.025, 0.025, 0.05, 0.8]
    """
    k = max(math.ceil(math.log2(max(seconds, SLOT) / SLOT)), 0)
    while seconds > SLOT * 2.0**k:  # what the logarithm rounded away
        k += 1
    return SLOT * 2.0**k


class Release:
    """Holds results back until the end of a slot, which is chosen before records are touched.

    A late result waits for the end of a later slot, never less: a clock then shows which slot it
    was, and nothing finer. ``late`` counts them, and ``on_late`` is called with each slot.

    >>> now = [100.0]
    >>> release = Release(
    ...     clock=lambda: now[0], sleep=lambda seconds: now.append(now.pop() + seconds)
    ... )
    >>> with release.held(expected=0.001):
    ...     pass
    >>> now, release.late
    ([100.025], 0)
    """

    def __init__(self, clock: Clock = time.monotonic, sleep: Sleep = time.sleep) -> None:
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self.late = 0
        self.on_late: Note = lambda slot: None

    @contextmanager
    def held(self, expected: float) -> Iterator[None]:
        """Leave this block at the end of a slot, also by an error; ``expected=0`` does not wait.

        An interrupt (Ctrl-C) does not wait.
        """
        if not expected:
            yield
            return
        begun, slot = self._clock(), slot_after(MARGIN * expected)
        try:
            yield
        except Exception:
            self._wait(begun, slot)
            raise
        self._wait(begun, slot)

    def _wait(self, begun: float, slot: float) -> None:
        took = self._clock() - begun
        if took > slot - REST:
            slot = slot_after(took + REST)
            with self._lock:
                self.late += 1
            self.on_late(slot)
        for end in (begun + slot - REST, begun + slot):
            while (left := end - self._clock()) > 0:
                self._sleep(left)
