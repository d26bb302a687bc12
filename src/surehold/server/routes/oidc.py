"""Signing in with an account of an OpenID provider: the way there, and the way back."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from surehold.errors import InvalidInput, SureholdError
from surehold.server import cookie
from surehold.server.access import Caller, not_found
from surehold.server.attempt import Attempt, deny
from surehold.server.auth import GuardedRoute, address_of, site_of
from surehold.server.error_responses import error_response
from surehold.server.routes import page
from surehold.server.routes.session import Hosted
from surehold.server.schemas import failures

if TYPE_CHECKING:
    from surehold.server.provider import Provider

_SECONDS = 600
# Of this server: a path with no second slash, and nothing that a browser may take for one.
_OWN = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)
_LONGEST = 2000
_RESPONSES = {303: {"description": "Continue there."}, **failures(401, 403, 404, 422, 429, 503)}
Text = Annotated[str, Query(max_length=4000)]

router = APIRouter(prefix="/v1/oidc", route_class=GuardedRoute, tags=["session"])
logger = logging.getLogger("surehold.server")


@router.get("/start", status_code=303, responses=_RESPONSES, response_class=Response)
def start(
    request: Request, host: Hosted, then: Annotated[str, Query(max_length=_LONGEST)] = ""
) -> Response:
    """Go to the provider; `then` is the address here at which to continue afterwards."""
    base = host.settings.base_path
    then = then or f"{base}/"
    if not _OWN.fullmatch(then) or not then.startswith(f"{base}/"):
        raise InvalidInput("then", "a path of this server", then)
    provider, attempt = _provider(request, host), Attempt.begin(then)
    try:
        with site_of(request).limits.sign_ins.one(address_of(request)):
            response = _go(provider.address(attempt, _callback(request, provider)))
    except SureholdError as error:
        return _refusal(request, error)
    response.set_cookie(
        _name(request),
        str(attempt),
        max_age=_SECONDS,
        path=f"{base}/v1/oidc",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",  # the provider leads back here
    )
    return response


@router.get("/callback", status_code=303, responses=_RESPONSES, response_class=Response)
def finish(
    request: Request,
    host: Hosted,
    code: Text = "",
    state: Text = "",
    iss: Text | None = None,
    error: Text | None = None,
) -> Response:
    """Come back from the provider, which says who signed in."""
    provider = _provider(request, host)
    try:
        attempt = Attempt.read(request.cookies.get(_name(request)))
        attempt.check("state", state)
        if not _OWN.fullmatch(attempt.then):
            deny("the cookie of this attempt is damaged")
        if iss not in (None, provider.settings.issuer):
            deny("the response is another provider's")
        if error is not None or not code:
            deny("the provider has not signed you in")
        response = _sign_in(request, host, provider, code, attempt)
    except SureholdError as refusal:
        reason = getattr(refusal, "reason", type(refusal).__name__)
        logger.warning("sign-in refused", extra={"reason": reason})
        response = _refusal(request, refusal)
    response.delete_cookie(_name(request), path=f"{host.settings.base_path}/v1/oidc")
    return response


def _sign_in(
    request: Request, host: Hosted, provider: Provider, code: str, attempt: Attempt
) -> Response:
    """Create a session, which is a token like any other, for the person that a code proves."""
    assert host.sessions is not None
    with site_of(request).limits.sign_ins.one(address_of(request)):
        claims = provider.claims(code, attempt, _callback(request, provider))
    analyst, rule = provider.settings.admit(claims)
    token, text = host.sessions.create(
        analyst,
        rule.role,
        seconds=provider.settings.seconds(claims),
        limit=rule.limit,
        datasets=rule.datasets,
        account=str(claims["sub"])[:255],
    )
    request.scope["surehold.caller"] = Caller.of(token)
    response = _go(attempt.then)
    cookie.keep(response, request, host.settings, token, text)
    return response


def _provider(request: Request, host: Hosted) -> Provider:
    if host.provider is None:
        raise not_found()
    site_of(request).limits.strangers.take(address_of(request))
    return host.provider


def _callback(request: Request, provider: Provider) -> str:
    base = provider.settings.address or str(request.base_url)
    return f"{base.rstrip('/')}/v1/oidc/callback"


def _name(request: Request) -> str:
    return f"{cookie.name_of(request)}-attempt"


def _go(url: str) -> RedirectResponse:
    return RedirectResponse(url, 303)


def _refusal(request: Request, error: SureholdError) -> Response:
    """Return an error as a page to a browser, and as every other one to a program."""
    return page.refusal(request, error) or error_response(error)
