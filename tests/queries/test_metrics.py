"""From the name of a metric to its query: one place, used by every surface."""

from __future__ import annotations

import pytest

import surehold as sh
from support.small_models import ABOUT, ONE
from surehold.cli import decide
from surehold.queries.metrics import METRICS, score
from surehold.queries.models import LOSSES

BOUNDS = {"low": 0.0, "high": 2.0, "most": 3.0, "bins": 4}
CONSTRUCTED = {
    "accuracy": lambda: sh.accuracy(ONE, **ABOUT),
    "auc": lambda: sh.auc(ONE, **ABOUT),
    "brier": lambda: sh.brier(ONE, **ABOUT),
    "confusion": lambda: sh.confusion(ONE, **ABOUT),
    "calibration": lambda: sh.calibration(ONE, bins=4, **ABOUT),
}


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_is_the_query_of_its_name(metric):
    if metric in LOSSES:
        made = sh.loss(ONE, kind=metric, low=0.0, high=2.0, most=3.0, **ABOUT)
    else:
        made = CONSTRUCTED[metric]()
    assert score(ONE, metric, **ABOUT, **BOUNDS) == made


def test_there_is_no_other():
    with pytest.raises(sh.InvalidInput, match="metric must be one of accuracy, auc"):
        score(ONE, "f1", **ABOUT)


def test_the_command_knows_the_same():
    assert decide.METRICS == METRICS
