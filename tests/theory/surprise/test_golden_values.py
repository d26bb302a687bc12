"""Single golden values, digit by digit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from surehold.theory.surprise.blocks import Step, block_weight, spent_on
from surehold.theory.surprise.claims.base import Statistic
from surehold.theory.surprise.claims.betting import BettingMixture
from surehold.theory.surprise.claims.binomial import BinomialTail
from surehold.theory.surprise.claims.chernoff import Chernoff, pair_mean
from surehold.theory.surprise.claims.mixtures import CentredMixture, HalfMixture
from surehold.theory.surprise.claims.selection import selection_gap
from surehold.theory.surprise.ends import UNIT, interval
from surehold.theory.surprise.intervals import fraction_interval
from surehold.theory.surprise.levels import (
    Level,
    claim_level,
    question_levels,
    selection_level,
)
from surehold.theory.surprise.menus.numbers import plain_menu
from surehold.theory.surprise.prices import UNITS, price
from surehold.theory.surprise.shares import default_share
from theory.surprise.golden import GOLDEN, assert_ends, sixteen_digits

BETA = Fraction(GOLDEN["beta"])
VALUES = GOLDEN["single_values"]


def whole(nats: str) -> Level:
    return Level(Fraction(1), int(nats) * UNITS)


@pytest.mark.parametrize(("weight", "units"), VALUES["price_units"].items())
def test_prices(weight, units):
    assert price(Fraction(weight)) == int(units)


@pytest.mark.parametrize("row", VALUES["level"], ids=lambda row: f"c={row['c']}")
def test_levels(row):
    level = claim_level(Fraction(row["beta"]), default_share(row["c"]), int(row["spent"]))
    both = question_levels(level, "both")
    assert str(both.first) == row["l_once_half"]
    assert str(both.other) == row["l_always_half"]
    assert str(question_levels(level, "once").first) == row["l_once_full"]
    assert str(question_levels(level, "always").other) == row["l_always_full"]


def statistics(count: int, t: int) -> dict[str, Statistic]:
    return {
        "chernoff": Chernoff(Fraction(count, t), t),
        "exact": BinomialTail(count, t),
        "beta_half": HalfMixture(Fraction(count, t), t),
        "centred_kappa_40": CentredMixture(count, t, 40),
    }


@pytest.mark.parametrize("name", statistics(1, 2))
@pytest.mark.parametrize(
    "row", VALUES["ends_at_one_count"], ids=lambda row: f"{row['count']}of{row['t']}-l{row['l']}"
)
def test_ends_at_one_count(row, name):
    level, statistic = whole(row["l"]), statistics(row["count"], row["t"])[name]
    assert_ends(statistic, statistic, level, row[name])
    shown = interval(statistic, statistic, level)
    low, high = map(Fraction, row[name])
    assert shown.low <= low < shown.low + UNIT
    assert shown.high - UNIT < high <= shown.high


@pytest.mark.parametrize("row", VALUES["betting_K_1024_nodes"], ids=lambda row: row["what"])
def test_betting(row):
    mixture = BettingMixture.of({Fraction(z): n for z, n in row["values"].items()})
    assert_ends(mixture, mixture, whole(row["l"]), row["p"])


@pytest.mark.parametrize("row", VALUES["selection_gap"])
def test_selection_gap(row):
    spent = int(row["spent"]) * UNITS
    level = claim_level(Fraction(row["beta"]), Fraction(row["v"]), spent)
    level = selection_level(level, row["m"])
    assert str(level) == row["l"]
    assert sixteen_digits(selection_gap(row["t"], level)) == sixteen_digits(row["within"])


@pytest.mark.parametrize("row", VALUES["u_statistic"], ids=lambda row: row["t"])
def test_means_over_pairs(row):
    statistic = pair_mean(Fraction(row["kernel_mean"]), row["t"])
    assert_ends(statistic, statistic, whole(row["l"]), row["ends"])


@pytest.mark.parametrize("row", VALUES["checkpoints"], ids=lambda row: row["what"])
def test_checkpoints(row):
    level = claim_level(
        BETA, default_share(row["c"]), int(row["spent_counted_units"]), block_weight(0)
    )
    assert block_weight(0) == Fraction(row["u"])
    level = question_levels(level, "once").first
    assert str(level) == row["l"]
    menu = plain_menu(Fraction(row["what"].rpartition("= ")[2]))
    k = menu.outcome(Fraction(row["count"], row["records"]))
    assert menu.weight(k) == Fraction(row["weight"])
    cell, t = menu.cell(k), row["records"]
    least, most = cell.counts(t)
    assert [least, most] == row["counts_in_cell"]
    assert_ends(BinomialTail(least, t), BinomialTail(most, t), level, row["interval"])
    shown = fraction_interval(cell, t, level)
    assert [shown.low, shown.high] == [Fraction(end) for end in row["shown"]]


def test_what_a_checkpoint_counts():
    """Two answers of a hundred cells, the second of them about later records only."""
    steps = [Step(2000, price(Fraction(1, 100))), Step(3000, price(Fraction(1, 100)))]
    assert spent_on(steps, after=0) == int(VALUES["checkpoints"][1]["spent_counted_units"])
    assert spent_on(steps, after=2000) == price(Fraction(1, 100))
    assert spent_on(steps, after=3000) == 0
