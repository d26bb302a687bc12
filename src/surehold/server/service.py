"""The service: one dataset and one way to ask it. Routes and tools translate; this decides."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool

from surehold.display import Shown
from surehold.errors import AccessDenied, InvalidInput, RequestRefused, SureholdError
from surehold.queries import Dashboard, Query, Select
from surehold.server.access import Caller
from surehold.server.limits import Limits
from surehold.server.settings import Settings
from surehold.server.tokens import TokenBook
from surehold.session import (
    BitsLimit,
    Dataset,
    KeptTable,
    Quote,
    Registered,
    Result,
    Session,
    SpendingLimit,
    Submitted,
    SurpriseQuote,
    Verification,
    Watched,
)
from surehold.spans import span

MOST_QUERIES = 10_000
"""The most queries of one request."""
_MOST_SESSIONS = 1000
_MOST_KEPT, _LONGEST_KEPT = 4096, 1 << 13
INCOMING = "incoming"
"""Where the bodies of appends are spooled."""


@dataclass(frozen=True, repr=False)
class Me(Shown):
    """The caller as the service knows them; ``limit`` is None if they have no limit of their own.

    ``guard`` is the dataset's: noise or surprise.
    """

    analyst: str
    role: str
    token: str | None
    expires: str | None
    limit: SpendingLimit | BitsLimit | None
    guard: str


class RecordedAnswers:
    """Recorded answers as they were sent, to be sent again without looking for them.

    An answer counts for one edition of its dataset: whatever may change it begins another one.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._kept: dict[Hashable, tuple[int, bytes]] = {}

    def find(self, asked: Hashable) -> bytes | None:
        """Return what was sent when just this was asked before, if it is still right."""
        kept = self._kept.get(asked)
        return kept[1] if kept is not None and kept[0] == self._dataset.edition else None

    def keep(self, asked: Hashable, content: bytes, edition: int | None) -> None:
        """Keep what was found between a look at this edition and now."""
        if edition is not None and edition == self._dataset.edition:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            if len(content) <= _LONGEST_KEPT:
                self._kept[asked] = edition, content


