"""Routes that read: they cost nothing, change nothing, and read no record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from surehold.errors import RequestRefused
from surehold.planning import Plan
from surehold.queries import Dashboard
from surehold.queries.dashboard import MOST_QUESTIONS
from surehold.queries.lexer import LONGEST_QUERY
from surehold.server import schemas
from surehold.server.auth import ANY, VIEWER, Called, GuardedRoute, Served
from surehold.server.schemas import LARGEST, USUAL, WITH_BODY, Reply, failures, gives, reply
from surehold.server.service import Me
from surehold.session import (
    Dataset,
    History,
    Outlook,
    Page,
    Quote,
    Result,
    Status,
    SurpriseQuote,
    SurpriseStatus,
    Verification,
)
from surehold.session.transcript_csv import csv_lines

Number = Annotated[int | None, Query(ge=0, le=LARGEST)]
_MOST_BATCHES = 1000  # a hundred times as many would take ten seconds

_CSV = {
    200: {"description": "The answers as CSV.", "content": {"text/csv": {}}},
    **failures(*USUAL),
}

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["look"])


@router.get("/me", openapi_extra=ANY, responses=gives(Me, *USUAL))
def me(service: Served, caller: Called) -> Reply:
    """Return the caller's name, role and spending limit."""
    return reply(service.me(caller))


@router.get("/schema", openapi_extra=ANY, responses=gives(dict[str, str], *USUAL))
def schema(service: Served) -> Reply:
    """Return the columns and their types."""
    return reply(service.dataset.columns)


@router.get("/status", openapi_extra=ANY, responses=gives(Status | SurpriseStatus, *USUAL))
def status(service: Served) -> Reply:
    """Return the status of the dataset."""
    return reply(service.dataset.status())


@router.get("/plan", openapi_extra=VIEWER, responses=gives(Plan, *USUAL))
def plan(service: Served) -> Reply:
    """Return the plan, fixed before the first answer."""
    return reply(service.dataset.plan.to_dict())


@router.get("/outlook", openapi_extra=VIEWER, responses=gives(Outlook, *USUAL))
def outlook(service: Served, caller: Called) -> Reply:
    """Return what the rest of the budget buys: now, evenly from now on, or at the end."""
    return reply(service.session(caller).outlook())


@router.get("/rounds", openapi_extra=VIEWER, responses=gives(schemas.Rounds, *USUAL))
def rounds(service: Served) -> Reply:
    """Return the rounds at which answers were given, and what they cost."""
    return reply({"rounds": [one.to_dict() for one in service.dataset.rounds]})


@router.get("/growth", openapi_extra=VIEWER, responses=gives(schemas.Grown, *USUAL))
def growth(service: Served) -> Reply:
    """Return how the data grew, in at most 500 points."""
    return reply({"growth": [point.to_dict() for point in service.dataset.growth()]})


@router.get("/dashboard", openapi_extra=VIEWER, responses=gives(Dashboard, *USUAL))
def dashboard(service: Served) -> Reply:
    """Return the questions that have names, with their units and gates."""
    return reply(service.dataset.dashboard)


@router.get("/history", openapi_extra=VIEWER, responses=gives(History, *USUAL))
def history(service: Served, question: Annotated[str, Query(max_length=LONGEST_QUERY)]) -> Reply:
    """Return the answers to one question, by its name or its text, round by round."""
    return reply(service.dataset.history(question))


@router.get("/histories", openapi_extra=VIEWER, responses=gives(schemas.Histories, *USUAL))
def histories(service: Served, limit: Annotated[int, Query(ge=1, le=MOST_QUESTIONS)] = 12) -> Reply:
    """Return the histories of named questions or, if there are none, of those asked most often."""
    return reply({"histories": [one.to_dict() for one in service.dataset.histories(limit)]})


@router.get("/compare", openapi_extra=VIEWER, responses=gives(schemas.Compared, *USUAL))
def comparison(
    beta: Annotated[float, Query(allow_inf_nan=False)],
    alpha: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    queries: Number = None,
    n0: Number = None,
    n: Number = None,
    batches: Annotated[int | None, Query(ge=0, le=_MOST_BATCHES)] = None,
) -> Reply:
    """Compare all certificates for the same problem, like `surehold plan --compare`."""
    from surehold.planning import compare  # it loads scipy, which a service can start without

    entries = compare(beta=beta, alpha=alpha, queries=queries, n0=n0, n=n, batches=batches)
    return reply({"entries": [entry.to_dict() for entry in entries]})


@router.get("/models", openapi_extra=VIEWER, responses=gives(schemas.Models, *USUAL))
def models(service: Served) -> Reply:
    """List the uploaded models."""
    return reply({"models": [model.to_dict() for model in service.dataset.models]})


