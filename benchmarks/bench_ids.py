"""What ids cost: a cumulative export of 1,010,000 records, of which 1,000,000 are known.

Against the same export, appended to an empty dataset without ids, in turn. Every append opens the
dataset first, so that what is known has to be read and hashed again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from side_by_side import best, report

import surehold as sh

KNOWN, NEW = 1_000_000, 10_000
TURNS = 5


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("int", "str"):
            records = make(KNOWN + NEW, kind)
            base = folder / f"base-{kind}"
            with sh.create(base, beta=0.05, like=records, id="user") as dataset:
                dataset.append(records.head(KNOWN))
            for order in ("the same order", "another order"):
                compare(folder, base, records, kind, order)


def compare(folder: Path, base: Path, records: pl.DataFrame, kind: str, order: str) -> None:
    """One export, against the dataset that knows most of it and an empty one without ids."""
    file = folder / "export.parquet"
    shuffled = records.sample(fraction=1.0, shuffle=True, seed=2)
    (records if order == "the same order" else shuffled).write_parquet(file)
    made = 0

    def fresh() -> Path:
        nonlocal made
        made += 1
        return folder / f"copy-{made}"

    def known() -> None:
        with sh.open(copies.pop()) as dataset:
            assert dataset.append(file).count == NEW

    def bare() -> None:
        with sh.open(empties.pop()) as dataset:
            assert dataset.append(file).n == KNOWN + NEW

    copies = [shutil.copytree(base, fresh()) for _ in range(TURNS)]
    empties = []
    for _ in range(2 * TURNS):
        sh.create(fresh(), beta=0.05, like=records).close()
        empties.append(folder / f"copy-{made}")

    def first() -> None:
        with sh.create(fresh(), beta=0.05, like=records, id="user") as dataset:
            assert dataset.append(file).n == KNOWN + NEW

    show(f"{kind} ids, {order}: 1,010,000 with 1,000,000 known", known, bare)
    show(f"{kind} ids, {order}: 1,010,000, all new", first, bare)
    for path in folder.glob("copy-*"):
        shutil.rmtree(path)


def show(what: str, ours: Callable[[], object], bare: Callable[[], object]) -> None:
    """The ratio of their best times."""
    our_time, bare_time = best(TURNS, ours, bare)
    detail = f"{our_time * 1e3:.0f} ms against {bare_time * 1e3:.0f} ms"
    report(what, our_time / bare_time, "<= 2", detail)


def make(count: int, kind: str) -> pl.DataFrame:
    """Records of eight columns."""
    random = np.random.default_rng(1)
    users = random.permutation(count)
    return pl.DataFrame(
        {
            "user": users if kind == "int" else [f"user-{one}" for one in users],
            "age": random.integers(0, 100, count),
            "bmi": random.normal(25, 4, count),
            "spent": random.exponential(30, count),
            "score": random.random(count),
            "smoker": random.random(count) < 0.2,
            "member": random.random(count) < 0.5,
            "city": random.choice(np.array(["Oslo", "Bergen", "Tromsø"]), count),
        }
    )


if __name__ == "__main__":
    main()
