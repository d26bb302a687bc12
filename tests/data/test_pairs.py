"""Statistics over pairs: against all pairs one by one, against other libraries, and their moves."""

import statistics
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from surehold.data import pairs
from surehold.data.engines import PolarsEngine
from surehold.errors import InvalidInput
from surehold.queries import GRID_BITS, Schema, mean, query_of

SCHEMA = Schema.of({"x": "float", "y": "float", "n": "int", "ill": "bool"})
DTYPES = {"x": pl.Float64, "y": pl.Float64, "n": pl.Int64, "ill": pl.Boolean}
LOW, HIGH = 10.0, 60.0
QUERIES = {
    "variance": "variance(x, 10, 60)",
    "gini": "gini(x, 10, 60)",
    "kendall": "kendall(x, y)",
    "concordance": "concordance(x, y)",
    "auc_pairs": "auc_pairs(x, ill)",
}


def frame_of(records):
    return pl.DataFrame(
        {name: [record.get(name) for record in records] for name in DTYPES}, schema=DTYPES
    )


def unit(text, frame):
    engine = PolarsEngine()
    engine.extend(frame)
    source = query_of(text).form(SCHEMA).source
    numerator, denominator = engine.pair_statistic(source, frame.height)
    assert type(numerator) is type(denominator) is int
    return Fraction(numerator, denominator)


# ------------------------------------------------------------------ all pairs, one by one


def steps_of(value):
    """A value on the grid, in fractions of its range; a null is low."""
    above = 0.0 if value is None else min(max(value, LOW), HIGH) - LOW
    steps = int(above * (2.0**GRID_BITS / (HIGH - LOW)) + 0.5)
    return Fraction(steps, 2**GRID_BITS)


def sign(one, other):
    """1 if concordant, -1 if discordant."""
    numbers = (one["x"], one["y"], other["x"], other["y"])
    if None in numbers:
        return 0
    x, y, above, right = map(Fraction, numbers)
    product = (x - above) * (y - right)
    return (product > 0) - (product < 0)


def wins(one, other):
    """Whether the first is positive, the second negative and scored lower; a tie is half."""
    if one["x"] is None or other["x"] is None or not one["ill"] or other["ill"] is not False:
        return Fraction(0)
    return Fraction((one["x"] > other["x"]) + (one["x"] >= other["x"]), 2)


def kernel(kind, one, other):
    """Of two records, over t times the sensitivity of its mean over pairs, and from 0."""
    match kind:
        case "variance":
            return (steps_of(one["x"]) - steps_of(other["x"])) ** 2 / 2
        case "gini":
            return abs(steps_of(one["x"]) - steps_of(other["x"])) / 2
        case "kendall":
            return Fraction(sign(one, other) + 1, 4)
        case "concordance":
            return Fraction(sign(one, other) == 1, 2)
        case "auc_pairs":
            return (wins(one, other) + wins(other, one)) / 2


def one_by_one(kind, records):
    found = [kernel(kind, *pair) for pair in combinations(records, 2)]
    return sum(found, Fraction(0)) / len(found)


numbers = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 1.0, 35.0, 60.0, 61.0, -1e150, 1e150, 5e-324]),
    st.integers(8, 62).map(float),
    st.floats(-1e150, 1e150),
)
records = st.fixed_dictionaries({"x": numbers, "y": numbers, "ill": st.sampled_from([None, 0, 1])})
records = records.map(lambda r: r | {"ill": None if r["ill"] is None else bool(r["ill"])})


@pytest.mark.parametrize("kind", QUERIES)
@settings(deadline=None, max_examples=60)
@given(given=st.lists(records, min_size=2, max_size=20))
def test_as_all_pairs_one_by_one(kind, given):
    assert unit(QUERIES[kind], frame_of(given)) == one_by_one(kind, given)


few = st.sampled_from([0.0, 1.0, 2.0, 3.0])


@settings(deadline=None)
@given(st.lists(st.tuples(few, few), max_size=70))
def test_orders_with_many_ties(given):
    x, y = (np.array([pair[i] for pair in given], dtype=float) for i in (0, 1))
    signs = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in combinations(given, 2)]
    assert pairs.orders(x, y) == (sum(s > 0 for s in signs), sum(s < 0 for s in signs))


