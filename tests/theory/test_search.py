"""The solvers stop on the safe side, at a point they have evaluated, next to one they have too."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehold.errors import NotCertified
from surehold.theory.search import largest_count, smallest_count, smallest_float

MOST = 10**18
LIMIT = 1.0


class Recorded:
    """A cost, and the points at which it was asked for."""

    def __init__(self, cost):
        self.cost = cost
        self.points = []

    def __call__(self, point):
        self.points.append(point)
        return self.cost(point)


# ------------------------------------------------------------------------ counts: any staircase

crossings = st.one_of(st.integers(0, 3), st.integers(0, 10**6), st.integers(0, MOST - 1))
guesses = st.one_of(st.just(1000), st.integers(-5, 10**6), st.integers(1, 10**20))
under = st.lists(st.floats(0.0, LIMIT), min_size=1, max_size=4).map(sorted)
over_finite = st.floats(LIMIT, 1e300, exclude_min=True)
# Beyond the limit a cost may also say nothing, or be no number at all.
over = st.one_of(
    st.lists(over_finite, min_size=1, max_size=4).map(sorted),
    st.lists(over_finite, max_size=2).map(lambda levels: [*sorted(levels), math.inf]),
    st.just([math.nan]),
)


@st.composite
def staircases(draw):
    """A rising staircase, flat almost everywhere, and its last step that is within the limit."""
    crossing = draw(crossings)
    lower, upper = draw(under), draw(over)
    inside, outside = st.integers(0, crossing), st.integers(crossing + 1, MOST)
    ends = [
        *sorted(draw(inside) for _ in lower[1:]),
        crossing,
        *sorted(draw(outside) for _ in upper[1:]),
    ]
    levels = [*lower, *upper]  # levels[i] up to ends[i]
    return crossing, lambda k: levels[bisect_left(ends, k)]


@given(staircases(), guesses)
def test_largest_count_of_any_staircase(staircase, guess):
    crossing, cost = staircase
    recorded = Recorded(cost)
    assert largest_count(recorded, LIMIT, guess) == crossing
    assert crossing == 0 or crossing in recorded.points
    assert crossing + 1 in recorded.points
    assert all(1 <= point <= MOST for point in recorded.points)
    assert len(recorded.points) < 200  # measured 89: a step tells nothing of its distance


@given(staircases(), guesses)
def test_smallest_count_of_any_staircase(staircase, guess):
    # The same staircase from the other side: it falls, with its crossing mirrored.
    crossing, cost = staircase
    first = MOST - crossing
    recorded = Recorded(lambda n: cost(MOST + 1 - n))
    if crossing == 0:
        with pytest.raises(NotCertified):
            smallest_count(recorded, LIMIT, guess)
        return
    assert smallest_count(recorded, LIMIT, guess) == first + 1
    assert first + 1 in recorded.points
    assert first in recorded.points
    assert len(recorded.points) < 200


@given(st.integers(1, 10**6), st.integers(0, 10**6), guesses)
def test_smallest_count_keeps_to_its_range(most, last_over, guess):
    recorded = Recorded(lambda n: 2.0 if n <= last_over else 0.5)
    if last_over >= most:
        with pytest.raises(NotCertified) as caught:
            smallest_count(recorded, LIMIT, guess, most)
        assert caught.value.numbers["searched up to"] == most
    else:
        assert smallest_count(recorded, LIMIT, guess, most) == last_over + 1
    assert max(recorded.points) <= most


# ------------------------------------------------------------------------ counts: smooth costs

SMOOTH = [
    ("k", lambda k: float(k), 7.0e5),
    ("k, far", lambda k: float(k), 3e15),
    ("sqrt k", lambda k: math.sqrt(k), 123.4),
    ("k^4", lambda k: float(k) ** 4, 1e30),
    ("a width", lambda k: 1e-4 * (k * math.log(k + 1.0)) ** 0.25, 0.1),
    ("sqrt k + k", lambda k: math.sqrt(k) + 1e-3 * k, 1e4),
    ("with a floor", lambda k: 0.09 + 1e-9 * k, 0.1),
    ("log k", lambda k: math.log(k), 20.0),
    ("to one", lambda k: 1.0 - 1.0 / k, 0.999999),
    ("infinite from some point on", lambda k: 1e-6 * k if k < 5e5 else math.inf, 0.3),
    ("over at once", lambda k: 1.0 + k, 0.5),
]


@pytest.mark.parametrize(("cost", "limit"), [p[1:] for p in SMOOTH], ids=[p[0] for p in SMOOTH])
@pytest.mark.parametrize("guess", [1, 1000, 10**9])
def test_smooth_costs_take_few_evaluations(cost, limit, guess):
    recorded = Recorded(cost)
    k = largest_count(recorded, limit, guess)
    assert k == 0 or cost(k) <= limit
    assert not cost(k + 1) <= limit
    assert {k, k + 1} - {0} <= set(recorded.points)
    assert len(recorded.points) < 60  # measured 29, for log k


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("limit", [1e-9, 1e-3, 0.3, 1.0])
def test_falling_powers_take_few_evaluations(power, limit):
    recorded = Recorded(lambda n: float(n) ** -power)
    n = smallest_count(recorded, limit)
    assert n**-power <= limit
    assert n == 1 or (n - 1) ** -power > limit
    assert {n, n - 1} - {0} <= set(recorded.points)
    assert len(recorded.points) < 60  # measured 26


def test_a_good_guess_is_worth_something():
    recorded = Recorded(lambda k: 3e-7 * k)
    assert largest_count(recorded, 0.1, 333_000) == 333_333
    assert len(recorded.points) <= 5


# ------------------------------------------------------------------------ counts: ends of the range


def test_a_cost_without_end_stops_at_the_largest_count():
    assert largest_count(lambda k: 0.0, LIMIT) == MOST
    assert largest_count(lambda k: LIMIT, LIMIT) == MOST


@pytest.mark.parametrize("value", [2.0, math.inf, math.nan])
def test_a_cost_that_never_comes_down_is_not_certified(value):
    assert largest_count(lambda k: value, LIMIT) == 0
    with pytest.raises(NotCertified):
        smallest_count(lambda n: value, LIMIT)


def test_a_limit_that_is_no_number_admits_nothing():
    assert largest_count(lambda k: 0.5, math.nan) == 0


@pytest.mark.parametrize(("limit", "crossing"), [(0.0, 5), (-1.0, 4), (math.inf, MOST)])
def test_any_limit_may_be_given(limit, crossing):
    assert largest_count(lambda k: k - 5.0, limit) == crossing


def test_a_cost_may_be_next_to_nothing():
    assert largest_count(lambda k: 1e-320, 1e10) == MOST


# ------------------------------------------------------------------------ floats

doubles = st.floats(-1e6, 1e6)


@given(st.lists(doubles, min_size=1, max_size=5), st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_smallest_float_finds_every_threshold_to_the_last_bit(thresholds, below, above):
    threshold = np.array(thresholds)
    recorded = Recorded(lambda x: x >= threshold)
    found = smallest_float(recorded, threshold - below, threshold + above)
    np.testing.assert_array_equal(found, np.maximum(threshold, threshold - below))
    for i, point in enumerate(found):
        asked = {float(points[i]) for points in recorded.points}
        assert float(point) in asked
        if below > 0.0 and threshold[i] - below < threshold[i]:
            assert float(np.nextafter(point, -np.inf)) in asked


@given(st.floats(1e-300, 1.0))
def test_smallest_float_reaches_down_to_tiny_numbers(threshold):
    found = smallest_float(lambda x: x >= threshold, np.array(0.0), np.array(1.0))
    assert found == threshold


def test_smallest_float_takes_the_low_end_where_it_holds():
    low, high = np.array([0.25, -3.0]), np.array([1.0, 5.0])
    np.testing.assert_array_equal(smallest_float(lambda x: x <= 10.0, low, high), low)


def test_smallest_float_of_one_point():
    assert smallest_float(lambda x: x > 0.0, np.array(2.0), np.array(2.0)) == 2.0


def test_smallest_float_keeps_the_shape():
    high = np.full((2, 3), 4.0)
    assert smallest_float(lambda x: x > 1.0, np.zeros((2, 3)), high).shape == (2, 3)
    assert smallest_float(lambda x: x > 1.0, np.array(0.0), np.array(4.0)).shape == ()


def test_smallest_float_takes_few_evaluations():
    recorded = Recorded(lambda x: x * x >= 2.0)
    smallest_float(recorded, np.array(0.0), np.array(1e3))
    assert len(recorded.points) < 70  # 53 bits, ten octaves and the ends


@pytest.mark.parametrize("bad", [0, 1])
def test_smallest_float_raises_where_one_element_has_no_bracket(bad):
    high = np.array([1.0, 1.0])
    high[bad] = 0.25
    with pytest.raises(NotCertified) as caught:
        smallest_float(lambda x: x >= 0.5, np.zeros(2), high)
    assert caught.value.numbers == {"low": 0.0, "high": 1.0}


def test_a_property_of_nan_is_never_certified():
    with pytest.raises(NotCertified):
        smallest_float(lambda x: x >= np.nan, np.array(0.0), np.array(1.0))


def test_the_given_arrays_are_left_alone():
    low, high = np.zeros(2), np.ones(2)
    smallest_float(lambda x: x >= 0.3, low, high)
    np.testing.assert_array_equal([low, high], [[0.0, 0.0], [1.0, 1.0]])


@given(st.floats(0.1, 10.0), st.floats(0.0, 1e-13))
def test_rounding_noise_does_not_harm(threshold, noise):
    # Next to the threshold the property flickers; what is returned was still found true.
    def holds(x):
        flicker = np.where((x * 2.0**52) % 2 == 0, noise, -noise)
        return x + flicker >= threshold

    found = smallest_float(holds, np.array(0.0), np.array(20.0))
    assert holds(found)
    assert found == pytest.approx(threshold, abs=1e-12)
