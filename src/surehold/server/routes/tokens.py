"""The custodian's routes for tokens: creating, listing and revoking them."""

from __future__ import annotations

from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Path
from pydantic import Field, create_model

from surehold.errors import RequestRefused
from surehold.server.auth import CUSTODIAN, GuardedRoute, Served
from surehold.server.schemas import USUAL, WITH_BODY, Body, Finite, Reply, gives, reply
from surehold.server.tokens import Role, State, Token, TokenBook, parse_lifetime

TokenId = Annotated[str, Path(pattern="^[0-9a-f]{12}$")]
_FIELDS: dict[str, Any] = get_type_hints(Token)
_KEPT: Any = create_model("KeptToken", state=(State, ...), **_FIELDS)
Tokens = create_model("Tokens", tokens=(list[_KEPT], ...))
Created: Any = create_model("CreatedToken", token=(str, ...), **_FIELDS)

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["keep"])


class TokenBody(Body):
    """A token to create, with the options of `surehold token create`."""

    analyst: str = Field(min_length=1, max_length=200)
    role: Role = "analyst"
    expires: str = Field(
        default="90d", max_length=10, description="Lifetime: 12h, 30d, 8w or never."
    )
    limit: Finite | None = Field(
        default=None, description="What the analyst may spend: a share of the budget, or bits."
    )


@router.get("/tokens", openapi_extra=CUSTODIAN, responses=gives(Tokens, *USUAL))
def tokens(service: Served) -> Reply:
    """List all tokens of the dataset, and whether they are still valid."""
    return list_tokens(service.book)


@router.post("/tokens", openapi_extra=CUSTODIAN, responses=gives(Created, *WITH_BODY))
def create(body: TokenBody, service: Served) -> Reply:
    """Create a token. It is shown only in this response: the service keeps just its hash."""
    return create_token(service.book, body)


@router.delete("/tokens/{id}", openapi_extra=CUSTODIAN, responses=gives(Token, *USUAL, 404))
def revoke(id: TokenId, service: Served) -> Reply:
    """Revoke a token, effective immediately; it stays in the list."""
    return revoke_token(service.book, id)


def list_tokens(book: TokenBook) -> Reply:
    """Return the tokens in a book."""
    return reply({"tokens": [{**one.to_dict(), "state": book.state(one)} for one in book.tokens]})


def create_token(book: TokenBook, body: TokenBody, datasets: list[str] | None = None) -> Reply:
    """Create a token, and return it once."""
    seconds = parse_lifetime(body.expires)
    token, text = book.create(
        body.analyst, body.role, seconds=seconds, limit=body.limit, datasets=datasets
    )
    values: dict[str, Any] = {**token.to_dict(), "token": text}
    return reply(values)


def revoke_token(book: TokenBook, id: str) -> Reply:
    """Revoke the token of this ID."""
    if all(one.id != id for one in book.tokens):
        raise RequestRefused(404, "no token has this ID", "GET /v1/tokens lists them")
    return reply(book.revoke(id))
