"""Routes that spend budget, and the models they refer to."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from surehold.errors import RequestRefused
from surehold.queries import Derived
from surehold.queries import Query as Asked
from surehold.server.access import Caller
from surehold.server.auth import ANALYST, Called, GuardedRoute, KeyHeader, Served
from surehold.server.body import read
from surehold.server.schemas import (
    WITH_BODY,
    Answers,
    AskBody,
    AskManyBody,
    Claimed,
    RegisterBody,
    Reply,
    Result,
    SelectBody,
    WatchBody,
    gives,
    reply,
)
from surehold.server.service import Service
from surehold.session import Choice, KeptModel, SelectionOutcome, Watched

BYTES = "application/octet-stream"
Name = Annotated[str | None, Query(max_length=200)]

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["ask"])


_ERRORS = (*WITH_BODY, 402, 409, 410, 501)


@router.post("/ask", openapi_extra=ANALYST, responses=gives(Result, *_ERRORS))
async def ask(body: AskBody, service: Served, caller: Called, key: KeyHeader = None) -> Response:
    """Ask, and get a value with a width that holds for all answers together."""
    # What has more to it than its text and its round is not looked up.
    text = body.query if key is None and body.model_fields_set <= {"query", "round"} else None
    asked = (text, body.round) if isinstance(text, str) else None
    known = None if asked is None else service.recorded.find(asked)
    if known is not None:  # sent from the event loop, as it waits for nothing
        return Response(known, media_type="application/json")
    return await _answer(body, service, caller, key, asked)


@router.post("/ask-many", openapi_extra=ANALYST, responses=gives(Answers, *_ERRORS))
async def ask_many(
    body: AskManyBody, service: Served, caller: Called, key: KeyHeader = None
) -> Reply:
    """Ask several queries at one round, all or none, in one pass over the data."""
    return await _answer(body, service, caller, key)


@router.post("/select", openapi_extra=ANALYST, responses=gives(Choice | SelectionOutcome, *_ERRORS))
async def select(body: SelectBody, service: Served, caller: Called, key: KeyHeader = None) -> Reply:
    """Choose the best of several queries, at one price for any number of them."""
    return await _answer(body, service, caller, key)


@router.post(
    "/register", openapi_extra=ANALYST, responses=gives(Claimed, *WITH_BODY, 409, 410, 501)
)
async def register(body: RegisterBody, service: Served, caller: Called) -> Reply:
    """Name questions and claim their intervals, to be asked at any time. Free; reads no record."""

    def claim() -> Reply:
        asked, desk = body.build(service.dataset), service.desk(caller, body.round)
        claims = desk.register(asked, share=body.share, tables=body.brought(service.dataset))
        return reply({"registered": [one.to_dict() for one in claims]})

    return await run_sync(claim, limiter=service.limits.threads)


@router.post("/watch", openapi_extra=ANALYST, responses=gives(Watched, *_ERRORS))
async def watch(body: WatchBody, service: Served, caller: Called) -> Reply:
    """Ask the questions of the dashboard at the present round, all or none; free if nothing is new.

    `verdict` is the worst of all gates.
    """

    def ask() -> Reply:
        return reply(service.desk(caller, body.round).watch(body.questions))

    return await run_sync(ask, limiter=service.limits.threads)


async def _answer(
    body: AskBody | AskManyBody | SelectBody,
    service: Service,
    caller: Caller,
    key: str | None,
    kept_as: Hashable = None,
) -> Reply:
    """Ask in a thread; a recorded answer is ``kept_as`` something, if it stays as it is."""

    def answer() -> Reply:
        edition = service.dataset.edition
        asked, options = body.build(service.dataset), body.options(key)
        options["tables"] = body.brought(service.dataset)
        desk = service.desk(caller, body.round)
        if isinstance(asked, Asked):
            result = desk.ask(asked, **options)
            response = reply(result)
            # What follows from other answers says how much is left now.
            if kept_as is not None and result.recorded and not isinstance(asked, Derived):
                service.recorded.keep(kept_as, bytes(response.body), edition)
            return response
        return reply({"answers": [one.to_dict() for one in desk.ask_many(asked, **options)]})

    return await run_sync(answer, limiter=service.limits.threads)


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
    responses=gives(KeptModel, *WITH_BODY, 410, 501),
)
async def keep_model(
    request: Request,
    service: Served,
    caller: Called,
    name: Annotated[Name, Query(description="Its name, for good.")] = None,
    default: Annotated[Name, Query(description="A name that gives way to others.")] = None,
) -> Reply:
    """Upload an ONNX model; queries refer to it by its hash, and are shown with its name."""
    settings = service.settings
    with service.limits.uploads.one(caller.name):
        content = await read(request, BYTES, settings.model_bytes, settings)
        names = (name, default)
        return reply(await run_in_threadpool(_keep, service, caller, content, *names))


def _keep(
    service: Service, caller: Caller, content: bytes, name: str | None, default: str | None
) -> KeptModel:
    most, models = service.settings.shelf_bytes, service.settings.models
    dataset = service.dataset
    with service.shelving:  # two may fit one by one and not together
        is_new = dataset.model_content(f"onnx:{hashlib.sha256(content).hexdigest()}") is None
        size, count = dataset.models_size
        if is_new and (size + len(content) > most or count >= models):
            reason = f"there would be more than {models:,} models, or {most:,} bytes of them"
            raise RequestRefused(413, reason, "ask the custodian to remove some")
        return dataset.keep_model(content, name, default=default, analyst=caller.analyst)
