"""kill -9 while a dashboard is registered or watched: all names or none, and no charge twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import surehold as sh
from support.runtime import GUARDS, made
from support.tampering import bodies

DASHBOARD = sh.Dashboard.of(
    [
        {"name": "older", "question": "age > 50", "unit": "%", "gate": ">= 10 %"},
        {"name": "mean bmi", "question": "mean(bmi, 0, 50)"},
    ]
)
DIES = """
import os, signal, sys
import surehold as sh
from surehold.data.record_store import RecordStore
from surehold.ledger.draft import Draft

def die(*given, **options):
    os.kill(os.getpid(), signal.SIGKILL)

path, point = sys.argv[1:]
named = [
    {"name": "older", "question": "age > 50", "unit": "%", "gate": ">= 10 %"},
    {"name": "mean bmi", "question": "mean(bmi, 0, 50)"},
]
with sh.open(path) as dataset:
    session = dataset.session("ann")
    if point == "registering":
        Draft._take_free = die
    session.register(sh.Dashboard.of(named))
    if point == "watching":
        RecordStore.exact = die
    session.watch()
"""


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("point", ["registering", "watching"])
def test_killed(tmp_path: Path, guard: str, point: str) -> None:
    made(tmp_path / "shop", count=1500, guard=guard).close()
    ended = subprocess.run([sys.executable, "-c", DIES, str(tmp_path / "shop"), point], timeout=300)
    assert ended.returncode == -signal.SIGKILL
    before = Counter(kind for kind, _ in bodies(tmp_path / "shop").values())
    was_named = point == "watching"
    assert before["name"] == (2 if was_named else 0)
    assert before["claim"] == (2 if was_named and guard == "surprise" else 0)
    assert (before["charge"], before["answer"]) == (2 if was_named else 0, 0)
    with sh.open(tmp_path / "shop") as dataset:
        dataset.verify()
        session = dataset.session("ann")
        assert [one.new for one in session.register(DASHBOARD)] == [not was_named] * 2
        assert session.watch().new == 2
        dataset.verify()
    after = Counter(kind for kind, _ in bodies(tmp_path / "shop").values())
    assert (after["name"], after["charge"], after["answer"]) == (2, 2, 2)
