"""The contract of a session, for each way to one."""

from __future__ import annotations

import shutil

import pytest

from contract.desks import DESKS, LocalDesk, RemoteDesk, prepared


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    """Whatever the environment of whoever runs the tests has."""
    for name in ("SUREHOLD_TOKEN", "http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def guard() -> str:
    """Noise, but for tests that say which, or both."""
    return "noise"


@pytest.fixture(params=DESKS)
def desk(request, tmp_path, guard):
    """A desk at a dataset with 1,000 records of the 2,000 that its plan has."""
    found = DESKS[request.param](prepared(tmp_path / "clinic", 1000, guard=guard), guard)
    yield found
    found.close()


@pytest.fixture
def session(desk):
    return desk.session()


@pytest.fixture(params=DESKS)
def full(request, tmp_path, guard):
    """A session where all records are there, so that a query of any class fits."""
    found = DESKS[request.param](prepared(tmp_path / "clinic", 2000, guard=guard), guard)
    yield found.session()
    found.close()


@pytest.fixture
def twins(tmp_path, guard):
    """A local and a remote desk at two copies of one dataset, which then differ in nothing."""
    path = prepared(tmp_path / "here" / "clinic", 1000, guard=guard)
    (tmp_path / "there").mkdir()
    shutil.copytree(path, tmp_path / "there" / "clinic")
    local, remote = LocalDesk(path), RemoteDesk(tmp_path / "there" / "clinic", guard)
    yield local, remote
    remote.close()
    local.close()


@pytest.fixture
def both(tmp_path, guard):
    """A remote desk, and a local one at the very same dataset."""
    path = prepared(tmp_path / "clinic", 2000, guard=guard)
    remote = RemoteDesk(path, guard)
    local = LocalDesk(path)
    yield local, remote
    local.close()
    remote.close()
