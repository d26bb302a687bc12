"""The growing data of one dataset: appends go in, exact sums over snapshots come out."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from surehold.data.alignment import Alignment
from surehold.data.content_hash import ContentHash
from surehold.data.engines.polars_engine import PolarsEngine
from surehold.data.file_formats import FileFormat
from surehold.data.frames import frame_of, rows_from
from surehold.data.ids import count_repeated
from surehold.data.in_flight import InFlight
from surehold.data.intake import Intake
from surehold.data.known_sums import KnownSums, Totals
from surehold.data.model_store import KeptModel, ModelStore
from surehold.data.records import Row, dump_rows, load_rows
from surehold.data.repeats import Sample, end_segments, ends_of, remark_on
from surehold.data.segments import FOLDER, SegmentWriter, check_bytes, read_segments, sweep
from surehold.data.side_tables import check_name, default_name
from surehold.data.sources import batches
from surehold.data.statistics import Statistic
from surehold.data.table_store import TableStore
from surehold.errors import InvalidInput, LedgerCorrupt
from surehold.ledger.draft import TELLING, Draft, content_of, content_of_files
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.ledger.tables import Segment
from surehold.queries import (
    CellMeasure,
    Contrast,
    CustomMeasure,
    Discordance,
    FitForm,
    Measure,
    ModelMeasure,
    ModelPairs,
    PairMeasure,
    Schema,
    Source,
)
from surehold.queries.side_tables import columns_in, mentions_table, split

if TYPE_CHECKING:
    from surehold.data.gradients import Gradients
    from surehold.data.process.runner import ModelLimits

SEAL_AT = 1 << 16
"""Pending records that are worth a segment."""
Progress = Callable[[int], None]


class Exact(NamedTuple):
    """Integers, and the divisor that brings them to [0, 1]."""

    numerators: tuple[int, ...]
    denominator: int


@dataclass(frozen=True)
class Addition:
    """What an append did: records added and their total; those passed over, if there are ids."""

    count: int
    n: int
    known: int | None
    note: str | None = None


class RecordStore:
    """Records of a dataset, in order of arrival."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._folder = ledger.folder / FOLDER
        self._engine = PolarsEngine()
        self._sums = KnownSums()
        self._statistics: dict[str, Statistic] = {}
        self.limits: ModelLimits | None = None  # what a model may use; None are the usual ones
        self.model_store = ModelStore(ledger.folder)
        self.table_store = TableStore(ledger)
        self.check_table = self.table_store.check
        self.alignment = Alignment()
        self.in_flight = InFlight()
        self._seal_at = 0  # with fewer records, no seal is due, whichever process appends them
        self._lock = threading.Lock()

    # --------------------------------------------------------------------------- appending

    def append(
        self,
        source: Any,
        format: FileFormat | str | None = None,
        progress: Progress | None = None,
        again: bool = False,
        key: str | None = None,
    ) -> Addition:
        """Store all records of the source durably, or none.

        A repeated append of many records is refused, unless ``again`` is given. Two appends with
        the same ``key`` are made once. If records have ids, only those with new ids are added.
        """
        schema = self._ledger.schema
        if again and schema.id is not None:
            required = "left out: a known id is never added again"
            raise InvalidInput("again", required, again)
        intake = Intake(self._folder, self._ledger)
        size = 0
        if schema.id is not None:
            size = self._ledger.refresh().records
            intake.compare_with(partial(self.load_frame, size))
        some = Sample()
        try:
            for batch in batches(source, schema, format):
                intake.take(batch)
                some.take(batch)
                if progress is not None:
                    progress(intake.offered)
            intake.finish()
            if not intake.offered:
                known = None if schema.id is None else 0
                return Addition(0, self._ledger.refresh().records, known)
            if schema.id is not None:
                return self._commit_by_id(intake, size, key)
            size = self._ledger.refresh().records
            note = None if again else self._remark_on(intake.offered, some, size)
            entry = self._commit(intake, again, key)
            body = entry.read()
            if entry.values is None:  # made before, with the same key
                note = None
        finally:
            intake.close()
        return Addition(intake.count, body["start"] + body["count"], None, note)

    def _remark_on(self, offered: int, some: Sample, size: int) -> str | None:
        """A note for the custodian if records seem to have been appended before."""
        if min(offered, size) < TELLING:
            return None
        return remark_on(some.frame(self.schema), self._ends(size), size)

    def _ends(self, size: int) -> pl.DataFrame:
        """Return the first records and the last ones, without loading all if none are loaded."""
        if self._engine.size:
            return ends_of([self.load_frame(size)])
        store = self._ledger.store
        kept = read_segments(self._folder, end_segments(store.segments()))
        rows = [row for part in store.pending() for row in load_rows(part.rows)]
        return ends_of([*kept, frame_of(rows, self.schema)])

    def _commit(self, intake: Intake, again: bool, key: str | None) -> Entry:
        ledger = self._ledger
        rows = intake.small()
        if rows is not None:
            text = dump_rows(rows)
            content = content_of(text)
            with ledger.writing() as draft:
                known = draft.appended(key, content)
                if known is not None:
                    return known
                if not again:
                    draft.check_new(content, intake.count)
                entry = draft.add_rows(text, intake.count, key)
            self._seal_if_due()
            return entry
        writer = intake.write(everything=True)
        written = writer.finish()  # the long part, before others have to wait
        by_bytes = content_of_files([one.digest for one in written])
        content = intake.content.digest
        with ledger.writing() as draft:
            known = draft.appended(key, by_bytes, content)
            if known is not None:
                return known
            if not again:
                draft.check_new(by_bytes, intake.count)  # of an earlier version
                draft.check_new(content, intake.count)
            self._seal_pending(draft)
            segments = writer.publish(draft.state.records)
            return draft.add_segments(segments, content, key)

    def _commit_by_id(self, intake: Intake, size: int, key: str | None) -> Addition:
        """Add the records with new ids; ``size`` is that of the data they were compared with."""
        ledger = self._ledger
        if intake.is_large:
            intake.write(everything=True).finish()  # the long part, before others have to wait
        with ledger.writing() as draft:
            now = draft.state.records
            if now > size:  # others were quicker: what counts is what is there now
                intake.recheck(self._snapshot(now).frame(size, now))
            entry = draft.appended_by_id(key, intake.offered, intake.count)
            if entry is None and intake.count:
                entry = self._add_by_id(draft, intake, key)
            if entry is None:
                return Addition(0, now, intake.known)
            body = entry.read()
        self._seal_if_due()
        return Addition(body["count"], body["start"] + body["count"], body["known"])

    def _add_by_id(self, draft: Draft, intake: Intake, key: str | None) -> Entry:
        rows = intake.small()
        if rows is not None:
            return draft.add_rows(dump_rows(rows), intake.count, key, intake.known)
        self._seal_pending(draft)
        segments = intake.write(everything=True).publish(draft.state.records)
        return draft.add_segments(segments, intake.content.digest, key, intake.known)

    def _seal_if_due(self) -> None:
        """Seal what is pending, if it is much.

        The append is durable by now; a seal that fails is tried again after the next one.
        """
        ledger = self._ledger
        if ledger.state.records >= self._seal_at:
            with contextlib.suppress(Exception):
                records = ledger.state.records
                self._seal_at = min(ledger.store.first_pending(), records) + SEAL_AT
                if records >= self._seal_at:
                    self.seal()

    def seal(self) -> None:
        """Move pending records into a segment."""
        with self._ledger.writing() as draft:
            self._seal_pending(draft)
        sweep(self._folder)

    def _seal_pending(self, draft: Draft) -> None:
        ledger, pending = self._ledger, draft.store.pending()
        if not pending:
            return
        rows = [row for part in pending for row in load_rows(part.rows)]
        writer = SegmentWriter(self._folder, ledger.fingerprint)
        try:
            writer.write(frame_of(rows, ledger.schema))
            [segment] = writer.publish(pending[0].start)
        finally:
            writer.close()
        draft.seal(segment)

    # ---------------------------------------------------------------------------- asking

    def check_evaluable(self, sources: Sequence[Source], t: int) -> None:
        """Refuse what cannot be evaluated, independently of records; reads none of them."""
        for column in side_columns(sources):
            self.table_store.rows(split(column)[0])
        for part in (part for source in sources for part in parts_of(source)):
            if isinstance(part, CustomMeasure):
                self.statistic(part)
                part.check_round(t)
            elif isinstance(part, ModelMeasure | ModelPairs):
                from surehold.data.scores import check_scorable

                check_scorable(self.model_store.attach_payload(part), t, self.limits)

    @property
    def schema(self) -> Schema:
        """Return the columns."""
        return self._ledger.schema

    @property
    def loaded(self) -> int:
        """Return the number of loaded records."""
        return self._engine.size

    def load(self, t: int) -> None:
        """Load the records of a snapshot."""
        self._snapshot(t)

    def load_frame(self, t: int) -> pl.DataFrame:
        """Return the first ``t`` records, as they are kept."""
        return self._snapshot(t).frame(0, t) if t else frame_of([], self.schema)

    def known(self, sources: Sequence[Source], t: int) -> list[Exact] | None:
        """Return :meth:`exact` if that needs no record; else None."""
        found = [self._known(source, t) for source in sources]
        return None if None in found else [one for one in found if one is not None]

    def _known(self, source: Source, t: int) -> Exact | None:
        if isinstance(source, Contrast):
            plus, minus = self._known(source.plus, t), self._known(source.minus, t)
            return plus and minus and _contrast(source, plus, minus, t)
        if not isinstance(source, Measure | CellMeasure | ModelMeasure | Discordance):
            return None
        totals = self._sums.at(source.canonical, t)
        return None if totals is None else Exact(totals, t << source.bits)

    def exact(
        self, sources: Sequence[Source], t: int, progress: Progress | None = None
    ) -> list[Exact]:
        """Evaluate each source over the snapshot of that round, in exact integers.

        ``progress`` is called with the number of records that a model has processed.
        """
        look = _Look(self, self._snapshot(t, side_columns(sources)), t, progress)
        parts = [part for source in sources for part in parts_of(source)]
        measures = {part.canonical: part for part in parts if isinstance(part, Measure)}
        look.sum(list(measures.values()))  # all in one pass
        return [look.at(source) for source in sources]

    def sums(self, measures: Sequence[Measure], t: int) -> list[int]:
        """Return exact sums over the snapshot of that round."""
        return [exact.numerators[0] for exact in self.exact(measures, t)]

    def keep_model(
        self, model: bytes | str | Path, name: str | None, analyst: str, default: str | None = None
    ) -> KeptModel:
        """Store a model durably, then note its name: the one given, or that of its file."""
        called = default_name(model, default or "") if name is None else check_name(name)
        kept = self.model_store.keep(model)
        if not called:
            return replace(kept, name=self._ledger.kept.get(kept.model, {}).get("name"))
        with self._ledger.writing() as draft:
            about, is_chosen = {"bytes": kept.bytes}, name is not None
            noted = draft.keep(kept.model, check_name(called), about, analyst, is_chosen)
        return replace(kept, name=str(noted["name"]))

    def register(self, statistic: Statistic) -> None:
        """Attach the function of a registered statistic."""
        self._statistics[statistic.name] = statistic

    def gradients(self, form: FitForm, t: int) -> Gradients:
        """Return features and target of a snapshot, ready for gradients."""
        from surehold.data.gradients import Gradients  # loads SciPy

        return Gradients(form, self._snapshot(t, side_columns([form])).frame(0, t))

    def statistic(self, source: CustomMeasure) -> Statistic:
        """Return a registered statistic, with its function."""
        statistic = self._statistics.get(source.name)
        if statistic is None:
            required = (
                "registered in this process: a ledger keeps what was declared, not the function"
            )
            hint = "register it again: dataset.register(...)"
            raise InvalidInput(f"the statistic {source.name!r}", required, "no function", hint)
        return statistic

    def text(self, start: int, count: int) -> str:
        """Return ``count`` records from ``start`` on as JSON rows: the text of a small append."""
        stop = start + count
        return dump_rows(rows_from(self._snapshot(stop).frame(start, stop)))

    def check_bytes(self) -> None:
        """Raise LedgerCorrupt if a segment does not hold the bytes it is named for."""
        for segment in self._ledger.store.segments():
            check_bytes(self._folder, segment)

    def check_ids(self, t: int) -> None:
        """Raise LedgerCorrupt unless the ids of the first ``t`` records are there and unique."""
        id = self._ledger.schema.id
        if id is not None and t:
            repeated = count_repeated(self._snapshot(t).frame(0, t)[id])
            if repeated:
                raise LedgerCorrupt("the records", f"{repeated:,} of their ids are not unique")

    def content_hash(self, segments: Sequence[Segment]) -> str:
        """Return the hash of the records of some segments, by their values."""
        content = ContentHash(self._ledger.schema)
        for segment in segments:
            [frame] = read_segments(self._folder, [segment])
            content.take(frame)
        return content.digest

    def _snapshot(self, t: int, columns: Sequence[str] = ()) -> PolarsEngine:
        """Return all records of that round and later ones, frozen, beside columns of side tables.

        So evaluations run in parallel: they wait for each other only to load new records.
        """
        with self._lock:
            self._catch_up(t)
            engine = self._engine.frozen()
        if not columns:
            return engine
        id = self._ledger.schema.id
        assert id is not None  # no table is kept without
        tables = {ref: self.table_store.rows(ref) for ref in {split(name)[0] for name in columns}}
        ids = engine.frame(0, engine.size).get_column(id)
        return engine.beside(self.alignment.beside(ids, tables, columns))

    def _catch_up(self, t: int) -> None:
        """Load what this process or another has appended since."""
        engine, store = self._engine, self._ledger.store
        if engine.size >= t:
            return
        # Before the segments: a seal in between leaves an overlap, not a gap.
        pending = store.pending(engine.size)
        segments = store.segments(engine.size)
        for segment, frame in zip(segments, read_segments(self._folder, segments), strict=True):
            engine.extend(frame.slice(max(engine.size - segment.start, 0)))
        if engine.size >= t:
            return
        try:
            rows: list[Row] = []
            for part in pending:
                rows += load_rows(part.rows)[max(engine.size + len(rows) - part.start, 0) :]
            frame = frame_of(rows, self._ledger.schema)
        except (ValueError, TypeError, pl.exceptions.PolarsError):
            # Without the other library's message, which may repeat what a record holds.
            reason = "pending records are not as they were written"
            raise LedgerCorrupt("the ledger", reason) from None
        engine.extend(frame)


