"""Steps of several threads that share a transaction, and so its wait for the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from surehold.ledger.draft import Draft

T = TypeVar("T")


class Step:
    """What one thread wants to write; ``run`` sets its result or its error."""

    def __init__(self, body: Callable[[Draft], Any]) -> None:
        self.body = body
        self.result: Any = None
        self.error: Exception | None = None
        self.leads = False
        self.woken = threading.Lock()
        self.woken.acquire()


class StepQueue:
    """Runs the steps that wait, all in one go, in the thread of the first of them.

    Those that come meanwhile wait for the next go. Who has led one names the next leader.
    """

    def __init__(self, run: Callable[[Sequence[Step]], None]) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._waiting: list[Step] = []
        self._running: list[Step] = []
        self._is_led = False

    def do(self, body: Callable[[Draft], T]) -> T:
        """Return what ``body`` returns, or raise what it raises, once its go is over."""
        step = Step(body)
        with self._lock:
            self._waiting.append(step)
            step.leads, self._is_led = not self._is_led, True
        try:
            if not step.leads:
                step.woken.acquire()
            if step.leads:
                self._lead(step)
        except BaseException:  # an interrupt, of this thread alone: the others go on
            with self._lock:
                if step.leads:
                    self._waiting[:0], self._running = self._running, []
                self._waiting = [one for one in self._waiting if one is not step]
            if step.leads:
                self._name_leader()
            raise
        if step.error is not None:
            raise step.error
        result: T = step.result
        return result

    def _lead(self, leader: Step) -> None:
        with self._lock:
            self._running, self._waiting = self._waiting, []
        self._run(self._running)
        done, self._running = self._running, []
        leader.leads = False
        self._name_leader()
        for step in done:
            if step is not leader:
                step.woken.release()

    def _name_leader(self) -> None:
        with self._lock:
            self._is_led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].woken.release()
