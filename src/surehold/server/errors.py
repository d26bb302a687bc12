"""Errors as HTTP has them: one shape, and one status for each class."""

from __future__ import annotations

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
)

STATUSES: dict[type[SureholdError], int] = {
    InvalidInput: 422,
    InvalidQuery: 422,
    BadRecord: 422,
    NotApplicable: 422,
    Unreachable: 422,
    BudgetExhausted: 402,
    NotReady: 409,
    MissingExtra: 501,
    StorageFailed: 503,
    EvaluationFailed: 503,
    LedgerCorrupt: 500,
    NotCertified: 500,
    ServiceFailed: 500,
}
"""What each class is told as; AccessDenied and RequestRefused say it themselves."""


def status_of(error: SureholdError) -> int:
    """The status of an error."""
    if isinstance(error, AccessDenied | RequestRefused):
        return error.status
    return next(status for kind, status in STATUSES.items() if isinstance(error, kind))


def headers_of(error: SureholdError) -> dict[str, str]:
    """What HTTP says besides: how to prove oneself, and when to come back."""
    if isinstance(error, AccessDenied) and error.status == 401:
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, RequestRefused) and error.retry_after is not None:
        return {"Retry-After": str(max(1, round(error.retry_after)))}
    if isinstance(error, StorageFailed | EvaluationFailed):
        return {"Retry-After": "1"}
    return {}


def unexpected() -> ServiceFailed:
    """What a caller is told of a bug: nothing, as its message may repeat what a record holds."""
    hint = "it is written in the service's log; please report it"
    return ServiceFailed("the request", "of an unexpected error", hint)
