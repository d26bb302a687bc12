"""Attackers that change a model a little and keep what scored better."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from surehold.lab.analysis import Analysis
from surehold.lab.attackers.base import Attacker
from surehold.lab.questions import Lookups
from surehold.lab.records import CELLS

_LITTER = 20
_SHARE = 0.1  # of the cells that a mutation turns round


class HillClimbingAttacker(Attacker):
    """An agent's loop: twenty mutations of the model, the best if it beats the last best, again.

    The model is a table with a prediction for each cell of the records' first twelve features. It
    can't be better than a coin; its score says otherwise.
    """

    name: ClassVar[str] = "hill-climbing"
    source: ClassVar[str] = "random local search on a holdout, as coding agents do"
    last: ClassVar[str] = "the best model"

    def attack(self, analysis: Analysis) -> None:
        model = analysis.random.random(CELLS) < 0.5
        best = -np.inf
        generations = max((analysis.setting.queries - 1) // _LITTER, 1)
        for generation, stop in enumerate(analysis.setting.visits(generations)):
            analysis.wait(stop)
            left = generations - generation
            room = analysis.answers_left() - (analysis.carries_over or left == 1)
            if analysis.carries_over:
                room = -(-room // left)
            litter = min(_LITTER, room)
            if litter < 1:
                continue
            turned = analysis.random.random((litter, CELLS)) < _SHARE
            answers = analysis.ask(Lookups(model ^ turned)).values
            place = int(np.argmax(answers))
            if answers[place] > best:
                model, best = model ^ turned[place], answers[place]
        if analysis.answers_left() > 0:
            analysis.ask(Lookups(model[None]))
