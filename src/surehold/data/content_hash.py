"""A hash of records by their values, independent of the file or table they came in.

Two files with the same records differ in their bytes: in what lies under a missing value, in how
texts are packed, in how many records are written at a time.
"""

from __future__ import annotations

import hashlib
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


class ContentHash:
    """A hash of records that are given frame by frame; the division makes no difference."""

    def __init__(self, schema: Schema) -> None:
        self._parts = {name: (kind, [hashlib.sha256() for _ in range(3)]) for name, kind in schema}

    def take(self, frame: pl.DataFrame) -> None:
        """Add records."""
        for name, (kind, (gaps, sizes, values)) in self._parts.items():
            series = frame[name]
            gaps.update(series.is_null().to_numpy().data)
            if kind is ColumnType.STR:
                array = series.fill_null("").to_arrow(compat_level=pl.CompatLevel.oldest())
                edges = np.frombuffer(array.buffers()[1], "<i8")[array.offset :][: len(array) + 1]
                sizes.update(np.diff(edges).astype("<u4").data)
                if edges[-1] > edges[0]:
                    values.update(array.buffers()[2][int(edges[0]) : int(edges[-1])])
            else:
                if series.dtype.is_temporal():
                    series = series.cast(pl.Int64)
                filled = series.fill_null(False if kind is ColumnType.BOOL else 0)
                numbers = filled.to_numpy().astype(_TYPES[kind], copy=False)
                values.update((numbers + 0 if kind is ColumnType.FLOAT else numbers).data)

    @property
    def digest(self) -> str:
        """Return a hash that is the same for the same records in the same order."""
        whole = hashlib.sha256(b"records")
        for name, (kind, parts) in self._parts.items():
            whole.update(f"\n{name} {kind.value} ".encode())
            for part in parts:
                whole.update(part.digest())
        return whole.hexdigest()
