"""A site: one dataset of a server, with its callers, and its service once it is open."""

from __future__ import annotations

import threading
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

from surehold.server.access import Access
from surehold.server.limits import Limits
from surehold.server.routes.events import Watch
from surehold.server.routes.metrics import Metrics
from surehold.server.service import Service
from surehold.server.settings import Settings
from surehold.session import Dataset


class Site:
    """Access to a dataset, and its service, which is opened by the first caller who is admitted.

    ``name`` is None for a site that is no dataset: the root of a server that has several.
    """

    def __init__(
        self,
        access: Access,
        limits: Limits,
        open_service: Callable[[], Service],
        name: str | None = None,
    ) -> None:
        self.access, self.limits, self.name = access, limits, name
        self._open_service = open_service
        self._opened: tuple[Service, Metrics, Watch] | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, service: Service) -> Site:
        """Return the site of a server with one dataset, which is open."""
        access = Access(service.book, service.limits.strangers)
        site = cls(access, service.limits, lambda: service, service.dataset.path.name)
        site.open()
        return site

    @property
    def settings(self) -> Settings:
        """Return the settings of the server."""
        return self.limits.settings

    @property
    def opened(self) -> Service | None:
        """Return the service, if it is open."""
        return None if self._opened is None else self._opened[0]

    @property
    def dataset(self) -> Dataset | None:
        """Return the dataset, if it is open."""
        return None if self.opened is None else self.opened.dataset

    @property
    def metrics(self) -> Metrics | None:
        """Return the counters of the service, if it is open."""
        return None if self._opened is None else self._opened[1]

    @property
    def watch(self) -> Watch:
        """Return what follows the ledger of the service, which is open."""
        assert self._opened is not None
        return self._opened[2]

    async def service(self) -> Service:
        """Return the service, and open it first if need be; it may be damaged."""
        opened = self._opened
        return await run_in_threadpool(self.open) if opened is None else opened[0]

    def open(self) -> Service:
        """Open the dataset, once; tried again if it failed."""
        with self._lock:
            if self._opened is None:
                service = self._open_service()
                metrics = Metrics(service.dataset.guard)
                service.dataset.release.on_late = metrics.count_late
                self._opened = service, metrics, Watch(service, self.access)
            return self._opened[0]

    async def end(self) -> None:
        """End the streams of events and the contest, because the server stops."""
        if self._opened is not None:
            await self.watch.end()
            await run_in_threadpool(self.limits.contests.cancel, str(self._opened[0].dataset.path))
