"""What an attacker is: two methods, one for where it works best and one for what it does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from surehold.lab.analysis import Analysis
from surehold.lab.defenders.base import Floats, Replies
from surehold.lab.populations import Coins, Population
from surehold.lab.records import CELL_BITS, Indices
from surehold.lab.setting import Setting

STOPS = 10
"""How often an attacker that takes its time looks while the data grows."""


class Attacker(ABC):
    """An analyst. ``kind`` is static, growing (needs data that grows) or benign.

    An attacker of your own is a class with these two methods and the four words; give an instance
    of it to :func:`surehold.lab.run`.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    kind: ClassVar[str] = "static"
    last: ClassVar[str] = "the vote"
    """What the last question, to which all others lead, is about."""

    def population(self, setting: Setting, random: np.random.Generator) -> Population:
        """Where the attack works best: a coin for each query, none of which knows the label."""
        return Coins(max(setting.queries, CELL_BITS))  # which a lookup needs

    @abstractmethod
    def attack(self, analysis: Analysis) -> None:
        """Ask, wait and ask again: one whole analysis."""


def pace(
    analysis: Analysis, features: Indices, stops: list[int], each: int = 1
) -> Iterator[Indices]:
    """Features to ask about at each stop, evenly, keeping an answer for one last question.

    ``each`` is how often every feature is asked about.
    """
    start = 0
    for place, stop in enumerate(stops):
        analysis.wait(stop)
        left = len(stops) - place
        room = analysis.answers_left() - (left == 1)
        if analysis.carries_over:
            room //= left
        count = max(min((len(features) - start) // left, room // each), 0)
        yield features[start : start + count]
        start += count


def leanings(replies: Replies) -> Floats:
    """How far answers are from even; 0 for those that were refused."""
    return np.nan_to_num(replies.values - 0.5)
