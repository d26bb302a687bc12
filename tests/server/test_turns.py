"""What takes long is bounded: slow asks, uploads, streams, parts of a body, stalled bodies."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

import surehold as sh
from support.runtime import contents
from support.service import QUICK, running, send
from surehold.queries import query_text
from surehold.server.access import Caller
from surehold.server.limits import Rates, Turns
from surehold.session.session import Session


def test_turns_are_taken_and_given_back():
    turns = Turns("asks", most=3, each=2)
    turns.take("ann")
    turns.take("ann")
    with pytest.raises(sh.RequestRefused, match="2 asks of yours") as caught:
        turns.take("ann")
    assert (caught.value.status, caught.value.retry_after) == (429, 2.0)
    turns.take("bob")
    with pytest.raises(sh.RequestRefused, match="3 asks are running"):
        turns.take("eve")
    turns.give_back("ann")
    turns.take("eve")
    assert turns.taken == 3


def test_a_turn_ends_with_its_block_also_after_an_error():
    turns = Turns("asks", most=1, each=1)
    with pytest.raises(ValueError, match="broken"), turns.one("ann"):
        raise ValueError("broken")
    assert turns.taken == 0


def test_few_slow_asks_at_once_and_others_go_on(clinic, monkeypatch):
    """They are told to come again, and quick asks, quotes and looks notice nothing."""
    going, began = threading.Event(), threading.Event()
    real = Session.ask

    def slow(self, query, **options):
        if "fit(" in str(query):
            began.set()
            assert going.wait(120)
            raise sh.NotReady("enough", "of it", {})
        return real(self, query, **options)

    monkeypatch.setattr(Session, "ask", slow)
    with running(clinic, replace(QUICK, slow_asks=(1, 1))) as run:
        fit = {
            "query": sh.fit(
                "logistic", target="age > 50", features={"bmi": (0, 50)}, price=4
            ).canonical
        }
        first = threading.Thread(target=send, args=(run.url, "POST", "/v1/ask", fit))
        first.start()
        assert began.wait(120)
        before = contents(clinic.path)
        got = send(run.url, "POST", "/v1/ask", fit)
        assert (got.status, got.error, got.headers["retry-after"]) == (429, "RequestRefused", "2")
        assert contents(clinic.path) == before
        assert send(run.url, "POST", "/v1/quote", fit).status == 200
        assert send(run.url, "POST", "/v1/ask", {"query": "age > 5"}).status == 200
        going.set()
        first.join()
        assert send(run.url, "POST", "/v1/ask", fit).status == 409  # its turn


def test_reading_long_queries_is_counted_before_it_is_done(clinic, monkeypatch):
    """A selection of 10,000 candidates takes a second to read, whoever asks what it would cost."""
    read: list[int] = []
    real = query_text._query_of

    def counted(text, is_recorded):
        read.append(len(text))
        return real.__wrapped__(text, is_recorded)

    counted.__wrapped__ = counted  # as it is called for long texts
    monkeypatch.setattr(query_text, "_query_of", counted)  # whoever reads one
    listed = ", ".join(f"age > {i}" for i in range(10_000))
    many = {"query": f"select(lowest, 3, {listed})"}
    with running(clinic, replace(QUICK, rate=50.0)) as run:
        run.service.limits.rates = Rates(1e9)  # not the reason here
        run.service.limits.long._clock = lambda: 0.0
        viewer, other = run.token("viewer"), run.token("viewer", "bob")
        assert send(run.url, "POST", "/v1/quote", many, token=viewer).status == 200
        assert read == [len(many["query"])]
        for _ in range(5):
            got = send(run.url, "POST", "/v1/quote", many, token=viewer)
            assert (got.status, got.error) == (429, "RequestRefused")
        assert "10,000 characters of long queries a second" in got.json["error"]["message"]
        assert int(got.headers["retry-after"]) >= 1
        assert read == [len(many["query"])]  # it was not even read
        assert send(run.url, "POST", "/v1/quote", {"query": "age > 5"}, token=other).status == 200
        assert send(run.url, "POST", "/v1/quote", many, token=other).status == 200
        agent = Caller("eve", "analyst", None)  # as a tool asks, with a text
        run.service.desk(agent).quote(many["query"])
        with pytest.raises(sh.RequestRefused, match="characters of long queries"):
            run.service.desk(agent).quote(many["query"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/quote", {"query": {f"x{i}": 1 for i in range(50_000)}}),
        ("/v1/ask-many", {"queries": [{}] * 50_000}),
        ("/v1/select", {"candidates": {f"x{i}": 1 for i in range(50_000)}}),
    ],
)
def test_a_body_of_very_many_parts_is_not_looked_at(clinic, path, body):
    with running(clinic) as run:
        got = send(run.url, "POST", path, body)
        assert (got.status, got.error) == (422, "InvalidInput")
        assert "parts" in got.json["error"]["message"]


def test_many_queries_in_one_request_count_as_many(clinic):
    rates = Rates(rate=10.0, clock=lambda: 0.0)
    rates.take("ann")
    rates.owe("ann", 100)
    with pytest.raises(sh.RequestRefused) as caught:
        rates.take("ann")
    assert caught.value.retry_after == pytest.approx(2.1)  # a debt of at most two seconds' worth


def test_a_quote_of_many_candidates_counts_as_many(clinic):
    with running(clinic) as run:
        run.service.limits.rates = Rates(rate=10.0, clock=lambda: 0.0)
        listed = ", ".join(f"age > {i}" for i in range(60))
        asked = {"query": f"select(lowest, 3, {listed})"}
        viewer = run.token("viewer")
        assert send(run.url, "POST", "/v1/quote", asked, token=viewer).status == 200
        assert send(run.url, "GET", "/v1/status", token=viewer).status == 429


def test_a_stream_ends_with_its_token(clinic):
    with running(clinic) as run:
        token = run.token("viewer", "vic")
        other = run.token("custodian", "cas")
        ended = threading.Event()

        def watch() -> None:
            send(run.url, "GET", "/v1/events", token=token)
            ended.set()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        until = time.monotonic() + 120
        while not run.streams() and time.monotonic() < until:
            time.sleep(0.01)
        run.service.book.revoke(token.split("_")[1])
        send(run.url, "POST", "/v1/append", [{"age": 1, "bmi": 2.0, "city": "x"}], token=other)
        assert ended.wait(120)


def test_of_one_token_there_are_only_so_many_streams(clinic):
    with running(clinic, replace(QUICK, streams=(4, 0))) as run:
        got = send(run.url, "GET", "/v1/events", token=run.token("viewer"))
        assert (got.status, got.error) == (429, "RequestRefused")


def test_only_so_many_models_are_kept(clinic):
    with running(clinic, replace(QUICK, models=0)) as run:
        headers = {"Content-Type": "application/octet-stream"}
        got = send(run.url, "POST", "/v1/models", b"x", headers=headers)
        assert (got.status, got.error) == (413, "RequestRefused")


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "8.8.8.8"},
        {"Forwarded": "for=8.8.8.8"},
        {"Via": "1.1 proxy"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_without_tokens_nobody_comes_through_a_proxy_or_from_another_page(clinic, headers):
    with running(clinic) as run:
        got = send(run.url, "GET", "/v1/status", headers=headers)
        assert (got.status, got.error) == (403, "AccessDenied")
        assert send(run.url, "GET", "/v1/status", headers={"Sec-Fetch-Site": "none"}).status == 200
        token = run.token("viewer")
        assert send(run.url, "GET", "/v1/status", headers=headers, token=token).status == 200


def test_whoever_tries_other_schemes_is_slowed_down_too(clinic):
    with running(clinic, replace(QUICK, rate=1.0)) as run:
        run.token("viewer")
        headers = {"Authorization": "Basic eA=="}
        statuses = [send(run.url, "GET", "/v1/me", headers=headers).status for _ in range(5)]
        assert statuses[0] == 401
        assert statuses[-1] == 429


@pytest.mark.parametrize("several", [(0.25, 0.5), (0.5, None, 0.25)])
def test_of_several_limits_the_smallest_counts(clinic, several):
    with running(clinic) as run:
        tokens = [run.token("analyst", "ann", limit=limit) for limit in several]
        total = clinic.status().budget.total
        for token in tokens:
            told = send(run.url, "GET", "/v1/me", token=token).json["limit"]
            assert told["total"] == pytest.approx(0.25 * total)


def test_a_key_in_the_header_is_ascii(clinic):
    with running(clinic) as run:
        headers = {"Idempotency-Key": "zo\u00eb"}
        got = send(run.url, "POST", "/v1/ask", {"query": "age > 5"}, headers=headers)
        assert (got.status, got.error) == (422, "InvalidInput")
        assert clinic.status().answers == 0
