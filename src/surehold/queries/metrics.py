"""From the name of a metric to the query that scores a model by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from surehold.errors import InvalidInput
from surehold.queries.auc import auc
from surehold.queries.base import Query
from surehold.queries.model_queries import accuracy, brier, calibration, confusion, loss
from surehold.queries.models import LOSSES

MetricName: TypeAlias = Literal[
    "accuracy",
    "auc",
    "zero_one",
    "log",
    "squared",
    "absolute",
    "brier",
    "confusion",
    "calibration",
]
METRICS: tuple[str, ...] = get_args(MetricName)
"""Every metric that a model can be scored by."""


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
    if metric in LOSSES:
        return loss(model, kind=metric, low=low, high=high, most=most, **about)
    match metric:
        case "accuracy":
            return accuracy(model, **about)
        case "auc":
            return auc(model, **about)
        case "brier":
            return brier(model, **about)
        case "confusion":
            return confusion(model, **about)
        case "calibration":
            return calibration(model, bins=bins, **about)
    raise InvalidInput("metric", f"one of {', '.join(METRICS)}", metric)
