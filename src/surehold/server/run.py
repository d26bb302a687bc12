"""Running a service: only one per dataset, from start to stop."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from surehold import files
from surehold.locks import only_one
from surehold.server.addresses import address_of, listen
from surehold.server.app import application, front
from surehold.server.dispatch import Dispatch
from surehold.server.host import LOCK, Host
from surehold.server.protocol import HttpServer
from surehold.server.service import Service

logger = logging.getLogger("surehold.server")


class Runner(HttpServer):
    """The server of a host; stopping it ends event streams, which would never end."""

    def __init__(self, host: Host, ready: Callable[[], None] | None = None) -> None:
        self._host = host
        super().__init__(Dispatch(host, application(), front(host)), host.settings, ready)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Exit normally after a signal, where uvicorn would raise the signal again."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the rest."""
        logger.info("stopping")
        await self._host.end()
        await super().shutdown(sockets)


def serve(
    service: Service, host: str, port: int, ready: Callable[[str], None] | None = None
) -> None:
    """Serve one dataset until a signal arrives; it has only one service, across processes."""
    with ExitStack() as stack:
        # First of all: a service that runs already may have the port too.
        stack.enter_context(only_one(service.dataset.path / LOCK, "serving this dataset"))
        service.sweep()
        service.load()
        serve_host(Host.of(service), host, port, ready)


def serve_host(
    datasets: Host, host: str, port: int, ready: Callable[[str], None] | None = None
) -> None:
    """Serve several datasets until a signal arrives."""
    with listen(host, port) as listener:

        def announce() -> None:
            url = f"{address_of(listener)}{datasets.settings.base_path}"
            _announce(datasets, url, ready)

        with ExitStack() as stack:
            stack.callback(datasets.close)
            if datasets.settings.alert_url is not None:
                from surehold.server.alerts import Alerts

                stack.enter_context(Alerts(datasets).running())
            Runner(datasets, announce).run([listener])
        logger.info("stopped")


def _announce(datasets: Host, url: str, ready: Callable[[str], None] | None) -> None:
    for folder in datasets.folders:
        remark = files.exposure(folder)
        if remark is not None:
            logger.warning(remark)
    logger.info("serving", extra={"url": url, "tokens": not datasets.front.access.is_open})
    if not datasets.settings.fixed_time:
        logger.warning("no fixed time: how long an answer takes reveals something about records")
    if ready is not None:
        ready(url)
