"""Around every request: response headers, a line in the log, metrics."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surehold.server.auth import SITE
from surehold.server.logs import REQUEST
from surehold.server.schemas import HEADERS
from surehold.server.site import Site
from surehold.session.release import slot_after
from surehold.spans import span

TOOL = "surehold.tool"
"""Where a request's scope names the tool that was called, and the outcome."""

_OURS = {name.lower().encode(): value.encode() for name, value in HEADERS.items()}
_ID, _TRACE = "x-request-id", ("traceparent", "tracestate")
_GOOD_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)

logger = logging.getLogger("surehold.server")


class Front:
    """Adds headers and an ID to each request, and logs it.

    Named ``proxies`` may give a request its ID, and a trace that it belongs to.
    """

    def __init__(self, inside: ASGIApp, proxies: Sequence[str] = ()) -> None:
        self._inside, self._proxies = inside, proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and record its outcome."""
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        began, status = time.monotonic(), 0
        given = self._given(scope)
        number = given.pop(_ID, None) or uuid.uuid4().hex[:16]
        REQUEST.set(number)

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _with_ours(message["headers"], number)}
            await send(message)

        with span("request", given) as current:
            try:
                await self._inside(scope, receive, send_noted)
            finally:
                line = self._note(scope, number, status, time.monotonic() - began)
                if current is not None:
                    current.update_name(f"{line['method']} {line['route']}")
                    del line["seconds"]  # it has its own
                    current.set_attributes({f"surehold.{key}": line[key] for key in line})

    def _given(self, scope: Scope) -> dict[str, str]:
        """Return the ID and the trace that a named proxy gave a request, and nothing of others."""
        peer = scope.get("client")
        if peer is None or peer[0] not in self._proxies:
            return {}
        headers = Headers(scope=scope)
        given = {name: headers[name] for name in (_ID, *_TRACE) if name in headers}
        if not _GOOD_ID.fullmatch(given.get(_ID, "")):
            given.pop(_ID, None)
        return given

    def _note(self, scope: Scope, number: str, status: int, took: float) -> dict[str, Any]:
        """Count and log a request; returns its line in the log."""
        # Viewers see sums of these, which must not reveal how long an evaluation took.
        seconds = slot_after(took)
        route = scope.get("surehold.route", "other")
        site: Site | None = scope.get(SITE)
        metrics = None if site is None else site.metrics
        if metrics is not None:
            metrics.count_request(_method(scope), route, status, seconds)
        if metrics is not None and TOOL in scope:
            metrics.count_call(*scope[TOOL])
        line = self._line(scope, number, route, status, seconds)
        logger.info("request", extra=line)
        return line

    def _line(
        self, scope: Scope, number: str, route: str, status: int, seconds: float
    ) -> dict[str, Any]:
        caller = scope.get("surehold.caller")
        line: dict[str, Any] = {
            "request": number,
            "method": _method(scope),
            "route": route,
            "status": status,
            "seconds": seconds,
        }
        site: Site | None = scope.get(SITE)
        is_known = site is not None and (site.metrics is not None or caller is not None)
        if site is not None and site.name is not None and is_known and scope.get("root_path"):
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
