"""Small datasets for tests of the runtime: plans that are cached, records known by their number."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import surehold as sh
from support.noise_sources import FastSeededNoise
from surehold.planning import Plan
from surehold.queries import query_of
from surehold.session.dataset import Dataset, create

COLUMNS = {"age": "int", "bmi": "float", "city": "str"}
N0, N = 200, 2000


@cache
def adaptive_plan() -> Plan:
    """294 answers at n = 2,000, but 2 at n0 = 200."""
    return sh.plan(n0=N0, n=N, alpha=0.3, beta=0.1)


@cache
def batch_plan() -> Plan:
    """Five answers at each of 200, 800, 1,400 and 2,000."""
    return sh.plan(n0=N0, n=N, alpha=0.3, beta=0.1, batches=4)


@cache
def rare_plan() -> Plan:
    """Lopsided intervals."""
    return sh.plan(n0=N0, n=N, alpha=0.3, beta=0.1, rare=0.02)


def age_of(number: int) -> int:
    return number * 37 % 100


def record(number: int) -> dict[str, Any]:
    """The record of that number, from 0."""
    city = ("Oslo", "Bergen", "Tromsø")[number % 3]
    return {"age": age_of(number), "bmi": (number * 31 % 500) / 10, "city": city}


def records(start: int, stop: int) -> list[dict[str, Any]]:
    return [record(number) for number in range(start, stop)]


ID = "number"


def numbered(start: int, stop: int) -> list[dict[str, Any]]:
    """The same records with an id each."""
    return [{ID: number, **record(number)} for number in range(start, stop)]


def older(than: int, round: int) -> int:
    """How many of the first ``round`` records have a larger age."""
    return sum(age_of(number) > than for number in range(round))


def made(
    path: Path,
    plan: Plan | None = None,
    count: int = 0,
    seed: int = 1,
    clock: Callable[[], float] | None = None,
    guard: str = "noise",
    ids: bool = False,
) -> Dataset:
    """A new dataset with the first ``count`` records in it."""
    given = guarded(guard) if plan is None else {"plan": plan}
    columns = {"columns": {ID: "int", **COLUMNS}, "id": ID} if ids else {"columns": COLUMNS}
    create(path, **given, **columns).close()
    dataset = opened(path, seed, clock)
    if count:
        dataset.append(numbered(0, count) if ids else records(0, count))
    return dataset


GUARDS = ("noise", "surprise")


def guarded(guard: str, limit: float | None = None) -> dict[str, Any]:
    """What ``create`` takes for a guard; the limit is of bits, so that they come to an end too."""
    return {"plan": adaptive_plan()} if guard == "noise" else {"beta": 0.1, "limit": limit}


def opened(path: Path, seed: int = 2, clock: Callable[[], float] | None = None) -> Dataset:
    noise = FastSeededNoise(seed)
    return Dataset(path, noise) if clock is None else Dataset(path, noise, clock)


def warm(dataset: Dataset, *queries: Any) -> None:
    """Have the sums at hand: then an ask touches no record, and is one entry instead of two."""
    for query in map(query_of, queries):
        form = query.form(dataset._ledger.schema)
        dataset._data.exact([form.source], dataset.n)


def sql(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Edit the ledger of a dataset behind its back; the rows of the last statement."""
    rows: list[tuple[Any, ...]] = []
    with closing(sqlite3.connect(path / "ledger.sqlite", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for statement in statements:
            rows = connection.execute(statement, values).fetchall()
    return rows


TABLES = (
    "entries",
    "segments",
    "pending",
    "asked",
    "charged",
    "free_entries",
    "keys",
    "rounds",
    "spending",
    "claims",
)


def contents(path: Path) -> str:
    """A hash of all that a dataset holds: rows of its tables, bytes of its other files."""
    found = hashlib.sha256()
    for table in TABLES:
        found.update(repr(sql(path, f"SELECT * FROM {table} ORDER BY 1")).encode())
    found.update((path / "witness").read_bytes())
    for file in sorted((path / "segments").iterdir()):
        found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()


def exhausted(session: sh.Session, count: int = 400) -> sh.BudgetExhausted:
    for i in range(count):
        try:
            session.ask(f"age > {i} + 0.5")
        except sh.BudgetExhausted as error:
            return error
    raise AssertionError("the budget never ended")
