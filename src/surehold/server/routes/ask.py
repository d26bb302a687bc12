"""Routes that spend budget, and the models they refer to."""

from __future__ import annotations

import hashlib

from anyio.to_thread import run_sync
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from surehold import queries
from surehold.errors import RequestRefused
from surehold.server.auth import GuardedRoute
from surehold.server.body import check_length, check_type, receive
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


_ERRORS = (*WITH_BODY, 402, 409, 501)


@router.post("/ask", openapi_extra=ANALYST, responses=gives(Result, *_ERRORS))
async def ask(
    body: AskBody, service: Served, caller: Called, threads: Threads, key: KeyHeader = None
) -> Reply:
    """Ask, and get a value with a width that holds for all answers together."""

    def answer() -> Reply:
        asked = query_of(body.query, service.dataset)
        chosen = one_key(key, body.key)
        return reply(service.ask(caller, asked, t=body.round, key=chosen))

    return await run_sync(answer, limiter=threads)


@router.post("/ask-many", openapi_extra=ANALYST, responses=gives(Answers, *_ERRORS))
async def ask_many(
    body: AskManyBody, service: Served, caller: Called, threads: Threads, key: KeyHeader = None
) -> Reply:
    """Ask several queries at one round, all or none, in one pass over the data."""

    def answer() -> Reply:
        asked = [query_of(one, service.dataset) for one in body.queries]
        chosen = one_key(key, body.key)
        answers = service.ask_many(caller, asked, t=body.round, key=chosen)
        return reply({"answers": [answer.to_dict() for answer in answers]})

    return await run_sync(answer, limiter=threads)


@router.post("/select", openapi_extra=ANALYST, responses=gives(Choice, *_ERRORS))
async def select(
    body: SelectBody, service: Served, caller: Called, threads: Threads, key: KeyHeader = None
) -> Reply:
    """Choose the best of several queries, at one price for any number of them."""

    def answer() -> Reply:
        asked = _selection(body, service)
        chosen = one_key(key, body.key)
        return reply(service.ask(caller, asked, t=body.round, key=chosen))

    return await run_sync(answer, limiter=threads)


def _selection(body: SelectBody, service: Service) -> queries.Select:
    given, data = body.candidates, service.dataset
    candidates = (
        {name: query_of(one, data) for name, one in given.items()}
        if isinstance(given, dict)
        else [query_of(one, data) for one in given]
    )
    return queries.select(candidates, best=body.best, price=body.price)


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
    """Upload an ONNX model; queries refer to it by the returned name."""
    check_type(request, [BYTES])
    most = service.settings.model_bytes
    check_length(request, most)
    with service.uploads.one(caller.name):
        pieces = [piece async for piece in receive(request, most, service.settings)]
        return reply(await run_in_threadpool(_keep, service, b"".join(pieces)))


def _keep(service: Service, content: bytes) -> KeptModel:
    most, models = service.settings.shelf_bytes, service.settings.models
    dataset = service.dataset
    with service.shelving:  # two may fit one by one and not together
        is_new = dataset.model_content(f"onnx:{hashlib.sha256(content).hexdigest()}") is None
        size, count = dataset.models_size
        if is_new and (size + len(content) > most or count >= models):
            reason = f"there would be more than {models:,} models, or {most:,} bytes of them"
            raise RequestRefused(413, reason, "ask the custodian to remove some")
        return dataset.keep_model(content)
