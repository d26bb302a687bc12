"""The outlook: what the rest of the budget buys, depending on when it is spent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from surehold.display import Shown
from surehold.formatting import several
from surehold.ledger.filter import Filter
from surehold.ledger.ledger import Ledger
from surehold.ledger.policy import Policy
from surehold.ledger.view import Room, View


@dataclass(frozen=True, repr=False)
class Pace(Shown):
    """How many answers fit at a round; ``round`` is None if they are spread over all that come."""

    round: int | None
    answers: int

    def __str__(self) -> str:
        where = "spread evenly" if self.round is None else f"at n = {self.round:,}"
        return f"{several(self.answers, 'answer')} {where}"


@dataclass(frozen=True, repr=False)
class Outlook(Shown):
    """What the rest of the budget buys: now, evenly from now on, or at the end of the plan.

    ``evenly`` is an upper bound, for records that come one by one. If they come in lumps, questions
    are asked at smaller sizes, which cost more, and fewer fit.
    """

    now: Pace
    evenly: Pace
    at_end: Pace

    def __str__(self) -> str:
        return f"{self.now}, {self.evenly}, or {self.at_end}"


def outlook(ledger: Ledger, room_of: Callable[[View], Room] = View.room) -> Outlook:
    """The three, each as if nothing were asked otherwise: for all analysts, or for one of them."""
    policy = ledger.policy
    with ledger.store.lock:
        state = ledger.refresh()
        now, end, room = policy.nearest_round(state.records), policy.last_round, room_of(ledger)
        evenly = _evenly(policy, room.filter, now)
        return Outlook(
            now=Pace(now, ledger.answers_left(now, room)),
            evenly=Pace(None, max(0, min(evenly, room.answers))),
            at_end=Pace(end, ledger.answers_left(end, room)),
        )


def _evenly(policy: Policy, filter: Filter, now: int) -> int:
    """The most answers, as if records came one by one, each with its share of the questions.

    The charges go as 1/t^2, whose mean over rounds from now to n is that of their geometric mean,
    1/(now n). Of a fixed schedule: what is planned for each round that is left or, where rounds may
    borrow, equal shares, with the present round or without it, whichever is more.
    """
    if policy.rounds and policy.plan.certificate != "sharp":
        later = [round for round in policy.rounds if round >= now]
        return sum(filter.remaining(round) // policy.unit_charge(round) for round in later)
    if policy.rounds:
        later = [round for round in policy.rounds if round >= now]
        return max(len(some) * _most_each(policy, filter, some) for some in (later, later[1:]))
    end = policy.last_round
    return filter.remaining(now) * now // (policy.unit_charge(end) * end)


def _most_each(policy: Policy, filter: Filter, rounds: Sequence[int]) -> int:
    """The most answers that fit at each of some rounds, by bisection."""
    low, high = 0, policy.plan.queries + 1 if rounds else 1
    while high - low > 1:
        middle = (low + high) // 2
        if _fit(policy, copy.deepcopy(filter), rounds, middle):
            low = middle
        else:
            high = middle
    return low


def _fit(policy: Policy, filter: Filter, rounds: Sequence[int], count: int) -> bool:
    for round in rounds:
        units = count * policy.unit_charge(round)
        if not filter.admits(round, units):
            return False
        filter.charge(round, units)
    return True
