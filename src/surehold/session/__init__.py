"""The session: the only door to the data."""

from surehold.data.model_store import KeptModel
from surehold.session.dataset import Appended, Dataset, Verification, create, open
from surehold.session.outlook import Outlook, Pace
from surehold.session.overview import Growth, Round, Status
from surehold.session.quotes import Budget, Quote, SpendingLimit
from surehold.session.results import (
    RESULTS,
    Answer,
    Cell,
    Choice,
    Estimate,
    Fitted,
    Result,
    Table,
    Verdict,
)
from surehold.session.scorer import Scorer
from surehold.session.session import Session
from surehold.session.transcript import Page, Transcript

__all__ = [
    "RESULTS",
    "Answer",
    "Appended",
    "Budget",
    "Cell",
    "Choice",
    "Dataset",
    "Estimate",
    "Fitted",
    "Growth",
    "KeptModel",
    "Outlook",
    "Pace",
    "Page",
    "Quote",
    "Result",
    "Round",
    "Scorer",
    "Session",
    "SpendingLimit",
    "Status",
    "Table",
    "Transcript",
    "Verdict",
    "Verification",
    "create",
    "open",
]
