"""Tables of predictions by brute force (Surprise, section 3e): every outcome of a small table.

Full coverage has exact tails, and less has Chernoff's bound at the lower end of a cell of records.
"""

from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from types import SimpleNamespace

import pytest

from surehold.mechanisms.outcomes.base import Claim, Expectation, Past
from surehold.mechanisms.outcomes.rates import RateAsking

BETA, ONE = Fraction(1, 2), Fraction(1)
NOTHING, DOUBT = Fraction(0), Fraction(1, 20)
FINE = Expectation.of(None, "0.02", None)


def reported(t: int, rounds: str, spent: int = 0) -> dict[tuple[int, int], tuple[Fraction, ...]]:
    """The interval that a table gets which covers m of t records and is right on s of them."""
    asking = RateAsking("rate(a, b)", FINE, (), NOTHING, ONE, 0, is_coverage=True)
    claim = Claim(BETA, 1, 1, ONE, spent, rounds, t, t)
    menu = asking.menu(Past(t, claim, None, None, DOUBT))
    found = {}
    for m in range(t + 1):
        for s in range(m + 1):
            exact = [SimpleNamespace(numerators=(n,), denominator=t) for n in (s, m)]
            body = asking.report(menu, claim, t, asking.outcome(menu, claim, t, exact)).body
            found[m, s] = tuple(Fraction(str(end)) for end in body["interval"])
    return found


def critical(intervals) -> set[Fraction]:
    """Means at which a miss is most probable: just outside of an end."""
    beside = (-Fraction(1, 10**9), Fraction(1, 10**9))
    ends = {end + step for pair in intervals.values() for end in pair for step in beside}
    return {p for p in ends if 0 <= p <= 1}


@pytest.mark.parametrize(("rounds", "allowed"), [("once", BETA), ("both", BETA / 2)])
@pytest.mark.parametrize("coverage", ["1/2", "9/10", "1"])
def test_intervals_miss_no_more_often_than_they_may(rounds, allowed, coverage):
    t, c = 7, Fraction(coverage)
    intervals = reported(t, rounds)
    for p in critical(intervals):
        chance = Fraction(0)
        for (m, s), (low, high) in intervals.items():
            if not low <= p <= high:
                covered = comb(t, m) * c**m * (1 - c) ** (t - m)
                chance += covered * comb(m, s) * p**s * (1 - p) ** (m - s)
        assert chance <= allowed


def test_a_sharper_level_is_caught():
    """The same sum finds intervals that are too narrow for what was spent."""
    t, narrow = 7, reported(7, "once")
    worst = max(
        sum(
            comb(t, s) * p**s * (1 - p) ** (t - s)
            for s in range(t + 1)
            if not narrow[t, s][0] <= p <= narrow[t, s][1]
        )
        for p in critical(narrow)
    )
    assert BETA / 2 < worst <= BETA  # so it would not do with half of the level


def test_they_hold_for_these_ids_too():
    """With ids fixed each record is right with a probability of its own; the mean of all counts."""
    grid = [Fraction(p, 100) for p in (0, 1, 10, 50, 90, 99, 100)]
    t = 5
    intervals = reported(t, "once")
    for m in range(1, t + 1):
        for chances in combinations_with_replacement(grid, m):
            law = [Fraction(1)]
            for q in chances:
                missed, hit = [*law, 0], [0, *law]
                law = [a * (1 - q) + b * q for a, b in zip(missed, hit, strict=True)]
            p = sum(chances) / m
            outside = (
                chance
                for s, chance in enumerate(law)
                if not intervals[m, s][0] <= p <= intervals[m, s][1]
            )
            assert sum(outside, Fraction(0)) <= BETA
