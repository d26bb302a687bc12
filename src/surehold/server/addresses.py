"""Addresses: where a service may listen, and under which names it answers."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from surehold.checks import is_loopback
from surehold.errors import AccessDenied, InvalidInput, StorageFailed

_PASSED_ON = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine in browsers."""
_LAST_PORT = 65_535


def check_address(host: str, is_open: bool, exposed: bool) -> None:
    """Refuse to listen where others can connect, unless they need tokens and --expose was given."""
    if is_loopback(host):
        return
    if is_open:
        hint = "create tokens first (surehold token create), or leave --host out"
        raise InvalidInput("--host", "a loopback address while there are no tokens", host, hint)
    if not exposed:
        hint = "add --expose if others may reach it, and put TLS in front of it"
        raise InvalidInput("--host", "a loopback address, or given with --expose", host, hint)


def check_proxies(given: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses of proxies whose forwarded headers are trusted."""
    for one in given:
        try:
            ip_address(one)
        except ValueError:
            required = "the IP address of a proxy, such as 127.0.0.1"
            raise InvalidInput("--proxy", required, one) from None
    return tuple(given)


def check_alert_url(url: str, is_plain_allowed: bool) -> str:
    """Return the address of a webhook: https, or of this machine, or any http if allowed."""
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    with suppress(LocationParseError):
        parsed = parse_url(url)
        is_private = parsed.scheme == "https" or is_plain_allowed or is_loopback(parsed.host or "")
        if parsed.scheme in ("http", "https") and parsed.host and is_private:
            return url
    hint = "or add --alert-plain-http, if the network in between is yours"
    required = "an address that begins with https://, or one of this machine"
    raise InvalidInput("--alert-url", required, "another one", hint)  # which may have a secret


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket: its port is known, and clients may connect from now on."""
    if not 0 <= port <= _LAST_PORT:
        raise InvalidInput("--port", f"from 0 to {_LAST_PORT}", port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
        # Connections inherit it. asyncio sets it only where a socket names its protocol, and this
        # one does not: each response would wait 40 ms for the client's acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "choose another --host or --port"
        raise StorageFailed(f"listening on {host}, port {port}", reason, hint) from error


def address_of(listener: socket.socket) -> str:
    """Return the address to open in a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_near(headers: Headers) -> None:
    """Without tokens, admit only this machine under its own name: no foreign page, no proxy.

    A page whose name resolves to this machine (DNS rebinding) is refused by its Host, one of
    another origin by its Origin or Sec-Fetch-Site, and a proxy by the headers that it adds.
    """
    host = headers.get("host")
    is_near = _name_in(f"//{host}") in LOOPBACK
    is_own = set(headers.getlist("origin")) <= {f"http://{host}", f"https://{host}"}
    is_own = is_own and headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    is_passed_on = any(name in headers for name in _PASSED_ON)
    if not is_near or not is_own or is_passed_on:
        hint = "use http://127.0.0.1, or create tokens (surehold token create)"
        raise AccessDenied("without tokens a service admits this machine only", hint, 403)


def _name_in(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
