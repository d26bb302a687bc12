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
from collections.abc import Callable, Mapping, Sequence
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

Role: TypeAlias = Literal["viewer", "submitter", "analyst", "appender", "custodian"]

ROLES: tuple[Role, ...] = ("viewer", "submitter", "analyst", "appender", "custodian")
"""A viewer reads, an analyst also asks; a submitter only submits to the leaderboard, an appender
only appends; a custodian does everything."""
_SPENDERS = ("submitter", "analyst", "custodian")
EVERY = "*"
"""In the list of datasets that a token covers: all of the server, later ones included."""
FILE = "tokens.json"
_LOCK = "tokens.lock"
_WRITING = "writing the tokens"
_WRITTEN = re.compile("hf_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_NAME = re.compile("[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", re.ASCII)
_MOST_DATASETS = 1000
_LISTED = 30 * 86_400.0  # seconds that an ended session stays in the list
_MOST_SESSIONS = 20  # of one account; the oldest make way
_NOBODY = hashlib.sha256(b"").hexdigest()
ASK_FOR_ONE = "ask the custodian for one (surehold token create)"

State: TypeAlias = Literal["valid", "expired", "revoked"]
Unit: TypeAlias = Literal["share", "bits"]
_MOST: dict[Unit, float] = {"share": 1.0, "bits": 1e6}


@dataclass(frozen=True, repr=False)
class Token(Shown):
    """The stored part of a token, without its text. Times are text, in UTC.

    ``limit`` is what its analyst may spend in all: a share of the budget or, under the surprise
    guard, a number of bits; ``unit`` says which. ``datasets`` are the names of those that a token
    of a server covers, or ``*`` for all; None for a token of one dataset. ``account`` is that of a
    person who signed in at a provider, for the session that this token then is.
    """

    id: str
    analyst: str
    role: Role
    limit: float | None
    created: str
    expires: str | None
    revoked: str | None
    unit: Unit = "share"
    datasets: tuple[str, ...] | None = None
    account: str | None = None

    def covers(self, name: str | None) -> bool:
        """Whether it is a token of a server that covers a dataset; without a name, all of them."""
        return self.datasets is not None and (EVERY in self.datasets or name in self.datasets)

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
        where = "" if self.datasets is None else f" on {_describe(self.datasets)}"
        how = "" if self.account is None else ", signed in"
        return f"{self.id}  {self.role} {self.analyst!r}{where}{limit}{how}{until}"


@dataclass(frozen=True)
class _Line:
    token: Token
    hash: str


class TokenBook:
    """The tokens of a dataset or a server, in a file; a change takes effect with the next request.

    The ``guard`` of its dataset says what new limits are counted in; the book of a server has none.
    """

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.time, guard: str | None = "noise"
    ) -> None:
        self._path, self._lock = folder / FILE, folder / _LOCK
        self._clock = clock
        self._unit: Unit = "bits" if guard == "surprise" else "share"
        self._is_server = guard is None
        self._mutex = threading.Lock()
        self._was_there = False
        self._seen: tuple[int, int, int] | None = None
        self._lines: dict[str, _Line] = {}

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens ever created, in order; sessions that ended long ago are removed."""
        return tuple(line.token for line in self._read().values())

    @property
    def is_open(self) -> bool:
        """Whether no token is needed, because none was ever created."""
        return not self._read() and not self._was_there

    def require(self) -> None:
        """Require a token from now on, as if one had been created."""
        with waiting_lock(self._lock):
            if self.is_open:
                self._write({})

    def state(self, token: Token) -> State:
        """Whether a token is valid now."""
        return token.state(self._clock())

    def check(
        self, role: Role, limit: float | None, datasets: Sequence[str] | None
    ) -> tuple[str, ...] | None:
        """Check what a new token is to allow, and return the datasets that it covers."""
        if role not in ROLES:
            raise InvalidInput("role", f"one of {', '.join(ROLES)}", role)
        if limit is not None:
            self._check_limit(limit, role)
        return self._check_datasets(datasets)

    def create(
        self,
        analyst: str,
        role: Role,
        *,
        seconds: float | None,
        limit: float | None = None,
        datasets: Sequence[str] | None = None,
        account: str | None = None,
    ) -> tuple[Token, str]:
        """Create a token; its text is shown only now. ``seconds`` of None never expire."""
        check_text("analyst", analyst)
        covered = self.check(role, limit, datasets)
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
            datasets=covered,
            account=account,
        )
        with waiting_lock(self._lock):
            kept = {id: one for id, one in self._read().items() if not _is_old(one.token, now)}
            own = [id for id, one in kept.items() if account and one.token.account == account]
            for id in own[: max(0, len(own) + 1 - _MOST_SESSIONS)]:
                del kept[id]
            self._write({**kept, number: _Line(token, _hash(secret))})
        return token, f"hf_{number}_{secret}"

    def _check_limit(self, limit: float, role: Role) -> None:
        if self._is_server:
            hint = "create a token of that dataset for the same analyst: its limit counts for both"
            raise InvalidInput("limit", "left out for a token of a server", limit, hint)
        if self._unit == "share":
            check_share("limit", limit)
        else:
            required = "a number of bits, above 0 and up to 10^6"
            check_number("limit", limit, required, lambda x: 0.0 < x <= _MOST["bits"])
        if role not in _SPENDERS:
            article = "an" if role == "appender" else "a"
            raise InvalidInput("limit", f"left out for {article} {role}, who cannot spend", limit)

    def _check_datasets(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if not self._is_server:
            if names is not None:
                hint = "create it for the folder that holds them (surehold serve --root)"
                raise InvalidInput("datasets", "left out for a token of one dataset", names, hint)
            return None
        chosen = (EVERY,) if names is None else tuple(dict.fromkeys(names))
        for name in chosen:
            if name != EVERY:
                check_name(name)
        if not chosen or len(chosen) > _MOST_DATASETS:
            raise InvalidInput("datasets", f"1 to {_MOST_DATASETS:,} names", len(chosen))
        return chosen

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

    def knows(self, text: str) -> bool:
        """Whether the token that a text names, rightly or not, is in the book."""
        match = _WRITTEN.fullmatch(text)
        return match is not None and match[1] in self._read()

    def find(self, text: str) -> Token:
        """Return the token that a text proves, or raise AccessDenied.

        Hashes are compared in constant time, and an unknown ID takes as long as a wrong secret.
        """
        match = _WRITTEN.fullmatch(text)
        number, secret = ("", "") if match is None else (match[1], match[2])
        line = self._read().get(number)
        is_right = hmac.compare_digest(_hash(secret), _NOBODY if line is None else line.hash)
        if line is None or not is_right:
            raise AccessDenied("the token is unknown", ASK_FOR_ONE)
        state = line.token.state(self._clock())
        if state != "valid":
            why = "has expired" if state == "expired" else "was revoked"
            raise AccessDenied(f"the token {why}", ASK_FOR_ONE)
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
        kept = [{**_to_kept(line.token), "hash": line.hash} for line in lines.values()]
        text = json.dumps({"format": 1, "tokens": kept}, ensure_ascii=False, indent=1)
        files.write_file(self._path, text.encode(), _WRITING)


def parse_lifetime(text: str) -> float | None:
    """Return the seconds of a duration such as 30d, 12h or 2w; None for never."""
    if text == "never":
        return None
    match = _DURATION.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise InvalidInput("expires", "a duration such as 30d, 12h or 2w, or never", text)
    return float(int(match[1]) * _UNITS[match[2]])


def is_name(text: str) -> bool:
    """Whether a text can be the name of a dataset on a server."""
    return _NAME.fullmatch(text) is not None


def check_name(name: object) -> str:
    """Return the name of a dataset on a server: a part of its address, and of its folder's path."""
    if not isinstance(name, str) or not is_name(name):
        required = "1 to 64 letters, digits, points, dashes and underscores, the first no point"
        raise InvalidInput("the name", required, name if isinstance(name, str) else None)
    return name


def _describe(datasets: Sequence[str]) -> str:
    return "all datasets" if EVERY in datasets else ", ".join(datasets)


def _is_old(token: Token, now: float) -> bool:
    """Whether it is a session that ended long ago: each person starts one or two a day."""
    ends = [datetime.fromisoformat(x).timestamp() for x in (token.expires, token.revoked) if x]
    return token.account is not None and min(ends, default=now) < now - _LISTED


def _to_kept(token: Token) -> dict[str, Any]:
    """Return what the file has; earlier versions can read the tokens of a dataset."""
    new = ("datasets", "account")
    return {name: one for name, one in token.to_dict().items() if name not in new or one}


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
    digest, names = values.pop("hash"), values.pop("datasets", None)
    token = Token(**values, datasets=None if names is None else tuple(names))
    limit = token.limit
    good = isinstance(digest, str) and len(digest) == 64 and token.role in ROLES
    good = good and isinstance(token.account, str | None)
    good = good and isinstance(names, list | None) and all(isinstance(x, str) for x in names or ())
    if not good or not (limit is None or 0.0 < limit <= _MOST[token.unit]):
        raise ValueError("not a token")
    for text in (token.created, token.expires, token.revoked):
        if text is not None and datetime.fromisoformat(text).tzinfo is not UTC:
            raise ValueError("not a time")
    return _Line(token, digest)


def _unreadable(reason: str) -> StorageFailed:
    """Return the error for an unreadable file: no caller can be authenticated without it."""
    return StorageFailed(f"reading {FILE}", reason, "all access is denied until it is repaired")
