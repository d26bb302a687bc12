"""The custodian's routes: appending records, reserving a part of the budget, and succession."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Query
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from surehold import session
from surehold.errors import InvalidInput, StorageFailed, SureholdError
from surehold.server import retirement
from surehold.server.access import HostedAccess, check_keeper
from surehold.server.auth import (
    APPENDER,
    CUSTODIAN,
    Called,
    GuardedRoute,
    KeyHeader,
    Served,
    site_of,
)
from surehold.server.body import JSON, check_length, check_type, not_json, parse, receive
from surehold.server.retirement import Retirement, check_active
from surehold.server.schemas import (
    WITH_BODY,
    Body,
    Reply,
    ReserveBody,
    SucceedBody,
    gives,
    reply,
)
from surehold.server.service import Service
from surehold.session import Appended, Reservation, Succession

FORMATS = {
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/x-ndjson": "ndjson",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.apache.arrow.file": "arrow",
}
_WRITE_AT = 1 << 20  # bytes that are worth a write

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["keep"])


def content_types() -> dict[str, Any]:
    """Return what a body of records or rows may be, for OpenAPI."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    listed = {"schema": {"type": "array", "items": {"type": "object"}}}
    return {JSON: listed, **dict.fromkeys(FORMATS, binary)}


@router.post(
    "/append",
    openapi_extra={**APPENDER, "requestBody": {"required": True, "content": content_types()}},
    responses=gives(Appended, *WITH_BODY, 410),
)
async def append(
    request: Request,
    service: Served,
    again: Annotated[bool, Query(description="Keep them even if they came before.")] = False,
    delimiter: Annotated[str | None, Query(description="For CSV: , ; | or tab.")] = None,
    decimal: Annotated[str | None, Query(description="For CSV: a point or a comma.")] = None,
    key: KeyHeader = None,
) -> Reply:
    """Append records: all of them are stored durably, or none. The content type is the format."""
    kind = check_type(request, [JSON, *FORMATS])
    most = service.settings.json_bytes if kind == JSON else service.settings.append_bytes
    check_length(request, most)
    path = service.incoming / uuid.uuid4().hex
    try:
        await spool(request, path, most, service)
        options = {"again": again, "key": key, "delimiter": delimiter, "decimal": decimal}
        return reply(await run_in_threadpool(_append, service, path, kind, options))
    finally:
        path.unlink(missing_ok=True)


@router.post("/reserve", openapi_extra=CUSTODIAN, responses=gives(Reservation, *WITH_BODY, 410))
def reserve(body: ReserveBody, service: Served) -> Reply:
    """Reserve a part of the budget, or of the limit in bits, that no other analyst can spend."""
    check_active(service.dataset.path)
    return reply(service.dataset.reserve(body.analyst, body.amount))


class RetireBody(Body):
    """Why a dataset is retired; everybody with access can read it."""

    reason: str = Field(min_length=1, max_length=1000)


@router.post("/retire", openapi_extra=CUSTODIAN, responses=gives(Retirement, *WITH_BODY))
def retire(body: RetireBody, service: Served, caller: Called) -> Reply:
    """Retire the dataset: from now on it is only read. Nothing is removed."""
    return reply(retirement.retire(service.dataset.path, caller.analyst, body.reason))


@router.post("/succeed", openapi_extra=CUSTODIAN, responses=gives(Succession, *WITH_BODY, 410))
def succeed(body: SucceedBody, request: Request, service: Served, caller: Called) -> Reply:
    """Create a dataset next to this one, which takes over its records; this one is closed for good.

    Records can be erased, columns added or given another type. If it is interrupted, send it again.
    """
    if isinstance(site_of(request).access, HostedAccess):
        check_keeper(caller)  # it creates a dataset, and learns which names are taken
    old = service.dataset.path
    given = body.model_dump(exclude={"name"})
    with hidden_folder(old.parent):
        return reply(session.succeed(old, old.with_name(body.name), **given))


@contextmanager
def hidden_folder(folder: Path) -> Iterator[None]:
    """Let no error say where the datasets are."""
    try:
        yield
    except SureholdError as error:
        if str(folder) not in str(error):
            raise
        reason, _, hint = str(error).replace(f"{folder}/", "").partition("; ")
        raise InvalidInput("the successor", "in a new folder of its own", reason, hint) from None


async def spool(request: Request, path: Path, most: int, service: Service) -> None:
    """Write the body to a file next to the records, equally private."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        async with await anyio.Path(path).open("xb", buffering=_WRITE_AT) as file:
            async for piece in receive(request, most, service.settings):
                await file.write(piece)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageFailed("receiving the records", reason, "nothing was kept") from error


def _append(service: Service, path: Path, kind: str, options: dict[str, Any]) -> Appended:
    source: Any = read_list(path) if kind == JSON else path
    with hidden_path(path):
        return service.dataset.append(source, format=FORMATS.get(kind), **options)


@contextmanager
def hidden_path(path: Path) -> Iterator[None]:
    """Let no error name the file that a body is in."""
    try:
        yield
    except InvalidInput as error:
        if error.got != str(path):
            raise
        body = "the body of this request"
        raise InvalidInput(error.parameter, error.required, body, error.hint) from None


def read_list(path: Path) -> list[Any]:
    """Return the objects of a body in JSON."""
    try:
        records = parse(path.read_bytes())
    except (ValueError, RecursionError):
        raise not_json("send a list of objects") from None
    if not isinstance(records, list):
        raise InvalidInput("the records", "a list of objects", type(records).__name__)
    return records
