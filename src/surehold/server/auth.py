"""The guard of every route: authentication, permission, rate, and a readable body.

All but the last happen before a body is read. Errors have the one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Header
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from surehold.server import body
from surehold.server.addresses import check_near
from surehold.server.error_responses import error_response
from surehold.server.service import Caller, Service, check_role
from surehold.server.tokens import ROLES, Role

ROLE = "x-surehold-role"
"""Where a route names, in OpenAPI too, the role it needs; one that names none is public."""

_TOKEN: list[dict[str, list[str]]] = [{"token": []}, {}]  # none is needed until one is created
VIEWER, ANALYST, CUSTODIAN = ({ROLE: role, "security": _TOKEN} for role in ROLES)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """A route that authenticates the caller, and reads a JSON body of limited size."""

    @property
    def role(self) -> Role | None:
        """Return the role that the route requires."""
        return None if self.openapi_extra is None else self.openapi_extra.get(ROLE)

    def get_route_handler(self) -> Handler:
        """Return the handler, behind the guard."""
        inside = super().get_route_handler()

        async def handle(request: Request) -> Response:
            request.scope["surehold.route"] = self.path_format
            try:
                return await self._admit(request, inside)
            except ClientDisconnect:
                return Response(status_code=499)  # for the log: the client has gone
            except Exception as error:
                response = error_response(error)
                if not body.is_drained(request, response.status_code):
                    response.headers["Connection"] = "close"
                return response

        return handle

    async def _admit(self, request: Request, inside: Handler) -> Response:
        service: Service = request.app.state.service
        if self.role is not None:
            # Not in a thread: it looks at one file's date, which takes less than a thread does.
            caller = request.state.caller = _caller(request, service, self.role)
            request.scope["surehold.caller"] = caller
        if self.body_field is not None:
            await _read_json(request, service)
            service.weigh(request.state.caller, len(request._body))
        return await inside(request)


async def service_of(request: Request) -> Service:
    """Return the service; async, or FastAPI would look it up in a thread."""
    service: Service = request.app.state.service
    return service


async def caller_of(request: Request) -> Caller:
    """Return the authenticated caller."""
    caller: Caller = request.state.caller
    return caller


Served = Annotated[Service, Depends(service_of)]
Called = Annotated[Caller, Depends(caller_of)]
_SAME = "The same as `key` in the body."
KeyHeader = Annotated[
    str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200, description=_SAME)
]


def _caller(request: Request, service: Service, role: Role) -> Caller:
    address = request.client.host if request.client else "unknown"
    caller = service.admit(request.headers.get("authorization"), address)
    if caller.token is None:
        check_near(request.headers)
    service.rates.take(caller.name)
    check_role(caller, role)
    return caller


async def _read_json(request: Request, service: Service) -> None:
    """Read the whole body, so that the route finds it."""
    settings = service.settings
    request._body = await body.read(request, body.JSON, settings.json_bytes, settings)
    try:
        request._json = body.parse(request._body) if request._body else None
    except (ValueError, RecursionError):
        raise body.not_json("send one JSON object without repeated names") from None
    body.check_parts(request._json, settings.json_parts)
