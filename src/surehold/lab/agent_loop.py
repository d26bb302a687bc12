"""An agent that keeps trying: 200 changes of a model, each kept if its score seems better.

The model's accuracy in the population is known here, so it is known which intervals are wrong. A
change makes some records right that were wrong, and the other way round, so that a score which is
chosen for being high is high by chance as well: the loop overfits its evaluation set unless what it
learns of it is limited.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from surehold.lab.records import Flags
from surehold.lab.surprise_book import SurpriseBook
from surehold.theory.surprise.shares import Shares

_START = 0.82
_CHURN = 0.01  # records that a change turns from right to wrong or back
_GAIN, _LOSS = 0.003, 0.002  # a change helps by a normal number of that deviation, less this
_CEILING = 0.95


@dataclass(frozen=True)
class LoopResult:
    """What became of one loop: its widest answer, its misses, and what it has in the end."""

    widest: float
    """The largest half-width of an interval."""
    missed: int
    """How many of all intervals do not hold the model's accuracy."""
    final_missed: bool
    """Whether that of the model which was kept last is one of them."""
    surprises: int
    spent: float
    """In nats."""
    gained: float
    """By how much the accuracy in the population is better than at the start."""


class _Model:
    """On which records it is right, and how often it is in the population."""

    def __init__(self, right: Flags, accuracy: float) -> None:
        self.right = right
        self.accuracy = accuracy

    @classmethod
    def start(cls, records: int, random: np.random.Generator) -> _Model:
        return cls(random.random(records) < _START, _START)

    def change(self, random: np.random.Generator) -> _Model:
        """Another model that differs on a few records."""
        most = min(_CHURN / 2, _CEILING - self.accuracy)
        gain = min(max(random.normal(-_LOSS, _GAIN), -_CHURN / 2), most)
        to_right = (_CHURN + gain) / 2 / (1.0 - self.accuracy)
        to_wrong = (_CHURN - gain) / 2 / self.accuracy
        chance = np.where(self.right, to_wrong, to_right)
        changed = random.random(len(self.right)) < chance
        return _Model(self.right ^ changed, self.accuracy + gain)


def simulate_guarded_loop(
    n: int, seed: int, *, experiments: int = 200, guess_sd: float = 0.005, beta: str = "0.05"
) -> LoopResult:
    """The loop through the surprise guard, with guesses from a dev set of the agent's own.

    The dev set is as large as gives its scores a standard error of ``guess_sd``. What is expected
    is the score there, within 3.5 of its standard errors and two of the n records. After a
    surprise, which is most often near the edge of the next cell, the agent moves its guesses half
    of the way. What it compares is the reported value.

    >>> found = simulate_guarded_loop(2_000, seed=1)
    >>> found.missed, found.widest < 0.08
    (0, True)
    """
    random = np.random.default_rng([seed, n])
    book = SurpriseBook(Fraction(beta), Shares(expected=experiments))
    variance = _START * (1.0 - _START)
    error = 3.5 * guess_sd + 2.0 * math.sqrt(variance / n)
    within = Fraction(round(1_000 * error), 1_000)
    kept, best, offset = _Model.start(n + round(variance / guess_sd**2), random), -1.0, 0.0
    widest, missed, surprises, final_missed = 0.0, 0, 0, False
    for i in range(experiments):
        tried = kept.change(random) if i else kept
        guess = float(np.mean(tried.right[n:])) + offset
        expect = Fraction(round(10_000 * min(max(guess, 0.0), 1.0)), 10_000)
        count = int(np.count_nonzero(tried.right[:n]))
        found = book.ask(i, count, n, expect=expect, within=within)
        value, interval = float(found.cell.middle), found.interval
        is_missed = not float(interval.low) <= tried.accuracy <= float(interval.high)
        widest, missed = max(widest, float(interval.half_width)), missed + is_missed
        if expect not in found.cell:
            surprises, offset = surprises + 1, offset + (value - float(expect)) / 2
        if value > best:
            kept, best, final_missed = tried, value, is_missed
    gained = kept.accuracy - _START
    return LoopResult(widest, missed, final_missed, surprises, book.spent / 2**64, gained)


def simulate_naive_loop(
    n: int, seed: int, *, experiments: int = 200, beta: float = 0.05
) -> LoopResult:
    """The same loop with exact scores, each with the textbook's interval."""
    random = np.random.default_rng([seed, n])
    quantile = float(ndtri(1.0 - beta / 2.0))
    kept, best = _Model.start(n, random), -1.0
    widest, missed, final_missed = 0.0, 0, False
    for i in range(experiments):
        tried = kept.change(random) if i else kept
        score = float(np.mean(tried.right))
        width = quantile * math.sqrt(score * (1.0 - score) / n)
        is_missed = abs(score - tried.accuracy) > width
        widest, missed = max(widest, width), missed + is_missed
        if score > best:
            kept, best, final_missed = tried, score, is_missed
    return LoopResult(widest, missed, final_missed, 0, 0.0, kept.accuracy - _START)
