"""Sums from known ones: right at every round, and never over a handful of records alone."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any

import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from data.scored import AB, FRAME, SCHEMA, TRAIN, X, growing
from surehold.data import scores
from surehold.data.engines.polars_engine import PolarsEngine
from surehold.data.known_sums import BLOCK, KnownSums
from surehold.queries import Source, accuracy, fraction, improvement, mean, query_of

N = 12 * BLOCK
VALUES = [number * 37 % 101 for number in range(N)]
PREFIX = [0, *accumulate(VALUES)]


class Thing:
    """Something to be summed."""

    def __init__(self, canonical: str) -> None:
        self.canonical = canonical


class Counted:
    """The sums of :data:`VALUES`, and how many records each evaluation went over."""

    def __init__(self, most: int = 1000) -> None:
        self.known = KnownSums(most)
        self.spans: list[tuple[int, int]] = []

    def evaluate(self, sources: Sequence[Thing], low: int, high: int) -> list[tuple[int, ...]]:
        self.spans.append((low, high))
        return [(PREFIX[high] - PREFIX[low], high - low) for _ in sources]

    def ask(self, names: str, round: int, back: bool = True) -> int:
        """How many records were evaluated; the sums are checked."""
        self.spans.clear()
        found = self.known.sum_up([Thing(name) for name in names], round, self.evaluate, back)
        assert found == dict.fromkeys(names, (PREFIX[round], round))
        return sum(high - low for low, high in self.spans)


def walk(seed: int, steps: int) -> list[int]:
    """Rounds up and down, by one, by few, by blocks, and to places that were there before."""
    draw = random.Random(seed)
    rounds = [draw.randrange(1, N)]
    for _ in range(steps):
        by = draw.choice([1, -1, 2, BLOCK - 1, -BLOCK, BLOCK + 1, 3 * BLOCK, draw.randrange(N)])
        again = draw.choice(rounds)
        rounds.append(draw.choice([(rounds[-1] + by) % N, again, max(again - 1, 1)]))
    return rounds


@pytest.mark.parametrize("back", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_never_a_handful_alone(seed: int, back: bool) -> None:
    draw = random.Random(seed)
    counted = Counted(most=draw.choice([3, 12, 1000]))
    for round in walk(seed, 300):
        counted.ask(draw.choice(["a", "ab", "abc"]), round, back)
        for low, high in counted.spans:
            assert high - low >= BLOCK or (low, high) == (0, round)


@pytest.mark.parametrize("step", [1, 7, 100])
@pytest.mark.parametrize("back", [True, False])
def test_growth_costs_about_a_block_an_ask(step: int, back: bool) -> None:
    counted = Counted()
    work = [counted.ask("a", round, back) for round in range(8 * BLOCK + 5, N, step)]
    assert work[0] == 8 * BLOCK + 5
    # Back to a landmark and from there, or everything once more.
    assert work[1] <= 4 * BLOCK if back else work[1] == work[0] + step
    assert max(work[2:]) <= 2 * BLOCK + step


def test_going_back_costs_about_a_block_an_ask() -> None:
    counted = Counted()
    work = [counted.ask("a", round) for round in range(N - 1, 4 * BLOCK, -1)]
    assert sum(work) / len(work) < 2 * BLOCK


def test_what_is_known_at_a_round_is_used_as_it_is() -> None:
    counted = Counted()
    for round in (5000, 7000, 9000):
        counted.ask("a", round)
    assert [counted.ask("a", round) for round in (5000, 7000, 9000)] == [0, 0, 0]
    assert counted.known.at("a", 7000) == (PREFIX[7000], 7000)
    assert counted.known.at("a", 7001) is None
    assert counted.known.at("b", 7000) is None


def test_the_least_recently_used_are_forgotten() -> None:
    known = KnownSums(most=4)
    known.keep("a", 5000, (1,))
    known.keep("b", 5000, (2,))
    known.keep("c", 5000, (3,))
    known.keep("a", 5001, (4,))  # instead of 5000, which is near
    known.keep("a", 9000, (5,))
    known.keep("d", 5000, (6,))
    assert known.nearest("b", 8000) == (0, ())
    assert known.nearest("a", 5001) == (5001, (4,))
    assert known.nearest("a", 5002) == (9000, (5,))  # 5001 is too near
    assert known.nearest("a", 5002, back=False) == (0, ())
    assert known.nearest("a", 3977) == (5001, (4,))
    assert known.nearest("a", 2500) == (0, ())  # from scratch is no more than back from 5001
    assert known.nearest("a", 2501) == (5001, (4,))


def test_they_are_bounded_by_their_numbers() -> None:
    known = KnownSums(most=8)
    known.keep("a", 10_000, (1, 2, 3))
    known.keep("a", 20_000, (1, 2, 3))  # four of these would be too many: one is kept
    known.keep("b", 10_000, (1, 2))
    assert known.nearest("a", 16_000) == (20_000, (1, 2, 3))
    assert known.nearest("a", 10_000) == (0, ())
    for round in range(10_000, 90_000, 10_000):
        known.keep("b", round, (1, 2))
    assert known.nearest("a", 20_000) == (0, ())
    kept = [round for round in range(10_000, 90_000, 10_000) if known.at("b", round)]
    assert kept == [50_000, 60_000, 70_000, 80_000]
    known.keep("c", 10, tuple(range(100)))  # the last one is kept whatever its size
    assert known.nearest("b", 80_000) == (0, ())
    assert known.at("c", 10) is not None


def sources() -> list[Source]:
    model = LogisticRegression().fit(X[TRAIN], FRAME["ill"][TRAIN])
    right = accuracy(model, target="ill", **AB)
    other = accuracy(LogisticRegression().fit(X[:100], FRAME["ill"][:100]), target="ill", **AB)
    queries = [
        fraction("a > 0"),
        mean("bmi", low=0, high=64),
        query_of("histogram(bins(n, 0, 30, 60))"),
        improvement(right, other),
        right,
    ]
    return [query.form(SCHEMA).source for query in queries]


def test_every_kind_of_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that the engine goes over, and that models are given."""
    frame = FRAME.sample(6 * BLOCK, with_replacement=True, seed=3)
    data, asked = growing(frame), sources()
    spans: dict[str, list[tuple[int, int]]] = {"sums": [], "cells": [], "model": []}
    sums, cells, score = PolarsEngine.sums, PolarsEngine.cell_sums, scores.score_sums

    def noted_sums(engine: PolarsEngine, measures: Any, low: int, high: int) -> list[int]:
        spans["sums"].append((low, high))
        return sums(engine, measures, low, high)

    def noted_cells(engine: PolarsEngine, measure: Any, low: int, high: int) -> list[int]:
        spans["cells"].append((low, high))
        return cells(engine, measure, low, high)

    def noted_score(measure: Any, rows: pl.DataFrame, *args: Any) -> list[int] | None:
        spans["model"].append((-1, rows.height - 1))
        return score(measure, rows, *args)

    monkeypatch.setattr(PolarsEngine, "sums", noted_sums)
    monkeypatch.setattr(PolarsEngine, "cell_sums", noted_cells)
    monkeypatch.setattr(scores, "score_sums", noted_score)
    start = 4 * BLOCK
    rounds = [start, start - 1, start, start + 1, 3000, 2999, 500, 499, 500, 6 * BLOCK]
    for round in rounds:
        for kind in spans.values():
            kind.clear()
        exact = data.exact(asked, round)
        for low, high in (span for kind in spans.values() for span in kind):
            assert high - low >= min(BLOCK, round)
        fresh = growing(frame).exact(asked, round)
        assert exact == fresh


def test_evaluations_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits inside the engine until both are there, and more records arrive meanwhile."""
    data, both = growing(), threading.Barrier(2, timeout=120)
    expected = [growing().exact([source], 400) for source in sources()[:3:2]]
    sums, cells = PolarsEngine.sums, PolarsEngine.cell_sums

    def meeting_sums(engine: PolarsEngine, *args: Any) -> list[int]:
        both.wait()
        return sums(engine, *args)

    def meeting_cells(engine: PolarsEngine, *args: Any) -> list[int]:
        both.wait()
        with data._lock:
            data._engine.extend(FRAME)
        return cells(engine, *args)

    monkeypatch.setattr(PolarsEngine, "sums", meeting_sums)
    monkeypatch.setattr(PolarsEngine, "cell_sums", meeting_cells)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda source: data.exact([source], 400), sources()[:3:2]))
    assert found == expected
