"""HTTP/1.1 for clients that take their time: a head that does not come ends the connection."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from holdfast.errors import RequestRefused

HEAD_SECONDS = 10.0
"""How long the head of a request may take to arrive."""


class PatientProtocol(H11Protocol):
    """uvicorn's, which waits for ever for the head of a request, but for that."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client is there; its first request has to follow."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Some of a request came."""
        super().data_received(data)
        cycle: Any = self.cycle  # None until there was a request, whatever uvicorn declares
        if cycle is None or cycle.response_complete:
            self._expect()
        else:
            self._forget()

    def on_response_complete(self) -> None:
        """uvicorn waits for the next request by itself, until its first byte."""
        self._forget()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._forget()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        reason = f"its head did not arrive within {HEAD_SECONDS:g} seconds"
        error = RequestRefused(408, reason, "send it again, faster")
        body = json.dumps(error.to_dict()).encode()
        head = (
            "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
