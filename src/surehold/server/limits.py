"""Limits on callers: how many slow requests run at a time, and how often each may call."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from anyio import CapacityLimiter

from surehold.errors import RequestRefused
from surehold.server.contests import Contests
from surehold.server.settings import Settings

_MOST_CALLERS = 10_000
_LONG = 1 << 14  # characters of queries that every request may have
_CHARACTERS = 200  # of longer queries, how many count as one request: parsing takes about as long


class Turns:
    """At most ``most`` at once, and ``each`` per caller; further ones are refused, not queued.

    >>> turns = Turns("uploads", most=2, each=1)
    >>> turns.take("ann")
    >>> turns.take("ann")
    Traceback (most recent call last):
    ...
    surehold.errors.RequestRefused: request refused: 1 uploads of yours are running; ...
    >>> turns.give_back("ann")
    >>> turns.taken
    0
    """

    def __init__(self, what: str, most: int, each: int, seconds: float = 2.0) -> None:
        self._what, self._most, self._each, self._seconds = what, most, each, seconds
        self._mine: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """Return the number of running requests."""
        return self._mine.total()

    def take(self, caller: str) -> None:
        """Take a turn for a caller, or raise RequestRefused."""
        with self._lock:
            mine, taken = self._mine[caller], self.taken
            if mine >= self._each:
                self._refuse(f"{mine:,} {self._what} of yours")
            if taken >= self._most:
                self._refuse(f"{taken:,} {self._what}")
            self._mine[caller] += 1

    def _refuse(self, which: str) -> NoReturn:
        hint = "try again when one of them is done"
        raise RequestRefused(429, f"{which} are running", hint, self._seconds)

    def give_back(self, caller: str) -> None:
        """End a turn."""
        with self._lock:
            self._mine[caller] -= 1
            self._mine += Counter()  # forgets callers without any

    @contextmanager
    def one(self, caller: str) -> Iterator[None]:
        """Hold a turn during the block."""
        self.take(caller)
        try:
            yield
        finally:
            self.give_back(caller)


class Rates:
    """A token bucket for each caller, which holds two seconds' worth of requests.

    A request that turns out to count for more creates a debt of up to ``debt`` seconds' worth.

    >>> rates = Rates(rate=1.0, clock=lambda: 0.0)
    >>> rates.take("ann"), rates.take("ann")
    (None, None)
    >>> rates.take("ann")
    Traceback (most recent call last):
    ...
    surehold.errors.RequestRefused: request refused: rate limit of 1 requests a second exceeded; ...
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
        """Count an admitted request as ``more`` further ones, for which the next have to wait."""
        with self._lock:
            left, since = self._buckets.get(caller, (self._most, self._clock()))
            self._buckets[caller] = (max(left - more, -self._debt), since)

    def take(self, caller: str) -> None:
        """Count one request, or refuse it and say when to try again."""
        now = self._clock()
        with self._lock:
            left, since = self._buckets.pop(caller, (self._most, now))
            left = min(self._most, left + (now - since) * self._rate)
            wait = (1.0 - left) / self._rate
            self._buckets[caller] = (left if wait > 0 else left - 1.0, now)
            while len(self._buckets) > _MOST_CALLERS:  # those that called longest ago
                self._buckets.popitem(last=False)
        if wait > 0:
            reason = f"rate limit of {self._rate:,.10g} {self._what} a second exceeded"
            raise RequestRefused(429, reason, f"wait {max(wait, 0.1):.2g} s", wait)


class Limits:
    """The limits of a server, which protect the machine: all its datasets share them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rates = Rates(settings.rate)
        self.strangers = Rates(settings.rate)
        self.long = Rates(
            settings.rate * _CHARACTERS, what="characters of long queries", debt=math.inf
        )
        self.claims = Rates(settings.rate, what="registered queries", debt=math.inf)
        self.slow_asks = Turns("asks that take long", *settings.slow_asks)
        self.uploads = Turns("uploads", *settings.uploads)
        self.sign_ins = Turns("attempts to sign in", most=8, each=4)  # a provider may be slow
        self.streams = Turns("streams", *settings.streams, seconds=10.0)
        self.contests = Contests()
        # Threads for asks, so that answers that are held back do not block reads.
        self.threads = CapacityLimiter(settings.asks)

    def weigh(self, caller: str, characters: int) -> None:
        """Rate limit the characters of long queries, because parsing them is work."""
        if characters > _LONG:
            self.long.take(caller)
            self.long.owe(caller, characters - 1)
