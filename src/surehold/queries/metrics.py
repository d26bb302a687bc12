"""From the name of a metric to the query that scores a model, or predictions, by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from surehold.errors import InvalidInput
from surehold.formatting import Finding
from surehold.queries.auc import auc
from surehold.queries.base import Query
from surehold.queries.cells import histogram
from surehold.queries.derived import rate
from surehold.queries.f1 import f1
from surehold.queries.model_queries import accuracy, brier, calibration, confusion, loss
from surehold.queries.models import LOSSES
from surehold.queries.statistical import check_bounds, fraction, mean
from surehold.queries.writer import name as written
from surehold.queries.writer import number, text

MetricName: TypeAlias = Literal[
    "accuracy",
    "exact_match",
    "precision",
    "recall",
    "f1",
    "jaccard",
    "auc",
    "zero_one",
    "log",
    "squared",
    "mse",
    "absolute",
    "mae",
    "brier",
    "confusion",
    "calibration",
]
METRICS: tuple[str, ...] = get_args(MetricName)
"""Every metric that a model or predictions can be scored by."""
_SAME = {"exact_match": "accuracy", "mae": "absolute", "mse": "squared"}
"""Other names of the same metric."""
_WITHOUT_OPTIONS: dict[str, Callable[..., Query]] = {
    "accuracy": accuracy,
    "auc": auc,
    "brier": brier,
    "confusion": confusion,
}


def score(
    model: object,
    metric: str,
    *,
    features: Sequence[str],
    target: str,
    classes: Sequence[Any] | None = None,
    takes: str = "numpy",
    low: float | None = None,
    high: float | None = None,
    most: float | None = None,
    bins: object = 10,
) -> Query:
    """The query for a metric; bounds are for losses and bins for a calibration."""
    about: dict[str, Any] = {
        "features": features,
        "target": target,
        "classes": classes,
        "takes": takes,
    }
    if metric not in METRICS:
        raise InvalidInput("metric", f"one of {', '.join(METRICS)}", metric)
    metric = _SAME.get(metric, metric)
    if metric in ("precision", "recall", "f1", "jaccard"):
        required = "one that a model can be scored by"
        hint = f"{metric} is for predictions in a table; for a model ask a confusion"
        raise InvalidInput("metric", required, metric, hint)
    if metric in LOSSES:
        return loss(model, kind=metric, low=low, high=high, most=most, **about)
    if metric == "calibration":
        return calibration(model, bins=bins, **about)
    return _WITHOUT_OPTIONS[metric](model, **about)


# ------------------------------------------------------------------------ predictions


class Predictions(NamedTuple):
    """What predictions are scored with: expressions for the prediction and for what came.

    ``said`` and ``came`` are conditions that the prediction and the target are positive.
    """

    prediction: str
    target: str
    said: str
    came: str
    options: Mapping[str, Any]


def score_predictions(
    metric: str,
    *,
    table: str,
    prediction: str,
    target: str,
    positive: str | float | bool | None = None,
    low: float | None = None,
    high: float | None = None,
    classes: Sequence[Any] | None = None,
    bins: int = 10,
) -> Query:
    """The query for a metric of predictions that a side table has in one of its columns.

    ``table`` is what the ask calls the table. A record whose prediction is missing, though the
    table has its id, counts as wrong, or with the largest loss. Precision, recall, F1 and the
    Jaccard index take the ``positive`` label, unless both columns are true or false.

    >>> score_predictions("recall", table="p", prediction="answer", target="label", positive="spam")
    rate("p.answer = 'spam'", given="label = 'spam'")
    """
    if metric not in METRICS:
        raise InvalidInput("metric", f"one of {', '.join(METRICS)}", metric)
    build = _OF_PREDICTIONS.get(_SAME.get(metric, metric))
    if build is None:
        known = ", ".join(one for one in METRICS if _SAME.get(one, one) in _OF_PREDICTIONS)
        raise InvalidInput("metric", f"one of {known}, for predictions in a table", metric)
    column = f"{written(table)}.{written(prediction)}"
    said, came = column, f"({target})" if _is_compound(target) else target
    said_so, came_so = said, came
    if positive is not None:
        said_so, came_so = (f"{one} = {_literal(positive)}" for one in (said, came))
    options = {"low": low, "high": high, "classes": classes, "bins": bins}
    return build(Predictions(said, came, said_so, came_so, options))


def _is_compound(target: str) -> bool:
    return not target.replace("_", "").isalnum()


def _literal(label: object) -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    return number(float(label)) if isinstance(label, int | float) else text(str(label))


def _loss(of: Predictions, squared: bool) -> Query:
    """Of numbers, both cut off; what is missing loses as much as can be lost."""
    low, high = of.options["low"], of.options["high"]
    if low is None or high is None:
        required = "given, as bounds at which prediction and target are cut off (--low, --high)"
        missing = "both are" if low is high else "low is" if low is None else "high is"
        raise InvalidInput("low and high", required, Finding(f"{missing} missing"))
    low, high = check_bounds(low, high)
    said, came = (
        f"least(greatest({one}, {number(low)}), {number(high)})"
        for one in (of.prediction, of.target)
    )
    most = (high - low) ** 2 if squared else high - low
    off = f"({said} - {came}) * ({said} - {came})" if squared else f"abs({said} - {came})"
    missing = f"{of.prediction} is null or {of.target} is null"
    return mean(f"case when {missing} then {number(most)} else {off} end", 0.0, most)


def _brier(of: Predictions) -> Query:
    said = f"least(greatest({of.prediction}, 0), 1)"
    off = f"({said} - case when {of.came} then 1 else 0 end)"
    return mean(f"case when {of.prediction} is null then 1 else {off} * {off} end", 0.0, 1.0)


def _confusion(of: Predictions) -> Query:
    axes, classes = [of.target, of.prediction], of.options["classes"]
    if classes is not None:
        listed = ", ".join(map(_literal, classes))
        axes = [f"{one} in ({listed})" for one in axes]
    return histogram(*axes)


def _calibration(of: Predictions) -> Query:
    bins = of.options["bins"]
    edges = ", ".join(number(i / bins) for i in range(bins + 1))
    return histogram(f"bins({of.prediction}, {edges})", of.came)


_OF_PREDICTIONS: Mapping[str, Callable[[Predictions], Query]] = {
    "accuracy": lambda of: fraction(f"{of.prediction} = {of.target}"),
    "zero_one": lambda of: fraction(f"not coalesce({of.prediction} = {of.target}, false)"),
    "precision": lambda of: rate(of.came, of.said),
    "recall": lambda of: rate(of.said, of.came),
    "f1": lambda of: f1(of.said, of.came),
    "jaccard": lambda of: rate(f"({of.said}) and ({of.came})", f"({of.said}) or ({of.came})"),
    "absolute": lambda of: _loss(of, squared=False),
    "squared": lambda of: _loss(of, squared=True),
    "brier": _brier,
    "auc": lambda of: auc(of.prediction, of.came),
    "confusion": _confusion,
    "calibration": _calibration,
}


def score_table(
    metric: str, name: str, columns: Sequence[str], prediction: str | None, **options: Any
) -> Query:
    """The query for a metric of a kept table, whose id is the first of its columns."""
    column = prediction_in(columns[1:]) if prediction is None else prediction
    return score_predictions(metric, table=name, prediction=column, **options)


def prediction_in(columns: Sequence[str]) -> str:
    """The column of a table that holds predictions: the only one, or the one that says so."""
    if len(columns) == 1:
        return columns[0]
    for name in ("prediction", "answer", "predicted", "score"):
        if name in columns:
            return name
    required = f"one column of the table (--prediction), which has {', '.join(columns)}"
    raise InvalidInput("the prediction", required, Finding("none is named"))
