"""Whatever a model does on some records, the others keep their values, to the last bit."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

import numpy as np
import polars as pl
import pytest

from surehold.data.process.runner import ModelLimits, ModelRunner
from surehold.errors import EvaluationFailed, InvalidInput
from surehold.models.payload import payload_of
from surehold.queries import Schema

N = 3_000
WEIGHTS = np.random.default_rng(3).normal(size=8)
MATRIX = np.random.default_rng(5).normal(size=(N, 8))
FEATURES = Schema.of({f"x{j}": "float" for j in range(8)})
LIMITS = ModelLimits(seconds_per_block=1.0, memory_bytes=1 << 28)
MARK = 1e6
"""In the first column: the record on which a model misbehaves."""


def frame(*marked):
    matrix = MATRIX.copy()
    matrix[list(marked), 0] = MARK
    return pl.DataFrame({f"x{j}": matrix[:, j] for j in range(8)})


def misbehaving(how):
    """A linear model that does something when it meets a marked record."""
    weights, mark = WEIGHTS, MARK

    def model(block):
        if (block[:, 0] == mark).any():
            found = how(block)
            if found is not None:
                return found
        return block @ weights

    return model


def evaluated(model, data, limits=LIMITS, cell=1024, want="scores", size=1500):
    with ModelRunner(payload_of(model), FEATURES, want, limits, cell) as runner:
        blocks = [data.slice(start, size) for start in range(0, data.height, size)]
        results = list(runner.evaluate(blocks))
        values = np.concatenate([result.values for result in results])
        return values, np.concatenate([result.known for result in results])


def nothing(block):
    return None


@pytest.fixture(scope="module")
def undisturbed():
    values, known = evaluated(misbehaving(nothing), frame())
    assert known.all()
    return values


def raises(block):
    raise ValueError(f"I saw {block}")


def leaves(block):
    raise SystemExit(3)


def is_short(block):
    return np.zeros(len(block) - 1)


def is_a_sum(block):
    return block.sum()


def is_nan(block):
    return np.where(block[:, 0] == MARK, np.nan, block @ WEIGHTS)


def yields(block):
    return (row.sum() for row in block)


def is_text(block):
    return np.full(len(block), "0.5")


def is_complex(block):
    return np.zeros(len(block), complex)


def is_infinite(block):
    return np.where(block[:, 0] == MARK, -np.inf, block @ WEIGHTS)


def dies(block):
    os._exit(1)


def is_killed(block):
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(block):
    while True:
        pass


def hoards(block):
    kept = []
    while True:
        kept.append(np.ones(1 << 24))


QUICK = [raises, leaves, is_short, is_a_sum, yields, is_text, is_complex, is_infinite, is_nan]


@pytest.mark.parametrize("how", QUICK, ids=lambda how: how.__name__)
def test_only_the_records_that_fail_lose_their_value(how, undisturbed):
    for marked in ([0], [2999], [17, 18, 1499, 1500, 2900]):
        values, known = evaluated(misbehaving(how), frame(*marked))
        assert np.flatnonzero(~known).tolist() == marked
        assert (values[known] == undisturbed[known]).all()
        assert np.isnan(values[~known]).all()


@pytest.mark.parametrize("how", [dies, is_killed, hoards], ids=lambda how: how.__name__)
def test_a_child_that_dies_is_replaced(how, undisturbed):
    values, known = evaluated(misbehaving(how), frame(1700), cell=16)
    assert np.flatnonzero(~known).tolist() == [1700]
    assert (values[known] == undisturbed[known]).all()


def test_a_record_that_hangs(undisturbed):
    limits = ModelLimits(seconds_per_block=0.3)
    values, known = evaluated(misbehaving(hangs), frame(2000), limits, cell=16)
    assert np.flatnonzero(~known).tolist() == [2000]
    assert (values[known] == undisturbed[known]).all()


def test_many_failing_records(undisturbed):
    marked = list(range(0, N, 7))
    values, known = evaluated(misbehaving(raises), frame(*marked))
    assert np.flatnonzero(~known).tolist() == marked
    assert (values[known] == undisturbed[known]).all()


def test_a_model_that_fails_on_many_records_at_once_is_given_one_at_a_time(undisturbed):
    weights = WEIGHTS

    def small(block):
        if len(block) > 100:
            raise MemoryError
        return block @ weights

    values, known = evaluated(small, frame().head(300))
    assert known.all()
    np.testing.assert_allclose(values, undisturbed[:300], rtol=1e-12, atol=1e-12)


def test_values_come_from_calls_of_one_shape_only():
    """A cell that fails for a reason that no record by itself is: each gets a cell of copies."""

    def crowded(block):
        # Two marked records that differ are too much for it, or two and a bad one.
        if len(np.unique(block[block[:, 0] == MARK], axis=0)) > 1:
            raise MemoryError
        return np.full(len(block), float(len(block)))

    values, known = evaluated(crowded, frame(3, 8), cell=16)
    assert known.all()
    assert (values == 16).all()


def test_values_with_a_bad_record_and_a_crowd_are_of_one_shape():
    def crowded(block):
        marked = block[block[:, 0] == MARK]
        if len(np.unique(marked, axis=0)) > 1 or (block[:, 1] == MARK).any():
            raise MemoryError
        return np.full(len(block), float(len(block)))

    data = frame(3, 8)
    bad = data.with_columns(x1=pl.when(pl.int_range(pl.len()) == 5).then(MARK).otherwise("x1"))
    values, known = evaluated(crowded, bad, cell=16)
    assert np.flatnonzero(~known).tolist() == [5]
    assert (values[known] == 16).all()


def test_a_record_in_a_cell_of_copies_has_the_value_of_its_place():
    def placed(block):
        marked = block[block[:, 0] == MARK]
        if len(np.unique(marked, axis=0)) > 1:
            raise MemoryError
        return block[:, 2] + np.arange(len(block))

    whole, _ = evaluated(placed, frame(3), cell=16)
    values, known = evaluated(placed, frame(3, 8), cell=16)
    assert known.all()
    assert (values == whole).all()


def test_a_child_that_ends_between_two_calls_ends_the_evaluation():
    def treacherous(block):
        import threading

        if block[:, 0].any():
            threading.Timer(0.0, os._exit, (1,)).start()
            time.sleep(0.001)
        return block[:, 0]

    with suppress(EvaluationFailed):  # a matter of luck
        evaluated(treacherous, frame().head(2), ModelLimits(seconds_per_block=1.0), cell=2)


def test_records_that_hang_cost_nobody_else_anything(undisturbed):
    """However many: each has its own time, and there is no time for all of them to use up."""
    limits = ModelLimits(seconds_per_block=0.3)
    marked = [5, 6, 2999]
    values, known = evaluated(misbehaving(hangs), frame(*marked), limits, cell=16)
    assert np.flatnonzero(~known).tolist() == marked
    assert (values[known] == undisturbed[known]).all()


def test_own_code_is_refused_unless_every_record_may_fail():
    payload = payload_of(misbehaving(nothing))
    limits = ModelLimits(seconds_per_block=1.0, seconds_in_all=3_000.0)
    with ModelRunner(payload, FEATURES, "scores", limits, 64) as runner:
        with pytest.raises(InvalidInput, match="leave out seconds_in_all") as caught:
            runner.check_time(N)
        assert "3,000 records" in str(caught.value)
        runner.check_time(100)
    with ModelRunner(payload, FEATURES, "scores", ModelLimits(), 64) as runner:
        runner.check_time(10**9)


def test_texts_of_any_length():
    """A long one neither moves another record to another place nor fills the memory."""
    features = Schema.of({"x": "str"})
    places = lambda batch: np.arange(len(batch), dtype=float)  # noqa: E731
    with ModelRunner(payload_of(places, "arrow"), features, "scores") as runner:
        found = []
        for text in ("a", "a" * (1 << 29), None):
            [result] = runner.evaluate([pl.DataFrame({"x": ["b"] * 9_000 + [text]})])
            found.append(result.values)
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
