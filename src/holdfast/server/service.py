"""The service: one dataset, and who asks it. It translates nothing; routes do."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from holdfast.errors import AccessDenied
from holdfast.queries import Query
from holdfast.server.rates import Rates
from holdfast.server.settings import Settings
from holdfast.server.tokens import ROLES, Role, Token, TokenBook
from holdfast.server.turns import Turns
from holdfast.session import Dataset, Limit, Session, Verification
from holdfast.shown import Shown

_MOST_SESSIONS = 1000
INCOMING = "incoming"
"""Where bodies of appends wait until they are whole."""


@dataclass(frozen=True)
class Caller:
    """Who sent a request; ``token`` is None where nobody needs one."""

    analyst: str
    role: Role
    token: Token | None = None

    @property
    def name(self) -> str:
        """What rates and logs know a caller by."""
        return "anybody" if self.token is None else self.token.id


ANYBODY = Caller("analyst", "analyst")
"""Who comes to a service without tokens. It listens on this machine only."""


@dataclass(frozen=True, repr=False)
class Me(Shown):
    """Who a caller is to the service; ``limit`` is None if there is none but the budget's."""

    analyst: str
    role: str
    token: str | None
    expires: str | None
    limit: Limit | None


class Service:
    """One dataset behind a door. Its methods may be called from any thread, but for ``verify``."""

    def __init__(
        self,
        dataset: Dataset,
        settings: Settings | None = None,
        book: TokenBook | None = None,
    ) -> None:
        self.dataset = dataset
        self.settings = settings or Settings()
        self.book = book or TokenBook(dataset.path)
        self.rates = Rates(self.settings.rate)
        self.strangers = Rates(self.settings.rate)
        self.incoming = dataset.path / INCOMING
        self._sessions: dict[tuple[str, float | None], Session] = {}
        self.slow_asks = Turns("asks that take long", *self.settings.slow_asks)
        self.uploads = Turns("uploads", *self.settings.uploads)
        self.shelving = threading.Lock()
        self._lock = threading.Lock()
        self._verifying: asyncio.Future[Verification] | None = None

    def sweep(self) -> None:
        """Remove what a service that was killed had not yet taken in; none may be running."""
        with contextlib.suppress(FileNotFoundError):
            for path in self.incoming.iterdir():
                path.unlink(missing_ok=True)

    # ---------------------------------------------------------------------------------- callers

    def admit(self, header: str | None, address: str) -> Caller:
        """Who an Authorization header stands for; who tries others often is slowed down."""
        try:
            return self._known(_bearer(header))
        except AccessDenied:
            self.strangers.take(address)
            raise

    def _known(self, text: str | None) -> Caller:
        if text is not None:
            token = self.book.find(text)
            return Caller(token.analyst, token.role, token)
        if self.book.is_open:
            return ANYBODY
        hint = "send the header Authorization: Bearer TOKEN"
        raise AccessDenied("this dataset needs a token, and there is none", hint)

    def is_still_good(self, caller: Caller) -> bool:
        """Whether who was let in before would be let in now."""
        if caller.token is None:
            return self.book.is_open
        return self.book.is_good(caller.token.id)

    def ask_turn(self, caller: Caller, *queries: Query) -> AbstractContextManager[None]:
        """Around an ask: few at a time that go through a model, or through records many times.

        They take processes and minutes, and are charged at the end only.
        """
        is_slow = any(map(_is_slow, queries))
        return self.slow_asks.one(caller.analyst) if is_slow else contextlib.nullcontext()

    def session(self, caller: Caller) -> Session:
        """The session of a caller; sessions keep no state but what makes them quick."""
        limit = None if caller.token is None else self.book.limit_of(caller.analyst)
        with self._lock:
            session = self._sessions.get((caller.analyst, limit))
            if session is None:
                if len(self._sessions) >= _MOST_SESSIONS:
                    self._sessions.clear()
                session = self.dataset.session(caller.analyst, limit=limit)
                self._sessions[caller.analyst, limit] = session
        return session

    def me(self, caller: Caller) -> Me:
        """Who somebody is."""
        token = caller.token
        return Me(
            analyst=caller.analyst,
            role=caller.role,
            token=None if token is None else token.id,
            expires=None if token is None else token.expires,
            limit=self.session(caller).limit,
        )

    # ---------------------------------------------------------------------------------- verifying

    async def verify(self) -> Verification:
        """Replay everything; who asks while that is under way gets the same result.

        Only the replay has a thread: many who waited for it in theirs would leave none to others.
        """
        if self._verifying is None:
            self._verifying = asyncio.ensure_future(run_in_threadpool(self.dataset.verify))
            self._verifying.add_done_callback(self._verified)
        return await asyncio.shield(self._verifying)

    def _verified(self, _: asyncio.Future[Verification]) -> None:
        self._verifying = None


def check_role(caller: Caller, needed: Role) -> None:
    """Refuse who may not do this."""
    if ROLES.index(caller.role) < ROLES.index(needed):
        reason = f"only {_article(needed)} may do this, and this is {_article(caller.role)}"
        hint = "ask the custodian for another token"
        if caller.token is None:
            hint = f"make one: holdfast token create DATASET --analyst NAME --role {needed}"
        raise AccessDenied(reason, hint, 403)


def _article(role: Role) -> str:
    return f"an {role}" if role == "analyst" else f"a {role}"


def _is_slow(query: Query) -> bool:
    """Whether it names a model, or fits one; a text that only looks so is taken for one."""
    return "'onnx:" in query.canonical or "fit(" in query.canonical


def _bearer(header: str | None) -> str | None:
    """The token in an Authorization header."""
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        raise AccessDenied("the Authorization header is not Bearer TOKEN", "send it so")
    return token.strip()
