"""A process that is stopped while it writes: those who only look don't wait for it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from holdfast.ledger.store import _BUSY_SECONDS
from runtime import adaptive_plan, made
from service import PATIENT, running, send

WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("DELETE FROM pending")
print("writing", flush=True)
sys.stdin.read()
"""


def test_reads_over_http_do_not_wait_for_a_stopped_writer(tmp_path: Path) -> None:
    """It holds the lock for as long as it lives. Nobody's patience for locks is waited for."""
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
            assert writer.stdout is not None
            assert writer.stdout.readline() == "writing\n"
            writer.send_signal(signal.SIGSTOP)
            try:
                for path in ("status", "transcript", "outlook", "rounds", "growth", "me"):
                    got = send(run.url, "GET", f"/v1/{path}")
                    assert (path, got.status) == (path, 200)
                assert send(run.url, "GET", "/v1/status").json["n"] == 2000
                got = send(run.url, "POST", "/v1/quote", {"query": "age > 65"})
                assert (got.status, got.json["allowed"]) == (200, True)
            finally:
                writer.kill()
    assert PATIENT < _BUSY_SECONDS  # for as long one who writes would wait
