"""The service under load, against a bare endpoint of its framework and the local session.

    .venv/bin/python benchmarks/bench_service.py                 (three minutes)
    .venv/bin/python benchmarks/bench_service.py --seconds 10    (the mixed load for so long only)
    .venv/bin/python benchmarks/bench_service.py --kills 50      (only restarts after kill -9)

Clients are processes of their own, which share the machine's cores with the service: what counts
are the ratios, of slices that take turns. The mixed load checks that every result is right.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import uvicorn
from fastapi import FastAPI
from side_by_side import report
from starlette.responses import JSONResponse

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import surehold as sh
from end_to_end import crowd
from end_to_end.caller import POOL
from end_to_end.crowd import FIRST, Crowd, Log, token
from end_to_end.restarts import killed
from support.service import send, serving
from surehold.server.addresses import address_of, listen
from surehold.server.schemas import AskBody

CLIENTS = 32
UNLIMITED = ("--rate", "100000")
TURNS = 3


@dataclass
class Seen:
    """Requests a second of each turn, and the times of all requests."""

    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def shown(self) -> str:
        return f"{self.rate:,.0f}/s, p50 {at(self.times, 0.5)}, p99 {at(self.times, 0.99)}"


def at(times: list[float], share: float) -> str:
    """A quantile in milliseconds."""
    return f"{np.quantile(times, share, method='higher') * 1e3:.1f} ms"


# --------------------------------------------------------------------------------- three sides


@contextmanager
def bare_endpoint(body: bytes) -> Iterator[str]:
    """The same framework and settings; it reads the same body and returns a constant."""
    command = [sys.executable, __file__, "--bare"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(body)
        process.stdin.close()
        yield process.stdout.readline().decode().strip()
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def serve_bare() -> None:
    constant = json.loads(sys.stdin.buffer.read())
    app = FastAPI()

    @app.post("/v1/ask")
    def ask(body: AskBody) -> JSONResponse:
        return JSONResponse(constant)

    listener = listen("127.0.0.1", 0)
    print(address_of(listener), flush=True)
    config = uvicorn.Config(app, http="h11", ws="none", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


def called(url: str, seconds: float, clients: int, seed: int, **order: Any) -> list[Log]:
    """Run ``clients`` clients at once for a while, all doing the same."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Crowd(Path(folder), url) as callers,
    ):
        callers.go(*({**order, "seed": seed * 1000 + i, "round": FIRST} for i in range(clients)))
        time.sleep(seconds)
        return callers.end()


def measured(seen: Seen, logs: list[Log]) -> None:
    times = [time for log in logs for listed in log.times.values() for time in listed]
    seen.times += times
    seen.rates.append(sum(len(t) / log.seconds for log in logs for t in log.times.values()))


def alone(seen: Seen, seconds: float, ask: Callable[[], object]) -> None:
    began, calls = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        start = time.perf_counter()
        ask()
        seen.times.append(time.perf_counter() - start)
        calls += 1
    seen.rates.append(calls / (time.perf_counter() - began))


def bench_sides(folder: Path, seconds: float) -> None:
    """Answers that are known, and new ones: local, over HTTP, and what the framework takes."""
    path = crowd.made(folder / "served", crowd.plenty())
    dataset = sh.open(crowd.made(folder / "local", crowd.plenty()))
    session, numbers = dataset.session(), itertools.count(1)
    pool = itertools.cycle(f"x < {i} / {POOL}" for i in range(POOL))
    analyst, seeds = token(path, "analyst", "ann"), itertools.count(1)
    seen: dict[str, Seen] = {}
    with serving(path, *UNLIMITED) as (url, _):
        warm = send(url, "POST", "/v1/ask", {"query": "x < 0 / 20"}, token=analyst)
        with bare_endpoint(warm.content) as bare:
            for _ in range(TURNS):
                for clients in (1, CLIENTS):
                    for what, place, does in (
                        ("bare", bare, "known"),
                        ("known", url, "known"),
                        ("fresh", url, "fresh"),
                    ):
                        order = {"token": analyst, "does": {does: 1}}
                        logs = called(place, seconds, clients, next(seeds), **order)
                        measured(seen.setdefault(f"{what} {clients}", Seen()), logs)
                known = seen.setdefault("local known", Seen())
                alone(known, seconds, lambda: session.ask(next(pool)))
                fresh = seen.setdefault("local fresh", Seen())
                alone(fresh, seconds, lambda: session.ask(f"x < 0.5 and i <> {next(numbers)}"))
    dataset.close()
    for name, found in seen.items():
        print(f"      {name:<58} {found.shown}")
    pairs = [
        ("known answers, 1 client, against the bare endpoint", "known 1", "bare 1"),
        (f"known answers, {CLIENTS} clients, against it", f"known {CLIENTS}", f"bare {CLIENTS}"),
        (f"known answers, {CLIENTS} clients, local session", f"known {CLIENTS}", "local known"),
        ("new answers, 1 client, against the local session", "fresh 1", "local fresh"),
        (f"new answers, {CLIENTS} clients, against it", f"fresh {CLIENTS}", "local fresh"),
    ]
    targets = {f"known {CLIENTS}": ">= 0.7", f"fresh {CLIENTS}": ">= 0.9"}
    for what, ours, other in pairs:
        target = None if other == "local known" else targets.get(ours)
        report(f"{what} (rate)", seen[ours].rate / seen[other].rate, target)


