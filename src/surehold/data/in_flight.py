"""Questions that this process is evaluating, each in one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Iterator
from contextlib import contextmanager


class InFlight:
    """A thread that asks what another is evaluating waits for it, holding nothing meanwhile.

    >>> questions = InFlight()
    >>> with questions.hold(["age > 65 at round 1000"]):
    ...     len(questions)
    1
    >>> len(questions)
    0
    """

    def __init__(self) -> None:
        self._taken: dict[Hashable, int] = {}  # by which thread
        self._landed = threading.Condition()

    def __len__(self) -> int:
        return len(self._taken)

    @contextmanager
    def hold(self, questions: Collection[Hashable]) -> Iterator[None]:
        """Keep other threads from evaluating these questions during the block."""
        me = threading.get_ident()
        with self._landed:
            self._landed.wait_for(
                lambda: all(self._taken.get(question, me) == me for question in questions)
            )
            # A thread that asks while it evaluates (in a callback) must not wait for itself.
            mine = [question for question in questions if question not in self._taken]
            self._taken |= dict.fromkeys(mine, me)
        try:
            yield
        finally:
            with self._landed:
                for question in mine:
                    del self._taken[question]
                self._landed.notify_all()
