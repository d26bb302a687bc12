"""Model scores: a metric's integers, summed over records block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.engines.polars_cells import locate
from surehold.data.engines.polars_records import numbers_of
from surehold.data.pairs import Ratio, auc_pairs
from surehold.data.process.evaluators import Want
from surehold.data.process.runner import ModelLimits, ModelRunner, Result
from surehold.errors import EvaluationFailed, InvalidInput, StorageFailed
from surehold.queries.models import ModelMeasure

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

BLOCK = 1 << 17
"""Records that are scored at a time, if they have few features."""
_PROCESS = 0.05
"""Seconds that processes take to be given records, and to give back what they found."""
_RECORD = 2e-6
"""Seconds that a record takes besides the model: it is read, and what is said of it added up."""
_NUMBERS = 1 << 22
"""Features of all records of a block, or nearly."""


def check_scorable(measure: ModelMeasure, records: int, limits: ModelLimits | None = None) -> None:
    """Refuse a model that cannot be used, or not on this many records within its limits.

    It is tried on made-up rows only.
    """
    with _runner(measure, _Tally(measure).want, limits) as runner:
        runner.check_time(records)


def expected_seconds(
    measure: ModelMeasure, records: int, limits: ModelLimits | None = None
) -> float:
    """Estimate the evaluation of these records, measured on made-up rows alone.

    The analyst's own code may take longer, if it fails on some of them.
    """
    with _runner(measure, _Tally(measure).want, limits) as runner:
        return _PROCESS + runner.expected_seconds(records) + _RECORD * records


def score_sums(
    measure: ModelMeasure,
    rows: pl.DataFrame,
    limits: ModelLimits | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[int]:
    """Return the sums of a metric; EvaluationFailed for reasons unrelated to any record.

    A record without a value counts as if the model had returned 0, or a class that is none of the
    target's. Blocks of 2^17 numbers of at most 2^32 have sums below 2^50.
    """
    tally = _Tally(measure)
    totals = [0] * measure.size
    for block, result in _results(measure, tally.want, rows, limits, progress):
        more = tally.of(block, result)
        totals = [total + int(part) for total, part in zip(totals, more, strict=True)]
    return totals


def count_discordant(
    plus: ModelMeasure,
    minus: ModelMeasure,
    rows: pl.DataFrame,
    limits: ModelLimits | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Return on how many records only the first accuracy counts, and only the second."""
    first, second = (_hits(measure, rows, limits, progress) for measure in (plus, minus))
    return int((first & ~second).sum()), int((second & ~first).sum())


def _hits(
    measure: ModelMeasure,
    rows: pl.DataFrame,
    limits: ModelLimits | None,
    progress: Callable[[int], None] | None,
) -> NDArray[np.bool_]:
    """Return for each record whether a model's accuracy, or its zero-one loss, counts it."""
    tally = _Tally(measure)
    parts = [np.empty(0, np.bool_)]
    for block, result in _results(measure, tally.want, rows, limits, progress):
        parts.append(tally.hits(block, result))
    return np.concatenate(parts)


