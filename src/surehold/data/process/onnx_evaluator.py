"""ONNX models in the child, run by onnxruntime."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surehold.data.process.evaluators import (
    Columns,
    Evaluator,
    Want,
    WrongAnswer,
    as_scores,
    floats,
    halves,
    indices,
)
from surehold.models.base import Label, Unfit
from surehold.models.extras import load_package
from surehold.models.onnx.classes import MOST_WIDTH
from surehold.models.onnx.preparation import prepare

_NUMBERS: Mapping[str, type[Any]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
_FLOATS = ("tensor(float)", "tensor(double)")
_TEXT = "tensor(string)"
_LABELS = ("tensor(int64)", "tensor(int32)", "tensor(bool)", _TEXT)


class OnnxEvaluator(Evaluator):
    """A session with one thread.

    A missing value is NaN in an input of floats; integers, booleans and texts have none, so a
    record with one of them missing has no value.
    """

    def __init__(
        self, content: bytes, columns: Columns, want: Want, classes: Sequence[Label] | None
    ) -> None:
        self._session = _session(prepare(content))
        self._inputs = self._session.get_inputs()
        for given in self._inputs:
            if given.type not in _NUMBERS and given.type != _TEXT:
                raise Unfit(f"its input {given.name!r} is a {given.type}")
        self._together = self._takes_all(columns)
        super().__init__(columns if self._together else self._by_name(dict(columns)), want)
        self._check_types()
        plain = all(given.type in _FLOATS for given in self._inputs)
        self.form = "matrix" if plain else "arrow"
        self._choose_output(classes)

    # --------------------------------------------------------------------------- inputs

    def _takes_all(self, columns: Columns) -> bool:
        """Whether one input takes all features."""
        if len(self._inputs) != 1 or len(self._inputs[0].shape) != 2:
            return False
        width = self._inputs[0].shape[1]
        if isinstance(width, int) and width != len(columns):
            if width == 1 and self._inputs[0].name in dict(columns):
                return False
            raise Unfit(f"it expects {width} features, and {len(columns)} are given")
        return True

    def _by_name(self, kinds: Mapping[str, str]) -> Columns:
        for given in self._inputs:
            rank, width = len(given.shape), given.shape[-1] if given.shape else 0
            single = rank == 1 or (rank == 2 and (width == 1 or not isinstance(width, int)))
            if given.name not in kinds or not single:
                names = ", ".join(repr(given.name) for given in self._inputs[:10])
                raise Unfit(
                    "it must have one input for all features, or one of width 1 for each by its "
                    f"name, and has {names}"
                )
        return [(given.name, kinds[given.name]) for given in self._inputs]

    def _check_types(self) -> None:
        for at, (name, kind) in enumerate(self.columns):
            given = self._inputs[0 if self._together else at]
            if (kind == "str") != (given.type == _TEXT):
                raise Unfit(f"its input {given.name!r} is a {given.type}, and {name!r} a {kind}")

    def _fed(self, part: Any) -> tuple[dict[str, Any], NDArray[np.bool_] | None]:
        """Return the session's inputs, and which records cannot be expressed in them."""
        if self.form == "matrix":
            if self._together:
                [given] = self._inputs
                return {given.name: part.astype(_NUMBERS[given.type], copy=False)}, None
            arrays = [part[:, at] for at in range(part.shape[1])]
            absent = None
        else:
            arrays, absent = self._columns_of(part)
            if self._together:
                return {self._inputs[0].name: np.stack(arrays, axis=1)}, absent
        feed = {}
        for given, array in zip(self._inputs, arrays, strict=True):
            shape = (-1, 1) if len(given.shape) == 2 else (-1,)
            array = array if given.type == _TEXT else array.astype(_NUMBERS[given.type])
            feed[given.name] = np.ascontiguousarray(array).reshape(shape)
        return feed, absent

    def _columns_of(self, part: Any) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]:
        arrays, absent = [], np.zeros(part.num_rows, np.bool_)
        for at, column in enumerate(part.columns):
            kind = self._inputs[0 if self._together else at].type
            if kind in _FLOATS:
                arrays.append(floats(column).astype(_NUMBERS[kind]))
                continue
            if column.null_count:
                absent |= column.is_null().to_numpy(zero_copy_only=False)
                column = column.fill_null({"string": "", "bool": False}.get(str(column.type), 0))
            array = column.to_numpy(zero_copy_only=False)
            arrays.append(array.astype(object if kind == _TEXT else _NUMBERS[kind]))
        return arrays, absent

    # -------------------------------------------------------------------------- outputs

    def _choose_output(self, classes: Sequence[Label] | None) -> None:
        outputs = self._session.get_outputs()
        labels = [output for output in outputs if output.type in _LABELS]
        scores = [output for output in outputs if output.type in _FLOATS]
        if not labels and not scores:
            raise Unfit(f"it gives {outputs[0].type}, and neither labels nor numbers")
        self._classes: NDArray[Any] | None = None
        if self.want == "labels" and labels:
            self._output = labels[0].name
            if not classes:
                raise Unfit("it does not say its classes; name them when the payload is made")
            texts = labels[0].type == _TEXT
            if any(isinstance(value, str) != texts for value in classes):
                raise Unfit("its labels are not of the type of its classes")
            self._classes = np.array(classes, object if texts else None)
            self.width = len(classes)
            return
        if not scores:
            raise Unfit("it gives labels only, and no scores")
        self._output = scores[0].name
        shape = scores[0].shape
        if len(shape) == 1:
            self.width = 1
        elif len(shape) == 2 and isinstance(shape[1], int):
            self.width = shape[1]
        else:
            self.width = self._tried_width()
        if not 1 <= self.width <= MOST_WIDTH:
            required = f"from 1 to {MOST_WIDTH:,}"
            raise Unfit(f"it gives {self.width:,} scores for each record, and not {required}")
        # One score stands for two classes: that of the second.
        count = self.width if classes is None else len(classes)
        if count != self.width and (self.width, count) != (1, 2):
            raise Unfit(f"it gives {self.width:,} scores for each record, of {count:,} classes")

    def _tried_width(self) -> int:
        """Return the width for a made-up record, which is then that of all."""
        from surehold.data.process.blocks import made_up

        feed, _ = self._fed(made_up(self.columns, self.form, 1, 0, None).slice(0, 1))
        try:
            [found] = self._ran(feed)
        except Exception as error:
            trouble = type(error).__name__
            reason = f"it does not say how many scores it gives, and on made-up rows: {trouble}"
            raise Unfit(reason) from error
        if np.ndim(found) not in (1, 2) or len(found) != 1:
            raise Unfit(f"its output for one record has the shape {np.shape(found)}")
        return 1 if found.ndim == 1 else int(found.shape[1])

    def _ran(self, feed: Mapping[str, Any]) -> list[Any]:
        with nothing_opened():
            found: list[Any] = self._session.run([self._output], feed)
        return found

    def __call__(self, part: Any) -> NDArray[Any]:
        """Return what the session gives for a part."""
        feed, absent = self._fed(part)
        rows = len(part)
        [found] = self._ran(feed)
        if not isinstance(found, np.ndarray):
            raise WrongAnswer(f"a tensor, not a {type(found).__name__}")
        if self.want == "scores":
            values: NDArray[Any] = as_scores(found, rows, self.width)
            if absent is not None and absent.any():
                values = np.where(absent[:, None], np.nan, values)
            return values
        if self._classes is not None:
            values = indices(found, self._classes, rows)
        elif self.width == 1:
            values = halves(as_scores(found, rows, 1)[:, 0])
        else:
            scores = as_scores(found, rows, self.width)
            finite = np.isfinite(scores).all(axis=1)
            values = np.where(finite, scores.argmax(axis=1), -1).astype(np.int32)
        if absent is not None:
            values[absent] = -1
        return values


# --------------------------------------------------------------------------- the session


def leave() -> None:
    """Change to a deleted folder, where relative paths lead nowhere."""
    try:
        folder = tempfile.mkdtemp(prefix="surehold-")
        os.chdir(folder)
        Path(folder).rmdir()
    except OSError:
        os.chdir("/")


@contextmanager
def nothing_opened() -> Iterator[None]:
    """Prevent the runtime from opening any file or other descriptor.

    Open ones stay open. The limit is lifted afterwards, because mapping shared memory takes a
    descriptor; the runtime has no threads that could run in the meantime.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _session(content: bytes) -> Any:
    runtime = load_package("onnxruntime", "an ONNX model")
    runtime.set_default_logger_severity(4)
    runtime.disable_telemetry_events()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.use_deterministic_compute = True
    # Never taken for a file of the runtime's own format, which nobody has looked into.
    options.add_session_config_entry("session.load_model_format", "ONNX")
    # Numbers next to zero take many times as long, so that a record's would show in the time.
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    with nothing_opened():
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
