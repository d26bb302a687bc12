"""What can be read of a dataset behind a service, as of a local one."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from surehold.checks import check_whole
from surehold.client.connection import Connection, Request
from surehold.client.decoding import Unreadable, field_reader, reader, value_reader
from surehold.client.transcript import RemoteTranscript
from surehold.errors import WrongGuard
from surehold.planning import Plan
from surehold.queries import Dashboard, Schema
from surehold.session import (
    BitsLimit,
    Budget,
    Growth,
    History,
    KeptTable,
    Leaderboard,
    Round,
    SpendingLimit,
    Status,
    SurpriseStatus,
    Verification,
)
from surehold.session.outlook import Outlook

T = TypeVar("T")
_BELOW = re.compile("/d/[^/]+$")
"""Where a dataset is, below the address of its server."""
_Limit = cast("type[SpendingLimit | BitsLimit | None]", SpendingLimit | BitsLimit | None)
_Status = cast("type[Status | SurpriseStatus]", Status | SurpriseStatus)


class RemoteOverview:
    """Where a remote dataset stands; each property is one request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.analyst, self._guard = self._me(_read_caller)

    @property
    def guard(self) -> str:
        """How the dataset is protected: noise or surprise."""
        return self._guard

    @property
    def limit(self) -> SpendingLimit | BitsLimit | None:
        """Return the analyst's limit, what is spent and what is left; None without a limit."""
        return self._me(field_reader(_Limit, "limit"))

    @property
    def budget(self) -> Budget:
        """Return the budget of the most exposed record, which is the first."""
        status = self.status()
        if isinstance(status, SurpriseStatus):
            raise WrongGuard("a plan with its budget", "noise")
        return status.budget

    def answers_left(self, round: int) -> int:
        """Return how many more answers fit at a round of the plan, even a future one."""
        read, doing = field_reader(int, "answers_left"), "reading the answers left at a round"
        t = check_whole("round", round)
        return self._connection.get("/v1/room", doing, read, round=t)

    @property
    def transcript(self) -> RemoteTranscript:
        """Return all answers of the dataset so far, of all analysts."""
        return self.transcript_of(None)

    def transcript_of(self, analyst: str | None) -> RemoteTranscript:
        """Return the answers to one analyst; None means all."""
        return RemoteTranscript(self._connection, analyst)

    @property
    def dashboard(self) -> Dashboard:
        """Return the questions that have names, with their units and gates."""
        return self._get("dashboard", reader(Dashboard))

    def history(self, question: str) -> History:
        """Return the answers to one question so far, by its name or its text, round by round."""
        doing = "reading a history"
        return self._connection.get("/v1/history", doing, reader(History), question=question)

    def histories(self, most: int = 12) -> tuple[History, ...]:
        """Return the histories of named questions or, if none, of those asked most often."""
        read, doing = field_reader(tuple[History, ...], "histories"), "reading histories"
        return self._connection.get("/v1/histories", doing, read, limit=most)

    @property
    def datasets(self) -> tuple[Mapping[str, Any], ...]:
        """Return the datasets of the server that the caller has access to, as the service does."""
        server = copy.copy(self._connection)
        server.url = _BELOW.sub("", server.url)
        return server.get("/v1/datasets", "listing datasets", _read_datasets)

    @property
    def leaderboard(self) -> Leaderboard:
        """Return the leaderboard, if the custodian opened one; refused if not."""
        return self._get("leaderboard", reader(Leaderboard))

    @property
    def tables(self) -> tuple[KeptTable, ...]:
        """Return the side tables that are kept."""
        return self._get("tables", field_reader(tuple[KeptTable, ...], "tables"))

    @property
    def n(self) -> int:
        """Return the number of records now."""
        return self.status().n

    @property
    def plan(self) -> Plan:
        """Return the plan that the dataset was created with."""
        return self._get("plan", Plan.from_dict)

    @property
    def columns(self) -> dict[str, str]:
        """Return the names and types of the columns."""
        return self._get("schema", Schema.of).to_dict()

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Return the rounds at which answers were given, in order."""
        return self._get("rounds", field_reader(tuple[Round, ...], "rounds"))

    def growth(self) -> tuple[Growth, ...]:
        """Return how the data grew: at most 500 points in time, including the last append."""
        return self._get("growth", field_reader(tuple[Growth, ...], "growth"))

    def outlook(self) -> Outlook:
        """Return what the rest of the budget buys: now, evenly from now on, or at the end."""
        return self._get("outlook", reader(Outlook))

    def status(self) -> Status | SurpriseStatus:
        """Return the status of the dataset, in numbers."""
        return self._get("status", value_reader(_Status))

    def verify(self, progress: Callable[[int], None] | None = None) -> Verification:
        """Have the service replay everything: hashes, charges, widths, records."""
        return self._post("/v1/verify", "verifying", {}, reader(Verification))

    def _post(self, path: str, doing: str, body: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        return self._connection.fetch(Request("POST", path, doing, body=body), read)

    def _me(self, read: Callable[[Any], T]) -> T:
        return self._connection.get("/v1/me", "connecting", read)

    def _get(self, name: str, read: Callable[[Any], T]) -> T:
        return self._connection.get(f"/v1/{name}", f"reading the {name}", read)


def _read_caller(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return the caller's name, and the guard; services before the second one do not name it."""
    analyst, guard = values.get("analyst"), values.get("guard", "noise")
    if not isinstance(analyst, str) or not isinstance(guard, str):
        raise Unreadable("it does not say who the caller is")
    return analyst, guard


def _read_datasets(values: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    listed = values.get("datasets")
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise Unreadable("it does not list datasets")
    return tuple(listed)
