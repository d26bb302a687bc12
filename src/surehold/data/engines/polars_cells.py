"""Count the records in each cell, or sum their values there, in exact integers.

Records are sorted into cells by fixed tables, block by block, with the same work for every record:
nothing is discovered, hashed into a growing table or skipped, so neither an error nor (except for
long texts, see :mod:`.polars_texts`) the time depends on record values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.engines.polars_arrays import STORED, Cells, known_of, slice_of, truths_of
from surehold.data.engines.polars_numbers import marked_numbers
from surehold.data.engines.polars_printer import PolarsPrinter
from surehold.data.engines.polars_texts import TextCells
from surehold.queries import CellMeasure, Measure
from surehold.queries.axes import Axis
from surehold.queries.expressions import LARGEST, Column, Expression, Number, Text, Truth, Type

Floats: TypeAlias = NDArray[np.float64]
Located: TypeAlias = Callable[[pl.DataFrame], Cells]

_BLOCK = 1 << 17
"""Records per block: few enough that their numbers stay in a cache, and enough that calls, and
switches of the interpreter's lock, take little of the time."""
_BATCH = 1 << 19
"""Records per count. The sum of this many integers of at most 2^32 is at most 2^51, and so is every
partial sum: below 2^53, where doubles are exact in any order of addition."""
_LANES = 8
_WIDEST_TABLE = 1 << 16
_EXACT_INTEGERS = 2.0**53


def cell_sums(measure: CellMeasure, rows: pl.DataFrame) -> list[int]:
    """Return the sum of every cell over at most 2^30 records.

    >>> from surehold.queries import Schema, histogram
    >>> asked = histogram("bins(age, 0, 18, 65)").measure(Schema.of({"age": "int"}))
    >>> cell_sums(asked, pl.DataFrame({"age": [17, 18, 65, 66, None, -1]}))
    [1, 2, 3]
    """
    counter = _Counter(measure, rows)
    batches = range(0, rows.height, _BATCH)
    total = np.zeros(measure.cells, np.int64)
    if len(batches) <= 1:
        return [int(found) for found in sum(map(counter.count, batches), total)]
    # NumPy and Polars let go of the interpreter while they work.
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        for found in pool.map(counter.count, batches):
            total += found
    return [int(found) for found in total]


class _Counter:
    """What is computed once for all records."""

    def __init__(self, measure: CellMeasure, rows: pl.DataFrame) -> None:
        self._cells = measure.cells
        self._height = rows.height
        self._rows = rows.select(sorted(measure.columns))
        self._axes = [(axis.size, locate(axis)) for axis in measure.axes]
        self._weight = measure.weight

    def count(self, start: int) -> Cells:
        """Return the sums over one batch of records."""
        count = min(_BATCH, self._height - start)
        cells = np.zeros(count, np.int64)
        weights = None if self._weight is None else np.empty(count, np.float64)
        for first in range(0, count, _BLOCK):
            block = self._rows.slice(start + first, min(_BLOCK, count - first))
            part = cells[first : first + _BLOCK]
            for size, located in self._axes:
                part *= size
                part += located(block)
            if weights is not None and self._weight is not None:
                weights[first : first + _BLOCK] = weights_of(self._weight, block)
        return self._sum(cells, weights)

    def _sum(self, cells: Cells, weights: Floats | None) -> Cells:
        """Sum by cell; neighbours count in separate lanes.

        Otherwise a processor waits for one count before it can add to the same cell again, and
        equal records would take longer (measured: twice as long).
        """
        whole = cells.size - cells.size % _LANES
        lanes = cells[:whole].reshape(-1, _LANES)
        lanes += np.arange(_LANES) * self._cells
        found = np.bincount(cells, weights, minlength=_LANES * self._cells)
        summed: Cells = found.astype(np.int64).reshape(_LANES, self._cells).sum(axis=0)
        return summed


# -------------------------------------------------------------------------------- axes


def locate(axis: Axis) -> Located:
    """Return a function that gives the cell of every record of a block."""
    axis = axis.numbered
    operand = axis.operand
    located = _located_value(axis)
    if operand.columns:
        return lambda block: located(_values(operand, block))
    # Without a column there is one value, not one for each record; it spreads when it is added.
    constant = located(_values(operand, pl.DataFrame()))
    return lambda block: constant


def _located_value(axis: Axis) -> Callable[[pl.Series], Cells]:
    if axis.operand.type is Type.BOOLEAN:
        return _locate_truths(axis)
    if axis.operand.type is Type.TEXT:
        return TextCells([value.value for value in axis.values if isinstance(value, Text)]).of
    return _NumberCells(axis).of


def _values(node: Expression, block: pl.DataFrame) -> pl.Series:
    """Return a column as stored, and anything else with the language's meaning.

    Without a column that is one value, not one for each record.
    """
    if isinstance(node, Column) and node.holds is not None:
        return block.get_column(node.name).cast(STORED[node.holds])
    rows = block if node.columns else pl.DataFrame()
    return rows.select(PolarsPrinter().print_node(node)).to_series()


def _locate_truths(axis: Axis) -> Callable[[pl.Series], Cells]:
    """Return the cells of true, false and null, in any order."""
    truths = [value.value for value in axis.values if isinstance(value, Truth)]
    other = len(truths)
    cells = [truths.index(truth) if truth in truths else other for truth in (False, True)]
    table = np.array([other, other, *cells], np.int64)

    def located(column: pl.Series) -> Cells:
        array = column.to_arrow()
        known, truth = known_of(array).astype(np.int64), truths_of(array)
        known *= 2
        known += truth
        return table.take(known)

    return located


