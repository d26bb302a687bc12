"""The tools over HTTP: the same as over stdio, and a door that strangers do not pass."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import threading

import httpx2
import pytest

import surehold as sh
from support.runtime import made
from surehold.cli import main

from .hosts import COMMAND, listening, over_http

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("http") / "clinic"
    made(path, count=1000).close()
    return path


@pytest.fixture(scope="module")
def url(folder):
    with listening(folder) as url:
        yield url


def posted(url, content=None, **headers):
    """A request by hand."""
    content = json.dumps(PING) if content is None else content
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(url, content=content, headers={**JSON, **named}, timeout=120)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_same_tools(url, folder, mode):
    with over_http(url, mode=mode) as host, sh.open(folder) as dataset:
        assert len(host.tools()) == 13
        assert host.told("describe")["plan"] == dataset.plan.to_dict()
        told = host.told("ask", query="age > 50", key="k")
        assert {**told, "recorded": True} == dataset.session().ask("age > 50", key="k").to_dict()
        assert told["analyst"] == "analyst"
        assert host.error("ask", query="age >")["type"] == "InvalidQuery"
        assert host.told("transcript", limit=1)["answers"][0]["query"] == "fraction(age > 50)"


def test_many_clients_at_once_share_the_budget(tmp_path):
    made(tmp_path / "clinic", count=600).close()
    with sh.open(tmp_path / "clinic") as dataset:
        fits = dataset.status().answers_left
    told: list = []

    def ask(url, who):
        with over_http(url) as host:
            questions = [("ask", {"query": f"age > {i} + 0.{who}"}) for i in range(fits // 3)]
            told.extend(host.at_once(questions))

    with listening(tmp_path / "clinic") as url:
        threads = [threading.Thread(target=ask, args=(url, who)) for who in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(told) == 4 * (fits // 3) > fits
    answers = [result.structured_content for result in told if not result.is_error]
    assert len(answers) == fits
    with sh.open(tmp_path / "clinic") as dataset:
        assert {answer["entry"] for answer in answers} == {a.entry for a in dataset.transcript}
        assert dataset.status().answers_left == 0
        dataset.verify()


def test_killed_and_started_again(tmp_path):
    made(tmp_path / "clinic", count=1000).close()
    with listening(tmp_path / "clinic", end=signal.SIGKILL) as url, over_http(url) as host:
        first = host.told("ask", query="age > 50", key="k")
    with listening(tmp_path / "clinic") as url, over_http(url) as host:
        assert host.told("ask", query="age > 50", key="k") == {**first, "recorded": True}
    with sh.open(tmp_path / "clinic") as dataset:
        assert dataset.status().answers == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:8751"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example:8751"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:8751"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_pages_in_browsers_do_not_reach_it(url, headers, status):
    assert posted(url, **headers).status_code == status


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        ("{", {}),
        ("", {}),
        ("[]", {}),
        ("1", {}),
        (b"\xff\xfe", {}),
        (json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": 7}), {}),
        (json.dumps(PING), {"content_type": "text/plain"}),
        (json.dumps(PING), {"accept": "text/html"}),
        (json.dumps(PING), {"mcp_protocol_version": "1999-01-01"}),
        ("x" * (1 << 20) + "x", {}),
    ],
)
def test_hostile_requests(url, content, headers):
    response = posted(url, content, **headers)
    assert 400 <= response.status_code < 500 or "error" in response.json()
    assert "Traceback" not in response.text
    assert posted(url).status_code == 200


def test_other_places_are_not_there(url):
    assert httpx2.get(url.replace("/mcp", "/")).status_code == 404
    assert httpx2.get(url.replace("/mcp", "/../clinic/ledger.db")).status_code == 404
    assert httpx2.delete(url).status_code in (400, 405)


def test_a_port_that_is_taken(url, folder):
    port = url.split(":")[-1].removesuffix("/mcp")
    ended = subprocess.run(
        [*COMMAND, str(folder), "--http", "--port", port], capture_output=True, encoding="utf-8"
    )
    assert ended.returncode == 1
    assert "in use" in ended.stderr
    assert "choose another --host or --port" in ended.stderr


def test_it_says_which_extra_it_needs(folder, monkeypatch, capsys):
    command = importlib.import_module("surehold.cli.mcp")
    monkeypatch.setattr(command, "find_spec", lambda name: name == "mcp" or None)
    with pytest.raises(SystemExit) as ended:
        main(["mcp", str(folder), "--http"])
    assert ended.value.code != 0
    assert "pip install 'surehold[mcp,serve]'" in capsys.readouterr().err


def test_ctrl_c_ends_it(folder):
    ended = subprocess.Popen(
        [*COMMAND, str(folder), "--http", "--port", "0"], stderr=subprocess.PIPE, encoding="utf-8"
    )
    with ended:
        assert ended.stderr.readline().startswith("serving tools at")
        ended.send_signal(signal.SIGINT)
        assert ended.wait(timeout=120) == 130
        assert ended.stderr.read().strip() == "surehold: interrupted"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_calls_are_taken(url, method):
    """A stream that nobody writes to would stay open for nothing."""
    got = httpx2.request(method, url, headers={"accept": "text/event-stream"}, timeout=120)
    assert (got.status_code, got.json()["error"]["type"]) == (405, "RequestRefused")
