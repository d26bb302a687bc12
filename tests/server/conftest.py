"""Fixtures that the tests of the service share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.runtime import made
from support.service import Log, Running, logged, running


@pytest.fixture
def guard():
    """Tests of both guards are given each of them."""
    return "noise"


@pytest.fixture
def clinic(tmp_path, guard):
    """With 1,000 records, where a query costs four times what it costs at the end."""
    with made(tmp_path / "clinic", count=1000, guard=guard) as dataset:
        yield dataset


@pytest.fixture
def door(clinic) -> Iterator[Running]:
    """A service of that dataset; open until it has its first token."""
    with running(clinic) as run:
        yield run


@pytest.fixture
def log() -> Iterator[Log]:
    """The lines of the log so far."""
    with logged() as found:
        yield found
