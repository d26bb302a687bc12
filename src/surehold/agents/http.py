"""The tools over HTTP, for agents that do not start the command themselves."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surehold.agents.guest import Guest
from surehold.agents.toolserver import ToolServer
from surehold.server.app import assemble, front, health
from surehold.server.auth import VIEWER, GuardedRoute
from surehold.server.dispatch import Dispatch
from surehold.server.host import Host
from surehold.server.middleware import TOOL
from surehold.server.protocol import HttpServer
from surehold.server.routes import metrics
from surehold.server.schemas import WITH_BODY, gives
from surehold.server.service import Service
from surehold.server.settings import Settings

PATH = "/mcp"


def tool_application(service: Service, close: Callable[[], None]) -> ASGIApp:
    """Build the stateless ASGI application of the tools, guarded like the routes."""
    tools = ToolServer(lambda request: _guest_of(service, request.scope), service.dataset.guard)
    manager = StreamableHTTPSessionManager(
        tools.server,
        json_response=True,
        stateless=True,
        # GuardedRoute checks Host, Origin and size before the SDK does.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=service.settings.json_bytes,
    )
    router = APIRouter(route_class=GuardedRoute, tags=["tools"])

    @router.post(PATH, openapi_extra=VIEWER, responses=gives(dict[str, Any], *WITH_BODY))
    async def call(request: Request, body: Annotated[Any, Body()]) -> Response:
        """Handle a message of the Model Context Protocol, such as a tool call."""
        return _PassedOn(manager, await request.body())

    @asynccontextmanager
    async def alive() -> AsyncIterator[None]:
        async with manager.run():
            yield
        await tools.finish()
        close()

    host = Host.of(service)
    return Dispatch(host, assemble((health, metrics.router, router), alive()), front(host))


def serve_http(
    app: ASGIApp, settings: Settings, listener: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve until a signal arrives, and let running calls finish."""
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of every bad request
    HttpServer(app, settings, ready).run(sockets=[listener])


def _guest_of(service: Service, scope: Scope) -> Guest:
    """Return the caller of a request; its log line names the tool."""

    def note(tool: str, outcome: str) -> None:
        scope[TOOL] = (tool, outcome)

    return Guest.of(service, scope["surehold.caller"], note)


class _PassedOn(Response):
    """The SDK's response to a body that has already been read."""

    def __init__(self, manager: StreamableHTTPSessionManager, content: bytes) -> None:
        super().__init__()
        self._manager, self._content = manager, content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the body on, and then everything that follows it."""
        waiting: list[Message] = [
            {"type": "http.request", "body": self._content, "more_body": False}
        ]

        async def receive_again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._manager.handle_request(scope, receive_again, send)
