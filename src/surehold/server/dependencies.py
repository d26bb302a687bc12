"""What routes have in common: who may call them, what they are given, and what they may return."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import CapacityLimiter
from fastapi import Depends, Header, Query
from starlette.requests import Request

from surehold.errors import InvalidInput
from surehold.server.auth import ROLE, caller_of
from surehold.server.schemas import failures
from surehold.server.service import Caller, Service

VIEWER, ANALYST, CUSTODIAN = ({ROLE: role} for role in ("viewer", "analyst", "custodian"))
LARGEST = 2**53
"""Beyond it, many readers of JSON round whole numbers."""


async def service_of(request: Request) -> Service:
    """The service behind the door; async, or FastAPI would look it up in a thread."""
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(service_of)]
Called = Annotated[Caller, Depends(caller_of)]
Number = Annotated[int | None, Query(ge=0, le=LARGEST)]
Share = Annotated[float | None, Query(allow_inf_nan=False)]


def gives(model: Any, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may come to, for OpenAPI."""
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
    """The threads of asks: answers that are held back leave all others to whoever looks."""
    threads: CapacityLimiter = request.app.state.asks
    return threads


Threads = Annotated[CapacityLimiter, Depends(threads_of)]


def one_key(header: str | None, body: str | None) -> str | None:
    """The key of a request, said in its head or in its body."""
    if header is not None and not header.isascii():
        # HTTP has no one way to write such a head: the same key would be another in the body.
        required = "of ASCII characters, in the header Idempotency-Key"
        raise InvalidInput("key", required, "another", "say it in the body")
    if header is not None and body is not None and header != body:
        raise InvalidInput("key", "the same as the header Idempotency-Key", body, "send one")
    return body if header is None else header
