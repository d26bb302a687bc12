"""Contests: the lab's attackers against the guard of a dataset, in a process beside the service.

Records are made up, so a contest costs nothing and reads no record. One runs at a time on a server,
of limited size and time, and with a low priority: nobody can freeze the service with it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Literal

from surehold.display import Shown
from surehold.errors import InvalidInput, RequestRefused, SureholdError
from surehold.planning import Plan

MOST_QUERIES, MOST_REPEATS, MOST_RECORDS = 2_000, 100, 100_000
MOST_CELLS = 50_000_000
"""Of records times queries: what an attack holds in memory."""
_SECONDS = 600.0
_CONTROLS = {"noise": "wide", "surprise": "plain"}
"""What stands beside each guard: an attack under which this holds as well was too weak."""

State = Literal["idle", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Wanted:
    """What is to be played: a plan with the noise guard, and sizes and beta with the other."""

    attacks: tuple[str, ...]
    queries: int
    repeats: int
    n0: int
    n: int
    beta: float
    plan: Plan | None

    def __post_init__(self) -> None:
        if self.n > MOST_RECORDS:
            hint = "use surehold lab check on a machine of your own"
            raise InvalidInput("n", f"at most {MOST_RECORDS:,} records on a server", self.n, hint)
        if self.n * self.queries > MOST_CELLS:
            most = MOST_CELLS // self.n
            required = f"at most {most:,} for {self.n:,} records"
            raise InvalidInput("queries", required, self.queries)

    @property
    def guard(self) -> str:
        """Return the guard that is attacked."""
        return "surprise" if self.plan is None else "noise"


@dataclass(frozen=True)
class LabStatus(Shown):
    """How far the last contest of a dataset is, of how many repeats, and what it found.

    ``report`` has a row for each attack and defender, and its summary in words; ``reason`` says why
    there is none.
    """

    state: State
    done: int = 0
    total: int = 0
    report: Mapping[str, Any] | None = None
    reason: str | None = None


class _Run:
    """A contest in a process of its own, and the thread that hears from it."""

    def __init__(self, wanted: Wanted) -> None:
        context = get_context("spawn")  # a fork would copy the service's threads and locks
        self._hearing, sending = context.Pipe(duplex=False)
        self._process = context.Process(target=_play, args=(sending, wanted), daemon=True)
        self.status = LabStatus("running")
        self._process.start()
        sending.close()
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._thread.start()

    def _hear(self) -> None:
        until = time.monotonic() + _SECONDS
        with contextlib.suppress(EOFError):
            while self.status.state == "running" and self._hearing.poll(until - time.monotonic()):
                heard = self._hearing.recv()
                if self.status.state == "running":  # it may have been cancelled meanwhile
                    self.status = heard
        if self.status.state == "running":
            late = time.monotonic() >= until
            reason = f"it took longer than {_SECONDS:.0f} s" if late else "its process ended"
            self.status = LabStatus("failed", reason=f"{reason}; try fewer attacks or repeats")
        self._process.terminate()
        self._process.join()
        self._hearing.close()

    def cancel(self) -> None:
        """End it, if it still runs."""
        if self.status.state == "running":
            self.status = LabStatus("cancelled")
            self._process.terminate()
            self._thread.join()


class Contests:
    """The contests of a server: one at a time, and of each dataset the last one is kept."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._lock = threading.Lock()

    def status(self, dataset: str) -> LabStatus:
        """Return how far the contest of a dataset is."""
        run = self._runs.get(dataset)
        return LabStatus("idle") if run is None else run.status

    def start(self, dataset: str, wanted: Wanted) -> LabStatus:
        """Start a contest, unless another one runs."""
        with self._lock:
            if any(run.status.state == "running" for run in self._runs.values()):
                hint = "wait until it is done, or cancel it"
                raise RequestRefused(429, "a contest is running on this server", hint, 5.0)
            run = self._runs[dataset] = _Run(wanted)
        return run.status

    def cancel(self, dataset: str) -> LabStatus:
        """End the contest of a dataset, if one runs."""
        run = self._runs.get(dataset)
        if run is not None:
            run.cancel()
        return self.status(dataset)


def _play(sending: Connection, wanted: Wanted) -> None:
    """In the other process: play, and send each status."""
    from surehold import lab

    if hasattr(os, "nice"):
        os.nice(10)
    shared: dict[str, Any] = {
        "attackers": wanted.attacks,
        "queries": wanted.queries,
        "repeats": wanted.repeats,
        "progress": lambda done, total: sending.send(LabStatus("running", done, total)),
    }
    try:
        if wanted.plan is not None:
            report = lab.check(wanted.plan, **shared)
        else:
            shared |= {"n0": wanted.n0, "n": wanted.n, "beta": wanted.beta}
            report = lab.run(defenders=[_CONTROLS["surprise"], "surprise"], **shared)
        total = len(report.attacks) * report.repeats
        status = LabStatus("done", total, total, _describe(report, wanted.guard))
    except SureholdError as error:
        status = LabStatus("failed", reason=str(error))
    sending.send(status)


def _describe(report: Any, guard: str) -> dict[str, Any]:
    """Return the rows of a report with their texts, and its summary."""
    from surehold.lab import rendering

    name = "surehold" if guard == "noise" else "surprise"
    rows = []
    for row in report.rows:
        texts = rendering.row_texts(row, report.wanted(row.attack))
        one = {key: value for key, value in row.to_dict().items() if key != "last"}
        rows.append({**one, "breaks": report.breaks(row), "display": texts})
    return {
        "guard": name,
        "promised": 1.0 - report.setting.beta,
        "heading": rendering.heading(report),
        "verdict": f"{rendering.verdict(report, name)}.",
        "control": rendering.control(report, _CONTROLS[guard]),
        "rows": rows,
        "setting": report.setting.to_dict(),
    }