@pytest.mark.parametrize("kind", QUERIES)
def test_no_pair(kind):
    for rows in ([], [{"x": 60.0, "y": 1.0, "ill": True}]):
        assert unit(QUERIES[kind], frame_of(rows)) == Fraction(1, 4)


@pytest.mark.parametrize("kind", QUERIES)
def test_all_null(kind):
    expected = Fraction(1, 4) if kind == "kendall" else 0
    assert unit(QUERIES[kind], frame_of([{}] * 5)) == expected


def test_constants_stand_for_every_record():
    frame = frame_of([{"x": 1.0, "ill": True}, {"x": 2.0, "ill": False}, {"x": 3.0, "ill": None}])
    assert unit("variance(20, 10, 60)", frame) == unit("gini(null, 10, 60)", frame) == 0
    assert unit("kendall(x, 1)", frame) == Fraction(1, 4)
    assert unit("auc_pairs(3, ill)", frame) == Fraction(1, 12)
    assert unit("auc_pairs(x, true)", frame) == unit("auc_pairs(x, null)", frame) == 0


def test_expressions_and_other_columns():
    frame = frame_of([{"n": 2**53 + i, "ill": i > 1} for i in range(4)])
    # Numbers are doubles: 2^53 and 2^53 + 1 are equal, and 2^53 + 3 is 2^53 + 4.
    # So of six pairs one is tied and five are discordant.
    assert unit("kendall(n, -n)", frame) == Fraction(1, 24)
    assert unit("auc_pairs(n % 2, ill)", frame) == Fraction(2, 12)


def test_a_number_that_should_not_be_there_raises_nothing():
    frame = frame_of([{"x": float("nan"), "y": 1.0, "ill": True}, {"x": 60.0, "ill": False}])
    for kind, text in QUERIES.items():
        assert 0 <= unit(text, frame) <= Fraction(1, 2), kind


def test_only_the_snapshot_counts():
    engine = PolarsEngine()
    for part in ([1.0, 2.0], [3.0], [99.0, -5.0]):
        engine.extend(frame_of([{"x": x, "y": x} for x in part]))
    source = query_of("concordance(x, y)").form(SCHEMA).source
    assert engine.pair_statistic(source, 3) == (3, 6)
    assert engine.pair_statistic(source, 5) == (10, 20)
    for stop in (-1, 6):
        with pytest.raises(InvalidInput):
            engine.pair_statistic(source, stop)


# -------------------------------------------------------------- how far one record moves it

PLACES = [(0, 0), (1, 1), (1, -1), (0, 1), (1, 0), (None, 1), (0, None), (None, None)]
SCORED = [(s, ill) for s in (-1, 0, 1) for ill in (False, True)] + [(None, True), (0, None)]
UNIVERSES = {
    "variance": [{"x": x} for x in (None, 10.0, 10.00001, 35.0, 59.9, 60.0, 70.0)],
    "kendall": [{"x": x, "y": y} for x, y in PLACES],
    "auc_pairs": [{"x": x, "ill": ill} for x, ill in SCORED],
}
UNIVERSES |= {"gini": UNIVERSES["variance"], "concordance": UNIVERSES["kendall"]}


@pytest.mark.parametrize("kind", QUERIES)
def test_one_record_moves_it_by_at_most_one_in_t(kind):
    """All neighbours among few values; the most is reached, so a smaller span would be wrong."""
    universe = UNIVERSES[kind]
    engine = PolarsEngine()
    source = query_of(QUERIES[kind]).form(SCHEMA).source

    @cache
    def unit_of(chosen):  # in any order: it is a mean over pairs
        engine.__init__()
        engine.extend(frame_of([universe[i] for i in chosen]))
        return Fraction(*engine.pair_statistic(source, len(chosen)))

    for t in (2, 3, 4, 5):
        largest = Fraction(0)
        for others in combinations_with_replacement(range(len(universe)), t - 1):
            units = [unit_of(tuple(sorted((*others, i)))) for i in range(len(universe))]
            largest = max(largest, max(units) - min(units))
            assert min(units) >= 0
            assert max(units) <= Fraction(1, 2)
        assert largest == Fraction(1, t)


# ----------------------------------------------------------------------- other libraries


def arrays(size, seed=1):
    random = np.random.default_rng(seed)
    x = random.normal(size=size)
    return x, x + random.normal(size=size), random


