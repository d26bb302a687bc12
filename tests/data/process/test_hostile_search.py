"""A search for ONNX models by which one record moves the values of others, bit for bit.

In a soak it goes through more models, each at every limit, on more records.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnxruntime
import polars as pl
from onnx import TensorProto

from support.hostile_models import AMPLIFIED, KINDS, columns_of, hostile, neighbours, tail
from support.onnx_graphs import FLOAT, f, i, ml, model, node
from support.soak import SOAKING, length
from surehold.data.process.runner import ModelLimits, ModelRunner
from surehold.errors import InvalidInput
from surehold.models.payload import payload_of
from surehold.queries import Schema

MODELS = length(216, full=1_200)
LIMITS = {
    "default": ModelLimits(),
    "memory": ModelLimits(memory_bytes=200 << 20),
    "less memory": ModelLimits(memory_bytes=48 << 20),
    "time": ModelLimits(seconds_per_block=2.0, seconds_in_all=60.0),
}


def through_the_runner(content, columns, frames, limits):
    """The values of each frame; None if the model is refused, as it is for all of them or none."""
    try:
        with ModelRunner(payload_of(content), Schema.of(columns), "scores", limits) as runner:
            runner.check_time(frames[0].height)
            results = [result for frame in frames for result in runner.evaluate([frame])]
            return [(result.values, result.known) for result in results]
    except InvalidInput:
        return None


def moved(found, at):
    """The records whose values differ, but for the one that was replaced."""
    (values, known), (others, knew) = found
    same = (known == knew) & ((values.view(np.int64) == others.view(np.int64)).all(axis=1) | ~known)
    return [place for place in np.flatnonzero(~same).tolist() if place != at]


def search(seeds, evaluate, limits_of):
    """What became of each kind of model, and which of them moved the values of others."""
    became, guilty = Counter(), []
    for seed in seeds:
        rng = np.random.default_rng([23, seed])
        graph = hostile(seed)
        content = graph.SerializeToString()
        columns = columns_of(graph)
        count = int(rng.integers(130, length(400, full=2_001)))
        before, after, at = neighbours(rng, columns, count)
        for name in limits_of(seed):
            found = evaluate(content, columns, [before, after], LIMITS[name])
            became["refused" if found is None else "evaluated"] += 1
            if found is not None and moved(found, at):
                guilty.append((seed, name, moved(found, at)[:5]))
    return became, guilty


def test_no_record_moves_the_value_of_another():
    names = list(LIMITS)
    became, guilty = search(
        range(MODELS),
        through_the_runner,
        lambda seed: names if SOAKING else [names[seed // len(KINDS) % len(names)]],
    )
    assert guilty == []
    assert became.total() >= 200
    assert became["evaluated"] >= 100
    assert became["refused"] >= 10


def in_calls_of_many_sizes(content, columns, frames, limits):
    """What was done once: a cell with a missing value is cut up, and smaller calls give values."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def values_of(matrix):
        if len(matrix) == 1 or (len(matrix) <= 64 and not np.isnan(matrix).any()):
            return session.run(None, {"x": matrix})[0].astype(float)
        half = 64 if len(matrix) > 64 else len(matrix) // 2
        return np.concatenate([values_of(matrix[:half]), values_of(matrix[half:])])

    found = [values_of(frame.to_numpy().astype(np.float32)) for frame in frames]
    return [(values, np.isfinite(values[:, 0])) for values in found]


def test_the_search_finds_what_it_looks_for():
    tails = [seed for seed in range(MODELS) if KINDS[seed % len(KINDS)] is tail]
    _, guilty = search(tails, in_calls_of_many_sizes, lambda _: ["default"])
    assert len(guilty) >= 3


def test_a_missing_value_moves_nobody_where_a_call_on_all_records_does_not_fit():
    """1,984 records at default limits, by a model with 1,300 copies of a text for each of them.

    All of them at once take more memory than there is. Once they were called on in parts then, and
    the missing value decided in which: the last bits of others moved, and a model can make any last
    bit as large as it likes.
    """
    nodes = [
        node("Asin", "f0", "t"),
        *AMPLIFIED[:2],
        node("Sub", "m w", "d"),
        node("Concat", " ".join(["f1"] * 1_300), "c", axis=1),
        ml("OneHotEncoder", "c", "h", cats_strings=["a"], zeros=1),
        node("ReduceSum", "h last", "s", keepdims=0),
        node("Reshape", "s column", "e"),
        node("Add", "d e", "y"),
    ]
    constants = {"last": i(1, 2), "column": i(-1, 1), "much": f(1e6)}
    inputs = [("f0", FLOAT, [None, 1]), ("f1", TensorProto.STRING, [None, 1])]
    graph = model(*nodes, constants=constants, inputs=inputs, output=("y", FLOAT, [None, 1]))
    numbers, at = np.random.default_rng(1).random(1_984).tolist(), 700
    others = [*numbers[:at], None, *numbers[at + 1 :]]
    frames = [pl.DataFrame({"f0": one, "f1": ["b" * 1_000] * 1_984}) for one in (numbers, others)]
    columns = {"f0": "float", "f1": "str"}
    found = through_the_runner(graph.SerializeToString(), columns, frames, ModelLimits())
    assert [int(known.sum()) for _, known in found] == [1_984, 1_983]
    assert moved(found, at) == []
