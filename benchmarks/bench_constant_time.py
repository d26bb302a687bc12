"""Does the clock tell what records hold? One expression on records of several kinds, side by side.

    .venv/bin/python benchmarks/bench_constant_time.py [RECORDS]        (default 200,000)

For each expression the processor's time per record on seven kinds of records, the best of several
turns that take them one after the other, and the slowest over the fastest; last the public cost,
in units of about a nanosecond, which is to be at least the slowest. The first block reads no text.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

from surehold.data.engines import PolarsEngine
from surehold.queries import Schema, fraction

SCHEMA = Schema.of({"p": "bool", "x": "float", "y": "float", "s": "str", "t": "str"})
TURNS = 7
LETTERS = "x" * 990
WITHOUT_TEXTS = (
    f"upper(case when p then '{LETTERS}' else '' end) = '{LETTERS.upper()}'",
    f"length(coalesce(case when p then '{LETTERS}' end, 'a')) > 5",
    "p",
    "x > 0",
    "case when p then sqrt(x * x + 1) / 3 else y end > 1",
    "coalesce(x, y) > 1",
    "least(x, y, 3) > 1",
    "x % 7 > 3 and not p",
    "x in (1, 2, 3, 4, 5, 6, 7)",
    "cast(p as number) + x > 0",
    " + ".join(f"{i} * x" for i in range(1, 60)) + " > 1",
)
WITH_TEXTS = (
    "s = 'Oslo'",
    "s in ('Oslo', 'Rome', 'Bonn', 'Lima', 'Kyiv')",
    "lower(s) = 'oslo'",
    "s = 'Trondheim-Heimdal-Nord'",
    "s < 'Oslo'",
    "starts_with(s, 'Os')",
    "starts_with(upper(s), 'OSLO-')",
    "ends_with(s, 'lo')",
    "contains(lower(s), 'slo-x')",
    "length(s) > 3",
    "cast(s as number) > 3",
    "s = t",
    "upper(case when p then s else t end) < 'OSLO'",
)


def frames(count: int) -> dict[str, pl.DataFrame]:
    """Records for which conditions are true, false, true of half in order or not, null; long."""
    random = np.random.default_rng(1)
    coin = random.random(count) < 0.5
    truths = {
        "true": np.ones(count, bool),
        "false": np.zeros(count, bool),
        "half": np.arange(count) < count // 2,
        "random": coin,
        "null": coin,
        "long": coin,
        "digits": coin,
    }
    numbers = np.abs(random.normal(0.0, 10.0, count))
    found = {}
    for kind, met in truths.items():
        short = np.where(met, "Oslo", "Berg")
        texts = {
            "long": np.where(met, "Oslo-" + "x" * 251, "Berg-" + "x" * 251),
            "digits": np.full(count, "1" * 30 + "." + "1" * 30 + "e-99"),
        }.get(kind, short)
        frame = pl.DataFrame(
            {
                "p": met,
                "x": np.where(met, numbers, -numbers),
                "y": numbers,
                "s": texts,
                "t": texts[::-1].copy(),
            }
        )
        found[kind] = frame.clear(count) if kind == "null" else frame
    return found


def main() -> None:
    count = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 200_000
    engines = {}
    for kind, frame in frames(count).items():
        engines[kind] = PolarsEngine()
        engines[kind].extend(frame)
    print(f"{count:,} records; ns of a processor per record")
    print(f"{'':<46} {' '.join(f'{kind:>7}' for kind in engines)}   ratio   cost")
    for block in (WITHOUT_TEXTS, WITH_TEXTS):
        for text in block:
            measure = fraction(text).measure(SCHEMA)
            best = dict.fromkeys(engines, float("inf"))
            for _ in range(TURNS):
                for kind, engine in engines.items():
                    start = time.process_time()
                    engine.sums([measure], 0, count)
                    best[kind] = min(best[kind], time.process_time() - start)
            shown = " ".join(f"{1e9 * seconds / count:7.1f}" for seconds in best.values())
            ratio = max(best.values()) / min(best.values())
            short = text if len(text) <= 46 else f"{text[:43]}..."
            print(f"{short:<46} {shown}   {ratio:5.2f} {measure.cost:6,}", flush=True)
        print()


if __name__ == "__main__":
    main()
