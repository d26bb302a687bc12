"""Defenders between exact answers and a certificate: splitting, Thresholdout, noise alone."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from holdfast.lab.defenders.base import Defender, Floats, Guard, Replies, View
from holdfast.lab.questions import Questions
from holdfast.lab.setting import Setting
from holdfast.planning import plan


class Splitting(Defender):
    """Every answer from records of its own, which it waits for.

    As many answers as are within alpha, or as are asked if that is fewer and they can be better.
    Valid whoever asks, as no record is used twice; but there are few of them.
    """

    name = "splitting"
    source: ClassVar[str] = "Proposition C.5 of Marchant and Rubinstein 2025"
    claim: ClassVar[str] = "all together, whoever asks; waits for fresh records"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        """Divide the records that there will be."""
        most = plan(
            n0=setting.n,
            n=setting.n,
            alpha=setting.alpha,
            beta=setting.beta,
            batches=1,
            certificate="split",
        )
        if setting.queries >= most.queries:
            return _SplittingGuard(setting.n, most.queries, most.width)
        fewer = plan(
            n0=setting.n,
            n=setting.n,
            queries=setting.queries,
            beta=setting.beta,
            batches=1,
            certificate="split",
        )
        return _SplittingGuard(setting.n, fewer.queries, fewer.width)


class _SplittingGuard(Guard):
    def __init__(self, n: int, answers: int, width: float) -> None:
        self._n = n
        self._answers = answers
        self._width = width
        self._given = 0

    def room(self, view: View, round: int) -> int:
        return self._answers - self._given

    @property
    def spent(self) -> float:
        return self._given / self._answers

    def answer(self, questions: Questions, view: View, round: int) -> Replies:
        count = min(len(questions), self._answers - self._given)
        values = np.empty(count)
        for place in range(count):
            start, stop = (self._n * j // self._answers for j in (self._given, self._given + 1))
            view.wait(stop)
            one = questions.rest(place).first(1)
            values[place] = view.counts(one, slice(start, stop))[0] / (stop - start)
            self._given += 1
        told = Replies.around(values, self._width)
        return told.then(Replies.refused(len(questions) - count))


class Thresholdout(Defender):
    """Two halves; answers come from one as long as the other does not contradict it by much.

    Even records are the training half, odd ones the holdout. With the parameters of the authors'
    own experiment: for m holdout records (at n0) the threshold 4/sqrt(m) and Gaussian noise of
    1/sqrt(m). Their theorem asks for many more records. The width is how far an answer can be from
    the holdout's mean, for all queries together, as if the holdout were fresh every time.
    """

    name = "thresholdout"
    source: ClassVar[str] = "Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015"
    claim: ClassVar[str] = "all together, whoever asks; its theorem does not reach such sizes"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        """A threshold for the holdout there is at n0."""
        return _ThresholdoutGuard(setting, random)


class _ThresholdoutGuard(Guard):
    def __init__(self, setting: Setting, random: np.random.Generator) -> None:
        self._sigma = 1.0 / math.sqrt(setting.n0 // 2)
        self._threshold = 4.0 * self._sigma
        quantile = float(-ndtri(setting.beta / setting.queries / 2.0))
        self._width = self._threshold + quantile * self._sigma
        self._random = random

    def answer(self, questions: Questions, view: View, round: int) -> Replies:
        training, holdout = (
            view.counts(questions, slice(start, round, 2)) / len(range(start, round, 2))
            for start in (0, 1)
        )
        thresholds = self._threshold + self._noise(len(questions))
        agree = np.abs(holdout - training) < thresholds
        values = np.where(agree, training, holdout + self._noise(len(questions)))
        return Replies.around(values, self._width)

    def _noise(self, count: int) -> Floats:
        return self._random.normal(scale=self._sigma, size=count)


class UncertifiedNoise(Defender):
    """Gaussian noise as large as the sampling error, and a width as if nobody adapted.

    What one gets by adding "some noise" without working out how much is needed.
    """

    name = "noise"
    source: ClassVar[str] = "the Gaussian mechanism, without a theorem about the population"
    claim: ClassVar[str] = "all together, for questions fixed beforehand"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        """Noise of the standard error at n0."""
        return _NoiseGuard(setting, random)


class _NoiseGuard(Guard):
    def __init__(self, setting: Setting, random: np.random.Generator) -> None:
        self._quantile = float(-ndtri(setting.beta / setting.queries / 2.0))
        self._sigma = 0.5 / math.sqrt(setting.n0)
        self._random = random

    def answer(self, questions: Questions, view: View, round: int) -> Replies:
        exact = view.counts(questions, slice(0, round)) / round
        values = exact + self._random.normal(scale=self._sigma, size=len(questions))
        width = self._quantile * math.sqrt(0.25 / round + self._sigma**2)
        return Replies.around(values, width)
