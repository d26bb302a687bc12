"""The runtime against the bare libraries it stands on, side by side in one run.

    .venv/bin/python benchmarks/bench_runtime.py [RECORDS]      (default 10,000,000)

Times are the best of several turns that alternate, so that a busy moment hits both sides; what
counts are the ratios. Everything is written below a temporary folder of the current disk.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from side_by_side import best, report

import surehold as sh

COLUMNS = {
    "age": "int", "bmi": "float", "smoker": "bool", "city": "str",
    "a": "float", "b": "float", "c": "int", "d": "bool",
}  # fmt: skip
PAGE = b"x" * 4096


def table(count: int) -> pl.DataFrame:
    random = np.random.default_rng(1)
    cities = np.array(["Oslo", "Bergen", "Trondheim", "Stavanger"])
    return pl.DataFrame(
        {
            "age": random.integers(0, 100, count),
            "bmi": random.normal(27, 5, count),
            "smoker": random.random(count) < 0.2,
            "city": cities[random.integers(0, 4, count)],
            "a": random.normal(size=count),
            "b": random.normal(size=count),
            "c": random.integers(0, 10**6, count),
            "d": random.random(count) < 0.5,
        }
    )


def rates(seconds: float, *sides: Callable[[], object]) -> list[float]:
    """Calls a second of each side, in slices that take turns; the median slice counts."""
    slices: list[list[float]] = [[] for _ in sides]
    for _ in range(7):
        for i, side in enumerate(sides):
            start, calls = time.perf_counter(), 0
            while time.perf_counter() - start < seconds / 7:
                side()
                calls += 1
            slices[i].append(calls / (time.perf_counter() - start))
    return [sorted(found)[len(found) // 2] for found in slices]


class Syncing:
    """The bare disk: write a page at the end of a file and wait for it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT)
        self._at = 0

    def __call__(self) -> None:
        os.pwrite(self._file, PAGE, self._at)
        os.fdatasync(self._file)
        self._at += len(PAGE)


