"""Running a service: where it may listen, that it is the only one, and how it ends."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable
from contextlib import ExitStack

import uvicorn

from holdfast.errors import InvalidInput, StorageFailed
from holdfast.server.app import application, guarded
from holdfast.server.locks import only_one
from holdfast.server.protocol import PatientProtocol
from holdfast.server.service import Service
from holdfast.server.tokens import TokenBook

LOCK = "serving.lock"
_LONGEST_HEAD = 1 << 16
_SECONDS_TO_FINISH = 20

logger = logging.getLogger("holdfast.server")


def check_address(host: str, book: TokenBook, exposed: bool) -> None:
    """Refuse to listen where others can hear, unless that was said and they need tokens."""
    if is_loopback(host):
        return
    if book.is_open:
        hint = "make tokens first (holdfast token create), or leave --host out"
        raise InvalidInput("--host", "this machine's own, as nobody needs a token", host, hint)
    if not exposed:
        hint = "say --expose if others may reach it, and put TLS in front of it"
        raise InvalidInput("--host", "this machine's own, or said with --expose", host, hint)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening(host: str, port: int) -> socket.socket:
    """A socket that is bound already: its port is known, and who connects from now on waits."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
        # Connections inherit it. asyncio sets it only where a socket names its protocol, and this
        # one does not: each response would wait 40 ms for the client's acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "choose another --host or --port"
        raise StorageFailed(f"listening on {host}, port {port}", reason, hint) from error


def address_of(listener: socket.socket) -> str:
    """What to open in a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Runner(uvicorn.Server):
    """uvicorn's server, which tells the application when it is asked to stop.

    Streams of events would otherwise be waited for: they never end by themselves.
    """

    def __init__(self, service: Service) -> None:
        self._app = application(service)
        super().__init__(
            uvicorn.Config(
                guarded(self._app),
                http=PatientProtocol,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=_LONGEST_HEAD,
                timeout_graceful_shutdown=_SECONDS_TO_FINISH,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for the rest."""
        logger.info("stopping")
        watch = getattr(self._app.state, "watch", None)
        if watch is not None:
            await watch.end()
        await super().shutdown(sockets)


def serve(
    service: Service, listener: socket.socket, ready: Callable[[str], None] | None = None
) -> None:
    """Serve until a signal says so; one service for a dataset, whatever process it is in."""
    with ExitStack() as stack:
        stack.enter_context(listener)
        stack.enter_context(only_one(service.dataset.path / LOCK, "serving this dataset"))
        service.sweep()
        url = address_of(listener)
        logger.info("serving", extra={"url": url, "tokens": not service.book.is_open})
        if ready is not None:
            ready(url)
        Runner(service).run(sockets=[listener])
        logger.info("stopped")
