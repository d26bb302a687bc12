"""Benign analysts, on features some of which are informative."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from surehold.lab.analysis import Analysis
from surehold.lab.attackers.base import STOPS, Attacker, leanings, pace
from surehold.lab.populations import Coins, Population
from surehold.lab.questions import Agreements, Votes
from surehold.lab.records import Weights
from surehold.lab.setting import Setting

_USEFUL = 64  # features that may know something: the first ones


class BenignAnalyst(Attacker):
    """Works with 64 features, of which every fourth agrees with the label by 3 to 6 % more."""

    kind: ClassVar[str] = "benign"

    def population(self, setting: Setting, random: np.random.Generator) -> Population:
        edges = [0.03 + 0.03 * j / _USEFUL if j % 4 == 0 else 0.0 for j in range(_USEFUL)]
        return Coins(_USEFUL, tuple(edges))

    @staticmethod
    def useful(analysis: Analysis) -> int:
        return min(_USEFUL, analysis.features)


class DashboardAnalyst(BenignAnalyst):
    """The same twenty numbers at every stop, whatever they say: multiple, but not adaptive."""

    name: ClassVar[str] = "dashboard"
    source: ClassVar[str] = "any weekly report"
    last: ClassVar[str] = "the last number"

    def attack(self, analysis: Analysis) -> None:
        for stop in analysis.setting.stops(STOPS):
            analysis.wait(stop)
            count = min(20, self.useful(analysis), analysis.answers_left())
            if count:
                analysis.ask(Agreements(np.arange(count)))


class TuningAnalyst(BenignAnalyst):
    """Hyper-parameter search: twenty settings of a model, the best one's neighbours, and so on.

    A model is a majority vote of some of the features; which are in it is what is searched for.
    """

    name: ClassVar[str] = "tuning"
    source: ClassVar[str] = "random search, Bergstra and Bengio 2012"
    last: ClassVar[str] = "the best model"

    def attack(self, analysis: Analysis) -> None:
        count = self.useful(analysis)
        best, best_score = np.ones(count, dtype=np.int32), -np.inf
        stops = analysis.setting.visits(STOPS)
        for some in pace(analysis, np.arange(min(20 * STOPS, analysis.setting.queries - 1)), stops):
            if len(some) == 0:
                continue
            turned = analysis.random.random((len(some), count)) < 0.15
            candidates = np.where(turned, 1 - best, best)
            answers = analysis.ask(Votes(candidates)).values
            place = int(np.argmax(answers))
            if answers[place] > best_score:
                best, best_score = candidates[place], answers[place]
        if analysis.answers_left() > 0:
            analysis.ask(Votes(best))


class ForwardSelectionAnalyst(BenignAnalyst):
    """Adds to a vote, one at a time, the feature that seems to help most; five of 24."""

    name: ClassVar[str] = "forward-selection"
    source: ClassVar[str] = "stepwise regression, Efroymson 1960"
    last: ClassVar[str] = "the model selected"

    def attack(self, analysis: Analysis) -> None:
        count = min(24, self.useful(analysis))
        chosen: Weights = np.zeros(count, dtype=np.int32)
        stops = analysis.setting.visits(5)
        for place, stop in enumerate(stops, start=1):
            analysis.wait(stop)
            room = analysis.answers_left() - (analysis.carries_over or place == len(stops))
            free = np.flatnonzero(chosen == 0)[: max(room, 0)]
            if len(free) == 0:
                continue
            candidates = np.repeat(chosen[None], len(free), axis=0)
            candidates[np.arange(len(free)), free] = 1
            chosen = candidates[int(np.argmax(leanings(analysis.ask(Votes(candidates)))))]
        if analysis.answers_left() > 0:
            analysis.ask(Votes(chosen))
