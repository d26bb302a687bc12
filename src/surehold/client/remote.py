"""A session on a dataset behind a service: the methods of a local session, over HTTP."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from surehold.checks import check_fraction, check_number, check_whole
from surehold.client.address import check_token, check_url
from surehold.client.connection import Connection, Request
from surehold.client.decoding import (
    field_reader,
    reader,
    result_of,
    results_of,
    value_reader,
)
from surehold.client.overview import RemoteOverview
from surehold.client.questions import check_query, is_named, payloads_of, selection_body, text_of
from surehold.data.side_tables import default_name
from surehold.errors import InvalidInput, WrongGuard
from surehold.queries import Dashboard, Expectation, Query, Schema, Select
from surehold.session import (
    Appended,
    BitsLimit,
    Choice,
    KeptModel,
    KeptTable,
    Leaderboard,
    Quote,
    Registered,
    Reservation,
    Result,
    Scorer,
    SelectionOutcome,
    SpendingLimit,
    Status,
    Submitted,
    Succession,
    SurpriseQuote,
    SurpriseStatus,
    Watched,
)
from surehold.session.dataset import append_again
from surehold.session.keys import check_text

if TYPE_CHECKING:
    from surehold.data.record_store import Progress
    from surehold.models.payload import ModelPayload
    from surehold.session import Session

T = TypeVar("T")
_Limit = cast("type[SpendingLimit | BitsLimit | None]", SpendingLimit | BitsLimit | None)
_Status = cast("type[Status | SurpriseStatus]", Status | SurpriseStatus)
_Quote = cast("type[Quote | SurpriseQuote]", Quote | SurpriseQuote)

TIMEOUT = 300.0
RETRIES = 3
_MAY_BE_CHARGED = (
    "the answer may have been charged: ask again, as the same question at the same round is free; "
    "with key= it would be sent again automatically"
)
_WITH_KEY = "ask again with the same key: it is charged once"
_AT_ROUND = "ask again at the same round: it is charged once"


def connect(
    url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
) -> RemoteSession:
    """Open a session on the dataset that ``surehold serve`` serves at an address.

    The ``token``, by default the environment's ``SUREHOLD_TOKEN``, identifies the analyst. A
    request ends after ``timeout`` seconds. A request without a response is sent again up to
    ``retries`` times, if it cannot be charged twice: it has your own key, or a round is held.
    """
    connection = Connection(
        check_url(url),
        check_token(token),
        check_number("timeout", timeout, "from 0.001 to 1e6 seconds", lambda x: 1e-3 <= x <= 1e6),
        check_whole("retries", retries, 0, 1_000_000),
    )
    return RemoteSession(connection)


class RemoteSession(RemoteOverview, AbstractContextManager["RemoteSession"]):
    """An analyst's session on a remote dataset; created by :func:`connect`.

    It has all methods of :class:`Session`, with the same results and errors, and ``append`` and
    ``verify``. The held round is stored here. Any number of threads may ask.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._held: int | None = None
        self._sent: set[str] = set()  # names of models that the service has
        self._tables: dict[str, KeptTable] = {}  # that it has, by what they hold

    def __repr__(self) -> str:
        held = "" if self._held is None else f", held at {self._held:,}"
        return f"<session of {self.analyst!r} at {self._connection.url}{held}>"

    # ----------------------------------------------------------------------------- session

    @property
    def held(self) -> int | None:
        """Return the held round; None while the session follows the data."""
        return self._held

    def hold(self, round: int | None) -> None:
        """Keep asking at the snapshot of ``round`` while records arrive; None moves on.

        An older round costs what it cost then: more than a later one.
        """
        if round is not None:
            round = check_whole("round", round)
            self._post("/v1/hold", "checking a round", {"round": round}, dict)
        self._held = round

    def at(self, round: int | None) -> Self:
        """Return a copy of this session held at a round: ``s.at(20_000).ask(...)``."""
        sibling = copy.copy(self)
        sibling.hold(round)
        return sibling

    def scorer(
        self, *, features: Sequence[str], target: str, metric: str = "accuracy", **options: Any
    ) -> Scorer:
        """Like a local session's scorer, but for ONNX models only: estimators are code."""
        return Scorer(cast("Session", self), features, target, metric, **options)

    def quote(
        self,
        query: Query | str,
        *,
        expect: object = None,
        within: object = None,
        doubt: object = None,
        tables: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the cost and the width of an answer; free, and reads no record."""
        asked = check_query(query)
        payloads_of(asked)  # refuses what could not be asked either
        expected = _expectation(expect, within, doubt)
        body = {"query": text_of(asked), **expected, **self._bring(tables)}
        return self._post("/v1/quote", "quoting", self._at_round(body), value_reader(_Quote))

    def ask(
        self,
        query: Query | str,
        *,
        expect: object = None,
        within: object = None,
        doubt: object = None,
        tables: Mapping[str, Any] | None = None,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Check, charge and answer in one durable step, like a local session.

        ``progress`` is not called: the records are elsewhere.
        """
        asked, expected = check_query(query), _expectation(expect, within, doubt)
        if isinstance(asked, Select) and is_named(asked):
            path, body = "/v1/select", selection_body(asked)
        else:
            path, body = "/v1/ask", {"query": text_of(asked)}
        body = {**body, **expected, **self._bring(tables)}
        result = self._ask(path, body, [asked], result_of, key=key)
        return _rename(result, asked)

    def ask_many(
        self,
        queries: Iterable[Query | str],
        *,
        tables: Mapping[str, Any] | None = None,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> tuple[Any, ...]:
        """Ask all at one round, all or none, in one pass over the data and one durable step."""
        asked = _listed(queries)
        if not asked:
            return ()
        body = {"queries": [text_of(query) for query in asked], **self._bring(tables)}
        read = partial(results_of, count=len(asked))
        return tuple(map(_rename, self._ask("/v1/ask-many", body, asked, read, key=key), asked))

    def register(
        self,
        queries: Dashboard | Iterable[Query | str],
        *,
        share: object = None,
        tables: Mapping[str, Any] | None = None,
    ) -> tuple[Registered, ...]:
        """Claim intervals for questions, and name those of a dashboard; it costs nothing."""
        named = isinstance(queries, Dashboard)
        if self._guard == "noise" and (not named or share is not None):
            raise WrongGuard("claiming intervals of questions", "surprise")
        asked = [] if isinstance(queries, Dashboard) else _listed(queries)
        body: dict[str, Any] = {"queries": [text_of(query) for query in asked]}
        if isinstance(queries, Dashboard):
            body = queries.to_dict()
        if share is not None:
            required = "above 0 and up to 1"
            body["share"] = str(check_fraction("share", share, required, lambda x: 0 < x <= 1))
        if not asked and not named:
            return ()
        body |= self._bring(tables)
        self._send_models({n: one for query in asked for n, one in payloads_of(query).items()})
        read = field_reader(tuple[Registered, ...], "registered")
        return self._post("/v1/register", "registering", self._at_round(body), read)

    def watch(self, questions: Sequence[str] | None = None) -> Watched:
        """Ask the questions of the dashboard, all or those of some names, at the present round."""
        if questions is not None and (isinstance(questions, str) or not questions):
            raise InvalidInput("questions", "a list of names", questions)
        body = {} if questions is None else {"questions": list(questions)}
        return self._ask("/v1/watch", body, [], reader(Watched), key=None)

    # ------------------------------------------------------------------------------ tables

    def keep_table(self, source: Any, name: str | None = None) -> KeptTable:
        """Upload a side table, so that queries may name it: ``"run-17".answer = label``.

        It has the dataset's id column and others, one row for each id, and never changes. The
        ``name`` is kept for good; without one it is that of the file.
        """
        return self._keep_table(source, name, "table")

    def keep_model(self, model: bytes | str | Path, name: str | None = None) -> KeptModel:
        """Upload an ONNX model under a name, for good; without one it is that of the file."""
        from surehold.models.payload import payload_of

        payload = payload_of(model)
        if payload.kind != "onnx":
            raise InvalidInput("the model", "ONNX: bytes, or the name of a file", payload.kind)
        default = default_name(model, "") or None
        request = Request(
            "POST",
            "/v1/models",
            "sending a model",
            query={"name": name, "default": default},
            content=payload.content,
            headers={"Content-Type": "application/octet-stream"},
        )
        kept = self._connection.fetch(request, reader(KeptModel))
        self._sent.add(kept.model)
        return kept

    def _keep_table(self, source: Any, name: str | None, default: str) -> KeptTable:
        """Check a table here, and send it unless this session has sent it before."""
        from surehold.client.records import pack_table

        with pack_table(source, Schema.of(self.columns)) as (digest, file):
            known = self._tables.get(digest)
            if known is not None and name in (None, known.name):
                return known
            default = default_name(source, default)
            request = _table_request("/v1/tables", file, name, default)
            kept = self._tables[digest] = self._connection.fetch(request, reader(KeptTable))
        return kept

    def submit(self, source: Any, name: str | None = None) -> Submitted:
        """Submit predictions, a side table, to the leaderboard; the same ones again are free."""
        from surehold.client.records import pack_table

        with pack_table(source, Schema.of(self.columns)) as (_, file):
            path, default = "/v1/leaderboard/submissions", default_name(source, "table")
            request = _table_request(path, file, name, default)
            return self._connection.fetch(request, reader(Submitted))

    def open_leaderboard(self, title: str, *, step: object, **about: Any) -> Leaderboard:
        """Open a leaderboard, like :meth:`Dataset.open_leaderboard`; for a custodian's token."""
        body = {"title": title, "step": str(step), **about}
        return self._post("/v1/leaderboard", "opening a leaderboard", body, reader(Leaderboard))

    def _bring(self, tables: object) -> dict[str, Any]:
        """Return what a body says of the side tables that an ask brings, once they are sent."""
        if tables is None:
            return {}
        if not isinstance(tables, Mapping) or not all(isinstance(name, str) for name in tables):
            raise InvalidInput("tables", "a mapping of names to tables", tables)
        kept = {
            alias: given if isinstance(given, KeptTable) else self._keep_table(given, None, alias)
            for alias, given in tables.items()
        }
        return {"tables": {alias: one.table for alias, one in kept.items()}}

    def append(
        self,
        source: Any,
        *,
        format: str | None = None,
        progress: Progress | None = None,
        again: bool = False,
        key: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> Appended:
        """Store all records of a file, a table or mappings durably, or none of them.

        This needs a custodian's token. The records are first checked here, like a local append.
        They are stored once, however often they are sent, by the caller's ``key`` or one that is
        made for this append, which an error names.
        """
        from surehold.client.records import PARQUET, pack
        from surehold.data.file_formats import FileFormat

        key = uuid.uuid4().hex if key is None else _check_header(key)
        headers = {"Content-Type": PARQUET, "Idempotency-Key": key}
        written = FileFormat.of(format, delimiter, decimal)
        with pack(source, self.columns, written, progress) as file:
            request = Request(
                "POST",
                "/v1/append",
                "appending",
                query={"again": again},
                content=file,
                headers=headers,
                if_lost=append_again(key),
            )
            return self._connection.fetch(request, reader(Appended))

    def reserve(self, analyst: str, amount: object) -> Reservation:
        """Reserve a part of the budget, or bits, for an analyst; 0 releases it.

        This needs a custodian's token.
        """
        number = check_number("the reservation", amount, "a number", lambda x: x >= 0.0)
        body = {"analyst": analyst, "amount": number}
        return self._post("/v1/reserve", "reserving", body, reader(Reservation))

    def succeed(
        self,
        name: str,
        *,
        reason: str,
        erase: Iterable[int | str] | None = None,
        add: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        columns: Mapping[str, str] | None = None,
        id: str | None = None,
    ) -> Succession:
        """Let a new dataset take over, in a folder of that name next to the one that is served.

        It is :func:`surehold.succeed` with lists of ids and of rows. The service goes on with the
        old dataset, which is closed for good: serve the new one. This needs a custodian's token.
        """
        body: dict[str, Any] = {"name": name, "reason": reason, "columns": columns, "id": id}
        body["erase"] = None if erase is None else list(erase)
        body["add"] = None if add is None else {key: list(rows) for key, rows in add.items()}
        return self._post("/v1/succeed", "succeeding", body, reader(Succession))

    def close(self) -> None:
        """Close the connections. The service keeps everything that was answered."""
        self._connection.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------ sending

    def _ask(
        self,
        path: str,
        body: Mapping[str, Any],
        asked: Sequence[Query | str],
        read: Callable[[Any], T],
        *,
        key: str | None,
        **options: Any,
    ) -> T:
        """Send questions, after the models that they refer to; options that are None stay here."""
        options["key"] = None if key is None else check_text("key", key)
        options["round"] = self._held
        given = {name: value for name, value in options.items() if value is not None}
        models = {name: one for query in asked for name, one in payloads_of(query).items()}
        if_lost = _MAY_BE_CHARGED if self._held is None else _AT_ROUND
        request = Request(
            "POST",
            path,
            "asking",
            body={**body, **given},
            is_repeatable=key is not None or self._held is not None,
            if_lost=if_lost if key is None else _WITH_KEY,
        )
        self._send_models(models)
        try:
            return self._connection.fetch(request, read)
        except InvalidInput as error:
            if not models or (error.parameter, error.required) != ("the model", "at hand"):
                raise
            self._sent.difference_update(models)  # the service has lost them, and charged nothing
        self._send_models(models)
        return self._connection.fetch(request, read)

    def _at_round(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {**body, **({} if self._held is None else {"round": self._held})}

    def _send_models(self, models: Mapping[str, ModelPayload]) -> None:
        for name, payload in models.items():
            if name not in self._sent:
                headers = {"Content-Type": "application/octet-stream"}
                doing, content = "sending a model", payload.content
                self._connection.send(
                    Request("POST", "/v1/models", doing, content=content, headers=headers)
                )
                self._sent.add(name)


def _table_request(path: str, file: Any, name: str | None, default: str) -> Request:
    """Return the request that sends a table; sent again, it is the same table."""
    from surehold.client.records import PARQUET

    return Request(
        "POST",
        path,
        "sending a side table",
        query={"name": name, "default": default},
        content=file,
        headers={"Content-Type": PARQUET},
        is_repeatable=True,
    )


def _rename(result: Result, query: Query | str) -> Result:
    """Return a choice under this caller's names; someone else may have asked first."""
    if isinstance(result, Choice | SelectionOutcome) and isinstance(query, Select):
        return replace(result, name=query.names[result.index])
    return result


def _listed(queries: object) -> list[Query | str]:
    if isinstance(queries, str | Query) or not isinstance(queries, Iterable):
        raise InvalidInput("queries", "a list of queries", queries)
    return [check_query(query) for query in queries]


def _expectation(expect: object, within: object, doubt: object) -> dict[str, str]:
    """Return what is expected, as exact text; nothing if nothing is."""
    texts = Expectation.of(expect, within, doubt).to_dict()
    return {name: text for name, text in texts.items() if text is not None}


def _check_header(key: str) -> str:
    """Accept only a key that fits into a header unchanged."""
    key = check_text("key", key)
    if not key.isascii() or key != key.strip():
        required = "of ASCII characters and without blanks around it, to be sent with an append"
        raise InvalidInput("key", required, key)
    return key
