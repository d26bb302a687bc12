"""The lab the slow way: unpacked truth values, every possible record, spies at the analysis."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from surehold.lab import (
    Ablations,
    Agreements,
    Analysis,
    Coins,
    Expected,
    Guard,
    Joints,
    Lookups,
    Memberships,
    Population,
    Questions,
    Records,
    Replies,
    Setting,
    Tally,
    View,
    Votes,
)
from surehold.lab.records import CELL_BITS, CELLS

Truths = npt.NDArray[np.bool_]

# --------------------------------------------------------------------------- what is asked


def holds(questions: Questions, signs: Truths, label: Truths) -> Truths:
    """Whether each question (a row) is true of each record (a column), by its definition."""
    match questions:
        case Agreements(features):
            return signs.T[features] == label
        case Memberships(features):
            return signs.T[features]
        case Votes(weights, beyond):
            scores = weights.astype(int) @ np.where(signs[:, : weights.shape[1]], 1, -1).T
            return (scores > 0) == label if beyond is None else scores > beyond
        case Ablations(weights, rows):
            left = np.repeat(weights[None].astype(int), len(rows), axis=0)
            for place, row in enumerate(rows):
                left[place, 8 * row : 8 * row + 8] = 0
            return holds(Votes(left), signs, label)
        case Joints(weights, features):
            return holds(Votes(weights), signs, label) & holds(Agreements(features), signs, label)
        case Lookups(predictions):
            cell = signs[:, :CELL_BITS] @ (1 << np.arange(CELL_BITS))
            return predictions[:, cell] == label
        case Expected(questions):
            return holds(questions, signs, label)
    raise NotImplementedError(type(questions).__name__)


def every_kind(random: np.random.Generator, features: int) -> list[Questions]:
    """Some questions of every class; weights with zeros, ties and signs of both kinds."""
    some = random.permutation(features)
    weights = random.integers(-3, 4, size=(5, features))
    weights[0] = 0
    weights[1] = 1  # ties where there is an even number of features
    return [
        Agreements(some),
        Memberships(some),
        Votes(weights),
        Votes(weights[:, : max(features // 2, 1)]),  # of the first features only
        Votes(weights, beyond=-2),
        Votes(weights, beyond=0),
        Votes(weights, beyond=3),
        Ablations(weights[2], random.integers(-(-features // 8), size=4)),
        Joints(np.where(np.isin(np.arange(features), some[:5]), 0, weights[3]), some[:5]),
        Lookups(random.random((3, CELLS)) < 0.5),
        Expected(Memberships(some[:3]), random.random(min(features, 3)), 0.1),
    ]


# ----------------------------------------------------------------------------- populations


def enumerated(questions: Questions, edges: list[float]) -> npt.NDArray[np.float64]:
    """The probability of each, over all records that there can be: the definition of Coins."""
    signs = np.array(list(itertools.product([False, True], repeat=len(edges))))
    total = np.zeros(len(questions))
    for label in (False, True):
        agree = signs == label
        chances = 0.5 * np.where(agree, 0.5 + np.array(edges), 0.5 - np.array(edges)).prod(axis=1)
        total += holds(questions, signs, np.full(len(signs), label)) @ chances
    return total


def unpacked(records: Records) -> tuple[Truths, Truths]:
    """One row of truth values a record, and the labels."""
    signs = np.stack([records.feature(j) for j in range(records.features)], axis=1)
    return signs, records.label


# ------------------------------------------------------------------------------- the analysis


@dataclass
class Call:
    """One call of a guard: how many were asked, what it had said it would give, what it gave."""

    asked: int
    room: int
    round: int
    replies: Replies
    truth: npt.NDArray[np.float64]

    @property
    def given(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.replies.values)))


@dataclass
class Spy(Guard):
    """Another guard, and all that it was asked and said."""

    inner: Guard
    population: Population
    calls: list[Call] = field(default_factory=list)
    had_room: bool = False

    def answer(self, questions: Questions, view: View, round: int) -> Replies:
        room = self.inner.answers_left(view, round)
        replies = self.inner.answer(questions, view, round)
        truth = self.population.truth(questions)
        self.calls.append(Call(len(questions), room, round, replies, truth))
        return replies

    def answers_left(self, view: View, round: int) -> int:
        room = self.inner.answers_left(view, round)
        self.had_room |= room > 0
        return room

    @property
    def carries_over(self) -> bool:
        return self.inner.carries_over

    @property
    def spent(self) -> float | None:
        return self.inner.spent


def tallied(calls: list[Call]) -> Tally:
    """The tally of some calls, one answer at a time."""
    tally = Tally()
    for call in calls:
        rows = zip(
            call.replies.values, call.replies.lows, call.replies.highs, call.truth, strict=True
        )
        for value, low, high, truth in rows:
            tally.asked += 1
            if np.isnan(value):
                continue
            tally.answered += 1
            tally.missed += not low - 1e-12 <= truth <= high + 1e-12
            tally.largest_error = max(tally.largest_error, abs(value - truth))
            tally.widest = max(tally.widest, value - low, high - value)
            tally.last = (value, low, high, truth)
    return tally


def analysis_for(
    setting: Setting, guard: Guard, population: Population | None = None, seed: int = 1
) -> Analysis:
    """An analysis of fresh records; fair coins unless said otherwise."""
    random = np.random.default_rng(seed)
    population = population or Coins(setting.queries)
    return Analysis(setting, population, population.draw(setting.n, random), guard, random)


def viewed(records: Records, n: int | None = None) -> View:
    """All records, or the first n of them."""
    return View(records, len(records) if n is None else n)


def same(first: Any, second: Any) -> bool:
    """Equal replies, refusals included."""
    return all(
        np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True)
        for name in ("values", "lows", "highs")
    )
