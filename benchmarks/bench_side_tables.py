"""What a question with a side table costs: 1,000,000 records and 1,000,000 predictions.

Against a bare Polars join and comparison of the same frames in memory, in turn. A question is
measured once the table is kept: with nothing remembered of the table and the records, as the first
question about a run, and with what was remembered. Bringing the table (normalising, hashing,
writing and syncing it) is shown by itself.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from side_by_side import compared

import surehold as sh
from surehold.data.alignment import Alignment

COUNT = 1_000_000
TURNS = 5


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for kind in ("int", "str"):
            compare(Path(name) / kind, kind)


def compare(path: Path, kind: str) -> None:
    """Questions about one table, against the same join."""
    records, table = make(kind)
    label = pl.col("answer") == pl.col("label")

    def bare() -> float:
        joined = records.lazy().join(table.lazy(), on="id", how="left")
        return float(joined.select(label.sum() / pl.len()).collect().item())

    with sh.create(path, beta=0.05, columns={"id": kind, "label": "int"}, id="id") as dataset:
        dataset.append(records)
        dataset.load()
        session, asked = dataset.session(), iter(range(10_000))
        kept = session.keep_table(table, "run-17")

        def ask() -> None:
            session.ask(f"p.answer = label and label > {-1 - next(asked)}", tables={"p": kept})

        def first() -> None:
            dataset._data.alignment = Alignment()
            ask()

        def bring() -> None:
            session.keep_table(table)

        compared(f"{kind} ids: the first question about a table", "<= 3", first, bare, TURNS)
        compared(f"{kind} ids: the next question about it", "<= 3", ask, bare, TURNS)
        compared(f"{kind} ids: bringing it, durably", None, bring, bare, TURNS)


def make(kind: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Records and predictions in different orders, half of whose ids are the same."""
    random = np.random.default_rng(1)
    ids = random.permutation(3 * COUNT // 2)
    labels = random.integers(0, 10, COUNT)
    records = pl.DataFrame({"id": ids[:COUNT], "label": labels})
    table = pl.DataFrame({"id": random.permutation(ids[-COUNT:]), "answer": labels[::-1]})
    if kind == "str":
        named = pl.format("user-{}", "id").alias("id")
        return records.with_columns(named), table.with_columns(named)
    return records, table


if __name__ == "__main__":
    main()
