"""The growing data of one dataset: appends go in, exact sums over snapshots come out."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from holdfast.data.engines.polars_engine import PolarsEngine
from holdfast.data.frames import frame_of
from holdfast.data.records import Row, dumped, loaded
from holdfast.data.segments import FOLDER, RECORDS, SegmentWriter, read_segment, sweep
from holdfast.data.sources import Batch, as_frame, batches
from holdfast.errors import LedgerCorrupt
from holdfast.ledger.entries import Entry
from holdfast.ledger.ledger import Ledger, content_of, content_of_files
from holdfast.ledger.store import Segment
from holdfast.queries import Measure

SEAL_AT = 1 << 16
"""Pending records that are worth a segment."""
LARGE = 1 << 14
"""An append of so many records is written as segments at once."""
_MOST_SUMS = 20_000

Progress = Callable[[int], None]


class GrowingData:
    """Records of a dataset, in order of arrival."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._folder = ledger.folder / FOLDER
        self._engine = PolarsEngine()
        self._sums = KnownSums()
        self._lock = threading.Lock()

    # --------------------------------------------------------------------------- appending

    def append(
        self,
        source: Any,
        format: str | None = None,
        progress: Progress | None = None,
        again: bool = False,
    ) -> int:
        """Keep all records of the source, durably, or none; returns how many.

        Many records that were all appended before are refused, unless they are said to come again.
        """
        schema = self._ledger.schema
        intake = _Intake(self._folder, self._ledger)
        try:
            for batch in batches(source, schema, format):
                intake.take(batch)
                if progress is not None:
                    progress(intake.count)
            if intake.count:
                self._commit(intake, again)
        finally:
            intake.close()
        return intake.count

    def _commit(self, intake: _Intake, again: bool) -> None:
        ledger = self._ledger
        rows = intake.small()
        if rows is not None:
            text = dumped(rows)
            with ledger.writing():
                if not again:
                    ledger.check_new(content_of(text), intake.count)
                ledger.add_rows(text, intake.count)
            if ledger.state.records - ledger.store.first_pending() >= SEAL_AT:
                # The append is durable; a seal that fails now is tried again after the next one.
                with contextlib.suppress(Exception):
                    self.seal()
            return
        intake.finish()  # the long part, before anybody else has to wait
        with ledger.writing():
            if not again:
                ledger.check_new(content_of_files(intake.digests), intake.count)
            self._seal_pending()
            ledger.add_segments(intake.publish(ledger.state.records))

    def seal(self) -> None:
        """Move what is pending into a segment."""
        with self._ledger.writing():
            self._seal_pending()
        sweep(self._folder)

    def _seal_pending(self) -> Entry | None:
        ledger = self._ledger
        pending = ledger.store.pending()
        if not pending:
            return None
        rows = [row for part in pending for row in loaded(part.rows)]
        writer = SegmentWriter(self._folder, ledger.fingerprint)
        try:
            writer.write(frame_of(rows, ledger.schema))
            [segment] = writer.publish(pending[0].start)
        finally:
            writer.close()
        return ledger.seal(segment)

    # ---------------------------------------------------------------------------- asking

    def sums(self, measures: Sequence[Measure], round: int) -> list[int]:
        """Exact sums over the snapshot of that round.

        A measure that was summed before is summed over the records since then only; as sums are
        exact it makes no difference.
        """
        with self._lock:
            self._catch_up(round)
            totals = [0] * len(measures)
            groups: dict[int, list[int]] = {}
            for i, measure in enumerate(measures):
                known, total = self._sums.nearest(measure.canonical, round)
                totals[i] = total
                if known != round:
                    groups.setdefault(known, []).append(i)
            for known, members in groups.items():
                low, high = min(known, round), max(known, round)
                parts = self._engine.sums([measures[i] for i in members], low, high)
                for i, part in zip(members, parts, strict=True):
                    totals[i] += part if known < round else -part
            for measure, total in zip(measures, totals, strict=True):
                self._sums.keep(measure.canonical, round, total)
            return totals

    def text(self, start: int, count: int) -> str:
        """So many records from ``start`` on as JSON rows: what a small append is hashed by."""
        with self._lock:
            self._catch_up(start + count)
            return dumped(self._engine.frame(start, start + count).rows())

    def _catch_up(self, round: int) -> None:
        """Load what has been appended since, whoever appended it."""
        engine, store = self._engine, self._ledger.store
        if engine.size >= round:
            return
        # Before the segments: a seal in between leaves an overlap, not a gap.
        pending = store.pending(engine.size)
        for segment in store.segments(engine.size):
            frame = read_segment(self._folder, segment)
            engine.extend(frame.slice(max(engine.size - segment.start, 0)))
        if engine.size >= round:
            return
        try:
            rows: list[Row] = []
            for part in pending:
                rows += loaded(part.rows)[max(engine.size + len(rows) - part.start, 0) :]
            frame = frame_of(rows, self._ledger.schema)
        except (ValueError, TypeError, pl.exceptions.PolarsError):
            # Without the other library's message, which may repeat what a record holds.
            reason = "records that wait to be sealed are not as they were written"
            raise LedgerCorrupt("the ledger", reason) from None
        engine.extend(frame)


class KnownSums:
    """The last sum of each measure, and its round; the least recently used are forgotten."""

    def __init__(self, most: int = _MOST_SUMS) -> None:
        self._known: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._most = most

    def nearest(self, canonical: str, round: int) -> tuple[int, int]:
        """A round and the sum there from which the least is left to do; (0, 0) is from scratch."""
        known = self._known.get(canonical)
        return known if known is not None and abs(known[0] - round) < round else (0, 0)

    def keep(self, canonical: str, round: int, total: int) -> None:
        """Remember a sum."""
        self._known[canonical] = (round, total)
        self._known.move_to_end(canonical)
        if len(self._known) > self._most:
            self._known.popitem(last=False)


class _Intake:
    """The records of one append on their way in: few stay rows, many become segments."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self.count = 0
        self._ledger = ledger
        self._waiting: list[Batch] = []
        self._size = 0
        self._folder = folder
        self._writer: SegmentWriter | None = None

    def take(self, batch: Batch) -> None:
        self._waiting.append(batch)
        self._size += len(batch)
        self.count += len(batch)
        if self._size >= RECORDS:
            self._write(everything=False)

    def small(self) -> list[Row] | None:
        """All rows, if they are few."""
        if self.count >= LARGE:
            return None
        rows: list[Row] = []
        for batch in self._waiting:
            rows += batch.rows() if isinstance(batch, pl.DataFrame) else batch
        return rows

    def finish(self) -> None:
        self._write(everything=True)
        assert self._writer is not None
        self._writer.finish()

    @property
    def digests(self) -> list[str]:
        """The digests of the files, in order."""
        assert self._writer is not None
        return [written.digest for written in self._writer.finish()]

    def publish(self, start: int) -> list[Segment]:
        assert self._writer is not None
        return self._writer.publish(start)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _write(self, everything: bool) -> None:
        if not self._waiting:  # they came in whole segments, which are written already
            return
        frames = [as_frame(batch, self._ledger.schema) for batch in self._waiting]
        frame = pl.concat(frames, rechunk=False)
        start = 0
        if self._writer is None:
            self._writer = SegmentWriter(self._folder, self._ledger.fingerprint)
        while frame.height - start >= RECORDS or (everything and start < frame.height):
            self._writer.write(frame.slice(start, RECORDS))
            start += RECORDS
        rest = frame.slice(start)
        self._waiting, self._size = ([rest] if rest.height else []), rest.height
