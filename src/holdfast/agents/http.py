"""The tools over HTTP, for agents that do not start the command themselves."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.agents.desk import LocalDesk
from holdfast.agents.toolserver import Guest, ToolServer
from holdfast.errors import HoldfastError, RequestRefused
from holdfast.server.addresses import check_near
from holdfast.server.arrival import arriving, check_length
from holdfast.server.failures import headers_of, status_of
from holdfast.server.protocol import HttpServer
from holdfast.server.service import Service

PATH = "/mcp"

_GUEST = "holdfast.guest"  # where in a request's scope its guest is kept


class Door:
    """The ASGI application: every request has its guest, or is answered at the door.

    It keeps no state of its own: each request stands for itself, before and after a restart.
    """

    def __init__(self, service: Service, close: Callable[[], None]) -> None:
        self._service = service
        self._close = close
        self._tools = ToolServer(lambda request: request.scope[_GUEST])
        self._inside: ASGIApp = self._tools.server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            # The door looks at Host and Origin itself, for whoever comes without a token.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        request, settings = Request(scope, receive), self._service.settings
        try:
            # It keeps no state: there is nothing to listen to, or to end.
            if request.method != "POST" and request.url.path == PATH:
                raise RequestRefused(405, "only POST is taken here", "send a call")
            guest = await anyio.to_thread.run_sync(self._admitted, request)
            if guest.caller.token is None:
                check_near(request.headers)
            check_length(request, settings.json_bytes)
            pieces = [piece async for piece in arriving(request, settings.json_bytes, settings)]
        except ClientDisconnect:
            return
        except HoldfastError as error:
            told = JSONResponse(error.to_dict(), status_of(error), headers_of(error))
            told.headers["Connection"] = "close"  # what is left of its body is not waited for
            await told(scope, receive, send)
            return
        await self._inside({**scope, _GUEST: guest}, _again(b"".join(pieces), receive), send)

    def _admitted(self, request: Request) -> Guest:
        service = self._service
        address = request.client.host if request.client else "unknown"
        caller = service.admit(request.headers.get("authorization"), address)
        service.rates.take(caller.name)
        return Guest(LocalDesk(service.dataset, service.session(caller)), caller)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def close_then_send(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                await self._tools.finish()
                self._close()
            await send(message)

        await self._inside(scope, receive, close_then_send)


def serve_http(door: Door, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until a signal says so; calls that run are let finish first."""
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of every stranger's request
    HttpServer(door, ready).run(sockets=[listener])


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, and then whatever comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again
