"""The inverse problems, in the user's words: how many queries, how wide, how many records.

A plan is read by every question that is put to a dataset, so reading one loads neither scipy nor
numpy; solving for one does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surehold.planning.comparison import ComparisonRow
from surehold.planning.plans import Paces, Plan

if TYPE_CHECKING:
    from surehold.planning.planner import Question, compare, plan

__all__ = ["ComparisonRow", "Paces", "Plan", "Question", "compare", "plan"]

_HOME = {
    "Question": "surehold.planning.planner",
    "compare": "surehold.planning.planner",
    "plan": "surehold.planning.planner",
}


def __getattr__(name: str) -> Any:
    """Load what solves only when it is used."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
