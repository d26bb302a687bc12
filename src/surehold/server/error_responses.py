"""Exceptions as responses: the one shape of errors, whatever went wrong."""

from __future__ import annotations

import logging

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from surehold.errors import RequestRefused, SureholdError
from surehold.server.body import not_json
from surehold.server.errors import headers_of, invalid_input, places_of, status_of, unexpected
from surehold.server.schemas import Reply

logger = logging.getLogger("surehold.server")


def error_response(error: Exception) -> Response:
    """Return an error as a response; one that is not ours loses its message."""
    known = _known(error)
    if known is None:
        where = {"error": type(error).__name__, "places": places_of(error)}
        logger.error("unexpected error", extra=where)
        known = unexpected()
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return Reply(known.to_dict(), status_of(known), {**headers, **headers_of(known)})


def _known(error: Exception) -> SureholdError | None:
    if isinstance(error, SureholdError):
        return error
    if isinstance(error, RequestValidationError):
        found = error.errors()
        if found[0]["type"] in ("json_invalid", "json_type"):
            return not_json("send one JSON object")
        return invalid_input(found, skip=1)  # a location begins with body, query or path
    if isinstance(error, HTTPException):
        if error.status_code == 400:
            return not_json("send one JSON object")
        reason = {404: "nothing is at this address", 405: "method not allowed here"}.get(
            error.status_code, str(error.detail)
        )
        return RequestRefused(error.status_code, reason, "see /openapi.json for what there is")
    return None
