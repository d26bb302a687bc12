"""The interface of an engine: exact integer sums over a range of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from surehold.errors import InvalidInput
from surehold.queries import CellMeasure, Measure
from surehold.queries.pairs import PairMeasure


class Engine(ABC):
    """Holds records 0, 1, 2, ... in the order of their arrival.

    language.md fixes what a measure is worth on a record, so every engine gives the same
    integers. An engine evaluates all of an expression on every record: its time may depend on how
    many records there are, not on what they hold, and no record makes it raise. (What is
    left of a dependence on texts: runtime.md, "What response times reveal".)
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the number of records."""

    @abstractmethod
    def _sums(self, measures: Sequence[Measure], start: int, stop: int) -> list[int]:
        """Compute :meth:`sums` for a range that is not empty and arguments that are valid."""

    def sums(self, measures: Sequence[Measure], start: int, stop: int) -> list[int]:
        """Return the sum of each measure over the records start, ..., stop - 1, in one pass."""
        self._check_range(start, stop)
        if start == stop or not measures:
            return [0] * len(measures)
        return self._sums(measures, start, stop)

    @abstractmethod
    def _cell_sums(self, measure: CellMeasure, start: int, stop: int) -> list[int]:
        """Compute :meth:`cell_sums` for a nonempty range and valid arguments."""

    def cell_sums(self, measure: CellMeasure, start: int, stop: int) -> list[int]:
        """Return the sum in each cell over the records start, ..., stop - 1, in cell order."""
        self._check_range(start, stop)
        if start == stop:
            return [0] * measure.cells
        return self._cell_sums(measure, start, stop)

    def _check_range(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop <= self.size:
            required = f"a range within the {self.size:,} records there are"
            raise InvalidInput("start and stop", required, (start, stop))

    @abstractmethod
    def _pair_statistic(self, measure: PairMeasure, stop: int) -> tuple[int, int]:
        """Compute :meth:`pair_statistic` for a number of records that exists."""

    def pair_statistic(self, measure: PairMeasure, stop: int) -> tuple[int, int]:
        """Return the unit of a statistic over pairs of the first ``stop`` records, as a fraction.

        Unlike for sums, the time depends on the order in which values arrived, because they are
        sorted, and on the number of nulls (:mod:`surehold.data.pairs`).
        """
        if not 0 <= stop <= self.size:
            required = f"a range within the {self.size:,} records there are"
            raise InvalidInput("stop", required, stop)
        return self._pair_statistic(measure, stop)
