from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold as sh
from support.runtime import adaptive_plan, batch_plan, rare_plan
from surehold.ledger.filter import FixedFilter, RecordFilter
from surehold.ledger.policy import Policy
from surehold.mechanisms import UNIT_BITS


class PerRecord:
    """The filter as the note prints it: one budget and one running sum for every record."""

    def __init__(self, firsts: list[int], budgets: list[int], horizon: int) -> None:
        edges = [*firsts, horizon + 1]
        self.budgets = [
            budget
            for budget, low, high in zip(budgets, edges, edges[1:], strict=False)
            for _ in range(low, high)
        ]
        self.charged = [0] * horizon

    def remaining(self, round: int) -> int:
        pairs = zip(self.budgets[:round], self.charged[:round], strict=True)
        return min(budget - charged for budget, charged in pairs)

    def charge(self, round: int, units: int) -> None:
        for s in range(round):
            self.charged[s] += units


HORIZON = 40


@st.composite
def pieces(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    starts = draw(st.sets(st.integers(2, HORIZON), max_size=17))
    firsts = [1, *sorted(starts)]
    budgets = draw(st.lists(st.integers(0, 60), min_size=len(firsts), max_size=len(firsts)))
    return firsts, budgets


Asks = st.lists(st.tuples(st.integers(1, HORIZON), st.integers(0, 20)), max_size=40)


@given(pieces(), Asks)
def test_agrees_with_one_sum_for_every_record(
    where: tuple[list[int], list[int]], asks: list[tuple[int, int]]
) -> None:
    filter, oracle = RecordFilter(*where), PerRecord(*where, HORIZON)
    for round, units in asks:
        admitted = filter.admits(round, units)
        assert admitted == (units <= oracle.remaining(round))
        if admitted:
            filter.charge(round, units)
            oracle.charge(round, units)
        else:
            with pytest.raises(ValueError, match="not admitted"):
                filter.charge(round, units)
        for t in (1, round, max(round - 1, 1), HORIZON):
            assert filter.remaining(t) == oracle.remaining(t)
        assert all(c <= b for c, b in zip(oracle.charged, oracle.budgets, strict=True))


@given(pieces(), Asks, st.integers(1, HORIZON))
def test_a_refusal_changes_nothing(
    where: tuple[list[int], list[int]], asks: list[tuple[int, int]], round: int
) -> None:
    filter = RecordFilter(*where)
    for t, units in asks:
        if filter.admits(t, units):
            filter.charge(t, units)
    before = [filter.remaining(t) for t in range(1, HORIZON + 1)]
    for refused in (before[round - 1] + 1, -1):
        with pytest.raises(ValueError, match="not admitted"):
            filter.charge(round, refused)
    assert [filter.remaining(t) for t in range(1, HORIZON + 1)] == before


Parts = st.fractions(0, 1, max_denominator=60)


@given(Parts, st.lists(st.tuples(st.integers(1, 500), Parts), max_size=30))
def test_one_piece_is_algorithm_2_as_printed(
    rho: Fraction, asks: list[tuple[int, Fraction]]
) -> None:
    # Algorithm 2: halt once sum_i rho_i > rho. One unit here is 1/N of a rho.
    scale = math.lcm(rho.denominator, *(part.denominator for _, part in asks))
    filter, total = RecordFilter([1], [int(rho * scale)]), Fraction(0)
    for round, part in asks:
        admitted = total + part <= rho
        assert filter.admits(round, int(part * scale)) == admitted
        if admitted:
            total += part
            filter.charge(round, int(part * scale))
        assert filter.remaining(round) == (rho - total) * scale


@pytest.mark.parametrize(
    ("firsts", "budgets"),
    [([], []), ([2], [1]), ([1, 1], [1, 1]), ([1, 5, 3], [1, 1, 1]), ([1, 2], [1])],
)
def test_pieces_that_can_not_be_meant(firsts: list[int], budgets: list[int]) -> None:
    with pytest.raises(ValueError, match="pieces"):
        RecordFilter(firsts, budgets)


class Counted(list[int]):
    """Counts how often it is looked at."""

    touched = 0

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        Counted.touched += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("bits", [4, 8, 12, 16])
def test_an_ask_touches_as_many_nodes_as_the_tree_is_deep(bits: int) -> None:
    size = 2**bits - 1
    filter = RecordFilter(list(range(1, size + 1)), [10**9] * size)
    filter._least, filter._taken = Counted(filter._least), Counted(filter._taken)
    worst = 0
    for round in (1, 2, size // 3, size // 2, size - 1, size):
        for _ in range(3):
            Counted.touched = 0
            filter.charge(round, 1)
            worst = max(worst, Counted.touched)
    assert worst <= 12 * (bits + 1)


def test_a_million_charges_leave_the_filter_as_small_as_it_was() -> None:
    filter = RecordFilter([1, 100], [10**9, 10**8])
    size = len(filter._least)
    for _ in range(20_000):
        filter.charge(150, 1)
    assert len(filter._least) == len(filter._taken) == size
    assert filter.remaining(99) == 10**9 - 20_000


# ------------------------------------------------------------------------------- with plans


def spent(policy: Policy, asks: dict[int, int]) -> list[tuple[int, int]]:
    """For each piece of a batch plan: what its first record was charged, and its budget."""
    rounds = policy.rounds
    charge = policy.mechanism.charge
    found = []
    for i in range(len(rounds)):
        budget = sum(k * charge(t) for t, k in (policy.schedule or ())[i:])
        charged = sum(k * charge(t) for t, k in asks.items() if t >= rounds[i])
        found.append((charged, budget))
    return found


def test_a_batch_plan_admits_exactly_what_is_scheduled() -> None:
    policy = Policy(batch_plan())
    filter, given = policy.new_filter(), 0
    assert policy.schedule is not None
    for round, count in policy.schedule:
        for _ in range(count):
            assert policy.answers_left(filter, round, given) > 0
            filter.charge(round, policy.mechanism.charge(round))
            given += 1
        # the next batch, all of it, still fits; one more of this one would eat into it or be over
    assert given == policy.plan.queries
    for round in policy.rounds:
        assert policy.answers_left(filter, round, given) == 0
        assert not filter.admits(round, 1)


def test_an_unused_early_batch_can_not_be_asked_late() -> None:
    policy = Policy(batch_plan())
    filter = policy.new_filter()
    assert policy.schedule is not None
    last, count = policy.schedule[-1]
    assert policy.answers_left(filter, last, 0) == count
    for _ in range(count):
        filter.charge(last, policy.mechanism.charge(last))
    assert policy.answers_left(filter, last, count) == 0
    earlier = policy.rounds[-2]
    assert policy.answers_left(filter, earlier, count) == policy.schedule[-2][1]


def test_late_budget_may_be_used_early() -> None:
    policy = Policy(batch_plan())
    filter = policy.new_filter()
    assert policy.schedule is not None
    (early, planned), (late, last) = policy.schedule[-2:]
    left = policy.answers_left(filter, early, 0)
    assert planned < left < planned + last  # early ones are dearer than those given up for them
    for _ in range(left):
        filter.charge(early, policy.mechanism.charge(early))
    assert policy.answers_left(filter, late, left) < last


def test_a_schedule_that_may_not_be_moved() -> None:
    plan = sh.plan(n0=50_000, n=150_000, alpha=0.2, beta=0.05, batches=3, certificate="ours-n")
    policy = Policy(plan)
    filter, given = policy.new_filter(), 0
    assert isinstance(filter, FixedFilter)
    assert policy.schedule is not None
    for round, count in reversed(policy.schedule):
        charge = policy.mechanism.charge(round)
        assert policy.answers_left(filter, round, given) == count
        with pytest.raises(ValueError, match="not admitted"):
            filter.charge(round, (count + 1) * charge)
        filter.charge(round, count * charge)
        given += count
        assert not filter.admits(round, 1)
        assert policy.fits_at(filter, round) is None
    assert given == plan.queries


@given(st.lists(st.integers(0, 3), max_size=60))
def test_no_record_is_charged_more_than_its_budget(order: list[int]) -> None:
    policy = Policy(batch_plan())
    filter, given = policy.new_filter(), 0
    asks = dict.fromkeys(policy.rounds, 0)
    for which in order:
        round = policy.rounds[which]
        fits = all(
            charged + policy.mechanism.charge(round) <= budget
            for i, (charged, budget) in enumerate(spent(policy, asks))
            if policy.rounds[i] <= round
        )
        charge = policy.mechanism.charge(round)
        assert filter.admits(round, charge) == fits
        assert (policy.answers_left(filter, round, given) > 0) == (
            fits and given < policy.plan.queries
        )
        if policy.answers_left(filter, round, given) > 0:
            filter.charge(round, charge)
            asks[round] += 1
            given += 1
        assert all(charged <= budget for charged, budget in spent(policy, asks))


PLANS = {
    "small": adaptive_plan,
    "rare": rare_plan,
    "one answer": lambda: sh.plan(n0=400, n=400, queries=1, beta=0.1),
    "asked for": lambda: sh.plan(n0=1_000, n=100_000, queries=1234, beta=0.01),
    "far": lambda: sh.plan(n0=20_000, n=2_000_000, alpha=0.05, beta=0.05),
    "adaptive": lambda: sh.plan(n0=50_000, n=150_000, alpha=0.2, beta=0.05, certificate="adaptive"),
}


@pytest.mark.parametrize("name", PLANS)
def test_an_adaptive_plan_fits_max_queries_at_n_and_not_one_more(name: str) -> None:
    policy = Policy(PLANS[name]())
    filter, n, cap = policy.new_filter(), policy.plan.n, policy.plan.max_queries
    assert cap is not None
    charge = policy.mechanism.charge(n)
    assert policy.answers_left(filter, n, 0) == cap
    filter.charge(n, cap * charge)
    assert policy.answers_left(filter, n, cap) == 0
    assert policy.answers_left(filter, policy.plan.n0, cap) == 0


@pytest.mark.parametrize("name", PLANS)
def test_the_paces_of_a_plan_are_what_the_filter_admits(name: str) -> None:
    plan = PLANS[name]()
    policy = Policy(plan)
    assert plan.paces is not None
    assert policy.answers_left(policy.new_filter(), plan.n0, 0) == plan.paces.at_n0
    assert policy.answers_left(policy.new_filter(), plan.n, 0) == plan.paces.at_n


@given(st.integers(0, 2**UNIT_BITS), st.integers(200, 2000), st.integers(1, 50))
def test_it_fits_at_the_round_that_is_named_and_not_just_before(
    share: int, round: int, count: int
) -> None:
    policy = Policy(adaptive_plan())
    filter = policy.new_filter()
    filter.charge(200, policy.budget * share >> UNIT_BITS)
    found = policy.fits_at(filter, round, count)
    charge = policy.mechanism.charge
    if found is None:
        assert not filter.admits(2000, count * charge(2000))
        return
    assert round <= found <= 2000
    assert filter.admits(found, count * charge(found))
    assert found == round or not filter.admits(found - 1, count * charge(found - 1))


@given(
    st.lists(st.integers(0, 3), max_size=30),
    st.sampled_from((200, 800, 1400, 2000)),
    st.integers(1, 6),
)
def test_fits_at_names_the_first_scheduled_round(order: list[int], round: int, count: int) -> None:
    policy = Policy(batch_plan())
    filter = policy.new_filter()
    for which in order:
        t = policy.rounds[which]
        if filter.admits(t, policy.mechanism.charge(t)):
            filter.charge(t, policy.mechanism.charge(t))
    fitting = [
        t
        for t in policy.rounds
        if t >= round and filter.admits(t, count * policy.mechanism.charge(t))
    ]
    assert policy.fits_at(filter, round, count) == (fitting[0] if fitting else None)
