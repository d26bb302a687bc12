"""How long an evaluation takes, by public facts: the query, sizes, and a trial on made-up records.

No record is read for it, so nothing that is decided by these numbers depends on records.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.engines.polars_engine import PolarsEngine
from surehold.data.engines.polars_series import STORED
from surehold.data.record_store import RecordStore, parts_of
from surehold.queries import (
    CellMeasure,
    ColumnType,
    CustomMeasure,
    FitForm,
    Measure,
    ModelMeasure,
    ModelPairs,
    PairMeasure,
    Schema,
    Source,
)

OVERHEAD = 0.008
"""Seconds that every evaluation is given: threads that wait for each other, locks, noise.

Most evaluations of few records get a slot of 50 ms by it; of 25 ms, more answers were late where
others kept the processors busy.
"""
_ROWS = 1 << 14
"""As many made-up records at most, or as many as the round has."""
_FEW = 1 << 10
_EACH = 1e-4  # seconds for each source: noise, a choice among candidates
_LOADED = 4e-6  # seconds for each value that has to be loaded
_CUSTOM = 1e-6  # seconds for each value that a custodian's function is given
_MOST = 4096
_LONGEST = 1000
_SETS = 3
_CONSTANT = re.compile(
    r"""(?P<name>"[^"]*"|[^\W\d]\w*) | '(?P<text>(?:[^']|'')*)' | (?P<number>\d+)""", re.VERBOSE
)


class Pace(NamedTuple):
    """Seconds to begin with, and seconds for each record."""

    once: float
    each: float

    def at(self, records: int) -> float:
        """The seconds for a number of records."""
        return self.once + self.each * records


class Calibration:
    """Tries queries on made-up records of the same columns, and remembers how long each kind took.

    Two queries that differ in their numbers and letters, not in how many they have, are of one
    kind: a trial of ``age > 65`` serves ``age > 42``.
    """

    def __init__(
        self, data: RecordStore, clock: Callable[[], float] = time.perf_counter, most: int = _MOST
    ) -> None:
        self._data, self._clock, self._most = data, clock, most
        self._paces: OrderedDict[str, Pace] = OrderedDict()
        self._lock = threading.Lock()
        self._engine: MadeUp | None = None
        self.trials = 0

    def seconds(self, sources: Sequence[Source], t: int) -> float:
        """What an evaluation of these sources takes from scratch, whatever is known already."""
        parts = [part for source in sources for part in parts_of(source)]
        total = OVERHEAD + _EACH * len(parts)
        measures = {part.canonical: part for part in parts if isinstance(part, Measure)}
        total += self._pass(list(measures.values()), t)
        return total + sum(self._one(part, t) for part in parts)

    def fit_seconds(self, form: FitForm, t: int) -> float:
        """What a fit takes: one pass to read the records, one for each step."""
        from surehold.data.gradients import Gradients

        def step(rows: int) -> None:
            gradients = Gradients(form, self._made_up().frame(0, rows))
            gradients.moments()
            gradients.total([0.0] * gradients.size)

        pace = self._pace(f"fit {_kind(form.canonical)}", step, t)
        return OVERHEAD + form.steps * pace.at(t)

    def loading(self, t: int) -> float:
        """What it takes to have the records of a snapshot at hand; 0 if they are already."""
        missing = max(t - self._data.loaded, 0)
        columns = len(self._data.schema.names)
        return OVERHEAD + _LOADED * missing * columns if missing else 0.0

    def _pass(self, measures: Sequence[Measure], t: int) -> float:
        """Of all measures that are summed in one pass.

        Those of one kind are tried once, together with all kinds that are about as many: a list of
        10,000 candidates costs a few trials, and no kind hides behind others.
        """
        kinds: dict[str, Measure] = {_kind(measure.canonical): measure for measure in measures}
        counts = Counter(_kind(measure.canonical) for measure in measures)
        by_size: dict[int, list[str]] = {}
        for kind in sorted(kinds):
            by_size.setdefault((counts[kind] - 1).bit_length(), []).append(kind)
        total = 0.0
        for size, similar in by_size.items():
            chosen = [kinds[kind] for kind in similar]

            def sums(rows: int, chosen: list[Measure] = chosen) -> None:
                self._made_up().sums(chosen, 0, rows)

            total += self._pace("\n".join(similar), sums, t).at(t) * (1 << size)
        return total

    def _one(self, part: Source, t: int) -> float:
        """Of a source that is worked out by itself."""
        kind = _kind(part.canonical)
        match part:
            case CellMeasure():
                pace = self._pace(kind, lambda rows: self._made_up().cell_sums(part, 0, rows), t)
                return pace.at(t)
            case PairMeasure():
                pace = self._pace(kind, lambda rows: self._made_up().pair_statistic(part, rows), t)
                return pace.at(t) * _sorting(t)
            case CustomMeasure(name=name):
                statistic = self._data.statistic(part)
                pace = self._pace(
                    f"{name} {statistic.digest}",
                    lambda rows: statistic.value(self._made_up().frame(0, rows)),
                    t,
                )
                return pace.at(t) + _CUSTOM * t * len(statistic.columns)
            case ModelMeasure():
                return self._scoring(part, t)
            case ModelPairs(measure=measure):
                return self._scoring(measure, t) + 1e-6 * t
            case _:
                return 0.0

    def _scoring(self, measure: ModelMeasure, t: int) -> float:
        from surehold.data.scores import expected_seconds

        return expected_seconds(
            self._data.model_store.attach_payload(measure), t, self._data.limits
        )

    def _pace(self, kind: str, work: Callable[[int], object], t: int) -> Pace:
        """The pace of a kind, by tries on few records and on many."""
        rows = min(_ROWS, 1 << max(t - 1, 0).bit_length())  # a power of two: few to remember
        known = self._paces.get(key := f"{rows} {kind}")
        if known is not None:
            return known
        with self._lock:  # trials that run side by side would take each other's time
            few = min(rows, _FEW)
            work(few)  # what is done for the first time takes longer
            once, many = self._median(work, few), self._median(work, rows)
            each = max(many - once, 0.0) / (rows - few) if rows > few else 0.0
            pace = self._paces[key] = Pace(max(once, many - each * rows), each)
            self.trials += 1
            while len(self._paces) > self._most:
                self._paces.popitem(last=False)
        return pace

    def _median(self, work: Callable[[int], object], rows: int) -> float:
        """Of three tries: neither a lucky one nor one that was interrupted."""
        took = []
        for _ in range(3):
            begun = self._clock()
            work(rows)
            took.append(self._clock() - begun)
        return sorted(took)[1]

    def _made_up(self) -> MadeUp:
        if self._engine is None:
            self._engine = MadeUp()
            self._engine.extend(made_up(self._data.schema, _ROWS))
        return self._engine


