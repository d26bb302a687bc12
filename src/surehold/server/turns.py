"""Turns: how many may do something that takes long at the same time, in all and of each caller."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from surehold.errors import RequestRefused


class Turns:
    """Who comes when there is no turn left is not kept waiting, but told to come again.

    >>> turns = Turns("uploads", most=2, each=1)
    >>> turns.take("ann")
    >>> turns.take("ann")
    Traceback (most recent call last):
    ...
    surehold.errors.RequestRefused: request refused: 1 uploads of yours are under way; ...
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
        """How many are under way."""
        return self._mine.total()

    def take(self, caller: str) -> None:
        """One turn for a caller, or RequestRefused."""
        with self._lock:
            mine, taken = self._mine[caller], self.taken
            if mine >= self._each:
                self._refuse(f"{mine:,} {self._what} of yours")
            if taken >= self._most:
                self._refuse(f"{taken:,} {self._what}")
            self._mine[caller] += 1

    def _refuse(self, which: str) -> NoReturn:
        hint = "come again when one of them is done"
        raise RequestRefused(429, f"{which} are under way", hint, self._seconds)

    def give_back(self, caller: str) -> None:
        """The end of a turn."""
        with self._lock:
            self._mine[caller] -= 1
            self._mine += Counter()  # forgets who has none

    @contextmanager
    def one(self, caller: str) -> Iterator[None]:
        """A turn for as long as the block takes."""
        self.take(caller)
        try:
            yield
        finally:
            self.give_back(caller)
