"""The inverse problems, in the user's words: how many queries, how wide, how many records."""

from holdfast.planning.comparison import Entry
from holdfast.planning.plan import Paces, Plan
from holdfast.planning.planner import Question, compare, plan

__all__ = ["Entry", "Paces", "Plan", "Question", "compare", "plan"]
