"""Attackers that ask about many features one by one, and then about a vote of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from surehold.lab.analysis import Analysis
from surehold.lab.attackers.base import STOPS, Attacker, leanings, pace
from surehold.lab.defenders.base import Floats
from surehold.lab.populations import Listed, Population
from surehold.lab.questions import Ablations, Agreements, Joints, Memberships, Questions, Votes
from surehold.lab.records import Indices, Records, Weights
from surehold.lab.setting import Setting


class VotingAttacker(Attacker):
    """Asks how often each feature agrees with the label, evenly as the data grows, then votes."""

    def attack(self, analysis: Analysis) -> None:
        features = np.arange(min(analysis.features, analysis.setting.queries - 1))
        weights = np.zeros(len(features), dtype=np.int32)
        for some in pace(analysis, features, self.stops(analysis.setting)):
            replies = analysis.ask(self.questions(some, analysis.n))
            weights[some] = self.weigh(leanings(replies), analysis.n)
        analysis.ask(Votes(weights))

    def questions(self, features: Indices, t: int) -> Questions:
        """One question for each of the features."""
        return Agreements(features)

    def stops(self, setting: Setting) -> list[int]:
        return setting.stops(STOPS)

    @abstractmethod
    def weigh(self, leaning: Floats, t: int) -> Weights:
        """Whole weights from how far the answers were from even."""


class SignAttacker(VotingAttacker):
    """A vote of all features, each turned the way its answer leans.

    No feature knows anything of the label, so the vote is right half of the time; on the records
    that the answers came from it does better, by about sqrt(d / n) / pi.
    """

    name: ClassVar[str] = "sign"
    source: ClassVar[str] = "Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015, Science 349"

    def weigh(self, leaning: Floats, t: int) -> Weights:
        return np.sign(leaning).astype(np.int32)


class WeightedAttacker(VotingAttacker):
    """The same, with each feature by as much as its answer leans: stronger where there is noise."""

    name: ClassVar[str] = "weighted"
    source: ClassVar[str] = "naive Bayes, on features that know nothing"

    def weigh(self, leaning: Floats, t: int) -> Weights:
        """In twentieths of a standard error."""
        return np.asarray(np.rint(leaning / (0.05 * 0.5 / np.sqrt(t))), dtype=np.int32)


class FreedmanAttacker(VotingAttacker):
    """Variable selection under the null: keep what looks significant at 25 %, then use only that.

    Freedman's paradox: after the selection a second, honest-looking analysis finds a strong
    relation between variables that have nothing to do with each other.
    """

    name: ClassVar[str] = "freedman"
    source: ClassVar[str] = "Freedman 1983, The American Statistician 37"

    def weigh(self, leaning: Floats, t: int) -> Weights:
        """Signs of those that are more than 1.15 standard errors off."""
        kept = np.abs(leaning) > 1.15 * 0.5 / np.sqrt(t)
        return np.asarray(np.sign(leaning) * kept, dtype=np.int32)


class LeaderboardAttacker(Attacker):
    """Submits at random, keeps what scored above chance, submits the majority; again and again.

    Every submission is a random labelling of all records that can occur. The majority of all that
    were kept so far climbs the board without a model.
    """

    name: ClassVar[str] = "leaderboard"
    source: ClassVar[str] = "Blum and Hardt 2015, The Ladder"
    last: ClassVar[str] = "the last submission"

    def attack(self, analysis: Analysis) -> None:
        stops = analysis.setting.visits(STOPS)
        features = np.arange(max(min(analysis.features, analysis.setting.queries - len(stops)), 1))
        weights = np.zeros(len(features), dtype=np.int32)
        for some in pace(analysis, features, stops):
            weights[some] = leanings(analysis.ask(Agreements(some))) > 0.0
            if analysis.answers_left() > 0:
                analysis.ask(Votes(weights))


class AblationAttacker(Attacker):
    """The attack by signs, then an ablation study: which features can go, eight at a time?

    Every ablated vote is as overfitted as the whole one, so a defender that answers from the same
    records again has to notice hundreds of times. In the end it votes with what seemed to help.
    """

    name: ClassVar[str] = "ablation"
    source: ClassVar[str] = "Surehold; against checks that are cheap as long as they agree"

    def attack(self, analysis: Analysis) -> None:
        rows = min((analysis.setting.queries - 2) // 9, analysis.features // 8)
        weights = np.zeros(8 * max(rows, 1), dtype=np.int32)
        asked = np.zeros(len(weights), dtype=bool)
        for some in pace(analysis, np.arange(8 * rows), analysis.setting.stops(STOPS)):
            weights[some] = np.sign(leanings(analysis.ask(Agreements(some))))
            asked[some] = True
        if analysis.answers_left() > 0:
            [whole] = analysis.ask(Votes(weights)).values
            most = max(analysis.answers_left() - 1, 0)
            used = np.flatnonzero(asked.reshape(-1, 8).any(axis=1))[:most]
            without = analysis.ask(Ablations(weights, used)).values
            harmful = used[without > whole]
            weights.reshape(-1, 8)[harmful] = 0
        if analysis.answers_left() > 0:
            analysis.ask(Votes(weights))


class ContradictionAttacker(Attacker):
    """Makes one half of the data contradict the other, to learn what the other one says.

    A tenth of the queries goes into a vote. Where answers come from a training half, it is that
    half which is overfitted, and "the vote is right, and this other feature agrees" is true of more
    of its records than of the holdout's. So a mechanism that steps in when the two differ reports
    the holdout's value for feature after feature, and a vote of *these* overfits the holdout.
    """

    name: ClassVar[str] = "contradiction"
    source: ClassVar[str] = "Surehold; against Thresholdout without a limit of its budget"

    def attack(self, analysis: Analysis) -> None:
        count = min(analysis.features, analysis.setting.queries - 1)
        first = max(count // 10, 1)
        stops = analysis.setting.stops(STOPS)
        weights, last = np.zeros((2, count), dtype=np.int32)
        for some in pace(analysis, np.arange(first), stops[:1]):
            weights[some] = np.sign(leanings(analysis.ask(Agreements(some))))
        for some in pace(analysis, np.arange(first, count), stops):
            answers = analysis.ask(Joints(weights, some)).values
            given = ~np.isnan(answers)
            if given.any():
                last[some[given]] = np.sign(answers[given] - answers[given].mean())
        analysis.ask(Votes(last))


class AveragingAttacker(Attacker):
    """Asks the same eight times in other words, and averages: noise goes away, the rest stays.

    A ledger that only knows texts would take them for eight questions, or worse, charge one.
    """

    name: ClassVar[str] = "averaging"
    source: ClassVar[str] = (
        "folklore; why privacy budgets add up (Dwork and Roth 2014, section 3.5)"
    )
    times: ClassVar[int] = 8

    def attack(self, analysis: Analysis) -> None:
        count = min(analysis.features, (analysis.setting.queries - 1) // self.times)
        weights = np.zeros(max(count, 1), dtype=np.int32)
        for some in pace(analysis, np.arange(count), analysis.setting.stops(STOPS), self.times):
            leaning = leanings(analysis.ask(Agreements(np.repeat(some, self.times))))
            weights[some] = np.sign(leaning.reshape(-1, self.times).mean(axis=1))
        analysis.ask(Votes(weights))


class ReconstructionAttacker(Attacker):
    """Asks how many records are in random sets of cells, and works out which cells they are in.

    The population is a list of twice as many cells as records, each as likely as any other. Then
    it asks about the half of the cells that seem occupied: half of the population, more of the
    records.
    """

    last: ClassVar[str] = "the set of cells"

    def population(self, setting: Setting, random: np.random.Generator) -> Population:
        rows, cells = -(-setting.queries // 8), 2 * setting.n
        drawn = np.frombuffer(random.bytes(rows * cells), dtype=np.uint8).reshape(rows, cells)
        return Listed(Records(drawn, np.zeros(cells, dtype=bool)))

    def attack(self, analysis: Analysis) -> None:
        features = np.arange(min(analysis.features, analysis.setting.queries - 1))
        answers = np.full(len(features), np.nan)
        for some in pace(analysis, features, analysis.setting.stops(STOPS)):
            answers[some] = analysis.ask(Memberships(some)).values
        analysis.ask(Votes(self.weigh(answers), beyond=0))

    @abstractmethod
    def weigh(self, answers: Floats) -> Weights:
        """Whole weights of the sets."""


class SubsetSumAttacker(ReconstructionAttacker):
    """Weighs each set by how much more of the records it has than a set of its size should."""

    name: ClassVar[str] = "subset-sum"
    source: ClassVar[str] = "Dinur and Nissim 2003; Dwork, McSherry and Talwar 2007"

    def weigh(self, answers: Floats) -> Weights:
        """In proportion, up to 100."""
        leaning = np.nan_to_num(answers - 0.5)
        most = np.abs(leaning).max(initial=0.0)
        return np.rint(100.0 * leaning / (most or 1.0)).astype(np.int32)


class MedianAttacker(ReconstructionAttacker):
    """Weighs each set by whether its answer is above the median of all answers."""

    name: ClassVar[str] = "median"
    source: ClassVar[str] = "Dinur and Nissim 2003, with the median in place of the known mean"

    def weigh(self, answers: Floats) -> Weights:
        if np.isnan(answers).all():
            return np.zeros(len(answers), dtype=np.int32)
        return np.nan_to_num(np.sign(answers - np.nanmedian(answers))).astype(np.int32)
