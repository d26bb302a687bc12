"""Fixtures that the tests of the service share."""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.server.logs import start_logging
from runtime import made
from service import PATIENT, Got, Running, running


@pytest.fixture
def clinic(tmp_path):
    """With 1,000 records, where a query costs four times what it costs at the end."""
    with made(tmp_path / "clinic", count=1000) as dataset:
        yield dataset


@pytest.fixture
def door(clinic) -> Iterator[Running]:
    """A service of that dataset; open until it has its first token."""
    with running(clinic) as run:
        yield run


class Log:
    """The log of services in this process, line by line."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def __call__(self) -> list[dict[str, Any]]:
        """The lines so far."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def of(self, got: Got) -> dict[str, Any]:
        """The line of a request, which is written once its response is on the way."""
        until = time.monotonic() + PATIENT
        while time.monotonic() < until:
            for line in self():
                if line.get("request") == got.headers["x-request-id"]:
                    return line
            time.sleep(0.005)
        raise AssertionError("there is no line of that request")


@pytest.fixture
def log() -> Iterator[Log]:
    """The lines of the log so far."""
    names = ("holdfast.server", "uvicorn", "")
    before = [(logging.getLogger(name), vars(logging.getLogger(name)).copy()) for name in names]
    found = Log()
    start_logging(found.stream)
    yield found
    for logger, state in before:
        logger.handlers, logger.propagate = state["handlers"], state["propagate"]
        logger.setLevel(state["level"])
