"""Analysts, malicious and not."""

from surehold.lab.attackers.base import Attacker
from surehold.lab.attackers.benign import (
    DashboardAnalyst,
    ForwardSelectionAnalyst,
    TuningAnalyst,
)
from surehold.lab.attackers.growth import (
    FloodingAttacker,
    LuckyAttacker,
    OptionalStoppingAttacker,
    StaleAttacker,
    WaitingAttacker,
)
from surehold.lab.attackers.hill_climb import HillClimbingAttacker
from surehold.lab.attackers.votes import (
    AblationAttacker,
    AveragingAttacker,
    ContradictionAttacker,
    FreedmanAttacker,
    LeaderboardAttacker,
    MedianAttacker,
    SignAttacker,
    SubsetSumAttacker,
    WeightedAttacker,
)

ATTACKERS: tuple[Attacker, ...] = (
    SignAttacker(),
    WeightedAttacker(),
    FreedmanAttacker(),
    LeaderboardAttacker(),
    HillClimbingAttacker(),
    AblationAttacker(),
    ContradictionAttacker(),
    AveragingAttacker(),
    SubsetSumAttacker(),
    MedianAttacker(),
    OptionalStoppingAttacker(),
    LuckyAttacker(),
    StaleAttacker(),
    WaitingAttacker(),
    FloodingAttacker(),
    DashboardAnalyst(),
    TuningAnalyst(),
    ForwardSelectionAnalyst(),
)
"""All that the lab knows."""

__all__ = ["ATTACKERS", "Attacker"]
