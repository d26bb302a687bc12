"""kill -9 of a service under load: what was acknowledged is there, and nothing was charged twice.

`python benchmarks/bench_service.py --kills 50` prints how long restarts take.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from end_to_end.crowd import check_appends, check_money, check_told, made, plenty
from end_to_end.restarts import Killed, killed, killed_together
from support.runtime import GUARDS
from support.soak import length

KILLS = length(8, full=50)  # of each guard


@pytest.mark.parametrize("guard", GUARDS)
def test_killed_under_load(tmp_path: Path, guard: str) -> None:
    path = made(tmp_path / "data", plenty() if guard == "noise" else None)
    seen = killed(path, KILLS, seed=1)
    check_load(KILLS, seen)
    check_kept(path, seen)


def test_several_datasets_killed_under_load(tmp_path: Path) -> None:
    paths = [made(tmp_path / g, plenty() if g == "noise" else None) for g in GUARDS]
    kills = KILLS // 2
    seen = killed_together(paths, kills, seed=3)
    check_load(kills, *seen)
    for path, one in zip(paths, seen, strict=True):
        assert one.acknowledged
        check_kept(path, one)


def check_load(kills: int, *seen: Killed) -> None:
    assert all(len(one.restarts) == kills + 1 for one in seen)
    assert sum(one.acknowledged for one in seen) > kills
    assert sum(one.lost for one in seen) >= kills // 2, "it was not under load when it was killed"


def check_kept(path: Path, seen: Killed) -> None:
    check_told(seen.logs, seen.kept)
    check_money(path, seen.kept)
    check_appends(path, seen.logs)
    # Everybody went on until they were answered: an entry beyond theirs was charged for nothing.
    told = Counter(e for log in seen.logs for entries in log.keys.values() for e in entries)
    assert told.keys() == seen.kept.keys()
    assert set(told.values()) == {1}
    keys = Counter(answer["key"] for answer in seen.kept.values())
    assert set(keys.values()) == {1}
    assert not list((path / "incoming").iterdir()), "bodies that were never taken in"
