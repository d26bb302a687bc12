"""The cookie of a browser that is signed in: it holds a token, which no script can read.

Pages of other sites cannot use it, because it is SameSite=Strict. Another origin of the same site,
such as another port of this host, can send it, but not read what comes back. So a request that may
change something needs more: the header X-Surehold-Page, which another origin may send only after a
preflight that this service never grants, and a Sec-Fetch-Site or Origin that is the service's own,
if the browser sends one.
"""

from __future__ import annotations

import time
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from surehold.errors import AccessDenied
from surehold.server.access import Access
from surehold.server.settings import Settings
from surehold.server.tokens import Token

PAGE = "X-Surehold-Page"
"""The header that the service's own page sends with every request."""
_LONGEST = 400 * 86_400  # seconds; browsers keep no cookie for longer
_READS = ("GET", "HEAD")


def authorization(request: Request, access: Access) -> str | None:
    """Return the Authorization header of a request or, if it has none, that of its cookie.

    A dataset that needs no token ignores a cookie that an earlier one left at the same address.
    """
    given = request.headers.get("authorization")
    text = None if given is not None else request.cookies.get(name_of(request))
    if text is None or access.is_open:
        return given
    if request.method not in _READS:
        _check_own_page(request)
    return f"Bearer {text}"


def name_of(request: Request) -> str:
    """Return the name of the cookie: browsers do not tell the ports of a host apart."""
    return f"surehold-{(request.scope.get('server') or ('', 0))[1]}"


def keep(response: Response, request: Request, settings: Settings, token: Token, text: str) -> None:
    """Sign a browser in until its token ends."""
    left: float = _LONGEST
    if token.expires is not None:
        left = datetime.fromisoformat(token.expires).timestamp() - time.time()
    response.set_cookie(
        name_of(request),
        text,
        max_age=max(0, min(int(left), _LONGEST)),
        path=settings.base_path or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def forget(response: Response, request: Request, settings: Settings) -> None:
    """Sign a browser out."""
    response.delete_cookie(
        name_of(request),
        path=settings.base_path or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def _check_own_page(request: Request) -> None:
    headers = request.headers
    site, host = headers.get("sec-fetch-site"), headers.get("host")
    own = {f"http://{host}", f"https://{host}"}
    # Behind a proxy that changes Host, an Origin is not comparable; browsers then say the site.
    is_own = set(headers.getlist("origin")) <= own if site is None else site == "same-origin"
    if PAGE not in headers or not is_own:
        reason = "a request that is authenticated by a cookie must come from the service's own page"
        raise AccessDenied(reason, "send the header Authorization: Bearer TOKEN", 403)
