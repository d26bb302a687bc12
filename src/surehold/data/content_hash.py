"""A hash of records by their values, independent of the file or table they came in.

Two files with the same records differ in their bytes: in what lies under a missing value, in how
texts are packed, in how many records are written at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from surehold.queries import ColumnType, Schema

_TYPES: dict[ColumnType, Any] = {
    ColumnType.INT: np.dtype("<i8"),
    ColumnType.FLOAT: np.dtype("<f8"),
    ColumnType.BOOL: np.dtype("u1"),
    ColumnType.DATE: np.dtype("<i8"),
    ColumnType.TIMESTAMP: np.dtype("<i8"),
}
_FILLED: dict[ColumnType, Any] = {ColumnType.STR: "", ColumnType.BOOL: False}


class ContentHash:
    """A hash of records that are given frame by frame; the division makes no difference."""

    def __init__(self, schema: Schema) -> None:
        self._columns = {name: _ColumnHash(kind) for name, kind in schema}
        self._no_gaps = hashlib.sha256()  # of all columns in which nothing is missing

    def take(self, frame: pl.DataFrame) -> None:
        """Add records."""
        for add_column in self.jobs(frame):
            add_column()

    def jobs(self, frame: pl.DataFrame) -> list[Callable[[], None]]:
        """Return what adds records, one job for each column; run all, in any order."""
        for name, column in self._columns.items():
            if column.gaps is None and frame[name].null_count():
                column.gaps = self._no_gaps.copy()
        self._no_gaps.update(bytes(frame.height))
        return [partial(column.take, frame[name]) for name, column in self._columns.items()]

    @property
    def digest(self) -> str:
        """Return a hash that is the same for the same records in the same order."""
        whole = hashlib.sha256(b"records")
        for name, column in self._columns.items():
            whole.update(f"\n{name} {column.kind.value} ".encode())
            for part in (column.gaps or self._no_gaps, column.sizes, column.values):
                whole.update(part.digest())
        return whole.hexdigest()


class _ColumnHash:
    """Hashes of the lengths of texts, of values and, once one is missing, of where they are."""

    def __init__(self, kind: ColumnType) -> None:
        self.kind = kind
        self.gaps: hashlib._Hash | None = None
        self.sizes, self.values = hashlib.sha256(), hashlib.sha256()

    def take(self, series: pl.Series) -> None:
        """Add values."""
        if self.gaps is not None:
            self.gaps.update(series.is_null().to_numpy().data)
        if series.dtype.is_temporal():
            series = series.cast(pl.Int64)
        if series.null_count():
            series = series.fill_null(_FILLED.get(self.kind, 0))
        if self.kind is ColumnType.STR:
            self.sizes.update(series.str.len_bytes().to_numpy().data)
            array = series.to_arrow(compat_level=pl.CompatLevel.oldest())
            edges = np.frombuffer(array.buffers()[1], "<i8")
            first, last = int(edges[array.offset]), int(edges[array.offset + len(array)])
            if last > first:
                self.values.update(array.buffers()[2][first:last])
            return
        numbers = series.to_numpy().astype(_TYPES[self.kind], copy=False)
        self.values.update((numbers + 0 if self.kind is ColumnType.FLOAT else numbers).data)
