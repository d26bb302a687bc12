"""The theorem by brute force: all analysts of small worlds, in exact fractions.

An analyst chooses, at every past, what to ask, with which weights, and what to claim. The best one
is found by recursion over everything that can be chosen. Each check is also run with a rule broken,
and must then find an analyst that misses more often than beta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb, factorial, floor, lcm, prod

import pytest

from surehold.theory.surprise.claims.base import Statistic, rejects
from surehold.theory.surprise.claims.betting import BettingMixture
from surehold.theory.surprise.claims.binomial import BinomialTail
from surehold.theory.surprise.claims.mixtures import CentredMixture, HalfMixture
from surehold.theory.surprise.ends import lower_end
from surehold.theory.surprise.intervals import fraction_interval
from surehold.theory.surprise.levels import Level, claim_level, question_levels
from surehold.theory.surprise.menus.cells import Cell, Grid
from surehold.theory.surprise.menus.numbers import expected_menu, known_menu, plain_menu
from surehold.theory.surprise.menus.verdicts import expected_gate
from surehold.theory.surprise.prices import price

Weights = tuple[tuple[Fraction, Fraction], ...]

HALVES = ((Fraction(1, 2), Fraction(1, 2)),)
WEIGHTS: Weights = (
    *HALVES,
    (Fraction(1, 3), Fraction(2, 3)),
    (Fraction(2, 3), Fraction(1, 3)),
    (Fraction(1, 4), Fraction(3, 4)),
    (Fraction(3, 4), Fraction(1, 4)),
)


def subsets(mask: int) -> Iterator[int]:
    """All subsets of a set of bits but the empty one, the set itself first."""
    part = mask
    while part:
        yield part
        part = (part - 1) & mask


# --------------------------------------------------------- any events, any maps: the theorem itself


def largest_miss(
    chances: tuple[int, ...],
    beta: Fraction,
    depth: int,
    *,
    weights: Weights = WEIGHTS,
    counts_spent: bool = True,
    shares_add_up: bool = True,
) -> Fraction:
    """The largest probability that a claim misses, over all analysts that take ``depth`` steps.

    A world is a list of chances of possible records, as whole numbers to be divided by their sum.
    At a past, of which only the records that fit and have not missed yet matter, a step either
    claims any event A with Pr[A] <= beta v W, or asks any question of two outcomes. Outcomes of
    three and more are asked in several steps.
    """

    @cache
    def chance(mask: int) -> int:
        return sum(x for i, x in enumerate(chances) if mask >> i & 1)

    # Weights so far are whole numbers over ``unit``, which every product of them divides.
    unit = lcm(*(w.denominator for pair in weights for w in pair)) ** depth

    @cache
    def level(share: Fraction, weight: int) -> int:
        return floor(beta * share * (Fraction(weight, unit) if counts_spent else 1) * total)

    @cache
    def best(alive: int, weight: int, left: Fraction, steps: int) -> int:
        if not steps or not alive:
            return 0
        found = 0
        for share in {left, left / 2} - {Fraction(0)}:
            most = level(share, weight)
            rest = left - share if shares_add_up else left
            for event in subsets(alive):
                if chance(event) <= most:
                    later = best(alive & ~event, weight, rest, steps - 1)
                    found = max(found, chance(event) + later)
        if steps == 1:  # the answer to a question would come too late for a claim
            return found
        for one, two in pairs:
            one, two = weight * one // unit, weight * two // unit
            for part in subsets(alive):
                other = alive & ~part
                if other:
                    later = best(part, one, left, steps - 1) + best(other, two, left, steps - 1)
                    found = max(found, later)
        return found

    pairs = [(int(one * unit), int(two * unit)) for one, two in weights]
    total = sum(chances)
    return Fraction(best((1 << len(chances)) - 1, unit, Fraction(1), depth), total)


COINS = (1,) * 8
UNEVEN = (1, 2, 3, 5, 6, 7)
WORLDS = pytest.mark.parametrize(
    ("chances", "beta", "depth"),
    [
        (COINS, Fraction(1, 2), 3),
        (COINS, Fraction(1, 4), 3),
        (UNEVEN, Fraction(1, 4), 4),
        (UNEVEN, Fraction(1, 3), 4),
    ],
)


@WORLDS
def test_no_analyst_misses_more_often_than_beta(chances, beta, depth):
    worst = largest_miss(chances, beta, depth)
    assert 0 < worst <= beta


@WORLDS
def test_ignoring_what_was_spent_is_caught(chances, beta, depth):
    assert largest_miss(chances, beta, depth, counts_spent=False) > beta


@WORLDS
def test_weights_beyond_1_are_caught(chances, beta, depth):
    beyond = ((Fraction(1), Fraction(1)),)
    assert largest_miss(chances, beta, depth, weights=beyond) > beta


@WORLDS
def test_shares_beyond_1_are_caught(chances, beta, depth):
    assert largest_miss(chances, beta, depth, shares_add_up=False) > beta


# ------------------------------------------------------------------------------------------- blocks

SIDE = 3  # two records, each one of three equally likely values
POINTS = [(one, two) for one in range(SIDE) for two in range(SIDE)]


def mask_of(points: set[tuple[int, int]]) -> int:
    return sum(1 << i for i, point in enumerate(POINTS) if point in points)


SECOND_ONLY = [
    mask_of({point for point in POINTS if point[1] in chosen})
    for n in range(1, SIDE)
    for chosen in combinations(range(SIDE), n)
]
FIRST_ONLY = [
    mask_of({point for point in POINTS if point[0] in chosen})
    for n in range(1, SIDE)
    for chosen in combinations(range(SIDE), n)
]


def largest_miss_with_blocks(
    beta: Fraction, depth: int, u: tuple[Fraction, Fraction], *, one_share: bool = False
) -> Fraction:
    """As above for two records, and the second one as a block of its own.

    A claim about the block pays only for steps that read the second record. With ``one_share`` the
    analyst has one claim in all, and chooses its block when it is made.
    """
    size = len(POINTS)
    unit = 6**depth  # weights so far are whole numbers over it: all are halves and thirds

    @cache
    def level(block: int, spent: int) -> int:
        return floor(beta * u[block] * Fraction(spent, unit) * size)

    @cache
    def best(alive: int, spent: tuple[int, int], left: tuple[bool, bool], steps: int) -> int:
        if not steps or not alive:
            return 0
        found = 0
        for block, events in enumerate((subsets(alive), SECOND_ONLY)):
            if not left[block]:
                continue
            rest = (False, False) if one_share else (left[0] and block != 0, left[1] and block != 1)
            most = level(block, spent[block])
            for event in events:
                if event.bit_count() <= most:
                    later = best(alive & ~event, spent, rest, steps - 1)
                    found = max(found, (event & alive).bit_count() + later)
        if steps == 1:  # the answer to a question would come too late for a claim
            return found
        for reads_second, maps in ((False, FIRST_ONLY), (True, list(subsets(alive)))):
            for pair in WEIGHTS[:3]:
                one, two = (
                    (int(spent[0] * w), int(spent[1] * w) if reads_second else spent[1])
                    for w in pair
                )
                for part in maps:
                    inside, outside = alive & part, alive & ~part
                    if inside and outside:
                        later = best(inside, one, left, steps - 1)
                        found = max(found, later + best(outside, two, left, steps - 1))
        return found

    return Fraction(best((1 << size) - 1, (unit, unit), (True, True), depth), size)


@pytest.mark.parametrize("beta", [Fraction(2, 3), Fraction(1, 3)])
def test_blocks_with_weights_hold(beta):
    half = (Fraction(1, 2), Fraction(1, 2))
    assert largest_miss_with_blocks(beta, 3, half) <= beta
    assert largest_miss_with_blocks(beta, 3, (Fraction(2, 3), Fraction(1, 3))) <= beta


@pytest.mark.parametrize("beta", [Fraction(2, 3), Fraction(1, 3)])
def test_a_free_choice_of_the_block_is_caught(beta):
    """Even of one claim in all, with all of beta: without u it is false (Surprise, section 3f)."""
    free = (Fraction(1), Fraction(1))
    assert largest_miss_with_blocks(beta, 3, free, one_share=True) > beta


def test_the_example_of_a_free_choice():
    """Level 0.2 each way gives 0.28."""
    beta, weight = Fraction(1, 5), Fraction(1, 2)
    first_misses = beta * weight  # a claim about all records, after an outcome of weight 1/2
    assert first_misses + (1 - first_misses) * beta == Fraction(28, 100)


# --------------------------------------------------- the product's own menus, prices and intervals

TYPES = [(a, b) for a in (0, 1) for b in (0, 1)]
QUESTIONS: dict[str, Callable[[int, int], int]] = {
    "a": lambda a, b: a,
    "b": lambda a, b: b,
    "both": lambda a, b: a & b,
    "differ": lambda a, b: a ^ b,
}
MENUS = {
    "halves": plain_menu(Fraction(1, 4)),
    "fine": plain_menu(Fraction(1, 14)),
    "guess": expected_menu(Fraction(1, 2), Fraction(1, 5), Fraction(1, 4)),
    "doubt": expected_menu(Fraction(1), Fraction(1, 5), Fraction(3, 4)),
}
GATES = {
    "low gate": expected_gate(Fraction(2, 5), "undecided", Fraction(1, 4)),
    "high gate": expected_gate(Fraction(3, 4), None, Fraction(1, 4)),
}
T = 6


def samples(law: tuple[Fraction, ...]) -> list[tuple[tuple[int, ...], Fraction]]:
    """All counts of the four types of record in T of them, with their chances."""
    found = []
    for ends in combinations(range(T + 3), 3):
        cut = (-1, *ends, T + 3)
        counts = tuple(cut[i + 1] - cut[i] - 1 for i in range(4))
        ways = factorial(T) // prod(map(factorial, counts))
        found.append((counts, ways * prod(p**n for p, n in zip(law, counts, strict=True))))
    return [(counts, chance) for counts, chance in found if chance]


@cache
def interval_of(low: Fraction, high: Fraction, closed: bool, level: Level):
    return fraction_interval(Cell(low, high, closed), T, level)


class Product:
    """All analysts that ask questions of the product, each with an equal share, up to a depth."""

    def __init__(self, law: tuple[Fraction, ...], beta: Fraction, depth: int) -> None:
        self.law, self.beta, self.depth = law, beta, depth
        self.truth = {
            name: sum((p for p, bits in zip(law, TYPES, strict=True) if q(*bits)), Fraction(0))
            for name, q in QUESTIONS.items()
        }

    def count(self, question: str, counts: tuple[int, ...]) -> int:
        q = QUESTIONS[question]
        return sum(n for n, bits in zip(counts, TYPES, strict=True) if q(*bits))

    def worst(self) -> Fraction:
        return self.best(samples(self.law), {}, {}, 0, self.depth)

    def best(self, alive, levels, known, spent, steps) -> Fraction:
        if not steps or not alive:
            return Fraction(0)
        return max(
            self.after(alive, levels, known, spent, steps, question, menu)
            for question in QUESTIONS
            for menu in (*MENUS, *GATES)
        )

    def after(self, alive, levels, known, spent, steps, question, menu) -> Fraction:
        """The chance of a miss from here on, if this is asked now."""
        if question not in levels:
            level = claim_level(self.beta, Fraction(1, self.depth), spent)
            levels = levels | {question: question_levels(level, "once").first}
        level = levels[question]
        groups: dict[object, list] = {}
        for counts, chance in alive:
            outcome = self.outcome(question, menu, known, counts, level)
            groups.setdefault(outcome, []).append((counts, chance))
        total = Fraction(0)
        for (weight, cell, verdict), group in groups.items():
            if self.misses(question, menu, cell, verdict, level):
                total += sum(chance for _, chance in group)
            else:
                seen = known if cell is None else known | {question: cell}
                total += self.best(group, levels, seen, spent + price(weight), steps - 1)
        return total

    def outcome(self, question, menu, known, counts, level):
        count = self.count(question, counts)
        if menu in GATES:
            verdict = GATES[menu].outcome(BinomialTail(count, T), level)
            return GATES[menu].weight(verdict), None, verdict
        found = MENUS[menu]
        if question in known:
            found = known_menu(Grid.plain(Fraction(1, 14)), known[question])
        k = found.outcome(Fraction(count, T))
        return found.weight(k), found.cell(k), None

    def misses(self, question, menu, cell, verdict, level) -> bool:
        p = self.truth[question]
        if cell is not None:
            interval = interval_of(cell.low, cell.high, cell.closed, level)
            return not interval.low <= p <= interval.high
        threshold = GATES[menu].threshold
        return (verdict == "pass" and p < threshold) or (verdict == "fail" and p >= threshold)


@pytest.mark.parametrize(
    "law",
    [
        ("1/4", "1/4", "1/4", "1/4"),
        ("3/5", "1/5", "1/5", "0"),
        ("2/5", "1/10", "1/10", "2/5"),
        ("1/20", "3/10", "2/5", "1/4"),
    ],
)
def test_no_analyst_of_the_product_misses_more_often_than_beta(law):
    fractions = tuple(Fraction(p) for p in law)
    beta = Fraction(9, 10)  # so that misses are possible with six records at all
    assert 0 < Product(fractions, beta, 2).worst() <= beta


# ------------------------------------------------- what the theorem can't do without, at full size


@pytest.mark.parametrize("candidates", [4, 30])
def test_the_index_of_a_claim_that_misses(candidates):
    """Remark (v): report which of m columns misses, and claim that one. It costs ln m exactly.

    The columns are independent, and their p is the one at which a miss is as likely as allowed.
    """
    beta, t, count = Fraction(1, 10), 200, 120

    def probability(level: Level) -> Fraction:
        """Of a miss of the column that is reported to miss at this level, if there is one."""
        p = lower_end(BinomialTail(count, t), level)
        assert rejects(BinomialTail(count, t), p, level)
        assert not rejects(BinomialTail(count - 1, t), p, level)
        tail = sum(comb(t, k) * p**k * (1 - p) ** (t - k) for k in range(count, t + 1))
        return 1 - (1 - tail) ** candidates

    honest = claim_level(beta, Fraction(1), price(Fraction(1, candidates)))
    assert beta * Fraction(9, 10) < probability(honest) <= beta
    ignored = claim_level(beta, Fraction(1), 0)
    assert probability(ignored) > 2 * beta


def crossing(
    make: Callable[[int, int], Statistic], p: Fraction, level: Level, rounds: range
) -> Fraction:
    """The exact probability that a claim rejects the true p at one of the rounds."""
    paths, crossed = {0: Fraction(1)}, Fraction(0)
    for t in range(1, rounds.stop):
        longer: dict[int, Fraction] = {}
        for count, chance in paths.items():
            longer[count] = longer.get(count, Fraction(0)) + chance * (1 - p)
            longer[count + 1] = longer.get(count + 1, Fraction(0)) + chance * p
        paths = longer
        if t in rounds:
            for count in [count for count in paths if rejects(make(count, t), p, level)]:
                crossed += paths.pop(count)
    return crossed


ROUNDS = range(10, 121)
TRUTHS = pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(17, 20)])


@TRUTHS
def test_claims_for_all_rounds_hold_at_all_rounds(p):
    beta = Fraction(1, 4)
    level = Level(1 / beta, 0)
    for make in (
        lambda count, t: CentredMixture(count, t, 1),
        lambda count, t: CentredMixture(count, t, 12),
        lambda count, t: HalfMixture(Fraction(count, t), t),
    ):
        assert beta / 20 < crossing(make, p, level, ROUNDS) <= beta


@TRUTHS
def test_a_claim_for_one_round_at_later_ones_is_caught(p):
    beta = Fraction(1, 4)
    level = Level(2 / beta, 0)  # two sides
    assert crossing(BinomialTail, p, level, range(60, 61)) <= beta
    assert crossing(BinomialTail, p, level, ROUNDS) > beta


@pytest.mark.parametrize(
    "law", [("1/3", "1/3", "1/3"), ("1/10", "4/5", "1/10"), ("1/2", "0", "1/2")]
)
def test_betting_holds_at_all_rounds(law):
    """Values 0, 1/2 and 1, as a difference of two models has them."""
    chances = tuple(Fraction(p) for p in law)
    p, beta = chances[1] / 2 + chances[2], Fraction(1, 4)
    paths, crossed, level = {(0, 0, 0): Fraction(1)}, Fraction(0), Level(1 / beta, 0)
    for _ in range(16):
        longer: dict[tuple[int, ...], Fraction] = {}
        for counts, chance in paths.items():
            for k, q in enumerate(chances):
                if q:
                    more = tuple(n + (i == k) for i, n in enumerate(counts))
                    longer[more] = longer.get(more, Fraction(0)) + chance * q
        paths = longer
        for counts in list(paths):
            values = {Fraction(k, 2): n for k, n in enumerate(counts) if n}
            if rejects(BettingMixture.of(values), p, level):
                crossed += paths.pop(counts)
    assert beta / 20 < crossed <= beta
