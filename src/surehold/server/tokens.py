"""Tokens: callers, their roles, expiry and spending limits.

A token is 256 random bits, so its plain SHA-256 can be stored: there is nothing to guess, and no
slow hash is needed. Only the hash is stored. The part before the secret is the ID in the file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from surehold import files
from surehold.checks import check_number, check_share
from surehold.display import Shown
from surehold.errors import AccessDenied, InvalidInput, StorageFailed, SureholdError
from surehold.locks import waiting_lock
from surehold.session.keys import check_text
from surehold.session.results import when

Role: TypeAlias = Literal["viewer", "analyst", "custodian"]

ROLES: tuple[Role, ...] = ("viewer", "analyst", "custodian")
"""Each may do what the one before it may, and more: read, ask, append."""
FILE = "tokens.json"
_LOCK = "tokens.lock"
_WRITING = "writing the tokens"
_WRITTEN = re.compile("hf_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_NOBODY = hashlib.sha256(b"").hexdigest()
_ASK_FOR_ONE = "ask the custodian for one (surehold token create)"

State: TypeAlias = Literal["valid", "expired", "revoked"]
Unit: TypeAlias = Literal["share", "bits"]
_MOST: dict[Unit, float] = {"share": 1.0, "bits": 1e6}


@dataclass(frozen=True, repr=False)
class Token(Shown):
    """The stored part of a token, without its text. Times are text, in UTC.

    ``limit`` is what its analyst may spend in all: a share of the budget or, under the surprise
    guard, a number of bits; ``unit`` says which.
    """

    id: str
    analyst: str
    role: Role
    limit: float | None
    created: str
    expires: str | None
    revoked: str | None
    unit: Unit = "share"

    def state(self, now: float) -> State:
        """Whether it is valid at a time."""
        if self.revoked is not None:
            return "revoked"
        if self.expires is not None and datetime.fromisoformat(self.expires).timestamp() <= now:
            return "expired"
        return "valid"

    def __str__(self) -> str:
        of = "of the budget" if self.unit == "share" else "bits"
        limit = "" if self.limit is None else f", up to {self.limit:.4g} {of}"
        until = "" if self.expires is None else f", until {self.expires}"
        return f"{self.id}  {self.role} {self.analyst!r}{limit}{until}"


@dataclass(frozen=True)
class _Line:
    token: Token
    hash: str


class TokenBook:
    """The tokens of a dataset, in a file; a change takes effect with the next request.

    Its ``guard`` says what new limits are counted in.
    """

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.time, guard: str = "noise"
    ) -> None:
        self._path, self._lock = folder / FILE, folder / _LOCK
        self._clock = clock
        self._unit: Unit = "share" if guard == "noise" else "bits"
        self._mutex = threading.Lock()
        self._was_there = False
        self._seen: tuple[int, int, int] | None = None
        self._lines: dict[str, _Line] = {}

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens ever created, in order."""
        return tuple(line.token for line in self._read().values())

    @property
    def is_open(self) -> bool:
        """Whether no token is needed, because none was ever created."""
        return not self._read() and not self._was_there

    def state(self, token: Token) -> State:
        """Whether a token is valid now."""
        return token.state(self._clock())

    def create(
        self, analyst: str, role: Role, *, seconds: float | None, limit: float | None = None
    ) -> tuple[Token, str]:
        """Create a token; its text is shown only now. ``seconds`` of None never expire."""
        check_text("analyst", analyst)
        if role not in ROLES:
            raise InvalidInput("role", f"one of {', '.join(ROLES)}", role)
        if limit is not None and self._unit == "share":
            check_share("limit", limit)
        elif limit is not None:
            required = "a number of bits, above 0 and up to 10^6"
            check_number("limit", limit, required, lambda x: 0.0 < x <= _MOST["bits"])
        if limit is not None and role == "viewer":
            raise InvalidInput("limit", "left out for a viewer, who cannot spend", limit)
        if seconds is not None and not 0.0 < seconds < 1e10:
            raise InvalidInput("the time until it expires", "a positive one", seconds)
        now = self._clock()
        secret, number = secrets.token_urlsafe(32), secrets.token_hex(6)
        token = Token(
            id=number,
            analyst=analyst,
            role=role,
            limit=None if limit is None else float(limit),
            created=when(now),
            expires=None if seconds is None else when(now + seconds),
            revoked=None,
            unit=self._unit,
        )
        with waiting_lock(self._lock):
            self._write({**self._read(), number: _Line(token, _hash(secret))})
        return token, f"hf_{number}_{secret}"

    def limit_of(self, analyst: str) -> float | None:
        """Return what an analyst may spend: the smallest limit of their valid tokens."""
        limits = [
            line.token.limit
            for line in self._read().values()
            if line.token.analyst == analyst and line.token.limit is not None
            if self.state(line.token) == "valid"
        ]
        return min(limits, default=None)

    def revoke(self, number: str) -> Token:
        """Make a token invalid from now on; doing it twice changes nothing."""
        with waiting_lock(self._lock):
            lines = self._read()
            line = lines.get(number)
            if line is None:
                hint = "surehold token list shows them"
                raise InvalidInput("the token", "the id of a token of this dataset", number, hint)
            if line.token.revoked is None:
                revoked = replace(line.token, revoked=when(self._clock()))
                line = replace(line, token=revoked)
                self._write({**lines, number: line})
            else:
                files.sync_names(
                    self._path.parent, _WRITING
                )  # another process may have just written it
        return line.token

    def is_good(self, number: str) -> bool:
        """Whether the token of that ID is still valid."""
        line = self._read().get(number)
        return line is not None and self.state(line.token) == "valid"

    def find(self, text: str) -> Token:
        """Return the token that a text proves, or raise AccessDenied.

        Hashes are compared in constant time, and an unknown ID takes as long as a wrong secret.
        """
        match = _WRITTEN.fullmatch(text)
        number, secret = ("", "") if match is None else (match[1], match[2])
        line = self._read().get(number)
        is_right = hmac.compare_digest(_hash(secret), _NOBODY if line is None else line.hash)
        if line is None or not is_right:
            raise AccessDenied("the token is unknown", _ASK_FOR_ONE)
        state = line.token.state(self._clock())
        if state != "valid":
            why = "has expired" if state == "expired" else "was revoked"
            raise AccessDenied(f"the token {why}", _ASK_FOR_ONE)
        return line.token

    # ------------------------------------------------------------------------------- the file

    def _read(self) -> dict[str, _Line]:
        """Return the current tokens; the file is read again when it has changed."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            if self._was_there:  # deleting the file must not open the dataset
                raise _unreadable("it is gone") from None
            return {}
        except OSError as error:
            raise _unreadable(error.strerror or str(error)) from error
        self._was_there = True
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        with self._mutex:
            if seen != self._seen:
                self._lines = _parse(self._path)
                self._seen = seen
            return self._lines

    def _write(self, lines: Mapping[str, _Line]) -> None:
        kept = [{**line.token.to_dict(), "hash": line.hash} for line in lines.values()]
        text = json.dumps({"format": 1, "tokens": kept}, ensure_ascii=False, indent=1)
        files.write_file(self._path, text.encode(), _WRITING)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _parse(path: Path) -> dict[str, _Line]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["format"] != 1:
            raise ValueError("another format")
        return {line.token.id: line for line in map(_line, kept["tokens"])}
    except (SureholdError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(f"it cannot be read ({type(error).__name__})") from None


def _line(kept: Mapping[str, Any]) -> _Line:
    values = dict(kept)
    digest = values.pop("hash")
    token = Token(**values)
    limit = token.limit
    good = isinstance(digest, str) and len(digest) == 64 and token.role in ROLES
    if not good or not (limit is None or 0.0 < limit <= _MOST[token.unit]):
        raise ValueError("not a token")
    for text in (token.created, token.expires, token.revoked):
        if text is not None and datetime.fromisoformat(text).tzinfo is not UTC:
            raise ValueError("not a time")
    return _Line(token, digest)


def _unreadable(reason: str) -> StorageFailed:
    """Return the error for an unreadable file: no caller can be authenticated without it."""
    return StorageFailed(f"reading {FILE}", reason, "all access is denied until it is repaired")
