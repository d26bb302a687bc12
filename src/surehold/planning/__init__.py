"""The inverse problems, in the user's words: how many queries, how wide, how many records.

A plan is read by every question that is put to a dataset, so reading one loads neither scipy nor
numpy; solving for one does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surehold.planning.plans import ComparisonRow, Paces, Plan

if TYPE_CHECKING:
    from surehold.planning.forecasts import Forecast, ForecastRow, forecast
    from surehold.planning.planner import Question, compare, plan

__all__ = [
    "ComparisonRow",
    "Forecast",
    "ForecastRow",
    "Paces",
    "Plan",
    "Question",
    "compare",
    "forecast",
    "plan",
]


def __getattr__(name: str) -> Any:
    """Load what solves only when it is used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "forecasts" if name.lower().startswith("forecast") else "planner"
    return getattr(import_module(f"{__name__}.{home}"), name)
