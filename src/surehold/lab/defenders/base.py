"""The interface of a defender: it answers from records, with an interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from surehold.lab.questions import Questions
from surehold.lab.records import Counts, Records
from surehold.lab.setting import Setting

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Replies:
    """Values with the ends of their intervals; NaN for what was refused."""

    values: Floats
    lows: Floats
    highs: Floats

    @classmethod
    def around(cls, values: Floats, widths: Floats | float) -> Replies:
        """Value +- width, cut to [0, 1] where all truths are; the value may be outside."""
        return cls(values, np.maximum(values - widths, 0.0), np.minimum(values + widths, 1.0))

    @classmethod
    def refusals(cls, count: int) -> Replies:
        return cls(*np.full((3, count), np.nan))

    def then(self, other: Replies) -> Replies:
        mine, others = (np.stack([r.values, r.lows, r.highs]) for r in (self, other))
        return Replies(*np.concatenate([mine, others], axis=1))


class View:
    """The records as far as they have arrived. Only defenders have one."""

    def __init__(self, records: Records, n: int) -> None:
        self._records = records
        self.n = n

    @property
    def final(self) -> int:
        """How many there will be in the end."""
        return len(self._records)

    def wait(self, n: int) -> None:
        self.n = min(max(self.n, n), self.final)

    def counts(self, questions: Questions, part: slice) -> Counts:
        """Of how many records of a part each question is true; only of what has arrived."""
        if part.stop > self.n:
            raise ValueError("these records have not arrived")
        return questions.counts(self._records, part)


def halves(questions: Questions, view: View, t: int) -> tuple[Floats, Floats]:
    """The means over every other record of a round, from the first one and from the second one."""
    first, second = (
        view.counts(questions, slice(start, t, 2)) / len(range(start, t, 2)) for start in (0, 1)
    )
    return first, second


def joint_quantile(setting: Setting) -> float:
    """How many standard errors cover a normal number, all queries together, both sides."""
    return float(-ndtri(setting.beta / setting.queries / 2.0))


class Guard(ABC):
    """A defender at work on one dataset."""

    @abstractmethod
    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        """Answer the questions from the first ``t`` records, in order, as far as it goes."""

    def answers_left(self, view: View, t: int) -> int:
        """How many more answers it would give at this round."""
        return 2**62

    @property
    def carries_over(self) -> bool:
        """Whether answers left at a round can still be used at later ones."""
        return True

    @property
    def spent(self) -> float | None:
        """The share of its budget that is gone; None if it has no budget."""
        return None


class CountedGuard(Guard):
    """A guard with a number of answers that is fixed from the start."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._given = 0

    def answers_left(self, view: View, t: int) -> int:
        return self._most - self._given

    @property
    def spent(self) -> float:
        return self._given / self._most


class Defender(ABC):
    """A way of answering. ``claim`` says in words what its intervals promise."""

    name: str
    source: ClassVar[str]
    claim: str

    @abstractmethod
    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        """Start with a new dataset; raises Unreachable or NotApplicable if it can't answer."""
