"""The incoming records of one append: few stay rows, many become segments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import polars as pl

from surehold.data.content_hash import ContentHash
from surehold.data.frames import rows_from
from surehold.data.ids import IdFilter, Records
from surehold.data.records import Row
from surehold.data.segments import RECORDS, SegmentWriter
from surehold.data.sources import Batch, as_frame
from surehold.ledger.ledger import Ledger

LARGE = 1 << 14
"""An append of this many records is written as segments at once."""


class Intake:
    """Takes batches, passes over records that are known by their ids, and gathers the rest."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self.offered = 0
        """Records that came, known ones included."""
        self._folder, self._ledger = folder, ledger
        self._incoming: list[Batch] = []
        self._waiting: list[Batch] = []  # and new
        self._loader = ThreadPoolExecutor(1, "surehold-load")
        self._ids: IdFilter | None = None
        self._known = 0
        self._writer: SegmentWriter | None = None

    @cached_property
    def content(self) -> ContentHash:
        """The hash of what is written, by its values."""
        return ContentHash(self._ledger.schema)

    @property
    def count(self) -> int:
        """The number of records to be added."""
        written = 0 if self._writer is None else self._writer.count
        return written + _height(self._waiting)

    @property
    def known(self) -> int:
        """The number of records that were passed over."""
        return self._known + (0 if self._ids is None else self._ids.known)

    def compare_with(self, kept: Records) -> None:
        """From now on pass over records that are among those ``kept``, by their ids.

        Those are loaded while the first new ones are read.
        """
        assert self._ledger.schema.id is not None
        loading = self._loader.submit(kept)
        self._ids = IdFilter(self._ledger.schema.id, loading.result, self._frame)

    def take(self, batch: Batch) -> None:
        """Take more of them."""
        self.offered += len(batch)
        self._incoming.append(batch)
        if _height(self._incoming) >= RECORDS:
            self._admit()
            if _height(self._waiting) >= RECORDS:
                self.write(everything=False)

    def finish(self) -> None:
        """All have come; refuse them if ids contradict what is kept, or each other."""
        self._admit()
        if self._ids is not None:
            self._ids.check()

    def recheck(self, more: pl.DataFrame) -> bool:
        """Pass over what others have added meanwhile as well; return whether anything was."""
        assert self._ids is not None
        ids = IdFilter(self._ids.id, lambda: more, pl.DataFrame)
        rest = ids.take(self._frame())
        ids.check()
        if not ids.known:
            return False
        self._known = self.known + ids.known
        self._ids = None
        self.close()
        self._writer, self._waiting = None, [rest]
        self.__dict__.pop("content", None)
        return True

    @property
    def is_large(self) -> bool:
        """Whether they are written as segments."""
        return self._writer is not None or self.count >= LARGE

    def small(self) -> list[Row] | None:
        """Return all rows, if they are few."""
        if self.is_large:
            return None
        rows: list[Row] = []
        for batch in self._waiting:
            rows += rows_from(batch) if isinstance(batch, pl.DataFrame) else batch
        return rows

    def write(self, everything: bool) -> SegmentWriter:
        """Write full segments or, at the end, everything."""
        if self._writer is None:
            self._writer = SegmentWriter(self._folder, self._ledger.fingerprint)
        frame = self._join(self._waiting)
        while frame.height >= RECORDS or (everything and frame.height):
            self._writer.write(frame.head(RECORDS), self.content)
            frame = frame.slice(RECORDS)
        self._waiting = [frame] if frame.height else []
        return self._writer

    def close(self) -> None:
        """Remove the files that were not published."""
        self._loader.shutdown()
        if self._writer is not None:
            self._writer.close()

    def _admit(self) -> None:
        if self._ids is None:
            self._waiting += self._incoming
        elif self._incoming:
            self._waiting.append(self._ids.take(self._join(self._incoming)))
        self._incoming = []

    def _frame(self) -> pl.DataFrame:
        """All new records so far; those that are written are mapped, not read."""
        written = [] if self._writer is None else self._writer.frames()
        return self._join([*written, *self._waiting])

    def _join(self, batches: list[Batch]) -> pl.DataFrame:
        frames = [as_frame(batch, self._ledger.schema) for batch in batches]
        return pl.concat(frames or [pl.DataFrame()], rechunk=False)


def _height(batches: list[Batch]) -> int:
    return sum(map(len, batches))