class Service:
    """One dataset and its callers. All methods but ``verify`` may be called from any thread."""

    def __init__(
        self,
        dataset: Dataset,
        settings: Settings | None = None,
        book: TokenBook | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.dataset = dataset
        self.settings = settings or Settings()
        self.book = book or TokenBook(dataset.path, guard=dataset.guard)
        self.limits = limits or Limits(self.settings)
        self.incoming = dataset.path / INCOMING
        self._sessions: dict[tuple[str, float | None], Session] = {}
        self.recorded = RecordedAnswers(dataset)
        self.shelving = threading.Lock()
        self._lock = threading.Lock()
        self._verifying: asyncio.Future[Verification] | None = None

    def sweep(self) -> None:
        """Remove spooled bodies of a service that was killed; no service may be running."""
        with contextlib.suppress(FileNotFoundError):
            for path in self.incoming.iterdir():
                path.unlink(missing_ok=True)

    def load(self) -> None:
        """Load all records before the first question, whose slot would be that of loading them.

        If they can't be loaded, the questions say so.
        """
        with contextlib.suppress(SureholdError):
            self.dataset.load()

    # ---------------------------------------------------------------------------------- callers

    def session(self, caller: Caller) -> Session:
        """Return the session of a caller; sessions keep no state except caches."""
        limit = None if caller.token is None else self.book.limit_of(caller.analyst)
        with self._lock:
            session = self._sessions.get((caller.analyst, limit))
            if session is None:
                if len(self._sessions) >= _MOST_SESSIONS:
                    self._sessions.clear()
                fixed_time = self.settings.fixed_time
                session = self.dataset.session(caller.analyst, limit=limit, fixed_time=fixed_time)
                self._sessions[caller.analyst, limit] = session
        return session

    def me(self, caller: Caller) -> Me:
        """Return the caller and what they may spend."""
        token, limit = caller.token, None
        with contextlib.suppress(RequestRefused):  # what was closed has no sessions
            limit = self.session(caller).limit
        return Me(
            analyst=caller.analyst,
            role=caller.role,
            token=None if token is None else token.id,
            expires=None if token is None else token.expires,
            limit=limit,
            guard=self.dataset.guard,
        )

    # ---------------------------------------------------------------------------------- asking

    def desk(self, caller: Caller, t: int | None = None) -> Desk:
        """Return where a caller quotes and asks, at a round or following the data."""
        return Desk(self, caller, t)

    def weigh(self, caller: Caller, characters: int) -> None:
        """Rate limit the characters of long queries, because parsing them is work."""
        self.limits.weigh(caller.name, characters)

    def count_claims(self, caller: Caller, count: int) -> None:
        """Rate limit what is registered, in full: it is free, and the ledger grows by it."""
        self.limits.claims.take(caller.name)
        self.limits.claims.owe(caller.name, count - 1)

    def keep_table(
        self, caller: Caller, source: Any, size: int, name: str | None, default: str | None = None
    ) -> KeptTable:
        """Keep a side table of about ``size`` bytes for a caller, within the limits."""
        most, tables = self.settings.shelf_bytes, self.settings.tables
        with self.shelving:  # two may fit one by one and not together
            kept, count = self.dataset.tables_size
            if kept + size > most or count >= tables:
                reason = f"there would be more than {tables:,} tables, or {most:,} bytes of them"
                raise RequestRefused(413, reason, "ask the custodian to remove some")
            named = {"default": default or "table", "analyst": caller.analyst}
            return self.dataset.keep_table(source, name, **named)

    # ---------------------------------------------------------------------------------- verifying

    async def verify(self) -> Verification:
        """Replay everything; concurrent requests get the same result.

        Only the replay has a thread: if each waiting request had its own, none would be left.
        """
        if self._verifying is None:
            self._verifying = asyncio.ensure_future(run_in_threadpool(self.dataset.verify))
            self._verifying.add_done_callback(self._verified)
        return await asyncio.shield(self._verifying)

    def _verified(self, _: asyncio.Future[Verification]) -> None:
        self._verifying = None


class Desk:
    """The one way to ask a service: a caller's session, behind the limits of every interface.

    It has the methods of a session, which gets all ``options`` unchanged.
    """

    def __init__(self, service: Service, caller: Caller, t: int | None) -> None:
        self._service, self._caller = service, caller
        self._session = service.session(caller).at(t)
        # Analysts of two datasets may have the same name.
        self._slow_name = f"{service.dataset.path.name}/{caller.analyst}"

    def quote(self, query: Query | str, **options: Any) -> Quote | SurpriseQuote:
        """Return the cost and the width of an answer; free, and reads no record."""
        asked = self._parse(query)
        self._owe([asked])
        quote: Quote | SurpriseQuote = self._session.quote(asked, **options)
        return quote

    def ask(self, query: Query | str, **options: Any) -> Result:
        """Charge and answer."""
        asked = self._parse(query)
        with self._turn([asked]):
            result: Result = self._session.ask(asked, **options)
        return result

    def ask_many(self, queries: Sequence[Query | str], **options: Any) -> tuple[Result, ...]:
        """Answer all at one round, or none; each counts as one request."""
        asked = self._parse_all(queries)
        with self._turn(asked):
            return self._session.ask_many(asked, **options)

    def submit(self, table: KeptTable) -> Submitted:
        """Submit predictions that are kept to the leaderboard; it counts as three requests."""
        self._service.limits.rates.owe(self._caller.name, 2)
        return self._session.submit(table)

    def watch(self, questions: Sequence[str] | None = None) -> Watched:
        """Ask the questions of the dashboard; each counts as one request."""
        listed = self._service.dataset.dashboard
        asked = [
            self._parse(one.question)
            for one in listed
            if (one.watch if questions is None else one.name in questions)
        ]
        if not asked:  # which is refused
            return self._session.watch(questions)
        with self._turn(asked):
            return self._session.watch(questions)

    def register(
        self,
        queries: Dashboard | Sequence[Query | str],
        *,
        share: object = None,
        tables: Any = None,
    ) -> tuple[Registered, ...]:
        """Claim intervals for questions, and name those of a dashboard; each is one request.

        A declared share is taken from all analysts, so only the custodian may declare one. Others
        may register as many questions in a day as they may add other free entries.
        """
        is_custodian = self._caller.role == "custodian"
        if share is not None and not is_custodian:
            reason = (
                "a declared share of beta is taken from all analysts: it takes the role custodian, "
                f"and yours is {self._caller.role}"
            )
            raise AccessDenied(reason, "register without a share, or ask the custodian", 403)
        if isinstance(queries, Dashboard):
            for one in queries:
                self._service.weigh(self._caller, len(one.question))
        asked = queries if isinstance(queries, Dashboard) else self._parse_all(queries)
        self._service.count_claims(self._caller, len(asked))
        if isinstance(asked, Dashboard):
            self._service.limits.rates.owe(self._caller.name, len(asked) - 1)
        else:
            self._owe(asked)
        self._session.is_counted = not is_custodian
        return self._session.register(asked, share=share, tables=tables)

    def _parse_all(self, queries: Sequence[Query | str]) -> list[Query]:
        if not 1 <= len(queries) <= MOST_QUERIES:
            raise InvalidInput("queries", f"1 to {MOST_QUERIES:,} queries", len(queries))
        return [self._parse(query) for query in queries]

    def _parse(self, query: Query | str) -> Query:
        if not isinstance(query, str):
            return query
        self._service.weigh(self._caller, len(query))
        return self._service.dataset.query(query)

    def _owe(self, asked: Sequence[Query]) -> None:
        """Count a request with many queries as many requests."""
        self._service.limits.rates.owe(self._caller.name, sum(map(_size, asked)) - 1)

    @contextmanager
    def _turn(self, asked: Sequence[Query]) -> Iterator[None]:
        """Limit the number of running asks that evaluate a model or read the records many times.

        They take processes and minutes. A turn lasts until the answer is released, so that free
        turns do not reveal how long an evaluation took.
        """
        self._owe(asked)
        with span("ask", questions=len(asked)), ExitStack() as stack:
            if any(map(_is_slow, asked)):
                stack.enter_context(self._service.limits.slow_asks.one(self._slow_name))
            yield


def _is_slow(query: Query) -> bool:
    """Whether it names a model, or fits one; a text that only looks like it counts too."""
    return "'onnx:" in query.canonical or "fit(" in query.canonical


def _size(query: Query) -> int:
    """Return the number of queries that it consists of."""
    return len(query.candidates) if isinstance(query, Select) else 1
