"""Menus: weights add up to at most 1 and are positive for every outcome that can come."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import hypothesis.strategies as st
import pytest
from hypothesis import assume, example, given, settings

from support.soak import length
from surehold.errors import InvalidInput
from surehold.theory.surprise.claims.binomial import BinomialTail
from surehold.theory.surprise.claims.mixtures import CentredMixture
from surehold.theory.surprise.levels import Level
from surehold.theory.surprise.menus.cells import Cell, Grid, half_cell, radius
from surehold.theory.surprise.menus.lengths import MODEL_DIFFERENCE, EndsMenu, ends_menu
from surehold.theory.surprise.menus.numbers import (
    NumberMenu,
    again_menu,
    expected_menu,
    known_menu,
    learned_doubt,
    plain_menu,
)
from surehold.theory.surprise.menus.records import ALL, RecordMenu, likely_cells
from surehold.theory.surprise.menus.tables import TableMenu
from surehold.theory.surprise.menus.verdicts import (
    ONE_SIDED,
    TWO_SIDED,
    GateMenu,
    ImprovementMenu,
    SelectionMenu,
    expected_gate,
    gate_menu,
)
from surehold.theory.surprise.prices import UNITS

quick = partial(settings, deadline=None, derandomize=True, max_examples=80)
means = st.fractions(0, 1, max_denominator=500)
halves = st.fractions(Fraction(1, 200), 2, max_denominator=400)
doubts = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)


def grids(draw):
    e = draw(halves)
    return Grid.plain(e) if draw(st.booleans()) else Grid.around(draw(means), e)


@st.composite
def menus(draw) -> NumberMenu:
    """Any menu for a number, also one at a round at which something is known."""
    kind = draw(st.sampled_from(["plain", "expected", "again", "known"]))
    if kind == "plain":
        return plain_menu(draw(halves))
    if kind == "expected":
        return expected_menu(draw(means), draw(halves), draw(doubts))
    known = plain_menu(draw(halves)).cell(0)
    for _ in range(draw(st.integers(0, 2))):
        earlier = known_menu(grids(draw), known)
        known = earlier.cell(draw(st.integers(earlier.first, earlier.last)))
    if kind == "again":
        return again_menu(known, draw(halves), draw(doubts))
    return known_menu(grids(draw), known)


@quick(max_examples=length(100, full=300))
@given(menus(), means)
@example(expected_menu(Fraction(1, 2), Fraction(1, 20), Fraction(999, 1000)), Fraction(1, 2))
def test_numbers(menu, x):
    numbers = range(menu.first, menu.last + 1)
    assert sum(menu.weight(k) for k in numbers) <= 1
    assert min(menu.weight(k) for k in numbers) > 0
    assert menu.heaviest == max(menu.weight(k) for k in numbers)
    assert menu.lightest == min(menu.weight(k) for k in numbers)
    if menu.doubt is None:
        assert sum(menu.weight(k) for k in numbers) == 1
    if menu.known is None or x in menu.known:
        k = menu.outcome(x)
        assert k in numbers
        assert x in menu.cell(k)
        assert [j for j in numbers if x in menu.cell(j)] == [k]
    else:
        with pytest.raises(InvalidInput, match="x must be a mean that the past allows"):
            menu.outcome(x)
    assert NumberMenu.from_dict(json.loads(json.dumps(menu.to_dict()))) == menu


@quick()
@given(menus())
def test_cells_cover_what_is_known_and_nothing_else(menu):
    whole = menu.known or Cell(Fraction(0), Fraction(1), closed=True)
    cells = [menu.cell(k) for k in range(menu.first, menu.last + 1)]
    assert cells[0].low == whole.low
    assert (cells[-1].high, cells[-1].closed) == (whole.high, whole.closed)
    for one, two in pairwise(cells):
        assert one.high == two.low
        assert not one.closed
        assert one.meet(two) is None


@quick()
@given(means, means, st.booleans(), st.integers(1, 60))
def test_counts_of_a_cell(one, two, closed, t):
    low, high = sorted((one, two))
    cell = Cell(low, high, closed)
    inside = [s for s in range(t + 1) if Fraction(s, t) in cell]
    least, most = cell.counts(t)
    assert list(range(least, most + 1)) == inside
    assert Cell.from_dict(cell.to_dict()) == cell


def test_one_is_in_the_last_plain_cell_and_may_have_an_expected_cell_of_its_own():
    assert plain_menu(Fraction(1, 4)).outcome(Fraction(1)) == 1
    menu = expected_menu(Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    assert menu.outcome(Fraction(1)) == 2
    assert menu.cell(2) == Cell(Fraction(1), Fraction(1), closed=True)


def test_one_cell_is_free():
    assert plain_menu(Fraction(1, 2)).weight(0) == 1
    assert expected_menu(Fraction(1, 2), Fraction(1), Fraction(1, 2)).weight(0) == 1
    with pytest.raises(InvalidInput, match="cell must be from 0 to 0, but is 1"):
        plain_menu(Fraction(1, 2)).weight(1)


def test_which_outcomes_surprise():
    menu = expected_menu(Fraction(1, 2), Fraction(1, 100), Fraction(1, 20))
    assert [menu.is_surprise(k) for k in (-1, 0, 1)] == [True, False, True]
    assert not plain_menu(Fraction(1, 100)).is_surprise(3)


@pytest.mark.parametrize(
    ("g", "e", "d", "message"),
    [
        ("3/2", "1/100", "1/20", "expect must be from 0 to 1"),
        ("1/2", "0", "1/20", "within must be above 0"),
        ("1/2", "1/100", "0", "doubt must be strictly between 0 and 1"),
        ("1/2", "1/100", "1", "doubt must be strictly between 0 and 1"),
    ],
)
def test_expectations_that_are_none(g, e, d, message):
    with pytest.raises(InvalidInput, match=message):
        expected_menu(Fraction(g), Fraction(e), Fraction(d))


@quick()
@given(st.integers(1, 10**7), st.integers(0, 500 * 16), st.booleans(), st.sampled_from([1, 10]))
def test_the_rule_for_cells(t, sixteenths, always, tenths):
    level, spread = Level(Fraction(1680), sixteenths * UNITS // 16), Fraction(tenths, 10)
    e = half_cell(t, level, always, spread)
    limit = radius(t, level, always) * tenths / 80
    assert e <= Fraction(limit)
    following = {1: 2, 2: Fraction(5, 2), 5: 2}
    power = 10 ** -math.floor(math.log10(e) + 1e-9)
    assert e * power in following
    assert e * following[int(e * power)] > Fraction(limit)


def test_learned_doubts():
    """A thousand right guesses cost 2.3 nats, as section 4 says; d = 0.05 for ever costs 51."""
    spent = -sum(math.log(1 - learned_doubt(i, 0)) for i in range(1000))
    assert round(spent, 1) == 2.3
    assert round(-1000 * math.log(0.95)) == 51
    with pytest.raises(InvalidInput, match="surprises must be from 0 to 3, but is 4"):
        learned_doubt(3, 4)


@quick()
@given(st.integers(1, 3000), st.integers(0, 3000))
def test_record_cells(t, records):
    menu = RecordMenu(t)
    assume(records <= t)
    k = menu.outcome(records)
    assert menu.at_least(k) <= records
    assert records == t or menu.outcome(records + 1) in (k, k + 1)
    cells = {menu.outcome(m) for m in range(t + 1)}
    assert sum(menu.weight(k) for k in cells) == 1
    assert records < 8 or menu.at_least(k) > Fraction(4, 5) * records - 1
    covering = RecordMenu(t, Fraction(1, 20))
    assert covering.outcome(records) == (ALL if records == t else k)
    assert covering.at_least(covering.outcome(records)) <= records
    cells = {covering.outcome(m) for m in range(t + 1)}
    weights = [covering.weight(k) for k in cells]
    assert Fraction(19, 20) < sum(weights) <= 1
    assert covering.extremes == (max(weights), min(weights))


@quick()
@given(st.integers(1, 2000), st.integers(1, 2000), st.data())
def test_record_cells_after_growth(before, t, data):
    """The same share of the records is expected, whichever number of the cell there was."""
    records = data.draw(st.integers(0, before))
    k = RecordMenu(before).outcome(records)
    menu = RecordMenu(t, Fraction(1, 10), likely_cells(k, before, t))
    first, last = menu.likely
    scaled = (records * t // before, min(-(-records * t // before), t))
    assert all(first <= menu.outcome(one) <= last for one in scaled)
    cells = {menu.outcome(m) for m in range(t + 1)}
    weights = [menu.weight(one) for one in cells]
    assert sum(weights) == 1
    assert menu.extremes == (max(weights), min(weights))
    assert records < 20 or t < before or last - first <= 2


# ---------------------------------------------------------------------------------------- decisions


@pytest.mark.parametrize("threshold", [Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("kappa", [None, 5])
def test_gates_say_what_the_interval_says(threshold, kappa):
    """Without a root: pass and fail are where the interval of that one count leaves it out."""
    level, t = Level(Fraction(80), 0), 60
    two = expected_gate(threshold, None, Fraction(1, 20))
    one = expected_gate(threshold, "pass", Fraction(1, 20), one_sided=True)
    seen = set()
    for count in range(t + 1):
        statistic = BinomialTail(count, t) if kappa is None else CentredMixture(count, t, kappa)
        verdict = two.outcome(statistic, level)
        value = statistic.rough(float(threshold), float(1 - threshold)).value
        if value < level.nats:
            assert verdict == "undecided"
        else:
            assert verdict == ("pass" if Fraction(count, t) >= threshold else "fail")
        assert one.outcome(statistic, level) == ("pass" if verdict == "pass" else "not pass")
        seen.add(verdict)
    assert seen == set(TWO_SIDED)


@pytest.mark.parametrize("verdicts", [TWO_SIDED, ONE_SIDED])
def test_weights_of_gates(verdicts):
    one_sided = verdicts == ONE_SIDED
    for expect in (None, *verdicts):
        menu = expected_gate(Fraction(1, 2), expect, Fraction(1, 7), one_sided=one_sided)
        assert sum(menu.weight(verdict) for verdict in verdicts) == 1
        assert menu.is_one_sided == one_sided
        assert GateMenu.from_dict(json.loads(json.dumps(menu.to_dict()))) == menu
    stated = {verdict: Fraction(1, 4) for verdict in verdicts}
    assert gate_menu(Fraction(1, 2), stated).weight("pass") == Fraction(1, 4)


@pytest.mark.parametrize(
    "weights",
    [
        {"pass": "1/2", "fail": "1/2"},
        {"pass": "1/2", "fail": "1/2", "undecided": "0"},
        {"pass": "1/2", "fail": "1/2", "undecided": "1/100"},
        {"pass": "1/2", "not pass": "1/4", "undecided": "1/4"},
        {},
    ],
)
def test_weights_that_no_gate_may_have(weights):
    with pytest.raises(InvalidInput, match="weights must be"):
        gate_menu(Fraction(1, 2), {verdict: Fraction(w) for verdict, w in weights.items()})


@pytest.mark.parametrize("threshold", [0, 1, Fraction(3, 2)])
def test_thresholds_that_no_gate_may_have(threshold):
    with pytest.raises(InvalidInput, match="threshold must be strictly between 0 and 1"):
        expected_gate(Fraction(threshold), None, Fraction(1, 20))


def test_expectations_that_no_gate_may_have():
    with pytest.raises(InvalidInput, match="expect must be one of pass, not pass"):
        expected_gate(Fraction(1, 2), "fail", Fraction(1, 20), one_sided=True)
    with pytest.raises(InvalidInput, match="doubt must be strictly between 0 and 1"):
        expected_gate(Fraction(1, 2), "pass", Fraction(1))


@quick()
@given(doubts, st.fractions(Fraction(1, 100), 1, max_denominator=100), st.fractions(-1, 1))
def test_improvements(doubt, step, gain):
    menu = ImprovementMenu(step, doubt)
    k = menu.outcome(gain)
    assert menu.weight(k) > 0
    assert (k == 0 and gain < step) or k * step <= gain < (k + 1) * step
    # 1/(k(k+1)) = 1/k - 1/(k+1), so n steps have d (1 - 1/(n+1)) of the weight.
    assert sum(menu.weight(k) for k in range(51)) == 1 - doubt / 51
    assert ImprovementMenu.from_dict(menu.to_dict()) == menu


def test_improvements_that_are_none():
    with pytest.raises(InvalidInput, match="by must be above 0"):
        ImprovementMenu(Fraction(0), Fraction(1, 20))
    with pytest.raises(InvalidInput, match="doubt must be"):
        ImprovementMenu(Fraction(1), Fraction(1))


def test_selections():
    menu = SelectionMenu((Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)))
    assert menu.outcome([1, 5, 5]) == 1
    assert menu.weight(1) == Fraction(1, 4)
    assert SelectionMenu.from_dict(json.loads(json.dumps(menu.to_dict()))) == menu
    assert SelectionMenu.equal(3).weight(2) == Fraction(1, 3)
    with pytest.raises(InvalidInput, match="sums must be 3 numbers, but is 2"):
        menu.outcome([1, 2])
    with pytest.raises(InvalidInput, match="weights must be at most 1 in all"):
        SelectionMenu((Fraction(1, 2), Fraction(2, 3)))
    with pytest.raises(InvalidInput, match="weights must be above 0"):
        SelectionMenu((Fraction(1), Fraction(0)))


# ------------------------------------------------------------------------------------- ends, tables


@pytest.mark.parametrize("spread", [Fraction(1), MODEL_DIFFERENCE])
@pytest.mark.parametrize("t", [50, 2000, 10**6])
def test_weights_of_ends(t, spread):
    menu = ends_menu(t, Level(Fraction(1680), 0), spread)
    cells = math.ceil(1 / menu.width)
    assert sum(menu.first_weight(first) for first in range(cells)) == 1
    lengths = [menu.length_weight(length) for length in range(1, 3 * menu.expected)]
    assert min(lengths) > 0
    assert sum(lengths) < 1
    assert menu.length_weight(menu.expected) == Fraction(1, 2)
    assert EndsMenu.from_dict(menu.to_dict()) == menu


@pytest.mark.parametrize(("cells", "parts"), [(1, 3), (2, 5), (3, 4), (4, 6)])
def test_tables(cells, parts):
    menu, t = TableMenu(cells, parts), 7
    seen = set()
    for counts in product(range(t + 1), repeat=cells):
        if sum(counts) != t:
            continue
        table = menu.outcome(counts)
        assert sum(table) == parts
        for count, part in zip(counts, table, strict=True):
            assert Fraction(count, t) in menu.cell(part)
            assert abs(Fraction(count, t) - Fraction(part, parts)) < Fraction(1, parts)
        seen.add(table)
    assert all(menu.weight(table) > 0 for table in seen)
    tables = [table for table in product(range(parts + 1), repeat=cells) if sum(table) == parts]
    assert sum(menu.weight(table) for table in tables) == 1
    assert TableMenu.from_dict(menu.to_dict()) == menu


def test_tables_cost_what_section_4_says():
    assert round(-math.log(TableMenu(10, 100).weight(()))) == 29
    assert round(-math.log(TableMenu(50, 100).weight(()))) == 92


def test_tables_that_are_none():
    with pytest.raises(InvalidInput, match="table must be"):
        TableMenu(0, 10)
    for counts in ([1, 2, 3], [0, 0], [-1, 2]):
        with pytest.raises(InvalidInput, match="counts must be 2 counts"):
            TableMenu(2, 10).outcome(counts)
