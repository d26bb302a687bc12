"""The trial of a block by code of the analyst's own.

Whatever a model does on a record, every other record that can have a value gets it.
Two things make the value of a record depend on that record alone.

*One shape.* A value is taken only from a call on a cell of the one size, in the record's place in
it. A matrix product of one row, or of three, often differs in the last bit from the same row in a
thousand (other instructions are used for a few rows); were the values of smaller calls kept, a
failing record would change those of its neighbours.

*A search.* If a cell fails, its halves are tried, their halves, and so on, and a record is bad if
the model fails on that record by itself. Then the cell is called again, with a good record in the
place of each bad one: this call gives the values. Should it fail as well, each record gets a cell
of its own, full of copies of it.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surehold.data.process.blocks import Block
from surehold.data.process.channel import (
    BAD,
    BARRED,
    COPIES,
    FULL,
    GOOD,
    GROUP,
    MENDED,
    SINGLE,
    SOUND,
    Notes,
)
from surehold.data.process.evaluators import Evaluator

Call = tuple[int, int, int, int]
Rows = NDArray[np.intp]


class Trial:
    """All calls of the model for one block.

    ``lost`` are calls that an earlier child did not return from; they count as failed. The search
    is the same each time, so it reaches the same point again, and continues.
    """

    def __init__(
        self,
        model: Evaluator,
        block: Block,
        notes: Notes,
        cell: int,
        lost: Collection[Call] = (),
    ) -> None:
        self._model, self._block, self._notes, self._size = model, block, notes, cell
        self._lost = frozenset(lost)
        self._cell = 0

    def run(self) -> None:
        """Try every remaining cell."""
        for start, stop in self._notes.remaining(self._size):
            self._cell = start
            self._try_cell(start, stop)

    def _try_cell(self, start: int, stop: int) -> None:
        verdicts = self._notes.verdicts[start:stop]
        if self._whole(FULL, start, stop):
            return
        if self._size == 1:
            verdicts[:] = BAD
            return
        rows: Rows = start + np.flatnonzero(verdicts != BARRED)
        # Missing values are the commonest reason to fail: apart from the rest they cost one call.
        missing = self._block.missing(rows)
        rows = np.concatenate([rows[~missing], rows[missing]])
        gap = int(np.count_nonzero(~missing))
        self._search(rows, 0, len(rows), gap if 0 < gap < len(rows) else None)
        if (verdicts == BAD).any() and self._whole(MENDED, start, stop):
            return
        for row in (start + np.flatnonzero(verdicts == SOUND)).tolist():
            part = self._block.take(np.full(self._size, row))
            found = self._called(COPIES, row, row + 1, part)
            if found is not None:
                self._notes.values[row] = found[row - start]
            self._notes.verdicts[row] = BAD if found is None else GOOD

    def _search(self, rows: Rows, low: int, high: int, cut: int | None = None) -> bool:
        """Find the bad records in a range that fails; return whether there is none."""
        if high - low == 1:
            return self._part(rows, low, high)
        middle = (low + high) // 2 if cut is None else cut
        fine = self._half(rows, low, middle, suspect=False)
        # If the first half is fine, it is the second that fails; no need to call the model.
        return self._half(rows, middle, high, suspect=fine) and fine

    def _half(self, rows: Rows, low: int, high: int, suspect: bool) -> bool:
        if high <= low:
            return True
        if high - low > 1 and (suspect or not self._part(rows, low, high)):
            return self._search(rows, low, high)
        return high - low > 1 or self._part(rows, low, high)

    def _part(self, rows: Rows, low: int, high: int) -> bool:
        """Whether the model gives values for some records; the values are not kept."""
        chosen = rows[low:high]
        verdicts = self._notes.verdicts[chosen]
        if verdicts.all() or (verdicts == BAD).any():  # known from an earlier child
            return bool((verdicts < BAD).all())
        single = high - low == 1
        found = self._called(SINGLE if single else GROUP, low, high, self._block.take(chosen))
        if found is not None:
            self._notes.verdicts[chosen] = SOUND
        elif single:
            self._notes.verdicts[chosen] = BAD
        return found is not None

    def _whole(self, stage: int, start: int, stop: int) -> bool:
        """Call the model on the cell in its full size, without bad records."""
        verdicts = self._notes.verdicts[start:stop]
        good = verdicts < BAD
        if not good.any():
            return True
        every = bool(good.all())
        if every and stop - start == self._size:
            part = self._block.slice(start, stop)
        else:
            rows = np.full(self._size, self._block.lightest(start + np.flatnonzero(good)))
            rows[: stop - start][good] = start + np.flatnonzero(good)
            part = self._block.take(rows)
        found = self._called(stage, 0, stop - start, part)
        if found is None:
            return False
        self._notes.values[start:stop][good] = found[: stop - start][good]
        verdicts[good] = GOOD
        return True

    def _called(self, stage: int, low: int, high: int, part: Any) -> NDArray[Any] | None:
        """Return what the model gives for a part, None if it fails."""
        if (stage, self._cell, low, high) in self._lost:
            return None
        call = self._notes.call
        call[1:6] = stage, self._cell, low, high, call[5] + 1
        call[0] = time.monotonic_ns()
        try:
            return self._model(part)
        except BaseException:  # SystemExit among them: nothing that a model does is an error here
            return None
        finally:
            call[0] = 0


def most_calls(records: int, cell: int) -> int:
    """Return the maximum number of calls: each cell twice, every search range, all copies."""
    cells = -(-records // cell)
    return 2 * cells + 3 * records