class _Look:
    """One pass over a snapshot for several sources."""

    def __init__(
        self, data: RecordStore, engine: PolarsEngine, t: int, progress: Progress | None
    ) -> None:
        self._data, self._engine, self._round = data, engine, t
        self._sums: dict[str, Totals] = {}
        self._progress = progress
        self._gone_through = 0

    def sum(self, measures: Sequence[Measure]) -> None:
        """Compute the sums of these measures."""
        self._sums = self._data._sums.sum_up(measures, self._round, self._sum_measures)

    def at(self, source: Source) -> Exact:
        data, t, known = self._data, self._round, self._data._sums
        match source:
            case Measure():
                return Exact(self._sums[source.canonical], t << source.bits)
            case CellMeasure():
                sums = known.sum_up([source], t, self._sum_cells)
                return Exact(sums[source.canonical], t << source.bits)
            case ModelMeasure():
                # Never computed backwards from a later round: a model may give a record another
                # last digit in another block.
                measure = data.model_store.attach_payload(source)
                sums = known.sum_up([measure], t, self._sum_scores, back=False)
                return Exact(sums[source.canonical], t << source.bits)
            case Discordance():
                sums = known.sum_up([source], t, self._sum_discordant, back=False)
                return Exact(sums[source.canonical], t)
            case Contrast(plus, minus):
                return _contrast(source, self.at(plus), self.at(minus), t)
            case PairMeasure():
                numerator, denominator = self._engine.pair_statistic(source, t)
            case CustomMeasure():
                statistic, rows = data.statistic(source), self._engine.frame(0, t)
                numerator, denominator = statistic.unit(source, rows)
            case ModelPairs():
                from surehold.data.scores import score_pairs

                measure, rows = data.model_store.attach_payload(source), self._engine.frame(0, t)
                numerator, denominator = score_pairs(measure, rows, data.limits, self._tell)
            case _:
                raise NotImplementedError(type(source).__name__)
        return Exact((numerator,), denominator)

    def _sum_measures(self, measures: Sequence[Measure], low: int, high: int) -> list[Totals]:
        return [(total,) for total in self._engine.sums(measures, low, high)]

    def _sum_cells(self, sources: Sequence[CellMeasure], low: int, high: int) -> list[Totals]:
        return [tuple(self._engine.cell_sums(source, low, high)) for source in sources]

    def _sum_scores(self, sources: Sequence[ModelMeasure], low: int, high: int) -> list[Totals]:
        from surehold.data.scores import score_sums

        rows, limits = self._engine.frame(low, high), self._data.limits
        return [tuple(score_sums(source, rows, limits, self._tell)) for source in sources]

    def _sum_discordant(self, sources: Sequence[Discordance], low: int, high: int) -> list[Totals]:
        from surehold.data.scores import count_discordant

        rows, attach = self._engine.frame(low, high), self._data.model_store.attach_payload
        pairs = ((attach(source.plus), attach(source.minus)) for source in sources)
        return [count_discordant(*pair, rows, self._data.limits, self._tell) for pair in pairs]

    def _tell(self, more: int) -> None:
        self._gone_through += more
        if self._progress is not None:
            with contextlib.suppress(Exception):  # no progress bar ends an evaluation half-way
                self._progress(self._gone_through)


def _contrast(source: Contrast, plus: Exact, minus: Exact, t: int) -> Exact:
    """Return the difference of two shares, shifted and scaled to [0, 1]."""
    difference = plus.numerators[0] - minus.numerators[0]
    return Exact((difference + (t << source.bits),), t << (source.bits + 1))


def parts_of(source: Source) -> list[Source]:
    """Return the parts of a source."""
    if isinstance(source, Contrast | Discordance):
        return [*parts_of(source.plus), *parts_of(source.minus)]
    return [source]


def side_columns(sources: Sequence[Source | FitForm]) -> list[str]:
    """Return the columns of side tables that sources read, in a fixed order."""
    asked = (source for source in sources if mentions_table(source.canonical))
    return sorted({column for source in asked for column in columns_in(source)})
