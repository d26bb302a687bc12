"""Fixtures that the tests of the service share."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from holdfast.server.logs import start_logging
from runtime import made
from service import Running, running


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


@pytest.fixture
def log() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The lines of the log so far."""
    names = ("holdfast.server", "uvicorn", "")
    before = [(logging.getLogger(name), vars(logging.getLogger(name)).copy()) for name in names]
    stream = io.StringIO()
    start_logging(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for logger, state in before:
        logger.handlers, logger.propagate = state["handlers"], state["propagate"]
        logger.setLevel(state["level"])
