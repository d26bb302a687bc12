"""The promise by brute force: every dataset of a few records, through real sessions.

What an analyst is told depends on the records alone, so each dataset is played once. The chance
of any miss is then an exact sum over all datasets, for each population.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import factorial, prod
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from surehold.ledger.surprise_policy import SurprisePolicy
from surehold.session.dataset import Dataset
from surehold.session.outcomes import (
    DecisionOutcome,
    LadderOutcome,
    NumberOutcome,
    SelectionOutcome,
    TableOutcome,
)

BETA = Fraction(1, 2)  # the largest that there is: with few records less proves nothing
Values = tuple[int, ...]
Population = tuple[Fraction, ...]  # the probability of each value of x
Analyst = Callable[[sh.Session, Callable[[], None]], Iterator[Any]]


def fraction_of(values: set[int]) -> str:
    return " or ".join(f"x = {value}" for value in sorted(values)) or "x < 0"


def values_of(query: str) -> set[int]:
    """The values of x that a canonical query of these analysts is about."""
    inner = query.removeprefix("fraction(").removesuffix(")") if "fraction(" in query else query
    return {value for value in range(10) if eval(inner.replace(" = ", " == "), {"x": value})}


def share(query: str, population: Population) -> Fraction:
    return sum((population[v] for v in values_of(query) if v < len(population)), Fraction(0))


def parts_of(inside: str) -> list[str]:
    """The two parts of a query; a comma within brackets belongs to a list of values."""
    return re.split(r", (?![^(]*\))", inside)


def truth(query: str, population: Population) -> Fraction:
    name, _, inside = query.partition("(")
    inside = inside.removesuffix(")")
    if name == "fraction":
        return share(query, population)
    parts = parts_of(inside)
    first, second = (share(part, population) for part in parts)
    if name == "difference":
        return first - second
    both = values_of(parts[0]) & values_of(parts[1])
    return sum((population[v] for v in both), Fraction(0)) / second


def misses(told: Any, population: Population) -> bool:
    """Whether what was told is wrong of this population."""
    match told:
        case NumberOutcome():
            if told.value is None:
                return False
            number = truth(told.query, population)
            return not Fraction(told.low) <= number <= Fraction(told.high)
        case DecisionOutcome():
            inner = told.query.removeprefix("gate(").rpartition(", at_")[0]
            is_there = truth(inner, population) >= Fraction(str(told.limit))
            return told.verdict == ("fail" if is_there else "pass")
        case SelectionOutcome():
            listed = told.query.removesuffix(")").split(", ")[2:]
            means = [share(one, population) for one in listed]
            return max(means) - means[told.index] > Fraction(told.width)
        case TableOutcome():
            cells = zip(told.cells, (population[0], 1 - population[0], 0), strict=True)
            return any(not c.interval[0] <= p <= c.interval[1] for c, p in cells if c.interval)
        case LadderOutcome():
            return False  # it claims nothing
        case _:
            raise AssertionError(told)


# ------------------------------------------------------------------------------- analysts


def curious(session: sh.Session, grow: Callable[[], None]) -> Iterator[Any]:
    """Uses everything there is, and lets what comes out decide what comes next."""
    session.register(["x = 2"])
    yield (first := session.ask("x = 0"))
    guess = "0.9" if first.value > 0.5 else "0.1"
    other = "x = 1" if first.value > 0.5 else "x = 0 or x = 1"
    yield (second := session.ask(other, expect=guess, within="0.2", doubt="0.3"))
    side = "pass" if second.expected else "undecided"
    yield (verdict := session.ask(sh.gate("x = 0", at_least=0.4), expect=side))
    if verdict.verdict != "pass":
        yield session.ask("x = 0", within="0.01")
        yield session.ask("rate(x = 0, x = 0 or x = 2)")
    yield session.ask("select(highest, 3, x = 0, x = 1, x = 2)")
    grow()
    yield (later := session.ask("x = 0"))
    yield session.ask("x = 2", expect=str(1 - later.value)[:4])
    yield session.ask(sh.gate(other, at_most=0.5), expect="not pass")
    yield session.ask("difference(x = 0, x = 1)")
    yield session.ask(sh.gate("difference(x = 0, x = 2)", at_least=0))
    if later.expected:
        yield session.ask("histogram(x = 0)")


def greedy(session: sh.Session, grow: Callable[[], None]) -> Iterator[Any]:
    """Learns which values occur, which claims nothing, and then claims that they are all."""
    seen = set()
    for value in range(8):
        told = session.ask(f"difference(x = {value}, x < 0)", expect="no", within="0.25")
        if told.steps:
            seen.add(value)
    yield session.ask(fraction_of(seen))


def play(folder: Path, analyst: Analyst, first: Values, rest: Values = ()) -> list[Any]:
    with sh.create(folder, beta=BETA, claims=1, columns={"x": "int"}) as dataset:
        append(dataset, first)
        told = list(analyst(dataset.session("ann"), lambda: append(dataset, rest)))
        dataset.verify()
    return told


def append(dataset: Dataset, values: Values) -> None:
    dataset.append([{"x": value} for value in values])


def probability(population: Population, *parts: Values) -> Fraction:
    """That each part of the records has these values, in any order."""
    found = Fraction(1)
    for values in parts:
        counts = [values.count(value) for value in range(len(population))]
        ways = factorial(len(values)) // prod(map(factorial, counts))
        found *= ways * prod(p**count for p, count in zip(population, counts, strict=True))
    return found


def populations(steps: int = 12) -> list[Population]:
    """All laws of three values on a grid."""
    return [
        (Fraction(a, steps), Fraction(b, steps), Fraction(steps - a - b, steps))
        for a in range(1, steps - 1)
        for b in range(1, steps - a)
    ]


def test_no_more_than_beta_miss_whatever_the_population(tmp_path: Path) -> None:
    """Of three values: 10 datasets of three records, each with 6 that grow by two."""
    datasets = [
        (first, rest)
        for first in combinations_with_replacement(range(3), 3)
        for rest in combinations_with_replacement(range(3), 2)
    ]
    told = {parts: play(tmp_path / str(i), curious, *parts) for i, parts in enumerate(datasets)}
    worst = Fraction(0)
    for population in populations():
        assert sum(probability(population, *parts) for parts in datasets) == 1
        missed = sum(
            probability(population, *parts)
            for parts in datasets
            if any(misses(one, population) for one in told[parts])
        )
        worst = max(worst, Fraction(missed))
    assert 0 < worst <= BETA  # some do miss


# One dataset of four records for each way in which values may be equal; others are the same but for
# names, and this analyst treats all names alike.
PATTERNS = {(0, 0, 0, 0): 8, (0, 0, 0, 1): 8 * 7, (0, 0, 1, 1): 8 * 7 // 2}
PATTERNS |= {(0, 0, 1, 2): 8 * 7 * 6 // 2, (0, 1, 2, 3): 8 * 7 * 6 * 5 // 24}
EVEN: Population = (Fraction(1, 8),) * 8


def chance_that_greed_misses(tmp_path: Path) -> Fraction:
    assert sum(n * probability(EVEN, values) for values, n in PATTERNS.items()) == 1
    return sum(
        (
            n * probability(EVEN, values)
            for i, (values, n) in enumerate(PATTERNS.items())
            if any(misses(one, EVEN) for one in play(tmp_path / str(i), greedy, values))
        ),
        Fraction(0),
    )


def test_what_was_learned_is_paid_for(tmp_path: Path) -> None:
    assert chance_that_greed_misses(tmp_path) <= BETA


def test_without_that_it_would_miss_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the two tests above can fail."""
    real = SurprisePolicy.next_claim

    def forgetful(self: SurprisePolicy, book: Any, spent: int, *rest: Any) -> Any:
        return real(self, book, 0, *rest)

    monkeypatch.setattr(SurprisePolicy, "next_claim", forgetful)
    assert chance_that_greed_misses(tmp_path) == Fraction(151, 256) > BETA  # three values or fewer
