"""The command on the address of a service: an agent that could not reach a record if it tried."""

from __future__ import annotations

import pytest

import surehold as sh
from support.runtime import exhausted, made
from support.service import serving
from surehold.server.tokens import TokenBook

from .hosts import over_stdio, text_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("remote") / "clinic"
    made(path, count=1000).close()
    return path


@pytest.fixture(scope="module")
def url(folder):
    with serving(folder) as (url, _):
        yield url


@pytest.fixture(scope="module")
def tokens(folder):
    book = TokenBook(folder)
    roles = ("viewer", "analyst")
    return {role: book.create("far away", role, seconds=3600.0)[1] for role in roles}


@pytest.fixture
def host(url, tokens, tmp_path):
    env = {"SUREHOLD_TOKEN": tokens["analyst"]}
    with over_stdio(url, log=tmp_path / "log.txt", env=env) as host:
        yield host
    assert (tmp_path / "log.txt").read_text() == ""


def test_the_same_dictionaries(host, folder):
    told = host.told("ask", query="age > 50", key="k")
    many = host.told("ask_many", queries=["age > 51", "rate(age > 51, bmi > 5)"])
    chosen = host.told("select", candidates={"a": "age > 1", "b": "age > 2"}, price=4)
    with sh.open(folder) as dataset:
        session = dataset.session()
        assert told == {**session.ask("age > 50").to_dict(), "recorded": False}
        assert told["analyst"] == "far away"
        assert many["answers"][1] == {
            **session.ask("rate(age > 51, bmi > 5)").to_dict(),
            "recorded": False,
        }
        assert chosen["name"] in "ab"
        assert host.told("quote", query="age > 52") == session.quote("age > 52").to_dict()
        assert host.told("describe")["plan"] == dataset.plan.to_dict()
        assert host.told("budget")["outlook"] == dataset.outlook().to_dict()
        assert host.told("history", question="age > 50") == dataset.history("age > 50").to_dict()
        [listed] = host.told("datasets")["datasets"]
        assert (listed["name"], listed["role"], listed["n"]) == ("clinic", "analyst", 1000)
        page = dataset.transcript.page(2, newest=True)
        assert host.told("transcript", limit=2) == page.to_dict()
    assert host.told("ask", query="age > 50", key="k") == {**told, "recorded": True}
    assert host.told("ask", query="age > 50", round=900)["round"] == 900


def test_the_same_errors(host):
    host.told("ask", query="age > 50", key="k")
    assert host.error("ask", query="ag > 50")["type"] == "InvalidQuery"
    assert host.error("ask", query="age > 50", round=10**6)["type"] == "NotReady"
    assert host.error("ask", query="age > 54", key="k")["details"]["parameter"] == "key"


def test_a_viewer_may_not_ask(url, tokens, tmp_path):
    (tmp_path / "token").write_text(tokens["viewer"] + "\n")
    options = ("--token-file", str(tmp_path / "token"))
    with over_stdio(url, *options, log=tmp_path / "log.txt") as host:
        host.told("quote", query="age > 50")
        error = host.error("ask", query="age > 50")
        assert (error["type"], error["details"]["status"]) == ("AccessDenied", 403)
        assert "do not look for another way" in text_of(host.call("ask", query="age > 50"))


def test_a_refusal_and_a_service_that_is_gone(tmp_path):
    with made(tmp_path / "clinic", count=600) as dataset:
        exhausted(dataset.session())
    with (
        serving(tmp_path / "clinic") as (url, process),
        over_stdio(url, log=tmp_path / "log.txt") as host,
    ):
        error = host.error("ask", query="bmi > 17")
        assert (error["type"], error["details"]["round"]) == ("BudgetExhausted", 600)
        process.kill()
        process.wait()
        assert host.error("ask", query="bmi > 18")["type"] == "ServiceFailed"
        assert "same key" in text_of(host.call("ask", query="bmi > 18"))
