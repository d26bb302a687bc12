"""A side table survives kill -9 at every step from its file to the answer, or never was there."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import surehold as sh
from support.runtime import GUARDS, guarded
from surehold.session.dataset import Dataset

ROWS = [{"item": i, "answer": i % 3 == 0} for i in range(0, 2000, 2)]
POINTS = {
    "while the file is written": ("surehold.files", "sync_file"),
    "before the file has its name": ("surehold.files", "name_files"),
    "before it is noted": ("surehold.ledger.draft.Draft", "keep"),
    "before it is asked about": ("surehold.session.session.Session", "_settle"),
    "once it is charged": ("surehold.data.record_store.RecordStore", "exact"),
    "before the answer is kept": ("surehold.ledger.draft.Draft", "flush"),
}
WORKER = """
import os, signal, sys
from pydoc import locate
import surehold as sh
path, owner, name, times = sys.argv[1:]
rows = [{"item": i, "answer": i % 3 == 0} for i in range(0, 2000, 2)]
session = sh.open(path).session()
owner, left = locate(owner), [int(times)]
whole = getattr(owner, name)
def crash(*given, **options):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(*given, **options)
setattr(owner, name, crash)
session.ask("p.answer = right", tables={"p": rows})
"""


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("point", POINTS)
def test_killed(tmp_path, guard, point):
    path = tmp_path / "evals"
    columns = {"item": "int", "right": "bool"}
    with sh.create(path, columns=columns, id="item", **guarded(guard)) as dataset:
        dataset.append({"item": i, "right": i % 3 == 0} for i in range(2000))
    owner, name = POINTS[point]
    times = "3" if name == "flush" else "1"  # the table is noted, and the question is charged
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(path), owner, name, times], check=False
    )
    assert done.returncode == -signal.SIGKILL
    with Dataset(path) as dataset:
        dataset.verify()
        charged = dataset.status().answers if guard == "noise" else 0
        session = dataset.session()
        answer = session.ask("p.answer = right", tables={"p": ROWS})
        assert answer.interval[0] <= 1.0 <= answer.interval[1]
        assert [one.name for one in session.tables] == ["p"]
        if charged:  # what was charged before is not charged again
            assert dataset.status().answers == 2
        dataset.verify()
