"""The growing data of one dataset: appends go in, exact sums over snapshots come out."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from holdfast.data.engines.polars_engine import PolarsEngine
from holdfast.data.frames import frame_of
from holdfast.data.likeness import Likeness
from holdfast.data.records import Row, dumped, loaded
from holdfast.data.segments import FOLDER, RECORDS, SegmentWriter, read_segment, sweep
from holdfast.data.shelf import Shelf
from holdfast.data.sources import Batch, as_frame, batches
from holdfast.data.statistics import Statistic
from holdfast.errors import InvalidInput, LedgerCorrupt
from holdfast.ledger.entries import Entry
from holdfast.ledger.ledger import Ledger, content_of, content_of_files
from holdfast.ledger.store import Segment
from holdfast.queries import (
    CellMeasure,
    Contrast,
    CustomMeasure,
    FitForm,
    Measure,
    ModelMeasure,
    ModelPairs,
    PairMeasure,
    Source,
)

if TYPE_CHECKING:
    from holdfast.data.gradients import Gradients
    from holdfast.data.models.runner import Limits

SEAL_AT = 1 << 16
"""Pending records that are worth a segment."""
LARGE = 1 << 14
"""An append of so many records is written as segments at once."""
_MOST_SUMS = 20_000

Progress = Callable[[int], None]


class Exact(NamedTuple):
    """Whole numbers, and what they are to be divided by to lie in [0, 1]."""

    numerators: tuple[int, ...]
    denominator: int


class GrowingData:
    """Records of a dataset, in order of arrival."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._folder = ledger.folder / FOLDER
        self._engine = PolarsEngine()
        self._sums = KnownSums()
        self._statistics: dict[str, Statistic] = {}
        self.limits: Limits | None = None  # what a model may use; None are the usual ones
        self.shelf = Shelf(ledger.folder)
        self._lock = threading.Lock()

    # --------------------------------------------------------------------------- appending

    def append(
        self,
        source: Any,
        format: str | None = None,
        progress: Progress | None = None,
        again: bool = False,
        key: str | None = None,
    ) -> tuple[int, int]:
        """Keep all records of the source, durably, or none; how many, and how many there are then.

        The same append of many records is refused, unless they are said to come again. One that is
        made twice with the same ``key`` is made once.
        """
        schema = self._ledger.schema
        intake = _Intake(self._folder, self._ledger)
        try:
            for batch in batches(source, schema, format):
                intake.take(batch)
                if progress is not None:
                    progress(intake.count)
            if not intake.count:
                return 0, self._ledger.refresh().records
            entry = self._commit(intake, again, key).read()
        finally:
            intake.close()
        return intake.count, entry["start"] + entry["count"]

    def _commit(self, intake: _Intake, again: bool, key: str | None) -> Entry:
        ledger = self._ledger
        rows = intake.small()
        if rows is not None:
            text = dumped(rows)
            with ledger.writing():
                known = ledger.appended(key, content_of(text))
                if known is not None:
                    return known
                if not again:
                    ledger.check_new(content_of(text), intake.count)
                entry = ledger.add_rows(text, intake.count, key)
            if ledger.state.records - ledger.store.first_pending() >= SEAL_AT:
                # The append is durable; a seal that fails now is tried again after the next one.
                with contextlib.suppress(Exception):
                    self.seal()
            return entry
        intake.finish()  # the long part, before anybody else has to wait
        content = content_of_files(intake.digests)
        with ledger.writing():
            known = ledger.appended(key, content, intake.likeness)
            if known is not None:
                return known
            if not again:
                ledger.check_new(content, intake.count)  # of an earlier version, by their bytes
                ledger.check_new(intake.likeness, intake.count)
            self._seal_pending()
            entry = ledger.add_segments(intake.publish(ledger.state.records), key)
            ledger.store.note_content(intake.likeness, entry.seq)
            return entry

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

    def exact(
        self, sources: Sequence[Source], round: int, progress: Progress | None = None
    ) -> list[Exact]:
        """What each source comes to over the snapshot of that round, in whole numbers.

        ``progress`` is told how many records a model has gone through.
        """
        with self._lock:
            self._catch_up(round)
            measures = {m.canonical: m for source in sources for m in _measures(source)}
            sums = self._sum(list(measures.values()), round)  # all in one pass
        look = _Look(self, round, sums, progress)
        return [look.at(source) for source in sources]

    def sums(self, measures: Sequence[Measure], round: int) -> list[int]:
        """Exact sums over the snapshot of that round."""
        return [exact.numerators[0] for exact in self.exact(measures, round)]

    def register(self, statistic: Statistic) -> None:
        """Have the function of a registered statistic at hand."""
        self._statistics[statistic.name] = statistic

    def _sum(self, measures: Sequence[Measure], round: int) -> dict[str, int]:
        """The sums of all measures, by their canonical texts.

        One that was summed before is summed over the records since then only; as sums are exact it
        makes no difference.
        """
        found: dict[str, int] = {}
        groups: dict[int, list[tuple[Measure, int]]] = {}
        for measure in measures:
            known, totals = self._sums.nearest(measure.canonical, round)
            groups.setdefault(known, []).append((measure, totals[0] if known else 0))
        for known, members in groups.items():
            low, high = min(known, round), max(known, round)
            parts = self._engine.sums([measure for measure, _ in members], low, high)
            for (measure, total), part in zip(members, parts, strict=True):
                total += part if known < round else -part
                found[measure.canonical] = total
                self._sums.keep(measure.canonical, round, (total,))
        return found

    def gradients(self, form: FitForm, round: int) -> Gradients:
        """Features and target of a snapshot, ready for gradients."""
        from holdfast.data.gradients import Gradients  # loads SciPy

        with self._lock:
            self._catch_up(round)
            snapshot = self._engine.frame(0, round)
        return Gradients(form, snapshot)

    def _custom(self, source: CustomMeasure, round: int) -> tuple[int, int]:
        statistic = self._statistics.get(source.name)
        if statistic is None:
            required = "at hand: a ledger keeps what was declared, not the function"
            hint = "the custodian registers it again: dataset.register(...)"
            raise InvalidInput(f"the statistic {source.name!r}", required, "no function", hint)
        with self._lock:
            snapshot = self._engine.frame(0, round)
        return statistic.unit(source, snapshot)

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


