"""What a model gets when it does not get an answer: one shape, plain words, and nothing else."""

from __future__ import annotations

import inspect
import json

import pytest

import surehold as sh
from support.runtime import exhausted, made, records
from surehold import errors
from surehold.agents import rendering
from surehold.agents.guest import Guest
from surehold.agents.tools import TOOLS
from surehold.agents.toolserver import ToolServer
from surehold.server.access import Caller

from .hosts import over_stdio, text_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("refusals") / "clinic"
    with made(path, count=600) as dataset:
        exhausted(dataset.session())
    return path


@pytest.fixture(scope="module")
def host(folder):
    with over_stdio(folder, log=folder.parent / "log.txt") as host:
        yield host
    assert (folder.parent / "log.txt").read_text() == ""


def as_the_library(folder, work):
    """The error of the library for the same."""
    with sh.open(folder) as dataset, pytest.raises(sh.SureholdError) as raised:
        work(dataset.session())
    return json.loads(json.dumps(raised.value.to_dict()["error"]))


def test_an_exhausted_budget(host, folder):
    with sh.open(folder) as dataset:
        before = dataset.status()
    error = host.error("ask", query="bmi > 17")
    assert error == as_the_library(folder, lambda session: session.ask("bmi > 17"))
    assert error["type"] == "BudgetExhausted"
    assert error["details"]["more_records"] > 0
    text = text_of(host.call("ask", query="bmi > 17"))
    assert "This refusal is final at this round" in text
    assert "Do not send this question again, nor the same one in other words" in text
    assert f"{error['details']['more_records']} more records" in text
    quote = host.call("quote", query="bmi > 17")
    assert quote.structured_content["allowed"] is False
    more = quote.structured_content["more_records"]
    assert text_of(quote).splitlines()[-1] == (
        f"it would fit after {more} more records; the same question in other words does not help"
    )
    with sh.open(folder) as dataset:
        assert dataset.status() == before


def test_never_in_this_plan(tmp_path):
    with made(tmp_path / "clinic", count=2000) as dataset:
        exhausted(dataset.session())
    with over_stdio(tmp_path / "clinic", log=tmp_path / "log.txt") as host:
        result = host.call("ask", query="bmi > 17")
        assert result.structured_content["error"]["details"]["more_records"] is None
        assert text_of(result).splitlines()[1].startswith("This refusal is final. Do not send")
        quote = text_of(host.call("quote", query="bmi > 17"))
        assert "nothing more fits at this round or later in this plan" in quote


def test_a_smaller_question_fits(tmp_path):
    """Neither the quote nor the refusal says that nothing can be asked."""
    made(tmp_path / "clinic", count=2000).close()
    with over_stdio(tmp_path / "clinic", log=tmp_path / "log.txt") as host:
        large = "select(lowest, 1000, age > 1, age > 2)"
        quote = host.call("quote", query=large)
        left = quote.structured_content["answers_left"]
        assert f"a smaller question may fit: {left} answers" in text_of(quote)
        text = text_of(host.call("ask", query=large))
        assert "A smaller one (fewer cells, a lower price) is another question" in text
        host.told("ask", query=large.replace("1000", "4"))


def test_after_the_plan_its_rounds_can_still_be_asked(tmp_path):
    made(tmp_path / "clinic", count=2001).close()
    with over_stdio(tmp_path / "clinic", log=tmp_path / "log.txt") as host:
        assert host.error("ask", query="age > 1")["type"] == "NotReady"
        for tool, given in (("ask", {"query": "age > 1"}), ("quote", {"query": "age > 1"})):
            text = text_of(host.call(tool, **given))
            assert 'its rounds can be asked: give "round": 2000' in text
            assert "never" not in text
            assert "other records" not in text
        assert 'give "round": 2000' in text_of(host.call("budget"))
        assert host.told("quote", query="age > 1", round=2000)["allowed"]
        assert host.told("ask", query="age > 1", round=2000)["round"] == 2000


