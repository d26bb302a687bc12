"""How a request's body arrives: no larger than it may be, and no slower."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request

from holdfast.errors import RequestRefused
from holdfast.server.settings import Settings


def check_length(request: Request, most: int) -> None:
    """Refuse by what the head says, before anything is read."""
    said = request.headers.get("content-length")
    if said is not None and (not said.isdigit() or int(said[:20]) > most):
        raise too_large(most)


async def arriving(request: Request, most: int, settings: Settings) -> AsyncIterator[bytes]:
    """The body in pieces; refused as soon as it is too large or too slow."""
    began, size = time.monotonic(), 0
    while True:
        allowed = settings.patience + size / settings.slowest
        left = began + allowed - time.monotonic()
        try:
            message = await asyncio.wait_for(request.receive(), max(left, 0.0))
        except TimeoutError:
            reason = f"its body did not arrive within {allowed:.0f} seconds"
            raise RequestRefused(408, reason, "send it again, faster") from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > most:
            raise too_large(most)
        if piece:
            yield piece
        if not message.get("more_body", False):
            return


def too_large(most: int) -> RequestRefused:
    """The refusal of a body that is too large."""
    return RequestRefused(413, f"its body is larger than {most:,} bytes", "send less at a time")
