"""A process that uses a dataset until it is killed: `python worker.py`, then one JSON line.

It says in its log what it is about to do, and after each operation what it was told, a line each
by one write, so that a kill loses at most the last. Segments are small here, so that a short run
has many of them. With ``crash`` it kills itself at that point instead: see CRASH_POINTS.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import surehold as sh
from surehold import files
from surehold.data import intake, record_store, segments
from surehold.ledger.draft import Draft
from surehold.ledger.store import Store
from surehold.ledger.surprise_draft import SurpriseDraft
from surehold.ledger.witness import Witness
from surehold.models.payload import payload_of
from surehold.server.tokens import TokenBook
from surehold.session import dataset as datasets
from surehold.session.dataset import Dataset
from surehold.session.outcomes import Outcome, SelectionOutcome, TableOutcome

COLUMNS = {"batch": "int", "i": "int", "x": "float", "who": "str id"}
FIRST, FEW, MANY = 2_000, 200, 500
SMALL_SEGMENTS = {(record_store, "SEAL_AT"): 700, (intake, "LARGE"): MANY, (intake, "RECORDS"): 400}


def records(batch: int, count: int) -> list[dict[str, Any]]:
    """The records of a batch: all of it, and its order, can be told from what is kept."""
    bits = random.Random(batch)
    return [
        {
            "batch": batch,
            "i": i,
            "x": None if i % 50 == 7 else bits.random(),
            "who": f"№{batch} {i}",
        }
        for i in range(count)
    ]


@cache
def _any_model() -> bytes:
    from onnx import TensorProto, helper

    given, told = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in "xy"
    )
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "g", [given], [told])
    opsets = [helper.make_opsetid("", 18)]
    made: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    return made


def model(number: int) -> bytes:
    """A model that differs from others in its description, the sixth field of the format."""
    text = f"{number:020}".encode()
    return _any_model() + bytes([6 << 3 | 2, len(text)]) + text


class Log:
    """Lines that are there once `say` returns, whatever happens to the process."""

    def __init__(self, path: str) -> None:
        self._path = path

    def say(self, **what: Any) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, (json.dumps(what) + "\n").encode())
        os.close(file)


def make(path: Path, plan: Any) -> None:
    """A dataset for workers; a text is the beta of one with the surprise guard."""
    guard = {"beta": plan} if isinstance(plan, str) else {"plan": plan}
    with sh.create(path, columns=COLUMNS, **guard) as dataset:
        dataset.append(records(0, FIRST))
        dataset._data.seal()


class Load:
    """Random operations, all seeded, each different from all others of any worker."""

    def __init__(self, dataset: Dataset, log: Log, seed: int) -> None:
        self._dataset = dataset
        self._session = dataset.session(f"worker {seed}")
        self._log = log
        self._random = random.Random(seed)
        self._seed = seed
        self._done = 0
        self._book = TokenBook(dataset.path)
        self._tokens: list[tuple[str, str]] = []
        self._tables: list[str] = []

    def step(self) -> None:
        self._done += 1
        what = self._random.choices(
            (
                self.append_one,
                self.append_few,
                self.append_many,
                self.ask,
                self.ask_many,
                self.ask_classes,
                self.seal,
                self.make_token,
                self.revoke_token,
                self.keep_model,
                self.keep_table,
                self.ask_table,
                self.register,
                self.reserve,
            ),
            weights=(6, 3, 2, 8, 2, 3, 1, 3, 2, 2, 2, 2, 2, 2),
        )[0]
        what()

    @property
    def _number(self) -> int:
        return self._seed * 100_000 + self._done

    def append_one(self) -> None:
        self._append(1)

    def append_few(self) -> None:
        self._append(FEW)

    def append_many(self) -> None:
        self._append(self._random.randint(MANY, 2 * MANY))

    def _append(self, count: int) -> None:
        batch = self._number
        rows = records(batch, count)
        known = records(0, FIRST)[::9] if count == FEW else []  # an export that grows
        self._log.say(about="append", batch=batch, count=count)
        appended = self._dataset.append(rows[0] if count == 1 else [*known, *rows])
        assert (appended.count, appended.known) == (count, len(known))
        n = appended.n
        self._log.say(done="append", batch=batch, count=count, n=n)

    def ask(self) -> None:
        self._ask([f"x < 0.5 and batch <> {self._number}"])

    def ask_many(self) -> None:
        self._ask([f"mean(x, 0, {self._number}{digit})" for digit in range(3)])

    def ask_classes(self) -> None:
        """A table, a choice, and a rate: two answers in the same step, and what follows later."""
        number = self._number
        self._ask(
            [
                f"histogram(bins(x, 0, 0.5, 1, {number}))",
                f"rate(x < 0.5, batch <> {number})",
                f"select(lowest, 2, x < 0.1 and batch <> {number}, x < 0.5 and i <> {number})",
            ]
        )

    def _ask(self, queries: list[str]) -> None:
        key = f"key-{self._number}"
        self._log.say(about="ask", key=key, queries=queries)
        try:
            answers = ask(self._session, queries, key)
        except sh.BudgetExhausted:
            self._log.say(done="refused", key=key)
            return
        told = [[answer.entry, said_by(answer), cost_of(answer)] for answer in answers]
        self._log.say(done="ask", key=key, told=told)

    def make_token(self) -> None:
        self._log.say(about="token")
        token, text = self._book.create(f"analyst {self._number}", "analyst", seconds=None)
        self._log.say(done="token", id=token.id, text=text)
        self._tokens.append((token.id, text))

    def revoke_token(self) -> None:
        if self._tokens:
            number, text = self._tokens.pop(self._random.randrange(len(self._tokens)))
            self._log.say(about="revocation", id=number)
            self._book.revoke(number)
            self._log.say(done="revocation", id=number, text=text)

    def keep_model(self) -> None:
        self._log.say(about="model", number=self._number)
        kept = self._dataset.keep_model(model(self._number))
        self._log.say(done="model", number=self._number, name=kept.model)

    def keep_table(self) -> None:
        name = f"t{self._number}"
        self._log.say(about="table", name=name)
        rows = [{"who": f"№0 {i}", "v": self._number + i} for i in range(50)]
        self._log.say(done="table", name=self._session.keep_table(rows, name).name)
        self._tables.append(name)

    def ask_table(self) -> None:
        for name in self._tables[-1:]:
            self._ask([f"fraction({name}.who is not null and {name}.v > {self._number})"])

    def register(self) -> None:
        name = f"n{self._number}"
        self._log.say(about="name", name=name)
        asked = {"name": name, "question": f"x < 0.25 and batch <> {self._number}"}
        self._session.register(sh.Dashboard.of([asked]))
        self._log.say(done="name", name=name)

    def reserve(self) -> None:
        """For one analyst of this worker, more each time; without a limit there is nothing to."""
        if self._dataset.guard == "noise":
            name, share = f"for {self._seed}", (self._done + 1) / 10**6
            self._log.say(about="reservation", name=name, share=share)
            kept = self._dataset.reserve(name, share)
            self._log.say(done="reservation", name=name, share=kept.reserved)

    def seal(self) -> None:
        self._log.say(about="seal")
        self._dataset._data.seal()
        self._log.say(done="seal")


def said_by(result: sh.Result) -> Any:
    """What an analyst knows by a result."""
    match result:
        case sh.Table() | TableOutcome():
            return [cell.value for cell in result.cells]
        case sh.Choice() | SelectionOutcome():
            return result.name
        case _:
            return result.value  # type: ignore[attr-defined]  # an answer or an estimate


def cost_of(result: Any) -> float:
    """In mu^2, or in bits."""
    return float(result.surprise if isinstance(result, Outcome) else result.charge)


def ask(session: sh.Session, queries: list[str], key: str) -> tuple[Any, ...]:
    """One alone or several together, as the worker asks and its parent asks again."""
    if len(queries) == 1:
        return (session.ask(queries[0], key=key),)
    return session.ask_many(queries, key=key)


# ------------------------------------------------------------------------------- crash points


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# Name: the owner and the name of a function; the process dies just before or just after it runs.
CRASH_POINTS: dict[str, tuple[Any, str]] = {
    "write": (segments, "write_file"),
    "digest": (segments, "digest_of"),
    "rename": (Path, "rename"),
    "replace": (Path, "replace"),
    "sync folder": (files, "sync_folder"),
    "enter rows": (Draft, "add_rows"),
    "enter segments": (Draft, "add_segments"),
    "enter seal": (Draft, "seal"),
    "enter reservation": (Draft, "reserve"),
    "enter claim": (SurpriseDraft, "add_claim"),
    "enter charge": (Draft, "add_charge"),
    "enter answer": (Draft, "add_answer"),
    "drop pending": (Store, "drop_pending"),
    "note key": (Store, "note_key"),
    "commit": (Store, "_commit"),
    "witness": (Witness, "write"),
    "enter succession": (Draft, "succeed"),
    "name files": (files, "name_files"),
    "scrub": (Store, "scrub"),
}


def arm(point: str, after: bool, times: int) -> None:
    """Die at the ``times``-th call of the point from now on."""
    owner, name = CRASH_POINTS[point]
    left = [times]

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and not after:
                _die()
            result = real(*args, **named)
            if left[0] == 0:
                _die()
            return result

        return call

    setattr(owner, name, dying(getattr(owner, name)))
    if owner is Draft and name in vars(SurpriseDraft):
        setattr(SurpriseDraft, name, dying(getattr(SurpriseDraft, name)))


def main() -> None:
    for (module, name), value in SMALL_SEGMENTS.items():
        setattr(module, name, value)
    order = json.loads(sys.stdin.readline())
    log = Log(order["log"])
    if order.get("create"):
        arm(*order["crash"])
        datasets.create(order["dataset"], plan=order["create"], columns=COLUMNS)
        log.say(done="create")
        return
    if order.get("succeed"):
        arm(*order["crash"])
        sh.succeed(order["dataset"], order["succeed"], erase=["№0 7"], reason="on request")
        return
    if order.get("make"):
        make(Path(order["dataset"]), order["make"])
        log.say(done="make")
    dataset = sh.open(order["dataset"])
    load = Load(dataset, log, order["seed"])
    if order.get("operation"):
        if order["crash"]:
            arm(*order["crash"])
        getattr(load, order["operation"])()
        return
    importlib.import_module("surehold.theory.selection")  # a first choice would take a while
    payload_of(model(0))
    for _ in range(order.get("steps", sys.maxsize)):
        load.step()
    dataset.close()


if __name__ == "__main__":
    main()
