"""How a request's body arrives: no larger than it may be, and no slower."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import ClientDisconnect, Request

from surehold.data.json_lines import finite
from surehold.errors import InvalidInput, RequestRefused
from surehold.server.settings import Settings

_SMALL = 1 << 16  # bytes that have arrived with the head, or nearly
_WHOLE = "surehold.whole"


def check_length(request: Request, most: int) -> None:
    """Refuse by what the head says, before anything is read."""
    said = request.headers.get("content-length")
    if said is not None and (not said.isdigit() or int(said[:20]) > most):
        raise too_large(most)


async def arriving(request: Request, most: int, settings: Settings) -> AsyncIterator[bytes]:
    """The body in pieces; refused as soon as it is too large, too slow, or does not go on."""
    began, size = time.monotonic(), 0
    while True:
        allowed = settings.patience + size / settings.slowest
        left = min(began + allowed - time.monotonic(), settings.patience)
        try:
            async with asyncio.timeout(max(left, 0.0)):  # wait_for would make a task for it
                message = await request.receive()
        except TimeoutError:
            reason = f"its body came too slowly, or not at all for {settings.patience:g} seconds"
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
            request.scope[_WHOLE] = True
            return


def parsed(content: bytes) -> Any:
    """JSON in UTF-8, which says nothing twice; ValueError or RecursionError if it is not.

    Of two members of the same name one reader takes the first, another the last: what was meant
    can't be known. What is beyond a float is no float, rather than infinite.
    """
    return json.loads(content.decode(), object_pairs_hook=_once, parse_float=finite)


def check_parts(value: Any, most: int) -> None:
    """Refuse a body of more parts than any question has: each of them is looked at."""
    waiting, seen = [value], 0
    while waiting:
        found = waiting.pop()
        inside = list(found.values()) if isinstance(found, dict) else found
        inside = inside if isinstance(inside, list) else []
        seen += len(inside)
        if seen > most:
            required = f"of at most {most:,} parts"
            raise InvalidInput("the body", required, "of more", "ask for less at a time")
        waiting += [one for one in inside if isinstance(one, list | dict)]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name was said twice")
    return found


def is_waited_for(request: Request, status: int) -> bool:
    """Whether the rest of a body is read, to no purpose, so that its connection can be used again.

    Not if it may be long: whoever is refused could keep the service busy with it.
    """
    if _WHOLE in request.scope:
        return True
    said = request.headers.get("content-length", "0")
    is_short = "transfer-encoding" not in request.headers and int(said[:20]) <= _SMALL
    return is_short and status not in (408, 413)


def too_large(most: int) -> RequestRefused:
    """The refusal of a body that is too large."""
    return RequestRefused(413, f"its body is larger than {most:,} bytes", "send less at a time")
