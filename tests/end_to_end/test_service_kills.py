"""kill -9 of a service under load: what was acknowledged is there, and nothing was charged twice.

`python benchmarks/bench_service.py --kills 50` prints how long restarts take.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from end_to_end.crowd import check_appends, check_money, check_told, made, plenty
from end_to_end.restarts import killed
from support.runtime import GUARDS
from support.soak import length

KILLS = length(8, full=50)  # of each guard


@pytest.mark.parametrize("guard", GUARDS)
def test_killed_under_load(tmp_path: Path, guard: str) -> None:
    path = made(tmp_path / "data", plenty() if guard == "noise" else None)
    seen = killed(path, KILLS, seed=1)
    assert len(seen.restarts) == KILLS + 1
    assert seen.acknowledged > KILLS
    assert seen.lost >= KILLS // 2, "it was not under load when it was killed"
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
