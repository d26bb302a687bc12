"""Counts of packed records against counting truth values one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.lab_worlds import every_kind, holds, unpacked
from surehold.lab import Agreements, Lookups, Memberships, Records, Votes
from surehold.lab.records import CELL_BITS, CELLS

seeds = st.integers(0, 2**32 - 1)


@st.composite
def parts(draw, most=40):
    return slice(draw(st.integers(0, most)), draw(st.integers(0, most)), draw(st.integers(1, 5)))


@given(seed=seeds, count=st.integers(1, 40), features=st.integers(12, 29), part=parts())
def test_every_class_of_questions_counts_what_it_says(seed, count, features, part):
    random = np.random.default_rng(seed)
    signs, label = random.random((count, features)) < 0.5, random.random(count) < 0.5
    records = Records.of(signs, label)
    for questions in every_kind(random, features):
        expected = holds(questions, signs[part], label[part]).sum(axis=1)
        for _ in range(2):  # the second time from memory
            assert questions.counts(records, part).tolist() == expected.tolist()


@given(seed=seeds, features=st.integers(1, 40), part=parts())
def test_features_that_fill_up_a_byte_are_false(seed, features, part):
    signs = np.random.default_rng(seed).random((30, features)) < 0.5
    records = Records.of(signs, signs[:, 0])
    assert records.features == 8 * -(-features // 8)
    filled, label = unpacked(records)
    assert (filled[:, :features] == signs).all()
    assert not filled[:, features:].any()
    everything = np.arange(records.features)
    counts = records.true_counts(everything, part)
    assert counts.tolist() == filled[part].sum(axis=0).tolist()
    counts = records.agree_counts(everything, part)
    assert counts.tolist() == (filled == label[:, None])[part].sum(axis=0).tolist()


def test_what_is_remembered_of_one_question_is_not_told_of_another():
    random = np.random.default_rng(3)
    signs, label = random.random((60, 16)) < 0.5, random.random(60) < 0.5
    records = Records.of(signs, label)
    some = [q for _ in range(4) for q in every_kind(random, 16)]
    slices = [slice(a, b, c) for a in (0, 1, 8) for b in (40, 60) for c in (1, 2)]
    for _ in range(2):
        for part in slices:
            for questions in some:
                expected = holds(questions, signs[part], label[part]).sum(axis=1)
                assert questions.counts(records, part).tolist() == expected.tolist()


def test_counts_that_are_handed_out_can_be_overwritten():
    records = Records.of(np.ones((5, 16), dtype=bool), np.ones(5, dtype=bool))
    every = (
        Agreements(np.arange(3)),
        Memberships(np.arange(3)),
        Votes(np.ones((1, 4))),
        Lookups(np.ones((1, CELLS), dtype=bool)),
    )
    for questions in every:
        counts = questions.counts(records, slice(0, 5))
        counts += 100
        assert (questions.counts(records, slice(0, 5)) == 5).all()


@given(seed=seeds, places=st.lists(st.integers(0, 19), max_size=30))
def test_taken_records_come_in_that_order_and_as_often(seed, places):
    random = np.random.default_rng(seed)
    signs, label = random.random((20, 17)) < 0.5, random.random(20) < 0.5
    records = Records.of(signs, label)
    records.true_counts(np.arange(17), slice(0, 20))  # what is known of all is not said of some
    taken = records.take(np.array(places, dtype=np.intp))
    assert len(taken) == len(places)
    if places:
        found_signs, found_label = unpacked(taken)
        assert (found_signs[:, :17] == signs[places]).all()
        assert (found_label == label[places]).all()
        expected = signs[places].sum(axis=0)
        assert taken.true_counts(np.arange(17), slice(0, len(places))).tolist() == expected.tolist()


@given(seed=seeds, count=st.integers(0, 9), start=st.integers(0, 9))
def test_some_of_the_questions_are_those_at_their_places(seed, count, start):
    random = np.random.default_rng(seed)
    signs, label = random.random((25, 14)) < 0.5, random.random(25) < 0.5
    records, part = Records.of(signs, label), slice(0, 25)
    for questions in every_kind(random, 14):
        everything = questions.counts(records, part)
        assert len(questions) == len(everything)
        assert questions[:count].counts(records, part).tolist() == everything[:count].tolist()
        for places in (slice(start, None), slice(1, 2)):
            some = questions[places].counts(records, part)
            assert some.tolist() == everything[places].tolist()


def test_a_score_of_nothing_says_that_the_label_is_false():
    records = Records.of([[True, False]], [False])
    tied = Votes(np.array([[1, 1]]))
    assert tied.counts(records, slice(0, 1)).tolist() == [1]
    assert Votes(tied.weights, beyond=0).counts(records, slice(0, 1)).tolist() == [0]
    assert Votes(tied.weights, beyond=-1).counts(records, slice(0, 1)).tolist() == [1]


def test_cells_are_the_first_twelve_features_lowest_first():
    signs = np.zeros((CELL_BITS, 16), dtype=bool)
    signs[np.arange(CELL_BITS), np.arange(CELL_BITS)] = True
    signs[:, CELL_BITS:] = True  # these do not matter
    records = Records.of(signs, np.ones(CELL_BITS, dtype=bool))
    for place in range(CELL_BITS):
        predictions = np.zeros((1, CELLS), dtype=bool)
        predictions[0, 1 << place] = True
        counts = Lookups(predictions).counts(records, slice(0, CELL_BITS))
        assert counts.tolist() == [1]


@pytest.mark.parametrize("weight", [2**20, -(2**20)])
def test_large_weights_do_not_overflow(weight):
    signs = np.array([[True] * 16, [False] * 16])
    records = Records.of(signs, [True, False])
    counts = Votes(np.full((1, 16), weight)).counts(records, slice(0, 2))
    assert counts.tolist() == [2 if weight > 0 else 0]