class _Look:
    """One look at a snapshot: what several sources come to."""

    def __init__(
        self, data: GrowingData, round: int, sums: Mapping[str, int], progress: Progress | None
    ) -> None:
        self._data, self._round = data, round
        self._sums, self._progress = sums, progress
        self._gone_through = 0

    def at(self, source: Source) -> Exact:
        data, round = self._data, self._round
        match source:
            case Measure():
                return Exact((self._sums[source.canonical],), round << source.bits)
            case Contrast(plus, minus, bits):
                first, second = self.at(plus).numerators[0], self.at(minus).numerators[0]
                return Exact((first - second + (round << bits),), round << (bits + 1))
            case CellMeasure():
                with data._lock:
                    return Exact(self._counted(source), round << source.bits)
            case ModelMeasure():
                # A model may take long: nobody else has to wait.
                return Exact(self._scored(source), round << source.bits)
            case ModelPairs():
                return Exact(*self._ranking(source))
            case PairMeasure():
                with data._lock:
                    numerator, denominator = data._engine.pair_statistic(source, round)
                return Exact((numerator,), denominator)
            case CustomMeasure():
                numerator, denominator = data._custom(source, round)
                return Exact((numerator,), denominator)
            case _:
                raise NotImplementedError(type(source).__name__)

    def _counted(self, source: CellMeasure) -> tuple[int, ...]:
        """What is known of an earlier round, or a later one, and what is between."""
        known, totals = self._data._sums.nearest(source.canonical, self._round)
        low, high = min(known, self._round), max(known, self._round)
        part = self._data._engine.cell_sums(source, low, high)
        sign = 1 if known < self._round else -1
        totals = tuple(map(add, totals or [0] * len(part), (sign * one for one in part)))
        self._data._sums.keep(source.canonical, self._round, totals)
        return totals

    def _scored(self, source: ModelMeasure) -> tuple[int, ...]:
        """What is known of an earlier round, and what the model says about the records since then.

        Nothing is taken off what is known of a later one: a model may give a record another last
        digit in another block. What a model that gave up comes to is not kept.
        """
        from holdfast.data.scores import score_sums, unscored_sums  # who asks about models needs it

        known, totals = self._data._sums.nearest(source.canonical, self._round)
        if known > self._round:
            known, totals = 0, ()
        source = self._data.shelf.filled(source)
        part = score_sums(source, self._rows(known), self._data.limits, self._tell)
        if part is None:
            return tuple(unscored_sums(source, self._rows(0)))
        totals = tuple(map(add, totals or [0] * len(part), part))
        self._data._sums.keep(source.canonical, self._round, totals)
        return totals

    def _rows(self, start: int) -> pl.DataFrame:
        with self._data._lock:
            return self._data._engine.frame(start, self._round)

    def _ranking(self, source: ModelPairs) -> tuple[tuple[int], int]:
        from holdfast.data.scores import score_pairs

        rows = self._rows(0)
        measure = self._data.shelf.filled(source.measure)
        numerator, denominator = score_pairs(measure, rows, self._data.limits, self._tell)
        return (numerator,), denominator

    def _tell(self, more: int) -> None:
        self._gone_through += more
        if self._progress is not None:
            with contextlib.suppress(Exception):  # nobody's bar ends an evaluation half-way
                self._progress(self._gone_through)


