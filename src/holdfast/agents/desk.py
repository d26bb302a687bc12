"""Where a tool's questions go: a folder on this machine, or a service elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from holdfast.planning import Plan
from holdfast.session import Budget, Dataset, Limit, Quote, Round, Session, Status, Transcript
from holdfast.session.outlook import Outlook
from holdfast.session.transcript import Page


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
    def limit(self) -> Limit | None:
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


class LocalDesk:
    """A session on a dataset of this machine, and what the dataset says of itself."""

    def __init__(self, dataset: Dataset, session: Session) -> None:
        self._dataset = dataset
        self._session = session
        self.plan = dataset.plan

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds at which answers were given."""
        return self._dataset.rounds

    @property
    def budget(self) -> Budget:
        """What is left of the dataset's budget."""
        return self._session.budget

    @property
    def limit(self) -> Limit | None:
        """What is left of the caller's own share."""
        return self._session.limit

    def transcript_of(self, analyst: str | None) -> Transcript:
        """The answers that one analyst asked for; None stands for all."""
        return self._dataset.transcript_of(analyst)

    def status(self) -> Status:
        """Where the dataset stands."""
        return self._dataset.status()

    def outlook(self) -> Outlook:
        """What the rest of the budget buys."""
        return self._dataset.outlook()

    def answers_left(self, round: int) -> int:
        """How many more answers fit at a round."""
        return self._session.answers_left(round)

    def at(self, round: int | None) -> Session:
        """A session at a round; None follows the data."""
        return self._session.at(round)
