"""Coverage under attack, class by class: tables, differences, derived answers, pairs.

On real datasets that grow meanwhile, through plans and sessions, files and all, by the analysts of
:mod:`attacks`. Under noise every claim of an analysis is right, together with all others, at least
as often as its plan promised, by an exact (Clopper-Pearson) bound: 9 analyses without a failure
say that one fails with probability 0.283 at most, where beta = 0.3 is allowed. They can say no more
than that. Exact answers fail the same check each time.

What is exact answers' undoing is always remembering. Voting alone would need more queries than
records (test_adaptive_attack.py), and for statistics of pairs some hundred thousands of either.
Models, selections and fits are in test_model_attacks.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import surehold as sh
from support.attacks import MEAN_DIGIT, Analysis, Attack, World, check_fails, check_holds

HALF = 0.5


# --------------------------------------------------------------------------------- tables


def by_tables(run: Analysis) -> None:
    """Votes by crosstabs of a sign and the label, remembers by totals of sections."""
    world, tally = run.world, run.tally
    names, weights = world.listed("x", world.signs), []
    for n, listed in ((400, names[:12]), (450, names[12:24])):
        run.grow(n)
        tables = run.ask(*(sh.histogram(f"({x} > 0) in (true)", "y in (true)") for x in listed))
        for table in tables:
            tally.table(table, [0.25] * 4)
            both, only_sign, only_label, neither = (cell.value for cell in table)
            weights.append(both + neither - only_sign - only_label)
    run.grow(500)
    # Tables are cheap for their number of answers: what is left of the budget goes into the rest.
    weights += run.regressed("case when y then 1 else -1 end", names[24:], price=150)
    [totals] = run.ask(sh.totals("digit", 0, 1, by=world.by_section))
    tally.table(totals, [*[MEAN_DIGIT / world.sections] * world.sections, 0.0])
    cells = world.remembered(cell.value * run.n for cell in totals.cells[:-1])
    among, share = world.among(cells), world.share(cells)
    vote = f"({world.weighted(names, weights)} > 0) = y"
    for way in ("0.01", "0.11", "0.21"):
        [answer, table, by_label] = run.ask(
            sh.fraction(f"{among} > {way}"),
            sh.histogram(f"({among} > {way}) in (true)", f"({vote}) in (true)"),
            sh.totals(f"{among} + {way}", 0, 1, by=["y"]),
        )
        tally.number(answer, share)
        tally.table(table, [share / 2] * 2 + [(1 - share) / 2] * 2)
        mean = share + (1 - share) * float(way)  # what is more than 1 is cut off
        tally.table(by_label, [mean / 2, mean / 2, 0.0])
    [answer] = run.ask(sh.fraction(vote))
    tally.number(answer, HALF)


# ---------------------------------------------------------------------------- differences


def by_differences(run: Analysis) -> None:
    """Votes and remembers by differences, of fractions and of means."""
    world, tally = run.world, run.tally
    names, weights = world.listed("x", world.signs), []
    for n, listed in ((400, names[:24]), (450, names[24:])):
        run.grow(n)
        answers = run.ask(*(sh.difference(f"({x} > 0) = y", f"({x} > 0) <> y") for x in listed))
        for answer in answers:
            tally.number(answer, 0.0)
            weights.append(answer.value)
    run.grow(500)
    none = sh.mean("0", 0, 1)
    sections = [sh.mean(world.of_section(s), 0, 1) for s in range(world.sections)]
    answers = run.ask(*(sh.difference(section, none) for section in sections))
    for answer in answers:
        tally.number(answer, MEAN_DIGIT / world.sections)
    cells = world.remembered(answer.value * run.n for answer in answers)
    among, share = world.among(cells), world.share(cells)
    vote = world.weighted(names, weights)
    for way in range(4):
        known = f"{among} > 0.{way}1"
        [answer, voted] = run.ask(
            sh.difference(known, f"not ({known})"),
            sh.difference(f"({vote} > 0.00{way}) = y", f"({vote} > 0.00{way}) <> y"),
        )
        tally.number(answer, 2 * share - 1)
        tally.number(voted, 0.0)


# -------------------------------------------------------------------- rates, means, gates


def by_derived(run: Analysis) -> None:
    """Votes by rates, remembers by what means by group are worked out from, then asks gates."""
    world, tally = run.world, run.tally
    names, weights = world.listed("x", world.signs), []
    for n, listed in ((400, names[:8]), (450, names[8:16])):
        run.grow(n)
        for estimate in run.ask(*(sh.rate(f"{x} > 0", given="y") for x in listed)):
            tally.number(estimate, HALF)
            weights.append((estimate.value or HALF) - HALF)
    run.grow(500)
    weights += run.regressed("case when y then 1 else -1 end", names[16:], price=180)
    [means] = run.ask(sh.means("digit", 0, 1, by=world.by_section))
    tally.table(means, [*[MEAN_DIGIT] * world.sections, None])  # nobody is in the cell "other"
    totals = run.session.ask(sh.totals("digit", 0, 1, by=world.by_section))
    assert totals.recorded
    cells = world.remembered(cell.value * run.n for cell in totals.cells[:-1])
    share = world.share(cells)
    among, most = world.among(cells), "u < 0.95"
    known, vote = f"{among} > 0.5", f"({world.weighted(names, weights)} > 0) = y"
    rates = [
        (sh.rate(known, given=most), share),
        (sh.rate(among, given=most, low=0, high=2), share),
        (sh.rate(vote, given=most), HALF),
        (sh.rate("u", given=most, low=0, high=1), 0.475),
    ]
    for rate, population in rates:
        [estimate] = run.ask(rate)
        tally.number(estimate, population)
    limit = 0.5 * (share + 0.5)
    gates = [
        (sh.gate(known, at_least=limit), share),
        (sh.gate(known, at_most=limit), share),
        (sh.gate(rates[0][0], at_least=limit), share),
        (sh.gate(vote, at_least=0.51), HALF),
        (sh.gate(most, at_least=0.4), 0.95),
        (sh.gate(f"not ({most})", at_most=0.6), 0.05),
        (sh.gate(f"not ({most})", at_least=0.6), 0.05),
    ]
    for gate, population in gates:
        [verdict] = run.ask(gate)
        tally.verdict(verdict, population)


# ---------------------------------------------------------------------------------- pairs


def by_pairs(run: Analysis) -> None:
    """Adds up the numbers that seem to rank the labels, and remembers by regression.

    A number that has nothing to do with a fair label ranks p (1 - p) / 2 = 1/8 of the ordered pairs
    rightly. Of a set with the share s of the population the variance is s (1 - s), and so on: near
    0 for half of the occupied cells, where the sample has 1/4, the most that there can be. As that
    is little beside the width, this needs many cells and few answers.
    """
    world, tally = run.world, run.tally
    names, weights = world.listed("v", world.numbers), []
    for n, listed in ((800, names[:2]), (900, names[2:])):
        run.grow(n)
        for answer in run.ask(*(sh.auc_pairs(v, "y") for v in listed)):
            tally.number(answer, 1 / 8)
            weights.append(answer.value - 1 / 8)
    run.grow(1000)
    cells = [cell for cell in run.recalled() if cell < world.cells // 2]
    among, share = world.among(cells), world.share(cells)
    within = share * (1 - share)
    total = world.weighted(names, weights)
    asked = [
        (sh.auc_pairs(total, "y"), 1 / 8),
        (sh.concordance(total, "case when y then 1 else 0 end"), 1 / 4),
        (sh.auc_pairs(f"floor(3 * ({total}))", "y"), 1 / 8),  # ties count one half
        (sh.auc(total, target="y"), HALF),
        (sh.kendall(total, "u"), 0.0),
        (sh.auc_pairs(among, f"{among} > 0.5"), within),
        (sh.variance(among, 0, 1), within),
        (sh.gini(among, 0, 1), 2 * within),
        (sh.concordance(among, f"{among} + 0.5"), 2 * within),
        (sh.kendall(among, f"{among} - 0.5"), 2 * within),
    ]
    for query, population in asked:
        [answer] = run.ask(query)
        tally.number(answer, population)


# ------------------------------------------------------------------------------------ tests

ATTACKS = {
    "tables": Attack(World(120, signs=64), 400, 500, 242, by_tables),
    "differences": Attack(World(100, signs=48), 400, 500, 176, by_differences),
    "derived": Attack(World(100, signs=64), 400, 500, 230, by_derived),
    "pairs": Attack(World(480, numbers=4), 800, 1000, 20, by_pairs),
}
each_attack = pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)


@each_attack
def test_answers_hold_under_attack(attack: Attack, tmp_path: Path) -> None:
    tallies = attack.with_noise(tmp_path)
    check_holds(tallies)
    assert not any(tally.missed for tally in tallies)


@each_attack
def test_exact_answers_fail_under_the_same_attack(attack: Attack, tmp_path: Path) -> None:
    check_fails(attack.without_noise(tmp_path))


def test_gates_do_decide(tmp_path: Path) -> None:
    """They hold not merely because they say nothing."""
    tallies = ATTACKS["derived"].with_noise(tmp_path, repeats=2)
    assert all(tally.decided >= 1 for tally in tallies)
