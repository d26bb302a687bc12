"""The tools over HTTP keep the service's limits: turns, rates, sizes, a line for each call."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import surehold as sh
from support.runtime import made
from support.service import QUICK, Got, check_refusal, logged, raw, read, running_tools, send
from surehold.server.limits import Rates
from surehold.server.settings import MEGABYTE
from surehold.session.session import Session

ACCEPT = {"Accept": "application/json, text/event-stream"}
FIT = sh.fit("logistic", target="age > 50", features={"bmi": (0, 50)}, price=4).canonical


@pytest.fixture
def log():
    with logged() as found:
        yield found


@pytest.fixture
def clinic(tmp_path):
    with made(tmp_path / "clinic", count=1000) as dataset:
        yield dataset


def call(url: str, tool: str, token: str | None = None, **arguments: object) -> Got:
    """One call of a tool, by hand."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return send(url, "POST", "/mcp", body, token=token, headers=ACCEPT)


def result(got: Got) -> dict:
    assert got.status == 200, got.content[:300]
    return got.json["result"]


def test_slow_asks_wait_for_their_turn_over_mcp_too(clinic, monkeypatch):
    """Eight at once where two are allowed: six are asked to come again, and nothing is charged."""
    going, began = threading.Event(), threading.Semaphore(0)

    def slow(self, query, **options):
        began.release()
        assert going.wait(180)
        raise sh.NotReady("enough", "of it", {})

    monkeypatch.setattr(Session, "ask", slow)
    with running_tools(clinic, replace(QUICK, slow_asks=(4, 2))) as run:
        with ThreadPoolExecutor(8) as callers:
            first = [callers.submit(call, run.url, "ask", query=FIT) for _ in range(2)]
            assert began.acquire(timeout=120)
            assert began.acquire(timeout=120)
            others = list(callers.map(lambda _: result(call(run.url, "ask", query=FIT)), range(6)))
            going.set()
            for got in first:
                ended = result(got.result())
                assert ended["structuredContent"]["error"]["type"] == "NotReady"
        for refused in others:
            error = refused["structuredContent"]["error"]
            assert (error["type"], error["details"]["status"]) == ("RequestRefused", 429)
            assert "2 asks that take long of yours" in error["message"]
        assert not began.acquire(blocking=False)  # no third was begun


def test_every_query_of_a_list_counts(clinic):
    with running_tools(clinic) as run:
        run.service.limits.rates = Rates(rate=20.0, clock=lambda: 0.0)
        many = [f"age > {i}" for i in range(60)]
        assert not result(call(run.url, "ask_many", queries=many)).get("isError")
        got = call(run.url, "budget")
        assert check_refusal(got, 429)["type"] == "RequestRefused"
        assert int(got.headers["retry-after"]) >= 1


def test_each_call_has_its_line_and_is_counted(clinic, log):
    with running_tools(clinic) as run:
        token = run.token("analyst", "ann")
        answered = call(run.url, "ask", token, query="age > 51.0625")
        refused = call(run.url, "ask", token, query="age > 'secret'")
        denied = call(run.url, "ask", query="age > 51.0625")
        lines = [log.of(got) for got in (answered, refused, denied)]
        text = send(run.url, "GET", "/metrics", token=token).content.decode()
    assert [line.get("tool") for line in lines] == ["ask", "ask", None]
    assert [line.get("outcome") for line in lines] == ["answered", "InvalidQuery", None]
    assert [line["status"] for line in lines] == [200, 200, 401]
    assert {line["route"] for line in lines} == {"/mcp"}
    assert (lines[0]["analyst"], lines[0]["role"]) == ("ann", "analyst")
    assert "51.0625" not in json.dumps(lines[0])
    assert "secret" not in json.dumps(log())
    assert 'surehold_tool_calls_total{outcome="answered",tool="ask"} 1.0' in text
    assert 'surehold_tool_calls_total{outcome="InvalidQuery",tool="ask"} 1.0' in text
    assert 'surehold_requests_total{method="POST",route="/mcp",status="401"} 1.0' in text


@pytest.mark.parametrize("size", [4 * MEGABYTE + 1, 5 * MEGABYTE - 400])
def test_a_body_that_we_take_is_not_refused_by_the_sdk(clinic, size):
    with running_tools(clinic) as run:
        error = result(call(run.url, "ask", query="x" * size))["structuredContent"]["error"]
        assert error["type"] == "InvalidQuery"


@pytest.mark.parametrize("size", [5 * MEGABYTE + 1, 6 * MEGABYTE, 80 * MEGABYTE])
def test_a_body_that_is_too_large_is_refused_in_the_one_shape(clinic, size):
    """By its head alone, and where that does not say it, as soon as it is."""
    with running_tools(clinic) as run:
        head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        length = b"Content-Length: %d\r\n\r\n" % size
        chunk = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % size
        for sent in (head + length, head + chunk + b"x" * (5 * MEGABYTE + 1)):
            error = check_refusal(read(raw(run.url, sent)), 413)
            assert "5,242,880 bytes" in error["message"]


@pytest.mark.parametrize(
    ("path", "method", "status"), [("/mcp", "GET", 405), ("/nothing", "GET", 404)]
)
def test_other_requests_are_refused_in_the_one_shape(clinic, path, method, status):
    with running_tools(clinic) as run:
        got = send(run.url, method, path)
        check_refusal(got, status)
        if status == 405:
            assert got.headers["allow"] == "POST"
