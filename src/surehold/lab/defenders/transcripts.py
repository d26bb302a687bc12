"""Defenders that say little at a time, with a union bound over all they could have said.

What an analyst asks next depends only on what was said so far. So there is one question at each
node of a tree of outcomes, fixed before any record was looked at, and beta is shared among all.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from surehold.errors import Unreachable
from surehold.lab.defenders.base import CountedGuard, Defender, Guard, Replies, View, halves
from surehold.lab.questions import Questions
from surehold.lab.setting import Setting


class GuessAndCheck(Defender):
    """Report a guess from one half if the other half confirms it; else that half's value, rounded.

    Even records give the guess, odd ones check it. A confirmed guess costs almost nothing, a failed
    one as much as its rounded correction reveals; once the width would exceed alpha, it stops. The
    union bound is over all transcripts, so it holds for any analyst at any time.
    """

    name = "guess-and-check"
    source: ClassVar[str] = "Rogers, Roth, Smith, Srebro, Thakkar and Woodworth 2020, Algorithm 1"
    claim = "all together within alpha, for any analyst"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        guard = _GuessAndCheckGuard(setting)
        width = guard.tolerance(setting.n // 2)
        if width >= setting.alpha:
            raise Unreachable(
                f"a first answer within ± {setting.alpha:g}",
                f"the checking half alone is off by up to {width:.3g}",
                {"alpha": setting.alpha, "width": width},
            )
        return guard


class _GuessAndCheckGuard(Guard):
    def __init__(self, setting: Setting) -> None:
        self._alpha = setting.alpha
        self._beta = setting.beta
        self._asked = 0
        self._failures = 0
        self._told = 0.0  # sum of ln(1 / gamma) over the failures

    def answers_left(self, view: View, t: int) -> int:
        """At least one more while its tolerance is positive; more if guesses are confirmed."""
        return 2**62 if self.tolerance(t // 2) < self._alpha else 0

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        guesses, checks = halves(questions, view, t)
        values = np.full(len(questions), np.nan)
        for place in range(len(questions)):
            slack = self._alpha - self.tolerance(t // 2)
            if slack <= 0.0:
                break
            self._asked += 1
            values[place] = guesses[place]
            if abs(guesses[place] - checks[place]) > slack:
                # To the middle of its cell of a grid of 2 slack, so that it is off by no more.
                values[place] = (math.floor(checks[place] / (2.0 * slack)) + 0.5) * 2.0 * slack
                self._failures += 1
                self._told += math.log(math.ceil(1.0 / (2.0 * slack)))
        return Replies.around(values, self._alpha)

    def tolerance(self, size: int) -> float:
        """How far the checking half can be off, now, for any transcript that there can be.

        The paper's beta_{i,f}: over all transcripts of i queries of which f fail, there are
        binomial(i, f) prod 1/gamma_j of them, the failure probabilities add up to beta.
        """
        i, f = self._asked, self._failures
        transcripts = gammaln(i + 1) - gammaln(f + 1) - gammaln(i - f + 1) + self._told
        each = 2.0 * math.log(math.pi**2 / 6.0) + 2.0 * (math.log(i - f + 1) + math.log(f + 1))
        exponent = math.log(2.0 / self._beta) + float(transcripts) + each
        return math.sqrt(exponent / (2.0 * size))


class Verdicts(Defender):
    """Only whether a fraction is at least 1/2, a number of times that is declared beforehand.

    As many verdicts as keep the tolerance within alpha at n0, or as are asked. "Pass" says that the
    truth is at most the tolerance below 1/2, "fail" that it is at most that above. H verdicts can
    go 2^H ways.
    """

    name = "verdicts"
    source: ClassVar[str] = "ease.ml/ci, Renggli et al. 2019, its fully adaptive mode; Hoeffding"
    claim = "all together, for any analyst; pass or fail only"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        most = math.floor(
            (2.0 * setting.n0 * setting.alpha**2 - math.log(2.0 / setting.beta)) / math.log(2.0)
        )
        if most < 1:
            least = math.sqrt(math.log(4.0 / setting.beta) / (2.0 * setting.n0))
            raise Unreachable(
                f"a first verdict within ± {setting.alpha:g}",
                f"Hoeffding's bound is ± {least:.3g}",
                {"alpha": setting.alpha, "width": least},
            )
        return _VerdictsGuard(min(most, setting.queries), setting.beta)


class _VerdictsGuard(CountedGuard):
    def __init__(self, most: int, beta: float) -> None:
        super().__init__(most)
        self._exponent = most * math.log(2.0) + math.log(2.0 / beta)

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        count = min(len(questions), self._most - self._given)
        self._given += count
        passes = 2 * view.counts(questions[:count], slice(0, t)) >= t
        tolerance = math.sqrt(self._exponent / (2.0 * t))
        lows = np.where(passes, max(0.5 - tolerance, 0.0), 0.0)
        highs = np.where(passes, 1.0, min(0.5 + tolerance, 1.0))
        given = Replies((lows + highs) / 2.0, lows, highs)
        return given.then(Replies.refusals(len(questions) - count))


class Ladder(Defender):
    """A leaderboard that moves only if a submission beats the best so far by a step.

    Then it says the new best, rounded to the step; else that there is none, so all that is known of
    a submission is an upper end. With at most 1/step improvements there are few transcripts. The
    step makes its theorem's width the least at n0.
    """

    name = "ladder"
    source: ClassVar[str] = "Blum and Hardt 2015, The Ladder, Theorem 3.1"
    claim = "all together, for any analyst; improvements only"

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        return _LadderGuard(setting, ladder_step(setting.n0, setting.queries, setting.beta))


class _LadderGuard(Guard):
    def __init__(self, setting: Setting, step: float) -> None:
        self._setting = setting
        self._step = step
        self._best = 0.0

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        width = ladder_width(t, self._setting.queries, self._setting.beta, self._step)
        scores = view.counts(questions, slice(0, t)) / t
        given = np.empty((3, len(scores)))
        for place, score in enumerate(scores.tolist()):
            improves = score >= self._best + self._step
            if improves:
                self._best = round(score / self._step) * self._step
            low = self._best - width if improves else 0.0
            given[:, place] = self._best, max(low, 0.0), min(self._best + width, 1.0)
        return Replies(*given)


def ladder_width(t: int, submissions: int, beta: float, step: float) -> float:
    """``step + e`` with ``exp(-2 e^2 t + (1/step + 2) ln(4k/step) + 1) = beta`` (Theorem 3.1)."""
    transcripts = (1.0 / step + 2.0) * math.log(4.0 * submissions / step) + 1.0
    return step + math.sqrt((transcripts + math.log(1.0 / beta)) / (2.0 * t))


def ladder_step(t: int, submissions: int, beta: float) -> float:
    """The step that makes the width least."""
    found = minimize_scalar(
        lambda step: ladder_width(t, submissions, beta, step), bounds=(1e-4, 1.0), method="bounded"
    )
    return float(found.x)
