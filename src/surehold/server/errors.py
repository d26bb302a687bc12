"""Errors in HTTP: one shape, and one status for each class."""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from surehold import errors
from surehold.errors import InvalidInput, ServiceFailed, SureholdError
from surehold.server.logs import REQUEST

STATUSES: dict[type[SureholdError], int] = {
    InvalidInput: 422,
    errors.InvalidQuery: 422,
    errors.BadRecord: 422,
    errors.NotApplicable: 422,
    errors.WrongGuard: 422,
    errors.Unreachable: 422,
    errors.BudgetExhausted: 402,
    errors.NotReady: 409,
    errors.MissingExtra: 501,
    errors.StorageFailed: 503,
    errors.EvaluationFailed: 503,
    errors.LedgerCorrupt: 500,
    errors.NotCertified: 500,
    ServiceFailed: 500,
}
"""The status of each class; AccessDenied and RequestRefused carry their own."""


def status_of(error: SureholdError) -> int:
    """Return the status of an error."""
    if isinstance(error, errors.AccessDenied | errors.RequestRefused):
        return error.status
    return next(status for kind, status in STATUSES.items() if isinstance(error, kind))


def headers_of(error: SureholdError) -> dict[str, str]:
    """Return the headers of an error: how to authenticate, and when to try again."""
    if isinstance(error, errors.AccessDenied) and error.status == 401:
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, errors.RequestRefused) and error.retry_after is not None:
        return {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
    if isinstance(error, errors.StorageFailed | errors.EvaluationFailed):
        return {"Retry-After": "1"}
    return {}


def unexpected() -> ServiceFailed:
    """Describe a bug to the caller, without its message, which may quote a record."""
    request = REQUEST.get()
    which = "" if request is None else f", at request {request}"
    hint = f"the service's log says where{which}; please report it"
    return ServiceFailed("the request", "of an unexpected error", hint)


def places_of(error: Exception) -> list[str]:
    """Return where an error was raised, for a log that must not repeat its message."""
    return [f"{f.filename}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)][-8:]


_LONGEST_SHOWN = 80
_MEMBER = re.compile(r"str|Score|.*\[.*\]")
_BEGINNINGS = {
    "Input should be ": "",
    "Value error, ": "",
    "String should have ": "of ",
    "List should have ": "of ",
    "Dictionary should have ": "of ",
}


def invalid_input(found: Sequence[Mapping[str, Any]], skip: int = 0) -> InvalidInput:
    """Return the first error that pydantic found, in the words of our other errors.

    For a union it has an error for each member; the deepest one is used. ``skip`` parts of a
    location are left out, and those that name a member of a union.
    """
    about = found[0]["loc"][: skip + 1]
    error = max((e for e in found if e["loc"][: skip + 1] == about), key=lambda e: len(e["loc"]))
    parts = [str(part) for part in error["loc"][skip:]]
    name = ".".join(part for part in parts if not _MEMBER.fullmatch(part)) or "the body"
    got = error.get("input")
    shown = got if isinstance(got, int | float | bool | None) or got in ([], {}) else _short(got)
    if error["type"] == "missing":
        return InvalidInput(name, "given", None)
    if error["type"] == "extra_forbidden":
        return InvalidInput(_short(name), "left out, as there is no such field", shown)
    message = error["msg"].partition(" after validation")[0]
    for beginning, instead in _BEGINNINGS.items():
        if message.startswith(beginning):
            message = instead + message.removeprefix(beginning)
    return InvalidInput(name, message[:1].lower() + message[1:], shown)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else type(value).__name__
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be sent back
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
