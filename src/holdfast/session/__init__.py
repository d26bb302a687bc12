"""The session: the only door to the data."""

from holdfast.session.answers import Answer, Budget, Quote, Transcript
from holdfast.session.dataset import Appended, Dataset, Round, Status, Verification, create, open
from holdfast.session.session import Session

__all__ = [
    "Answer",
    "Appended",
    "Budget",
    "Dataset",
    "Quote",
    "Round",
    "Session",
    "Status",
    "Transcript",
    "Verification",
    "create",
    "open",
]
