"""The routes at the root of a server: its datasets, and the tokens that cover several of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import Field, create_model
from starlette.requests import Request

from surehold import __version__
from surehold.server.access import check_keeper
from surehold.server.auth import ANY, CUSTODIAN, Called, GuardedRoute
from surehold.server.host import Listed
from surehold.server.routes.session import Hosted
from surehold.server.routes.tokens import (
    Created,
    TokenBody,
    TokenId,
    Tokens,
    create_token,
    list_tokens,
    revoke_token,
)
from surehold.server.schemas import (
    USUAL,
    WITH_BODY,
    Body,
    ExactNumber,
    Health,
    Reply,
    failures,
    gives,
    reply,
)
from surehold.server.tokens import Token, TokenBook

Datasets = create_model("Datasets", datasets=list[Listed])
Name = Annotated[str, Field(max_length=64)]

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["server"])
probes = APIRouter(route_class=GuardedRoute, tags=["run"])


class CreateBody(Body):
    """A dataset to create, with the arguments of `surehold.create`."""

    name: Name
    columns: dict[str, str] = Field(min_length=1, max_length=10_000)
    plan: dict[str, Any] | None = Field(default=None, description="For the noise guard.")
    beta: ExactNumber | None = Field(default=None, description="For the surprise guard.")
    claims: int | None = None
    limit: ExactNumber | None = None
    id: str | None = Field(default=None, max_length=128)


class ServerTokenBody(TokenBody):
    """A token that covers several datasets of the server."""

    datasets: list[Name] | None = Field(
        default=None, max_length=1000, description="Their names; all, and later ones, if left out."
    )


def book_of(host: Hosted, caller: Called) -> TokenBook:
    """Return the tokens of the server, for its custodian."""
    check_keeper(caller)
    assert host.book is not None
    return host.book


Book = Annotated[TokenBook, Depends(book_of)]


@probes.get("/readyz", responses={200: {"model": Health}, **failures(503)})
def readyz(request: Request) -> Reply:
    """Report that requests can be served: some dataset can be opened and written."""
    request.app.state.readiness.check()
    return reply({"status": "ready", "version": __version__})


@router.get("/datasets", openapi_extra=ANY, responses=gives(Datasets, *USUAL))
def datasets(host: Hosted, caller: Called, request: Request) -> Reply:
    """List the datasets that the caller has access to; `address` is the root of each."""
    root = request.scope.get("root_path", "")
    return reply({"datasets": [one.to_dict() for one in host.list(caller, root)]})


@router.post("/datasets", openapi_extra=CUSTODIAN, responses=gives(Listed, *WITH_BODY, 409))
def create(body: CreateBody, host: Hosted, caller: Called, request: Request) -> Reply:
    """Create a dataset without records, below the folder that is served."""
    check_keeper(caller)
    given = body.model_dump(exclude={"name"})
    host.create(body.name, **given)
    return reply(host.describe(body.name, caller, request.scope.get("root_path", "")))


@router.get("/tokens", openapi_extra=CUSTODIAN, responses=gives(Tokens, *USUAL))
def tokens(book: Book) -> Reply:
    """List the tokens that cover several datasets, and whether they are still valid."""
    return list_tokens(book)


@router.post("/tokens", openapi_extra=CUSTODIAN, responses=gives(Created, *WITH_BODY))
def create_for_several(body: ServerTokenBody, book: Book) -> Reply:
    """Create a token for several datasets. It is shown only in this response."""
    return create_token(book, body, body.datasets)


@router.delete("/tokens/{id}", openapi_extra=CUSTODIAN, responses=gives(Token, *USUAL, 404))
def revoke(id: TokenId, book: Book) -> Reply:
    """Revoke a token that covers several datasets, effective immediately."""
    return revoke_token(book, id)
