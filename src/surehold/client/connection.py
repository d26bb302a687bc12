"""Requests to a service, which return dictionaries or raise Surehold's own errors.

A request is repeated only if that cannot do anything twice: because it changes nothing, because a
key or a round makes it the same request, or because it was never sent.
"""

from __future__ import annotations

import email.utils
import http.client
import itertools
import json
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar
from urllib.parse import urlencode

import urllib3
from urllib3 import exceptions as broken

from surehold import __version__
from surehold.client.address import proxy_for
from surehold.client.decoding import Unreadable, error_of
from surehold.errors import AccessDenied, InvalidInput, ServiceFailed

T = TypeVar("T")

MOST_BYTES = 1 << 28
"""No service sends a longer response."""
_CHUNK = 1 << 16
_CONNECTIONS = 32
_SECONDS_TO_CONNECT = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_LONGEST_WAIT = 60.0  # a service that says to come back later than that is not waited for
_BUSY = (429, 502, 503, 504)
_UNSENT = (broken.NewConnectionError, broken.ConnectTimeoutError, broken.ProxyError)
_IS_THERE = "check that surehold serve is running there, on this port"


@dataclass(frozen=True)
class Request:
    """A request: ``body`` is sent as JSON, ``content`` (which may be a file) unchanged.

    ``doing`` describes its purpose. ``is_repeatable`` means that sending it twice has the same
    effect as sending it once; ``if_lost`` is what the caller must know if it may have arrived
    without a response.
    """

    method: str
    path: str
    doing: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: bytes | Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = True
    if_lost: str = ""


