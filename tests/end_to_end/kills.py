"""Kill workers in the middle of things, open what they leave, and check that nothing is amiss.

`python tests/end_to_end/kills.py 200` does it two hundred times and prints what it saw.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

if __name__ == "__main__":  # as pytest has it
    sys.path.insert(0, str(Path(__file__).parent.parent))

import surehold as sh
from end_to_end.worker import COLUMNS, FIRST, ask, make, model, records, said_by
from surehold.ledger.entries import Entry
from surehold.planning import Plan
from surehold.server.tokens import TokenBook
from surehold.session.recorded_results import result_of

A_DATASET = 25  # kills; then a new one, as all of it is verified after each kill
PATIENCE = 180.0  # seconds
SPARE = 2  # workers that start while another is at work
WORKER = Path(__file__).parent / "worker.py"


@cache
def plan() -> Plan:
    """Hundreds of answers at any size that a run comes to; some runs exhaust it, as they should."""
    return sh.plan(n0=FIRST, n=200_000, queries=500_000, beta=0.2)


def given(guard: str) -> Plan | str:
    """What a dataset of that guard is made with: a plan, or beta."""
    return plan() if guard == "noise" else "0.05"


class Workers:
    """As many processes as are needed, ready to go: starting Python takes longer than a kill."""

    def __init__(self, needed: int) -> None:
        self._ready: deque[subprocess.Popen[bytes]] = deque()
        self._all: list[subprocess.Popen[bytes]] = []
        self._needed = needed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._all:
            end(process)

    def go(self, **order: Any) -> subprocess.Popen[bytes]:
        """Send a worker off."""
        while len(self._ready) <= SPARE and len(self._all) < self._needed:
            self._ready.append(
                subprocess.Popen([sys.executable, str(WORKER)], stdin=subprocess.PIPE)
            )
            self._all.append(self._ready[-1])
        process = self._ready.popleft()
        assert process.stdin is not None
        process.stdin.write((json.dumps(order) + "\n").encode())
        process.stdin.flush()
        return process


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker; when this returns it is gone."""
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def wait_for(log: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the worker was told of something it did."""
    give_up = time.monotonic() + PATIENCE
    while not (log.exists() and b'"done"' in log.read_bytes()):
        assert process.poll() is None, f"the worker ended by itself ({process.returncode})"
        assert time.monotonic() < give_up, "the worker does nothing"
        time.sleep(0.001)


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


class Witnessed:
    """A dataset, all that its workers were told of, and what was seen of it so far."""

    def __init__(self, path: Path, guard: str = "noise") -> None:
        self.path, self.guard = path, guard
        if not path.exists():
            make(path, given(guard))
        self.seen: Counter[str] = Counter()
        self._n = FIRST
        self._spent = 0.0
        self._told: dict[int, tuple[str, Any]] = {}
        self._kept: dict[int, int] = {}  # batch: records
        self._tokens: dict[str, tuple[str, bool]] = {}  # by id: its text, and whether it is good
        self._models: dict[str, int] = {}
        self._names: dict[str, set[str]] = {"table": set(), "name": set()}
        self._reserved: dict[str, float] = {}

    def check(self, *logs: Path) -> None:
        """After a kill: everything that anybody was told of is there, once, and paid for."""
        self.check_said([line for log in logs for line in lines(log)])

    def check_said(self, said: list[dict[str, Any]]) -> None:
        """The same, of what was said in any log."""
        self.seen["acknowledged"] += sum("done" in line for line in said)
        self._check_tokens(said)
        with sh.open(self.path) as dataset:
            self._check_money(dataset)
            self._check_appends(dataset, said)
            self._check_answers(dataset, said)
            self._check_models(dataset, said)
            self._check_names(dataset, said)
            self._check_reservations(dataset, said)
            self._check_open_questions(dataset, said)
            verified = dataset.verify()
            assert verified.records == dataset.n
            assert all(s.endswith(".arrow") or s.startswith(".") for s in verified.strays)
            self.seen["kills"] += 1
            self.seen["files left over"] = len(verified.strays)
            self._check_money(dataset)

    def _check_money(self, dataset: sh.Dataset) -> None:
        if self.guard == "surprise":
            state, answers = dataset._ledger.state, answers_of(dataset)
            assert sum(map(to_units, answers)) == state.spent >= self._spent
            self._spent = state.spent
            return
        budget = dataset.session().budget
        charges = [to_units(entry) for entry in charges_of(dataset)]
        assert sum(charges) == dataset._ledger.state.spent <= dataset._ledger.policy.budget
        assert self._spent <= budget.spent <= budget.total
        self._spent = budget.spent

    def _check_tokens(self, said: list[dict[str, Any]]) -> None:
        open_ones = {line["id"] for line in said if line.get("about") == "revocation"}
        for line in said:
            if line.get("done") in ("token", "revocation"):
                self._tokens[line["id"]] = (line["text"], line["done"] == "token")
                self.seen[f"{line['done']}s acknowledged"] += 1
                if line["done"] == "revocation":
                    open_ones.remove(line["id"])
        for number in open_ones:  # nobody heard of it: either will do, from now on
            text, _ = self._tokens[number]
            self._tokens[number] = (text, is_known(self.path, text))
        for text, is_good in self._tokens.values():
            assert is_known(self.path, text) == is_good, "a token, or a revocation, is lost"

    def _check_models(self, dataset: sh.Dataset, said: list[dict[str, Any]]) -> None:
        told = {line["name"]: line["number"] for line in said if line.get("done") == "model"}
        self._models |= told
        self.seen["models acknowledged"] += len(told)
        for name, number in self._models.items():
            assert dataset.model_content(name) == model(number), "a model is lost"

    def _check_names(self, dataset: sh.Dataset, said: list[dict[str, Any]]) -> None:
        """Side tables, which are read, and registered questions."""
        found = {
            "table": {table.name for table in dataset.tables},
            "name": {question.name for question in dataset.dashboard.questions},
        }
        for kind, names in self._names.items():
            told = {line["name"] for line in said if line.get("done") == kind}
            names |= told
            self.seen[f"{kind}s acknowledged"] += len(told)
            assert names <= found[kind], f"a {kind} is lost"
        for name in self._names["table"]:
            dataset._data.table_store.rows(dataset.table(name).table)

    def _check_reservations(self, dataset: sh.Dataset, said: list[dict[str, Any]]) -> None:
        """The last that was acknowledged, or one that its worker never heard of."""
        found = {one.analyst: one.reserved for one in dataset.reservations}
        for line in said:
            if line.get("done") == "reservation":
                self._reserved[line["name"]] = line["share"]
                self.seen["reservations acknowledged"] += 1
        last = {line["name"]: line["share"] for line in said if line.get("about") == "reservation"}
        for name, share in found.items():
            is_kept = share == self._reserved.get(name)
            assert is_kept or math.isclose(share, last[name], rel_tol=1e-6), "a reservation is lost"
        assert self._reserved.keys() <= found.keys(), "a reservation is lost"
        self._reserved = found

    def _check_appends(self, dataset: sh.Dataset, said: list[dict[str, Any]]) -> None:
        n, start = dataset.n, self._n
        assert n >= start
        rows = json.loads(dataset._data.text(start, n - start)) if n > start else []
        found: dict[int, int] = {}
        at = 0
        while at < len(rows):
            batch = rows[at][0]
            count = next(
                (s["count"] for s in said if s.get("about") == "append" and s["batch"] == batch), 0
            )
            wanted = [[row[name] for name in COLUMNS] for row in records(batch, count)]
            assert count, "records that nobody appended"
            assert rows[at : at + count] == wanted, "an append that is not whole, or not in order"
            assert batch not in found
            assert batch not in self._kept
            found[batch] = count
            at += count
        for line in said:
            if line.get("done") == "append":
                assert found.get(line["batch"]) == line["count"], "an acknowledged append is lost"
                assert line["n"] <= n
                self.seen["appends acknowledged"] += 1
                self.seen["records acknowledged"] += line["count"]
        told = sum(line.get("done") == "append" for line in said)
        self.seen["appends kept, not acknowledged"] += len(found) - told
        self._kept |= found
        self._n = n

    def _check_answers(self, dataset: sh.Dataset, said: list[dict[str, Any]]) -> None:
        for line in said:
            if line.get("done") == "ask":
                for seq, value, charge in line["told"]:
                    assert seq not in self._told
                    self._told[seq] = (line["key"], value)
                    assert (charge > 0.0) == (kind_of(dataset, seq) == "answer")
                self.seen["answers told"] += len(line["told"])
            self.seen["asks refused"] += line.get("done") == "refused"
            self.seen["seals acknowledged"] += line.get("done") == "seal"
        for seq, (key, value) in self._told.items():
            entry = dataset._ledger.store.entry(seq)
            assert entry is not None
            result, body = result_of(entry, dataset._ledger, recorded=True), entry.read()
            assert said_by(result) == value, "the ledger has another value than was told"
            if entry.kind == "answer":
                assert body["key"].partition("/")[0] == key
                assert int(body["charge"]) > 0
            else:
                assert entry.kind == "derived"
                assert (result.charge, result.price) == (0.0, 0)

    def _check_open_questions(self, dataset: sh.Dataset, said: list[dict[str, Any]]) -> None:
        """What a worker asked and never heard of: asked again, it is answered and charged once."""
        finished = {line["key"] for line in said if line.get("done") in ("ask", "refused")}
        session = dataset.session()
        for line in said:
            if line.get("about") != "ask" or line["key"] in finished:
                continue
            before, key, queries = dataset._ledger.state, line["key"], line["queries"]
            keyed = [e for e in answers_of(dataset) if e.read()["key"].partition("/")[0] == key]
            bills = [e for e in charges_of(dataset) if e.read()["key"].partition("/")[0] == key]
            is_noisy = self.guard == "noise"
            parts, slots = charged(queries) if is_noisy else (len(queries), len(queries))
            assert len(keyed) in (0, parts), "some of what was asked together"
            assert len(bills) in (0, parts), "a charge for some of what was asked together"
            try:
                first = ask(session, queries, key)
            except sh.BudgetExhausted:
                assert not bills
                assert dataset._ledger.state == before
                continue
            # What follows from answers may be there or not: it is written after them.
            paid = [a for a in first if not is_noisy or a.price]
            assert [a.recorded for a in paid] == [bool(keyed)] * len(paid)
            if keyed:
                assert {a.entry for a in paid} <= {e.seq for e in keyed}
            after = dataset._ledger.state
            # Noise is charged before, surprise once it is known.
            assert after.answers == before.answers + (
                0 if (bills if is_noisy else keyed) else slots
            )
            again = ask(session, queries, key)
            assert [said_by(a) for a in again] == [said_by(a) for a in first]
            assert all(a.recorded for a in again)
            assert dataset._ledger.state == after
            found = "in the ledger" if keyed else "charged" if bills else "not there"
            self.seen[f"open questions, {found}"] += 1
            # What is implied by recorded answers has no entry of its own.
            own = [a for a in first if a in paid or kind_of(dataset, a.entry) == "derived"]
            self._told |= {a.entry: (key, said_by(a)) for a in own}


def answers_of(dataset: sh.Dataset) -> list[Entry]:
    return [entry for entry in dataset._ledger.store.entries() if entry.kind == "answer"]


def charges_of(dataset: sh.Dataset) -> list[Entry]:
    """Charges of their own, and answers that are their own charges."""
    return [
        entry
        for entry in dataset._ledger.store.entries()
        if entry.kind == "charge"
        or (entry.kind == "answer" and not {"charged", "menu_entry"} & entry.read().keys())
    ]


def is_known(path: Path, text: str) -> bool:
    try:
        TokenBook(path).find(text)
    except sh.AccessDenied:
        return False
    return True


def kind_of(dataset: sh.Dataset, seq: int) -> str:
    entry = dataset._ledger.store.entry(seq)
    assert entry is not None
    return entry.kind


def charged(queries: list[str]) -> tuple[int, int]:
    """How many entries are charged for what a worker asks, and how many answers they count for."""
    known = {"histogram": (1, 4), "rate": (2, 2), "select": (1, 2)}
    found = [known.get(query.partition("(")[0], (1, 1)) for query in queries]
    return sum(parts for parts, _ in found), sum(slots for _, slots in found)


def to_units(entry: Entry) -> int:
    return int(entry.read()["charge"])


def run(
    folder: Path, kills: int, seed: int, together: int = 1, guard: str = "noise"
) -> Counter[str]:
    """So many kills at random moments, ``together`` workers on a dataset at once."""
    moments = random.Random(seed)
    seen: Counter[str] = Counter()
    witnessed = None
    with Workers(needed=kills * together) as workers:
        for kill in range(kills):
            if kill % A_DATASET == 0:
                seen += witnessed.seen if witnessed else Counter()
                witnessed = Witnessed(folder / f"data-{seed}-{kill}", guard)
            assert witnessed is not None
            logs = [folder / f"log-{seed}-{kill}-{i}" for i in range(together)]
            running = [
                workers.go(dataset=str(witnessed.path), log=str(log), seed=1 + kill * together + i)
                for i, log in enumerate(logs)
            ]
            for log, process in zip(logs, running, strict=True):
                wait_for(log, process)
            for process in moments.sample(running, together):
                time.sleep(moments.uniform(0.005, 0.120))
                assert process.poll() is None, "the worker ended by itself"
                end(process)
            witnessed.check(*logs)
    assert witnessed is not None
    return seen + witnessed.seen


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    begin, of_two = time.monotonic(), kills // 5
    for guard in ("noise", "surprise"):
        for together, times in ((1, kills - of_two), (2, of_two)):
            with tempfile.TemporaryDirectory() as folder:
                seen = run(Path(folder), times, 2026, together, guard)
            took = f"{time.monotonic() - begin:.0f} s"
            sys.stdout.write(f"{guard}, {together} at once, {took}: {dict(seen)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
