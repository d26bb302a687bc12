"""Streams of events: the status at once, and whenever anything happens, by whomever."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from support.runtime import record, records
from support.service import PATIENT, QUICK, Running, knock, running, send


class Stream:
    """One reader of a stream, which knows where an event ends."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        lines = iter(self._file.readline, b"\r\n")
        pairs = (line.decode().strip().partition(": ") for line in lines)
        self.headers = {name.lower(): value for name, _, value in pairs}

    def next(self) -> str:
        """The next event, or comment; nothing once it has ended. Each comes as a chunk."""
        size = int(self._file.readline() or b"0", 16)
        text = self._file.read(size).decode()
        self._file.readline()
        return text

    def next_status(self) -> dict[str, Any]:
        number, kind, data, *end = self.next().split("\n")
        assert (kind, end) == ("event: status", ["", ""])
        status: dict[str, Any] = json.loads(data.removeprefix("data: "))
        assert number == f"id: {status['entries']}"
        return status

    def close(self) -> None:
        self._file.close()


@contextmanager
def watching(run: Running) -> Iterator[Stream]:
    head = b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with knock(run.url, head) as connection:
        stream = Stream(connection)
        try:
            yield stream
        finally:
            stream.close()


def watchers(run: Running) -> int:
    text = send(run.url, "GET", "/metrics").content.decode()
    return int(float(text.split("\nsurehold_streams ")[1].split("\n")[0]))


def until_watched_by(run: Running, count: int) -> None:
    end = time.monotonic() + PATIENT
    while watchers(run) != count:
        assert time.monotonic() < end, watchers(run)
        time.sleep(0.02)


def test_the_status_at_once_and_after_everything_that_happens(door: Running):
    dataset = door.dataset
    with watching(door) as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        assert stream.next_status() == dataset.status().to_dict()
        send(door.url, "POST", "/v1/ask", {"query": "age > 65"})
        told = stream.next_status()
        assert told == dataset.status().to_dict()
        assert told["answers"] == 1
        dataset.append(records(1000, 1003))
        assert stream.next_status()["n"] == 1003


def test_what_another_process_appends_is_seen(door: Running, tmp_path):
    (tmp_path / "more.ndjson").write_text(json.dumps(record(1000)) + "\n")
    with watching(door) as stream:
        assert stream.next_status()["n"] == 1000
        command = [sys.executable, "-m", "surehold", "append", str(door.dataset.path)]
        subprocess.run([*command, str(tmp_path / "more.ndjson")], check=True, capture_output=True)
        assert stream.next_status()["n"] == 1001


def test_a_silent_stream_says_that_it_is_there(clinic):
    with running(clinic, replace(QUICK, alive_seconds=0.2)) as run, watching(run) as stream:
        stream.next_status()
        assert [stream.next() for _ in range(3)] == [": still here\n\n"] * 3
        clinic.append([record(1000)])
        seen = ""
        while "event: status" not in seen:
            seen = stream.next()


def test_a_stream_ends_when_its_time_is_up(clinic):
    with running(clinic, replace(QUICK, stream_seconds=0.5)) as run, watching(run) as stream:
        stream.next_status()
        assert stream.next() == ""  # the end, as HTTP says it


def test_too_many_are_refused_also_when_they_come_together(clinic):
    with running(clinic, replace(QUICK, streams=(3, 3))) as run:
        ready, go = threading.Barrier(13), threading.Event()
        statuses: list[int] = []

        def watch() -> None:
            ready.wait()
            with watching(run) as stream:
                statuses.append(stream.status)
                if stream.status == 200:
                    stream.next_status()
                    go.wait(PATIENT)

        threads = [threading.Thread(target=watch) for _ in range(12)]
        for thread in threads:
            thread.start()
        ready.wait()
        end = time.monotonic() + PATIENT
        while len(statuses) < 12:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert sorted(statuses) == [200] * 3 + [429] * 9
        assert watchers(run) == 3
        refused = send(run.url, "GET", "/v1/events")
        assert (refused.status, refused.error) == (429, "RequestRefused")
        assert refused.headers["retry-after"] == "10"
        go.set()
        for thread in threads:
            thread.join()
        until_watched_by(run, 0)
        with watching(run) as stream:
            assert stream.next_status()["n"] == 1000


def test_who_comes_and_goes_at_once_is_not_counted_for_ever(clinic):
    with running(clinic, replace(QUICK, streams=(4, 4))) as run:
        for _ in range(20):
            with knock(run.url, b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
                pass
        until_watched_by(run, 0)
        with watching(run) as stream:
            assert stream.status == 200
            stream.next_status()


def test_streams_end_when_the_service_stops(clinic):
    found: list[str] = []
    with running(clinic) as run:
        reading = threading.Event()

        def watch() -> None:
            with watching(run) as stream:
                stream.next_status()
                reading.set()
                found.append(stream.next())

        thread = threading.Thread(target=watch)
        thread.start()
        assert reading.wait(PATIENT)
        began = time.monotonic()
    thread.join(PATIENT)
    assert found == [""]
    assert time.monotonic() - began < PATIENT


@pytest.mark.parametrize("count", [20])
def test_many_watch_with_one_look_at_the_ledger(door: Running, monkeypatch, count):
    looks: list[None] = []
    real = type(door.dataset).status
    monkeypatch.setattr(type(door.dataset), "status", lambda self: looks.append(None) or real(self))
    connections = []
    for _ in range(count):
        context = watching(door)
        connections.append((context, context.__enter__()))
    for _, stream in connections:
        stream.next_status()
    first = len(looks)
    door.dataset.append([record(1000)])
    assert {stream.next_status()["n"] for _, stream in connections} == {1001}
    assert len(looks) - first == 1
    for context, _ in connections:
        context.__exit__(None, None, None)
