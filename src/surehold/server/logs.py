"""The log: one JSON object per line. It says who asked, when, and the outcome, never the query."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

REQUEST: ContextVar[str | None] = ContextVar("request", default=None)
"""The ID of the request that is being handled, here or in a thread of its own."""

_USUAL = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class Lines(logging.Formatter):
    """Time, level and event, then the extra fields.

    No traceback, and only the first line of a message: an exception may quote a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format one line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = record.getMessage().partition("\n")[0]
        line = {"time": time, "level": record.levelname.lower(), "event": event}
        if (request := REQUEST.get()) is not None:
            line["request"] = request
        besides = {name: value for name, value in vars(record).items() if name not in _USUAL}
        if record.exc_info and record.exc_info[0] is not None:
            besides["error"] = record.exc_info[0].__name__
        return json.dumps({**line, **besides}, default=str, ensure_ascii=False)


def start_logging(stream: TextIO | None = None, level: str = "info") -> None:
    """Send the service's log, and the warnings of its libraries, to a stream."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines())
    listened_to = {"surehold.server": level.upper(), "uvicorn": "WARNING", "": "WARNING"}
    listened_to["urllib3"] = "ERROR"  # its warnings have the addresses of webhooks
    for name, least in listened_to.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(least)