class _NumberCells:
    """Numbers among bounds b1 < b2 < ..., each of which begins a cell or a gap.

    ``x = v`` is v <= x < v', where v' is the next double; and x in [e, e'] is e <= x < e''.
    """

    def __init__(self, axis: Axis) -> None:
        self._other = other = axis.size - 1
        begins: dict[float, int] = {}
        if axis.edges:
            begins = {edge: cell for cell, edge in enumerate(axis.edges[:-1])}
            begins[math.nextafter(axis.edges[-1], math.inf)] = other
        else:
            numbers = [value.value for value in axis.values if isinstance(value, Number)]
            for value, at in sorted(zip(numbers, range(other), strict=True)):
                begins[value] = at
                begins[math.nextafter(value, math.inf)] = other
        bounds = sorted(begins)
        # The cell of what is below all, then of what is between each and the next.
        self._cells = np.array([other, *(begins[bound] for bound in bounds)], np.int64)
        self._search = _Search(bounds)
        self._first, self._table = self._integers(bounds[0], bounds[-1])

    def _integers(self, lowest: float, highest: float) -> tuple[int, Cells | None]:
        """The cell of each integer from the first that may be in one, if those are few.

        For \\|bounds\\| < 2^53 an integer lies on the same side of each as the double nearest to
        it: see `polars_printer.PolarsPrinter._compare_column`.
        """
        if not max(abs(lowest), abs(highest)) < _EXACT_INTEGERS:
            return 0, None
        first, last = math.ceil(lowest), math.floor(highest)
        if last - first >= _WIDEST_TABLE:
            return 0, None
        table = self._search_cells(np.arange(first, last + 1, dtype=np.float64))
        # What is beyond them, or null, is brought to one place more.
        return first, np.append(table, self._other)

    def of(self, column: pl.Series) -> Cells:
        """Return the cell of every record."""
        if column.dtype != pl.Int64:
            # What is unknown is no number, and compares with none.
            numbers = marked_numbers(column)
            return self._search_cells(np.clip(numbers, -LARGEST, LARGEST, out=numbers))
        array = column.to_arrow()
        unknown = -(~known_of(array)).astype(np.int64)
        integers = slice_of(array, np.int64)
        if self._table is None:
            unknown |= integers.astype(np.float64).view(np.int64)
            return self._search_cells(unknown.view(np.float64))
        # Modulo 2^64: what is not among those of the table, on either side, is beyond them.
        at = (integers - self._first).view(np.uint64)
        at |= unknown.view(np.uint64)
        np.minimum(at, np.uint64(len(self._table) - 1), out=at)
        return self._table.take(at.view(np.int64))

    def _search_cells(self, numbers: Floats) -> Cells:
        return self._cells.take(self._search.count(numbers))


class _Search:
    """Count the sorted bounds that are at most a number, in the same steps for all numbers.

    A line maps numbers to buckets. It does not decrease, in doubles either, so bounds in an earlier
    bucket than a number's are below it, those in a later one above, and those in its own are
    bisected, in as many steps as the fullest bucket needs. Evenly spaced bounds need one or two.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        count, reach = len(bounds), bounds[-1] - bounds[0]
        buckets = min(1 << (2 * count).bit_length(), _WIDEST_TABLE)
        self._first, self._scale = bounds[0], buckets / reach if reach > 0 else 0.0
        self._last = buckets - 1.0
        filled = np.bincount(self._bucket(np.array(bounds)), minlength=buckets)
        self._before = np.cumsum(filled) - filled
        self._levels = int(filled.max()).bit_length()
        # Beyond the end there are bounds that no number reaches.
        self._bounds = np.append(bounds, np.full(1 << self._levels, math.inf))

    def _bucket(self, numbers: Floats) -> Cells:
        with np.errstate(all="ignore"):
            found = numbers - self._first
            found *= self._scale
        # What is no number is in the first bucket.
        np.fmax(found, 0.0, out=found)
        np.minimum(found, self._last, out=found)
        return found.astype(np.int64)

    def count(self, numbers: Floats) -> Cells:
        """Count for each number; NaN is above no bound."""
        above = self._before.take(self._bucket(numbers))
        for level in reversed(range(self._levels)):
            found = (self._bounds.take(above + ((1 << level) - 1)) <= numbers).astype(np.int64)
            found <<= level
            above += found
        return above


# ------------------------------------------------------------------------------ weights


def weights_of(measure: Measure, block: pl.DataFrame) -> Floats:
    """Return the integers of a mean as doubles, for every record of a block, or one for all.

    See language.md, "The integer of a record".
    """
    column = _values(measure.expression, block)
    array = column.to_arrow()
    if column.dtype == pl.Int64:
        numbers = slice_of(array, np.int64).astype(np.float64)
    else:
        numbers = slice_of(array, np.float64)
    known = known_of(array) & ~np.isnan(numbers)
    # By their bits: what is at a null may be no number.
    bits = numbers.view(np.int64) & -known.astype(np.int64)
    steps = np.clip(bits.view(np.float64), measure.low, measure.high)
    steps -= measure.low
    steps *= measure.scale
    steps += 0.5
    np.floor(steps, out=steps)
    steps *= known
    return steps
