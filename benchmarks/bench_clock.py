"""Does the clock tell what records hold? The time of a query against the share of records it meets.

    .venv/bin/python benchmarks/bench_clock.py [RECORDS]        (default 4,000,000)

For each query, records are made for which it is true with probability p; the best time of several
turns should not depend on p. Shown are the times, and the largest over the smallest.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

from surehold.data.engines import PolarsEngine
from surehold.queries import Schema, fraction

SHARES = (0.01, 0.25, 0.5, 0.75, 0.99)
LONG, OTHER = "Trondheim-Heimdal-Nord", "Bergen-Fana-Nesttun-Syd"
SCHEMA = Schema.of({"x": "float", "y": "float", "short": "str", "long": "str"})
QUERIES = (
    "x > 0",
    "x > 0 and x < 5 or x = 3",
    "case when x > 0 then sqrt(x * x + 1) / 3 else 0 end > 1",
    "coalesce(sqrt(x), 5) > 1",
    "y is not null",
    "y + 1 > 0",
    "short = 'Oslo'",
    f"long = '{LONG}'",
    "starts_with(short, 'Os')",
    "short < 'Oslo'",
)


def engine_of(count: int, share: float) -> PolarsEngine:
    random = np.random.default_rng(1)
    meets = random.random(count) < share
    known = pl.when(pl.Series(meets)).then(pl.lit(1.0))
    frame = pl.DataFrame(
        {
            "x": np.where(meets, 1.0, -1.0),
            "short": np.where(meets, "Oslo", "Berg"),
            "long": np.where(meets, LONG, OTHER),
        }
    ).with_columns(y=known)
    engine = PolarsEngine()
    engine.extend(frame.select("x", "y", "short", "long"))
    return engine


def main() -> None:
    count = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 4_000_000
    engines = [engine_of(count, share) for share in SHARES]
    print(f"{count:,} records; best times in ms at p = {', '.join(map(str, SHARES))}")
    for text in QUERIES:
        measure = [fraction(text).measure(SCHEMA)]
        best = [float("inf")] * len(engines)
        for _ in range(15):
            for i, engine in enumerate(engines):
                start = time.perf_counter()
                engine.sums(measure, 0, count)
                best[i] = min(best[i], time.perf_counter() - start)
        shown = "  ".join(f"{1e3 * seconds:6.2f}" for seconds in best)
        print(f"{text:<56} {shown}   {max(best) / min(best):5.2f}")


if __name__ == "__main__":
    main()
