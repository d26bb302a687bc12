"""Datasets to tamper with."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.runtime import batch_plan, made
from support.tampering import build, copied


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("template") / "clinic"
    build(path)
    return path


@pytest.fixture(scope="session")
def batches(tmp_path_factory) -> Path:
    """A dataset in batches: three answers at 200, one at 800."""
    path = tmp_path_factory.mktemp("batches") / "clinic"
    with made(path, batch_plan(), 900) as dataset:
        session = dataset.session()
        session.hold(200)
        session.ask_many(["age > 1", "age > 2", "age > 3"])
        session.hold(800)
        session.ask("age > 4")
    return path


@pytest.fixture
def clinic(template, tmp_path) -> Path:
    return copied(template, tmp_path / "clinic")
