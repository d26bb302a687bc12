"""Routes that spend, and the models that are asked about."""

from __future__ import annotations

import hashlib

from anyio.to_thread import run_sync
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from surehold import queries
from surehold.errors import RequestRefused
from surehold.server.auth import GuardedRoute, wrong_type
from surehold.server.body import arriving, check_length
from surehold.server.dependencies import ANALYST, Called, KeyHeader, Served, Threads, gives, one_key
from surehold.server.schemas import (
    WITH_BODY,
    Answers,
    AskBody,
    AskManyBody,
    Reply,
    Result,
    SelectBody,
    query_of,
    reply,
)
from surehold.server.service import Service
from surehold.session import Choice, KeptModel

BYTES = "application/octet-stream"

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["ask"])


@router.post("/ask", openapi_extra=ANALYST, responses=gives(Result, *WITH_BODY, 402, 409, 501))
async def ask(
    body: AskBody, service: Served, caller: Called, threads: Threads, key: KeyHeader = None
) -> Reply:
    """Ask, and get a value with a width that holds for all answers together."""

    def answer() -> Reply:
        asked = query_of(body.query, service.dataset)
        chosen = one_key(key, body.key)
        return reply(service.ask(caller, asked, round=body.round, key=chosen))

    return await run_sync(answer, limiter=threads)


@router.post(
    "/ask-many", openapi_extra=ANALYST, responses=gives(Answers, *WITH_BODY, 402, 409, 501)
)
async def ask_many(
    body: AskManyBody, service: Served, caller: Called, threads: Threads, key: KeyHeader = None
) -> Reply:
    """Several queries at one round, all or none, in one pass over the data."""

    def answer() -> Reply:
        asked = [query_of(one, service.dataset) for one in body.queries]
        chosen = one_key(key, body.key)
        answers = service.ask_many(caller, asked, round=body.round, key=chosen)
        return reply({"answers": [answer.to_dict() for answer in answers]})

    return await run_sync(answer, limiter=threads)


@router.post("/select", openapi_extra=ANALYST, responses=gives(Choice, *WITH_BODY, 402, 409, 501))
async def select(
    body: SelectBody, service: Served, caller: Called, threads: Threads, key: KeyHeader = None
) -> Reply:
    """Choose the best of several queries, at one price however many there are."""

    def answer() -> Reply:
        asked = _selection(body, service)
        chosen = one_key(key, body.key)
        return reply(service.ask(caller, asked, round=body.round, key=chosen))

    return await run_sync(answer, limiter=threads)


def _selection(body: SelectBody, service: Service) -> queries.Select:
    given = body.candidates
    if isinstance(given, dict):
        named = {name: query_of(one, service.dataset) for name, one in given.items()}
        return queries.select(named, best=body.best, price=body.price)
    listed = [query_of(one, service.dataset) for one in given]
    return queries.select(listed, best=body.best, price=body.price)


# -------------------------------------------------------------------------------------- models


@router.post(
    "/models",
    openapi_extra={
        **ANALYST,
        "requestBody": {
            "required": True,
            "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}},
        },
    },
    responses=gives(KeptModel, *WITH_BODY, 501),
)
async def keep_model(request: Request, service: Served, caller: Called) -> Reply:
    """Hand in an ONNX model, to be asked about by the name that comes back."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != BYTES:
        raise wrong_type([BYTES])
    most = service.settings.model_bytes
    check_length(request, most)
    with service.uploads.one(caller.name):
        pieces = [piece async for piece in arriving(request, most, service.settings)]
        return reply(await run_in_threadpool(_kept, service, b"".join(pieces)))


def _kept(service: Service, content: bytes) -> KeptModel:
    most, models = service.settings.shelf_bytes, service.settings.models
    dataset = service.dataset
    with service.shelving:  # of two that fit alone, one may be too much
        is_new = dataset.model_content(f"onnx:{hashlib.sha256(content).hexdigest()}") is None
        size, count = dataset.models_size
        if is_new and (size + len(content) > most or count >= models):
            reason = f"there would be more than {models:,} models, or {most:,} bytes of them"
            raise RequestRefused(413, reason, "ask the custodian to remove some of them")
        return dataset.keep_model(content)
