"""A dataset with every kind of entry in it, and ways to tamper with a copy of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.runtime import adaptive_plan, made, opened, records, sql, warm
from surehold.data import intake
from surehold.ledger.entries import GENESIS, chained
from surehold.planning import Plan

Tamper = Callable[[Path], Any]


def build(path: Path, plan: Plan | None = None) -> None:
    """Ten entries: small appends that were sealed, a large one, one that waits, and answers.

    All sums are known before they are asked for, so that no answer has a charge of its own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "LARGE", 600)
        patch.setattr(intake, "RECORDS", 600)
        with made(path, plan or adaptive_plan(), 500) as dataset:
            session = dataset.session("ann")
            dataset.append(records(500, 900))
            dataset._data.seal()
            warm(dataset, "age > 50")
            session.ask("age > 50", key="first")
            dataset.append(records(900, 1900))
            warm(dataset, "mean(bmi, 0, 50)")
            session.ask(sh.mean("bmi", low=0, high=50))
            dataset.append(records(1900, 1950))
            warm(dataset, "age > 10", "city = 'Oslo'")
            session.ask_many(["age > 10", "city = 'Oslo'"], key="many")


KINDS = (
    *("create", "append", "append", "seal", "answer"),
    *("append", "answer", "append", "answer", "answer"),
)


def copied(template: Path, path: Path) -> Path:
    shutil.copytree(template, path)
    return path


def found_by(path: Path) -> tuple[str, sh.LedgerCorrupt] | None:
    """Whether opening or verifying finds something, and what; None if nothing does."""
    try:
        dataset = opened(path)
    except sh.LedgerCorrupt as error:
        return "open", error
    with dataset:
        try:
            dataset.verify()
        except sh.LedgerCorrupt as error:
            return "verify", error
    return None


def changed(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        is_time = value > 1e9  # beyond the entries that follow, however slowly they were written
        return value + (1e6 if is_time else 0.25)
    if isinstance(value, str):
        return str(int(value) + 1) if value.isdigit() else value[:-1] + chr(ord(value[-1]) ^ 1)
    if isinstance(value, list):
        return [changed(value[0]), *value[1:]] if value else ["something"]
    if isinstance(value, dict):
        first = next(iter(value))
        return {**value, first: changed(value[first])}
    assert value is None
    return 1


def bodies(path: Path) -> dict[int, tuple[str, dict[str, Any]]]:
    rows = sql(path, "SELECT seq, kind, body FROM entries ORDER BY seq")
    return {seq: (kind, json.loads(body)) for seq, kind, body in rows}


def fields_of(body: dict[str, Any]) -> list[tuple[str, ...]]:
    """Names of all fields, those of the state after it and of the plan on their own."""
    names: list[tuple[str, ...]] = []
    for name, value in body.items():
        if name in ("after", "plan", "columns"):
            names += [(name, inner) for inner in value]
        else:
            names.append((name,))
    return names


def edit(body: dict[str, Any], field: tuple[str, ...], how: str) -> str:
    """The text of a body in which one field is changed or left out."""
    body = json.loads(json.dumps(body))
    inner = body
    for name in field[:-1]:
        inner = inner[name]
    if how == "gone":
        del inner[field[-1]]
    else:
        inner[field[-1]] = changed(inner[field[-1]])
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def write(path: Path, seq: int, body: str) -> None:
    sql(path, "UPDATE entries SET body = ? WHERE seq = ?", values=(body, seq))


def rehash(path: Path, first: int, last: int | None = None) -> None:
    """Recompute the hashes of the entries from ``first`` to ``last``, or to the end."""
    before = sql(path, "SELECT hash FROM entries WHERE seq = ?", values=(first - 1,))
    chain = before[0][0] if before else GENESIS
    updates = []
    for seq, kind, body in sql(path, "SELECT seq, kind, body FROM entries ORDER BY seq"):
        if seq >= first and (last is None or seq <= last):
            chain = chained(chain, seq, kind, body)
            updates.append(f"UPDATE entries SET hash = x'{chain.hex()}' WHERE seq = {seq}")
    sql(path, "BEGIN", *updates, "COMMIT")


def rewitness(path: Path) -> None:
    """Make the witness say what the last entry is now."""
    [(seq, digest)] = sql(path, "SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1")
    (path / "witness").write_bytes(f"{seq} {digest.hex()}".ljust(127).encode() + b"\n")
