"""Forecasts against the tables of section 5."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehold.errors import InvalidInput
from surehold.theory.surprise.claims.chernoff import Chernoff
from surehold.theory.surprise.forecasts import (
    forecast_interval,
    forecast_mean_interval,
    forecast_series,
    forecast_spent,
    records_to_decide,
)
from surehold.theory.surprise.levels import Level, claim_level
from surehold.theory.surprise.menus.cells import half_cell
from surehold.theory.surprise.menus.numbers import expected_menu, learned_doubt
from surehold.theory.surprise.prices import UNITS, nats, price
from surehold.theory.surprise.shares import Shares, default_share

BETA = Fraction(1, 20)
MEANS = (Fraction(1, 2), Fraction(17, 20), Fraction(19, 20))
WIDTHS = """
500 .0809 .1575 .2238 .3404 .0582 .1140 .1640 .2603 .0363 .0727 .1088 .1930
1000 .0572 .1126 .1624 .2585 .0410 .0810 .1175 .1910 .0254 .0506 .0749 .1301
2000 .0404 .0801 .1164 .1896 .0290 .0574 .0837 .1378 .0178 .0355 .0522 .0891
5000 .0255 .0508 .0742 .1227 .0183 .0363 .0531 .0882 .0112 .0223 .0327 .0551
10000 .0180 .0359 .0526 .0874 .0129 .0257 .0376 .0626 .0079 .0157 .0231 .0387
100000 .0057 .0114 .0167 .0278 .0041 .0081 .0119 .0199 .0025 .0050 .0073 .0121
"""


@pytest.mark.parametrize("row", WIDTHS.strip().splitlines(), ids=lambda row: row.split()[0])
def test_half_widths_of_the_twentieth_claim(row):
    t, *expected = row.split()
    base = claim_level(BETA, default_share(20), 0).times(4)
    found = [
        forecast_interval(mean, int(t), Level(base.factor, spent * UNITS)).half_width
        for mean in MEANS
        for spent in (0, 20, 50, 150)
    ]
    assert [f"{float(width):.4f}".lstrip("0") for width in found] == expected


@pytest.mark.parametrize(
    ("t", "claims", "half", "more"),
    [
        (1000, 10, 0.151, 0.112),
        (1000, 50, 0.291, 0.221),
        (1000, 200, 0.471, 0.393),
        (10_000, 10, 0.055, 0.041),
        (10_000, 50, 0.114, 0.084),
        (10_000, 200, 0.208, 0.157),
    ],
)
def test_the_last_of_many_plain_numbers(t, claims, half, more):
    """The half-width at one count, with half a cell; the note has them to three digits."""
    *_, last = forecast_series(t, BETA, claims)
    e = half_cell(t, last.level, always=False)
    for mean, expected in zip(MEANS, (half, more), strict=False):
        found = forecast_interval(mean, t, last.level).half_width + e
        assert float(found) == pytest.approx(expected, abs=0.0011)


def test_an_agent_loop_with_good_guesses():
    """200 experiments, ten surprises: some 51 nats, as much as 13 plain numbers cost."""
    *_, guessed = forecast_series(2000, BETA, 200, surprises=10)
    *_, plain = forecast_series(2000, BETA, 200)
    *_, few = forecast_series(2000, BETA, 14)
    assert 50 < nats(guessed.spent) < 52 < nats(few.spent) < 54
    assert nats(plain.spent) > 600
    *_, none = forecast_series(2000, BETA, 200, surprises=0)
    *_, all_of_them = forecast_series(2000, BETA, 200, surprises=200)
    assert none.spent < guessed.spent < all_of_them.spent


def test_declared_shares_make_a_list_narrower():
    """A list of fifty, registered first, at 2,000 records: 0.037 (a union bound has 0.044)."""
    share, _ = Shares().declare(Fraction(1), 50)
    level = claim_level(BETA, share, 0).times(2)
    assert float(forecast_interval(MEANS[0], 2000, level).half_width) == pytest.approx(
        0.037, abs=0.0006
    )


def test_cells_widen_a_forecast_and_its_ends_stay_on_the_scale():
    level = Level(Fraction(6240), 0)
    narrow = forecast_interval(Fraction(1, 2), 1000, level)
    wide = forecast_interval(Fraction(1, 2), 1000, level, within=Fraction(1, 100))
    assert wide.half_width == pytest.approx(float(narrow.half_width) + 0.01, abs=0.001)
    edge = forecast_interval(Fraction(1), 1000, level, within=Fraction(1, 100), kappa=10)
    assert edge.high == 1
    mean = forecast_mean_interval(Fraction(1), 1000, level, always=True, within=Fraction(1, 100))
    assert mean.high == 1


@pytest.mark.parametrize("always", [False, True])
def test_records_to_decide(always):
    """A gate at 0.85 for a model that is truly at 0.93."""
    mean, threshold, level = Fraction(93, 100), Fraction(85, 100), Level(Fraction(6240), 0)
    t = records_to_decide(mean, threshold, level, always=always)
    assert forecast_mean_interval(mean, t, level, always=always).low >= threshold
    assert forecast_mean_interval(mean, t - 1, level, always=always).low < threshold
    if not always:
        assert Chernoff(mean, t).rough(0.85, 0.15).value >= level.nats
    with pytest.raises(InvalidInput, match="mean must be other than the threshold"):
        records_to_decide(mean, mean, level, always=always)


def test_more_surprises_than_claims():
    with pytest.raises(InvalidInput, match="surprises must be from 0 to 3"):
        list(forecast_series(100, BETA, 3, surprises=4))


def spent_on(outcomes):
    """Add up the prices of guesses, True for a surprise one cell beside."""
    spent = 0
    for i, is_surprise in enumerate(outcomes):
        doubt = learned_doubt(i, sum(outcomes[:i]))
        menu = expected_menu(Fraction(1, 2), Fraction(1, 20), doubt)
        spent += price(menu.weight(1 if is_surprise else 0))
    return spent


@given(st.lists(st.booleans(), max_size=60))
def test_what_guesses_cost_does_not_depend_on_their_order(outcomes):
    most = forecast_spent(len(outcomes), sum(outcomes))
    assert spent_on(outcomes) <= most * (1 + 1e-12) + len(outcomes)
    dearest = max(
        spent_on([True] * s + [False] * (len(outcomes) - s)) for s in range(sum(outcomes) + 1)
    )
    assert dearest == pytest.approx(most, rel=1e-12, abs=UNITS * 1e-12)


def test_ends_are_found_at_the_most_records_there_may_be():
    found = forecast_interval(Fraction(17, 20), 10**18, Level(Fraction(6240), 0))
    assert 0 < found.half_width <= Fraction(3, 10**9)
