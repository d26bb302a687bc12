"""A guest: the caller of tools, and the session that they ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from surehold.server.access import ANYBODY, Caller
from surehold.server.host import Listed
from surehold.server.service import Desk, Service
from surehold.session import KeptTable, Session, Submitted

if TYPE_CHECKING:
    from surehold.client import RemoteSession

Note: TypeAlias = Callable[[str, str], None]


class Guest:
    """A caller of tools: the session to read from, and the way to ask.

    Questions to a service pass through its limits, like HTTP requests. ``note`` is called with the
    tool that ran and the outcome.
    """

    def __init__(
        self,
        session: Session | RemoteSession,
        caller: Caller = ANYBODY,
        service: Service | None = None,
        note: Note = lambda tool, outcome: None,
    ) -> None:
        self.session, self.caller, self._service, self.note = session, caller, service, note

    @classmethod
    def of(cls, service: Service, caller: Caller, note: Note = lambda tool, outcome: None) -> Guest:
        """Return the guest for a caller of a service."""
        return cls(service.session(caller), caller, service, note)

    def keep_table(self, rows: list[dict[str, Any]], name: str | None) -> KeptTable:
        """Keep a side table, within the limits of a service."""
        if self._service is None:
            return self.session.keep_table(rows, name)
        size = sum(len(str(row)) for row in rows)
        with self._service.limits.uploads.one(self.caller.name):
            return self._service.keep_table(self.caller, rows, size, name)

    def submit(self, rows: list[dict[str, Any]], name: str | None) -> Submitted:
        """Submit predictions to the leaderboard, within the limits of a service."""
        if self._service is None:
            return self.session.submit(rows, name)
        return self._service.desk(self.caller).submit(self.keep_table(rows, name))

    @property
    def datasets(self) -> list[dict[str, Any]]:
        """Return the datasets of the server; without one, the only dataset that there is."""
        session, status = self.session, self.session.status()
        if not isinstance(session, Session):
            return [dict(one) for one in session.datasets]
        about = (status.guard, status.n, status.answers)
        return [Listed(status.name, "", self.caller.role, "ready", *about).to_dict()]

    def at(self, t: int | None) -> Desk | Session | RemoteSession:
        """Return where the guest quotes and asks, at a round or following the data."""
        if self._service is None:
            return self.session.at(t)
        return self._service.desk(self.caller, t)
