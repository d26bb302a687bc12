"""What is said to be true of a population, against all its records and against those it gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from support.lab_worlds import enumerated, every_kind, holds, unpacked
from surehold.errors import InvalidInput
from surehold.lab import (
    Ablations,
    Agreements,
    Coins,
    Joints,
    Listed,
    Lookups,
    Memberships,
    Records,
    Votes,
)
from surehold.lab.populations import ORDERS
from surehold.lab.records import CELL_BITS, CELLS

EDGES = (0.3, -0.2, 0.0, 0.05, -0.5, 0.5, 0.1, 0.0, 0.25, -0.1, 0.02)  # eleven: no whole bytes

edge = st.one_of(st.just(0.0), st.floats(-0.5, 0.5))


# ------------------------------------------------------------------------------ what is true


@given(
    edges=st.lists(edge, max_size=10),
    extra=st.integers(0, 3),
    weights=st.lists(st.lists(st.integers(-6, 6), min_size=10, max_size=10), min_size=1),
    used=st.integers(1, 10),
    beyond=st.one_of(st.none(), st.integers(-70, 70)),
)
def test_votes_are_true_as_often_as_over_all_records(edges, extra, weights, used, beyond):
    features = max(len(edges) + extra, used)
    votes = Votes(np.array(weights)[:, :used], beyond)
    # Features beyond those that vote add up to 1, so they need not be enumerated.
    padded = [*edges, *[0.0] * used][:used]
    truth = Coins(features, tuple(edges)).truth(votes)
    assert truth == pytest.approx(enumerated(votes, padded), abs=1e-13)


@given(
    edges=st.lists(edge, max_size=10),
    weights=st.lists(st.integers(-6, 6), min_size=1, max_size=10),
    rows=st.lists(st.integers(0, 1), min_size=1, max_size=3),
)
def test_ablated_votes_are_true_as_often_as_over_all_records(edges, weights, rows):
    rows = [row for row in rows if 8 * row < len(weights)] or [0]
    ablations = Ablations(np.array(weights, dtype=np.int32), np.array(rows))
    padded = [*edges, *[0.0] * 10][: len(weights)]
    truth = Coins(10, tuple(edges)).truth(ablations)
    assert truth == pytest.approx(enumerated(ablations, padded), abs=1e-13)


@given(
    edges=st.lists(edge, max_size=10),
    weights=st.lists(st.integers(-6, 6), min_size=1, max_size=9),
    apart=st.lists(st.integers(0, 9), min_size=1),
)
def test_joint_questions_are_true_as_often_as_over_all_records(edges, weights, apart):
    weights = np.array([0 if j in apart else w for j, w in enumerate(weights)], dtype=np.int32)
    joints = Joints(weights, np.array(apart))
    padded = [*edges, *[0.0] * 10][:10]
    truth = Coins(10, tuple(edges)).truth(joints)
    assert truth == pytest.approx(enumerated(joints, padded), abs=1e-13)


def test_a_joint_question_about_a_feature_of_the_vote_is_refused():
    with pytest.raises(ValueError, match="has a part in the vote"):
        Joints(np.array([1, 0], dtype=np.int32), np.array([1, 0]))


@given(edges=st.lists(edge, max_size=10), features=st.lists(st.integers(0, 9), max_size=5))
def test_single_features_are_true_as_often_as_over_all_records(edges, features):
    padded = [*edges, *[0.0] * 10][:10]
    for kind in (Agreements, Memberships):
        questions = kind(np.array(features, dtype=np.intp))
        truth = Coins(10, tuple(edges)).truth(questions)
        assert truth == pytest.approx(enumerated(questions, padded), abs=1e-13)


@pytest.mark.parametrize("edges", [(), EDGES, (*EDGES, 0.4), (*EDGES, 0.4, 0.3, 0.2)])
def test_lookups_are_true_as_often_as_over_all_records(edges):
    random = np.random.default_rng(1)
    predictions = random.random((20, CELLS)) < np.linspace(0.0, 1.0, 20)[:, None]
    truth = Coins(16, edges).truth(Lookups(predictions))
    padded = [*edges, *[0.0] * CELL_BITS][:CELL_BITS]
    assert truth == pytest.approx(enumerated(Lookups(predictions), padded), abs=1e-13)


def test_votes_of_thousands_of_coins_are_right_half_of_the_time():
    weights = np.random.default_rng(2).integers(-100, 101, size=(3, 2_000))
    assert Coins(2_000).truth(Votes(weights)).tolist() == [0.5, 0.5, 0.5]


def test_a_vote_of_many_useful_features_agrees_with_the_normal_law():
    truth = Coins(401, (0.02,) * 401).truth(Votes(np.ones((1, 401), dtype=np.int32)))
    spread = 2.0 * np.sqrt(401 * (0.25 - 0.02**2))
    assert truth[0] == pytest.approx(norm.cdf(2 * 0.02 * 401 / spread), abs=1e-3)


# ------------------------------------------------------------------------------ what is drawn


def largest_z(population, truth, seed, count=20_000):
    """Of all questions, the largest distance of a count from its expectation, in deviations."""
    random = np.random.default_rng(seed)
    records = population.draw(count, random)
    assert len(records) == count
    signs, label = unpacked(records)
    largest = 0.0
    for questions in every_kind(random, population.features):
        chances = truth(questions)
        counts = holds(questions, signs, label).sum(axis=1)
        spread = np.sqrt(count * chances * (1.0 - chances)) + 1e-9
        largest = max(largest, np.abs((counts - count * chances) / spread).max())
    return largest


MOST = float(norm.isf(1e-6 / 100 / 2))  # chance goes beyond it once in a million


@pytest.mark.parametrize("edges", [(), EDGES, EDGES[:3], (*EDGES, *EDGES)])
@pytest.mark.parametrize("features", [12, 16, 21])
def test_records_are_drawn_from_the_population(edges, features):
    population = Coins(features, edges)
    assert largest_z(population, population.truth, seed=features) < MOST


def test_records_of_another_population_would_be_noticed():
    turned = Coins(12, (*EDGES[:-1], -0.02))
    mistaken = Coins(12, EDGES)
    assert largest_z(turned, mistaken.truth, seed=1) > MOST


def test_coins_that_fill_up_a_byte_are_fair():
    records = Coins(3).draw(20_000, np.random.default_rng(1))
    counts = records.true_counts(np.arange(8), slice(0, 20_000))
    assert (np.abs(counts - 10_000) < MOST * np.sqrt(5_000)).all()


def test_features_are_independent_given_the_label():
    records = Coins(12, EDGES).draw(40_000, np.random.default_rng(5))
    signs, label = unpacked(records)
    agree = (signs == label[:, None])[:, [0, 1, 3, 8, 9, 10, 11]].astype(float)
    correlations = np.corrcoef(np.column_stack([agree, label]), rowvar=False)
    off = correlations[~np.eye(len(correlations), dtype=bool)]
    assert np.abs(off).max() < MOST / np.sqrt(40_000)


# ----------------------------------------------------------------------------------- tables


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(8)
    return Records.of(random.random((500, 20)) < 0.3, random.random(500) < 0.7)


def rows_of(records):
    signs, label = unpacked(records)
    return [tuple(row) for row in np.column_stack([signs, label]).tolist()]


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_true_of_a_table_is_counted(table, order):
    population = Listed(table, order)
    assert population.features == 24
    signs, label = unpacked(table)
    for questions in every_kind(np.random.default_rng(1), 24):
        assert (population.truth(questions) == holds(questions, signs, label).mean(axis=1)).all()


def test_in_order_of_arrival_records_come_as_they_stand(table):
    drawn = Listed(table, "arrival").draw(200, np.random.default_rng(1))
    assert rows_of(drawn) == rows_of(table)[:200]


def test_shuffled_records_come_once_each_in_another_order(table):
    population = Listed(table, "shuffled")
    drawn = rows_of(population.draw(500, np.random.default_rng(1)))
    assert sorted(drawn) == sorted(rows_of(table))
    assert drawn != rows_of(table)
    assert drawn != rows_of(population.draw(500, np.random.default_rng(2)))
    fewer = population.draw(200, np.random.default_rng(1))
    assert rows_of(fewer) == drawn[:200]


def test_resampled_records_are_drawn_again_and_again(table):
    population = Listed(table)
    drawn = population.draw(20_000, np.random.default_rng(3))
    assert set(rows_of(drawn)) == set(rows_of(table))
    assert largest_z(population, population.truth, seed=3) < MOST


@pytest.mark.parametrize("order", ["shuffled", "arrival"])
def test_a_table_does_not_give_more_records_than_it_has(table, order):
    population = Listed(table, order)
    assert len(population.draw(500, np.random.default_rng(1))) == 500
    with pytest.raises(InvalidInput, match="at most 500 records") as raised:
        population.draw(501, np.random.default_rng(1))
    assert raised.value.parameter == "n"
    assert raised.value.got == 501


@pytest.mark.parametrize("population", [Coins(13), Coins(13, EDGES), "resampled", "shuffled"])
def test_the_same_seed_draws_the_same(table, population):
    if isinstance(population, str):
        population = Listed(table, population)
    first, again, other = (
        rows_of(population.draw(300, np.random.default_rng(seed))) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
