"""From the name of a metric to its query: one place, used by every surface."""

from __future__ import annotations

import pytest

import surehold as sh
from support.small_models import ABOUT, ONE
from surehold.cli import decide
from surehold.queries import query_of
from surehold.queries.metrics import METRICS, prediction_in, score, score_predictions
from surehold.queries.models import LOSSES

BOUNDS = {"low": 0.0, "high": 2.0, "most": 3.0, "bins": 4}
CONSTRUCTED = {
    "accuracy": lambda: sh.accuracy(ONE, **ABOUT),
    "auc": lambda: sh.auc(ONE, **ABOUT),
    "brier": lambda: sh.brier(ONE, **ABOUT),
    "confusion": lambda: sh.confusion(ONE, **ABOUT),
    "calibration": lambda: sh.calibration(ONE, bins=4, **ABOUT),
    "exact_match": lambda: sh.accuracy(ONE, **ABOUT),
    "mae": lambda: sh.loss(ONE, kind="absolute", low=0.0, high=2.0, **ABOUT),
    "mse": lambda: sh.loss(ONE, kind="squared", low=0.0, high=2.0, **ABOUT),
}
OF_TABLES = ("precision", "recall", "f1", "jaccard")
"""Those that only predictions in a table can be scored by."""
SCORED = {
    "accuracy": "fraction(p.answer = label)",
    "exact_match": "fraction(p.answer = label)",
    "zero_one": "fraction(not coalesce(p.answer = label, false))",
    "precision": "rate(label = 'spam', p.answer = 'spam')",
    "recall": "rate(p.answer = 'spam', label = 'spam')",
    "jaccard": "rate(label = 'spam' and p.answer = 'spam', label = 'spam' or p.answer = 'spam')",
    "f1": "f1(p.answer = 'spam', label = 'spam')",
    "auc": "auc(p.answer, label = 'spam')",
    "confusion": "histogram(label in ('a', 'b'), p.answer in ('a', 'b'))",
    "calibration": "histogram(bins(p.answer, 0, 0.5, 1), label = 'spam')",
}


@pytest.mark.parametrize("metric", [one for one in METRICS if one not in OF_TABLES])
def test_a_metric_is_the_query_of_its_name(metric):
    if metric in LOSSES:
        made = sh.loss(ONE, kind=metric, low=0.0, high=2.0, most=3.0, **ABOUT)
    else:
        made = CONSTRUCTED[metric]()
    assert score(ONE, metric, **ABOUT, **BOUNDS) == made


def test_there_is_no_other():
    with pytest.raises(sh.InvalidInput, match="metric must be one of accuracy, exact_match"):
        score(ONE, "f2", **ABOUT)
    with pytest.raises(sh.InvalidInput, match="metric must be one of accuracy, exact_match"):
        score_predictions("f2", table="p", prediction="answer", target="label")


@pytest.mark.parametrize("metric", OF_TABLES)
def test_those_of_tables_are_none_of_models(metric):
    with pytest.raises(sh.InvalidInput, match="ask a confusion"):
        score(ONE, metric, **ABOUT, **BOUNDS)


@pytest.mark.parametrize("metric", METRICS)
def test_of_predictions(metric):
    options = {"positive": "spam", "classes": ["a", "b"], "bins": 2, "low": 0.0, "high": 4.0}
    about = {"table": "p", "prediction": "answer", "target": "label", **options}
    if metric == "log":
        with pytest.raises(sh.InvalidInput, match="for predictions in a table"):
            score_predictions(metric, **about)
        return
    query = score_predictions(metric, **about)
    if metric in SCORED:
        assert query == query_of(SCORED[metric])
    else:  # a mean loss, of which the most is lost where the prediction is missing
        assert (query.low, query.high) == (
            0.0,
            {"brier": 1.0, "mse": 16.0, "squared": 16.0}.get(metric, 4.0),
        )
        assert "p.answer is null" in query.canonical


def test_the_column_of_predictions():
    assert prediction_in(["said"]) == "said"
    assert prediction_in(["x", "answer"]) == "answer"
    with pytest.raises(sh.InvalidInput, match="which has x, y, but none is named"):
        prediction_in(["x", "y"])


def test_the_command_knows_the_same():
    assert decide.METRICS == METRICS