def bench_start(folder: Path) -> None:
    """From starting the command to its first answer, with what that takes of a processor."""
    path = crowd.made(folder / "started", crowd.plenty())
    seconds, cpu = [], []
    for i in range(7):
        began, before = time.monotonic(), os.times()
        with serving(path, *UNLIMITED) as (url, process):
            assert send(url, "POST", "/v1/ask", {"query": f"x < {i} / 7"}).status == 200
            seconds.append(time.monotonic() - began)
            process.terminate()
            process.wait()
        after = os.times()
        cpu.append(sum(after[2:4]) - sum(before[2:4]))
    detail = f"the median; {min(cpu):.2f} s of one core, stopping included"
    report("start to the first answer (seconds)", statistics.median(seconds), "<= 0.6", detail)


# ---------------------------------------------------------------------------------- mixed load


def bench_load(folder: Path, seconds: float) -> None:
    """All kinds of requests at once, while records arrive; check every result."""
    path = crowd.made(folder / "mixed", crowd.plenty())
    custodian = token(path, "custodian", "ward")
    analysts = [token(path, "analyst", f"analyst {i}") for i in range(4)]
    orders = [
        {"token": analysts[i % 4], "does": crowd.ANALYST, "round": FIRST}
        for i in range(CLIENTS - 1)
    ]
    with serving(path, *UNLIMITED) as (url, _), Crowd(folder, url) as callers:
        callers.go({"token": custodian, "does": crowd.CUSTODIAN}, *orders)
        time.sleep(seconds)
        logs = callers.end()
        kept = crowd.transcript(url, custodian)
    crowd.check_told(logs, kept)
    crowd.check_once(logs, kept)
    crowd.check_money(path, kept)
    crowd.check_appends(path, logs)
    times: dict[str, list[float]] = {}
    for log in logs:
        for what, listed in log.times.items():
            times.setdefault(what, []).extend(listed)
    requests = sum(map(len, times.values()))
    told = sum(len(log.told) for log in logs)
    print(
        f"      {CLIENTS} clients for {seconds:g} s: {requests:,} requests, {told:,} results, "
        f"{len(kept):,} entries charged: all in the transcript, once, and the budget exact"
    )
    for what, listed in times.items():
        print(f"      {what:<14} {len(listed):>7,}  p50 {at(listed, 0.5)}, p99 {at(listed, 0.99)}")


# ------------------------------------------------------------------------------------ restarts


def bench_kills(folder: Path, kills: int) -> None:
    """From starting the command to its first response, after kill -9 under load."""
    path = crowd.made(folder / "killed", crowd.plenty())
    seen = killed(path, kills, seed=2)
    crowd.check_told(seen.logs, seen.kept)
    crowd.check_money(path, seen.kept)
    crowd.check_appends(path, seen.logs)
    told = {e for log in seen.logs for entries in log.keys.values() for e in entries}
    assert told == seen.kept.keys()
    print(
        f"      {kills} kills, {seen.acknowledged:,} requests acknowledged, {seen.lost:,} cut off, "
        f"{seen.found:,} of these found answered when they were sent again: "
        "none lost, none charged twice"
    )
    seconds = seen.restarts[1:]
    detail = f"the median; the slowest {max(seconds):.2f} s"
    report("restart (seconds)", statistics.median(seconds), "<= 2", detail)
    bench_large(folder)


def bench_large(folder: Path) -> None:
    """The same where there is a lot to open: a million records and 100,000 answers."""
    path = folder / "large"
    plan = sh.plan(n0=10**6, n=10**6, queries=10**6, beta=0.05)
    with sh.create(path, plan=plan, columns={"age": "int"}) as dataset:
        dataset.append(pl.DataFrame({"age": np.arange(10**6) % 100}))
        session = dataset.session()
        for start in range(0, 100_000, 1000):
            session.ask_many([f"age > {start + i} / 1000" for i in range(1000)])
    seconds = []
    for _ in range(5):
        began = time.monotonic()
        with serving(path, *UNLIMITED) as (url, _):
            body = {"query": f"age > {began}"}
            assert send(url, "POST", "/v1/ask", body).status == 200
            seconds.append(time.monotonic() - began)
    detail = f"the median; the slowest {max(seconds):.2f} s"
    what = "restart to a new answer, a million records (seconds)"
    report(what, statistics.median(seconds), "<= 2", detail)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bare:
        serve_bare()
        return
    folder = Path(tempfile.mkdtemp(prefix="surehold-bench-", dir="."))
    try:
        if given.kills:
            bench_kills(folder, given.kills)
        else:
            bench_start(folder)
            bench_sides(folder, min(4.0, given.seconds))
            bench_load(folder, given.seconds)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
