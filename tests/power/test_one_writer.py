"""No two connections commit, or fold the log, at once: SQLite before 3.51.3 can lose a commit then.

Every write to the database's files is recorded, in every process, with the locks around it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import surehold as sh
from power.disk import operations
from power.losses import recorder
from support.runtime import made, opened
from surehold.ledger.database import LOCK
from surehold.ledger.ledger import FILE
from surehold.ledger.store import Store
from surehold.locks import waiting_lock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="the recorder needs Linux and a C compiler",
)
PROCESSES, TIMES = 4, 12


def test_commits_and_checkpoints_never_overlap(tmp_path: Path) -> None:
    root, log = tmp_path / "root", tmp_path / "record"
    root.mkdir()
    made(root / "data", count=1000).close()
    environment = {
        **os.environ,
        "LD_PRELOAD": str(recorder(tmp_path)),
        "RECORD_ROOT": str(root),
        "RECORD_LOG": str(log),
    }
    script = str(Path(__file__).parent / "crowd.py")
    running = []
    for seed in range(PROCESSES):
        order = {"dataset": str(root / "data"), "seed": 1 + seed, "times": TIMES}
        process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, env=environment)
        assert process.stdin is not None
        process.stdin.write((json.dumps(order) + "\n").encode())
        process.stdin.close()
        running.append(process)
    assert [process.wait(300) for process in running] == [0] * PROCESSES

    holder: int | None = None
    seen: Counter[str] = Counter()
    for one in operations(log):
        name = one.path.rpartition("/")[2]
        if name == LOCK and one.what == "flock":
            assert holder is None, "two hold the lock"
            holder = one.process
            seen["turns"] += 1
        elif name == LOCK and one.what == "unlock" and holder == one.process:
            holder = None
        elif name in (FILE, f"{FILE}-wal") and one.what in ("write", "truncate", "remove"):
            assert holder == one.process, f"{one.what} of {name} without the lock"
            seen[f"{one.what} {name}"] += 1
    assert seen["turns"] > PROCESSES * TIMES * 3
    assert seen[f"write {FILE}"] > 100 < seen[f"write {FILE}-wal"]  # commits, and checkpoints
    with sh.open(root / "data") as dataset:
        assert dataset.n == 1000 + PROCESSES * TIMES * 3
        dataset.verify()


def test_reading_opening_and_closing_wait_for_nobody(tmp_path, monkeypatch) -> None:
    """A process that was stopped while it writes keeps the lock."""
    made(tmp_path / "data", count=1000).close()
    monkeypatch.setattr("surehold.ledger.database._BUSY_SECONDS", 600.0)
    with waiting_lock(tmp_path / "data" / LOCK):
        began = time.monotonic()
        with opened(tmp_path / "data") as dataset:
            assert dataset.status().n == 1000
            dataset.session().quote("age > 1")
        assert time.monotonic() - began < 500.0
    with opened(tmp_path / "data") as dataset:
        dataset.append({"age": 1, "bmi": 1.0, "city": "Oslo"})
    assert not (tmp_path / "data" / f"{FILE}-wal").exists()  # folded, by the last to close


def test_a_connection_that_reads_can_not_write(tmp_path) -> None:
    made(tmp_path / "data", count=10).close()
    reader = Store(tmp_path / "data" / FILE, reading=True)
    with pytest.raises(sh.StorageFailed, match="readonly"), reader.writing():
        reader.note_key("k", 1)
    reader.close()
