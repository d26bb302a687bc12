"""Models scored on guarded records against the bare estimator, side by side in one run.

    .venv/bin/python benchmarks/bench_models.py [RECORDS]      (default 1,000,000)

The bare side has its matrix ready and predicts in this process; ours reads the records' columns,
evaluates in another process, looks up the target and adds up whole numbers.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from side_by_side import best, compared, report
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import surehold as sh
from surehold.data.scores import score_pairs, score_sums
from surehold.queries import Schema

FEATURES = [f"f{i}" for i in range(8)]
ASKED = {"features": FEATURES, "target": "y"}


def main(size: int) -> None:
    random = np.random.default_rng(1)
    matrix = random.normal(size=(size, len(FEATURES)))
    y = matrix[:, 0] + random.normal(size=size) > 0
    columns = {name: np.ascontiguousarray(matrix[:, at]) for at, name in enumerate(FEATURES)}
    frame = pl.DataFrame({**columns, "y": y})
    schema = Schema.of({**dict.fromkeys(FEATURES, "float"), "y": "bool"})
    model = LogisticRegression().fit(matrix[:20_000], y[:20_000])
    print(f"{size:,} records of {len(FEATURES)} features")

    accuracy = sh.accuracy(model, **ASKED).form(schema).source
    assert score_sums(accuracy, frame) == [int((model.predict(matrix) == y).sum())]
    compared(
        "accuracy of a logistic regression, against predict",
        "<= 1.2",
        lambda: score_sums(accuracy, frame),
        lambda: (model.predict(matrix) == y).sum(),
        turns=15,
    )
    compared(
        "its AUC, against predict_proba and roc_auc_score",
        "<= 1.5",
        lambda: score_pairs(accuracy, frame),
        lambda: roc_auc_score(y, model.predict_proba(matrix)[:, 1]),
        turns=5,
    )
    loops(matrix, y, frame)


def loops(matrix: np.ndarray, y: np.ndarray, frame: pl.DataFrame) -> None:
    """A loop over models, each new, as an analyst runs it, and again after growth."""
    size = frame.height
    plan = sh.plan(n0=size // 2, n=2 * size, alpha=0.05, beta=0.05)
    models = [
        LogisticRegression(C=10.0**-k).fit(matrix[:2000], y[:2000]) for k in np.linspace(0, 4, 12)
    ]
    with tempfile.TemporaryDirectory() as folder:
        types = {**dict.fromkeys(FEATURES, "float"), "y": "bool"}
        with sh.create(Path(folder) / "data", plan=plan, columns=types) as dataset:
            dataset.append(frame)
            session = dataset.session()
            session.ask(sh.accuracy(models[0], **ASKED))  # starts the processes
            session.ask(sh.accuracy(models[1], **ASKED))
            loop = iter(models[2:])
            ours, bare = best(
                10,
                lambda: session.ask(sh.accuracy(next(loop), **ASKED)),
                lambda: (models[2].predict(matrix) == y).sum(),
            )
            report("a new model, asked, against predict", ours / bare, None, f"{ours * 1e3:.0f} ms")
            dataset.append(frame.head(size // 100), again=True)
            [again] = best(1, lambda: session.ask(sh.accuracy(models[-1], **ASKED)))
            [scratch] = best(1, lambda: (models[2].predict(matrix) == y).sum())
            detail = f"{again * 1e3:.0f} ms"
            report("the same model after 1 % more records", again / scratch, None, detail)


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 1_000_000)
