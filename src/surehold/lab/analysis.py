"""One analysis: an attacker asks one defender, and a tally counts which intervals hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surehold.lab.defenders.base import Guard, Replies, View
from surehold.lab.populations import Population
from surehold.lab.questions import Questions
from surehold.lab.records import Records
from surehold.lab.setting import Setting

_ROUNDING = 1e-12  # of what is added up in doubles


@dataclass
class Tally:
    """What became of one analysis; ``missed`` counts the intervals that did not hold the truth."""

    asked: int = 0
    answered: int = 0
    missed: int = 0
    largest_error: float = 0.0
    widest: float = 0.0
    last: tuple[float, float, float, float] | None = None
    """Value, lower and upper end and truth of the last answer, which is what the attack is for."""

    def add(self, replies: Replies, truth: npt.NDArray[np.float64]) -> None:
        """Compare intervals with the truth, leaving out what was refused."""
        answered = ~np.isnan(replies.values)
        self.asked += len(answered)
        if not answered.any():
            return
        columns = np.stack([replies.values, replies.lows, replies.highs, truth])[:, answered]
        values, low, high, right = columns
        self.answered += len(values)
        outside = np.maximum(low - right, right - high)
        self.missed += int(np.count_nonzero(outside > _ROUNDING))
        self.largest_error = max(self.largest_error, float(np.abs(values - right).max()))
        self.widest = max(self.widest, float(np.maximum(values - low, high - values).max()))
        self.last = tuple(columns[:, -1].tolist())


class Analysis:
    """What an attacker works with: questions go out, answers come back, records arrive.

    The attacker sees sizes and answers, never a record. ``random`` is for its own choices.
    """

    def __init__(
        self,
        setting: Setting,
        population: Population,
        records: Records,
        guard: Guard,
        random: np.random.Generator,
    ) -> None:
        self.setting = setting
        self.random = random
        self.tally = Tally()
        self._population = population
        self._guard = guard
        self._view = View(records, setting.n0)

    @property
    def n(self) -> int:
        return self._view.n

    @property
    def features(self) -> int:
        return min(self._population.features, self.setting.queries)

    @property
    def left(self) -> int:
        """How many of the setting's queries have not been asked yet."""
        return self.setting.queries - self.tally.asked

    @property
    def spent(self) -> float | None:
        """The share of the defender's budget that is gone; None if it has none."""
        return self._guard.spent

    def wait(self, n: int) -> None:
        """Let records arrive until there are n, or the data ends."""
        self._view.wait(min(n, self.setting.n))

    def answers_left(self, at: int | None = None) -> int:
        """How many more answers the defender would give, at the present or an earlier round."""
        if self.left == 0:
            return 0
        return min(self.left, self._guard.answers_left(self._view, self._round(at)))

    @property
    def carries_over(self) -> bool:
        """Whether answers left now can still be used when more records have arrived."""
        return self._guard.carries_over

    def ask(self, questions: Questions, at: int | None = None) -> Replies:
        """The answers, NaN for each that was refused; ``at`` an earlier round, or from all."""
        if len(questions) > self.left:
            raise ValueError("an attacker may not ask more than the setting's queries")
        replies = self._guard.answer(questions, self._view, self._round(at))
        self.tally.add(replies, self._population.truth(questions))
        return replies

    def _round(self, at: int | None) -> int:
        if at is None:
            return self.n
        if not self.setting.n0 <= at <= self.n:
            raise ValueError("a round must lie between n0 and the present size")
        return at
