"""HTTP/1.1 for clients that are slow, send something else, or are too many."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from surehold.errors import RequestRefused
from surehold.server.errors import headers_of
from surehold.server.middleware import Front
from surehold.server.schemas import HEADERS, Reply
from surehold.server.settings import Settings

PROXIES = ("127.0.0.1", "::1")
"""Addresses that may stand for many clients: only the total of connections counts."""
_LONGEST_HEAD = 1 << 16
_SECONDS_TO_FINISH = 20


class PatientProtocol(H11Protocol):
    """uvicorn's, with deadlines for the head of a request and for reading a response.

    Its refusals have the one shape of errors.
    """

    _deadline: asyncio.TimerHandle | None = None
    _look: asyncio.TimerHandle | None = None

    def __init__(self, settings: Settings, **given: Any) -> None:
        super().__init__(**given)
        self._settings = settings

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        most, each = self._settings.connections
        if self._count_from_here() > each:
            # At once: a connection that waits for its refusal would count too.
            reason = f"{each:,} connections are open from this address"
            self._refuse(RequestRefused(429, reason, "use those, or close some", 1.0))
            return
        if len(self.connections) > most:
            reason = f"{most:,} connections are open already"
            self.app = _refusal(RequestRefused(503, reason, "try again in a moment", 1.0))
        self._expect()
        self._look_again(0)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        cycle: Any = self.cycle
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            self.transport.close()  # in the middle of a response
            return
        reason, hint = "it is not valid HTTP/1.1", "see /openapi.json for what there is"
        self._refuse(RequestRefused(400, reason, hint))

    def data_received(self, data: bytes) -> None:
        """Handle a part of a request."""
        super().data_received(data)
        cycle: Any = self.cycle  # None until there was a request, whatever uvicorn declares
        if cycle is None or cycle.response_complete:
            self._expect()
        else:
            self._forget()

    def on_response_complete(self) -> None:
        """Leave the wait for the next request's first byte to uvicorn."""
        self._forget()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        self._forget()
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _count_from_here(self) -> int:
        address = self.client[0] if self.client else PROXIES[0]
        if address in PROXIES or address in self._settings.proxies:
            return 0
        there: list[Any] = list(self.connections)
        return sum(1 for other in there if other.client and other.client[0] == address)

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._settings.head_seconds, self._give_up)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        reason = f"its headers did not arrive within {self._settings.head_seconds:g} seconds"
        self._refuse(RequestRefused(408, reason, "send it again, faster"))

    def _look_again(self, unread: int) -> None:
        """Close the connection if nothing was read since the last check."""
        waiting = self.transport.get_write_buffer_size()
        if unread and waiting >= unread:
            self.transport.abort()  # to close it would wait for the reader
            return
        later = self._settings.unread_seconds
        self._look = self.loop.call_later(later, self._look_again, waiting)

    def _refuse(self, error: RequestRefused) -> None:
        response = _refusal(error)
        status = HTTPStatus(error.status)
        lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode())]
        lines += [name + b": " + value for name, value in response.raw_headers]
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + bytes(response.body))
        self.transport.close()


def _refusal(error: RequestRefused) -> Reply:
    headers = {**HEADERS, **headers_of(error), "Cache-Control": "no-store", "Connection": "close"}
    return Reply(error.to_dict(), error.status, headers)


class HttpServer(uvicorn.Server):
    """uvicorn's server, which reports when it is ready; the middleware logs requests."""

    def __init__(
        self, app: ASGIApp, settings: Settings, ready: Callable[[], None] | None = None
    ) -> None:
        self._ready = ready
        patient: Any = partial(PatientProtocol, settings)
        inside: Any = app
        if settings.proxies:
            inside = ProxyHeadersMiddleware(inside, list(settings.proxies))
        super().__init__(
            uvicorn.Config(
                Front(inside, settings.proxies),
                http=patient,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # by the middleware above, within the log
                h11_max_incomplete_event_size=_LONGEST_HEAD,
                timeout_graceful_shutdown=_SECONDS_TO_FINISH,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving."""
        await super().startup(sockets)
        if self._ready is not None and self.started:
            self._ready()
