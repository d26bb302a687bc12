"""The application: the routes and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cached_property
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from surehold import __version__
from surehold.server.auth import GuardedRoute
from surehold.server.error_responses import error_response
from surehold.server.host import Host
from surehold.server.readiness import Readiness
from surehold.server.routes import (
    append,
    ask,
    datasets,
    events,
    lab,
    leaderboard,
    metrics,
    oidc,
    page,
    read,
    session,
    tables,
    tokens,
)
from surehold.server.schemas import Health, Reply, reply

_ABOUT = """\
Answers that stay valid however often growing data is queried. Every answer has a width, and all
intervals of the whole analysis hold together with probability 1 - beta.

Quotes are free, answers cost. The same question at the same round returns the recorded answer,
free. A dataset has one of two guards. With noise, answers are charged to a budget, and a refusal
for lack of budget is final: only new records, or a later round, help. With surprise, answers cost
bits, less if they come as expected, and every bit makes later claims wider; what only the other
guard has is refused with WrongGuard.
"""

# FastAPI's own telemetry repeats exceptions and parameters, which may quote a record; ours, in
# spans.py, has neither.
_OFF: Any = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)

health = APIRouter(route_class=GuardedRoute, tags=["run"])


@health.get("/healthz", responses={200: {"model": Health}})
async def healthz() -> Reply:
    """Report that the service is up."""
    return reply({"status": "ok", "version": __version__})


_MODULES = (metrics, read, events, ask, tables, leaderboard, append, tokens, session, lab, page)
_PARTS = (health, *(module.router for module in _MODULES))


def application() -> FastAPI:
    """Build the application of datasets; the scope of a request says which one it is for."""
    app = assemble(_PARTS)
    app.mount("/static", page.files())
    return app


class _Application(FastAPI):
    """FastAPI's, which calls direct routes without comparing the address with all others."""

    parts: Sequence[APIRouter] = ()

    @cached_property
    def _direct(self) -> Mapping[str, Callable[[Request], Awaitable[Response]]]:
        routes = (route for part in self.parts for route in part.routes)
        found = (one for one in routes if isinstance(one, GuardedRoute) and one.is_direct)
        return {route.path: route.get_route_handler() for route in found}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http" and scope["method"] == "POST":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            handle = self._direct.get(path)
            if handle is not None:
                response = await handle(Request(scope, receive, send))
                await response(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


def front(host: Host) -> FastAPI:
    """Build the application at the root of a server with several datasets."""
    app = assemble(
        (health, datasets.probes, datasets.router, session.router, oidc.router, page.front)
    )
    app.state.readiness = Readiness(host)
    app.mount("/static", page.files())
    return app


def assemble(
    parts: Sequence[APIRouter], alive: AbstractAsyncContextManager[object] | None = None
) -> FastAPI:
    """Build an application of these routers; it runs within the context ``alive``."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with alive or nullcontext():
            yield

    app = _Application(
        title="Surehold",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_OFF,
    )
    app.parts = parts
    for part in parts:
        app.include_router(part)
    for kind in (HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _respond)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's own way
    return app


async def _respond(request: Request, error: Exception) -> Response:
    response = error_response(error)
    if response.status_code == 404 and (shown := page.missing(request)) is not None:
        return shown
    if "allow" in response.headers and (methods := _methods(request)):
        response.headers["allow"] = ", ".join(methods)
    return response


def _methods(request: Request) -> list[str]:
    """Return all methods of an address: each of its routes knows only its own."""
    parts: Sequence[APIRouter] = request.app.parts
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    routes = (route for part in parts for route in part.routes if isinstance(route, APIRoute))
    matching = (route for route in routes if route.path_regex.match(path))
    return sorted({method for route in matching for method in route.methods or ()})


def _openapi(app: _Application) -> dict[str, Any]:
    """Build the OpenAPI document, with the scheme of the tokens that routes need."""
    if app.openapi_schema is None:
        described = FastAPI()
        for part in app.parts:
            for route in part.routes:
                if isinstance(route, GuardedRoute):
                    route.describe()
            described.include_router(part)
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=described.routes,
        )
        components = schema.setdefault("components", {})
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = schema
    return app.openapi_schema
