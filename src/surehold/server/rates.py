"""Rates: how often one caller may knock."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from surehold.errors import RequestRefused

_MOST_CALLERS = 10_000


class Rates:
    """A bucket for each caller, which holds two seconds' worth of requests and fills steadily.

    What was let in and turns out to be more is owed: for ``debt`` seconds at most.

    >>> rates = Rates(rate=1.0, clock=lambda: 0.0)
    >>> rates.take("ann"), rates.take("ann")
    (None, None)
    >>> rates.take("ann")
    Traceback (most recent call last):
    ...
    surehold.errors.RequestRefused: request refused: more than 1 requests a second; wait 1 s
    """

    def __init__(
        self,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        what: str = "requests",
        debt: float = 2.0,
    ) -> None:
        self._rate, self._clock, self._what = rate, clock, what
        self._most = max(2.0 * rate, 1.0)
        self._debt = max(debt * rate, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def owe(self, caller: str, more: int) -> None:
        """What was let in counts for so many requests more: the next have to wait for them."""
        with self._lock:
            left, since = self._buckets.get(caller, (self._most, self._clock()))
            self._buckets[caller] = (max(left - more, -self._debt), since)

    def take(self, caller: str) -> None:
        """One request more, or a refusal that says when."""
        now = self._clock()
        with self._lock:
            left, since = self._buckets.pop(caller, (self._most, now))
            left = min(self._most, left + (now - since) * self._rate)
            wait = (1.0 - left) / self._rate
            self._buckets[caller] = (left if wait > 0 else left - 1.0, now)
            while len(self._buckets) > _MOST_CALLERS:  # who has not knocked for longest
                self._buckets.popitem(last=False)
        if wait > 0:
            reason = f"more than {self._rate:,.10g} {self._what} a second"
            raise RequestRefused(429, reason, f"wait {max(wait, 0.1):.2g} s", wait)