class MadeUp(PolarsEngine):
    """An engine that holds no records of the dataset, but made-up ones."""


def made_up(schema: Schema, rows: int) -> pl.DataFrame:
    """Records of all sorts that a schema allows: missing values, extremes, short and long texts.

    Columns of one type take turns at a few sets of values, so that thousands of them cost little.
    """
    sets = {kind: [_values(kind, rows, salt) for salt in range(_SETS)] for kind in ColumnType}
    columns = (sets[kind][at % _SETS].alias(name) for at, (name, kind) in enumerate(schema))
    return pl.DataFrame(list(columns))


def _values(kind: ColumnType, rows: int, salt: int) -> pl.Series:
    share, other = _mix(rows, 3 * salt), _mix(rows, 3 * salt + 1)
    match kind:
        case ColumnType.BOOL:
            values = pl.Series(share < 0.5)
        case ColumnType.INT:
            large = ((other - 0.5) * 2.0**62).astype(np.int64)
            values = pl.Series(np.where(share < 0.75, large % 100, large))
        case ColumnType.FLOAT:
            values = pl.Series((share - 0.5) * 1e4)
        case ColumnType.STR:
            lengths = np.where(share < 0.125, _LONGEST, share * 24).astype(int).tolist()
            letters = "".join(map(chr, (97 + 26 * _mix(_LONGEST, salt)).astype(int).tolist()))
            starts = (26 * other).astype(int).tolist()
            texts = [letters[at:] + letters[:at] for at in range(26)]
            values = pl.Series([texts[at][:size] for at, size in zip(starts, lengths, strict=True)])
    gaps = pl.Series(_mix(rows, 3 * salt + 2) < 0.05)
    return values.cast(STORED[kind]).set(gaps, None)


def _mix(rows: int, salt: int) -> NDArray[np.float64]:
    """Numbers from 0 to 1 in no order, the same each time: nothing is drawn for made-up records."""
    numbers = np.arange(rows, dtype=np.uint64) + np.uint64((salt + 1) << 40)
    for factor in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93):
        numbers *= np.uint64(factor)
        numbers ^= numbers >> np.uint64(32)
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _kind(canonical: str) -> str:
    """A query's text with its constants as long as they were, or nearly, but empty."""

    def empty(found: re.Match[str]) -> str:
        if found["name"] is not None:
            return found["name"]
        if found["text"] is not None:
            return f"'{len(found['text'].encode()).bit_length()}'"
        return "0" * len(found["number"])

    return _CONSTANT.sub(empty, canonical)


def _sorting(t: int) -> float:
    """How much longer a record takes to sort among t than among the made-up ones."""
    return max(math.log2(max(t, 2)) / math.log2(_ROWS), 1.0)
