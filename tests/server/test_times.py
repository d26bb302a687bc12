"""Time and the service: nothing that it says is finer than the grid, and looking never waits."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from support.clocks import Gate
from support.noise_sources import FastSeededNoise
from support.runtime import GUARDS, made
from support.service import Got, Log, Running, running, send
from surehold.server.settings import Settings
from surehold.session.dataset import Dataset
from surehold.session.release import SLOT, Release, slot_after

FIXED = Settings(rate=100_000.0, asks=48)
LOOKS = ("/v1/status", "/v1/plan", "/v1/transcript", "/v1/rounds", "/v1/me", "/metrics")


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture(params=GUARDS)
def door(request, tmp_path, gate):
    """A service whose answers are held back until the test opens the gate."""
    made(tmp_path / "clinic", count=2000, guard=request.param).close()
    opened = Dataset(tmp_path / "clinic", FastSeededNoise(1), release=gate.release())
    with opened as dataset:
        dataset._data.load(2000)
        with running(dataset, FIXED) as run:
            yield run
            gate.open()


def ask(door: Running, query: str) -> Got:
    return send(door.url, "POST", "/v1/ask", {"query": query})


def asked(door: Running, queries: list[str]) -> tuple[list[threading.Thread], list[Got]]:
    """Ask them all at once, without waiting for any."""
    got: list[Got] = []
    threads = [
        threading.Thread(target=lambda q=query: got.append(ask(door, q)), daemon=True)
        for query in queries
    ]
    for one in threads:
        one.start()
    return threads, got


def test_looking_and_recorded_answers_do_not_wait_for_what_is_held_back(door, gate):
    """More asks than the pool has threads are held back, and everything else is served."""
    threads, got = asked(door, [f"age > {i}" for i in range(44)])
    gate.wait_for(asleep=44)
    of_a_plan = {"/v1/plan", "/v1/rounds"} if door.dataset.guard == "surprise" else set()
    for path in LOOKS:
        assert send(door.url, "GET", path).status == (422 if path in of_a_plan else 200), path
    assert send(door.url, "POST", "/v1/quote", {"query": "age > 3"}).status == 200
    assert send(door.url, "GET", "/v1/transcript").json["answers"] == []
    assert not got
    gate.open()
    for one in threads:
        one.join(180.0)
    assert [one.status for one in got] == [200] * 44
    again = ask(door, "age > 3")
    assert again.json["recorded"] is True


def test_what_follows_from_recorded_answers_is_served_meanwhile(tmp_path, gate):
    made(tmp_path / "clinic", count=2000).close()
    with Dataset(tmp_path / "clinic", FastSeededNoise(1)) as earlier:
        earlier.session("analyst").ask("age > 90")
    opened = Dataset(tmp_path / "clinic", FastSeededNoise(2), release=gate.release())
    with opened as dataset, running(dataset, FIXED) as run:
        dataset._data.load(2000)
        threads, _ = asked(run, [f"age > {i}" for i in range(20)])
        gate.wait_for(asleep=20)
        assert ask(run, "age > 90").json["recorded"] is True
        gate.open()
        for one in threads:
            one.join(180.0)


def test_no_status_tells_of_an_answer_that_is_held_back(door, gate):
    def seen() -> tuple[Any, Any]:
        status = send(door.url, "GET", "/v1/status").json
        return status, send(door.url, "GET", "/v1/transcript").json

    threads, _ = asked(door, ["age > 50"])
    gate.wait_for(asleep=1)
    first = seen()
    assert seen() == first
    assert first[1]["answers"] == []
    gate.open()
    threads[0].join(180.0)
    assert len(seen()[1]["answers"]) == 1


def test_times_of_requests_are_those_of_slots(clinic, log: Log):
    with running(clinic) as run:
        got = ask(run, "age > 50")
        for path in LOOKS:
            send(run.url, "GET", path)
        line = log.of(got)
        text = send(run.url, "GET", "/metrics").content.decode()
    assert line["seconds"] == slot_after(line["seconds"])
    sums = re.findall(r"^surehold_request_seconds_sum\{.*\} (.*)$", text, re.MULTILINE)
    edges = re.findall(r'_seconds_bucket\{.*le="([^+"]*)".*\}', text)
    assert sums
    for number in (*sums, *edges):
        assert (float(number) / SLOT) % 1.0 == pytest.approx(0.0, abs=1e-6)
    fields = got.headers.keys() & {"server-timing", "x-response-time", "x-runtime"}
    assert not fields
    assert not re.search(r"\d\d:\d\d:\d\d[.]\d", got.content.decode())


def test_late_answers_are_counted_and_logged(tmp_path, log: Log):
    """On a clock by which everything takes a second."""
    ticks = iter(range(10**9))
    release = Release(lambda: float(next(ticks)), lambda _: None)
    made(tmp_path / "clinic", count=2000).close()
    with Dataset(tmp_path / "clinic", FastSeededNoise(1), release=release) as dataset:
        dataset._data.load(2000)
        with running(dataset, FIXED) as run:
            assert ask(run, "age > 50").status == 200
            text = send(run.url, "GET", "/metrics").content.decode()
    assert "surehold_late_answers_total 1.0" in text
    [line] = [line for line in log() if line["event"] == "late answer"]
    assert line["level"] == "warning"
    assert line["slot"] == slot_after(1.0)


def test_the_service_is_told_to_hold_answers_back_by_default():
    assert Settings().fixed_time
