"""Side tables beside records, against a plain Polars join; and that the work is the same."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehold.data import alignment
from surehold.data.alignment import Alignment, Keys, TableRows, keys_of, place
from surehold.data.known_sums import BLOCK
from surehold.queries.side_tables import qualify

WHOLE = st.integers(-(2**63), 2**63 - 1)
FEW = st.integers(0, 30)
TEXT = st.text(max_size=5)
SEVERAL = st.sampled_from([WHOLE, FEW, TEXT]).flatmap(
    lambda one: st.tuples(
        st.lists(one, unique=True, max_size=40), st.lists(one, unique=True, min_size=1, max_size=40)
    )
)
REFERENCE = "table:" + "0" * 64


def table_of(ids: list[object]) -> pl.DataFrame:
    size = len(ids)
    return pl.DataFrame(
        {
            "id": ids,
            "number": [None if i % 5 == 3 else i / 7 for i in range(size)],
            "whole": [None if i % 4 == 1 else i - 3 for i in range(size)],
            "truth": [None if i % 3 == 2 else i % 2 == 0 for i in range(size)],
            "text": [None if i % 6 == 5 else f"text {i} " * (i % 4) for i in range(size)],
        }
    )


def beside(found: Alignment, ids: pl.Series, frame: pl.DataFrame) -> pl.DataFrame:
    names = [name for name in frame.columns if name != "id"]
    columns = [qualify(f"{REFERENCE}:int", name) for name in ["id", *names]]
    rows = {REFERENCE: TableRows(frame, "id")}
    series = found.beside(ids, rows, columns)
    return pl.DataFrame([one.alias(name) for one, name in zip(series, ["id", *names], strict=True)])


@given(SEVERAL)
def test_as_a_join(ids):
    records, listed = ids
    kind = pl.String if isinstance(listed[0], str) else pl.Int64
    frame = table_of(listed).with_columns(pl.col("id").cast(kind))
    series = pl.Series("id", records, dtype=kind)
    found = beside(Alignment(), series, frame)
    covered = frame.with_columns(covered=pl.col("id"))
    joined = series.to_frame().join(covered, on="id", how="left", maintain_order="left")
    wanted = joined.select(pl.col("covered").alias("id"), pl.exclude("id", "covered"))
    assert found.equals(wanted, null_equal=True)


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_records_that_arrive_are_looked_up_beside_those_before(kind):
    size = 5 * BLOCK
    order = np.random.default_rng(1).permutation(size)
    ids = pl.Series("id", order).cast(kind)
    frame = table_of(list(range(0, size, 2))).with_columns(pl.col("id").cast(kind))
    growing = Alignment()
    for n in (1, 7, BLOCK, BLOCK + 1, 3 * BLOCK, size):
        found = beside(growing, ids.head(n), frame)
        assert found.equals(beside(Alignment(), ids.head(n), frame), null_equal=True)
    # An older round, after a later one.
    assert beside(growing, ids.head(9), frame).equals(
        beside(Alignment(), ids.head(9), frame), null_equal=True
    )


def test_what_is_remembered_has_a_bound():
    ids = pl.Series("id", range(1000))
    found = Alignment(most=12_000)  # bytes: two tables of 1,000 records
    for i in range(5):
        reference = f"table:{i:064x}"
        rows = {reference: TableRows(table_of(list(range(i + 1))), "id")}
        [column] = found.beside(ids, rows, [qualify(f"{reference}:int", "whole")])
        assert column.null_count() >= 999 - i
    assert len(found._known) == 2


def test_two_texts_of_one_hash_are_told_apart(monkeypatch):
    """The first hash of all texts is the same here; the second tells those of records apart."""

    def weak(ids: pl.Series, seed: int) -> Keys:
        keys = keys_of(ids, seed)
        return Keys(keys.keys % 4, keys.checks)

    monkeypatch.setattr(alignment, "keys_of", weak)
    frame = pl.DataFrame({"id": ["a"], "v": [1]})
    ids = pl.Series("id", [f"{i}" for i in range(50)] + ["a"])
    column = qualify(f"{REFERENCE}:int", "v")
    [found] = Alignment().beside(ids, {REFERENCE: TableRows(frame, "id")}, [column])
    assert found.to_list() == [None] * 50 + [1]


def test_a_table_with_two_texts_of_one_hash_takes_another_hash(monkeypatch):
    seeds = []

    def colliding(ids: pl.Series, seed: int) -> Keys:
        seeds.append(seed)
        keys = keys_of(ids, seed)
        return Keys(keys.keys * 0, keys.checks) if len(seeds) == 1 else keys

    monkeypatch.setattr(alignment, "keys_of", colliding)
    rows = TableRows(table_of(["a", "b"]), "id")
    assert (len(seeds), rows.seed) == (2, seeds[1])


class Counting(np.ndarray):
    """An array that notes how many of its elements are read by position."""

    reads: list[int]

    def __getitem__(self, at):
        if isinstance(at, np.ndarray):
            Counting.reads.append(at.size)
        return np.asarray(super().__getitem__(at))


@pytest.mark.parametrize("shared", [0, 1, 50, 100])
def test_the_work_is_the_same_whatever_the_table_covers(shared):
    """As many elements are read for ids that the table lacks as for those it has."""
    Counting.reads = []
    table = np.arange(100, dtype=np.int64)
    ids = np.concatenate([table[:shared], np.arange(1000, 1100 - shared)]).astype(np.int64)
    counted = Keys(*(table.view(Counting) for _ in range(2)))
    found = place(Keys(ids, ids), np.arange(100, dtype=np.uint32), counted)
    assert found.hits.sum() == shared
    assert Counting.reads == [100, 100]
    column = TableRows(table_of(table.tolist()), "id").column("text", found)
    assert len(column) == 100
