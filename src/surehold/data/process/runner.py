"""Evaluate a model on blocks of records, so that each record's value depends on that record alone.

What a model of the analyst's own code may do wrong, and what follows:

- It raises, or returns something of another shape: the records on which it does so *by themselves*
  get no value, and no other record's value changes (:mod:`.trial` says how).
- It hangs, dies or eats memory: its process is killed, another takes its place, and the search goes
  on where it was.
- NaN, infinity, and labels that are none of the classes are no values.

An ONNX model, which anyone may have made, can do none of this: no record decides whether it fails
or what it costs (:mod:`surehold.models.onnx.graph`), and it is called on full cells only
(:mod:`.worker`). If such a call fails, for lack of memory or time, the machine is the reason,
and :class:`EvaluationFailed` is raised, which says nothing about any record.

:meth:`ModelRunner.probe` refuses what can be recognised without records, such as a model that does
not load.

A callable sees a whole cell at once and could look from one record to the next, keep what it saw,
or open a file. Only for ONNX models is it proven that rows do not mix
(:mod:`surehold.models.onnx.row_proof`); those without a proof are given one record at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import polars as pl

from surehold.data.process.crew import Crew, Order, dismiss, hire
from surehold.data.process.evaluation import Evaluation, Result
from surehold.data.process.evaluators import Want
from surehold.data.process.local import local_model
from surehold.data.process.probe import Probe, probed
from surehold.data.process.trial import most_calls
from surehold.errors import InvalidInput
from surehold.models.extras import require_package
from surehold.models.payload import ModelPayload
from surehold.queries import ColumnType, Schema

ONNX_SECONDS = 600.0
_SAFETY = 3.0
"""How many times longer than the probe a call may take while the machine is busy otherwise."""


@dataclass(frozen=True)
class ModelLimits:
    """What a model may use.

    ``seconds_per_block`` is for one call of the model, however many records it is given, so that
    the limit of a record by itself is the limit of a record among others. ``seconds_in_all`` is for
    an evaluation: a model is refused, before any record is read, unless the worst case fits. None
    stands for 600 seconds for an ONNX model, and for no limit for the analyst's own code.
    ``memory_bytes`` is on top of what the process uses when the model is loaded.
    """

    seconds_per_block: float = 30.0
    seconds_in_all: float | None = None
    memory_bytes: int = 4 << 30

    def __post_init__(self) -> None:
        for name in ("seconds_per_block", "seconds_in_all", "memory_bytes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidInput(name, "larger than 0", value)


class ModelRunner:
    """A model, its input columns, and the processes that evaluate it.

    >>> from surehold.models.payload import payload_of
    >>> payload = payload_of(lambda matrix: matrix[:, 0] / 100)
    >>> features = Schema.of({"age": "int"})
    >>> with ModelRunner(payload, features, want="scores") as runner:
    ...     [result] = runner.evaluate([pl.DataFrame({"age": [20, 65, None]})])
    >>> result.values[:, 0].tolist(), result.known.tolist()
    ([0.2, 0.65, nan], [True, True, False])

    ``cell`` fixes how many records the model is called on at a time; otherwise the probe finds out
    what is quick. Values may depend on it in the last bit.
    """

    def __init__(
        self,
        payload: ModelPayload,
        features: Schema,
        want: Want,
        limits: ModelLimits | None = None,
        cell: int | None = None,
    ) -> None:
        if os.name != "posix":
            raise InvalidInput("the system", "Linux or macOS, for a model's processes", os.name)
        if want not in ("labels", "scores"):
            raise InvalidInput("want", "'labels' or 'scores'", want)
        if cell is not None and not 1 <= cell <= 1 << 20:
            raise InvalidInput("cell", "a whole number from 1 to 1,048,576", cell)
        texts = [name for name, kind in features if kind is ColumnType.STR]
        if texts and payload.kind == "callable" and payload.takes == "numpy":
            hint = 'make the payload with takes="arrow", or leave texts out'
            raise InvalidInput("the features", "numbers for a callable", texts, hint)
        self.payload, self.features, self.want = payload, features, want
        self.limits = ModelLimits() if limits is None else limits
        self._cell = cell
        if payload.kind == "onnx":
            from surehold.models.onnx.row_proof import is_rowwise

            require_package("onnxruntime", "evaluating an ONNX model")
            if not is_rowwise(payload.content):
                self._cell = 1
        self._local = local_model(payload, features, want, cell)
        self._crew: Crew | None = None
        self._busy = False
        self._owner = os.getpid()

    def __enter__(self) -> ModelRunner:
        if self._local is None:
            self._own_crew()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the processes back; the next evaluation of the same model may use them."""
        crew, self._crew = self._crew, None
        if crew is not None and os.getpid() == self._owner:
            dismiss(crew)

    def probe(self) -> Probe:
        """Load the model and try it on made-up rows; InvalidInput if it cannot be used.

        Refused are models that do not load, that expect other features, that return the wrong shape
        or type, or that hang or end the process on three rows of zeros; and ONNX models that raise.
        The analyst's own code may rightly raise on a made-up row.
        """
        if self._local is not None:
            return self._local.probe
        return probed(self._own_crew(), self.limits.seconds_per_block, self._cell)

    def evaluate(self, blocks: Iterable[pl.DataFrame]) -> Iterator[Result]:
        """Yield the values of all records, one result per block, in order.

        The next blocks are read and written while the model works on the ones before. Raises
        EvaluationFailed if it cannot be done, for a reason unrelated to any record.
        """
        probe = self.probe()
        if self._busy:
            raise InvalidInput("a runner", "used for one evaluation at a time", "busy")
        self._busy, checked = True, _checked(blocks, self.features)
        try:
            if self._local is not None:
                yield from self._local.run(checked)
                return
            crew, seconds = self._own_crew(), self.limits.seconds_per_block
            in_all = self._in_all if self._is_onnx else None
            with closing(Evaluation(crew, probe, seconds, in_all)) as evaluation:
                yield from evaluation.run(checked)
        finally:
            self._busy = False

    def expected_seconds(self, records: int) -> float:
        """Estimate the evaluation of these records from the probe, if the model never fails."""
        probe = self.probe()
        return -(-records // probe.cell) * probe.seconds

    def check_time(self, records: int) -> None:
        """Refuse what may take longer than allowed, whatever the records are."""
        probe, allowed = self.probe(), self._in_all
        if allowed is None:
            return
        if self._is_onnx:
            worst = _SAFETY * self.expected_seconds(records)
        else:
            seconds = self.limits.seconds_per_block if self._local is None else probe.seconds
            restart = 0.0 if self._local is not None else self._own_crew().load_seconds
            worst = most_calls(records, probe.cell) * (seconds + restart)
        if worst > allowed:
            required = f"one that takes at most {allowed:,.4g} seconds for {records:,} records"
            got = f"one that may take {worst:,.4g} seconds, at {probe.cell:,} records a call"
            hint = "raise seconds_in_all (ModelLimits), or use a smaller model"
            if not self._is_onnx:
                hint = "leave out seconds_in_all (ModelLimits): seconds_per_block limits each call"
            raise InvalidInput("the model", required, got, hint)

    @property
    def _is_onnx(self) -> bool:
        return self.payload.kind == "onnx"

    @property
    def _in_all(self) -> float | None:
        seconds = self.limits.seconds_in_all
        return ONNX_SECONDS if seconds is None and self._is_onnx else seconds

    def _own_crew(self) -> Crew:
        if os.getpid() != self._owner:
            raise InvalidInput("a runner", "used in the process that made it", "in a fork of it")
        if self._crew is None:
            columns = tuple((name, kind.value) for name, kind in self.features)
            self._crew = hire(Order(self.payload, columns, self.want, self.limits.memory_bytes))
        return self._crew


_STORED = {
    ColumnType.INT: pl.Int64,
    ColumnType.FLOAT: pl.Float64,
    ColumnType.BOOL: pl.Boolean,
    ColumnType.STR: pl.String,
}


def _checked(blocks: Iterable[pl.DataFrame], features: Schema) -> Iterator[pl.DataFrame]:
    """Check columns and types, without looking at a record."""
    for block in blocks:
        schema = block.schema  # built each time
        for name, kind in features:
            found = schema.get(name)
            if found != _STORED[kind]:
                required = f"a column of type {kind.value}"
                raise InvalidInput(f"feature {name!r} of a block", required, str(found))
        yield block


__all__ = ["ModelLimits", "ModelRunner", "Probe", "Result"]