@router.get("/tables", openapi_extra=VIEWER, responses=gives(schemas.KeptTables, *USUAL))
def tables(service: Served) -> Reply:
    """List the uploaded side tables."""
    return reply({"tables": [table.to_dict() for table in service.dataset.tables]})


class Wanted(BaseModel):
    """Which answers of the transcript are wanted; all, if nothing is said."""

    after: Annotated[int, Field(ge=0, le=LARGEST)] = 0
    before: Annotated[int | None, Field(ge=0, le=LARGEST)] = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    analyst: Annotated[str | None, Field(max_length=200)] = None
    round: Annotated[int | None, Field(ge=1, le=LARGEST)] = None
    contains: Annotated[str, Field(max_length=1000)] = ""
    kind: Annotated[str, Field(max_length=40, description="What was asked: rate, gate, ...")] = ""
    since: Annotated[float, Field(ge=0, le=LARGEST, description="Seconds since 1970.")] = 0.0
    until: Annotated[float, Field(ge=0, le=LARGEST, description="Seconds since 1970.")] = LARGEST
    newest: bool = False

    def page(self, dataset: Dataset) -> Page:
        """Return one page of them."""
        pages = dataset.transcript_of(self.analyst)
        return pages.page(**self.model_dump(exclude={"analyst"}))

    def all(self, dataset: Dataset) -> Iterator[Result]:
        """Yield all of them, page by page, so that no transcript has to fit into memory."""
        wanted, name = self, "before" if self.newest else "after"
        while True:
            page = wanted.page(dataset)
            yield from page.answers
            if page.next is None:
                return
            wanted = wanted.model_copy(update={name: page.next})


@router.get("/transcript", openapi_extra=VIEWER, responses=gives(schemas.AnswersPage, *USUAL))
def transcript(service: Served, wanted: Annotated[Wanted, Query()]) -> Reply:
    """Return the answers so far, page by page, oldest or newest first.

    Entries number everything that happens, so the numbers of answers have gaps. Pass `next` as
    `after`, or with `newest` as `before`, for the next page.
    """
    return reply(wanted.page(service.dataset))


@router.get(
    "/transcript.csv", openapi_extra=VIEWER, responses=_CSV, response_class=StreamingResponse
)
def transcript_csv(service: Served, wanted: Annotated[Wanted, Query()]) -> StreamingResponse:
    """Return all of these answers as CSV, one line for each number; `limit` is not used."""
    dataset, all_of = service.dataset, wanted.model_copy(update={"limit": 1000})
    headers = {"Content-Disposition": 'attachment; filename="transcript.csv"'}
    lines = csv_lines(all_of.all(dataset))
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


@router.get(
    "/transcript/{entry}", openapi_extra=VIEWER, responses=gives(schemas.Result, *USUAL, 404)
)
def answer(service: Served, entry: Annotated[int, Path(ge=1, le=LARGEST)]) -> Reply:
    """Return one answer by the number of its entry."""
    found = service.dataset.transcript.entry(entry)
    if found is None:
        raise RequestRefused(404, "that entry is not an answer", "GET /v1/transcript lists them")
    return reply(found)


@router.post(
    "/quote",
    openapi_extra=VIEWER,
    responses=gives(Quote | SurpriseQuote, *WITH_BODY, 409, 501),
)
def quote(body: schemas.QuoteBody, service: Served, caller: Called) -> Reply:
    """Quote the cost and the width of an answer. Free; reads no record."""
    asked, tables = body.build(service.dataset), body.brought(service.dataset)
    desk = service.desk(caller, body.round)
    return reply(desk.quote(asked, **body.expectation(), tables=tables))


@router.get("/room", openapi_extra=VIEWER, responses=gives(schemas.Held, *USUAL, 409))
def room(
    service: Served, caller: Called, t: Annotated[int, Query(alias="round", ge=0, le=LARGEST)]
) -> Reply:
    """Return how many answers the caller has left at a round, even a future one."""
    return reply({"round": t, "answers_left": service.session(caller).answers_left(t)})


@router.post("/hold", openapi_extra=VIEWER, responses=gives(schemas.Held, *WITH_BODY, 409))
def hold(body: schemas.HoldBody, service: Served, caller: Called) -> Reply:
    """Check that a round may be held. The service keeps no state: send `round` each time.

    Under the surprise guard, the number of answers has no limit, and is null.
    """
    session = service.session(caller).at(body.round)
    t = service.dataset.present_round if body.round is None else body.round
    left = session.answers_left(t) if session.guard == "noise" else None
    return reply({"round": t, "answers_left": left})


@router.post("/verify", openapi_extra=VIEWER, responses=gives(Verification, *USUAL))
async def verify(service: Served) -> Reply:
    """Replay the whole ledger: hashes, charges, widths, and every byte of the records."""
    return reply(await service.verify())
