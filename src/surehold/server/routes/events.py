"""Live updates: the status of the dataset after every append and answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from surehold.server.access import Access, Caller
from surehold.server.auth import VIEWER, Called, GuardedRoute, site_of
from surehold.server.limits import Turns
from surehold.server.schemas import USUAL, failures
from surehold.server.service import Service

_EVERY = 0.25  # seconds between looks at the ledger: other processes may write to it too
_EVENTS = "text/event-stream"

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["look"])


class Watch:
    """Polls the ledger once for all watchers, while there are any."""

    def __init__(self, service: Service, access: Access) -> None:
        self._service, self._access = service, access
        self._changed = asyncio.Condition()
        self._latest: tuple[int, str] | None = None
        self._task: asyncio.Task[None] | None = None
        self.watchers = Turns("streams", *service.settings.streams, seconds=10.0)
        self._is_over = False

    async def end(self) -> None:
        """End all streams, because the service stops."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
        async with self._changed:
            self._changed.notify_all()

    def leave(self, caller: Caller) -> None:
        """Remove a watcher; without any, polling stops."""
        self.watchers.give_back(caller.name)
        if not self.watchers.taken and self._task is not None:
            self._task.cancel()
            self._task = None

    async def events(self, caller: Caller) -> AsyncIterator[str]:
        """Yield the present status, then every later one, while the caller's token is valid."""
        settings = self._service.settings
        until = time.monotonic() + settings.stream_seconds
        if self._task is None or self._task.done():
            self._latest = None
            self._task = asyncio.create_task(self._look())
        seen = 0
        while not self._is_over and (left := until - time.monotonic()) > 0:
            wait = min(settings.alive_seconds, left)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news(seen), wait)
            if not self._access.covers(caller):
                return
            if self._latest is not None and self._latest[0] > seen:
                seen, text = self._latest
                yield f"id: {seen}\nevent: status\ndata: {text}\n\n"
            elif wait == settings.alive_seconds and not self._is_over:
                yield ": still here\n\n"

    async def _news(self, seen: int) -> None:
        """Wait for something newer than what was seen, or for the end."""
        async with self._changed:
            while not self._is_over and (self._latest is None or self._latest[0] <= seen):
                await self._changed.wait()

    async def _look(self) -> None:
        dataset = self._service.dataset
        while True:
            with contextlib.suppress(Exception):  # tried again at the next turn
                last = await run_in_threadpool(lambda: dataset.last_entry)
                if self._latest is None or self._latest[0] != last:
                    status = await run_in_threadpool(dataset.status)
                    text = json.dumps(status.to_dict(), allow_nan=False, ensure_ascii=False)
                    self._latest = (status.entries, text)
                    async with self._changed:
                        self._changed.notify_all()
            await asyncio.sleep(_EVERY)


async def _watching(request: Request, caller: Called) -> AsyncIterator[Watch]:
    """Count a watcher while the stream lasts, and before it begins, or many would get in."""
    site = site_of(request)
    with site.limits.streams.one(caller.name):  # of the server, whose datasets share it
        site.watch.watchers.take(caller.name)
        try:
            yield site.watch
        finally:
            site.watch.leave(caller)


@router.get(
    "/events",
    openapi_extra=VIEWER,
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {_EVENTS: {}},
            "description": "Server-sent events named `status`, whose data is that of /v1/status.",
        },
        **failures(*USUAL),
    },
)
async def events(caller: Called, watch: Annotated[Watch, Depends(_watching)]) -> StreamingResponse:
    """Stream the status now, and after every append and answer."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(watch.events(caller), headers=headers, media_type=_EVENTS)
