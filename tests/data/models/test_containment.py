"""Whatever a model does on some records, the others keep their values, to the last bit."""

from __future__ import annotations

import os
import signal

import numpy as np
import polars as pl
import pytest

from holdfast.data.models.payload import payload_of
from holdfast.data.models.runner import Limits, ModelRunner
from holdfast.queries import Schema

N = 3_000
WEIGHTS = np.random.default_rng(3).normal(size=8)
MATRIX = np.random.default_rng(5).normal(size=(N, 8))
FEATURES = Schema.of({f"x{j}": "float" for j in range(8)})
LIMITS = Limits(seconds_per_block=1.0, seconds_in_all=30.0, memory_bytes=1 << 28)
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
        return values, np.concatenate([result.known for result in results]), runner.gave_up


def nothing(block):
    return None


@pytest.fixture(scope="module")
def undisturbed():
    values, known, gave_up = evaluated(misbehaving(nothing), frame())
    assert known.all()
    assert not gave_up
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
        values, known, gave_up = evaluated(misbehaving(how), frame(*marked))
        assert not gave_up
        assert np.flatnonzero(~known).tolist() == marked
        assert (values[known] == undisturbed[known]).all()
        assert np.isnan(values[~known]).all()


@pytest.mark.parametrize("how", [dies, is_killed, hoards], ids=lambda how: how.__name__)
def test_a_child_that_dies_is_replaced(how, undisturbed):
    values, known, gave_up = evaluated(misbehaving(how), frame(1700), cell=16)
    assert not gave_up
    assert np.flatnonzero(~known).tolist() == [1700]
    assert (values[known] == undisturbed[known]).all()


def test_a_record_that_hangs(undisturbed):
    limits = Limits(seconds_per_block=0.3, seconds_in_all=60.0)
    values, known, gave_up = evaluated(misbehaving(hangs), frame(2000), limits, cell=16)
    assert not gave_up
    assert np.flatnonzero(~known).tolist() == [2000]
    assert (values[known] == undisturbed[known]).all()


def test_many_failing_records(undisturbed):
    marked = list(range(0, N, 7))
    values, known, _ = evaluated(misbehaving(raises), frame(*marked))
    assert np.flatnonzero(~known).tolist() == marked
    assert (values[known] == undisturbed[known]).all()


def test_a_model_that_fails_on_many_records_at_once_gives_all_their_values(undisturbed):
    weights = WEIGHTS

    def small(block):
        if len(block) > 100:
            raise MemoryError
        return block @ weights

    values, known, gave_up = evaluated(small, frame())
    assert not gave_up
    assert known.all()
    np.testing.assert_allclose(values, undisturbed, rtol=1e-12, atol=1e-12)


def test_a_child_that_ends_between_two_calls_ends_the_evaluation():
    def treacherous(block):
        import threading

        if block[:, 0].any():
            threading.Timer(0.0, os._exit, (1,)).start()
        return block[:, 0]

    limits = Limits(seconds_per_block=1.0, seconds_in_all=2.0)
    _, known, gave_up = evaluated(treacherous, frame(), limits)
    assert gave_up == (not known.any())  # a matter of luck, but never a part of them


def test_when_time_is_up_nobody_has_a_value():
    limits = Limits(seconds_per_block=0.3, seconds_in_all=1.0)
    payload = payload_of(misbehaving(hangs))
    with ModelRunner(payload, FEATURES, "labels", limits, 64) as runner:
        data = frame(*range(2000, N))
        results = [*runner.evaluate([data.head(64), data.slice(64), data.head(5)])]
        assert [len(result.known) for result in results] == [64, N - 64, 5]
        assert runner.gave_up
        assert not results[1].known.any()
        assert (results[1].values == -1).all()
        assert not results[2].known.any()
        # Another evaluation begins anew.
        [result] = runner.evaluate([frame().head(100)])
        assert result.known.all()
        assert not runner.gave_up
