"""From the name of a metric to the query that scores a model by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, get_args

from surehold.errors import InvalidInput
from surehold.queries.auc import auc
from surehold.queries.base import Query
from surehold.queries.model_queries import accuracy, brier, calibration, confusion, loss
from surehold.queries.models import LOSSES

MetricName: TypeAlias = Literal[
    "accuracy", "auc", "zero_one", "log", "squared", "absolute", "brier", "confusion", "calibration"
]
METRICS: tuple[str, ...] = get_args(MetricName)
"""Every metric that a model can be scored by."""
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
    if metric in LOSSES:
        return loss(model, kind=metric, low=low, high=high, most=most, **about)
    if metric == "calibration":
        return calibration(model, bins=bins, **about)
    return _WITHOUT_OPTIONS[metric](model, **about)
