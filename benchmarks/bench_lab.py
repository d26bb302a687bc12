"""The lab's sign attack against the same attack written with NumPy's matrix product.

    .venv/bin/python benchmarks/bench_lab.py [RECORDS] [FEATURES]      (default 100,000 and 2,000)

Times are the best of several turns that alternate; what counts are the ratios. The lab keeps eight
features to a byte and counts by histogram and lookup; the bare side has a matrix of float32, which
is handed to it ready. Last the whole contest, 40 repeats against all defenders, in seconds.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from side_by_side import compared, report

from surehold import lab


def main(size: int, count: int) -> None:
    features = np.arange(count)
    random = np.random.default_rng(1)
    packed = np.frombuffer(random.bytes(count // 8 * size), dtype=np.uint8).reshape(-1, size)
    truth = random.random(size) < 0.5
    signs = np.unpackbits(packed, axis=0, bitorder="little").T * np.float32(2) - 1
    label = truth * np.float32(2) - 1

    def ours() -> int:
        fresh = lab.Records(packed, truth)  # nothing counted yet
        counts = fresh.agree_counts(features, slice(0, size))
        weights = np.sign(2 * counts - size).astype(np.int32)
        return int(fresh.vote_counts(weights[None], slice(0, size))[0])

    def bare() -> int:
        weights = np.sign(label @ signs)
        return int(np.count_nonzero((signs @ weights > 0) == (label > 0)))

    assert ours() == bare()
    compared("sign attack, against two matrix products", None, ours, bare)
    memory = signs.nbytes / packed.nbytes
    report("memory of the matrix over that of the bytes", memory, None)
    for jobs in (1, 2):
        began = time.perf_counter()
        lab.run("sign", n0=size, n=size, queries=count + 1, repeats=40, jobs=jobs)
        seconds = time.perf_counter() - began
        report(f"40 repeats, all defenders, {jobs} jobs: seconds", seconds, "<= 60")


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*given, *(100_000, 2_000)[len(given) :])
