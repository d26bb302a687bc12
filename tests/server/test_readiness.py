"""Liveness and readiness, and the IDs of requests: what supervisors and operators go by."""

from __future__ import annotations

import shutil
import stat

import pytest

import surehold as sh
from server.test_hosts import build, served
from server.test_leaks import WORD, check_silent
from support.runtime import made
from support.service import QUICK, check_refusal, hosting, logged, running, send
from surehold.server.host import Host
from surehold.server.readiness import Readiness
from surehold.server.settings import Settings
from surehold.session.dataset import Dataset


@pytest.fixture
def root(tmp_path):
    build(tmp_path / "root")
    return tmp_path / "root"


def ready(host: Host) -> bool:
    """Looked at now, not kept from before."""
    try:
        Readiness(host).check()
    except sh.RequestRefused as error:
        return error.status != 503
    return True


def damage(folder):
    (folder / "ledger.sqlite").write_bytes(b"no ledger")


def test_ready_while_some_dataset_can_be_opened_and_written(root, log):
    host = served(root)
    with hosting(host) as url:
        assert ready(host)
        assert send(url, "GET", "/readyz").json["status"] == "ready"
        damage(root / "clinic")
        assert ready(host)  # the shop goes on
        damage(root / "shop")
        assert not ready(host)
        assert send(url, "GET", "/healthz").status == 200  # a restart would not help
        assert send(url, "GET", "/readyz").status == 200  # for two seconds
        told = {line["dataset"]: line["error"] for line in log() if line["event"] == "not ready"}
        assert told == dict.fromkeys(("clinic", "damaged", "shop"), "LedgerCorrupt")
        for name in ("clinic", "damaged", "shop"):
            shutil.rmtree(root / name)
        assert ready(host)  # the first dataset may be created
        shutil.rmtree(root)
        assert not ready(host)


def test_a_server_of_one_dataset(tmp_path):
    with made(tmp_path / "clinic", count=300) as dataset, running(dataset) as run:
        run.token("viewer")
        assert send(run.url, "GET", "/readyz").json["status"] == "ready"  # without a token
        check_refusal(send(run.url, "GET", "/d/clinic/readyz"), 404)
        before = dataset.last_entry
        assert list((tmp_path / "clinic").glob(".writing-*")) == []
        assert dataset.last_entry == before
        dataset.verify()


def test_a_disk_that_cannot_be_written(tmp_path, monkeypatch):
    with made(tmp_path / "clinic", count=300) as dataset, running(dataset) as run:

        def full(*_: object) -> int:
            raise OSError(28, f"No space left on device: {WORD}")

        with monkeypatch.context() as patched, logged() as log:
            patched.setattr("pathlib.Path.write_bytes", full)
            got = send(run.url, "GET", "/readyz")
            error = check_refusal(got, 503)
            assert got.headers["retry-after"] == "5"
            assert error["message"].startswith("request refused: no dataset can be opened")
        check_silent(error, log())
        assert {"dataset": "clinic", "error": "StorageFailed"}.items() <= log()[0].items()


def test_a_ledger_that_may_not_be_written(tmp_path):
    folder = tmp_path / "clinic"
    with made(folder, count=300) as dataset:
        dataset.check_writable()
        dataset._ledger._writer._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(sh.StorageFailed):
            dataset.check_writable()
    assert stat.S_IMODE((folder / "ledger.sqlite").stat().st_mode) == 0o600


def test_one_caller_at_a_time_looks_and_the_others_get_what_was_seen(tmp_path):
    with made(tmp_path / "clinic", count=300) as dataset, running(dataset) as run:
        now, host = [0.0], run.runner._host
        readiness = Readiness(host, lambda: now[0])
        readiness.check()
        looks = []
        readiness._look = lambda: looks.append(1) or False
        readiness.check()
        assert looks == []
        with readiness._lock:
            now[0] = 3.0
            readiness.check()  # another one is looking
        with pytest.raises(sh.RequestRefused):
            readiness.check()
        assert looks == [1]


# ----------------------------------------------------------------------------- IDs of requests


@pytest.mark.parametrize("is_named", [True, False])
def test_an_id_is_taken_from_named_proxies_only(tmp_path, log, is_named):
    proxies = ("127.0.0.1",) if is_named else ()
    settings = Settings(rate=QUICK.rate, fixed_time=False, proxies=proxies)
    with made(tmp_path / "clinic", count=300) as dataset, running(dataset, settings) as run:
        token, forwarded = run.token("viewer"), {"X-Forwarded-For": "203.0.113.7"}
        for given in ("edge-7f3a.1_B", "a b", 'x", "level": "error', "é", "x" * 65, ""):
            headers = {"X-Request-Id": given, **forwarded}
            got = send(run.url, "GET", "/v1/status", token=token, headers=headers)
            number = got.headers["x-request-id"]
            assert (number == given) is (is_named and given == "edge-7f3a.1_B")
            assert number == given or len(number) == 16
            assert log.of(got)["route"] == "/v1/status"


def test_every_line_of_a_request_has_its_id(tmp_path, log, monkeypatch):
    def fail(*_: object) -> None:
        raise ValueError(WORD)

    monkeypatch.setattr(Dataset, "growth", fail)
    with made(tmp_path / "clinic", count=300) as dataset, running(dataset) as run:
        got = send(run.url, "GET", "/v1/growth")
        number = got.headers["x-request-id"]
        assert number in check_refusal(got, 500)["message"]
        log.of(got)
        assert [line["request"] for line in log()] == [number, number]
        assert {line["event"] for line in log()} == {"unexpected error", "request"}
        other = send(run.url, "GET", "/v1/growth")
        assert other.headers["x-request-id"] != number


def test_a_damaged_dataset_is_named_in_the_log_to_its_callers_only(root, log):
    with hosting(served(root)) as url:
        got = send(url, "GET", "/d/damaged/v1/status")
        assert (got.status, log.of(got)["dataset"]) == (500, "damaged")
        got = send(url, "GET", "/d/nowhere/v1/status")
        assert (got.status, "dataset" in log.of(got)) == (404, False)
