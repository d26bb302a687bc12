"""Defenders that report the exact mean of the records, with the usual intervals around it."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from surehold.lab.defenders.base import Defender, Floats, Guard, Replies, View, joint_quantile
from surehold.lab.questions import Questions
from surehold.lab.setting import Setting


class ExactDefender(Defender):
    """The mean of the records there are, and a width that depends on it and their number."""

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        return _ExactGuard(self, setting)

    @abstractmethod
    def widths(self, values: Floats, t: int, setting: Setting) -> Floats | float:
        """Half-widths of the intervals."""


class _ExactGuard(Guard):
    def __init__(self, defender: ExactDefender, setting: Setting) -> None:
        self._defender = defender
        self._setting = setting

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        values = view.counts(questions, slice(0, t)) / t
        return Replies.around(values, self._defender.widths(values, t, self._setting))


class Raw(ExactDefender):
    """The number itself, as a dashboard or a leaderboard shows it."""

    name = "raw"
    source: ClassVar[str] = "common practice"
    claim = "none: the number is taken for the truth"

    def widths(self, values: Floats, t: int, setting: Setting) -> Floats | float:
        return 0.0


class Plain(ExactDefender):
    """The textbook's interval for one proportion, each by itself right with 1 - beta."""

    name = "plain"
    source: ClassVar[str] = "Wald's interval"
    claim = "each by itself, for a question fixed beforehand (about, for large n)"

    def widths(self, values: Floats, t: int, setting: Setting) -> Floats | float:
        return float(ndtri(1.0 - setting.beta / 2.0)) * np.sqrt(values * (1.0 - values) / t)


class Bonferroni(ExactDefender):
    """The same, with beta divided among all queries that may be asked."""

    name = "bonferroni"
    source: ClassVar[str] = "Bonferroni 1936; Dunn 1961"
    claim = "all together, for questions fixed beforehand (about, for large n)"

    def widths(self, values: Floats, t: int, setting: Setting) -> Floats | float:
        return joint_quantile(setting) * np.sqrt(values * (1.0 - values) / t)


class Hoeffding(ExactDefender):
    """Hoeffding's inequality and a union bound, which hold at any size and for any fraction."""

    name = "hoeffding"
    source: ClassVar[str] = "Hoeffding 1963"
    claim = "all together, for questions fixed beforehand"

    def widths(self, values: Floats, t: int, setting: Setting) -> Floats | float:
        """``sqrt(ln(2 k / beta) / (2 t))``."""
        return math.sqrt(math.log(2.0 * setting.queries / setting.beta) / (2.0 * t))


class Wide(ExactDefender):
    """Exact answers with the width that Surehold plans for, alpha: the control.

    If it withstands an attack too, that one shows nothing of noise and budgets, only of widths.
    """

    name = "wide"
    source: ClassVar[str] = "Surehold's width without its noise"
    claim = "none: no theorem gives it"

    def widths(self, values: Floats, t: int, setting: Setting) -> Floats | float:
        return setting.alpha


class ConfidenceSequence(ExactDefender):
    """Robbins' normal mixture: right at all rounds at once, so one may look whenever one likes.

    Howard, Ramdas, McAuliffe and Sekhon 2021, equation (14) with the variance process t/4 of a
    number in [0, 1], tuned to be narrowest at n0, with a union bound over the queries.
    """

    name = "sequence"
    source: ClassVar[str] = "Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021"
    claim = "all together and at all times, for questions fixed beforehand"

    def widths(self, values: Floats, t: int, setting: Setting) -> Floats | float:
        """``sqrt((V + r) ln((V + r) / (r a^2))) / t`` for V = t/4, a = beta / k."""
        a = setting.beta / setting.queries
        variance, tuned = t / 4.0, _narrowest_at(setting.n0 / 4.0, a)
        together = variance + tuned
        return math.sqrt(together * math.log(together / (tuned * a * a))) / t


def _narrowest_at(variance: float, a: float) -> float:
    """About the r that makes the boundary least at a variance; any r > 0 is valid."""
    return variance / (2.0 * math.log(1.0 / a) + math.log(1.0 + 2.0 * math.log(1.0 / a)))
