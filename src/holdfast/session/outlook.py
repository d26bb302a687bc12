"""The outlook: what the rest of the budget buys, depending on when it is spent."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.ledger.filter import Filter
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.policy import Policy
from holdfast.numerals import several
from holdfast.shown import Shown


@dataclass(frozen=True, repr=False)
class Pace(Shown):
    """So many answers, at a round; ``round`` is None if they are spread over all that come."""

    round: int | None
    answers: int

    def __str__(self) -> str:
        where = "spread evenly" if self.round is None else f"at n = {self.round:,}"
        return f"{several(self.answers, 'answer')} {where}"


@dataclass(frozen=True, repr=False)
class Outlook(Shown):
    """What is left buys so much: all of it now, evenly from now on, or at the end of the plan."""

    now: Pace
    evenly: Pace
    at_end: Pace

    def __str__(self) -> str:
        return f"{self.now}, {self.evenly}, or {self.at_end}"


def outlook(ledger: Ledger) -> Outlook:
    """The three, each as if nothing were asked otherwise."""
    policy = ledger.policy
    with ledger.store.lock:
        state = ledger.refresh()
        now, end = policy.nearest_round(state.records), policy.last_round
        left, filter = policy.plan.queries - state.answers, copy.deepcopy(ledger.filter)
        evenly = _evenly(policy, filter, now)
        return Outlook(
            now=Pace(now, ledger.answers_left(now)),
            evenly=Pace(None, max(0, min(evenly, left))),
            at_end=Pace(end, ledger.answers_left(end)),
        )


def _evenly(policy: Policy, filter: Filter, now: int) -> int:
    """Rounded down: the mean charge over rounds now < t <= n is at most that of the integral.

    The charges go as 1/t^2, whose mean over [now, n] is 1/(now n), that of their geometric mean.
    """
    if policy.rounds:
        later = [round for round in policy.rounds if round >= now]
        return len(later) * _most_each(policy, filter, later)
    charge = policy.mechanism.charge
    left = filter.remaining(now)
    return left * now // (charge(policy.last_round) * policy.last_round)


def _most_each(policy: Policy, filter: Filter, rounds: Sequence[int]) -> int:
    """The most answers that fit at each of some rounds, by bisection."""
    low, high = 0, policy.plan.queries + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _fit(policy, copy.deepcopy(filter), rounds, middle):
            low = middle
        else:
            high = middle
    return low


def _fit(policy: Policy, filter: Filter, rounds: Sequence[int], count: int) -> bool:
    for round in rounds:
        units = count * policy.mechanism.charge(round)
        if not filter.admits(round, units):
            return False
        filter.charge(round, units)
    return True
