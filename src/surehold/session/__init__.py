"""The session: the only door to the data."""

from surehold.data.model_store import KeptModel
from surehold.data.table_store import KeptTable
from surehold.session.custody import Appended, Verification
from surehold.session.dashboards import Watched, WatchedQuestion
from surehold.session.dataset import Dataset, create, open
from surehold.session.histories import History, Point
from surehold.session.leaderboards import Leaderboard, Submission, Submitted
from surehold.session.outcomes import (
    AnalystSpending,
    BitsLimit,
    DecisionOutcome,
    LadderOutcome,
    NumberOutcome,
    Outcome,
    Registered,
    SelectionOutcome,
    SurpriseQuote,
    SurpriseStatus,
    TableOutcome,
)
from surehold.session.outlook import Outlook, Pace
from surehold.session.overview import Growth, Round, Status
from surehold.session.quotes import Budget, Quote, SpendingLimit
from surehold.session.recorded_results import RESULTS
from surehold.session.reservations import Reservation
from surehold.session.results import (
    Answer,
    Cell,
    Choice,
    Estimate,
    Fitted,
    NoisyResult,
    Result,
    Table,
    Verdict,
)
from surehold.session.scorer import Scorer
from surehold.session.session import Session
from surehold.session.succession import Succession, succeed
from surehold.session.transcript import Page, Transcript

__all__ = [
    "RESULTS",
    "AnalystSpending",
    "Answer",
    "Appended",
    "BitsLimit",
    "Budget",
    "Cell",
    "Choice",
    "Dataset",
    "DecisionOutcome",
    "Estimate",
    "Fitted",
    "Growth",
    "History",
    "KeptModel",
    "KeptTable",
    "LadderOutcome",
    "Leaderboard",
    "NoisyResult",
    "NumberOutcome",
    "Outcome",
    "Outlook",
    "Pace",
    "Page",
    "Point",
    "Quote",
    "Registered",
    "Reservation",
    "Result",
    "Round",
    "Scorer",
    "SelectionOutcome",
    "Session",
    "SpendingLimit",
    "Status",
    "Submission",
    "Submitted",
    "Succession",
    "SurpriseQuote",
    "SurpriseStatus",
    "Table",
    "TableOutcome",
    "Transcript",
    "Verdict",
    "Verification",
    "Watched",
    "WatchedQuestion",
    "create",
    "open",
    "succeed",
]
