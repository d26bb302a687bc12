"""The route that takes side tables: predictions and other columns, keyed by the id of records."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from surehold.server.access import Caller
from surehold.server.auth import ANALYST, Called, GuardedRoute, Served
from surehold.server.body import JSON, check_length, check_type
from surehold.server.routes.append import FORMATS, content_types, hidden_path, read_list, spool
from surehold.server.routes.ask import Name
from surehold.server.schemas import WITH_BODY, Reply, gives, reply
from surehold.server.service import Service
from surehold.session import KeptTable

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["ask"])


@router.post(
    "/tables",
    openapi_extra={**ANALYST, "requestBody": {"required": True, "content": content_types()}},
    responses=gives(KeptTable, *WITH_BODY, 410),
)
async def keep_table(
    request: Request,
    service: Served,
    caller: Called,
    name: Annotated[Name, Query(description="Its name, for good.")] = None,
    default: Annotated[Name, Query(description="A name that gives way to others.")] = None,
) -> Reply:
    """Upload a side table; queries refer to it by the returned name.

    It has the dataset's id column and others, one row for each id. The content type is the format.
    """
    return reply(await receive_table(request, service, caller, name, default))


async def receive_table(
    request: Request, service: Service, caller: Caller, name: str | None, default: str | None
) -> KeptTable:
    """Keep the table in a body."""
    kind = check_type(request, [JSON, *FORMATS])
    most = service.settings.json_bytes if kind == JSON else service.settings.table_bytes
    check_length(request, most)
    path = service.incoming / f"{uuid.uuid4().hex}.{FORMATS.get(kind, 'json')}"
    with service.limits.uploads.one(caller.name):
        try:
            await spool(request, path, most, service)
            return await run_in_threadpool(_keep, service, caller, path, name, default)
        finally:
            path.unlink(missing_ok=True)


def _keep(
    service: Service, caller: Caller, path: Path, name: str | None, default: str | None
) -> KeptTable:
    source: Any = read_list(path) if path.suffix == ".json" else path
    with hidden_path(path):
        return service.keep_table(caller, source, path.stat().st_size, name, default)
