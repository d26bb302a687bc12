"""Routes of the leaderboard: the board, which may be public, opening it, and submissions to it."""

from __future__ import annotations

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request

from surehold.server.auth import BOARD, CUSTODIAN, SUBMITTER, Called, GuardedRoute, Served
from surehold.server.retirement import check_active
from surehold.server.routes.append import content_types
from surehold.server.routes.ask import Name
from surehold.server.routes.tables import receive_table
from surehold.server.schemas import (
    USUAL,
    WITH_BODY,
    Body,
    ExactNumber,
    Finite,
    Reply,
    gives,
    reply,
)
from surehold.session import Leaderboard, Submitted

router = APIRouter(prefix="/v1/leaderboard", route_class=GuardedRoute, tags=["leaderboard"])


class OpenBody(Body):
    """The question of a leaderboard, with the arguments of `Dataset.open_leaderboard`."""

    title: str = Field(min_length=1, max_length=80)
    target: str = Field(max_length=10_000, description="The column that is predicted.")
    metric: str = Field(default="accuracy", max_length=40)
    step: ExactNumber = Field(description="By how much a new best has to be better.")
    daily: int = Field(default=10, ge=1, le=1000, description="Submissions of one analyst a day.")
    public: bool = Field(default=False, description="Whether it can be read without a token.")
    positive: str | bool | int | Finite | None = None
    low: Finite | None = None
    high: Finite | None = None


@router.get("", openapi_extra=BOARD, responses=gives(Leaderboard, *USUAL, 404, 409))
def board(service: Served) -> Reply:
    """Return the leaderboard. Without a token only if its custodian made it public."""
    return reply(service.dataset.leaderboard)


@router.post("", openapi_extra=CUSTODIAN, responses=gives(Leaderboard, *WITH_BODY, 409, 410))
def open_board(body: OpenBody, service: Served) -> Reply:
    """Open a leaderboard over the records that are there now; its question is fixed for good."""
    check_active(service.dataset.path)
    return reply(service.dataset.open_leaderboard(**body.model_dump()))


@router.post(
    "/submissions",
    openapi_extra={**SUBMITTER, "requestBody": {"required": True, "content": content_types()}},
    responses=gives(Submitted, *WITH_BODY, 402, 404, 409, 410),
)
async def submit(
    request: Request,
    service: Served,
    caller: Called,
    name: Annotated[Name, Query(description="Its name on the board, for good.")] = None,
    default: Annotated[Name, Query(description="A name that gives way to others.")] = None,
) -> Reply:
    """Submit predictions, one row for each record of the board, and compare them with the best.

    The same predictions again are free. The content type is the format.
    """
    _ = service.dataset.leaderboard_rules  # refused before the body is read if there is none
    table = await receive_table(request, service, caller, name, default)
    desk = service.desk(caller)
    return reply(await run_sync(desk.submit, table, limiter=service.limits.threads))
