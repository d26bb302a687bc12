"""The command as a process: calls at once, ends of all kinds, and nothing but the protocol."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections import Counter

import pytest

import surehold as sh
from support.runtime import made

from .hosts import COMMAND, over_stdio

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def folder(tmp_path):
    made(tmp_path / "clinic", count=1000).close()
    return tmp_path / "clinic"


class Pipe:
    """The command on two pipes, spoken to by hand."""

    def __init__(self, folder) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*COMMAND, str(folder)], stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8"
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def send(self, message) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def call(self, number: int, tool: str, **arguments) -> None:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def read(self):
        return json.loads(self.process.stdout.readline())

    def shake_hands(self):
        self.send(INITIALIZE)
        hello = self.read()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return hello


def test_calls_at_once_share_the_budget_exactly(folder, tmp_path):
    with sh.open(folder) as dataset:
        fits = dataset.status().answers_left
    questions = [("ask", {"query": f"age > {i} + 0.25"}) for i in range(fits + 15)]
    with over_stdio(folder, log=tmp_path / "log.txt") as host:
        results = host.at_once(questions)
    told = [result.structured_content for result in results if not result.is_error]
    refused = [result.structured_content["error"]["type"] for result in results if result.is_error]
    assert len(told) == fits
    assert set(refused) == {"BudgetExhausted"}
    with sh.open(folder) as dataset:
        assert {a["entry"]: a for a in told} == {
            a.entry: {**a.to_dict(), "recorded": False} for a in dataset.transcript
        }
        assert dataset.status().answers_left == 0
        dataset.verify()


def test_the_same_at_once_is_charged_once(folder, tmp_path):
    with over_stdio(folder, log=tmp_path / "log.txt") as host:
        results = host.at_once([("ask", {"query": "age > 50", "key": "k"})] * 12)
    found = Counter(result.structured_content["recorded"] for result in results)
    assert found == {True: 11, False: 1}
    assert len({result.structured_content["value"] for result in results}) == 1
    with sh.open(folder) as dataset:
        assert dataset.status().answers == 1


def test_two_hosts_at_once(folder, tmp_path):
    with (
        over_stdio(folder, "--analyst", "a", log=tmp_path / "a.txt") as first,
        over_stdio(folder, "--analyst", "b", log=tmp_path / "b.txt") as second,
    ):
        told = first.told("ask", query="age > 50")
        again = second.told("ask", query="age > 50")
        assert again == {**told, "recorded": True}
        assert again["analyst"] == "a"


def test_it_ends_with_its_input(folder):
    with Pipe(folder) as pipe:
        assert pipe.shake_hands()["result"]["serverInfo"]["name"] == "surehold"
        pipe.process.stdin.close()
        assert pipe.process.wait(timeout=120) == 0
        assert pipe.process.stdout.read() == ""
        assert pipe.process.stderr.read() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(folder, number):
    with Pipe(folder) as pipe:
        pipe.shake_hands()
        pipe.call(1, "ask", query="age > 50", key="k")
        assert pipe.read()["id"] == 1
        pipe.process.send_signal(number)
        assert pipe.process.wait(timeout=120) == -number
        assert pipe.process.stderr.read() == ""
    assert not list(folder.glob("*-wal"))  # the ledger was closed, not dropped


def test_a_signal_lets_a_call_finish(folder):
    with Pipe(folder) as pipe:
        pipe.shake_hands()
        for i in range(30):
            pipe.call(i, "ask", query=f"age > {i} + 0.125")
        pipe.read()
        pipe.process.send_signal(signal.SIGTERM)
        assert pipe.process.wait(timeout=120) == -signal.SIGTERM
        assert pipe.process.stderr.read() == ""
    with sh.open(folder) as dataset:
        dataset.verify()


def test_killed_in_the_middle_nothing_is_lost_or_charged_twice(folder):
    """Asked one after the other with keys; killed three times, asked again from the start."""
    questions = [f"age > {i} + 0.375" for i in range(24)]
    acknowledged: dict[str, dict] = {}
    for stop in (5, 11, 17, None):
        with Pipe(folder) as pipe:
            pipe.shake_hands()
            for i, question in enumerate(questions):
                pipe.call(i, "ask", query=question, key=f"key {i}")
            for _ in range(len(questions) if stop is None else stop):
                answer = pipe.read()["result"]["structuredContent"]
                earlier = acknowledged.setdefault(answer["key"], answer)
                assert {**earlier, "recorded": True} == {**answer, "recorded": True}
            if stop is not None:
                os.kill(pipe.process.pid, signal.SIGKILL)
    with sh.open(folder) as dataset:
        assert dataset.status().answers == len(questions) == len(acknowledged)
        kept = {answer.key: answer.to_dict() for answer in dataset.transcript}
        assert kept == {key: {**answer, "recorded": True} for key, answer in acknowledged.items()}
        dataset.verify()


def test_lines_that_are_no_messages(folder):
    with Pipe(folder) as pipe:
        pipe.shake_hands()
        for line in ("", "hello", "{", "[1, 2]", '{"jsonrpc": "1.0"}', '"\\ud800"', "\x00"):
            pipe.send(line)
        pipe.call(7, "quote", query="age > 50")
        while (answer := pipe.read()).get("id") != 7:
            assert "error" in answer
        assert answer["result"]["structuredContent"]["allowed"]
        pipe.process.stdin.close()
        assert pipe.process.wait(timeout=120) == 0
        assert "Traceback" not in pipe.process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "the dataset must be a folder that is there"),
        (["clinic", "--analyst", ""], "analyst must be text"),
        (["http://127.0.0.1:9", "--http"], "must be a local folder for --http"),
        (["http://127.0.0.1:9", "--analyst", "me"], "the token identifies the analyst"),
        (["clinic", "--http", "--analyst", "me"], "the token identifies the analyst"),
    ],
)
def test_what_it_refuses_to_start_with(folder, arguments, message):
    ended = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert ended.stderr.startswith("surehold: ")
    assert ended.stderr.count("\n") == 1


HOSTILE = [
    '{"query": "age > \\ud800"}',
    '{"query": "age > 1", "key": "\\ud800"}',
    '{"query": "age > 1", "round": 1e400}',
    '{"query": "age > 1", "round": NaN}',
    '{"query": "age > 1", "round": 1' + "0" * 5000 + "}",
    '{"query": "age > 1", "query": 7}',
    '{"query": ' + "[" * 3000 + "]" * 3000 + "}",
    '{"queries": [{}, null]}',
    '{"query": "\\u0000"}',
    '{"\\ud800": 1}',
    "null",
    "[]",
]


def test_hostile_arguments(folder):
    """Whatever a model writes, it gets no answer for it, and the next call does."""
    with Pipe(folder) as pipe:
        pipe.shake_hands()
        for i, written in enumerate(HOSTILE):
            params = f'{{"name": "ask", "arguments": {written}}}'
            pipe.send(
                f'{{"jsonrpc": "2.0", "id": {i}, "method": "tools/call", "params": {params}}}'
            )
            pipe.call(1000 + i, "quote", query="age > 50")
            answers = {}
            while 1000 + i not in answers:
                answer = pipe.read()
                answers[answer.get("id")] = answer.get("result", {"isError": True})
            assert answers[1000 + i]["structuredContent"]["allowed"]
            assert i not in answers or answers[i]["isError"], written
        pipe.process.stdin.close()
        assert pipe.process.wait(timeout=120) == 0
        assert "Traceback" not in pipe.process.stderr.read()
    with sh.open(folder) as dataset:
        assert dataset.status().answers == 0
