"""Readiness: whether a server can do its work now, for supervisors and load balancers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from surehold import files
from surehold.errors import RequestRefused, SureholdError
from surehold.server.host import Host

_KEPT_SECONDS = 2.0

logger = logging.getLogger("surehold.server")


class Readiness:
    """Whether a dataset of a server can be opened and written; damaged ones leave others alone.

    A result is kept for a while, and one caller at a time looks, because anyone may ask.
    """

    def __init__(self, host: Host, clock: Callable[[], float] = time.monotonic) -> None:
        self._host, self._clock = host, clock
        self._lock = threading.Lock()
        self._until, self._is_ready = -1.0, False

    def check(self) -> None:
        """Raise RequestRefused unless the server is ready."""
        if self._lock.acquire(blocking=False):
            try:
                if self._clock() >= self._until:
                    self._is_ready = self._look()
                    self._until = self._clock() + _KEPT_SECONDS
            finally:
                self._lock.release()
        if not self._is_ready:
            reason = "no dataset can be opened and written"
            raise RequestRefused(503, reason, "the service's log says why", 5.0)

    def _look(self) -> bool:
        """Look at one dataset after the other, until one is ready."""
        try:
            names = self._host.names
            for name in names:
                if self._is_writable(name):
                    return True
            if not names and self._host.root is not None:
                files.check_writable(self._host.root)
                return True
        except (OSError, SureholdError) as error:  # of the folder of all datasets
            logger.warning("not ready", extra={"error": type(error).__name__})
        return False

    def _is_writable(self, name: str) -> bool:
        try:
            with self._host.dataset(name) as dataset:
                dataset.check_writable()
        except SureholdError as error:
            logger.warning("not ready", extra={"dataset": name, "error": type(error).__name__})
            return False
        return True
