"""Around every request: response headers, a line in the log, metrics."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surehold.server.auth import SITE
from surehold.server.schemas import HEADERS
from surehold.server.site import Site
from surehold.session.release import slot_after

TOOL = "surehold.tool"
"""Where a request's scope names the tool that was called, and the outcome."""

_OURS = {name.lower().encode(): value.encode() for name, value in HEADERS.items()}

logger = logging.getLogger("surehold.server")


class Front:
    """Adds headers and an ID to each request, and logs it."""

    def __init__(self, inside: ASGIApp) -> None:
        self._inside = inside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and record its outcome."""
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        began, number, status = time.monotonic(), secrets.token_hex(8), 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _with_ours(message["headers"], number)}
            await send(message)

        try:
            await self._inside(scope, receive, send_noted)
        finally:
            # Viewers see sums of these, which must not reveal how long an evaluation took.
            seconds = slot_after(time.monotonic() - began)
            route = scope.get("surehold.route", "other")
            site: Site | None = scope.get(SITE)
            metrics = None if site is None else site.metrics
            if metrics is not None:
                metrics.count_request(_method(scope), route, status, seconds)
            if metrics is not None and TOOL in scope:
                metrics.count_call(*scope[TOOL])
            logger.info("request", extra=self._line(scope, number, route, status, seconds))

    def _line(
        self, scope: Scope, number: str, route: str, status: int, seconds: float
    ) -> dict[str, object]:
        caller = scope.get("surehold.caller")
        line: dict[str, object] = {
            "request": number,
            "method": _method(scope),
            "route": route,
            "status": status,
            "seconds": seconds,
        }
        site: Site | None = scope.get(SITE)
        if site is not None and site.metrics is not None and scope.get("root_path"):
            line["dataset"] = site.name
        if caller is not None:
            line |= {"caller": caller.name, "analyst": caller.analyst, "role": caller.role}
        if TOOL in scope:
            line |= dict(zip(("tool", "outcome"), scope[TOOL], strict=True))
        return line


def _with_ours(headers: Iterable[tuple[bytes, bytes]], number: str) -> list[tuple[bytes, bytes]]:
    theirs = [header for header in headers if header[0] not in _OURS]
    names = {name for name, _ in theirs}
    ours = [*_OURS.items(), (b"x-request-id", number.encode())]
    if b"cache-control" not in names:
        # Files with a tag are revalidated, and sent only if they changed.
        ours.append((b"cache-control", b"no-cache" if b"etag" in names else b"no-store"))
    return theirs + ours


def _method(scope: Scope) -> str:
    """Return a known HTTP method: a label for every word that clients send would fill memory."""
    known = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
    return scope["method"] if scope["method"] in known else "other"
