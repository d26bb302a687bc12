"""Access: who calls, with which role, and to which datasets of a server a token gives access."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from surehold.errors import AccessDenied, RequestRefused, StorageFailed
from surehold.server.limits import Rates
from surehold.server.tokens import ASK_FOR_ONE, Role, Token, TokenBook

Need: TypeAlias = Literal["any", "viewer", "submitter", "analyst", "appender", "custodian"]
"""What a route needs: one of the roles, or any of them."""

_MAY: dict[Role, tuple[Need, ...]] = {
    "viewer": ("any", "viewer"),
    "submitter": ("any", "submitter"),
    "analyst": ("any", "viewer", "submitter", "analyst"),
    "appender": ("any", "appender"),
    "custodian": ("any", "viewer", "submitter", "analyst", "appender", "custodian"),
}


@dataclass(frozen=True)
class Caller:
    """The sender of a request; ``token`` is None where no token is needed."""

    analyst: str
    role: Role
    token: Token | None = None

    @classmethod
    def of(cls, token: Token) -> Caller:
        """Return the caller that a token identifies."""
        return cls(token.analyst, token.role, token)

    @property
    def name(self) -> str:
        """Return the name in rate limits and logs."""
        return "anybody" if self.token is None else self.token.id


STRANGER = Caller("nobody", "viewer")
"""The caller of a public leaderboard without a token."""
ANYBODY = Caller("analyst", "analyst")
"""The caller of a dataset without tokens, which is served on this machine only."""


def check_role(caller: Caller, needed: Need) -> None:
    """Refuse callers whose role does not allow this."""
    if needed not in _MAY[caller.role]:
        reason = f"it takes the role {needed}, and yours is {caller.role}"
        hint = "ask the custodian for another token"
        if caller.token is None:
            hint = f"make one: surehold token create DATASET --analyst NAME --role {needed}"
        raise AccessDenied(reason, hint, 403)


def check_keeper(caller: Caller) -> None:
    """Refuse all but custodians of the whole server."""
    if caller.token is None or not caller.token.covers(None):
        reason = "it takes a custodian's token that covers all datasets of the server"
        hint = "create one in the folder that is served: surehold token create ROOT"
        raise AccessDenied(reason, hint, 403)


class Access:
    """Authenticates the callers of one dataset by the tokens in its book."""

    def __init__(self, book: TokenBook, strangers: Rates) -> None:
        self._book, self._strangers = book, strangers

    def admit(self, header: str | None, address: str) -> Caller:
        """Authenticate the caller by an Authorization header; failed attempts are rate limited."""
        try:
            text = _bearer(header)
            return self._admit_anybody() if text is None else Caller.of(self._find(text))
        except (AccessDenied, RequestRefused):
            self._strangers.take(address)
            raise

    @property
    def is_open(self) -> bool:
        """Whether callers on this machine need no token, because none was ever created."""
        return self._book.is_open

    def covers(self, caller: Caller) -> bool:
        """Whether a caller who was admitted, here or elsewhere on the server, has access now."""
        if caller.token is None:
            return self.is_open
        return self._book.is_good(caller.token.id)

    def _admit_anybody(self) -> Caller:
        if self.is_open:
            return ANYBODY
        raise _no_token()

    def _find(self, text: str) -> Token:
        return self._book.find(text)


@dataclass(frozen=True)
class Books:
    """The tokens of a server with several datasets.

    ``server`` has those that cover several datasets, if the server has a folder of its own.
    ``each`` returns the books of all datasets. With ``is_exposed`` other machines can connect, so
    that everybody needs a token.
    """

    server: TokenBook | None
    each: Callable[[], Iterable[TokenBook]]
    is_exposed: bool = False

    @property
    def may_be_open(self) -> bool:
        """Whether datasets without tokens of their own need none."""
        return not self.is_exposed and (self.server is None or self.server.is_open)

    def find_of_server(self, text: str) -> Token | None:
        """Return the token of the server that a text proves; None if the server has none such."""
        known = self.server is not None and self.server.knows(text)
        return self.server.find(text) if known and self.server is not None else None

    def find_elsewhere(self, text: str) -> Token:
        """Return the token of any dataset that a text proves, or raise AccessDenied."""
        for book in self.each():
            with suppress(StorageFailed):  # one damaged book must not lock out all others
                if book.knows(text):
                    return book.find(text)
        raise AccessDenied("the token is unknown", ASK_FOR_ONE)


class HostedAccess(Access):
    """Access to one of several datasets of a server, or to a name that none of them has.

    Callers without access cannot tell one from the other: they get the same 404 with a token that
    is valid elsewhere on the server, and otherwise the same 401. So the one whose book is damaged
    responds to them like all others.
    """

    def __init__(self, name: str, book: TokenBook | None, books: Books, strangers: Rates) -> None:
        self._name, self._own, self._books, self._strangers = name, book, books, strangers

    @property
    def is_open(self) -> bool:
        """Whether callers on this machine need no token, because none was ever created."""
        with suppress(StorageFailed):
            return self._own is not None and self._books.may_be_open and self._own.is_open
        return False

    def covers(self, caller: Caller) -> bool:
        """Whether a caller who was admitted, here or elsewhere on the server, has access now."""
        token, server = caller.token, self._books.server
        if token is None or self._own is None:
            return self.is_open
        if server is not None and server.is_good(token.id):
            return token.covers(self._name)
        with suppress(StorageFailed):
            return self._own.is_good(token.id)
        return False

    def _admit_anybody(self) -> Caller:
        if self.is_open:
            return ANYBODY
        if self._own is None and self._is_all_open():
            raise not_found()
        raise _no_token()

    def _is_all_open(self) -> bool:
        with suppress(StorageFailed):
            return self._books.may_be_open and all(one.is_open for one in self._books.each())
        return False

    def _find(self, text: str) -> Token:
        token = self._books.find_of_server(text)
        if token is None:
            with suppress(StorageFailed):
                if self._own is not None and self._own.knows(text):
                    return self._own.find(text)
            self._books.find_elsewhere(text)
        elif self._own is not None and token.covers(self._name):
            return token
        raise not_found()


class FrontAccess(Access):
    """Access to what a server with several datasets shows at its root, with any token of it."""

    def __init__(self, books: Books, strangers: Rates) -> None:
        self._books, self._strangers = books, strangers

    @property
    def is_open(self) -> bool:
        """Whether some dataset needs no token."""
        if not self._books.may_be_open:
            return False
        found = list(self._books.each())
        return not found or any(map(_is_open, found))

    def _admit_anybody(self) -> Caller:
        if self.is_open:
            return ANYBODY
        raise _no_token("server")

    def _find(self, text: str) -> Token:
        return self._books.find_of_server(text) or self._books.find_elsewhere(text)


def _is_open(book: TokenBook) -> bool:
    with suppress(StorageFailed):
        return book.is_open
    return False


def not_found() -> RequestRefused:
    """Return what every address that a caller may not know of responds with."""
    return RequestRefused(404, "nothing is at this address", "see /openapi.json for what there is")


def _no_token(what: str = "dataset") -> AccessDenied:
    hint = "send the header Authorization: Bearer TOKEN"
    return AccessDenied(f"this {what} needs a token", hint)


def _bearer(header: str | None) -> str | None:
    """Return the token in an Authorization header."""
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        raise AccessDenied("the Authorization header is not Bearer TOKEN", "send Bearer TOKEN")
    return token.strip()
