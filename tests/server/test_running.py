"""`surehold serve` as a process: where it listens, that it is the only one, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import surehold as sh
from support.runtime import contents, made, records
from support.service import PATIENT, heard, knock, logged, read, send, serving
from surehold.checks import is_loopback
from surehold.cli import exit_code, surehold
from surehold.server.run import Runner, serve
from surehold.server.service import Service
from surehold.server.tokens import TokenBook

COMMAND = [sys.executable, "-m", "surehold"]


@pytest.fixture
def folder(tmp_path) -> Path:
    made(tmp_path / "clinic", count=1000).close()
    return tmp_path / "clinic"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENT)


def refused(*arguments: object, code: int = 2) -> str:
    """What the command says, in this process, that does not do it."""
    with logged():  # serve sends the log of this process elsewhere
        result = CliRunner().invoke(surehold, [str(argument) for argument in arguments])
    error = result.exception
    got = exit_code(error) if isinstance(error, sh.SureholdError) else result.exit_code
    assert (got, result.stdout) == (code, "")
    return f"{error}{result.stderr}"


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder.parent / "service.log").read_text().splitlines()]


# ------------------------------------------------------------------------------- where it listens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", "", "2130706433"])
def test_elsewhere_only_with_tokens_and_when_it_is_said(folder, host):
    assert "while there are no tokens" in refused("serve", folder, "--host", host, "--expose")
    TokenBook(folder).create("ann", "analyst", seconds=60.0)
    assert "--expose" in refused("serve", folder, "--host", host)


def test_with_both_it_listens_there(folder):
    _, text = TokenBook(folder).create("ann", "analyst", seconds=60.0)
    with serving(folder, "--host", "0.0.0.0", "--expose") as (url, _):
        assert send(url, "GET", "/v1/status").status == 401
        headers = {"Host": "surehold.example", "Origin": "https://surehold.example"}
        assert send(url, "GET", "/v1/status", token=text, headers=headers).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.1", "::1"])
def test_what_is_this_machine(host):
    assert is_loopback(host)


def test_a_port_that_is_taken_or_none(folder):
    with serving(folder) as (url, _):
        made(folder.parent / "other").close()
        port = url.rpartition(":")[2]
        message = refused("serve", folder.parent / "other", "--port", port, code=1)
        assert f"listening on 127.0.0.1, port {port} failed" in message
    assert "from 0 to 65535" in refused("serve", folder, "--port", "70000")
    assert "from 0 to 65535" in refused("serve", folder, "--port", "-1")
    for options in (("--rate", "0"), ("--rate", "nan"), ("--most-append", "0"), ("--port", "x")):
        assert refused("serve", folder, *options)


def test_a_folder_that_others_can_read_is_logged(folder):
    for mode in (0o700, 0o755):
        folder.chmod(mode)
        with serving(folder):
            pass
        warned = [line["event"] for line in log_of(folder) if line["level"] == "warning"]
        assert len(warned) == (mode == 0o755)
    assert "other users of this machine may read" in warned[0]


# --------------------------------------------------------------------------------------- only one


def test_a_second_service_is_refused_and_does_no_harm(folder):
    """The first is in the middle of an append, which lies in a file until it is whole."""
    _, text = TokenBook(folder).create("ward", "custodian", seconds=60.0)
    lines = "".join(json.dumps(one) + "\n" for one in records(1000, 1400)).encode()
    head = (
        f"POST /v1/append HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {text}\r\n"
        f"Content-Type: application/x-ndjson\r\nContent-Length: {len(lines)}\r\n"
        "Connection: close\r\n\r\n"
    )
    half = lines.index(b"\n", len(lines) // 2) + 1
    with serving(folder) as (url, process):
        with knock(url, head.encode() + lines[:half]) as connection:
            until = time.monotonic() + PATIENT
            while not list((folder / "incoming").glob("*")):
                assert time.monotonic() < until
                time.sleep(0.01)
            second = run("serve", folder, "--port", "0")
            assert (second.returncode, second.stdout) == (1, "")
            assert str(process.pid) in second.stderr
            connection.sendall(lines[half:])
            assert read(heard(connection)).json == {
                "count": 400,
                "n": 1400,
                "known": None,
                "note": None,
            }
        assert send(url, "GET", "/v1/status", token=text).json["n"] == 1400


def test_commands_keep_working_beside_it(folder, tmp_path):
    (tmp_path / "more.ndjson").write_text(
        "".join(json.dumps(r) + "\n" for r in records(1000, 1010))
    )
    with serving(folder) as (url, _):
        first = send(url, "POST", "/v1/ask", {"query": "age > 65"}).json
        assert run("append", folder, tmp_path / "more.ndjson").returncode == 0
        beside = run("ask", folder, "age > 65", "--json")
        assert (beside.returncode, json.loads(beside.stdout)["round"]) == (0, 1010)
        status = send(url, "GET", "/v1/status").json
        assert (status["n"], status["answers"]) == (1010, 2)
        again = send(url, "POST", "/v1/ask", {"query": "age > 65"}).json
        assert (again["recorded"], again["entry"]) == (True, json.loads(beside.stdout)["entry"])
        listed = send(url, "GET", "/v1/transcript").json["answers"]
        assert [one["entry"] for one in listed] == [first["entry"], again["entry"]]
        made_token = run("token", "create", folder, "--analyst", "ann").stdout.strip()
        assert send(url, "GET", "/v1/status").status == 401
        assert send(url, "GET", "/v1/status", token=made_token).status == 200


def test_what_a_killed_service_left_behind_is_swept_away(folder):
    _, text = TokenBook(folder).create("ward", "custodian", seconds=60.0)
    head = (
        f"POST /v1/append HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {text}\r\n"
        "Content-Type: text/csv\r\nContent-Length: 5000\r\n\r\nage,bmi,city\n"
    )
    with serving(folder) as (url, process), knock(url, head.encode()):
        until = time.monotonic() + PATIENT
        while not list((folder / "incoming").glob("*")):
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = contents(folder)
    assert list((folder / "incoming").glob("*"))
    with serving(folder) as (url, _):
        assert list((folder / "incoming").glob("*")) == []
        assert send(url, "GET", "/v1/status", token=text).json["n"] == 1000
    assert contents(folder) == before


# -------------------------------------------------------------------------------------- how it ends


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_what_is_under_way_is_finished(folder, how):
    """An append half of which is still to come, and a stream that would never end."""
    _, text = TokenBook(folder).create("ward", "custodian", seconds=60.0)
    common = f"Host: 127.0.0.1\r\nAuthorization: Bearer {text}\r\n"
    lines = b"age,bmi,city\n" + b"1,2.5,Oslo\n" * 50
    append = (
        f"POST /v1/append HTTP/1.1\r\n{common}Content-Type: text/csv\r\n"
        f"Content-Length: {len(lines)}\r\n\r\n"
    )
    with serving(folder) as (url, process):
        stream = knock(url, f"GET /v1/events HTTP/1.1\r\n{common}\r\n".encode())
        with stream, knock(url, append.encode() + lines[:100]) as connection:
            assert b"event: status" in stream.recv(1 << 16) + stream.recv(1 << 16)
            until = time.monotonic() + PATIENT
            while not list((folder / "incoming").glob("*")):
                assert time.monotonic() < until
                time.sleep(0.01)
            process.send_signal(how)
            assert heard(stream).endswith(b"0\r\n\r\n")
            connection.sendall(lines[100:])
            assert read(heard(connection)).json == {
                "count": 50,
                "n": 1050,
                "known": None,
                "note": None,
            }
            assert process.wait(PATIENT) == 0
    with sh.open(folder) as dataset:
        assert dataset.n == 1050
        dataset.verify()
    events = [line["event"] for line in log_of(folder)]
    assert (events[0], events[-1]) == ("serving", "stopped")
    assert events.count("stopping") == 1


def test_questions_that_are_being_answered_are_answered(folder):
    """Many at once, and the signal in their midst: each is either answered or was never asked."""
    with serving(folder) as (url, process):
        answers: list[int] = []
        begun = threading.Event()

        def ask(worker: int) -> None:
            for i in range(30):
                try:
                    got = send(url, "POST", "/v1/ask", {"query": f"age > {worker} + {i} / 64"})
                except (ConnectionError, OSError):
                    return
                if got.status == 200:
                    answers.append(got.json["entry"])
                    begun.set()

        threads = [threading.Thread(target=ask, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        assert begun.wait(PATIENT)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert process.wait(PATIENT) == 0
    with sh.open(folder) as dataset:
        assert sorted(answer.entry for answer in dataset.transcript) == sorted(answers)


# ----------------------------------------------------------------------------------------- the log


def test_the_log_is_json_and_says_who_and_how_but_not_what(folder):
    token, text = TokenBook(folder).create("ann", "analyst", seconds=60.0)
    with serving(folder) as (url, process):
        got = send(url, "POST", "/v1/ask", {"query": "age > 65", "key": "secret-key"}, token=text)
        send(url, "GET", "/v1/transcript?contains=private", token=text)
        send(url, "GET", "/v1/nowhere", token=text)
        heard_back = knock(url, b"rubbish\r\n\r\n")
        heard(heard_back)
        heard_back.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENT) == 0
    lines = log_of(folder)
    requests = [line for line in lines if line["event"] == "request"]
    assert [(line["method"], line["route"], line["status"]) for line in requests] == [
        ("POST", "/v1/ask", 200),
        ("GET", "/v1/transcript", 200),
        ("GET", "other", 404),
    ]
    asked = requests[0]
    assert (asked["caller"], asked["analyst"], asked["role"]) == (token.id, "ann", "analyst")
    assert asked["request"] == got.headers["x-request-id"]
    assert asked["seconds"] > 0
    assert {line["level"] for line in lines} == {"info", "warning"}
    for line in lines:
        assert list(line)[:3] == ["time", "level", "event"]
    numbers = ("time", "request", "url", "seconds", "caller")
    said = json.dumps([{k: v for k, v in line.items() if k not in numbers} for line in lines])
    for secret in (text, text[16:], "65", "secret-key", "private", "nowhere", "rubbish"):
        assert secret not in said


def test_records_are_loaded_before_the_first_question(folder, monkeypatch):
    """Its slot would otherwise be that of loading all of them, which takes far less."""
    loaded = []

    def note(runner, sockets) -> None:
        loaded.append(dataset._data.loaded)

    monkeypatch.setattr(Runner, "run", note)
    with sh.open(folder) as dataset:
        serve(Service(dataset), "127.0.0.1", 0)
        assert loaded == [dataset.n] == [1000]
