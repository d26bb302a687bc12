"""The body of a request: its type, its size, its speed, and its JSON."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request

from surehold.data.json_lines import finite
from surehold.errors import InvalidInput, RequestRefused
from surehold.server.settings import Settings

_SMALL = 1 << 16  # bytes that have arrived with the head, or nearly
_WHOLE = "surehold.whole"
JSON = "application/json"


def check_type(request: Request, kinds: Sequence[str]) -> str:
    """Return the content type, which must be one of these."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        reason = "its Content-Type is not supported here"
        raise RequestRefused(415, reason, f"send {' or '.join(kinds)}")
    return kind


async def read(request: Request, kind: str, most: int, settings: Settings) -> bytes:
    """Return a whole body of this type and of at most this size."""
    check_type(request, [kind])
    check_length(request, most)
    return b"".join([piece async for piece in receive(request, most, settings)])


def check_length(request: Request, most: int) -> None:
    """Refuse by the declared length, before anything is read."""
    said = request.headers.get("content-length")
    if said is not None and (not said.isdigit() or int(said[:20]) > most):
        raise _too_large(most)


async def receive(request: Request, most: int, settings: Settings) -> AsyncIterator[bytes]:
    """Yield the body in pieces; refuse it once it is too large or too slow, or stalls."""
    began, size = time.monotonic(), 0
    while True:
        allowed = settings.patience + size / settings.slowest
        left = min(began + allowed - time.monotonic(), settings.patience)
        try:
            async with asyncio.timeout(max(left, 0.0)):  # wait_for would make a task for it
                message = await request.receive()
        except TimeoutError:
            reason = f"its body was too slow, or stalled for {settings.patience:g} seconds"
            raise RequestRefused(408, reason, "send it again, faster") from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > most:
            raise _too_large(most)
        if piece:
            yield piece
        if not message.get("more_body", False):
            request.scope[_WHOLE] = True
            return


def parse(content: bytes) -> Any:
    """Parse JSON in UTF-8 without repeated names; ValueError or RecursionError otherwise.

    Of two members with the same name one parser takes the first, another the last, so neither is
    safe. A number beyond the floats is refused rather than made infinite.
    """
    return json.loads(content.decode(), object_pairs_hook=_unique, parse_float=finite)


def check_parts(value: Any, most: int) -> None:
    """Refuse a body with more parts than any question has: each of them is validated."""
    waiting, seen = [value], 0
    while waiting:
        found = waiting.pop()
        inside = list(found.values()) if isinstance(found, dict) else found
        inside = inside if isinstance(inside, list) else []
        seen += len(inside)
        if seen > most:
            required = f"of at most {most:,} parts"
            raise InvalidInput("the body", required, "larger", "ask for less at a time")
        waiting += [one for one in inside if isinstance(one, list | dict)]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is repeated")
    return found


def is_drained(request: Request, status: int) -> bool:
    """Whether the rest of a refused body is read, so that its connection can be reused.

    Not if it may be long: that would keep the service busy.
    """
    if _WHOLE in request.scope:
        return True
    said = request.headers.get("content-length", "0")
    is_short = "transfer-encoding" not in request.headers and int(said[:20]) <= _SMALL
    return is_short and status not in (408, 413)


def not_json(hint: str) -> RequestRefused:
    """Return the refusal of a body that is not JSON."""
    return RequestRefused(400, "its body is not valid JSON in UTF-8", hint)


def _too_large(most: int) -> RequestRefused:
    return RequestRefused(413, f"its body is larger than {most:,} bytes", "send less at a time")