def score_pairs(
    measure: ModelMeasure,
    rows: pl.DataFrame,
    limits: ModelLimits | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ratio:
    """Return how often the model ranks a positive record above a negative one, of all pairs.

    The positive class is the second. All scores of the snapshot are in memory at once.
    """
    tally = _Tally(measure, want="scores")
    scores, classes = [np.empty(0)], [np.empty(0, np.int64)]
    for block, result in _results(measure, "scores", rows, limits, progress):
        scores.append(tally.probabilities(result)[:, 1])
        classes.append(tally.was(block))
    said, was = np.concatenate(scores), np.concatenate(classes)
    return auc_pairs(said[was == 1], said[was == 0], rows.height)


def _results(
    measure: ModelMeasure,
    want: Want,
    rows: pl.DataFrame,
    limits: ModelLimits | None,
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[pl.DataFrame, Result]]:
    """Yield every block of the records, with the model's result for it."""
    width = max(_NUMBERS // len(measure.features), 1 << 12)
    size = min(BLOCK, 1 << (width.bit_length() - 1))
    features = rows.select(measure.features.names)
    with _runner(measure, want, limits) as runner:
        try:
            runner.probe()
        except (InvalidInput, StorageFailed) as error:  # it was fine before the charge
            raise EvaluationFailed(f"the model can no longer be used ({error})") from error
        results = runner.evaluate(features.iter_slices(size))
        for block, result in zip(rows.iter_slices(size), results, strict=True):
            yield block, result
            if progress is not None:
                progress(block.height)


def _runner(measure: ModelMeasure, want: Want, limits: ModelLimits | None) -> ModelRunner:
    payload = measure.model.payload
    if payload is None:
        hint = "pass the model itself: accuracy(model, ...)"
        raise InvalidInput("the model", "at hand", measure.model.name[:20], hint)
    return ModelRunner(payload, measure.features, want, limits)


class _Tally:
    """From a model's results for a block to the sums of a metric."""

    def __init__(self, measure: ModelMeasure, want: Want | None = None) -> None:
        self._measure = measure
        self._classes = len(measure.target.values)
        # What a callable says is a number, whatever is asked of it.
        of_labels = measure.metric in ("accuracy", "zero_one", "confusion")
        is_callable = measure.model.name.startswith("callable:")
        self.want: Want = want or ("labels" if of_labels and not is_callable else "scores")
        self._actual = locate(measure.target) if self._classes else None

    def of(self, block: pl.DataFrame, result: Result) -> Integers:
        """Return the sums over one block."""
        match self._measure.metric:
            case "accuracy":
                return np.array([self._right(block, result).sum()])
            case "zero_one":
                return np.array([block.height - self._right(block, result).sum()])
            case "confusion":
                said, wide = self._said(result), self._classes + 1
                cells = self.was(block) * wide + np.where(said < 0, self._classes, said)
                return np.bincount(cells, minlength=wide * wide)
            case "log":
                return np.array([self._log(block, result).sum()])
            case "brier":
                return self._brier(block, result)
            case "calibration":
                return self._calibration(block, result)
            case "squared" | "absolute":
                return np.array([self._error(block, result).sum()])

    def hits(self, block: pl.DataFrame, result: Result) -> NDArray[np.bool_]:
        """Return which records of a block count: those it is right about, or wrong."""
        right = self._right(block, result)
        return right if self._measure.metric == "accuracy" else ~right

    def was(self, block: pl.DataFrame) -> Integers:
        """Return the actual class of each record; one past the last class for any other."""
        assert self._actual is not None
        return np.broadcast_to(self._actual(block), block.height)

    def _said(self, result: Result) -> Integers:
        """Return the predicted class of each record, -1 for none."""
        if self.want == "scores":
            return (self._values(result)[:, 0] >= 0.5).astype(np.int64)
        said: Integers = result.values  # -1 where there is none
        return said

    def _right(self, block: pl.DataFrame, result: Result) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = self._said(result) == self.was(block)
        return right

    def _values(self, result: Result) -> Floats:
        """Return a row of numbers per record; 0 where the model gives none."""
        return np.where(result.known[:, None], result.values, 0.0)

    def probabilities(self, result: Result) -> Floats:
        """Return one per class, clipped to [0, 1]. A single number is that of the second class."""
        values = np.clip(self._values(result), 0.0, 1.0)
        if values.shape[1] == 1 and self._classes == 2:
            return np.hstack([1.0 - values, values])
        if values.shape[1] != self._classes:  # as if it had said nothing; no model gets this far
            return np.zeros((len(values), self._classes))
        return values

    def _log(self, block: pl.DataFrame, result: Result) -> Integers:
        said, was = self.probabilities(result), self.was(block)
        padded = np.hstack([said, np.zeros((block.height, 1))])
        with np.errstate(divide="ignore"):
            losses = -np.log(np.take_along_axis(padded, was[:, None], axis=1)[:, 0])
        return self._steps(losses / self._measure.bounds[1])

    def _brier(self, block: pl.DataFrame, result: Result) -> Integers:
        said, was = self.probabilities(result), self.was(block)
        if self._classes == 2:
            squares = (said[:, 1] - (was == 1)) ** 2
        else:
            squares = 0.5 * ((said - (was[:, None] == np.arange(self._classes))) ** 2).sum(axis=1)
        steps = self._steps(squares)
        # So few numbers of at most 2^32 have sums that doubles hold exactly.
        by_class = np.bincount(was, steps, minlength=self._classes + 1).astype(np.int64)
        return np.append(by_class, steps.sum())

    def _calibration(self, block: pl.DataFrame, result: Result) -> Integers:
        bins, wide = self._measure.bins, self._classes + 1
        said = self.probabilities(result)[:, 1]
        # By the edges that the labels show: a product with the number of bins may be rounded up.
        place = np.searchsorted(np.arange(1, bins) / bins, said, side="right")
        return np.bincount(place * wide + self.was(block), minlength=bins * wide)

    def _error(self, block: pl.DataFrame, result: Result) -> Integers:
        low, high = self._measure.bounds
        said = np.clip(self._values(result)[:, 0], low, high)
        actual, known = numbers_of(self._measure.target.operand, block)
        was = np.where(known, np.clip(actual, low, high), low)
        errors = np.abs(said - was) / (high - low)
        return self._steps(errors**2 if self._measure.metric == "squared" else errors)

    def _steps(self, shares: Floats) -> Integers:
        """Put numbers on the grid, clipped to [0, 1]."""
        steps = np.floor(np.clip(shares, 0.0, 1.0) * 2.0**self._measure.bits + 0.5)
        return steps.astype(np.int64)
