"""The guard of every route: authentication, permission, rate, and a readable body.

All but the last happen before a body is read. Errors have the one shape.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Header
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from surehold.errors import AccessDenied, RequestRefused, SureholdError
from surehold.server import body, cookie
from surehold.server.access import STRANGER, Caller, Need, check_role
from surehold.server.addresses import check_near
from surehold.server.error_responses import error_response
from surehold.server.retirement import check_active
from surehold.server.service import Service
from surehold.server.settings import Settings

if TYPE_CHECKING:
    from surehold.server.site import Site

SITE = "surehold.site"
"""Where a request's scope has the site that it is for."""

HOST = "surehold.host"
"""Where it has the host of all datasets."""

ROLE = "x-surehold-role"
"""Where a route names, in OpenAPI too, the role it needs; one that names none is public."""

_TOKEN: list[dict[str, list[str]]] = [{"token": []}, {}]  # none is needed until one is created
_NEEDS: tuple[Need, ...] = ("any", "viewer", "submitter", "analyst", "appender", "custodian")
ANY, VIEWER, SUBMITTER, ANALYST, APPENDER, CUSTODIAN = (
    {ROLE: one, "security": _TOKEN} for one in _NEEDS
)
BOARD = {**ANY, "x-surehold-public": "leaderboard"}
"""For the leaderboard, which its custodian may have made public."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """A route that authenticates the caller, and reads a JSON body of limited size."""

    def __init__(self, *parts: Any, responses: Any = None, **options: Any) -> None:
        # Only OpenAPI needs their models, and to build them takes a quarter of the start.
        self._described = responses
        super().__init__(*parts, **options)

    def describe(self) -> None:
        """Take the models of the responses into account."""
        self.responses = self._described or {}

    @property
    def role(self) -> Need | None:
        """Return the role that the route requires."""
        return None if self.openapi_extra is None else self.openapi_extra.get(ROLE)

    @property
    def is_direct(self) -> bool:
        """Whether all that the endpoint takes is a body, service and caller, and maybe a key."""
        named = inspect.signature(self.endpoint).parameters.keys()
        is_whole = {"body", "service", "caller"} <= named <= {"body", "service", "caller", "key"}
        return is_whole and inspect.iscoroutinefunction(self.endpoint)

    def get_route_handler(self) -> Handler:
        """Return the handler, behind the guard."""
        inside = self._call_endpoint if self.is_direct else super().get_route_handler()

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
        if self.role is not None:
            # Not in a thread: it looks at one file's date, which takes less than a thread does.
            site = site_of(request)
            caller = request.state.caller = await self._caller(request, site)
            request.scope["surehold.caller"] = caller
            if site.name is not None:
                service = request.state.service = await site.service()
                if self.role in ("submitter", "analyst", "appender"):
                    check_active(service.dataset.path)
        if self.body_field is not None:
            await _read_json(request, site.settings)
            site.limits.weigh(caller.name, len(request._body))
        return await inside(request)

    async def _call_endpoint(self, request: Request) -> Response:
        """Validate body and key as FastAPI does, whose general way takes longer than an answer."""
        values = {"service": request.state.service, "caller": request.state.caller}
        errors: list[Any] = []
        for field in (*self.dependant.header_params, *self.dependant.body_params):
            is_body = field.name == "body"
            value = request._json if is_body else request.headers.get(field.alias)
            if is_body and not request._body:
                errors.append({"type": "missing", "loc": ("body",), "input": None})
            elif is_body or value is not None:
                where = ("body",) if is_body else ("header", field.alias)
                values[field.name], found = field.validate(value, {}, loc=where)
                errors += found or []
        if errors:
            raise RequestValidationError(errors)
        response: Response = await self.endpoint(**values)
        return response

    async def _caller(self, request: Request, site: Site) -> Caller:
        """Authenticate the caller; a public leaderboard is for everybody."""
        assert self.role is not None
        try:
            return _caller(request, site, self.role)
        except (AccessDenied, RequestRefused) as error:
            is_stranger = isinstance(error, AccessDenied) or error.status == 404
            if not (is_stranger and self.openapi_extra == BOARD and await _is_public(site)):
                raise
        return STRANGER


async def _is_public(site: Site) -> bool:
    """Whether a dataset has a leaderboard that is public; opens the dataset if need be."""
    with suppress(SureholdError):
        return (await site.service()).dataset.leaderboard_rules.public
    return False


def site_of(request: Request) -> Site:
    """Return the site that a request is for."""
    site: Site = request.scope[SITE]
    return site


def address_of(request: Request) -> str:
    """Return the address of the client, by which failed attempts are limited."""
    return request.client.host if request.client else "unknown"


async def service_of(request: Request) -> Service:
    """Return the service; async, or FastAPI would look it up in a thread."""
    service: Service = request.state.service
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


def _caller(request: Request, site: Site, role: Need) -> Caller:
    header = cookie.authorization(request, site.access)
    caller = site.access.admit(header, address_of(request))
    if caller.token is None:
        check_near(request.headers)
    site.limits.rates.take(caller.name)
    check_role(caller, role)
    return caller


async def _read_json(request: Request, settings: Settings) -> None:
    """Read the whole body, so that the route finds it."""
    request._body = await body.read(request, body.JSON, settings.json_bytes, settings)
    try:
        request._json = body.parse(request._body) if request._body else None
    except (ValueError, RecursionError):
        raise body.not_json("send one JSON object without repeated names") from None
    body.check_parts(request._json, settings.json_parts)
