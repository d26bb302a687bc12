"""Prices, shares, levels and blocks: exact sums, and nothing shared out twice."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from surehold.errors import InvalidInput
from surehold.theory.surprise.blocks import block_weight
from surehold.theory.surprise.digits import decimal_of, precise, text_of
from surehold.theory.surprise.levels import (
    ClaimLevels,
    Level,
    claim_level,
    question_levels,
    selection_level,
    selection_level_at,
)
from surehold.theory.surprise.prices import UNITS, bits, check_weights, nats, price
from surehold.theory.surprise.shares import Shares, default_share
from theory.oracles import mp, mpf

quick = partial(settings, deadline=None, derandomize=True)
weights = st.fractions(Fraction(1, 10**30), 1).filter(lambda w: w > 0)


@quick()
@given(weights)
def test_a_price_is_the_smallest_whole_number_of_units(weight):
    exact = -mp.log(mpf(weight.numerator) / weight.denominator) * UNITS
    assert price(weight) - 1 < exact <= price(weight)


@pytest.mark.parametrize("digits", [20, 40, 200])
def test_prices_of_weights_near_1(digits):
    """-ln(1 - x) = x + x^2/2 + ..., here of far less than a unit: it is rounded up, to 1."""
    assert price(1 - Fraction(1, 10**digits)) == 1


def test_prices_of_tiny_weights():
    assert price(Fraction(1, 2**10_000)) == int(mp.ceil(mp.log(2) * 10_000 * UNITS))


@pytest.mark.parametrize("weight", [Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_weights_that_have_no_price(weight):
    with pytest.raises(InvalidInput, match="weight must be above 0 and at most 1"):
        price(weight)


@quick()
@given(weights, weights)
def test_prices_never_fall_short_of_the_theorem(one, two):
    """The sum of rounded prices is at least the price of the product: the safe side."""
    assert price(one) + price(two) >= price(one * two)


def test_nats_and_bits():
    assert text_of(nats(3 * UNITS)) == "3"
    assert text_of(bits(price(Fraction(1, 8))), 18) == "3"


def test_weights_are_checked():
    check_weights({"a": Fraction(1, 2), "b": Fraction(1, 2)})
    with pytest.raises(InvalidInput, match="weights must be at most 1 in all"):
        check_weights({"a": Fraction(1, 2), "b": Fraction(51, 100)})
    with pytest.raises(InvalidInput, match="weights must be above 0"):
        check_weights({"a": Fraction(1), "b": Fraction(0)})


# ------------------------------------------------------------------------------------------- shares


@pytest.mark.parametrize("expected", [1, 20, 200])
def test_default_shares_add_up_to_1(expected):
    shares, total = Shares(expected), Fraction(0)
    for c in range(1, 100):
        share, shares = shares.default()
        assert share == default_share(c, expected)
        total += share
        assert shares.left == 1 - total == Fraction(expected, c + expected)


@quick()
@given(st.lists(st.one_of(st.none(), st.tuples(st.fractions(0, 1), st.integers(1, 50)))))
def test_no_order_of_claims_takes_more_than_1(steps):
    shares, taken = Shares(5), Fraction(0)
    for step in steps:
        if not shares.left:
            break
        if step is None:
            share, shares = shares.default()
            taken += share
            continue
        part, claims = step
        if part == 0:
            continue
        share, shares = shares.declare(part * shares.left, claims)
        taken += share * claims
    assert taken + shares.left == 1
    assert shares.left >= 0


def test_shares_that_are_not_there():
    _, rest = Shares().declare(Fraction(1), 50)
    with pytest.raises(InvalidInput, match="share must be declared for this claim"):
        rest.default()
    with pytest.raises(InvalidInput, match="share must be above 0 and at most what is left"):
        Shares().declare(Fraction(3, 2), 1)
    with pytest.raises(InvalidInput, match="claims must be a whole number"):
        Shares(0)


# ------------------------------------------------------------------------------------------- levels


@quick()
@given(weights, weights, st.integers(0, 1000 * UNITS))
def test_levels_in_thirty_digits(beta, share, spent):
    level = claim_level(beta, share, spent)
    exact = mp.log(mpf((1 / (beta * share)).numerator) / (1 / (beta * share)).denominator)
    exact += mpf(spent) / UNITS
    assert abs(mpf(str(level.exact)) - exact) < mpf(10) ** -40 * (1 + exact)
    assert Level.from_dict(json.loads(json.dumps(level.to_dict()))) == level


def test_levels_of_questions():
    level = claim_level(Fraction(1, 20), Fraction(1, 10), 0)
    assert level.factor == 200
    assert question_levels(level, "once") == ClaimLevels(Level(Fraction(400), 0), None)
    assert question_levels(level, "always") == ClaimLevels(None, Level(Fraction(200), 0))
    both = question_levels(level, "both")
    assert (both.first, both.other) == (Level(Fraction(800), 0), Level(Fraction(400), 0))
    one_sided = question_levels(level, "once", one_sided=True)
    assert one_sided.at(is_first_round=True) == level
    assert one_sided.at(is_first_round=False) is None
    assert question_levels(level, "always").at(is_first_round=True) == level
    # What the parts of a question may miss with adds up to its share, for two sides and one.
    for levels, sides in ((both, 2), (question_levels(level, "both", one_sided=True), 1)):
        parts = sides / levels.first.factor + 1 / levels.other.factor
        assert parts == 1 / level.factor


def test_levels_of_selections():
    level = Level(Fraction(200), 7)
    assert selection_level(level, 11) == Level(Fraction(2000), 7)
    assert selection_level(level, 1) == level
    assert selection_level_at(level, Fraction(1, 4)) == Level(Fraction(800), 7)


@pytest.mark.parametrize(("beta", "share"), [("0", "1"), ("1/20", "0"), ("2", "1"), ("1/20", "2")])
def test_levels_that_are_none(beta, share):
    with pytest.raises(InvalidInput, match="must be above 0 and at most 1"):
        claim_level(Fraction(beta), Fraction(share), 0)


def test_a_level_is_not_below_0():
    with pytest.raises(InvalidInput, match="level must be at least 0"):
        Level(Fraction(1, 2), 0)
    with pytest.raises(InvalidInput, match="level must be at least 0"):
        Level(Fraction(2), -1)


def test_weights_of_blocks_add_up_to_1():
    checkpoints = sum(block_weight(j) for j in range(1, 1000))
    assert block_weight(0) + checkpoints == 1 - Fraction(1, 5 * 1000)
    assert block_weight(0, has_checkpoints=False) == 1
    with precise():  # the price of having checkpoints, for ordinary claims
        assert text_of(-decimal_of(block_weight(0)).ln(), 2) == "0.22"
