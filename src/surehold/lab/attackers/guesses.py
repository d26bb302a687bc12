"""Attackers made for guards that charge by surprise: they choose what is cheap to learn."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from surehold.lab.analysis import Analysis
from surehold.lab.attackers.base import STOPS, Attacker, leanings, pace
from surehold.lab.attackers.votes import SignAttacker
from surehold.lab.questions import Agreements, Expected, Questions, Votes
from surehold.lab.records import Indices

_MOST_CANDIDATES = 10_000
_HALVINGS = 4


def _standard_error(t: int) -> float:
    """That of a fair coin's mean over t records."""
    return 0.5 / math.sqrt(t)


def _expect(questions: Questions, guess: float, within: float) -> Expected:
    """The questions, all expected within that of a guess."""
    return Expected(questions, np.full(len(questions), min(guess, 1.0)), within)


class NearMissAttacker(SignAttacker):
    """Guesses that are always slightly wrong: the answer is one cell beside, or the one after that.

    The edge between these two cells is at 1/2, so each surprise tells the sign of a feature for the
    price of the nearest cells. Then a vote.
    """

    name: ClassVar[str] = "near-miss"
    source: ClassVar[str] = "Surehold; against prices that are low near a guess"

    def questions(self, features: Indices, t: int) -> Questions:
        error = _standard_error(t)
        return _expect(Agreements(features), 0.5 + 3.0 * error, error)


class RefinementAttacker(Attacker):
    """Asks at finer and finer cells, and pays for more digits only where they may matter.

    First which side of 1/2 each feature is on; then, of those on the right side, the half that lies
    further out, four times in cells half as wide. The vote weighs features by what is known then.
    """

    name: ClassVar[str] = "refinement"
    source: ClassVar[str] = "Surehold; against cells that are cut to what is known"

    def attack(self, analysis: Analysis) -> None:
        count = min(analysis.features, (analysis.setting.queries - 1) // 2)
        weights = np.zeros(max(count, 1), dtype=np.int32)
        for some in pace(analysis, np.arange(count), analysis.setting.stops(STOPS), 2):
            leaning = leanings(analysis.ask(_expect(Agreements(some), 0.75, 0.25)))
            within, best = 2.0 * _standard_error(analysis.n), np.flatnonzero(leaning > 0.0)
            for _ in range(_HALVINGS):
                best = best[: analysis.answers_left() - 1] if analysis.answers_left() else best[:0]
                if len(best) == 0:
                    break
                asked = _expect(Agreements(some[best]), 0.5 + within, within)
                leaning[best] = leanings(analysis.ask(asked))
                best = best[leaning[best] >= np.median(leaning[best])][: len(best) // 2]
                within /= 2.0
            weights[some] = np.rint(40.0 * leaning / (np.abs(leaning).max(initial=0.0) or 1.0))
        analysis.ask(Votes(weights))


class BestOfManyAttacker(Attacker):
    """The best of up to 10,000 candidates: each is only asked whether it beats the best so far.

    By a standard error, that is; "no" is what is expected, so it costs next to nothing, and few are
    better. The winner is asked about once more in other words, as a model of its own, and so are
    all winners together.
    """

    name: ClassVar[str] = "best-of-many"
    source: ClassVar[str] = "Blum and Hardt 2015, The Ladder; the winner's curse"
    last: ClassVar[str] = "the winners' vote"

    def attack(self, analysis: Analysis) -> None:
        most = min(analysis.features, analysis.setting.queries - 2, _MOST_CANDIDATES)
        won = np.zeros(max(most, 1), dtype=np.int32)
        best = 0.5
        for some in pace(analysis, np.arange(max(most, 0)), analysis.setting.visits(STOPS)):
            step = _standard_error(analysis.n)
            for j in some.tolist():
                # One cell for all that do not beat the best by a step.
                middle = (best + step) / 2.0
                asked = _expect(Agreements(np.array([j])), middle, middle)
                [value] = analysis.ask(asked).values
                if value > best + step:
                    won[j], best = 1 + won.max(), best + step
        for weights in (won == max(won.max(), 1), won):
            if analysis.answers_left() > 0:
                analysis.ask(Votes(np.asarray(weights, dtype=np.int32)))


class ReAskingAttacker(Attacker):
    """Asks a few questions again and again while records arrive, and votes with what it saw.

    A vote that was registered when little had been learned is asked again at every stop, beside a
    new one of the present signs; growth is to make a claim of the past say too much.
    """

    name: ClassVar[str] = "re-asking"
    source: ClassVar[str] = "Surehold; against claims that are to hold at all rounds"
    kind: ClassVar[str] = "growing"

    def attack(self, analysis: Analysis) -> None:
        count = max(min(analysis.features, (analysis.setting.queries - 2 * STOPS) // STOPS), 1)
        old: Questions | None = None
        for stop in analysis.setting.stops(STOPS):
            analysis.wait(stop)
            room = max(min(count, analysis.answers_left() - 2), 0)
            weights = np.zeros(count, dtype=np.int32)
            replies = analysis.ask(Agreements(np.arange(room)))
            weights[:room] = np.sign(leanings(replies))
            new = Votes(weights)
            old = old or new
            for vote in (old, new):
                if analysis.answers_left() > 0:
                    analysis.ask(vote)
