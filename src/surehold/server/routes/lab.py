"""The custodian's routes to the lab: attack the guard of this dataset, on made-up records."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, create_model

from surehold.errors import InvalidInput, RequestRefused
from surehold.server.auth import CUSTODIAN, GuardedRoute, Served
from surehold.server.contests import (
    MOST_CELLS,
    MOST_QUERIES,
    MOST_RECORDS,
    MOST_REPEATS,
    LabStatus,
    Wanted,
)
from surehold.server.schemas import USUAL, WITH_BODY, Body, Reply, gives, reply
from surehold.server.service import Service

_LEAST, _QUERIES, _REPEATS = 1_000, 300, 20
Size = Annotated[int, Field(ge=10, le=MOST_RECORDS)]
Attack = create_model("Attack", name=str, kind=str, source=str, about=str)
Lab = create_model("Lab", contest=LabStatus, attackers=list[Attack], sizes=dict[str, int])  # type: ignore[valid-type]

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["keep"])


class LabBody(Body):
    """A contest to play. The plan of a dataset with the noise guard has its sizes."""

    attacks: list[Annotated[str, Field(max_length=40)]] = Field(min_length=1, max_length=100)
    queries: int | None = Field(default=None, ge=2, le=MOST_QUERIES)
    repeats: int = Field(default=_REPEATS, ge=1, le=MOST_REPEATS)
    n0: Size | None = Field(default=None, description="Records at the first query.")
    n: Size | None = Field(default=None, description="Records at the last query.")


@router.get("/lab", openapi_extra=CUSTODIAN, responses=gives(Lab, *USUAL))
def lab(service: Served) -> Reply:
    """Return the attackers, the usual sizes of a contest, and how far the last one is."""
    status = service.limits.contests.status(_key(service))
    sizes = {**_sizes(service), "repeats": _REPEATS}
    attackers = list(_attackers().values())
    return reply({"contest": status.to_dict(), "attackers": attackers, "sizes": sizes})


@router.post("/lab", openapi_extra=CUSTODIAN, responses=gives(LabStatus, *WITH_BODY))
def play(body: LabBody, service: Served) -> Reply:
    """Let attackers loose on this dataset's guard. Free: records are made up, none is read.

    One contest runs at a time on a server, for at most ten minutes.
    """
    for name in body.attacks:
        if name not in _attackers():
            raise InvalidInput("attack", f"one of {', '.join(_attackers())}", name)
    sizes = _sizes(service)
    plan = service.dataset.plan if service.dataset.guard == "noise" else None
    if plan is None:
        n0 = body.n0 or sizes["n0"]
        sizes |= {"n0": n0, "n": body.n or max(sizes["n"], n0)}
    elif body.n0 is not None or body.n is not None:
        raise InvalidInput("n0 and n", "left out: the plan has them", "given")
    sizes["queries"] = body.queries or sizes["queries"]
    beta = service.dataset.status().beta
    wanted = Wanted(tuple(body.attacks), repeats=body.repeats, beta=beta, plan=plan, **sizes)
    return reply(service.limits.contests.start(_key(service), wanted))


@router.delete("/lab", openapi_extra=CUSTODIAN, responses=gives(LabStatus, *USUAL, 404))
def cancel(service: Served) -> Reply:
    """Cancel the contest of this dataset."""
    contests, key = service.limits.contests, _key(service)
    if contests.status(key).state != "running":
        raise RequestRefused(
            404, "no contest of this dataset is running", "POST /v1/lab starts one"
        )
    return reply(contests.cancel(key))


def _key(service: Service) -> str:
    return str(service.dataset.path)


def _sizes(service: Service) -> dict[str, int]:
    """Return the usual sizes: those of the plan, or of the dataset as it is and twice that."""
    dataset = service.dataset
    if dataset.guard == "noise":
        plan = dataset.plan
        n0, n = (plan.n if plan.batches == 1 else plan.n0), plan.n
        most = max(plan.queries, 2)
    else:
        n0 = min(max(dataset.status().n, _LEAST), MOST_RECORDS // 2)
        n, most = 2 * n0, _QUERIES
    return {"n0": n0, "n": n, "queries": max(min(_QUERIES, most, MOST_CELLS // n), 2)}


@cache
def _attackers() -> dict[str, Any]:
    from surehold.lab import rendering  # the lab loads scipy, which a service can start without

    return {one["name"]: one for one in rendering.list_known()["attackers"]}
