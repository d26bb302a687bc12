"""One dataset, several processes: a service, the library, the command and an agent's tools.

One writes at a time, whatever door they came by: the budget is exact for all of them together.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import surehold as sh
from agents.hosts import over_stdio
from end_to_end.caller import records
from end_to_end.crowd import (
    FIRST,
    Crowd,
    Log,
    check_appends,
    check_money,
    check_once,
    check_told,
    made,
    plenty,
    scarce,
    token,
    transcript,
)
from support.service import send, serving

PATIENCE = 180.0
COMMAND = [sys.executable, "-m", "surehold"]

LIBRARY = """
import json, sys
import surehold as sh

told = []
with sh.open(sys.argv[1]) as dataset:
    session = dataset.session("library")
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        while True:
            told.append(session.ask(f"x < 0.5 and i <> -{len(told) + 1}").to_dict())
    except sh.BudgetExhausted:
        print(json.dumps(told))
"""
"""It asks until it is refused."""


@contextmanager
def library(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the dataset open and waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", LIBRARY, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def appended(path: Path, batch: int, count: int) -> dict[str, Any]:
    """By the command, in a process of its own, which has a key and so may be run twice."""
    lines = "\n".join(json.dumps(record) for record in records(batch, count))
    ended = subprocess.run(
        [*COMMAND, "append", str(path), "--format", "ndjson", "--key", f"b{batch}", "--json"],
        input=lines,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return dict(json.loads(ended.stdout))


def log_of(told: list[dict[str, Any]], appended: dict[str, int] | None = None) -> Log:
    return Log(0.0, {}, told, {}, appended or {}, 0, 0, 0)


def test_all_doors_at_once_share_one_budget(tmp_path: Path) -> None:
    path = made(tmp_path / "data", scarce(answers=2_000))
    analyst = token(path, "analyst", "ann")
    batches, told = {}, []
    with (
        serving(path, "--rate", "100000") as (url, _),
        library(path) as asking,
        over_stdio(path, log=tmp_path / "mcp.txt") as agent,
        Crowd(tmp_path, url) as crowd,
    ):
        assert asking.stdin is not None
        asking.stdin.write("go\n")
        asking.stdin.flush()
        crowd.go(*({"token": analyst, "does": {"fresh": 2, "keyed": 1}} for _ in range(3)))
        for batch in range(1, 5):
            calls = [("ask", {"query": f"x < 0.5 and i <> -{batch}{i:02}.5"}) for i in range(20)]
            results = agent.at_once(calls)
            told += [result.structured_content for result in results if not result.is_error]
            # Twice: with its key it is kept once.
            assert appended(path, batch, 3) == {
                "count": 3,
                "n": FIRST + 3 * batch,
                "known": None,
                "note": None,
            }
            assert appended(path, batch, 3) == {
                "count": 3,
                "n": FIRST + 3 * batch,
                "known": None,
                "note": None,
            }
            batches[str(batch)] = 3
        until = time.monotonic() + PATIENCE
        while send(url, "GET", "/v1/status", token=analyst).json["answers_left"]:
            assert time.monotonic() < until, "the budget never ended"
            time.sleep(0.05)
        out, _ = asking.communicate(timeout=PATIENCE)
        refused = agent.error("ask", query="x < 0.5 and i <> -0.125")  # nobody else asks that
        logs = crowd.end()
        kept = transcript(url, analyst)
        assert send(url, "POST", "/v1/verify", token=analyst).status == 200
    assert refused["type"] == "BudgetExhausted"
    by_library = json.loads(out)
    assert by_library, "the library was never served"
    assert told, "the agent was never served"
    assert all(log.refused for log in logs)
    logs += [log_of(by_library, batches), log_of(told)]
    check_told(logs, kept)
    check_once(logs, kept)
    check_money(path, kept)
    check_appends(path, logs)
    analysts = {answer["analyst"] for answer in kept.values()}
    assert analysts == {"ann", "library", "agent"}
    with sh.open(path) as dataset:  # not one more would have fitted, and none too few
        assert dataset.status().answers_left == 0


class TestOneServiceForADataset:
    def serve(self, path: Path) -> subprocess.CompletedProcess[str]:
        """A second one, which is to be refused."""
        command = [*COMMAND, "serve", str(path), "--port", "0"]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)

    def test_a_second_one_is_refused_until_the_first_is_gone(self, tmp_path: Path) -> None:
        path = made(tmp_path / "data", plenty())
        with serving(path) as (url, first):
            refused = self.serve(path)
            assert refused.returncode == 1
            assert refused.stdout == ""
            assert f"another process is doing it already (process {first.pid})" in refused.stderr
            assert "stop that one first" in refused.stderr
            assert send(url, "POST", "/v1/ask", {"query": "x < 0.5"}).status == 200
            os.kill(first.pid, signal.SIGKILL)
            first.wait(PATIENCE)
            with serving(path) as (again, second):
                assert second.pid != first.pid
                got = send(again, "POST", "/v1/ask", {"query": "x < 0.5"})
                assert (got.status, got.json["recorded"]) == (200, True)

    def test_a_second_one_takes_nothing_away_from_an_append_under_way(self, tmp_path: Path) -> None:
        """Its body waits in a file until it is whole; only what a dead service left is removed."""
        path = made(tmp_path / "data", plenty())
        custodian = token(path, "custodian", "ward")
        lines = [json.dumps(record) for record in records(7, 60_000)]
        body = "\n".join(lines).encode()
        half = len(body) // 2
        with serving(path) as (url, _):
            place = urlsplit(url)
            connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=120)
            connection.putrequest("POST", "/v1/append")
            connection.putheader("Authorization", f"Bearer {custodian}")
            connection.putheader("Content-Type", "application/x-ndjson")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            connection.send(body[:half])
            until = time.monotonic() + PATIENCE
            while not waiting(path):
                assert time.monotonic() < until, "nothing arrives"
                time.sleep(0.01)
            assert self.serve(path).returncode == 1
            connection.send(body[half:])
            response = connection.getresponse()
            told = json.loads(response.read())
            connection.close()
        assert told == {"count": 60_000, "n": FIRST + 60_000, "known": None, "note": None}
        check_appends(path, [log_of([], {"7": 60_000})])

    def test_what_a_dead_one_left_is_removed(self, tmp_path: Path) -> None:
        path = made(tmp_path / "data", plenty())
        (path / "incoming").mkdir()
        (path / "incoming" / "half").write_text("{")
        with serving(path):
            assert waiting(path) == 0


def waiting(path: Path) -> int:
    """The bytes of bodies that are not whole yet."""
    folder = path / "incoming"
    return sum(file.stat().st_size for file in folder.iterdir()) if folder.is_dir() else 0
