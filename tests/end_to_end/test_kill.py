"""kill -9 in the middle: what was told is there, what was not is whole or absent.

kills.py does it as often as one likes, and prints the figures.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from end_to_end.kills import FIRST, Witnessed, Workers, lines, plan, run
from end_to_end.worker import COLUMNS, Load, Log, make, records
from support.soak import length
from surehold.server.tokens import TokenBook

KILLS = length(12, full=100)

# What each operation comes by, in order (see worker.CRASH_POINTS).
STEPS = {
    "append_one": ("enter rows", "commit", "witness"),
    "append_many": (
        *("write", "digest", "rename", "sync folder", "enter seal", "drop pending"),
        *("enter segments", "commit", "witness"),
    ),
    "seal": (
        *("write", "digest", "rename", "sync folder", "enter seal", "drop pending"),
        *("commit", "witness"),
    ),
    "ask": ("enter charge", "note key", "commit", "witness", "enter answer", "commit 2"),
    "ask_many": ("enter charge 2", "note key 2", "commit", "witness", "enter answer 2", "commit 2"),
    "make_token": ("replace", "sync folder"),
    "keep_model": ("replace", "sync folder 2"),
    "reserve": ("enter reservation", "commit", "witness"),
}
DECIDING = ("commit", "replace")  # from then on a part of what was asked for is there


GUARDS = pytest.mark.parametrize(("guard", "kills"), [("noise", KILLS), ("surprise", KILLS // 2)])


@GUARDS
def test_killed_at_random_moments(tmp_path: Path, guard: str, kills: int) -> None:
    seen = run(tmp_path, kills, seed=1, guard=guard)
    assert seen["kills"] == kills
    assert seen["acknowledged"] >= kills
    assert seen["answers told"] > 0 < seen["appends acknowledged"]


@GUARDS
def test_two_at_once_killed_at_random_moments(tmp_path: Path, guard: str, kills: int) -> None:
    kills = max(2, kills // 4)
    seen = run(tmp_path, kills, seed=2, together=2, guard=guard)
    assert seen["kills"] == kills
    assert seen["acknowledged"] >= 2 * kills


def send(workers: Workers, witnessed: Witnessed, log: Path, **order: Any) -> int:
    return workers.go(dataset=str(witnessed.path), log=str(log), **order).wait(180)


def standing(path: Path) -> tuple[int, int, bool, int, int]:
    """Records, entries, whether all records are in segments, models and tokens."""
    with sh.open(path) as dataset:
        status, tokens = dataset.status(), TokenBook(path).tokens
        is_sealed = status.pending == 0
        return status.n, status.entries, is_sealed, len(dataset.models), len(tokens)


@pytest.mark.parametrize(
    ("operation", "guard"),
    [*((operation, "noise") for operation in STEPS), ("ask_many", "surprise")],
)
def test_killed_at_every_step(operation: str, guard: str, tmp_path: Path) -> None:
    """On one dataset; each time some records are pending, which a large append seals too."""
    witnessed = Witnessed(tmp_path / "data", guard)
    # Before a step is after the one before it, but for the moment that decides.
    claimed = ("enter claim",) if guard == "surprise" else ()
    steps = [(step, False) for step in (*claimed, *STEPS[operation])]
    [decided] = [number for number, (step, _) in enumerate(steps) if step in DECIDING]
    steps += [(steps[decided][0], True), (steps[-1][0], True)]
    with Workers(needed=len(steps)) as workers:
        for number, (step, after) in enumerate(steps):
            log = tmp_path / f"log-{number}-before"
            with sh.open(witnessed.path) as dataset:
                Load(dataset, Log(str(log)), seed=1000 + number).append_one()
            witnessed.check(log)
            before = standing(witnessed.path)
            assert not before[2]

            log = tmp_path / f"log-{number}"
            # The second of three answers: some of a transaction is worse than none.
            name, times = (step[:-2], 2) if step.endswith(" 2") else (step, 1)
            crash = {"operation": operation, "crash": [name, after, times], "seed": 1 + number}
            ended = send(workers, witnessed, log, **crash)
            assert ended == -signal.SIGKILL, f"{operation} did not come by {step!r}"
            assert not any("done" in line for line in lines(log))
            assert (standing(witnessed.path) != before) == (number > decided)
            witnessed.check(log)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", ["commit", "sync folder", "rename"])
def test_killed_while_creating(step: str, after: bool, tmp_path: Path) -> None:
    """It is there as a whole or not at all, and then it can be created."""
    target, log = tmp_path / "data", tmp_path / "log"
    order = {"create": plan().to_dict(), "crash": [step, after, 1]}
    with Workers(needed=1) as workers:
        ended = workers.go(dataset=str(target), log=str(log), **order).wait(180)
    assert ended == -signal.SIGKILL
    assert target.exists() == ((step, after) == ("rename", True))
    if target.exists():
        dataset = sh.open(target)
    else:
        dataset = sh.create(target, plan=plan(), columns=COLUMNS)
    with dataset:
        assert dataset.verify().entries == 1
        assert dataset.append(records(1, FIRST)).n == FIRST


@pytest.mark.parametrize(
    ("step", "after", "times", "closed"),
    [
        ("enter succession", True, 1, False),
        ("commit", True, 6, True),
        ("name files", True, 2, True),
        ("scrub", False, 1, True),
    ],
)
def test_killed_while_succeeding(
    step: str, after: bool, times: int, closed: bool, tmp_path: Path
) -> None:
    """Either the old dataset is in force or it is closed for good, and the same call finishes."""
    old, new = tmp_path / "data", tmp_path / "data-2"
    make(old, "0.05")
    order = {"succeed": str(new), "crash": [step, after, times]}
    with Workers(needed=1) as workers:
        ended = workers.go(dataset=str(old), log=str(tmp_path / "log"), **order).wait(180)
    assert ended == -signal.SIGKILL
    with sh.open(old) as dataset:
        dataset.verify()
        if closed:
            with pytest.raises(sh.RequestRefused, match="'data-2' took over"):
                dataset.session()
        else:
            assert not new.exists()
            dataset.session().ask("x < 0.3")
    done = sh.succeed(old, new, erase=["№0 7"], reason="on request")
    assert (done.n, done.erased) == (FIRST - 1, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "data-2"]
    assert not list((old / "segments").iterdir())
    with sh.open(new) as made, sh.open(old) as dataset:
        assert made._data.load_frame(made.n)["who"].to_list() == [
            f"№0 {i}" for i in range(FIRST) if i != 7
        ]
        made.session().ask("x < 0.5")
        made.verify()
        dataset.verify()
