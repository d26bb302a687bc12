"""Queries of many numbers against the bare libraries, side by side in one run.

    .venv/bin/python benchmarks/bench_queries.py [RECORDS]      (default 10,000,000)

Times are the best of several turns that alternate, so that a busy moment hits both sides; what
counts are the ratios. Each measurement is a function of its own, listed in BENCHMARKS: it takes the
number of records and reports its lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import polars as pl
from side_by_side import compared

from surehold.data.engines import PolarsEngine
from surehold.queries import Schema, query_of

CELLS = 1_000


# -------------------------------------------------------------------------- histograms


def bench_histograms(count: int) -> None:
    """A histogram of a thousand cells, against Polars' `group_by`, which has to find them."""
    random = np.random.default_rng(1)
    codes = random.integers(0, CELLS, count)
    short = [f"item-{i:04d}" for i in range(CELLS)]
    long = [f"an item with a longer name, {i:04d}" for i in range(CELLS)]
    frame = pl.DataFrame(
        {
            "code": codes,
            "number": codes.astype(np.float64),
            "short": np.array(short)[codes],
            "long": np.array(long)[codes],
            "spend": random.random(count) * 100,
        }
    )
    engine = PolarsEngine()
    engine.extend(frame)
    schema = Schema.of(
        {
            "code": f"int in ({', '.join(map(str, range(CELLS)))})",
            "number": "float",
            "short": f"str in ({', '.join(map(repr, short))})",
            "long": f"str in ({', '.join(map(repr, long))})",
            "spend": "float",
        }
    )

    def ours(text: str) -> Callable[[], list[int]]:
        measure = query_of(text).measure(schema)
        return lambda: engine.cell_sums(measure, 0, count)

    def against_group_by(text: str, column: str, wanted: str) -> None:
        counts = sorted(frame.group_by(column).len().iter_rows())
        assert ours(text)() == [*(found for _, found in counts), 0]
        bare = frame.group_by(column).len
        compared(f"{text}, against Polars' group_by", wanted, ours(text), bare)

    against_group_by("histogram(code)", "code", "<= 1.2")
    against_group_by("histogram(short)", "short", "<= 1.2")
    against_group_by("histogram(long)", "long", "<= 1.5")
    against_group_by(f"histogram(bins(number, 0 to {CELLS} by 1))", "number", "<= 1.2")
    compared(
        "totals(spend, 0, 100, short), against Polars' group_by",
        "<= 1.5",
        ours("totals(spend, 0, 100, short)"),
        lambda: frame.group_by("short").agg(pl.col("spend").sum()),
    )


BENCHMARKS: tuple[Callable[[int], None], ...] = (bench_histograms,)


def main() -> None:
    count = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 10_000_000
    print(f"{count:,} records, Polars {pl.__version__}, {pl.thread_pool_size()} threads")
    for benchmark in BENCHMARKS:
        benchmark(count)


if __name__ == "__main__":
    main()
