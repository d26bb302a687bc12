"""One question, every surface, one dictionary; and the command on an address as on a folder."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import surehold as sh
from contract.desks import OF_GUARD
from support.runtime import GUARDS, records
from support.small_models import ABOUT, NEW, ONE
from support.workload import CASES


@pytest.fixture
def token(both, monkeypatch):
    found = both[1].token("ann")
    monkeypatch.setenv("SUREHOLD_TOKEN", found)
    return found


def told(run, *arguments: str, code: int = 0):
    found, out, err = run(*arguments)
    assert (found, err) == (code, "")
    return json.loads(out)


@pytest.mark.parametrize("guard", GUARDS)
def test_one_dictionary(both, token, run, guard):
    here, there = both[0].session(), both[1].session()
    folder, url = str(both[0].path), both[1].url
    for name, query in OF_GUARD[guard].items():
        result = there.ask(query)
        text = query if isinstance(query, str) else query.canonical
        again = here.ask(query)
        assert again == there.ask(query), name
        assert replace(result, recorded=True) == again
        if name.startswith("select"):  # texts give candidates other names
            continue
        for place in (folder, url):
            assert told(run, "ask", place, text, "--json") == again.to_dict(), name
        # What follows from recorded answers is implied by them, and has no entry of its own.
        listed = again.to_dict() in both[1].dataset.transcript.to_dict()["answers"]
        assert listed or (result.recorded and CASES[name].derived), name
        assert here.quote(query) == there.quote(query)
    assert list(here.transcript) == list(there.transcript)
    for command in (["transcript"], ["status"], ["verify"], ["quote", "age > 3.5"]):
        name, *more = command
        assert told(run, name, folder, *more, "--json") == told(run, name, url, *more, "--json")
    dataset, remote = both[0].dataset, both[1].dataset
    of_noise = guard == "noise"
    for name in ("columns", "n", "guard", *(("plan", "rounds") if of_noise else ())):
        assert getattr(dataset, name) == getattr(remote, name), name
    for name in ("status", "verify", "growth", *(("outlook",) if of_noise else ())):
        assert getattr(dataset, name)() == getattr(remote, name)(), name


def test_the_command_says_the_same_of_an_address(both, token, run, tmp_path):
    folder, url = str(both[0].path), both[1].url
    (tmp_path / "model.onnx").write_bytes(ONE)
    score = ["model.onnx", "--features", "age,bmi", "--target", "bmi > 25"]
    score += ["--classes", "false,true"]
    calls = [
        ["ask", "age > 65"],
        ["ask", "age > 65", "mean(bmi, 10, 60)", "--explain"],
        ["ask", "age > 65", "--round", "1500", "--key", "k"],
        ["gate", "age > 65", "--at-most", "0.9"],
        ["gate", "age > 65", "--at-least", "0.9"],
        ["select", "age > 3", "age > 90", "--price", "4"],
        ["score", *score],
        ["quote", "age > 3"],
        ["status"],
        ["transcript"],
        ["transcript", "--last", "2"],
        ["transcript", "--analyst", "nobody"],
        ["verify"],
        ["ask", "age >"],
        ["ask", "age > 65", "--round", "5000"],
        ["select", "age > 3", "age > 4", "--price", "9999"],
    ]
    for name, *arguments in calls:
        run(name, url, *arguments)  # from now on it is recorded
        there, here = run(name, url, *arguments), run(name, folder, *arguments)
        assert there == here, (name, arguments)
    assert both[1].session().ask(sh.accuracy(ONE, **ABOUT)).query == NEW.canonical
    for place, picture in ((folder, "here.svg"), (url, "there.svg")):
        assert run("plot", place, "--out", picture)[0] == 0
        assert (tmp_path / picture).stat().st_size > 1000


def test_the_command_appends(both, run, tmp_path, monkeypatch):
    url, file = both[1].url, tmp_path / "token"
    file.write_text(both[1].token("custodian", "custodian") + "\n")
    rows = "".join(json.dumps(row) + "\n" for row in records(0, 5))
    (tmp_path / "five.ndjson").write_text(rows)
    shown = "appended 5 records; there are 2,005\n"
    call = ["append", url, "five.ndjson", "--key", "five", "--token-file", str(file)]
    assert run(*call) == run(*call) == (0, shown, "")
    (tmp_path / "bad.ndjson").write_text('{"age": "old"}\n')
    code, out, err = run("append", url, "bad.ndjson", "--token-file", str(file))
    assert (code, out) == (2, "")
    assert "record 1, column 'age'" in err


def test_whom_a_service_does_not_know_it_does_not_answer(both, run, tmp_path, monkeypatch):
    url = both[1].url
    code, out, err = run("gate", url, "age > 65", "--at-most", "0.5")
    assert (code, out) == (8, "")  # neither fail nor undecided
    assert "not authenticated" in err
    monkeypatch.setenv("SUREHOLD_TOKEN", both[1].token("vic", "viewer"))
    assert run("ask", url, "age > 65")[0] == 8
    assert run("quote", url, "age > 65")[0] == 0
    monkeypatch.setenv("SUREHOLD_TOKEN", "hf_0123456789ab_" + "x" * 43)
    assert run("status", url)[0] == 8
    assert len(both[0].dataset.transcript) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["ask", "{url}", "age > 65", "--analyst", "bob"], 2, "the token identifies the analyst"),
        (
            ["ask", "{folder}", "age > 65", "--token-file", "token"],
            2,
            "--token-file must be omitted",
        ),
        (["ask", "{url}", "age > 65", "--token-file", "nowhere"], 2, "a readable file"),
        (["create", "{url}", "--plan", "plan.json"], 2, "is an address"),
        (["status", "http://127.0.0.1:1"], 1, "no connection"),
        (["status", "{url}/elsewhere"], 2, ""),
        (["ask", "{url}", "age > 65", "--token", "x"], 2, "No such option"),
    ],
)
def test_what_the_command_does_not_take(both, token, run, monkeypatch, arguments, code, words):
    monkeypatch.setattr("surehold.client.remote.RETRIES", 0)
    places = {"url": both[1].url, "folder": str(both[0].path)}
    found, out, err = run(*(text.format(**places) for text in arguments))
    assert (found, out) == (code, "")
    assert words in err
    assert token not in err
