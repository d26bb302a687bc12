"""What an ask takes under either guard, side by side; quotes; ten thousand registered questions.

Every ask is of a new question, whose sums are not known, and ends on the disk. Times of both guards
are taken in turn, so that other work on the machine meets both alike.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import surehold as sh

COLUMNS = {"age": "int", "bmi": "float", "smoker": "bool"}
ASKS = 60
REGISTERED = 10_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for size in (2_000, 100_000, 3_000_000):
            compare(Path(folder) / f"{size}", size)
        register(Path(folder) / "registered")


def compare(folder: Path, size: int) -> None:
    """Asks of one guard beside those of the other."""
    folder.mkdir()
    plan = sh.plan(n0=size, n=size, alpha=0.45 if size < 10_000 else 0.2, beta=0.05)
    records = made(size, 1)
    noise = sh.create(folder / "noise", plan=plan, columns=COLUMNS)
    surprise = sh.create(folder / "surprise", beta=0.05, columns=COLUMNS)
    for dataset in (noise, surprise):
        dataset.append(records)
    n, s = noise.session(), surprise.session()
    asked: dict[str, Callable[[int], Any]] = {
        "noise": lambda i: n.ask(f"age > {i} and smoker"),
        "plain": lambda i: s.ask(f"age > {i} and smoker"),
        "expected": lambda i: s.ask(f"age = {i}", expect=0.01, within=0.01),
        "gate": lambda i: s.ask(sh.gate(f"age < {i}", at_least=0.5), expect="fail"),
        "quote": lambda i: s.quote(f"age <> {i}", expect=0.99),
    }
    times: dict[str, list[float]] = {name: [] for name in asked}
    for i in range(ASKS):
        for name, ask in asked.items():
            began = time.perf_counter()
            ask(i)
            times[name].append(time.perf_counter() - began)
    found = {name: statistics.median(taken) for name, taken in times.items()}
    print(f"{size:>10,} records: noise {1e3 * found['noise']:.2f} ms", end="")
    for name in ("plain", "expected", "gate"):
        ratio = found[name] / found["noise"]
        print(f", {name} {1e3 * found[name]:.2f} ms ({ratio:.2f})", end="")
    print(f"; quote {1e3 * found['quote']:.2f} ms (wanted < 1)")
    noise.close()
    surprise.close()


def register(path: Path) -> None:
    """Questions that are registered first, asked at two rounds, each in one pass."""
    with sh.create(path, beta=0.05, claims=REGISTERED, columns=COLUMNS) as dataset:
        dataset.append(made(20_000, 2))
        session = dataset.session()
        queries = [f"age < {i % 100} and bmi < {i / 100}" for i in range(REGISTERED)]
        began = time.perf_counter()
        session.register(queries, share=1)
        print(f"registering {REGISTERED:,} questions: {time.perf_counter() - began:.1f} s")
        for more in (2_000, 0):
            began = time.perf_counter()
            session.ask_many(queries)
            took = time.perf_counter() - began
            print(f"asking all of them at {len(dataset):,} records: {took:.1f} s")
            if more:
                dataset.append(made(more, 3))


def made(size: int, seed: int) -> pl.DataFrame:
    """Made-up records."""
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(0, 100, size),
            "bmi": random.normal(50, 15, size),
            "smoker": random.random(size) < 0.3,
        }
    )


if __name__ == "__main__":
    main()
