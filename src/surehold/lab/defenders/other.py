"""Defenders between exact answers and a certificate: splitting, Thresholdout, noise alone."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from surehold.lab.defenders.base import (
    CountedGuard,
    Defender,
    Floats,
    Guard,
    Replies,
    View,
    halves,
    joint_quantile,
)
from surehold.lab.questions import Questions
from surehold.lab.setting import Setting
from surehold.planning import Plan, plan


class Splitting(Defender):
    """Every answer from records of its own, which it waits for.

    As many answers as are within alpha, or as are asked if that is fewer and they can be better.
    Valid for any analyst, as no record is used twice; but there are few of them.
    """

    name = "splitting"
    source: ClassVar[str] = "Proposition C.5 of Marchant and Rubinstein 2025"
    claim = "all together, for any analyst; waits for fresh records"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        def split(**target: float | int) -> Plan:
            n, beta = setting.n, setting.beta
            return plan(n0=n, n=n, beta=beta, batches=1, certificate="split", **target)  # type: ignore[arg-type]

        solved = split(alpha=setting.alpha)
        if setting.queries < solved.queries:
            solved = split(queries=setting.queries)
        return _SplittingGuard(setting.n, solved.queries, solved.width)


class _SplittingGuard(CountedGuard):
    def __init__(self, n: int, answers: int, width: float) -> None:
        super().__init__(answers)
        self._n = n
        self._width = width

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        count = min(len(questions), self._most - self._given)
        values = np.empty(count)
        for place in range(count):
            start, stop = (self._n * j // self._most for j in (self._given, self._given + 1))
            view.wait(stop)
            one = questions[place : place + 1]
            values[place] = view.counts(one, slice(start, stop))[0] / (stop - start)
            self._given += 1
        return Replies.around(values, self._width).then(Replies.refusals(len(questions) - count))


class Thresholdout(Defender):
    """Two halves; answers come from one as long as the other does not contradict it by much.

    Even records are the training half, odd ones the holdout. With the parameters of the authors'
    own experiment: for m holdout records (at n0) the threshold 4/sqrt(m) and Gaussian noise of
    1/sqrt(m). Their theorem asks for many more records. The width is the threshold and what noise
    and sampling add to it, for all queries together, as if the holdout were fresh every time.
    """

    name = "thresholdout"
    source: ClassVar[str] = "Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015"
    claim = "all together, for any analyst; its theorem does not reach usual sizes"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        return _ThresholdoutGuard(setting, random)


class _ThresholdoutGuard(Guard):
    def __init__(self, setting: Setting, random: np.random.Generator) -> None:
        self._sigma = 1.0 / math.sqrt(setting.n0 // 2)
        self._threshold = 4.0 * self._sigma
        sampling = 0.5 * self._sigma
        both = math.hypot(self._sigma, sampling)
        self._width = self._threshold + joint_quantile(setting) * both
        self._random = random

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        training, holdout = halves(questions, view, t)
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
    claim = "all together, for questions fixed beforehand"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        return _NoiseGuard(setting, random)


class _NoiseGuard(Guard):
    def __init__(self, setting: Setting, random: np.random.Generator) -> None:
        self._quantile = joint_quantile(setting)
        self._sigma = 0.5 / math.sqrt(setting.n0)
        self._random = random

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        exact = view.counts(questions, slice(0, t)) / t
        values = exact + self._random.normal(scale=self._sigma, size=len(questions))
        width = self._quantile * math.sqrt(0.25 / t + self._sigma**2)
        return Replies.around(values, width)
