"""Alerts: each crossing is sent once, whatever the webhook does, and no secret is logged."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from server.test_leaks import canaries, check_silent
from support.runtime import GUARDS, guarded, made, opened, records
from support.service import QUICK, logged, send, serving
from support.webhooks import Hook, hook, wait_for
from surehold.errors import InvalidInput
from surehold.server.addresses import check_alert_url
from surehold.server.alerts import FILE, Alerts
from surehold.server.host import Host
from surehold.server.tokens import TokenBook
from surehold.session.dataset import create

SECRET = "T0P/S3CRET"


@contextmanager
def watched(root: Path, to: Hook, **settings: object) -> Iterator[Host]:
    """The datasets of a folder, open and looked at all the time."""
    given = {"alert_url": f"{to.url}/{SECRET}", **settings}
    host = Host(settings=replace(QUICK, **given), root=root, open_dataset=opened)
    try:
        for name in host.names:
            host.site(name).open()
        with Alerts(host, every=0.01).running():
            yield host
    finally:
        host.close()


def spend(host: Host, name: str, down_to: float, first: int = 0, analyst: str = "ann") -> int:
    """Ask until less than a share of the budget is left; returns the number of questions."""
    dataset = host.site(name).open().dataset
    session, asked = dataset.session(analyst), first
    while True:
        status = dataset.status()
        if status.guard == "noise":
            left = status.budget.remaining / status.budget.total
        else:
            left = status.remaining / status.limit
        if left < down_to:
            return asked
        session.ask(f"age > {asked} + 0.5")
        asked += 1


def looked(to: Hook, host: Host) -> None:
    """Until every open dataset was looked at after this moment: a marker crosses and is sent."""
    seen = len(to.sent)
    host.services[0].book.create("marker", "analyst", seconds=60.0, limit=1e-9)
    session = host.services[0].dataset.session("marker")
    session.ask("age > 99.25")
    wait_for(lambda: any(b"marker" in one.body for one in to.sent[seen:]))


@pytest.mark.parametrize("guard", GUARDS)
def test_each_crossing_is_sent_once(tmp_path, guard):
    path = tmp_path / "root" / "clinic"
    path.parent.mkdir()
    create(path, **guarded(guard, limit=120), columns={"age": "int"}).close()
    with opened(path) as dataset:
        dataset.append({"age": i % 90} for i in range(1000))
    with hook() as to, logged() as log, watched(path.parent, to, alert_at=(0.5, 0.25)) as host:
        asked = spend(host, "clinic", 0.5)
        [first] = to.wait(1)
        told = json.loads(first.body)
        spend(host, "clinic", 0.25, asked)
        assert json.loads(to.wait(2)[1].body)["threshold"] == 0.25
    assert first.path == f"/{SECRET}"
    assert first.headers["content-type"] == "application/json"
    assert set(told) == {"text", "dataset", "time", "what", "analyst", "left", "threshold"}
    about = (told["dataset"], told["what"], told["analyst"], told["threshold"])
    assert about == ("clinic", "budget", None, 0.5)
    assert 0.25 < told["left"] < 0.5
    assert told["text"].startswith("clinic: 4")
    lines = [line for line in log() if line["event"] == "alert sent"]
    assert [line["threshold"] for line in lines] == [0.5, 0.25]
    assert SECRET not in json.dumps(log())
    # A restart does not repeat them; another threshold is another crossing.
    with hook() as to, watched(path.parent, to, alert_at=(0.5, 0.25, 0.9)) as host:
        assert json.loads(to.wait(1)[0].body)["threshold"] == 0.9
    assert len(to.sent) == 1


def test_limits_of_analysts_and_widths(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    made(root / "clinic", count=1000, guard="surprise").close()
    made(root / "shop", count=1000).close()
    TokenBook(root / "clinic", guard="surprise").create("bob", "analyst", seconds=60.0, limit=20)
    with hook() as to, watched(root, to, alert_at=(0.5,)) as host:
        session = host.site("clinic").open().dataset.session("bob", limit=20)
        while session.limit.remaining > 10:
            session.ask(f"age > {len(session.transcript)} + 0.5")
        [first] = to.wait(1)
        told = json.loads(first.body)
        assert (told["dataset"], told["what"], told["analyst"]) == ("clinic", "limit", "bob")
        assert told["text"].startswith("clinic, bob: ")
        now = host.site("clinic").open().dataset.status().width
    with hook() as to, watched(root, to, alert_at=(), alert_width=now * 0.99) as host:
        about = {json.loads(one.body)["dataset"]: json.loads(one.body) for one in to.wait(2)}
        assert about["clinic"]["width"] == now  # and the plan of the shop is wider from the start
        dataset = host.site("clinic").open().dataset
        dataset.append(records(1000, 9000))
        assert dataset.status().width < now * 0.9
        kept = root / "clinic" / FILE
        wait_for(lambda: json.loads(kept.read_bytes())["sent"] == [])  # it may cross once more
    assert len(to.sent) == 2


def test_what_fails_is_sent_again_until_it_is_delivered(tmp_path):
    made(tmp_path / "root" / "clinic", count=1000).close()
    with hook() as to, logged() as log, watched(tmp_path / "root", to, alert_at=(0.9,)) as host:
        to.statuses = [500, 302, 404]
        spend(host, "clinic", 0.9)
        sent = to.wait(4)
        wait_for(lambda: any(line["event"] == "alert sent" for line in log()))
        assert len({json.loads(one.body)["left"] for one in sent}) == 1
        assert {one.path for one in sent} == {f"/{SECRET}"}  # a redirection is not followed
        looked(to, host)
    failed = [line["outcome"] for line in log() if line["event"] == "alert not delivered"]
    assert failed == ["500", "302", "404"]
    assert [line["what"] for line in log() if line["event"] == "alert sent"] == ["budget", "limit"]
    assert SECRET not in json.dumps(log())


def test_no_request_waits_for_a_webhook_that_is_gone(tmp_path):
    made(tmp_path / "root" / "clinic", count=1000).close()
    with hook() as to:
        pass  # nobody listens there any more
    with logged() as log, watched(tmp_path / "root", to, alert_at=(0.9,)) as host:
        spend(host, "clinic", 0.5)
        wait_for(lambda: any(line["event"] == "alert not delivered" for line in log()))
        logging.getLogger("urllib3.connectionpool").warning("bad headers (url=/%s)", SECRET)
    assert not (tmp_path / "root" / "clinic" / FILE).exists()
    assert SECRET not in json.dumps(log())


def test_alerts_have_nothing_of_records(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    columns = {"age": "int", "bmi": "float", "city": "str"}
    create(root / "clinic", **guarded("noise"), columns=columns).close()
    with opened(root / "clinic") as dataset:
        dataset.append(canaries())
    with (
        hook() as to,
        logged() as log,
        watched(root, to, alert_at=(0.9,), alert_width=1e-9) as host,
    ):
        spend(host, "clinic", 0.9)
        told = [one.body.decode() for one in to.wait(2)]
    check_silent(*told, log())


def test_the_command_sends_to_what_the_environment_names(tmp_path, monkeypatch):
    made(tmp_path / "clinic", count=1000).close()
    with hook() as to:
        user = to.url.replace("://", "://ann:pw@")
        monkeypatch.setenv("SUREHOLD_ALERT_URL", f"{user}/{SECRET}")
        options = ("--alert-at", "1", "--rate", "1000")
        with serving(tmp_path / "clinic", *options) as (url, _):
            assert send(url, "POST", "/v1/ask", {"query": "age > 65"}).status == 200
            [one] = to.wait(1)
    assert one.headers["authorization"] == "Basic YW5uOnB3"
    log = (tmp_path / "service.log").read_text()
    assert SECRET not in log
    assert "pw" not in log


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/s",
        "ftp://127.0.0.1/s",
        "https://",
        "hooks.example/s",
        "http://[/s",
        "",
    ],
)
def test_what_is_not_private_is_refused_and_not_repeated(url):
    with pytest.raises(InvalidInput, match="--alert-url") as caught:
        check_alert_url(url, is_plain_allowed=False)
    assert "/s" not in str(caught.value).replace("https://", "")


def test_what_is_private_or_allowed():
    for url in ("https://hooks.example/s", "http://127.0.0.1:9/s", "http://localhost/s"):
        assert check_alert_url(url, is_plain_allowed=False) == url
    assert check_alert_url("http://hooks.example/s", is_plain_allowed=True)
