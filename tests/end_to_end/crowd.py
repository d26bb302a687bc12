"""Many callers at once, what they were told, and whether the ledger agrees with all of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import surehold as sh
from end_to_end.caller import records
from support.service import send
from surehold.mechanisms import to_float
from surehold.planning import Plan
from surehold.server.tokens import Role, TokenBook

CALLER = Path(__file__).parent / "caller.py"
COLUMNS = {"batch": "int", "i": "int", "x": "float"}
FIRST = 20_000
PATIENCE = 180.0
ANALYST = {"fresh": 4, "keyed": 4, "many": 1, "again": 3, "known": 6, "quote": 3, "status": 2}
CUSTODIAN = {"append_few": 4, "append_many": 1, "status": 2}


@cache
def plenty() -> Plan:
    """A million answers at the first round: no run comes to its end."""
    return sh.plan(n0=FIRST, n=200_000, queries=10**8, beta=0.05)


@cache
def scarce(answers: int = 500) -> Plan:
    """So many answers at the first round: a run comes to its end in the middle."""
    return sh.plan(n0=FIRST, n=2 * FIRST, queries=4 * answers, beta=0.05)


def made(path: Path, plan: Plan | None, count: int = FIRST) -> Path:
    """A dataset whose first records are there; without a plan under the surprise guard."""
    rules: dict[str, Any] = {"beta": 0.05} if plan is None else {"plan": plan}
    with sh.create(path, **rules, columns=COLUMNS) as dataset:
        dataset.append(records(0, count))
    return path


def token(path: Path, role: Role, analyst: str) -> str:
    return TokenBook(path).create(analyst, role, seconds=3600.0)[1]


@dataclass(frozen=True)
class Log:
    """What one caller did and was told."""

    seconds: float
    times: dict[str, list[float]]
    told: list[dict[str, Any]]
    keys: dict[str, list[int]]
    appended: dict[str, int]
    refused: int
    lost: int
    found: int


class Crowd:
    """Callers in processes of their own, which all begin at once and end when they are told."""

    def __init__(self, folder: Path, address: str | None = None) -> None:
        self._folder = folder
        self._address = folder / "address"
        self._progress = folder / "progress"
        self._callers: list[tuple[subprocess.Popen[str], Path]] = []
        if address is not None:
            self.tell(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process, _ in self._callers:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()

    def tell(self, address: str | None) -> None:
        """Where the service is from now on; None while there is none."""
        if address is None:
            self._address.unlink(missing_ok=True)
        else:
            passing = self._address.with_suffix(".new")
            passing.write_text(address)
            passing.replace(self._address)

    def go(self, *orders: dict[str, Any]) -> None:
        """Send off one caller for each order, numbered from the first of all on."""
        new = []
        for order in orders:
            number = len(self._callers) + 1
            log = self._folder / f"caller-{number}.json"
            process = subprocess.Popen(
                [sys.executable, "-S", str(CALLER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._callers.append((process, log))
            files = {"address": self._address, "progress": self._progress, "log": log}
            usual = {name: str(path) for name, path in files.items()}
            new.append((process, {**usual, "seed": number, **order}))
        for process, _ in new:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process, order in new:
            assert process.stdin is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()

    @property
    def progress(self) -> int:
        """How many requests of patient callers were answered so far."""
        return self._progress.stat().st_size if self._progress.exists() else 0

    def wait_for_progress(self, since: int) -> None:
        """Until somebody was answered."""
        until = time.monotonic() + PATIENCE
        while self.progress == since:
            self.check_going()
            assert time.monotonic() < until, "nobody is answered"
            time.sleep(0.002)

    def wait_for_refusals(self) -> None:
        """Until everybody was refused at least once."""
        self._wait_for_all("refused-*", "somebody is never refused")

    def wait_for_all_kinds(self) -> None:
        """Until everybody has made a request of each kind."""
        self._wait_for_all("all-*", "somebody is never served")

    def _wait_for_all(self, marks: str, otherwise: str) -> None:
        until = time.monotonic() + PATIENCE
        while len(list(self._folder.glob(marks))) < len(self._callers):
            self.check_going()
            assert time.monotonic() < until, otherwise
            time.sleep(0.01)

    def check_going(self) -> None:
        """A caller that was told something wrong ends at once, and says so on its stderr."""
        for number, (process, _) in enumerate(self._callers, 1):
            assert process.poll() is None, f"caller {number} ended by itself"

    def end(self) -> list[Log]:
        """Let all finish what they are about; what they were told."""
        self.check_going()
        for process, _ in self._callers:
            process.send_signal(signal.SIGTERM)
        for number, (process, _) in enumerate(self._callers, 1):
            assert process.wait(2 * PATIENCE) == 0, f"caller {number} went wrong"
        return [Log(**json.loads(log.read_text())) for _, log in self._callers]


# ------------------------------------------------------------------------------------ checks


def transcript(url: str, token: str | None = None) -> dict[int, dict[str, Any]]:
    """All of it over HTTP, a page at a time; each entry is there once."""
    found: dict[int, dict[str, Any]] = {}
    after: int | None = 0
    while after is not None:
        got = send(url, "GET", f"/v1/transcript?limit=1000&after={after}", token=token)
        assert got.status == 200, got.content
        for answer in got.json["answers"]:
            assert answer["entry"] not in found
            found[answer["entry"]] = answer
        after = got.json["next"]
    return found


def said(result: dict[str, Any]) -> dict[str, Any]:
    """A result but for whether it had been given before."""
    return {name: value for name, value in result.items() if name != "recorded"}


def check_told(logs: list[Log], kept: dict[int, dict[str, Any]]) -> None:
    """Whatever anybody was told is in the transcript, word for word, under its entry."""
    for log in logs:
        for result in log.told:
            assert said(kept[result["entry"]]) == said(result)
        for key, entries in log.keys.items():
            for i, entry in enumerate(entries):
                wanted = key if i == 0 else f"{key}/{i}"
                assert kept[entry]["key"] == wanted


def check_once(logs: list[Log], kept: dict[int, dict[str, Any]]) -> None:
    """Each answer was told as a new one once, and there is none that nobody was told."""
    new = Counter(r["entry"] for log in logs for r in log.told if not r["recorded"])
    assert set(new.values()) <= {1}
    assert new.keys() == kept.keys()
    questions = Counter((answer["query"], answer["round"]) for answer in kept.values())
    assert set(questions.values()) <= {1}


def check_money(path: Path, kept: dict[int, dict[str, Any]]) -> None:
    """What was spent is what the entries were charged, to the last unit, and within the budget."""
    with sh.open(path) as dataset:
        ledger = dataset._ledger
        charges = {
            entry.seq: (int(entry.read()["charge"]), entry.read()["round"])
            for entry in ledger.store.entries()
            if entry.kind == "answer"
        }
        spent = sum(units for units, _ in charges.values())
        assert spent == ledger.state.spent
        if ledger.rules.guard == "noise":
            assert charges.keys() == {seq for seq, answer in kept.items() if answer["price"]}
            for units, round in charges.values():
                assert units == ledger.policy.mechanism.charge(round)
            assert spent <= ledger.policy.budget
            assert dataset.status().budget.spent == to_float(spent)
        else:
            assert charges.keys() == kept.keys()
        assert ledger.state.answers == len(charges)
        by_analyst = ledger.store.spending().values()
        assert sum(one.units for one in by_analyst) == spent
        assert sum(one.answers for one in by_analyst) == len(charges)
        assert dataset.verify().answers == len(charges)


def check_appends(path: Path, logs: list[Log], first: int = FIRST) -> None:
    """Each batch that was acknowledged is there once, whole; and nothing besides."""
    appended = {int(b): count for log in logs for b, count in log.appended.items()}
    with sh.open(path) as dataset:
        rows = json.loads(dataset._data.text(0, dataset.n))
    assert len(rows) == first + sum(appended.values())
    at = first
    while at < len(rows):
        batch = rows[at][0]
        wanted = [list(record.values()) for record in records(batch, appended.pop(batch))]
        assert rows[at : at + len(wanted)] == wanted
        at += len(wanted)
    assert not appended
