"""What the child calls: each kind of model as a function from a part of a block to numbers."""

from __future__ import annotations

import pickle
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surehold.data.process.blocks import Form
from surehold.models.base import Unfit
from surehold.models.extras import load_optional

Want: TypeAlias = Literal["labels", "scores"]
Columns: TypeAlias = Sequence[tuple[str, str]]
"""Names and types."""

_FEW = 16


class WrongAnswer(Exception):
    """The model did not return one value per record."""


class Evaluator(ABC):
    """A loaded model. ``columns`` is its input, in this order and ``form``.

    Called with a part it returns int32 labels, one per record (-1: none of the classes), or a
    float64 matrix of ``width`` scores for each, whichever is wanted.
    """

    form: Form = "matrix"
    width = 1

    def __init__(self, columns: Columns, want: Want) -> None:
        self.columns, self.want = list(columns), want

    @abstractmethod
    def __call__(self, part: Any) -> NDArray[Any]:
        """Return the values of a part."""


# -------------------------------------------------------------------------- scikit-learn


class EstimatorEvaluator(Evaluator):
    """A scikit-learn estimator, or an object with the same interface."""

    def __init__(self, content: Any, columns: Columns, want: Want) -> None:
        self._model = pickle.loads(content)
        warnings.simplefilter("ignore")  # about names that a matrix does not have
        super().__init__(_expected(self._model, columns), want)
        named = getattr(self._model, "feature_names_in_", None) is not None
        if any(kind == "str" for _, kind in self.columns):
            if not named:
                raise Unfit("it was fitted on a matrix, and there are texts among the features")
            self.form = "arrow"
        self._pandas = load_optional("pandas") if named else None
        self._names = [name for name, _ in self.columns]
        classes = getattr(self._model, "classes_", None)
        self._classes = None if classes is None else np.asarray(classes)
        self._scores = self._model.predict
        self._writes = False
        if self._classes is None:
            if want == "labels":
                raise Unfit("it is a regressor, which gives no labels")
        else:
            self.width = len(self._classes)
            if want == "scores":
                self._scores = getattr(self._model, "predict_proba", None)
                if self._scores is None:
                    raise Unfit("it has no predict_proba, so it gives labels only")

    def __call__(self, part: Any) -> NDArray[Any]:
        """Return what the estimator's own predict and predict_proba do."""
        if not self._writes:
            try:
                return self._values(part)
            except ValueError as error:
                # Memory that is shared can't be written to. Few estimators try; they get a copy.
                if "read-only" not in str(error) or self.form != "matrix":
                    raise
                self._writes = True
        return self._values(part.copy())

    def _values(self, part: Any) -> NDArray[Any]:
        given = self._given(part)
        if self.want == "labels":
            assert self._classes is not None
            return indices(self._model.predict(given), self._classes, len(part))
        return as_scores(self._scores(given), len(part), self.width)

    def _given(self, part: Any) -> Any:
        if self.form == "matrix":
            if self._pandas is None:
                return part
            return self._pandas.DataFrame(part, columns=self._names, copy=False)
        columns = {name: self._column(part.column(at)) for at, name in enumerate(self._names)}
        if self._pandas is not None:
            return self._pandas.DataFrame(columns)
        return np.stack([np.asarray(column, object) for column in columns.values()], axis=1)

    def _column(self, column: Any) -> Any:
        """Return a column of the same type whether or not a value is missing."""
        if str(column.type) != "string":
            return floats(column)
        if self._pandas is None:
            return column.to_numpy(zero_copy_only=False)
        series = column.to_pandas()
        # Older versions of pandas have None there, and everything they read NaN.
        return series.where(series.notna(), np.nan) if series.dtype == object else series


def _expected(model: Any, columns: Columns) -> Columns:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        count = getattr(model, "n_features_in_", len(columns))
        if count != len(columns):
            raise Unfit(f"it expects {count} features, and {len(columns)} are given")
        return columns
    kinds = dict(columns)
    missing = [str(name) for name in names if name not in kinds]
    if missing:
        raise Unfit(f"it expects features that are not given: {', '.join(missing[:10])}")
    return [(str(name), kinds[name]) for name in names]


# ----------------------------------------------------------------------------- callables


class CallableEvaluator(Evaluator):
    """A function of a block that returns one number per record."""

    def __init__(self, content: Any, columns: Columns, want: Want, takes: str) -> None:
        super().__init__(columns, want)
        self.form = "arrow" if takes == "arrow" else "matrix"
        self._model = pickle.loads(content)

    def __call__(self, part: Any) -> NDArray[Any]:
        """Return the numbers, or whether they are at least a half."""
        rows = len(part)
        if isinstance(part, np.ndarray):
            # Its own to write to: another call must find what it was given. Always in C's order.
            part = np.array(part, order="C")
        scores = as_scores(self._model(part), rows, 1)
        return halves(scores[:, 0]) if self.want == "labels" else scores


# ------------------------------------------------------------------------------- answers


def floats(column: Any) -> NDArray[np.float64]:
    """Return an Arrow column of numbers, NaN where null."""
    import pyarrow as pa

    numbers = column.cast(pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


def as_scores(found: Any, rows: int, width: int) -> NDArray[np.float64]:
    """Return the numbers as floats, after checking that there are ``width`` per record."""
    array = _array(found)
    if array.ndim == 1 and width == 1:
        array = array.reshape(-1, 1)
    if array.shape != (rows, width):
        one = "a number" if width == 1 else f"{width} numbers"
        raise WrongAnswer(f"{one} for each of {rows} records, not the shape {_shape(found)}")
    if array.dtype == object:
        array = np.array([[_number(value) for value in row] for row in array.tolist()])
    if array.dtype.kind not in "biuf":
        raise WrongAnswer(f"numbers, not the type {array.dtype}")
    return array.astype(np.float64, copy=False)


def indices(found: Any, classes: NDArray[Any], rows: int) -> NDArray[np.int32]:
    """Return labels as indices of the classes, -1 for any other."""
    array = _array(found)
    if array.shape == (rows, 1):
        array = array[:, 0]
    if array.shape != (rows,):
        raise WrongAnswer(f"a label for each of {rows} records, not the shape {_shape(found)}")
    if len(classes) <= _FEW:
        places = np.full(rows, -1, np.int32)
        for at, value in enumerate(classes):
            # By arithmetic: a choice takes many times as long where it often changes.
            places += np.multiply(array == value, at + 1, dtype=np.int32)
        return places
    order = np.argsort(classes)
    found_at = np.searchsorted(classes, array, sorter=order).clip(0, len(classes) - 1)
    places = np.asarray(order[found_at], np.int32)
    places[classes[places] != array] = -1
    return places


def halves(scores: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return whether each number is at least a half, -1 for NaN."""
    return np.where(np.isfinite(scores), scores >= 0.5, -1).astype(np.int32)


def _array(found: Any) -> NDArray[Any]:
    if type(found).__module__.startswith("pyarrow") and hasattr(found, "to_numpy"):
        chunked = hasattr(found, "chunks")
        return np.asarray(found.to_numpy() if chunked else found.to_numpy(zero_copy_only=False))
    return np.asarray(found)


def _number(value: object) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return float(value)
    raise WrongAnswer(f"numbers, not {type(value).__name__}")


def _shape(found: object) -> str:
    shape = getattr(found, "shape", None)
    return str(shape) if isinstance(shape, tuple) else f"of a {type(found).__name__}"
