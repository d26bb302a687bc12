"""Two real processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.runtime import GUARDS, made, opened, records

pytestmark = pytest.mark.parametrize("guard", GUARDS)
WORK = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import surehold as sh
from support.runtime import opened, records

path, name = Path(sys.argv[1]), int(sys.argv[2])
told = []
with opened(path, seed=name) as dataset:
    session = dataset.session(f"analyst {name}")
    for i in range(40):
        try:
            session.hold(600)
            own = session.ask(f"age > {i} + 0.{name}", key=f"{name}/{i}")
            shared = session.ask(f"age < {i}")
        except sh.BudgetExhausted:
            break
        told += [[own.entry, own.value], [shared.entry, shared.value]]
        dataset.append(records(name * 1000 + i, name * 1000 + i + 3))
print(json.dumps(told))
"""


def test_two_processes_that_ask_and_append_at_once(tmp_path, guard) -> None:
    path = tmp_path / "clinic"
    with made(path, count=600, guard=guard) as dataset:
        fits = dataset._ledger.answers_left(600) if guard == "noise" else 120  # 40 are shared
    here = str(Path(__file__).parents[1])
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WORK, str(path), str(name), here],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in (1, 2)
    ]
    told: dict[int, float] = {}
    pairs = 0
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        for entry, value in json.loads(out):
            assert told.setdefault(entry, value) == value  # both were told the same
            pairs += 1
    with opened(path) as dataset:
        verified = dataset.verify()
        assert verified.answers == fits == len(dataset.transcript)
        recorded = {answer.entry: answer.value for answer in dataset.transcript}
        assert told.items() <= recorded.items()
        ledger = dataset._ledger
        if guard == "noise":  # the other's answers have their own prices, which verify adds up
            assert ledger.state.spent == fits * ledger.policy.mechanism.charge(600)
        appended = (dataset.n - 600) // 3
        assert pairs == 2 * appended
        # every append is there whole, in some order
        ages = [row[0] for part in dataset._ledger.store.pending() for row in json.loads(part.rows)]
        assert len(ages) == dataset.n
        assert ages[:600] == [row["age"] for row in records(0, 600)]


def test_a_process_that_is_killed_leaves_a_dataset_that_opens(tmp_path, guard) -> None:
    path = tmp_path / "clinic"
    made(path, count=600, guard=guard).close()
    here = str(Path(__file__).parents[1])
    work = WORK.replace("told += ", "print(own.entry, own.value, flush=True); told += ")
    process = subprocess.Popen(
        [sys.executable, "-c", work, str(path), "1", here],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    process.kill()
    rest, _ = process.communicate()
    seen = [line for line in (*lines, *rest.splitlines()) if len(line.split()) == 2]
    with opened(path) as dataset:
        dataset.verify()
        recorded = {answer.entry: answer.value for answer in dataset.transcript}
        for line in seen:
            entry, value = line.split()
            assert recorded[int(entry)] == float(value)
        assert dataset.session().ask("age > 77").entry > max(recorded)  # it goes on
