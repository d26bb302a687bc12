"""Statistics over pairs of records against scikit-learn, SciPy and NumPy, side by side in one run.

    .venv/bin/python benchmarks/bench_pairs.py [RECORDS]      (default 1,000,000)

Times are the best of several turns that alternate, so that a busy moment hits both sides; what
counts are the ratios. "from records" includes the expressions, which the others do not have.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from holdfast.data import pairs
from holdfast.data.engines import PolarsEngine
from holdfast.queries import Schema, query_of

SCHEMA = Schema.of({"x": "float", "y": "float", "ill": "bool"})


def best(turns: int, *sides: Callable[[], object]) -> list[float]:
    """The best time of each side, taking turns."""
    times = [float("inf")] * len(sides)
    for _ in range(turns):
        for i, side in enumerate(sides):
            start = time.perf_counter()
            side()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def report(what: str, ours: float, theirs: float, wanted: float | None = None) -> None:
    ratio = ours / theirs
    mark = "    " if wanted is None else "ok  " if ratio <= wanted else "MISS"
    limit = "" if wanted is None else f"(wanted <= {wanted})"
    print(
        f"{mark}  {what:<58} {ratio:6.3f} {limit:<16} {ours * 1e3:8.1f} ms, {theirs * 1e3:.1f} ms"
    )


def main(size: int) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=size)
    y = x + random.normal(size=size)
    ill = random.random(size) < 1 / (1 + np.exp(-x))
    engine = PolarsEngine()
    engine.extend(pl.DataFrame({"x": x, "y": y, "ill": ill}))

    def asked(text: str) -> Callable[[], object]:
        source = query_of(text).form(SCHEMA).source
        return lambda: engine.pair_statistic(source, size)

    for name, scores in (("", x), (", many ties", np.round(x, 1))):
        ours, theirs = best(
            7,
            lambda scores=scores: pairs.auc_pairs(scores[ill], scores[~ill], size),
            lambda scores=scores: roc_auc_score(ill, scores),
        )
        report(f"AUC{name}, against roc_auc_score", ours, theirs, 1.5)
    ours, theirs = best(7, asked("auc_pairs(x, ill)"), lambda: roc_auc_score(ill, x))
    report("AUC from records, against roc_auc_score", ours, theirs, 1.5)
    ours, theirs = best(5, lambda: pairs.kendall(x, y, size), lambda: kendalltau(x, y))
    report("Kendall's tau, against kendalltau", ours, theirs)
    ours, theirs = best(5, asked("kendall(x, y)"), lambda: kendalltau(x, y))
    report("Kendall's tau from records, against kendalltau", ours, theirs)
    ours, theirs = best(7, asked("variance(x, -3, 3)"), lambda: np.var(np.clip(x, -3, 3), ddof=1))
    report("variance from records, against NumPy's clip and var", ours, theirs)
    ours, theirs = best(7, asked("gini(x, -3, 3)"), lambda: np.sort(np.clip(x, -3, 3)))
    report("Gini's difference from records, against clip and sort", ours, theirs)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
