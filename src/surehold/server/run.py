"""Running a service: only one per dataset, from start to stop."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from surehold import files
from surehold.locks import only_one
from surehold.server.addresses import address_of, listen
from surehold.server.app import application
from surehold.server.protocol import HttpServer
from surehold.server.service import Service

LOCK = "serving.lock"

logger = logging.getLogger("surehold.server")


class Runner(HttpServer):
    """The server of a service; stopping it ends event streams, which would never end."""

    def __init__(self, service: Service, ready: Callable[[], None] | None = None) -> None:
        self._app = application(service)
        super().__init__(self._app, ready)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Exit normally after a signal, where uvicorn would raise the signal again."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the rest."""
        logger.info("stopping")
        watch = getattr(self._app.state, "watch", None)
        if watch is not None:
            await watch.end()
        await super().shutdown(sockets)


def serve(
    service: Service, host: str, port: int, ready: Callable[[str], None] | None = None
) -> None:
    """Serve until a signal arrives; a dataset has only one service, across processes."""
    with ExitStack() as stack:
        # First of all: a service that runs already may have the port too.
        stack.enter_context(only_one(service.dataset.path / LOCK, "serving this dataset"))
        listener = stack.enter_context(listen(host, port))
        service.sweep()
        service.load()
        Runner(service, lambda: _announce(service, address_of(listener), ready)).run([listener])
        logger.info("stopped")


def _announce(service: Service, url: str, ready: Callable[[str], None] | None) -> None:
    remark = files.exposure(service.dataset.path)
    if remark is not None:
        logger.warning(remark)
    logger.info("serving", extra={"url": url, "tokens": not service.book.is_open})
    if not service.settings.fixed_time:
        logger.warning("no fixed time: how long an answer takes reveals something about records")
    if ready is not None:
        ready(url)
