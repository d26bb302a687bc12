"""How long an evaluation takes, from public facts: the query, sizes, and made-up records.

No record is read for it, so nothing that these numbers decide depends on records.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import polars as pl

from surehold.data.alignment import Alignment, TableRows
from surehold.data.made_up_records import MadeUp, made_up_ids
from surehold.data.record_store import RecordStore, parts_of, side_columns
from surehold.queries import (
    CellMeasure,
    CustomMeasure,
    FitForm,
    Measure,
    ModelMeasure,
    ModelPairs,
    PairMeasure,
    Schema,
    Source,
)
from surehold.queries.side_tables import split, type_in

OVERHEAD = 0.008
"""Seconds that every evaluation is given: threads that wait for each other, locks, noise.

Most evaluations of few records get a slot of 50 ms by it; of 25 ms, more answers were late where
others kept the processors busy.
"""
_MOST_ROWS = 1 << 18
"""Made-up records at most, unless the round has fewer."""
_FEW_ROWS = 1 << 10
_LONG_ENOUGH = 0.005
"""Seconds that records should take in a trial: what is shorter than that is mostly noise, which
would be multiplied by as many times as the dataset has more records."""
_TOGETHER = 16
"""Measures in one trial: one of many in a pass takes far less time than one by itself, and one of
a thousand hardly less than one of these."""
_SORTED_ROWS = 1 << 14
_EACH = 1e-4  # seconds for each source: noise, a choice among candidates
_LOADED = 4e-6  # seconds for each value that has to be loaded
_CUSTOM = 1e-6  # seconds for each value that a custodian's function is given
_MOST = 4096
_MOST_BESIDE = 256  # made-up columns of side tables
_CONSTANT = re.compile(
    r"""(?P<name>"[^"]*"|[^\W\d]\w*) | '(?P<text>(?:[^']|'')*)' | (?P<number>\d+)""", re.VERBOSE
)


class Pace(NamedTuple):
    """Seconds to start, and seconds per record."""

    once: float
    each: float

    def at(self, records: int) -> float:
        """Return the seconds for a number of records."""
        return self.once + self.each * records


