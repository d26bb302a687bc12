"""The session: the only door to the data."""

from holdfast.data.shelf import KeptModel
from holdfast.session.answers import Answer, Cell, Choice, Estimate, Fitted, Result, Table, Verdict
from holdfast.session.dataset import (
    Appended,
    Dataset,
    Growth,
    Round,
    Status,
    Verification,
    create,
    open,
)
from holdfast.session.outlook import Outlook, Pace
from holdfast.session.quotes import Budget, Limit, Quote
from holdfast.session.scorer import Scorer
from holdfast.session.session import Session
from holdfast.session.transcript import Page, Transcript

__all__ = [
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
    "Limit",
    "Outlook",
    "Pace",
    "Page",
    "Quote",
    "Result",
    "Round",
    "Scorer",
    "Session",
    "Status",
    "Table",
    "Transcript",
    "Verdict",
    "Verification",
    "create",
    "open",
]
