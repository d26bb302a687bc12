"""Statistics over pairs of records against scikit-learn, SciPy and NumPy, side by side in one run.

    .venv/bin/python benchmarks/bench_pairs.py [RECORDS]      (default 1,000,000)

Times are the best of several turns that alternate, so that a busy moment hits both sides; what
counts are the ratios. "from records" includes the expressions, which the others do not have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from scipy.stats import kendalltau
from side_by_side import compared
from sklearn.metrics import roc_auc_score

from surehold.data import pairs
from surehold.data.engines import PolarsEngine
from surehold.queries import Schema, query_of

SCHEMA = Schema.of({"x": "float", "y": "float", "ill": "bool"})


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
        compared(
            f"AUC{name}, against roc_auc_score",
            "<= 1.5",
            lambda scores=scores: pairs.auc_pairs(scores[ill], scores[~ill], size),
            lambda scores=scores: roc_auc_score(ill, scores),
        )
    auc, tau = asked("auc_pairs(x, ill)"), asked("kendall(x, y)")
    compared("AUC from records, against it", "<= 1.5", auc, lambda: roc_auc_score(ill, x))
    ours = partial(pairs.kendall, x, y, size)
    compared("Kendall's tau, against kendalltau", None, ours, lambda: kendalltau(x, y), turns=5)
    compared("Kendall's tau from records, against it", None, tau, lambda: kendalltau(x, y), turns=5)
    cut = partial(np.clip, x, -3, 3)
    spread, difference = asked("variance(x, -3, 3)"), asked("gini(x, -3, 3)")
    compared("variance from records, against clip and var", None, spread, lambda: np.var(cut()))
    compared("Gini from records, against clip and sort", None, difference, lambda: np.sort(cut()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