class Calibration:
    """Times queries on made-up records of the same columns, and remembers each kind.

    Two queries that differ only in their numbers and letters, not in how many there are, are of one
    kind: a trial of ``age > 65`` also serves ``age > 42``.
    """

    def __init__(
        self, data: RecordStore, clock: Callable[[], float] = time.perf_counter, most: int = _MOST
    ) -> None:
        self._data, self._clock, self._most = data, clock, most
        self._paces: OrderedDict[str, Pace] = OrderedDict()
        self._lock = threading.Lock()
        self._engine: MadeUp | None = None
        self._beside: dict[str, None] = {}  # columns of side tables, in order
        self._made_beside = 0  # how many of them the engine has
        self._ids: tuple[TableRows, pl.Series] | None = None
        self.trials = 0

    def seconds(self, sources: Sequence[Source], t: int) -> float:
        """Estimate an evaluation of these sources from scratch, whatever is known already."""
        parts = [part for source in sources for part in parts_of(source)]
        total = OVERHEAD + _EACH * len(parts)
        measures = {part.canonical: part for part in parts if isinstance(part, Measure)}
        total += self._look_up(side_columns(sources), t)
        total += self._pass(list(measures.values()), t)
        return total + sum(self._one(part, t) for part in parts)

    def fit_seconds(self, form: FitForm, t: int) -> float:
        """Estimate a fit: one pass to read the records, one for each step."""
        from surehold.data.gradients import Gradients

        beside = self._look_up(side_columns([form]), t)

        def step(rows: int) -> None:
            gradients = Gradients(form, self._made_up(rows).frame(0, rows))
            gradients.moments()
            gradients.total([0.0] * gradients.size)

        return (
            OVERHEAD
            + beside
            + form.steps * self.pace(f"fit {_kind(form.canonical)}", step, t).at(t)
        )

    def loading(self, t: int) -> float:
        """Estimate the time to load the records of a snapshot; 0 if they are loaded."""
        missing = max(t - self._data.loaded, 0)
        columns = len(self._data.schema.names)
        return OVERHEAD + _LOADED * missing * columns if missing else 0.0

    def _look_up(self, columns: Sequence[str], t: int) -> float:
        """Estimate how long columns of side tables take, on made-up ids.

        Half of these are in the table, and all take the same work.
        """
        if not columns:
            return 0.0
        self._beside |= dict.fromkeys(columns)
        store, total = self._data.table_store, 0.0
        for reference, listed in groupby(columns, lambda column: split(column)[0]):
            rows, names = store.rows(reference), list(listed)
            kinds = " ".join(str(type_in(name)) for name in names)

            def look_up(count: int, rows: TableRows = rows, names: list[str] = names) -> None:
                ids = self._made_up_ids(rows, count)
                Alignment().beside(ids, {split(names[0])[0]: rows}, names)

            pace = self.pace(f"beside {len(rows).bit_length()} {kinds}", look_up, t)
            total += _sorting(t) * pace.at(t)
        return total

    def _made_up_ids(self, rows: TableRows, count: int) -> pl.Series:
        known = self._ids
        if known is None or known[0] is not rows or len(known[1]) < count:
            self._ids = known = (rows, made_up_ids(rows.some_ids(count), count))
        return known[1].head(count)

    def _pass(self, measures: Sequence[Measure], t: int) -> float:
        """Estimate all measures that are summed in one pass.

        A few of each kind are tried in one pass, together with all kinds that occur about as often:
        a list of 10,000 candidates costs a few trials, and no kind hides behind others.
        """
        kinds: dict[str, list[Measure]] = {}
        for measure in measures:
            kinds.setdefault(_kind(measure.canonical), []).append(measure)
        by_size: dict[int, list[str]] = {}
        for kind in sorted(kinds):
            by_size.setdefault((len(kinds[kind]) - 1).bit_length(), []).append(kind)
        total = 0.0
        for size, similar in by_size.items():
            # No more than every list of this size has of each kind.
            copies = min((1 << size >> 1) + 1, -(-_TOGETHER // len(similar)))
            chosen = [measure for kind in similar for measure in kinds[kind][:copies]]

            def sums(rows: int, chosen: list[Measure] = chosen) -> None:
                self._made_up(rows).sums(chosen, 0, rows)

            seconds = self.pace("\n".join([str(copies), *similar]), sums, t).at(t)
            total += seconds * max(len(kinds[kind]) for kind in similar) / copies
        return total

    def _one(self, part: Source, t: int) -> float:
        """Estimate a source that is evaluated by itself."""
        kind = _kind(part.canonical)
        match part:
            case CellMeasure():
                return self.pace(
                    kind, lambda rows: self._made_up(rows).cell_sums(part, 0, rows), t
                ).at(t)
            case PairMeasure():
                return _sorting(t) * self.pace(
                    kind, lambda rows: self._made_up(rows).pair_statistic(part, rows), t
                ).at(t)
            case CustomMeasure(name=name):
                statistic = self._data.statistic(part)
                pace = self.pace(
                    f"{name} {statistic.digest}",
                    lambda rows: statistic.value(self._made_up(rows).frame(0, rows)),
                    t,
                )
                return pace.at(t) + _CUSTOM * t * len(statistic.columns)
            case ModelMeasure() | ModelPairs():
                from surehold.data.scores import expected_seconds

                measure = self._data.model_store.attach_payload(part)
                ranking = 1e-6 * t if isinstance(part, ModelPairs) else 0.0
                return expected_seconds(measure, t, self._data.limits) + ranking
            case _:
                return 0.0

    def pace(self, kind: str, work: Callable[[int], object], t: int) -> Pace:
        """Measure the pace of a kind, on more and more records until a trial takes a while."""
        most = min(_MOST_ROWS, 1 << max(t - 1, 0).bit_length())  # a power of two: few to remember
        known = self._paces.get(key := f"{most} {kind}")
        if known is not None:
            return known
        with self._lock:  # trials that run side by side would take each other's time
            rows = few = min(most, _FEW_ROWS)
            work(few)  # what is done for the first time takes longer
            once, many, _ = self._try(work, few)
            while rows < most and many < 2 * once + _LONG_ENOUGH:
                rows = min(4 * rows, most)
                self._made_up(rows)  # outside of what is measured
                _, many, _ = self._try(work, rows)  # neither a lucky one nor an interrupted one
            each = max(many - once, 0.0) / (rows - few) if rows > few else 0.0
            pace = self._paces[key] = Pace(max(once, many - each * rows), each)
            self.trials += 1
            while len(self._paces) > self._most:
                self._paces.popitem(last=False)
        return pace

    def _try(self, work: Callable[[int], object], rows: int) -> list[float]:
        """Return the seconds of three trials, sorted."""
        took = []
        for _ in range(3):
            begun = self._clock()
            work(rows)
            took.append(self._clock() - begun)
        return sorted(took)

    def _made_up(self, rows: int) -> MadeUp:
        names = self._data.schema.columns
        beside = tuple((name, kind) for name in self._beside if (kind := type_in(name)))
        if self._engine is None or self._engine.size < rows or len(beside) > self._made_beside:
            if len(beside) > _MOST_BESIDE:
                self._beside = dict.fromkeys(list(self._beside)[-_MOST_BESIDE // 2 :])
                return self._made_up(rows)
            size = max(rows, 0 if self._engine is None else self._engine.size)
            self._engine, self._made_beside = MadeUp(Schema((*names, *beside)), size), len(beside)
        return self._engine


def _kind(canonical: str) -> str:
    """Return a query's text with its constants blanked, at nearly the same length."""

    def empty(found: re.Match[str]) -> str:
        if found["name"] is not None:
            return found["name"]
        if found["text"] is not None:
            return f"'{len(found['text'].encode()).bit_length()}'"
        return "0" * len(found["number"])

    return _CONSTANT.sub(empty, canonical)


def _sorting(t: int) -> float:
    """Return how much longer a record takes to sort among t than among a few thousand."""
    return max(math.log2(max(t, 2)) / math.log2(_SORTED_ROWS), 1.0)
