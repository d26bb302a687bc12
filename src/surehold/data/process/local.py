"""Evaluation in this process, for the linear models of scikit-learn itself.

They can neither hang nor grow, and run no code of the analyst's, so they need no separate process;
sending them the records would take longer than evaluating them. Everything else about models
applies to them too: cells of one size, and a search for the records that fail.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl

from surehold.data.process.blocks import MatrixBlock, made_up, matrix_of
from surehold.data.process.channel import Notes
from surehold.data.process.crew import Loaded, unfit
from surehold.data.process.evaluation import Result, bar_gaps, result_of
from surehold.data.process.evaluators import EstimatorEvaluator, Want, WrongAnswer
from surehold.data.process.probe import Probe, check_slip, sizes
from surehold.data.process.trial import Trial
from surehold.errors import InvalidInput
from surehold.models.base import Unfit
from surehold.models.extras import load_optional
from surehold.models.payload import ModelPayload, pickled_modules
from surehold.queries import ColumnType, Schema

_THREADS = 2
_ROWS = 3


@lru_cache(maxsize=16)
def local_model(
    payload: ModelPayload, features: Schema, want: Want, cell: int | None
) -> LocalModel | None:
    """Return the model for this process, or None if it cannot be evaluated here."""
    texts = any(kind is ColumnType.STR for _, kind in features)
    return None if texts or not _is_light(payload) else LocalModel(payload, features, want, cell)


def _is_light(payload: ModelPayload) -> bool:
    """Whether it is a linear model of scikit-learn's own.

    The first module that a pickle names is that of its class. RANSAC can contain any estimator.
    """
    if payload.kind != "sklearn":
        return False
    home = next(pickled_modules(payload.content), "")
    is_linear = home.startswith("sklearn.linear_model.") and not home.endswith("._ransac")
    return is_linear and payload.is_plain


class LocalModel:
    """A model evaluated in this process."""

    def __init__(
        self, payload: ModelPayload, features: Schema, want: Want, cell: int | None
    ) -> None:
        columns = [(name, kind.value) for name, kind in features]
        try:
            self._evaluator = EstimatorEvaluator(payload.content, columns, want)
        except Unfit as error:
            raise unfit(str(error)) from None
        self._names = [name for name, _ in self._evaluator.columns]
        self._width = None if want == "labels" else self._evaluator.width
        self._classes = len(payload.classes or ())
        self._cell = cell or sizes(columns)[-1]

    @cached_property
    def probe(self) -> Probe:
        """Try made-up rows; InvalidInput if the model does not return a value for each."""
        evaluator = self._evaluator
        loaded = Loaded(evaluator.form, evaluator.width, tuple(evaluator.columns))
        try:
            self._try(_ROWS)
        except WrongAnswer as error:
            raise InvalidInput("the model", "a value for each record", str(error)) from None
        except Exception as error:
            check_slip(f"{type(error).__name__}: {error}")
            return Probe(loaded, self._cell, 0.0, True, ())
        gaps = tuple(name for at, name in enumerate(self._names) if not self._accepts_gap(at))
        return Probe(loaded, self._cell, self._try(self._cell), False, gaps)

    def _try(self, rows: int, gap: int | None = None) -> float:
        """Evaluate made-up rows; return the seconds it took."""
        part = made_up(self._evaluator.columns, "matrix", rows, 0, gap).slice(0, rows)
        begin = time.monotonic()
        self._evaluator(part)
        return time.monotonic() - begin

    def _accepts_gap(self, at: int) -> bool:
        try:
            self._try(_ROWS, at)
        except Exception:
            return False
        return True

    def run(self, blocks: Iterable[pl.DataFrame]) -> Iterator[Result]:
        """Yield the values of each block, in order, a few blocks ahead."""
        waiting: deque[Future[Result]] = deque()
        with _ALONE, ThreadPoolExecutor(_THREADS, "surehold-model") as pool:
            for block in blocks:
                waiting.append(pool.submit(self._result, block))
                if len(waiting) > 2 * _THREADS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _result(self, block: pl.DataFrame) -> Result:
        frame = block.select(self._names) if block.columns != self._names else block
        memory = memoryview(bytearray(Notes.size(frame.height, self._width)))
        notes = Notes(memory, frame.height, self._width)
        bar_gaps(notes, frame, self.probe.gaps)
        with np.errstate(all="ignore"):
            Trial(self._evaluator, _MATRICES.of(frame), notes, self._cell).run()
        return result_of(notes, self._width, self._classes)


class Matrices:
    """Matrices of recently evaluated blocks: a loop over models builds them once.

    A block is identified by the memory addresses of its columns, which cannot be reused while they
    are kept here. Columns with missing values, of booleans, or in several pieces have no address as
    numbers, and their blocks are built each time.
    """

    def __init__(self, most: int = 1 << 28) -> None:
        self._most, self._bytes = most, 0
        self._known: OrderedDict[tuple[int, ...], tuple[list[Any], MatrixBlock]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, frame: pl.DataFrame) -> MatrixBlock:
        """Return the matrix of a frame of numbers."""
        columns = frame.get_columns()
        if not all(map(_lies_as_numbers, columns)):
            return matrix_of(frame)
        arrays = [column.to_numpy(allow_copy=False) for column in columns]
        key = (frame.height, *(array.__array_interface__["data"][0] for array in arrays))
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found[1]
        made = matrix_of(frame)
        size = 8 * frame.height * len(columns)
        with self._lock:
            if key not in self._known:
                self._known[key] = (arrays, made)
                self._bytes += size
            while self._bytes > self._most:
                (height, *places), _ = self._known.popitem(last=False)
                self._bytes -= 8 * height * len(places)
        return made


def _lies_as_numbers(column: pl.Series) -> bool:
    is_whole = column.n_chunks() == 1 and not column.null_count()
    return is_whole and column.dtype in (pl.Float64, pl.Int64)


_MATRICES = Matrices()


class _OneThreadEach:
    """A context in which linear algebra uses one thread per caller.

    Otherwise each of two callers has two, and they wait for each other.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._controller: Any = None
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            pools = load_optional("threadpoolctl")
            if self._inside == 1 and pools is not None:
                self._controller = self._controller or pools.ThreadpoolController()
                self._limits = self._controller.limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limits is not None:
                with contextlib.suppress(Exception):
                    self._limits.restore_original_limits()
                self._limits = None


_ALONE = _OneThreadEach()


def _forget() -> None:
    """In a process that was just forked, where no thread is inside."""
    global _ALONE
    _ALONE = _OneThreadEach()


os.register_at_fork(after_in_child=_forget)
