"""A disk that fails to sync a commit: nobody can know whether it is kept, and nobody says so."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from power.losses import recorded
from support.runtime import GUARDS, made

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="the recorder needs Linux and a C compiler",
)
ROWS = [{"age": 1, "bmi": 2.0, "city": "Oslo"}] * 3


def broken(folder: Path, does: str, key: str | None, guard: str = "noise") -> dict[str, Any]:
    """What a process is told if syncing its commit fails; it is killed after that.

    The log is new, so its head is synced first.
    """
    (folder / "root").mkdir()
    path = folder / "root" / "data"
    made(path, count=1000, guard=guard).close()
    order = {"dataset": str(path), "does": does, "key": key, "log": str(folder / "said")}
    script = Path(__file__).parent / "faulty.py"
    _, ended = recorded(folder, order, "ledger.sqlite-wal 2", script)
    assert ended == -signal.SIGKILL
    said: dict[str, Any] = json.loads((folder / "said").read_text())
    return said


@pytest.mark.parametrize("key", [None, "mine"])
def test_an_append(tmp_path, key) -> None:
    said = broken(tmp_path, "append", key)
    assert said["kept"] is None
    assert "unknown whether" in said["hint"]
    assert said["n"] == 1000  # and so it goes on, until somebody opens it after a crash
    if key is not None:
        assert "--key mine" in said["hint"]
    with sh.open(tmp_path / "root" / "data") as dataset:
        assert dataset.n == 1003  # it was in the log, whole, when the process died
        if key is not None:
            assert dataset.append(ROWS, key=key).n == 1003  # as advised: kept once
        dataset.verify()


@pytest.mark.parametrize("guard", GUARDS)
def test_an_ask(tmp_path, guard) -> None:
    said = broken(tmp_path, "ask", "mine", guard)
    assert said["kept"] is None
    assert "no answer was returned" in said["hint"]
    assert said["answers"] == 0
    with sh.open(tmp_path / "root" / "data") as dataset:
        spent = dataset._ledger.state.spent  # under surprise, nothing before the outcome is known
        assert len(charges(dataset)) == 1
        assert spent > 0 or guard == "surprise"
        dataset.session().ask("age > 1", key="mine")
        assert len(charges(dataset)) == 1
        assert dataset._ledger.state.spent == spent or guard == "surprise"  # charged once
        dataset.verify()


def charges(dataset: sh.Dataset) -> list[Any]:
    """What was charged, answered or not."""
    return list(dataset._ledger.store.of_kind("charge"))
