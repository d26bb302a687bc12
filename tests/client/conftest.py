"""What the tests of the client share: a real answer to send, and no waiting."""

from __future__ import annotations

import time

import pytest

from support.runtime import made


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    """Whatever the environment of whoever runs the tests has."""
    for name in ("SUREHOLD_TOKEN", "http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def waits(monkeypatch):
    """How long the client waited, each time, without waiting."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """Something to compare with: an answer, a quote and a status, as they are."""
    with made(tmp_path_factory.mktemp("client") / "clinic", count=1000) as dataset:
        session = dataset.session("ann")
        answer = session.ask("age > 65")
        return {
            "answer": answer,
            "quote": session.quote("age > 65"),
            "status": dataset.status(),
            "columns": dataset.columns,
        }
