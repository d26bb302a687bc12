"""Where a tool's questions go: a folder on this machine, or a service elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from surehold.planning import Plan
from surehold.server.service import Caller, Service
from surehold.session import Budget, Quote, Result, Round, SpendingLimit, Status, Transcript
from surehold.session.outlook import Outlook
from surehold.session.transcript import Page


class Asking(Protocol):
    """What questions are asked of: a session, held at a round or following the data."""

    def quote(self, query: Any) -> Quote:
        """What an answer would cost."""

    def ask(self, query: Any, *, key: str | None = None) -> Any:
        """Charge and answer."""

    def ask_many(self, queries: Sequence[Any], *, key: str | None = None) -> tuple[Any, ...]:
        """All of them, or none."""


class Pages(Protocol):
    """A transcript, read page by page."""

    def page(
        self,
        limit: int = ...,
        *,
        after: int = ...,
        before: int | None = ...,
        round: int | None = ...,
        contains: str = ...,
        newest: bool = ...,
    ) -> Page:
        """At most so many answers, and where the next ones begin."""


class Desk(Protocol):
    """One caller's way to a dataset. A session with a service is one as it is."""

    @property
    def plan(self) -> Plan:
        """The plan that the dataset was created with."""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds at which answers were given."""

    @property
    def budget(self) -> Budget:
        """What is left of the dataset's budget."""

    @property
    def limit(self) -> SpendingLimit | None:
        """What is left of the caller's own share."""

    def transcript_of(self, analyst: str | None) -> Pages:
        """The answers that one analyst asked for; None stands for all."""

    def status(self) -> Status:
        """Where the dataset stands."""

    def outlook(self) -> Outlook:
        """What the rest of the budget buys."""

    def answers_left(self, round: int) -> int:
        """How many more answers fit at a round."""

    def at(self, round: int | None) -> Asking:
        """A session at a round; None follows the data."""


class ServedDesk:
    """One caller of a service: every question goes the way that requests over HTTP go."""

    def __init__(self, service: Service, caller: Caller) -> None:
        self._service, self._caller = service, caller

    @property
    def plan(self) -> Plan:
        """The plan that the dataset was created with."""
        return self._service.dataset.plan

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds at which answers were given."""
        return self._service.dataset.rounds

    @property
    def budget(self) -> Budget:
        """What is left of the dataset's budget."""
        return self._service.session(self._caller).budget

    @property
    def limit(self) -> SpendingLimit | None:
        """What is left of the caller's own share."""
        return self._service.session(self._caller).limit

    def transcript_of(self, analyst: str | None) -> Transcript:
        """The answers that one analyst asked for; None stands for all."""
        return self._service.dataset.transcript_of(analyst)

    def status(self) -> Status:
        """Where the dataset stands."""
        return self._service.dataset.status()

    def outlook(self) -> Outlook:
        """What the rest of the budget buys."""
        return self._service.dataset.outlook()

    def answers_left(self, round: int) -> int:
        """How many more answers fit at a round."""
        return self._service.session(self._caller).answers_left(round)

    def at(self, round: int | None) -> ServedAsking:
        """A way to ask at a round; None follows the data."""
        return ServedAsking(self._service, self._caller, round)


@dataclass(frozen=True)
class ServedAsking:
    """A caller's questions at a round."""

    service: Service
    caller: Caller
    round: int | None

    def quote(self, query: Any) -> Quote:
        """What an answer would cost."""
        return self.service.quote(self.caller, query, round=self.round)

    def ask(self, query: Any, *, key: str | None = None) -> Result:
        """Charge and answer."""
        return self.service.ask(self.caller, query, round=self.round, key=key)

    def ask_many(self, queries: Sequence[Any], *, key: str | None = None) -> tuple[Result, ...]:
        """All of them, or none."""
        return self.service.ask_many(self.caller, queries, round=self.round, key=key)
