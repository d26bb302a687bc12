"""The address of a service, its token, and the proxy on the way."""

from __future__ import annotations

import os
from urllib import request as environment

from urllib3.exceptions import HTTPError
from urllib3.util import Url, parse_url

from surehold.checks import is_loopback
from surehold.errors import InvalidInput

TOKEN = "SUREHOLD_TOKEN"
"""The environment variable for the token."""


def check_url(given: object) -> str:
    """Return the address of a service without a trailing slash; a path prefix is allowed."""
    required = "the address of a service, such as https://host or http://127.0.0.1:8750"
    if not isinstance(given, str):
        raise InvalidInput("url", required, type(given).__name__)
    try:
        url = parse_url(given.strip())
    except HTTPError:
        raise InvalidInput("url", required, given) from None
    if url.auth is not None:  # the message must not repeat a password
        hint = "use token=, or SUREHOLD_TOKEN"
        raise InvalidInput("url", required, "one with a name or a password in it", hint)
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise InvalidInput("url", required, given)
    return Url(url.scheme, None, url.host, url.port, (url.path or "").rstrip("/") or None).url


def check_token(given: object) -> str | None:
    """Return the token, or that of the environment; no message ever contains it."""
    if given is None:
        given = os.environ.get(TOKEN) or None
    if given is None:
        return None
    token = given.strip() if isinstance(given, str) else ""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        required = "one word of ASCII characters, as surehold token create gave it"
        raise InvalidInput("token", required, "something else")
    return token


def proxy_for(url: str) -> str | None:
    """Return the proxy from the usual environment variables; none for this machine."""
    parsed = parse_url(url)
    host, proxies = str(parsed.host), environment.getproxies_environment()
    bypassed = environment.proxy_bypass_environment  # type: ignore[attr-defined]  # and yet there
    if is_loopback(host) or bypassed(host, proxies):
        return None
    found = proxies.get(str(parsed.scheme)) or proxies.get("all")
    return found if found is None or "://" in found else f"http://{found}"
