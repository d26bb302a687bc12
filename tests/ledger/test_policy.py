from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold as sh
from support.runtime import adaptive_plan, batch_plan, rare_plan
from surehold.ledger.policy import Policy
from surehold.queries.measure import GRID_BITS
from surehold.theory.transfer import sharp_interval

# ---------------------------------------------------------------------------------- rounds


def refused(policy: Policy, count: int, held: int | None) -> sh.NotReady:
    with pytest.raises(sh.NotReady) as caught:
        policy.round_for(count, held)
    return caught.value


def test_before_n0_it_says_how_many_more() -> None:
    policy = Policy(adaptive_plan())
    error = refused(policy, 150, None)
    assert str(error) == "asking starts at 200 records and there are 150; append 50 more"
    assert error.numbers == {
        "records": 150,
        "first_round": 200,
        "last_round": 2000,
        "more_records": 50,
    }
    assert refused(policy, 0, None).numbers["more_records"] == 200
    assert policy.round_for(200, None) == 200


def test_past_n_it_says_to_hold() -> None:
    policy = Policy(adaptive_plan())
    assert policy.round_for(2000, None) == 2000
    error = refused(policy, 2001, None)
    assert "the plan is complete: it ends at n = 2,000 and there are 2,001 records" in str(error)
    assert "hold(2000), or --round 2000" in error.hint
    assert error.numbers == {"records": 2001, "first_round": 200, "last_round": 2000}
    assert policy.round_for(2001, 2000) == 2000


def test_a_held_round_may_be_past_but_not_future_nor_outside_the_plan() -> None:
    policy = Policy(adaptive_plan())
    assert policy.round_for(1500, 200) == 200
    assert policy.round_for(1500, 1500) == 1500
    error = refused(policy, 1500, 1501)
    assert error.numbers["more_records"] == 1
    assert "append 1 more, or hold an earlier round" in error.hint
    for outside in (199, 0, -5, 2001):
        error = refused(policy, 1500, outside)
        assert error.numbers["round"] == outside
        assert "hold a round from 200 to 1,500" in str(error)
    assert "hold a round from 200 to 200" in str(refused(policy, 10, 5000))
    assert "hold a round from 200 to 2,000" in str(refused(policy, 9000, 5000))


def test_batches_ask_at_the_last_scheduled_round() -> None:
    policy = Policy(batch_plan())
    expected = {200: 200, 799: 200, 800: 800, 1399: 800, 1999: 1400, 2000: 2000, 10**9: 2000}
    for count, round in expected.items():
        assert policy.round_for(count, None) == round
    assert refused(policy, 199, None).numbers["more_records"] == 1


def test_a_held_round_must_be_scheduled() -> None:
    policy = Policy(batch_plan())
    assert policy.round_for(900, 800) == 800
    error = refused(policy, 900, 850)
    assert error.numbers["nearest_round"] == 800
    assert "850 is not one of them; hold the one before it, 800" in str(error)
    assert refused(policy, 900, 1400).numbers["more_records"] == 500


def test_one_batch_asks_at_n() -> None:
    policy = Policy(sh.plan(n0=400, n=400, queries=5, beta=0.1, batches=1))
    assert (policy.first_round, policy.last_round) == (400, 400)
    assert policy.round_for(10_000, None) == 400
    assert refused(policy, 399, None).numbers["more_records"] == 1


@given(st.integers(0, 3000), st.none() | st.integers(-10, 3000), st.booleans())
def test_a_round_is_there_and_in_the_plan(count: int, held: int | None, batched: bool) -> None:
    policy = Policy(batch_plan() if batched else adaptive_plan())
    try:
        round = policy.round_for(count, held)
    except sh.NotReady as error:
        numbers = error.numbers
    else:
        numbers = None
    if numbers is not None:
        more = numbers.get("more_records")
        assert numbers["records"] == count
        assert more is None or policy.round_for(count + more, held) >= 200
        assert more in (None, 1) or refused(policy, count + more - 1, held)
        return
    assert policy.first_round <= round <= min(count, policy.last_round)
    assert held in (None, round)


# --------------------------------------------------------------------- certificates that run