def test_a_later_round_that_is_there(tmp_path):
    with made(tmp_path / "clinic", count=200) as dataset:
        exhausted(dataset.session())
        dataset.append(records(200, 600))
    with over_stdio(tmp_path / "clinic", log=tmp_path / "log.txt") as host:
        for tool in ("quote", "ask"):
            text = text_of(host.call(tool, query="bmi > 17", round=200))
            assert "a later round, which exists: leave the round out" in text
        host.told("ask", query="bmi > 17")


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "message"),
    [
        ("ask", {"query": "ag > 1"}, "InvalidQuery", "did you mean 'age'?"),
        ("ask", {"query": "age == 1"}, "InvalidQuery", "equality is a single ="),
        ("quote", {"query": "age ! 1"}, "InvalidQuery", "at character"),
        ("ask", {"query": "x" * 10_001}, "InvalidQuery", "10,000 characters"),
        ("ask", {"query": 3}, "InvalidInput", "query must be a valid string, but is 3"),
        ("ask", {}, "InvalidInput", "query must be given, but is None"),
        ("ask", {"query": "age > 1", "rounds": 5}, "InvalidInput", "there are query, round, "),
        ("ask", {"query": "age > 1", "round": "600"}, "InvalidInput", "a valid integer"),
        ("ask", {"query": "age > 1", "round": True}, "InvalidInput", "a valid integer"),
        ("ask", {"query": "age > 1", "round": 10**9}, "NotReady", "600"),
        ("ask", {"query": "age > 1", "round": 5}, "NotReady", "200"),
        ("ask", {"query": "age > 1", "key": ""}, "InvalidInput", "key must be text of 1 to 200"),
        ("ask", {"query": "age > 1", "key": "a\nb"}, "InvalidInput", "printable"),
        ("ask_many", {"queries": "age > 1"}, "InvalidInput", "a valid list"),
        (
            "ask_many",
            {"queries": ["age > 1", 2]},
            "InvalidInput",
            "queries.1 must be a valid string",
        ),
        ("ask_many", {"queries": []}, "InvalidInput", "of at least 1 item, but is []"),
        ("ask_many", {"queries": ["age > 1", "ag"]}, "InvalidQuery", "no column 'ag'"),
        ("select", {"candidates": []}, "InvalidInput", "candidate"),
        ("select", {"candidates": {"a": 1}}, "InvalidInput", "candidates.a must be a valid"),
        ("select", {"candidates": ["age>1", "age>2"], "best": "x"}, "InvalidInput", "'lowest' or"),
        ("select", {"candidates": ["age>1", "age>2"], "price": 0}, "InvalidInput", "price"),
        ("transcript", {"limit": 0}, "InvalidInput", "limit must be greater than"),
        ("transcript", {"newest": "yes"}, "InvalidInput", "a valid boolean"),
        ("describe", {"what": 1}, "InvalidInput", "takes no arguments"),
    ],
)
def test_invalid_arguments(host, tool, arguments, kind, message):
    error = host.error(tool, **arguments)
    assert error["type"] == kind
    assert message in error["message"]
    assert "\n" not in error["message"]


def test_all_or_none(host, folder):
    """One of two questions is recorded and free, the other does not fit: neither is answered."""
    error = host.error("ask_many", queries=["age > 0 + 0.5", "bmi > 17"])
    assert error["type"] == "BudgetExhausted"
    assert host.told("ask", query="age > 0 + 0.5")["recorded"]


def test_an_unknown_tool_or_resource_is_the_protocols_error(host):
    with pytest.raises(Exception, match="no such tool; there are datasets, describe"):
        host.call("delete_everything")
    with pytest.raises(Exception, match="no such resource"):
        host.portal.call(host.client.read_resource, "surehold://records")


def test_too_few_records_yet(tmp_path):
    made(tmp_path / "clinic", count=100).close()
    with over_stdio(tmp_path / "clinic", log=tmp_path / "log.txt") as host:
        assert host.error("ask", query="age > 1")["type"] == "NotReady"
        quote = host.told("quote", query="age > 1")
        assert (quote["allowed"], quote["more_records"]) == (False, 100)
        for tool, given in (("budget", {}), ("quote", {"query": "age > 1"})):
            assert "nothing can be asked before there are 200 records" in text_of(
                host.call(tool, **given)
            )
        assert "Nothing can be asked before there are 200 records." in text_of(
            host.call("ask", query="age > 1")
        )
        assert "Name another round" in text_of(host.call("ask", query="age > 1", round=5))
        assert "not ready" in text_of(host.call("budget"))
        assert "now none" in text_of(host.call("describe"))


class TestWhatNobodyForesaw:
    """An error that is no SureholdError may hold what a record holds."""

    class Broken:
        def status(self):
            raise ValueError("the record of Mrs. Secret")

    def test_nothing_of_it_is_told(self, caplog):
        tools = ToolServer(lambda request: Guest(self.Broken()), "noise")
        result = tools._run(TOOLS["noise"]["budget"], {}, None)
        assert result.is_error
        assert result.structured_content["error"]["type"] == "ServiceFailed"
        assert "Secret" not in str(result)
        [record] = caplog.records
        assert record.getMessage().startswith("the tool budget failed: ValueError at /")
        assert "Secret" not in caplog.text

    def test_a_viewer_may_not_ask(self):
        viewer = Guest(self.Broken(), Caller("eve", "viewer"))
        tools = ToolServer(lambda request: viewer, "surprise")
        for tool in TOOLS["surprise"].values():
            error = tools._run(tool, {}, None).structured_content["error"]
            assert (error["type"] == "AccessDenied") == tool.spends
        assert [name for name, tool in TOOLS["surprise"].items() if tool.spends] == [
            *("register", "watch", "ask", "ask_many", "select", "submit", "score"),
            "compare",
        ]


KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.SureholdError) and kind is not errors.SureholdError
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_has_words_and_a_shape(kind):
    error = kind.__new__(kind)
    error.args = ("it did\nnot work",)
    error.__dict__.update(more_records=None, numbers={"n": float("inf")}, got={1, 2})
    shape = error.to_dict()["error"]
    assert json.loads(json.dumps(shape, allow_nan=False)) == shape
    assert (shape["type"], shape["details"]["got"]) == (kind.__name__, "set")
    first, advice = rendering.of_error(error).split("\n")
    assert first.startswith(f"{kind.__name__}: ")
    assert len(advice) > 30
