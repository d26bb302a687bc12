"""Exceptions as responses: the one shape of errors, whatever went wrong."""

from __future__ import annotations

import logging
import traceback

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from surehold.errors import RequestRefused, SureholdError
from surehold.server.errors import headers_of, invalid_input, status_of, unexpected
from surehold.server.schemas import Reply

logger = logging.getLogger("surehold.server")


def error_response(error: Exception) -> Response:
    """An error as a response. What is not ours is told without its message."""
    known = _known(error)
    if known is None:
        # Where, not what: an error's message may repeat what a record holds.
        places = [f"{f.filename}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
        logger.error(
            "unexpected error", extra={"error": type(error).__name__, "places": places[-8:]}
        )
        known = unexpected()
    said = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return Reply(known.to_dict(), status_of(known), {**said, **headers_of(known)})


def _known(error: Exception) -> SureholdError | None:
    if isinstance(error, SureholdError):
        return error
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, HTTPException):
        reason = {
            400: "its body can't be read as JSON in UTF-8",
            404: "there is nothing at this address",
            405: "this address takes other methods",
        }.get(error.status_code, str(error.detail))
        return RequestRefused(error.status_code, reason, "see /openapi.json for what there is")
    return None


def _invalid(error: RequestValidationError) -> SureholdError:
    """The first thing that is wrong with what was sent, in the words of the other errors."""
    first = error.errors()[0]
    if first["type"] in ("json_invalid", "json_type"):
        reason, hint = "its body can't be read as JSON in UTF-8", "send one JSON object"
        return RequestRefused(400, reason, hint)
    return invalid_input(error.errors(), skip=1)  # a location begins with body, query or path
