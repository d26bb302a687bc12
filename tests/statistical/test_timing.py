"""The statistic of benchmarks/bench_timing.py: it finds what is there, and nothing else.

And a run of the whole with few requests, which is about the machinery, not about time.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PLACE = Path(__file__).parents[2] / "benchmarks" / "bench_timing.py"


@pytest.fixture(scope="module")
def bench() -> Any:
    spec = importlib.util.spec_from_file_location("bench_timing", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_timing"] = module
    spec.loader.exec_module(module)
    return module


def times(seed: int, planted: float, count: int = 250, questions: int = 40) -> Any:
    """Response times in seconds; those of the second side of one question are longer."""
    rng = np.random.default_rng(seed)

    def some(more: float = 0.0) -> list[float]:
        return list(0.05 + more + rng.gamma(2.0, 0.0005, count))

    made: Any = {("one", f"question {i}"): (some(), some()) for i in range(questions)}
    made["one", "planted"] = (some(), some(planted))
    return made


def told_apart(bench: Any, seen: Any) -> set[str]:
    found = bench.adjusted(bench.compared(seen))
    return {question for (_, question), p in found.items() if p < bench.ALPHA}


def test_a_planted_delay_is_found(bench):
    for seed in range(20):
        assert "planted" in told_apart(bench, times(seed, planted=0.001))


def test_without_one_nothing_is_found_but_rarely(bench):
    """At 5 % in all: of 100 runs more than 12 come with probability 0.0015."""
    assert sum(bool(told_apart(bench, times(seed, 0.0))) for seed in range(100)) <= 12


def test_the_power_is_what_would_have_been_seen(bench):
    seen = times(3, 0.0)
    least = bench.power(seen)
    for key, move in least.items():
        assert move is not None
        a, b = seen[key]
        moved = {**seen, key: (a, [one + 2 * move for one in b])}
        assert key[1] in told_apart(bench, moved)
    assert max(least.values()) <= 0.002


def test_all_of_it_runs(bench, tmp_path, capfd):
    """One question over HTTP, as tools and here; that it says something, not what."""
    pairs, _ = bench.made_pairs(tmp_path, 2000)
    names = ["fraction"]
    pairs.pop("1 %")
    for at, tools in enumerate((False, True)):
        tasks = bench.tasks_of(list(pairs), names, 20, None, seed=1, first=1000 * at)
        seen = bench.over(pairs, tasks, tools=tools, at_once=2)
        assert len(seen) == 1
        assert all(len(a) == len(b) == 9 for a, b in seen.values())
    tasks = bench.tasks_of(list(pairs), names, 20, None, seed=1, first=5000)
    bench.show("here", bench.local(pairs, tasks, fixed_time=False))
    assert "1 tests" in capfd.readouterr().out
