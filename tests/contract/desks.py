"""Two ways to the same kind of dataset: in this process, and through a service over HTTP."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import surehold as sh
from support.runtime import made, records
from support.service import served
from support.workload import CASES
from surehold.planning import Plan
from surehold.server.tokens import TokenBook
from surehold.session.dataset import Dataset


class LocalDesk:
    """Sessions of a dataset that is open here."""

    def __init__(self, path: Path, guard: str = "noise") -> None:
        self.path = path
        self.dataset: Any = Dataset(path)

    def session(
        self, analyst: str = "ann", limit: float | None = None, role: Any = "analyst"
    ) -> Any:
        return self.dataset.session(analyst, limit=limit, fixed_time=False)  # as the service

    def close(self) -> None:
        self.dataset.close()


class RemoteDesk:
    """Sessions of a dataset that is served on a port of its own; the custodian has a token too."""

    def __init__(self, path: Path, guard: str = "noise") -> None:
        self.path = path
        self._tokens = TokenBook(path, guard=guard)
        self._open = ExitStack()
        custodian = self.token("custodian", "custodian")
        self.url = self._open.enter_context(served(path))
        self.dataset: Any = self._open.enter_context(sh.connect(self.url, custodian))

    def token(self, analyst: str = "ann", role: Any = "analyst", limit: float | None = None) -> str:
        return self._tokens.create(analyst, role, seconds=None, limit=limit)[1]

    def session(
        self, analyst: str = "ann", limit: float | None = None, role: Any = "analyst"
    ) -> Any:
        token = self.token(analyst, role, limit)
        return self._open.enter_context(sh.connect(self.url, token))

    def close(self) -> None:
        self._open.close()


OF_CODE = ("statistic", "model", "improvement", "confusion")  # no service has the code
QUERIES = {name: case.query for name, case in CASES.items() if name not in OF_CODE}
UNDER_NOISE = ("fit",)
OF_GUARD = {
    "noise": QUERIES,
    "surprise": {name: one for name, one in QUERIES.items() if name not in UNDER_NOISE},
}
DESKS = {"local": LocalDesk, "remote": RemoteDesk}


def prepared(path: Path, count: int, plan: Plan | None = None, guard: str = "noise") -> Path:
    """A dataset with so many records, which nobody has open."""
    made(path, plan, count, guard=guard).close()
    return path


def more(desk: Any, start: int, stop: int) -> None:
    """Records arrive."""
    desk.dataset.append(records(start, stop))