@pytest.mark.parametrize(
    "settings",
    [
        {"certificate": "split", "n0": 400, "n": 4000, "alpha": 0.3},
        {"certificate": "split", "n0": 400, "n": 4000, "alpha": 0.3, "batches": 4},
        {"certificate": "jlnrss", "n0": 40_000, "n": 400_000, "alpha": 0.3, "batches": 4},
        {"certificate": "jlnrss+", "n0": 40_000, "n": 400_000, "alpha": 0.3, "batches": 4},
    ],
)
def test_plans_that_answer_from_new_records_only_are_refused(settings, tmp_path) -> None:
    plan = sh.plan(beta=0.1, **settings)
    with pytest.raises(sh.NotApplicable, match="make a plan with certificate 'sharp'") as caught:
        Policy(plan)
    assert caught.value.certificate == plan.certificate
    with pytest.raises(sh.NotApplicable):
        sh.create(tmp_path / "refused", plan=plan, columns={"age": "int"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("certificate", ["jlnrss", "jlnrss+", "ours-n", "ours-u", "sharp"])
def test_one_batch_is_static_data_where_every_noisy_certificate_holds(certificate: str) -> None:
    plan = sh.plan(n0=100_000, n=100_000, queries=10, beta=0.1, batches=1, certificate=certificate)
    policy = Policy(plan)
    assert policy.answers_left(policy.new_filter(), 100_000, 0) == 10


# ---------------------------------------------------------------------------------- widths

Units = st.floats(0, 1) | st.sampled_from((0.0, 1.0, 0.5, 5e-324, 1e-17, 1 - 2**-53))
Ranges = st.tuples(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9)).map(lambda p: (p[0], p[0] + p[1]))


def value_of(unit: float, low: float, high: float) -> float:
    return min(max(low + unit * (high - low), low), high)


@given(Units)
def test_a_fraction_has_the_width_of_the_plan_on_both_sides(unit: float) -> None:
    plan = adaptive_plan()
    policy = Policy(plan)
    bounds = policy.widths.bounds(unit, 0.0, 1.0, 0)
    assert bounds.width == plan.width == policy.widths.widest(0.0, 1.0, 0)
    assert bounds.low <= max(0.0, unit - plan.width)
    assert bounds.high >= min(1.0, unit + plan.width)
    assert bounds.low == pytest.approx(max(0.0, unit - plan.width), abs=1e-15)
    assert bounds.high == pytest.approx(min(1.0, unit + plan.width), abs=1e-15)
    assert dict(policy.widths.terms(unit, 0.0, 1.0, 0)) == dict(plan.terms)


@given(Units, Ranges, st.sampled_from((adaptive_plan, rare_plan)))
def test_a_mean_is_scaled_and_widened_by_its_grid(unit: float, ends, make) -> None:
    low, high = ends
    policy, span = Policy(make()), high - low
    bounds = policy.widths.bounds(unit, low, high, GRID_BITS)
    plain = policy.widths.bounds(unit, 0.0, 1.0, 0)
    # The grid, and the rounding of the scaled value to a double.
    rounding = 2 * math.ulp(max(abs(low), abs(high)))
    step = 2.0**-GRID_BITS * span
    grid = policy.widths.terms(unit, low, high, GRID_BITS)["grid"]
    assert grid == pytest.approx(step + rounding, rel=1e-9)
    assert bounds.width == pytest.approx(plain.width * span + step + rounding, rel=1e-12)
    assert bounds.width <= policy.widths.widest(low, high, GRID_BITS) * (1 + 1e-12)
    assert low <= bounds.low <= value_of(unit, low, high) <= bounds.high <= high
    # The grid's own error is half a step; the arithmetic's must fit in the other half.
    step = 2.0**-GRID_BITS * span
    slack = 4 * math.ulp(max(abs(low), abs(high))) + step / 2
    assert bounds.low <= max(low, low + plain.low * span - step / 2) + slack
    assert bounds.high >= min(high, low + plain.high * span + step / 2) - slack


@pytest.mark.parametrize("make", [adaptive_plan, batch_plan])
@pytest.mark.parametrize(("low", "high", "bits"), [(0.0, 1.0, 0), (10.0, 60.0, GRID_BITS)])
def test_terms_add_up_to_the_width(make, low: float, high: float, bits: int) -> None:
    policy = Policy(make())
    terms, bounds = (
        policy.widths.terms(0.4, low, high, bits),
        policy.widths.bounds(0.4, low, high, bits),
    )
    assert sum(terms.values()) == pytest.approx(bounds.width, rel=1e-11)


@given(Units)
def test_a_lopsided_interval_is_that_of_the_theorem(unit: float) -> None:
    plan = rare_plan()
    policy = Policy(plan)
    bounds = policy.widths.bounds(unit, 0.0, 1.0, 0)
    below, above = sharp_interval(unit, plan.constants["offset"], plan.constants["epsilon"])
    assert bounds.low <= float(below)
    assert bounds.high >= float(above)
    assert bounds.low == pytest.approx(float(below), abs=1e-15)
    assert bounds.high == pytest.approx(float(above), abs=1e-15)
    assert bounds.width == max(unit - float(below), float(above) - unit)
    assert bounds.width <= policy.widths.widest(0.0, 1.0, 0)
    assert bounds.low <= unit <= bounds.high


def test_lopsided_widths_are_narrow_where_the_plan_said() -> None:
    plan = rare_plan()
    policy = Policy(plan)
    grid = [i / 1000 for i in range(1001)]
    widths = [policy.widths.bounds(unit, 0.0, 1.0, 0).width for unit in grid]
    assert policy.widths.bounds(0.02, 0.0, 1.0, 0).width <= plan.width
    assert widths == pytest.approx(widths[::-1], rel=1e-9)  # as narrow for near-certain events
    assert max(widths) <= policy.widths.widest(0.0, 1.0, 0) <= max(widths) * 1.01


def test_terms_of_a_lopsided_answer_add_up_to_its_width() -> None:
    policy = Policy(rare_plan())
    for unit in (0.0, 0.02, 0.3, 0.98):
        terms, bounds = (
            policy.widths.terms(unit, 0.0, 1.0, 0),
            policy.widths.bounds(unit, 0.0, 1.0, 0),
        )
        assert sum(terms.values()) == pytest.approx(bounds.width, rel=1e-9)


def test_a_very_narrow_width_has_room_for_the_rounding_of_its_value() -> None:
    plan = sh.plan(n0=10**10, n=10**10, queries=10, beta=0.1)
    policy = Policy(plan)
    assert plan.width < 1e-4
    for unit in (0.25, 1 / 3, 1.0):
        bounds = policy.widths.bounds(unit, 0.0, 1.0, 0)
        assert bounds.width == plan.width + 2.0**-52 == policy.widths.widest(0.0, 1.0, 0)
        assert sum(policy.widths.terms(unit, 0.0, 1.0, 0).values()) == pytest.approx(bounds.width)
        exact = Fraction(unit) - Fraction(plan.width)
        assert Fraction(bounds.low) <= exact - Fraction(1, 2**54)
