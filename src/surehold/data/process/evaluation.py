"""One evaluation: blocks in, values out, in order, whatever happens to the children.

What losing a child means depends on the model. The analyst's own code may hang or end its process
on a record: the call counts as failed, and another child continues the search (:mod:`.trial`). An
ONNX model can do neither, so the call is simply repeated; if that does not help, or for other
reasons of the machine, the whole evaluation fails.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.process.blocks import LONGEST, LONGEST_OF_OWN, write_block
from surehold.data.process.channel import BARRED, GOOD, GROUP, Gone, Message, Notes
from surehold.data.process.child import Child
from surehold.data.process.crew import START_SECONDS, Crew
from surehold.data.process.probe import MOST_NUMBERS, Probe
from surehold.errors import EvaluationFailed, SureholdError

ROWS = 1 << 16
"""Records that are handed over at a time, if the model is quick."""
_PIECE_SECONDS = 0.5
_BYTES = 1 << 28
_MOST_STRAYS = 3
_BESIDES = 60.0
"""Seconds that a child may take between two calls of the model."""


class Result(NamedTuple):
    """The values of one block: int32 indices of the classes, or a float64 row of scores each.

    ``known`` is False for records without a value; there, labels are -1 and scores NaN. Scores are
    as the model gave them, not clipped.
    """

    values: NDArray[Any]
    known: NDArray[np.bool_]


def bar_gaps(notes: Notes, frame: pl.DataFrame, gaps: Iterable[str]) -> None:
    """Exclude records with a missing value in a column in which the model accepts none."""
    for name in gaps:
        if frame[name].null_count():
            notes.verdicts[frame[name].is_null().to_numpy()] = BARRED


def result_of(notes: Notes, width: int | None, classes: int) -> Result:
    """Return what was found out about a block.

    A child that runs an analyst's code may have written anything there.
    """
    values = notes.values
    known = (values >= 0) & (values < classes) if width is None else np.isfinite(values).all(axis=1)
    known &= notes.verdicts == GOOD
    if not known.all():
        values = values.copy()
        values[~known] = -1 if width is None else np.nan
    return Result(values, known)


@dataclass(eq=False)
class _Whole:
    """A block from the caller: its values so far, and how many are missing."""

    result: Result
    missing: int


@dataclass(eq=False)
class _Job:
    """A piece of a block, in a slot of a child."""

    whole: _Whole
    start: int
    slot: int
    notes: Notes
    message: Message
    lost: list[list[int]] = field(default_factory=list)
    strays: int = 0
    calls: int = -1
    since: float = 0.0


class Evaluation:
    """Hands pieces of blocks to children and collects their results.

    ``seconds`` limits one call of the model, ``in_all`` a whole evaluation of an ONNX model.
    """

    def __init__(
        self, crew: Crew, probe: Probe, seconds: float, in_all: float | None = None
    ) -> None:
        self._crew, self._probe = crew, probe
        self._seconds, self._in_all = seconds, in_all
        self._is_onnx = crew.order.payload.kind == "onnx"
        self._longest = LONGEST if self._is_onnx else LONGEST_OF_OWN
        self._columns = [name for name, _ in probe.loaded.columns]
        self._width = None if crew.order.want == "labels" else probe.loaded.width
        classes = crew.order.payload.classes
        self._classes = max(2, probe.loaded.width) if classes is None else len(classes)
        self._queues: dict[Child, deque[_Job]] = {child: deque() for child in crew.children}
        self._spent, self._begun = 0.0, 0.0
        self._number = 0
        # Parts of a cell that failed are only on trial: whatever takes too long is cut up further.
        self._group_seconds = min(seconds, max(0.5, 20 * probe.seconds))
        texts = [kind for _, kind in probe.loaded.columns].count("str")
        rows = min(ROWS, MOST_NUMBERS // len(self._columns))
        rows = min(rows, _BYTES // (LONGEST * texts)) if texts else rows
        cells = max(rows // probe.cell, 1)
        if probe.seconds > 0:
            cells = max(min(cells, int(_PIECE_SECONDS / probe.seconds)), 1)
        self._rows = probe.cell * cells
        self._waited = 0.0

    def run(self, blocks: Iterable[pl.DataFrame]) -> Iterator[Result]:
        """Yield the values of each block."""
        wholes: deque[_Whole] = deque()
        for block in blocks:
            whole = self._whole(block.height)
            wholes.append(whole)
            frame = block if block.columns == self._columns else block.select(self._columns)
            for start in range(0, block.height, self._rows):
                self._begun = time.monotonic()
                self._hand_over(whole, start, frame.slice(start, self._rows))
                self._spent += time.monotonic() - self._begun
            yield from self._finished(wholes)
        while wholes:
            self._begun = time.monotonic()
            self._wait()
            self._spent += time.monotonic() - self._begun
            yield from self._finished(wholes)

    def close(self) -> None:
        """End the children that are still working."""
        for child, queue in self._queues.items():
            if queue:
                child.kill()
                queue.clear()
        self._crew.waited += self._waited

    # ------------------------------------------------------------------------- the blocks

    def _whole(self, rows: int) -> _Whole:
        shape = rows if self._width is None else (rows, self._width)
        values = np.empty(shape, np.int32 if self._width is None else np.float64)
        return _Whole(Result(values, np.zeros(rows, np.bool_)), rows)

    def _finished(self, wholes: deque[_Whole]) -> Iterator[Result]:
        while wholes and not wholes[0].missing:
            yield wholes.popleft().result

    def _hand_over(self, whole: _Whole, start: int, piece: pl.DataFrame) -> None:
        """Give a piece to a child with a free slot."""
        cells = -(-piece.height // self._probe.cell)
        has_long = self._probe.loaded.form == "arrow" and not self._is_onnx
        if has_long and cells > 1 and piece.estimated_size() > _BYTES:
            # In two halves of whole cells, so that every record keeps its place in its cell.
            half = cells // 2 * self._probe.cell
            self._hand_over(whole, start, piece.slice(0, half))
            self._hand_over(whole, start + half, piece.slice(half))
            return
        while (child := self._free()) is None:
            self._wait()
        try:
            job = self._written(child, whole, start, piece)
        except (OSError, MemoryError) as error:
            raise EvaluationFailed("there is not enough memory for a block of records") from error
        self._queue(child, job)

    def _written(self, child: Child, whole: _Whole, start: int, piece: pl.DataFrame) -> _Job:
        used = {job.slot for job in self._queues[child]}
        slot = next(at for at in range(len(child.slots)) if at not in used)
        given, found = child.slots[slot].given, child.slots[slot].found
        size = write_block(piece, self._probe.loaded.form, given, self._longest)
        room = Notes.size(piece.height, self._width)
        found.reserve(room)
        notes = Notes(found.view(room), piece.height, self._width)
        notes.clear()
        bar_gaps(notes, piece, self._probe.gaps)
        self._number += 1
        message: Message = {
            "do": "evaluate",
            "job": self._number,
            "slot": slot,
            "rows": piece.height,
            "size": size,
            "cell": self._probe.cell,
            "lost": [],
        }
        return _Job(whole, start, slot, notes, message)

    # ----------------------------------------------------------------------- the children

    def _free(self) -> Child | None:
        """Return the least busy child with a free slot; start another if it pays."""
        crew = self._crew
        first = crew.children[0]
        if not first.is_running:
            self._revive(first)
        running = [child for child in crew.children if child.is_running]
        ready = [child for child in running if child.loading_since is None] or [first]
        child = min(ready, key=lambda child: len(self._queues[child]))
        if len(self._queues[child]) < len(child.slots):
            return child
        # A quick model keeps one child less busy than us, and a second would only be in the way.
        if self._waited > self._spent / 2:
            with contextlib.suppress(SureholdError):  # one is enough
                crew.start_another(self._waited)
        return None

    def _queue(self, child: Child, job: _Job) -> None:
        queue = self._queues[child]
        if not queue:
            job.since = time.monotonic()
        queue.append(job)
        try:
            child.send(job.message)
        except Gone:
            self._revive(child)

    def _wait(self) -> None:
        """Wait until a child sends something or reaches its time limit."""
        if self._in_all is not None and self._left_in_all() <= 0:
            raise EvaluationFailed(f"it took more than {self._in_all:g} seconds in all")
        poll = select.poll()
        running = {child.handle: child for child in self._crew.children if child.is_running}
        for handle in running:
            poll.register(handle, select.POLLIN)
        begin = time.monotonic()
        ready = {handle for handle, _ in poll.poll(self._patience() * 1000)}
        self._waited += time.monotonic() - begin
        for handle, child in running.items():
            try:
                if handle in ready:
                    self._hear(child)
                elif child.is_running and self._left(child) <= 0:
                    raise Gone
            except Gone:
                self._revive(child)

    def _hear(self, child: Child) -> None:
        while (message := child.receive(0.0)) is not None:
            if child.loading_since is not None:
                try:
                    self._crew.hear(child, message)
                except SureholdError as error:  # it could be loaded before
                    self._crew.alone = True
                    if self._queues[child]:
                        raise EvaluationFailed("the model can no longer be loaded") from error
                    return
                if self._queues[child]:
                    self._queues[child][0].since = time.monotonic()
                continue
            queue = self._queues[child]
            if queue and message.get("failed") == queue[0].message["job"]:
                raise EvaluationFailed("a call of the model failed, for example for lack of memory")
            if not queue or message.get("done") != queue[0].message["job"]:
                raise Gone
            self._collect(queue.popleft())
            if queue:
                queue[0].since = time.monotonic()

    def _collect(self, job: _Job) -> None:
        found, rows = result_of(job.notes, self._width, self._classes), len(job.notes.verdicts)
        for kept, part in zip(job.whole.result, found, strict=True):
            kept[job.start : job.start + rows] = part
        job.whole.missing -= rows

    # ------------------------------------------------------------------------ the failures

    def _patience(self) -> float:
        """Return the seconds until a child may reach a limit, or a call may have begun."""
        left = [self._group_seconds / 4]
        if self._in_all is not None:
            left.append(self._left_in_all())
        left += [self._left(child) for child in self._crew.children if child.is_running]
        return max(min(left), 0.001)

    def _left(self, child: Child) -> float:
        """Return the seconds that a child may continue what it is doing."""
        queue, now = self._queues[child], time.monotonic()
        if child.loading_since is not None:
            return START_SECONDS - (now - child.loading_since)
        if not queue:
            return START_SECONDS
        job = queue[0]
        begun, stage, *_, calls = (int(value) for value in job.notes.call[:6])
        if begun:
            limit = self._group_seconds if stage == GROUP else self._seconds
            return limit - (now - begun / 1e9)
        if calls != job.calls:
            job.calls, job.since = calls, now
        return _BESIDES + self._seconds - (now - job.since)

    def _revive(self, child: Child) -> None:
        """Replace a child that hangs or is dead, and continue its work."""
        crew, queue = self._crew, self._queues[child]
        child.kill()
        if queue:
            call = queue[0].notes.call
            if call[0] and not self._is_onnx:
                queue[0].lost.append([int(value) for value in call[1:5]])
            else:
                queue[0].strays += 1
            call[0] = 0
            queue[0].since = time.monotonic()
            if queue[0].strays > _MOST_STRAYS:
                raise EvaluationFailed("its process ended or took too long several times")
        elif child is not crew.children[0]:
            return
        try:
            crew.begin(child)
            for job in queue:
                child.send(job.message | {"lost": job.lost})
        except Gone:
            pass  # it is found out when it is waited for
        except SureholdError as error:
            raise EvaluationFailed("no process could be started for the model") from error

    def _left_in_all(self) -> float:
        assert self._in_all is not None
        return self._in_all - self._spent - (time.monotonic() - self._begun)
