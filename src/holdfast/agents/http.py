"""The tools over HTTP, for agents that do not start the command themselves."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import anyio.to_thread
import uvicorn
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.agents.desk import LocalDesk
from holdfast.agents.toolserver import Guest, ToolServer
from holdfast.errors import AccessDenied, HoldfastError, StorageFailed
from holdfast.server.failures import headers_of, status_of
from holdfast.server.service import Service

PATH = "/mcp"

_NEAR = ("127.0.0.1", "localhost", "[::1]")
_PATIENCE = 10  # seconds that calls may take to end, once a signal says so
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
            max_request_body_size=service.settings.json_bytes,
            # The door looks at Host and Origin itself, for whoever comes without a token.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        request = Request(scope)
        try:
            guest = await anyio.to_thread.run_sync(self._admitted, request)
            if guest.caller.token is None:
                await _check_near(request)
        except HoldfastError as error:
            told = JSONResponse(error.to_dict(), status_of(error), headers_of(error))
            await told(scope, receive, send)
            return
        await self._inside({**scope, _GUEST: guest}, receive, send)

    def _admitted(self, request: Request) -> Guest:
        service = self._service
        address = request.client.host if request.client else "unknown"
        caller = service.admit(_bearer(request.headers.get("authorization")), address)
        service.rates.take(caller.name)
        return Guest(LocalDesk(service.dataset, service.session(caller)), caller)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def close_then_send(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                await self._tools.finish()
                self._close()
            await send(message)

        await self._inside(scope, receive, close_then_send)


def listening(host: str, port: int) -> socket.socket:
    """A socket that is bound already: its port is known, and who connects from now on waits."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "choose another --host or --port"
        raise StorageFailed(f"listening on {host}, port {port}", reason, hint) from error


def serve_http(door: Door, listener: socket.socket) -> None:
    """Serve until a signal says so; calls that run are let finish first."""
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of every stranger's request
    config = uvicorn.Config(
        door,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _bearer(header: str | None) -> str | None:
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        raise AccessDenied("the Authorization header is not Bearer TOKEN", "send it so")
    return token.strip()


async def _check_near(request: Request) -> None:
    """Without tokens, only programs on this machine, by its own name; no page in a browser.

    A page whose name is made to stand for this machine (DNS rebinding) is refused by its Host.
    """
    near = TransportSecuritySettings(
        allowed_hosts=[text for name in _NEAR for text in (name, f"{name}:*")], allowed_origins=[]
    )
    if await TransportSecurityMiddleware(near).validate_request(request) is not None:
        hint = "use http://127.0.0.1, or make tokens (holdfast token create)"
        raise AccessDenied("without tokens a service answers to this machine only", hint, 403)
