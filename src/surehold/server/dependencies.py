"""What routes share: required roles, dependencies, and possible responses."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import CapacityLimiter
from fastapi import Depends, Header, Query
from starlette.requests import Request

from surehold.errors import InvalidInput
from surehold.server.auth import ROLE, caller_of
from surehold.server.schemas import LARGEST, failures
from surehold.server.service import Caller, Service

VIEWER, ANALYST, CUSTODIAN = ({ROLE: role} for role in ("viewer", "analyst", "custodian"))


async def service_of(request: Request) -> Service:
    """Return the service; async, or FastAPI would look it up in a thread."""
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(service_of)]
Called = Annotated[Caller, Depends(caller_of)]
Number = Annotated[int | None, Query(ge=0, le=LARGEST)]
Share = Annotated[float | None, Query(allow_inf_nan=False)]


def gives(model: Any, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the responses of a route, for OpenAPI."""
    return {200: {"model": model}, **failures(*statuses)}


KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="The same as `key` in the body.",
    ),
]


async def threads_of(request: Request) -> CapacityLimiter:
    """Return the threads for asks, so that held-back answers do not block reads."""
    threads: CapacityLimiter = request.app.state.asks
    return threads


Threads = Annotated[CapacityLimiter, Depends(threads_of)]


def one_key(header: str | None, body: str | None) -> str | None:
    """Return the key of a request, from its header or its body."""
    if header is not None and not header.isascii():
        # HTTP headers have no one encoding: the same key would be another one in the body.
        required = "of ASCII characters, in the header Idempotency-Key"
        raise InvalidInput("key", required, "not ASCII", "send it in the body")
    if header is not None and body is not None and header != body:
        hint = "send only one"
        raise InvalidInput("key", "the same as the header Idempotency-Key", body, hint)
    return body if header is None else header