class KnownSums:
    """The last sums of each source, and their round; the least recently used are forgotten."""

    def __init__(self, most: int = _MOST_SUMS) -> None:
        self._known: OrderedDict[str, tuple[int, tuple[int, ...]]] = OrderedDict()
        self._most = most
        self._numbers = 0
        self._lock = threading.Lock()

    def nearest(self, canonical: str, round: int) -> tuple[int, tuple[int, ...]]:
        """A round and the sums there from which the least is left to do; 0 is from scratch."""
        known = self._known.get(canonical)
        return known if known is not None and abs(known[0] - round) < round else (0, ())

    def keep(self, canonical: str, round: int, totals: tuple[int, ...]) -> None:
        """Remember sums."""
        with self._lock:
            before = self._known.pop(canonical, None)
            self._numbers += len(totals) - (0 if before is None else len(before[1]))
            self._known[canonical] = (round, totals)
            while self._numbers > self._most and len(self._known) > 1:
                _, (_, forgotten) = self._known.popitem(last=False)
                self._numbers -= len(forgotten)


def _measures(source: Source) -> Iterator[Measure]:
    """The measures that a source is made of."""
    if isinstance(source, Measure):
        yield source
    elif isinstance(source, Contrast):
        yield from _measures(source.plus)
        yield from _measures(source.minus)


class _Intake:
    """The records of one append on their way in: few stay rows, many become segments."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self.count = 0
        self._ledger = ledger
        self._waiting: list[Batch] = []
        self._size = 0
        self._folder = folder
        self._writer: SegmentWriter | None = None
        self._likeness = Likeness(ledger.schema)

    @property
    def likeness(self) -> str:
        """The hash of what was written, by its values."""
        return self._likeness.digest

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
            self._likeness.take(frame.slice(start, RECORDS))
            self._writer.write(frame.slice(start, RECORDS))
            start += RECORDS
        rest = frame.slice(start)
        self._waiting, self._size = ([rest] if rest.height else []), rest.height
