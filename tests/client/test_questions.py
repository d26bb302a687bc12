"""Queries as texts, and the models that go with them: bytes of ONNX, never code."""

from __future__ import annotations

import json

import pytest
from sklearn.linear_model import LogisticRegression

import surehold as sh
from client.scripted import error, reply, scripted
from support.small_models import ABOUT, NEW, OLD, ONE, OTHER
from support.workload import CASES
from surehold.client.questions import payloads_of, selection_body, text_of
from surehold.queries import query_of


@pytest.mark.parametrize("name", CASES)
def test_every_query_can_be_read_back(name):
    query = CASES[name].query
    canonical = query_of(query).canonical if isinstance(query, str) else query.canonical
    assert query_of(text_of(query)).canonical == canonical


def test_a_query_goes_as_it_was_written_if_it_can():
    assert text_of("Age>65") == "Age>65"
    assert text_of(sh.fraction("Age>65")) == "Age>65"
    assert text_of(sh.mean("bmi", 10, 60)) == "mean(bmi, 10, 60)"


def test_a_selection_keeps_its_names():
    told = selection_body(sh.select({"a": "age > 1", "ü": sh.mean("bmi", 0, 1)}, price=9))
    assert list(told["candidates"].items()) == [("a", "age > 1"), ("ü", "mean(bmi, 0, 1)")]
    assert (told["best"], told["price"]) == ("lowest", 9)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("age > 3", 0),
        (sh.fraction("age > 3"), 0),
        (NEW, 1),
        (sh.brier(ONE, **ABOUT), 1),
        (sh.auc(ONE, **ABOUT), 1),
        (sh.improvement(NEW, OLD), 2),
        (sh.gate(NEW, at_least=0.5), 1),
        (sh.gate(sh.auc(ONE, **ABOUT), at_least=0.5), 1),
        (sh.gate(sh.improvement(NEW, OLD), at_least=0.0), 2),
        (sh.select([NEW, OLD], best="highest"), 2),
        (query_of(NEW.canonical), 0),  # it names the model, which is elsewhere
    ],
)
def test_models_are_found_wherever_they_are(query, count):
    assert len(payloads_of(query)) == count


@pytest.mark.parametrize(
    "code", [LogisticRegression().fit([[0, 1], [1, 0]], [False, True]), lambda x: x[:, 0]]
)
def test_code_is_not_sent(code):
    about = {key: value for key, value in ABOUT.items() if key != "classes"}
    query = sh.gate(sh.accuracy(code, **about), at_least=0.5)
    with scripted() as service, sh.connect(service.url) as session:
        for call in (session.ask, session.quote, lambda query: session.ask_many([query])):
            with pytest.raises(sh.InvalidInput, match=r"ONNX model.*skl2onnx"):
                call(query)
    assert service.paths == []


# ----------------------------------------------------------------------------- sending them

LOST = error(
    422,
    "InvalidInput",
    "the model must be at hand, but is 'onnx:'",
    parameter="the model",
    required="at hand",
    got="onnx:",
    hint="",
)
KEPT = reply(200, {"model": "onnx:", "bytes": 1, "classes": None})


def test_a_model_is_sent_once(local):
    told = reply(200, local["answer"].to_dict())
    with scripted(KEPT, told, told, KEPT, told) as service, sh.connect(service.url) as session:
        session.ask(NEW)
        session.at(None).ask(NEW)
        session.ask(sh.improvement(NEW, OLD))
    assert service.paths == ["/v1/models", "/v1/ask", "/v1/ask", "/v1/models", "/v1/ask"]
    sent = [one for one in service.got if one.path == "/v1/models"]
    assert [one.body for one in sent] == [ONE, OTHER]
    assert sent[0].headers["content-type"] == "application/octet-stream"
    assert json.loads(service.got[2].body) == {"query": NEW.canonical}


def test_a_model_that_was_lost_is_sent_again(local):
    told = reply(200, local["answer"].to_dict())
    with scripted(KEPT, LOST, KEPT, told) as service, sh.connect(service.url) as session:
        assert session.ask(NEW) == local["answer"]
    assert service.paths == ["/v1/models", "/v1/ask", "/v1/models", "/v1/ask"]


def test_a_model_that_stays_lost_is_an_error():
    with (
        scripted(KEPT, LOST, KEPT, LOST) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.InvalidInput, match="at hand"),
    ):
        session.ask(NEW)
    assert len(service.paths) == 4


def test_a_name_alone_sends_nothing():
    with (
        scripted(LOST) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.InvalidInput, match="at hand"),
    ):
        session.ask(NEW.canonical)
    assert service.paths == ["/v1/ask"]


def test_a_quote_needs_no_model(local):
    told = reply(200, local["quote"].to_dict())
    with scripted(told) as service, sh.connect(service.url) as session:
        session.quote(NEW)
    assert service.paths == ["/v1/quote"]