def test_as_scikit_learn():
    x, _, random = arrays(1024)
    scores = np.round(x, 1)  # ties
    ill = random.permutation(1024) < 512
    # So its shares are whole numbers over 512, and its doubles are exact.
    top, bottom = pairs.auc_pairs(scores[ill], scores[~ill], 1024)
    assert Fraction(top, bottom) * 1024 * 1023 / 512**2 == Fraction(roc_auc_score(ill, scores))
    for share in (0.01, 0.3, 0.98):
        ill = random.random(1024) < share
        top, bottom = pairs.auc_pairs(scores[ill], scores[~ill], 1024)
        area = Fraction(top, bottom) * 1024 * 1023 / int(ill.sum()) / int((~ill).sum())
        assert float(area) == pytest.approx(roc_auc_score(ill, scores), rel=1e-14)


@pytest.mark.parametrize("size", [2, 3, 100, 1023, 1024, 1025, 20_000])
def test_as_scipy(size):
    x, y, _ = arrays(size)
    concordant, discordant = pairs.orders(x, y)
    count = size * (size - 1) // 2
    assert concordant + discordant == count
    found = kendalltau(x, y).statistic
    assert round(found * count) == concordant - discordant
    top, bottom = pairs.kendall(x, y, size)
    assert float(4 * Fraction(top, bottom) - 1) == pytest.approx(found, rel=1e-12)
    assert Fraction(*pairs.concordance(x, y, size)) == Fraction(concordant, 2 * count)


def test_as_scipy_with_ties():
    x, y, _ = arrays(5_000)
    x, y = np.round(x, 1), np.round(y)
    concordant, discordant = pairs.orders(x, y)
    count = 5_000 * 4_999 // 2
    untied = [
        count - sum(n * (n - 1) // 2 for n in np.unique(v, return_counts=True)[1]) for v in (x, y)
    ]
    tau_b = (concordant - discordant) / (untied[0] * untied[1]) ** 0.5
    assert tau_b == pytest.approx(kendalltau(x, y).statistic, rel=1e-12)


def test_as_numpy_and_the_standard_library():
    x, _, _ = arrays(2_000)
    steps = np.round(np.abs(x) * 1e6).astype(np.int64)
    top, bottom = pairs.variance(steps, 32)
    found = Fraction(top, bottom) * 4**32
    assert found == statistics.variance([Fraction(int(step)) for step in steps])
    assert float(found) == pytest.approx(np.var(steps, ddof=1), rel=1e-12)
    frame = frame_of([{"x": float(value)} for value in 30 + 5 * x])
    assert 2500 * float(unit("variance(x, 10, 60)", frame)) == pytest.approx(
        np.var(np.clip(30 + 5 * x, 10, 60), ddof=1), rel=1e-7
    )


# -------------------------------------------------------------------------- large numbers


@pytest.mark.parametrize("largest", [2**32, 2**32 - 1, 2**16, 1])
def test_nothing_overflows(largest):
    size = 200_001  # more than six blocks of ranks
    random = np.random.default_rng(3)
    steps = largest - random.integers(0, min(largest, 1000) + 1, size)
    steps[: size // 2] = largest
    steps[size // 2 : size // 2 + 50_000] = 0
    values = sorted(map(int, steps))
    squares, total = sum(v * v for v in values), sum(values)
    assert pairs.variance(steps, 32)[0] == size * squares - total * total
    assert pairs.gini(steps, 32)[0] == sum((2 * i - size + 1) * v for i, v in enumerate(values))


def test_half_low_and_half_high_is_the_most():
    steps = np.repeat(np.array([0, 2**32]), 100_000)
    most = Fraction(200_000, 199_999) / 4
    assert Fraction(*pairs.variance(steps, 32)) == Fraction(*pairs.gini(steps, 32)) == most


def test_the_integers_are_those_of_a_mean():
    x, _, random = arrays(10_000)
    values = [None if gone else float(v) for v, gone in zip(30 + 20 * x, x > 1.5, strict=True)]
    frame = frame_of([{"x": value} for value in values])
    engine = PolarsEngine()
    engine.extend(frame)
    known = frame["x"].is_not_null().to_numpy()
    steps = pairs.on_grid(frame["x"].fill_null(0.0).to_numpy(), known, LOW, HIGH, GRID_BITS)
    for start in random.integers(0, 9_990, 50):
        [total] = engine.sums([mean("x", LOW, HIGH).measure(SCHEMA)], start, start + 7)
        assert steps[start : start + 7].sum() == total
