"""Surehold: answers that stay valid however often growing data is asked.

>>> import surehold as sh
>>> sh.plan(n0=10_000, n=30_000, alpha=0.1, beta=0.05).max_queries
642
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surehold.errors import (
    AccessDenied,
    BadRecord,
    BudgetExhausted,
    EvaluationFailed,
    InvalidInput,
    InvalidQuery,
    LedgerCorrupt,
    MissingExtra,
    NotApplicable,
    NotCertified,
    NotReady,
    RequestRefused,
    ServiceFailed,
    StorageFailed,
    SureholdError,
    Unreachable,
    WrongGuard,
)

if TYPE_CHECKING:
    from surehold.client import RemoteSession, connect
    from surehold.data.process.runner import ModelLimits
    from surehold.data.statistics import Statistic
    from surehold.planning import (
        ComparisonRow,
        Forecast,
        ForecastRow,
        Paces,
        Plan,
        compare,
        forecast,
        plan,
    )
    from surehold.queries import (
        Query,
        accuracy,
        auc,
        auc_pairs,
        brier,
        calibration,
        concordance,
        confusion,
        difference,
        fit,
        fraction,
        gate,
        gini,
        histogram,
        improvement,
        kendall,
        loss,
        mean,
        means,
        rate,
        select,
        statistic,
        totals,
        variance,
    )
    from surehold.session import (
        AnalystSpending,
        Answer,
        Appended,
        BitsLimit,
        Budget,
        Cell,
        Choice,
        Dataset,
        DecisionOutcome,
        Estimate,
        Fitted,
        Growth,
        KeptModel,
        LadderOutcome,
        NoisyResult,
        NumberOutcome,
        Outcome,
        Outlook,
        Pace,
        Page,
        Quote,
        Registered,
        Result,
        Round,
        Scorer,
        SelectionOutcome,
        Session,
        SpendingLimit,
        Status,
        SurpriseQuote,
        SurpriseStatus,
        Table,
        TableOutcome,
        Transcript,
        Verdict,
        Verification,
        create,
        open,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "AccessDenied",
    "AnalystSpending",
    "Answer",
    "Appended",
    "BadRecord",
    "BitsLimit",
    "Budget",
    "BudgetExhausted",
    "Cell",
    "Choice",
    "ComparisonRow",
    "Dataset",
    "DecisionOutcome",
    "Estimate",
    "EvaluationFailed",
    "Fitted",
    "Forecast",
    "ForecastRow",
    "Growth",
    "InvalidInput",
    "InvalidQuery",
    "KeptModel",
    "LadderOutcome",
    "LedgerCorrupt",
    "MissingExtra",
    "ModelLimits",
    "NoisyResult",
    "NotApplicable",
    "NotCertified",
    "NotReady",
    "NumberOutcome",
    "Outcome",
    "Outlook",
    "Pace",
    "Paces",
    "Page",
    "Plan",
    "Query",
    "Quote",
    "Registered",
    "RemoteSession",
    "RequestRefused",
    "Result",
    "Round",
    "Scorer",
    "SelectionOutcome",
    "ServiceFailed",
    "Session",
    "SpendingLimit",
    "Statistic",
    "Status",
    "StorageFailed",
    "SureholdError",
    "SurpriseQuote",
    "SurpriseStatus",
    "Table",
    "TableOutcome",
    "Transcript",
    "Unreachable",
    "Verdict",
    "Verification",
    "WrongGuard",
    "__version__",
    "accuracy",
    "auc",
    "auc_pairs",
    "brier",
    "calibration",
    "compare",
    "concordance",
    "confusion",
    "connect",
    "create",
    "difference",
    "fit",
    "forecast",
    "fraction",
    "gate",
    "gini",
    "histogram",
    "improvement",
    "kendall",
    "loss",
    "mean",
    "means",
    "open",
    "plan",
    "rate",
    "select",
    "statistic",
    "totals",
    "variance",
]

# Where the names live that are not errors: results and the session's other classes in session,
# functions that make queries in queries, and these elsewhere.
_HOME = {
    "ComparisonRow": "planning",
    "Forecast": "planning",
    "ForecastRow": "planning",
    "ModelLimits": "data.process.runner",
    "Paces": "planning",
    "Plan": "planning",
    "Query": "queries",
    "RemoteSession": "client",
    "Statistic": "data.statistics",
    "compare": "planning",
    "connect": "client",
    "create": "session",
    "forecast": "planning",
    "open": "session",
    "plan": "planning",
}


def __getattr__(name: str) -> Any:
    """Load what needs numpy, scipy or Polars only when it is used: the import stays quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME.get(name, "queries" if name.islower() else "session")
    value = getattr(import_module(f"surehold.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
