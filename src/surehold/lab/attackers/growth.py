"""Attackers that use that the data grows: when to ask is also a choice that answers can lead."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from surehold.lab.analysis import Analysis
from surehold.lab.attackers.base import STOPS, Attacker, leanings, pace
from surehold.lab.attackers.votes import SignAttacker
from surehold.lab.questions import Agreements, Votes
from surehold.lab.setting import Setting


class OptionalStoppingAttacker(Attacker):
    """Looks at the same few questions again and again, and stops when one looks settled.

    A hundred looks at some features, as many as the queries allow. A feature whose interval leaves
    out 1/2, and that is two standard errors off, is declared a finding and left alone; the others
    are looked at again when more records are there.
    """

    name: ClassVar[str] = "optional-stopping"
    source: ClassVar[str] = "Armitage, McPherson and Rowe 1969; Johari et al. 2017"
    kind: ClassVar[str] = "growing"
    last: ClassVar[str] = "the last look"
    looks: ClassVar[int] = 100

    def attack(self, analysis: Analysis) -> None:
        count = max(min(analysis.setting.queries // self.looks, analysis.features), 1)
        unsettled = np.arange(count)
        for place, stop in enumerate(analysis.setting.stops(self.looks)):
            analysis.wait(stop)
            room = -(-analysis.answers_left() // (self.looks - place))
            looked = unsettled[: min(len(unsettled), room)]
            if len(looked) == 0:
                continue
            replies = analysis.ask(Agreements(looked))
            outside = (replies.lows > 0.5) | (replies.highs < 0.5)
            settled = outside & (np.abs(leanings(replies)) > 2.0 * 0.5 / np.sqrt(analysis.n))
            unsettled = np.concatenate([looked[~settled], unsettled[len(looked) :]])


class LuckyAttacker(Attacker):
    """Asks the question that matters only at moments when the answers have been kind.

    At each stop it asks about new features and keeps those that lean by a standard error. Whenever
    more were kept than chance gives, it asks about their vote at once.
    """

    name: ClassVar[str] = "lucky"
    source: ClassVar[str] = (
        "selective reporting: Ioannidis 2005; Simmons, Nelson and Simonsohn 2011"
    )
    kind: ClassVar[str] = "growing"

    def attack(self, analysis: Analysis) -> None:
        count = max(min(analysis.features, analysis.setting.queries - STOPS), 1)
        weights = np.zeros(count, dtype=np.int32)
        for some in pace(analysis, np.arange(count), analysis.setting.stops(STOPS)):
            leaning = leanings(analysis.ask(Agreements(some)))
            kept = np.abs(leaning) > 0.5 / np.sqrt(analysis.n)
            weights[some] = np.sign(leaning) * kept
            lucky = np.count_nonzero(kept) > 0.317 * len(some) or analysis.n == analysis.setting.n
            if lucky and analysis.answers_left() > 0:
                analysis.ask(Votes(weights))


class StaleAttacker(Attacker):
    """Holds the first round while the data grows: the fewest records are the easiest to overfit.

    It asks about every feature, and at the end about the vote, at n0; what has arrived since would
    only dilute it.
    """

    name: ClassVar[str] = "stale"
    source: ClassVar[str] = "Surehold; rounds may be held (Algorithm 1 lets t be any size)"
    kind: ClassVar[str] = "growing"

    def attack(self, analysis: Analysis) -> None:
        held = analysis.setting.n0
        count = min(analysis.features, analysis.setting.queries - 1)
        weights = np.zeros(count, dtype=np.int32)
        start = 0
        for place, stop in enumerate(analysis.setting.stops(STOPS)):
            analysis.wait(stop)
            some = max(min((count - start) // (STOPS - place), analysis.answers_left(held) - 1), 0)
            asked = np.arange(start, start + some)
            weights[asked] = np.sign(leanings(analysis.ask(Agreements(asked), at=held)))
            start += some
        analysis.ask(Votes(weights), at=held)


class WaitingAttacker(SignAttacker):
    """Waits for the cheapest moment: at n an answer costs each record least, so all go there."""

    name: ClassVar[str] = "waiting"
    source: ClassVar[str] = "Surehold; the worst case of the paper's filter (Theorem C.2)"
    kind: ClassVar[str] = "growing"

    def stops(self, setting: Setting) -> list[int]:
        return [setting.n]


class FloodingAttacker(SignAttacker):
    """Asks all it can at n0, where there are fewest records."""

    name: ClassVar[str] = "flooding"
    source: ClassVar[str] = "Surehold; the dearest moment of the paper's filter (Theorem C.2)"
    kind: ClassVar[str] = "growing"

    def stops(self, setting: Setting) -> list[int]:
        return [setting.n0]
