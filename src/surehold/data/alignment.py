"""Side tables beside the records: for every record the row that has its id, or none.

The work for a record is the same whether or not the table has its id: ids are sorted, each is
looked up among the table's by bisection, a row is read in any case, and what does not belong to
the record is masked out.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from surehold.data.engines.polars_arrays import Truths, known_of, pack_bits
from surehold.data.engines.polars_bytes import cut_texts
from surehold.data.known_sums import BLOCK
from surehold.mechanisms.noise import SystemBits
from surehold.queries.side_tables import split

_MOST_BYTES = 1 << 28
"""What is remembered of tables beside records, in bytes."""
_PART = 1 << 18
"""Records that one thread sorts and looks up at a time."""
_SEED = SystemBits().getrandbits(62)  # so that nobody can make two ids look the same
_SECOND = 1 << 62

Rows = NDArray[np.uint32]


class Keys(NamedTuple):
    """Numbers to sort ids by, and numbers that tell ids of one key apart."""

    keys: NDArray[Any]
    checks: NDArray[Any]


class TableRows:
    """The rows of a table, in the order of their keys, which are all different."""

    def __init__(self, frame: pl.DataFrame, id: str) -> None:
        ids = self._ids = frame.get_column(id)
        for seed in count(_SEED):  # texts are sorted by a hash, of which the next one may do
            self.seed = seed
            self.keys, order = sort_keys(keys_of(ids, seed))
            if not (self.keys.keys[1:] == self.keys.keys[:-1]).any():
                break
        self._frame = cut_texts(frame[order])  # the language reads no more of a text
        self.size = int(frame.estimated_size()) + self.keys.keys.nbytes

    def __len__(self) -> int:
        return self._frame.height

    def some_ids(self, count: int) -> pl.Series:
        """Return up to this many ids, evenly from all."""
        step = max(len(self) // max(count, 1), 1)
        return self._ids.gather_every(step).head(count)

    def column(self, name: str, places: Places) -> pl.Series:
        """Return a column's value for each record, null where the table lacks it."""
        series = self._frame.get_column(name).gather(places.rows)
        array = series.to_arrow(compat_level=pl.CompatLevel.newest())
        known = pack_bits(known_of(array) & places.hits)
        buffers = [pa.py_buffer(known), *array.buffers()[1:]]
        found = pl.from_arrow(pa.Array.from_buffers(array.type, len(array), buffers))
        assert isinstance(found, pl.Series)
        return found


class Places(NamedTuple):
    """For each record a row of a table, and whether that is the record's own."""

    rows: Rows
    hits: Truths

    @property
    def size(self) -> int:
        """Return how many bytes they take."""
        return self.rows.nbytes + self.hits.nbytes


class Alignment:
    """Remembers where the records are in tables, and looks up those that are new."""

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._known: OrderedDict[str, Places] = OrderedDict()
        self._sorted: tuple[Any, list[tuple[Keys, Rows]]] | None = None
        self._lock = threading.Lock()

    def beside(
        self, ids: pl.Series, tables: Mapping[str, TableRows], columns: Sequence[str]
    ) -> list[pl.Series]:
        """Return columns of side tables, one value for each id, null where its table lacks it."""
        found = []
        for column in columns:
            reference, name = split(column)
            table = tables[reference]
            found.append(table.column(name, self._places(reference, table, ids)).alias(column))
        return found

    def _places(self, reference: str, table: TableRows, ids: pl.Series) -> Places:
        with self._lock:
            known, size = self._known.pop(reference, None), len(ids)
            have = 0 if known is None else len(known.rows)
            if known is None or have < size:
                # No record is looked up alone, as none is evaluated alone.
                start = max(have // BLOCK - 1, 0) * BLOCK
                more = self._look_up(table, ids, start)
                if known is not None and start:
                    more = Places(
                        *(np.concatenate([a[:start], b]) for a, b in zip(known, more, strict=True))
                    )
                known = more
            self._known[reference] = known
            while len(self._known) > 1 and sum(p.size for p in self._known.values()) > self._most:
                self._known.popitem(last=False)
        return Places(known.rows[:size], known.hits[:size])

    def _look_up(self, table: TableRows, ids: pl.Series, start: int) -> Places:
        of = (table.seed, ids.dtype, start, len(ids))
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
            if self._sorted is None or self._sorted[0] != of:
                # A hundred tables beside the same records need them sorted once.
                keys = keys_of(ids.slice(start), table.seed)
                parts = (
                    Keys(*(each[i : i + _PART] for each in keys))
                    for i in range(0, max(len(keys.keys), 1), _PART)
                )
                self._sorted = (of, list(pool.map(sort_keys, parts)))
            found = list(
                pool.map(lambda part: place(part[0], part[1], table.keys), self._sorted[1])
            )
        return Places(*(np.concatenate(each) for each in zip(*found, strict=True)))


def keys_of(ids: pl.Series, seed: int) -> Keys:
    """Return the keys of ids: whole numbers are their own, texts have hashes."""
    if ids.dtype == pl.String:
        return Keys(ids.hash(seed).to_numpy(), ids.hash(seed ^ _SECOND).to_numpy())
    numbers = ids.to_numpy()
    return Keys(numbers, numbers)


def sort_keys(keys: Keys) -> tuple[Keys, Rows]:
    """Return the keys in order, and where each of them was."""
    order = np.argsort(keys.keys).astype(np.uint32)
    return Keys(*(each[order] for each in keys)), order


def place(ids: Keys, order: Rows, table: Keys) -> Places:
    """Look sorted ids up among those of a table; the result is in the records' own order."""
    at = np.searchsorted(table.keys, ids.keys).astype(np.uint32)
    np.minimum(at, np.uint32(table.keys.size - 1), out=at)
    same = (table.keys[at] == ids.keys) & (table.checks[at] == ids.checks)
    rows, hits = np.empty_like(at), np.empty_like(same)
    rows[order], hits[order] = at, same
    return Places(rows, hits)
