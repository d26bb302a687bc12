"""The embedded engine: Polars on frames in memory, or mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import add

import polars as pl

from surehold.data.engines.polars_bytes import cut_texts
from surehold.data.engines.polars_cells import cell_sums
from surehold.data.engines.polars_pairs import pair_unit
from surehold.data.engines.polars_printer import PolarsPrinter
from surehold.errors import InvalidInput
from surehold.queries import CellMeasure, Measure
from surehold.queries.pairs import PairMeasure


class PolarsEngine:
    """An append-only list of frames that behaves like one frame.

    It holds records 0, 1, 2, ... in the order of their arrival, and evaluates all of an expression
    on every record: its time may depend on how many records there are, not on what they hold, and
    no record makes it raise. (What is left of a dependence on texts: runtime.md, "What response
    times reveal".)

    >>> from surehold.queries import Schema, fraction
    >>> engine = PolarsEngine()
    >>> engine.extend(pl.DataFrame({"age": [70, 20]}))
    >>> engine.extend(pl.DataFrame({"age": [66, None]}))
    >>> old = fraction("age > 65").measure(Schema.of({"age": "int"}))
    >>> engine.size, engine.sums([old], 0, 4), engine.sums([old], 1, 3)
    (4, [2], [1])

    Frames of up to ``small`` records are joined: single records would otherwise leave a chunk each,
    and slow every query down. At most ``most`` records are summed at a time: 2^30 integers of at
    most 2^32 have a sum below 2^63.
    """

    def __init__(self, small: int = 1 << 14, most: int = 1 << 30) -> None:
        self._small, self._most = small, most
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
        if self._frames and self._frames[-1].height + frame.height <= self._small:
            frame = pl.concat([self._frames.pop(), frame], rechunk=True)
            self._cut.pop()
        self._frames.append(frame)
        self._cut.append(cut_texts(frame))

    def frozen(self) -> PolarsEngine:
        """Return an engine of the present records, to which nothing is added.

        Several threads may use it while others extend this one.
        """
        frozen = PolarsEngine(self._small, self._most)
        frozen._joined, frozen._size = self._both(), self._size
        return frozen

    def beside(self, columns: Sequence[pl.Series]) -> PolarsEngine:
        """Return an engine of the same records with more columns, one value for each record."""
        records, cut = self._both()
        lengths = records.to_series(0).chunk_lengths()
        # In the chunks of the records: otherwise Polars would copy all columns into one chunk.
        chunked = [_in_chunks(column, lengths) for column in columns]
        engine = PolarsEngine(self._small, self._most)
        engine._joined, engine._size = (records.hstack(chunked), cut.hstack(chunked)), self._size
        return engine

    def frame(self, start: int, stop: int) -> pl.DataFrame:
        """Return the records start, ..., stop - 1, unchanged."""
        return self._both()[0].slice(start, stop - start)

    def sums(self, measures: Sequence[Measure], start: int, stop: int) -> list[int]:
        """Return the sum of each measure over the records start, ..., stop - 1, in one pass."""
        totals = [0] * len(measures)
        for rows in self._parts(start, stop):
            totals = list(map(add, totals, self._totals(measures, rows)))
        return totals

    def cell_sums(self, measure: CellMeasure, start: int, stop: int) -> list[int]:
        """Return the sum in each cell over the records start, ..., stop - 1, in cell order."""
        totals = [0] * measure.cells
        for rows in self._parts(start, stop):
            totals = list(map(add, totals, cell_sums(measure, rows)))
        return totals

    def pair_statistic(self, measure: PairMeasure, stop: int) -> tuple[int, int]:
        """Return the unit of a statistic over pairs of the first ``stop`` records, as a fraction.

        Unlike for sums, the time depends on the order in which values arrived, because they are
        sorted, and on the number of nulls (:mod:`surehold.data.pairs`).
        """
        self._check_range(0, stop)
        return pair_unit(measure, self._read().slice(0, stop))

    def _parts(self, start: int, stop: int) -> Iterator[pl.DataFrame]:
        """Yield the records start, ..., stop - 1 in parts whose sums are exact."""
        self._check_range(start, stop)
        rows = self._read()
        if stop - start < self._size:  # slicing many chunks takes time
            rows = rows.slice(start, stop - start)
        yield from [rows] if 0 < rows.height <= self._most else rows.iter_slices(self._most)

    def _check_range(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop <= self._size:
            required = f"a range within the {self._size:,} records there are"
            raise InvalidInput("start and stop", required, (start, stop))

    def _totals(self, measures: Sequence[Measure], rows: pl.DataFrame) -> list[int]:
        """Return the sums of all measures, in one query, and one for those of no column."""
        varying = [measure for measure in measures if measure.expression.columns]
        constant = [measure for measure in measures if not measure.expression.columns]
        # Without a column Polars gives one value, not one for each record.
        of_each, of_one = self._row(varying, rows), self._row(constant, _ONE)
        return [
            next(of_each) if measure.expression.columns else next(of_one) * rows.height
            for measure in measures
        ]

    def _row(self, measures: Sequence[Measure], rows: pl.DataFrame) -> Iterator[int]:
        if not measures:
            return iter(())
        if _is_short(measures, rows):
            return map(int, rows.select(_totals(measures)).row(0))
        return map(int, self.query(measures, rows).collect(engine="streaming").row(0))

    def query(self, measures: Sequence[Measure], rows: pl.DataFrame) -> pl.LazyFrame:
        """Build the Polars query: one column per measure."""
        return rows.lazy().select(_totals(measures))

    def _read(self) -> pl.DataFrame:
        """Return all records, with texts cut to what the language reads."""
        return self._both()[1]

    def _both(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return all frames as one, without copying their columns, and the same with cut texts."""
        if self._joined is None:
            empty = [pl.DataFrame()]
            self._joined = (
                pl.concat(self._frames or empty, rechunk=False),
                pl.concat(self._cut or empty, rechunk=False),
            )
        return self._joined


def _in_chunks(column: pl.Series, lengths: Sequence[int]) -> pl.Series:
    ends = list(accumulate(lengths))
    parts = [column.slice(end - size, size) for end, size in zip(ends, lengths, strict=True)]
    return pl.concat(parts, rechunk=False)


_ONE = pl.DataFrame({"": [True]})
_FEW_ROWS = 1 << 16


def _totals(measures: Sequence[Measure]) -> list[pl.Expr]:
    printer = PolarsPrinter()
    return [printer.total(measure).alias(str(at)) for at, measure in enumerate(measures)]


def _is_short(measures: Sequence[Measure], rows: pl.DataFrame) -> bool:
    """Whether one measure is so little work that planning how to share it takes longer."""
    return len(measures) == 1 and rows.height <= _FEW_ROWS
