"""A process that is stopped while it writes: those who only look don't wait for it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support.runtime import adaptive_plan, made
from support.service import PATIENT, Got, running, send
from surehold.ledger import database
from surehold.locks import waiting_lock

WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("DELETE FROM pending")
print("writing", flush=True)
sys.stdin.read()
"""


def is_writing(path: Path) -> bool:
    """Whether somebody writes to a dataset, or waits for the database to do so."""
    try:
        with waiting_lock(path / database.LOCK, 0.0):
            return False
    except TimeoutError:
        return True


def test_reads_over_http_do_not_wait_for_a_stopped_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the database for as long as it lives, and an ask in the service waits for it.

    That ask would wait for longer than anybody here does, and so would whoever waits for the ask.
    """
    monkeypatch.setattr(database, "_BUSY_SECONDS", 10 * PATIENT)
    got: list[Got] = []
    with made(tmp_path / "clinic", adaptive_plan(), count=2000) as dataset:
        dataset.session().ask("age > 40")
        ledger = str(dataset.path / "ledger.sqlite")
        with (
            running(dataset) as run,
            subprocess.Popen(
                [sys.executable, "-c", WRITER, ledger],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as writer,
        ):
            body = {"query": "age > 50"}
            asking = threading.Thread(
                target=lambda: got.append(send(run.url, "POST", "/v1/ask", body)), daemon=True
            )
            assert writer.stdout is not None
            assert writer.stdout.readline() == "writing\n"
            writer.send_signal(signal.SIGSTOP)
            try:
                asking.start()
                until = time.monotonic() + PATIENT
                while not is_writing(dataset.path):
                    assert time.monotonic() < until
                    time.sleep(0.005)
                for path in ("status", "transcript", "outlook", "rounds", "growth", "me"):
                    looked = send(run.url, "GET", f"/v1/{path}")
                    assert (path, looked.status) == (path, 200)
                assert send(run.url, "GET", "/v1/status").json["n"] == 2000
                looked = send(run.url, "POST", "/v1/quote", {"query": "age > 65"})
                assert (looked.status, looked.json["allowed"]) == (200, True)
                assert not got  # it waits still
            finally:
                writer.kill()
            asking.join(PATIENT)
    assert [answer.status for answer in got] == [200]
