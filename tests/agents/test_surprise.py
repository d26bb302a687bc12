"""The tools of a dataset with the surprise guard, as a model sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import surehold as sh
from support.runtime import exhausted, made, records
from support.service import serving
from surehold.agents import rendering, surprise_rendering
from surehold.ledger.surprise_policy import ASSUMPTIONS
from surehold.session import Outcome

from .hosts import over_stdio, text_of

ASKED = {
    "number": ({"query": "age > 50", "expect": 0.48, "within": 0.02}, "over these records"),
    "surprise": ({"query": "age > 51", "expect": "0.9", "doubt": 0.05}, "lies in the interval"),
    "gate": ({"query": "gate(age > 5, at_least, 0.8)", "expect": "pass"}, "value is at least 0.8"),
    "ladder": (
        {"query": "difference(age > 5, age > 6)", "expect": "no", "within": 0.05},
        "nothing is claimed about the population",
    ),
    "difference": ({"query": "difference(age > 5, age > 95)"}, "the first is larger for sure"),
    "rate": ({"query": "rate(age > 50, bmi > 5)"}, "differ for sure only if their intervals"),
    "nothing": ({"query": "rate(age > 50, age > 500)"}, "undetermined: there may be too few"),
    "choice": (
        {"query": "select(highest, 1, age > 20, age > 50)"},
        "is below the highest of all 2",
    ),
    "table": ({"query": "histogram(city in ('Oslo'))"}, "cells whose intervals overlap may be"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tools") / "evals"
    made(path, count=2000, guard="surprise").close()
    return path


@pytest.fixture(scope="module", params=["stdio", "a service"])
def host(request, folder):
    """Tools at the folder, and at a service that has it."""
    log = folder.parent / "log.txt"
    if request.param == "stdio":
        with over_stdio(folder, log=log) as host:
            yield host
    else:
        with serving(folder) as (url, _), over_stdio(url, log=log) as host:
            yield host
    assert log.read_text() == ""


@pytest.fixture
def session(folder):
    with sh.open(folder) as dataset:
        yield dataset.session("agent")


def test_there_is_a_tool_to_register(host):
    assert tuple(host.tools()) == (
        *(
            "datasets",
            "describe",
            "budget",
            "quote",
            "register",
            "watch",
            "ask",
            "ask_many",
            "select",
            "submit",
            "score",
            "compare",
            "leaderboard",
            "history",
            "transcript",
        ),
    )
    listed = host.portal.call(host.client.list_resources).resources
    assert [str(one.uri) for one in listed] == ["surehold://language"]
    for tool in host.tools().values():
        assert all(one["description"] for one in tool.input_schema["properties"].values())


def test_the_words_say_how_to_spend_little(host):
    tools = host.tools()
    for said in (host.client.instructions, tools["ask"].description):
        words = " ".join(said.split())
        for part in (
            "Register at the start",
            "Guess.",
            "Ask gates, not numbers",
            '"expect": "no"',
            "Every bit that anybody spends makes all later claims wider",
            "hold together with probability 1 - beta",
            "differ for sure only if their intervals do not overlap",
            "Refusals are final",
            "void every answer",
            "Give a key",
        ):
            assert part in words
    for name in ("ask", "quote"):
        assert {"expect", "within", "doubt"} <= tools[name].input_schema["properties"].keys()


@pytest.mark.parametrize("kind", ASKED)
def test_quotes_and_answers_are_the_librarys(host, session, kind):
    asked, meaning = ASKED[kind]
    query, options = asked["query"], {k: v for k, v in asked.items() if k != "query"}
    quote = host.call("quote", **asked)
    assert quote.structured_content == session.quote(query, **options).to_dict()
    assert "it is free and touched no record" in text_of(quote)
    told = host.call("ask", **asked)
    again = session.ask(query, **options)
    assert isinstance(again, Outcome)
    is_new = not told.structured_content["recorded"]
    assert told.structured_content == replace(again, recorded=not is_new).to_dict()
    text = text_of(told)
    assert meaning in text
    assert ("in all, which every later claim pays for" in text) == is_new
    assert ("hold together with probability 90%" in text) == (kind != "ladder")


def test_the_dataset_in_words(host, session):
    status = session.status()
    told = host.call("describe")
    assert told.structured_content == {
        "columns": session.columns,
        "guard": "surprise",
        "beta": 0.1,
        "n": 2000,
    }
    for words in ("age: int", "beta = 0.1", "mean(bmi, 10, 60)", *ASSUMPTIONS):
        assert words in text_of(told)
    told = host.call("budget")
    assert told.structured_content == {"status": status.to_dict(), "limit": None}
    assert status.display["width"] in text_of(told)
    assert "never comes back" in text_of(told)


def test_registering(host, session):
    told = host.call("register", queries=["age > 70", "age > 71"])
    again = session.register(["age > 70", "age > 71"])
    found = [replace(one, new=True).to_dict() for one in again]
    new = [one["new"] for one in told.structured_content["registered"]]
    assert [{**one, "new": True} for one in told.structured_content["registered"]] == found
    assert ("registered before" in text_of(told)) == (not all(new))
    error = host.error("register", queries=["age >"])
    assert error["type"] == "InvalidQuery"


def test_a_declared_share_is_the_custodians(host):
    """An agent is an analyst, also at the folder itself."""
    error = host.error("register", queries=["age > 73"], share=0.01)
    assert error["type"] == "AccessDenied"
    assert "it takes the role custodian, and yours is analyst" in error["message"]


def test_many_select_and_the_transcript(host, session):
    many = host.call("ask_many", queries=["age > 11", "mean(bmi, 0, 40)"])
    assert [one["kind"] for one in many.structured_content["answers"]] == ["number", "number"]
    chosen = host.call("select", candidates={"a": "age > 3", "b": "age > 60"}, best="highest")
    assert (chosen.structured_content["kind"], chosen.structured_content["name"]) == (
        "selection",
        "a",
    )
    page = host.told("transcript", limit=3)
    assert page == session.transcript.page(3, newest=True).to_dict()


def test_a_noisy_dataset_has_no_expectations(tmp_path):
    made(tmp_path / "clinic", count=600).close()
    with over_stdio(tmp_path / "clinic", log=tmp_path / "log.txt") as host:
        assert "share" not in host.tools()["register"].input_schema["properties"]
        assert host.error("register", queries=["age > 50"])["type"] == "WrongGuard"
        assert "expect" not in host.tools()["ask"].input_schema["properties"]
        error = host.error("ask", query="age > 50", expect=0.5)
        assert error["type"] == "WrongGuard"


def test_limits_in_bits_and_later_records(tmp_path):
    with made(tmp_path / "evals", count=1000, guard="surprise") as dataset:
        session = dataset.session("bob", limit=40)
        first = session.ask("age > 50")
        assert "your limit" in rendering.of_result(first, f"{session.limit}, your limit")
        dataset.append(records(1000, 2000))
        again = session.ask("age > 50")
        words = rendering.of_result(again, None)
        assert ", as expected (" in words
        assert again.combined != again.interval or "with earlier answers" not in words
        exhausted(session)
        refused = session.quote("bmi > 3")
        assert not refused.allowed
        assert "the same question in other words does not help" in surprise_rendering.of_quote(
            refused
        )
        budget = surprise_rendering.of_budget(session.status(), session.limit)
        assert "your own limit: " in budget
        assert '"bob": ' in budget


def test_a_contradiction_is_reported(tmp_path):
    with made(tmp_path / "evals", count=100, guard="surprise") as dataset:
        outcome = replace(dataset.session().ask("age > 50"), combined=None)
    assert "contradict each other" in surprise_rendering.meaning_of(outcome)
    verdicts = {"pass": "is at most 0.5", "fail": "is above 0.5", "undecided": "do not show on"}
    for verdict, words in {**verdicts, "not pass": "do not show that it is at most 0.5"}.items():
        common = {n: getattr(outcome, n) for n in Outcome.__dataclass_fields__}
        del common["kind"], common["display"]
        decision = sh.DecisionOutcome(**common, verdict=verdict, side="at_most", limit=0.5)
        assert words in surprise_rendering.meaning_of(decision)
    with pytest.raises(NotImplementedError):
        surprise_rendering.meaning_of(Outcome.__new__(Outcome))