class _Broken(Exception):
    """No response; ``is_unsent`` if the request was never sent, ``is_final`` if it cannot be."""

    def __init__(self, reason: str, *, is_unsent: bool = False, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_unsent, self.is_final = is_unsent, is_final


@dataclass(frozen=True)
class _Reply:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def wait(self) -> float | None:
        """Return the number of seconds that the service asks us to wait."""
        said = self.headers.get("Retry-After", "")
        if said.isascii() and said.isdecimal() and len(said) < 10:
            return float(said)
        try:
            return max(email.utils.parsedate_to_datetime(said).timestamp() - time.time(), 0.0)
        except (TypeError, ValueError, OverflowError):
            return None


class Connection:
    """A connection to one service, for any number of threads."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self.url = url
        self._timeout, self._retries = timeout, retries
        self._headers = {"Accept": "application/json", "User-Agent": f"surehold/{__version__}"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._made: tuple[int, urllib3.PoolManager] | None = None

    def __repr__(self) -> str:
        return f"<connection to {self.url}>"

    def get(self, path: str, doing: str, read: Callable[[Any], T], **query: Any) -> T:
        """Get and decode what is at a path; arguments that are None are left out."""
        return self.fetch(Request("GET", path, doing, query=query), read)

    def fetch(self, request: Request, read: Callable[[Any], T]) -> T:
        """Send a request and convert the response to the library's objects."""
        values = self.send(request)
        try:
            return read(values)
        except (Unreadable, InvalidInput) as error:  # the service's fault
            hint = "the service may be another version of surehold"
            raise self._failure(request.doing, str(error), hint) from None

    def send(self, request: Request) -> dict[str, Any]:
        """Return the object in the response, or raise the error."""
        for attempt in itertools.count():
            is_last = attempt >= self._retries
            wait = _pause(attempt)
            try:
                reply = self._send_once(request)
            except _Broken as lost:
                may_repeat = (lost.is_unsent or request.is_repeatable) and not lost.is_final
                if is_last or not may_repeat:
                    self._fail(request, str(lost), lost.is_unsent, lost)
            else:
                wait = wait if reply.wait is None else reply.wait
                is_busy = reply.status in _BUSY and wait <= _LONGEST_WAIT
                # A request that was rate limited was not looked at: nothing was done.
                may_repeat = request.is_repeatable or reply.status == 429
                if is_last or not is_busy or not may_repeat:
                    return self._read(request, reply)
            time.sleep(wait)
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._made is not None:
            self._made[1].clear()

    def _pool(self) -> urllib3.PoolManager:
        """Return the connections of this process; two processes on one would mix up responses."""
        if self._made is None or self._made[0] != os.getpid():
            proxy = proxy_for(self.url)
            made = urllib3.PoolManager if proxy is None else partial(urllib3.ProxyManager, proxy)
            self._made = (os.getpid(), made(maxsize=_CONNECTIONS))
        return self._made[1]

    # ------------------------------------------------------------------------------- once

    def _send_once(self, request: Request) -> _Reply:
        given = {name: _text(value) for name, value in request.query.items() if value is not None}
        address = f"{self.url}{request.path}{'?' if given else ''}{urlencode(given)}"
        connect = min(self._timeout, _SECONDS_TO_CONNECT)
        try:
            with _content(request) as (body, headers):
                response = self._pool().request(
                    request.method,
                    address,
                    body=body,
                    headers={**self._headers, **headers, **request.headers},
                    timeout=urllib3.Timeout(connect=connect, read=self._timeout),
                    retries=False,
                    redirect=False,
                    preload_content=False,
                    decode_content=False,
                )
            return self._receive(response)
        except _UNSENT as error:
            reason = f"no connection ({_describe(error)})"
            raise _Broken(reason, is_unsent=True) from error
        except (broken.ReadTimeoutError, TimeoutError) as error:
            raise _Broken("no response came in time", is_final=True) from error
        except broken.SSLError as error:
            is_unsent = isinstance(error.args[0], ssl.SSLCertVerificationError)
            raise _Broken(f"TLS: {_describe(error)}", is_unsent=is_unsent, is_final=True) from error
        except (broken.HTTPError, http.client.HTTPException, OSError, ValueError) as error:
            raise _Broken(f"the connection broke ({_describe(error)})") from error

    def _receive(self, response: urllib3.BaseHTTPResponse) -> _Reply:
        """Read the whole response, unless it is too long or takes too long."""
        deadline = time.monotonic() + self._timeout
        declared = response.headers.get("Content-Length", "")
        size = int(declared) if declared.isdecimal() and len(declared) < 20 else 0
        received = bytearray()
        try:
            while size <= MOST_BYTES and (part := response.read1(_CHUNK)):
                received += part
                size = max(size, len(received))
                if time.monotonic() > deadline:
                    reason = f"it was still coming after {self._timeout:g} seconds"
                    raise _Broken(reason, is_final=True)
            if size > MOST_BYTES:
                raise _Broken(f"more than {MOST_BYTES:,} bytes came back", is_final=True)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return _Reply(response.status, response.headers, bytes(received))

    # ---------------------------------------------------------------------------- reading

    def _read(self, request: Request, reply: _Reply) -> dict[str, Any]:
        if 300 <= reply.status < 400:
            place = reply.headers.get("Location", "another place")
            self._fail(request, f"it redirects to {place[:200]!r}", is_unsent=True)
        values = _object(reply)
        if values is None:
            kind = reply.headers.get("Content-Type", "no type")[:60]
            self._fail(request, f"HTTP {reply.status} with {kind!r} came back, not a JSON object")
        if reply.status < 300:
            return values
        error = error_of(reply.status, values, reply.wait)
        if error is None:
            self._fail(request, f"HTTP {reply.status} came back without saying why")
        if reply.status == 401 and "Authorization" not in self._headers:
            hint = "set SUREHOLD_TOKEN, or use --token-file, or token= in Python"
            raise AccessDenied("this service needs a token, and none was given", hint)
        raise error

    def _fail(
        self,
        request: Request,
        reason: str,
        is_unsent: bool = False,
        cause: BaseException | None = None,
    ) -> NoReturn:
        hint = request.if_lost if request.if_lost and not is_unsent else _IS_THERE
        raise self._failure(request.doing, reason, hint) from cause

    def _failure(self, doing: str, reason: str, hint: str) -> ServiceFailed:
        return ServiceFailed(f"{doing} at {self.url}", reason, hint)


@contextmanager
def _content(request: Request) -> Iterator[tuple[bytes | IO[bytes] | None, dict[str, str]]]:
    if request.body is not None:
        text = json.dumps(request.body, allow_nan=False)
        yield text.encode(), {"Content-Type": "application/json"}
    elif isinstance(request.content, Path):
        with request.content.open("rb") as file:
            yield file, {"Content-Length": str(request.content.stat().st_size)}
    else:
        yield request.content, {}


def _object(reply: _Reply) -> dict[str, Any] | None:
    kind = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return None
    try:
        values = json.loads(reply.content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pause(attempt: int) -> float:
    """Wait longer each time; the clock's last digits keep clients from synchronising."""
    longest = min(_FIRST_PAUSE * 2.0**attempt, _LONGEST_PAUSE)
    return (0.5 + time.monotonic_ns() % 1000 / 2000.0) * longest


def _describe(error: BaseException) -> str:
    """Describe a failure in one line, without the object that urllib3 prepends."""
    inner = getattr(error, "original_error", None) or error
    text = " ".join(str(inner).split()).rpartition(">: ")[2].rpartition("): ")[2]
    return (text or type(inner).__name__)[:200]