def plan_for(count: int) -> sh.Plan:
    """A budget that no benchmark exhausts."""
    return sh.plan(n0=max(count // 100, 1000), n=2 * count, queries=10**9, beta=0.05)


def bench_append(folder: Path, frame: pl.DataFrame) -> sh.Dataset:
    """Ours is hashed and on the disk at the end; Polars' file is synced to be there too.

    Where the system has no warm memory for the file, both take several times as long: each turn
    writes new files, the sides take turns in going first, and the sums of all turns are compared.
    """
    plan, times = plan_for(frame.height), {"bare": 0.0, "synced": 0.0, "ours": 0.0}
    datasets = []
    for turn in range(4):
        datasets.append(sh.create(folder / f"large{turn}", plan=plan, columns=COLUMNS))
        for side in ("bare", "ours") if turn % 2 else ("ours", "bare"):
            os.sync()
            start = time.perf_counter()
            if side == "ours":
                datasets[turn].append(frame)
                times["ours"] += time.perf_counter() - start
                continue
            frame.write_ipc(path := folder / f"bare{turn}.arrow")
            times["bare"] += time.perf_counter() - start
            with path.open("rb") as file:
                os.fsync(file.fileno())
            times["synced"] += time.perf_counter() - start
            path.unlink()
    for side, target in (("synced", ">= 0.5"), ("bare", None)):
        what = "write_ipc and fsync" if side == "synced" else "write_ipc alone"
        detail = f"{times['ours'] / 4:.2f} s against {times[side] / 4:.2f} s"
        ratio = times[side] / times["ours"]
        report(f"append, against Polars' {what} (speed)", ratio, target, detail)
    for turn, dataset in enumerate(datasets):
        if turn:
            dataset.close()
            shutil.rmtree(dataset.path)
    return datasets[0]


def bench_ask(folder: Path, dataset: sh.Dataset, frame: pl.DataFrame) -> None:
    session, sync = dataset.session(), Syncing(folder / "sync")
    held, ages = dataset.session(fixed_time=True), itertools.count()
    age, smoker = frame["age"].to_numpy(), frame["smoker"].to_numpy()
    session.ask("age > 1 and smoker")  # maps the segments, once

    def ours() -> None:  # another threshold each time, so that no sum is known
        session.ask(f"age > {65 + next(ages) * 1e-6!r} and smoker")

    def ours_held() -> None:
        held.ask(f"age > {65 + next(ages) * 1e-6!r} and smoker")

    def bare() -> None:
        frame.select(((pl.col("age") > 65) & pl.col("smoker")).sum()).item()
        sync()

    def bytes_summed() -> None:
        age.sum()
        smoker.view(np.uint8).sum(dtype=np.uint64)

    our_time, bare_time, byte_time = best(25, ours, bare, bytes_summed)
    detail = f"{our_time * 1e3:.1f} ms against {bare_time * 1e3:.1f} ms"
    ratio = our_time / bare_time
    report("ask one predicate, against Polars + fdatasync", ratio, "<= 1.3", detail)
    detail = f"{our_time * 1e3:.1f} ms against {byte_time * 1e3:.1f} ms"
    ratio = our_time / byte_time
    report("ask one predicate, against NumPy summing its bytes", ratio, "<= 3", detail)
    ours_held()  # its kind has its trial
    held_time, bare_time = best(10, ours_held, bare)
    detail = f"{held_time * 1e3:.1f} ms against {bare_time * 1e3:.1f} ms"
    report("the same with fixed-time release, against Polars", held_time / bare_time, None, detail)


def bench_ask_many(folder: Path, dataset: sh.Dataset, frame: pl.DataFrame) -> None:
    session, sync = dataset.session(), Syncing(folder / "sync")
    held, turn = dataset.session(fixed_time=True), itertools.count(1)

    def ours(session: sh.Session = session) -> None:
        shift = next(turn) * 1e-9
        limits = np.linspace(-3, 3, 1000) + shift
        session.ask_many([sh.fraction(f"a > {limit!r} and smoker") for limit in limits.tolist()])

    def bare() -> None:
        limits = np.linspace(-3, 3, 1000)
        predicates = [
            ((pl.col("a") > limit) & pl.col("smoker")).sum().alias(str(i))
            for i, limit in enumerate(limits.tolist())
        ]
        frame.lazy().select(predicates).collect().row(0)
        sync()

    our_time, bare_time = best(3, ours, bare)
    ratio, detail = our_time / bare_time, f"{our_time:.2f} s against {bare_time:.2f} s"
    report("ask_many of 1,000, against the fused Polars query", ratio, "<= 1.2", detail)
    held_time, bare_time = best(3, lambda: ours(held), bare)
    ratio, detail = held_time / bare_time, f"{held_time:.2f} s against {bare_time:.2f} s"
    report("the same with fixed-time release", ratio, None, detail)


def bench_again(dataset: sh.Dataset, frame: pl.DataFrame) -> None:
    """A query that is heavy enough that the sum, not the disk, is what is measured."""
    session = dataset.session()
    queries = [f"sqrt(abs(a * b)) + bmi / {i + 1} > 3 and city = 'Oslo'" for i in range(20)]
    start = time.perf_counter()
    session.ask_many(queries)
    first = time.perf_counter() - start
    dataset.append(frame.head(frame.height // 100))
    start = time.perf_counter()
    session.ask_many(queries)
    again = time.perf_counter() - start
    ratio, detail = again / first, f"{again * 1e3:.1f} ms against {first * 1e3:.1f} ms"
    report("re-ask after 1 % more records, against the first time", ratio, "<= 0.05", detail)


def bench_small(folder: Path) -> None:
    dataset = sh.create(folder / "small", plan=plan_for(10**6), columns=COLUMNS)
    [record] = table(1).to_dicts()
    dataset.append([record] * 20_000)
    session, sync = dataset.session(), Syncing(folder / "sync2")

    def appends() -> None:
        dataset.append(record)

    appended, bare = rates(7.0, appends, sync)
    ratio, detail = appended / bare, f"{appended:,.0f} against {bare:,.0f} a second"
    report("single-record appends, against bare fdatasync (rate)", ratio, ">= 0.5", detail)

    know_all_sums(dataset)
    # As a dashboard does: the same queries again and again, at one round after the other.
    panels = [sh.fraction(f"age > {limit} and city = 'Oslo'") for limit in range(100)]
    rounds, asked_now = itertools.count(10_001), itertools.cycle(panels)

    def asks() -> None:
        query = next(asked_now)
        if query is panels[0]:
            session.hold(next(rounds))
        session.ask(query)

    asked, bare = rates(7.0, asks, sync)
    ratio, detail = asked / bare, f"{asked:,.0f} against {bare:,.0f} a second"
    report("asks of known sums, against bare fdatasync (rate)", ratio, ">= 0.5", detail)
    dataset.close()


def bench_long(folder: Path, answers: int) -> None:
    """A long transcript: opening it, and whether asking gets slower or bigger."""
    plan = sh.plan(n0=10**6, n=10**6, queries=2 * answers + 10**5, beta=0.05)
    dataset = sh.create(folder / "long", plan=plan, columns={"age": "int"})
    dataset.append(pl.DataFrame({"age": np.arange(10**6) % 100}))
    session, numbers = dataset.session(), itertools.count()
    know_all_sums(dataset)

    def asks() -> None:
        session.ask(f"age > {next(numbers)}")

    [early] = rates(3.0, asks)
    opened, memory = 0.0, 0.0
    while (given := dataset._ledger.state.answers) < answers:
        session.ask_many([f"age > {next(numbers)}" for _ in range(1_000)])
        if not opened and given >= 100_000:
            [opened] = best(3, lambda: sh.open(folder / "long").close())
        if not memory and given >= answers // 2:
            memory = resident()
    grown = resident() - memory
    [late] = rates(3.0, asks)
    report("open with 100,000 answers (seconds)", opened, "<= 0.5")
    ratio = early / late
    detail = f"{1e6 / late:,.0f} µs against {1e6 / early:,.0f} µs"
    report(f"ask number {answers:,}, against ask number 1 (time)", ratio, "<= 1.25", detail)
    report("memory that the second half of the answers took (MB)", grown, "<= 10")
    dataset.close()


def know_all_sums(dataset: sh.Dataset) -> None:
    """As if every sum were known already: what is left is the ask itself."""
    sums = dataset._data._sums
    sums.at = lambda canonical, t: (0,)  # type: ignore[method-assign]
    sums.nearest = lambda canonical, t, back=True: (t, (0,))  # type: ignore[method-assign]


def resident() -> float:
    """Memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    count = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 10_000_000
    answers = int(sys.argv[2].replace("_", "")) if len(sys.argv) > 2 else 1_000_000
    folder = Path(tempfile.mkdtemp(prefix="surehold-bench-", dir="."))
    try:
        frame = table(count)
        print(f"{count:,} records x {frame.width} columns, Polars {pl.__version__}")
        dataset = bench_append(folder, frame)
        bench_ask(folder, dataset, frame)
        bench_ask_many(folder, dataset, frame)
        bench_again(dataset, frame)
        dataset.close()
        bench_small(folder)
        bench_long(folder, answers)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
