"""The session of a browser: signing in with a token, which then is in a cookie, and signing out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import create_model
from starlette.requests import Request

from surehold.errors import RequestRefused
from surehold.server import cookie
from surehold.server.access import Caller
from surehold.server.auth import ANY, HOST, Called, GuardedRoute, site_of
from surehold.server.host import Host
from surehold.server.schemas import USUAL, Reply, gives, reply
from surehold.server.tokens import Token

Session: Any = create_model("SignedIn", analyst=str, role=str, token=(Token | None, ...))

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["session"])


async def host_of(request: Request) -> Host:
    """Return the host of all datasets."""
    host: Host = request.scope[HOST]
    return host


Hosted = Annotated[Host, Depends(host_of)]


@router.get("/session", openapi_extra=ANY, responses=gives(Session, *USUAL))
async def session(caller: Called) -> Reply:
    """Return who is signed in; `token` is null where none is needed."""
    return _reply(caller)


@router.post("/session", openapi_extra=ANY, responses=gives(Session, *USUAL))
async def sign_in(request: Request, caller: Called) -> Reply:
    """Keep the token of this request in a cookie that no script can read, until the token ends."""
    response, given = _reply(caller), request.headers.get("authorization")
    if given is not None and caller.token is not None:
        text = given.partition(" ")[2].strip()
        cookie.keep(response, request, site_of(request).settings, caller.token, text)
    return response


@router.delete("/session", openapi_extra=ANY, responses=gives(Session, *USUAL, 404))
def sign_out(request: Request, caller: Called, host: Hosted) -> Reply:
    """Remove the cookie, and end the session of someone who signed in at a provider."""
    if cookie.name_of(request) not in request.cookies:
        raise RequestRefused(404, "this request has no cookie", "it is signed in nowhere")
    if caller.token is not None and caller.token.account is not None and host.sessions is not None:
        host.sessions.revoke(caller.token.id)
    response = _reply(caller)
    cookie.forget(response, request, site_of(request).settings)
    return response


def _reply(caller: Caller) -> Reply:
    token = None if caller.token is None else caller.token.to_dict()
    return reply({"analyst": caller.analyst, "role": caller.role, "token": token})
