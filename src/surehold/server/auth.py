"""The guard at every route: who comes, may they, and is the request one that can be read.

All of it before a body is read. What goes wrong is told in the one shape of errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from surehold.errors import RequestRefused
from surehold.server.addresses import check_near
from surehold.server.body import arriving, check_length, check_parts, is_waited_for, parsed
from surehold.server.error_responses import error_response
from surehold.server.service import Caller, Service, check_role
from surehold.server.tokens import Role

ROLE = "x-surehold-role"
"""Where a route says, in OpenAPI too, who may use it; one that says nothing is for everybody."""
JSON = "application/json"

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

logger = logging.getLogger("surehold.server")


class GuardedRoute(APIRoute):
    """A route that lets in whoever may come, and reads a JSON body no longer than it may be."""

    @property
    def role(self) -> Role | None:
        """Who may use it."""
        return None if self.openapi_extra is None else self.openapi_extra.get(ROLE)

    def get_route_handler(self) -> Handler:
        """The handler, behind the guard."""
        inside = super().get_route_handler()

        async def handle(request: Request) -> Response:
            request.scope["surehold.route"] = self.path_format
            try:
                return await self._admitted(request, inside)
            except ClientDisconnect:
                return Response(status_code=499)  # nobody reads it; the log does
            except Exception as error:
                response = error_response(error)
                if not is_waited_for(request, response.status_code):
                    response.headers["Connection"] = "close"
                return response

        return handle

    async def _admitted(self, request: Request, inside: Handler) -> Response:
        service: Service = request.app.state.service
        if self.role is not None:
            # Not in a thread: it looks at one file's date, which takes less than a thread does.
            caller = request.state.caller = _caller(request, service, self.role)
            request.scope["surehold.caller"] = caller
        if self.body_field is not None:
            await _read_json(request, service)
            service.weigh(request.state.caller, len(request._body))
        return await inside(request)


async def caller_of(request: Request) -> Caller:
    """Who sent a request that was let in; async, or FastAPI would look it up in a thread."""
    caller: Caller = request.state.caller
    return caller


def _caller(request: Request, service: Service, role: Role) -> Caller:
    address = request.client.host if request.client else "unknown"
    caller = service.admit(request.headers.get("authorization"), address)
    if caller.token is None:
        check_near(request.headers)
    service.rates.take(caller.name)
    check_role(caller, role)
    return caller


async def _read_json(request: Request, service: Service) -> None:
    """Take the body in, whole, so that what follows finds it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise wrong_type([JSON])
    most = service.settings.json_bytes
    check_length(request, most)
    pieces = [piece async for piece in arriving(request, most, service.settings)]
    request._body = b"".join(pieces)
    try:
        request._json = parsed(request._body) if request._body else None
    except (ValueError, RecursionError):
        hint = "send one JSON object, which says nothing twice"
        raise RequestRefused(400, "its body can't be read as JSON in UTF-8", hint) from None
    check_parts(request._json, service.settings.json_parts)


def wrong_type(kinds: list[str]) -> RequestRefused:
    """The refusal of a body of another kind."""
    return RequestRefused(415, "its Content-Type is another", f"send {' or '.join(kinds)}")
