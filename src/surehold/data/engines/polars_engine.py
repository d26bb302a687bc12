"""The embedded engine: Polars on frames in memory, or mapped into memory."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add

import polars as pl

from surehold.data.engines.base import Engine
from surehold.data.engines.polars_bytes import cut_texts
from surehold.data.engines.polars_cells import cell_sums
from surehold.data.engines.polars_pairs import pair_unit
from surehold.data.engines.polars_printer import PolarsPrinter
from surehold.errors import InvalidInput
from surehold.queries import CellMeasure, Measure
from surehold.queries.pairs import PairMeasure

# A sum of as many integers of at most 2^32 stays below 2^63.
_MOST_ROWS = 1 << 30
_SMALL = 1 << 14


class PolarsEngine(Engine):
    """An append-only list of frames that behaves like one frame.

    >>> from surehold.queries import Schema, fraction
    >>> engine = PolarsEngine()
    >>> engine.extend(pl.DataFrame({"age": [70, 20]}))
    >>> engine.extend(pl.DataFrame({"age": [66, None]}))
    >>> old = fraction("age > 65").measure(Schema.of({"age": "int"}))
    >>> engine.size, engine.sums([old], 0, 4), engine.sums([old], 1, 3)
    (4, [2], [1])
    """

    def __init__(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._cut: list[pl.DataFrame] = []
        self._joined: tuple[pl.DataFrame, pl.DataFrame] | None = None
        self._size = 0

    @property
    def size(self) -> int:
        """Return the number of records."""
        return self._size

    def extend(self, frame: pl.DataFrame) -> None:
        """Add records at the end; see :mod:`.polars_printer` for the types.

        Text stays text: on a Categorical the time of ``city = 'x'`` shows whether any record has
        that value, and an Enum refuses comparisons with a value it does not have.
        """
        frame = frame.cast({pl.Categorical: pl.String, pl.Enum: pl.String})
        if self._frames and frame.schema != self._frames[0].schema:
            first = self._frames[0].schema
            if frame.columns != first.names():
                raise InvalidInput("the columns of a frame", str(first.names()), frame.columns)
            frame = frame.cast(first)
        self._size += frame.height
        self._joined = None
        if self._frames and self._frames[-1].height + frame.height <= _SMALL:
            # Single records would otherwise leave a chunk each, and slow every query down.
            frame = pl.concat([self._frames.pop(), frame], rechunk=True)
            self._cut.pop()
        self._frames.append(frame)
        self._cut.append(cut_texts(frame))

    def frozen(self) -> PolarsEngine:
        """Return an engine of the present records, to which nothing is added.

        Several threads may use it while others extend this one.
        """
        frozen = PolarsEngine()
        frozen._joined, frozen._size = self._both(), self._size
        return frozen

    def frame(self, start: int, stop: int) -> pl.DataFrame:
        """Return the records start, ..., stop - 1, unchanged."""
        return self._whole().slice(start, stop - start)

    def _sums(self, measures: Sequence[Measure], start: int, stop: int) -> list[int]:
        whole = self._read()
        totals = [0] * len(measures)
        for first in range(start, stop, _MOST_ROWS):
            rows = whole.slice(first, min(_MOST_ROWS, stop - first))
            for at, total in enumerate(self._totals(measures, rows)):
                totals[at] += total
        return totals

    def _totals(self, measures: Sequence[Measure], rows: pl.DataFrame) -> list[int]:
        varying = [at for at, measure in enumerate(measures) if measure.expression.columns]
        totals = [0] * len(measures)
        for at, total in zip(varying, self._row(measures, varying, rows), strict=True):
            totals[at] = total
        # Without a column Polars gives one value, not one for each record.
        constant = [at for at, measure in enumerate(measures) if not measure.expression.columns]
        for at, total in zip(constant, self._row(measures, constant, _ONE), strict=True):
            totals[at] = total * rows.height
        return totals

    def _row(
        self, measures: Sequence[Measure], chosen: Sequence[int], rows: pl.DataFrame
    ) -> list[int]:
        """Return the sums of the chosen measures, all in one query."""
        if not chosen:
            return []
        query = self.query([measures[at] for at in chosen], rows)
        return [int(total) for total in query.collect(engine="streaming").row(0)]

    def query(self, measures: Sequence[Measure], rows: pl.DataFrame) -> pl.LazyFrame:
        """Build the Polars query: one column per measure."""
        printer = PolarsPrinter()
        totals = [printer.total(measure).alias(str(at)) for at, measure in enumerate(measures)]
        return rows.lazy().select(totals)

    def _cell_sums(self, measure: CellMeasure, start: int, stop: int) -> list[int]:
        whole = self._read()
        totals = [0] * measure.cells
        for first in range(start, stop, _MOST_ROWS):
            found = cell_sums(measure, whole.slice(first, min(_MOST_ROWS, stop - first)))
            totals = list(map(add, totals, found))
        return totals

    def _pair_statistic(self, measure: PairMeasure, stop: int) -> tuple[int, int]:
        return pair_unit(measure, self._read().slice(0, stop))

    def _whole(self) -> pl.DataFrame:
        """Return all frames as one, without copying their columns."""
        return self._both()[0]

    def _read(self) -> pl.DataFrame:
        """Return the same, with texts cut to what the language reads."""
        return self._both()[1]

    def _both(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        if self._joined is None:
            empty = [pl.DataFrame()]
            self._joined = (
                pl.concat(self._frames or empty, rechunk=False),
                pl.concat(self._cut or empty, rechunk=False),
            )
        return self._joined


_ONE = pl.DataFrame({"": [True]})
