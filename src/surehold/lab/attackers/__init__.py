"""Analysts, malicious and not."""

from surehold.lab.attackers import benign, growth, guesses, hill_climb, votes
from surehold.lab.attackers.base import Attacker

ATTACKERS: tuple[Attacker, ...] = (
    votes.SignAttacker(),
    votes.WeightedAttacker(),
    votes.FreedmanAttacker(),
    votes.LeaderboardAttacker(),
    hill_climb.HillClimbingAttacker(),
    votes.AblationAttacker(),
    votes.ContradictionAttacker(),
    votes.AveragingAttacker(),
    votes.SubsetSumAttacker(),
    votes.MedianAttacker(),
    guesses.NearMissAttacker(),
    guesses.RefinementAttacker(),
    guesses.BestOfManyAttacker(),
    growth.OptionalStoppingAttacker(),
    growth.LuckyAttacker(),
    growth.StaleAttacker(),
    growth.WaitingAttacker(),
    growth.FloodingAttacker(),
    guesses.ReAskingAttacker(),
    benign.DashboardAnalyst(),
    benign.TuningAnalyst(),
    benign.ForwardSelectionAnalyst(),
)
"""All that the lab knows."""

__all__ = ["ATTACKERS", "Attacker"]
