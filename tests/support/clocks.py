"""A clock that a test moves: nothing waits for time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from surehold.session.release import Release


class FakeClock:
    """Stands still but for :meth:`pass_by`, and for whoever sleeps on it.

    ``while_asleep`` is done in the middle of each sleep.
    """

    def __init__(self) -> None:
        self.now = 2.0**31  # after what any ledger has noted
        self.slept: list[float] = []
        self.while_asleep: Callable[[], Any] | None = None

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        if self.while_asleep is not None:
            self.while_asleep()
        self.slept.append(seconds)
        self.now = max(self.now, until)

    def release(self) -> Release:
        return Release(self, self.sleep)


class Gate:
    """A sleep that lasts until the test opens it; counts who is asleep."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_open = False
        self.asleep = 0

    def sleep(self, seconds: float) -> None:
        with self._changed:
            self.asleep += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_open)
            self.asleep -= 1

    def wait_for(self, asleep: int, patience: float = 60.0) -> None:
        """Until so many are asleep."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.asleep >= asleep, patience)

    def open(self) -> None:
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def release(self) -> Release:
        """Time goes by only while somebody sleeps, and then all of it."""
        return Release(lambda: 1e9 * self._is_open, self.sleep)
