"""Keys: a request that is sent again, however often and by however many at once, is done once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from support.runtime import contents, records
from support.service import Got, Running, raw, read, send
from surehold.server import routes

ASK = {"query": "age > 65", "key": "k1"}
# For each way to spend: a body, one that is about something else, and what the answer says it is.
WAYS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "ask": ("/v1/ask", {"query": "age > 65"}, {"query": "age > 64"}),
    "table": ("/v1/ask", {"query": "histogram(city in ('Oslo'))"}, {"query": "age > 64"}),
    "gate": (
        "/v1/ask",
        {"query": "gate(age > 65, at_least, 0.2)"},
        {"query": "gate(age > 65, at_least, 0.3)"},
    ),
    "rate": ("/v1/ask", {"query": "rate(age > 65, bmi > 9)"}, {"query": "rate(age > 64, bmi > 9)"}),
    "select": (
        "/v1/select",
        {"candidates": ["age > 65", "age > 66"], "price": 2},
        {"candidates": ["age > 65", "age > 67"], "price": 2},
    ),
    "ask-many": (
        "/v1/ask-many",
        {"queries": ["age > 65", "bmi > 20"]},
        {"queries": ["age > 65", "bmi > 21"]},
    ),
}
each_way = pytest.mark.parametrize(("path", "body", "other"), WAYS.values(), ids=WAYS)
UNDER_BOTH = [(way, "noise") for way in WAYS] + [(way, "surprise") for way in ("ask-many", "rate")]
of_both = pytest.mark.parametrize(
    ("path", "body", "guard"),
    [(*WAYS[way][:2], guard) for way, guard in UNDER_BOTH],
    ids=[f"{way}-{guard}" for way, guard in UNDER_BOTH],
)


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What so many threads get that begin together."""
    ready, found = threading.Barrier(count), [None] * count

    def begin(worker: int) -> None:
        ready.wait()
        found[worker] = work(worker)

    threads = [threading.Thread(target=begin, args=(worker,)) for worker in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def told(got: Got) -> Any:
    """An answer, but for whether it was there before."""
    assert got.status == 200, got.content
    answers = got.json.get("answers", [got.json])
    return [{**answer, "recorded": None} for answer in answers]


def fresh(got: Got) -> bool:
    return not any(answer["recorded"] for answer in got.json.get("answers", [got.json]))


@of_both
def test_many_at_once_are_answered_once(door: Running, path, body, guard):
    token = door.token()
    sent = {**body, "key": "k1"}
    got = at_once(16, lambda worker: send(door.url, "POST", path, sent, token=token))
    assert all(told(one) == told(got[0]) for one in got)
    assert sum(map(fresh, got)) == 1
    status = door.dataset.status()
    if guard == "noise":
        charged = sum(answer.charge for answer in door.dataset.transcript)
        assert status.budget.spent == pytest.approx(charged)
    else:
        surprises = sum(answer.surprise for answer in door.dataset.transcript)
        assert status.spent == pytest.approx(surprises)
    before = contents(door.dataset.path)
    assert told(send(door.url, "POST", path, sent, token=token)) == told(got[0])
    assert contents(door.dataset.path) == before
    assert door.dataset.verify().entries == status.entries


@each_way
def test_a_key_for_something_else_is_refused_and_free(door: Running, path, body, other):
    assert send(door.url, "POST", path, {**body, "key": "k1"}).status == 200
    before = contents(door.dataset.path)
    for headers in ({}, {"Idempotency-Key": "k1"}):
        sent = other if headers else {**other, "key": "k1"}
        refused = send(door.url, "POST", path, sent, headers=headers)
        assert (refused.status, refused.error) == (422, "InvalidInput")
        assert "used for another" in refused.json["error"]["message"]
    assert contents(door.dataset.path) == before
    assert send(door.url, "POST", path, {**other, "key": "k2"}).status == 200


@each_way
def test_head_and_body_say_the_same_or_are_refused(door: Running, path, body, other):
    by_body = send(door.url, "POST", path, {**body, "key": "k1"})
    by_head = send(door.url, "POST", path, body, headers={"Idempotency-Key": "k1"})
    by_both = send(door.url, "POST", path, {**body, "key": "k1"}, headers={"idempotency-key": "k1"})
    assert told(by_body) == told(by_head) == told(by_both)
    before = contents(door.dataset.path)
    differing = send(
        door.url, "POST", path, {**other, "key": "k2"}, headers={"Idempotency-Key": "k3"}
    )
    assert (differing.status, differing.json["error"]["details"]["parameter"]) == (422, "key")
    assert contents(door.dataset.path) == before


@each_way
def test_after_growth_the_key_gives_the_old_answer(door: Running, path, body, other):
    first = send(door.url, "POST", path, {**body, "key": "k1"})
    door.dataset.append(records(1000, 1500))
    assert told(send(door.url, "POST", path, {**body, "key": "k1"})) == told(first)
    [now, *_] = told(send(door.url, "POST", path, {**body, "key": "k2"}))
    assert (now["round"], told(first)[0]["round"]) == (1500, 1000)


@each_way
def test_without_a_key_the_same_round_is_free_and_a_later_one_is_not(
    door: Running, path, body, other
):
    first = send(door.url, "POST", path, body)
    assert told(send(door.url, "POST", path, body)) == told(first)
    door.dataset.append(records(1000, 1500))
    assert told(send(door.url, "POST", path, {**body, "round": 1000})) == told(first)
    assert told(send(door.url, "POST", path, body)) != told(first)


def test_many_at_once_with_keys_of_their_own_are_charged_once(door: Running):
    """The same question at the same round: one entry, under all keys."""
    got = at_once(
        16, lambda w: send(door.url, "POST", "/v1/ask", {"query": "age > 65", "key": f"k{w}"})
    )
    assert {one.status for one in got} == {200}
    assert len({one.json["entry"] for one in got}) == 1
    assert door.dataset.status().answers == 1


def test_many_at_once_with_one_key_for_different_questions(door: Running):
    """One of them gets it; the others are refused and charged nothing."""
    got = at_once(
        12, lambda w: send(door.url, "POST", "/v1/ask", {"query": f"age > {w}", "key": "k1"})
    )
    assert sorted(one.status for one in got) == [200] + [422] * 11
    assert door.dataset.status().answers == 1


@pytest.mark.parametrize("key", ["é", "a b", "k" * 200, "'; DROP TABLE keys; --", "../../x"])
def test_odd_keys_are_keys(door: Running, key):
    first = send(door.url, "POST", "/v1/ask", {"query": "age > 65", "key": key})
    again = send(door.url, "POST", "/v1/ask", {"query": "age > 65", "key": key})
    assert told(first) == told(again)
    assert first.json["key"] == key


def test_a_header_that_comes_twice_is_one_key_or_none(door: Running):
    body = b'{"query": "age > 65"}'
    head = (
        "POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    got = read(raw(door.url, head.encode() + body))
    assert got.status in (200, 422)
    assert door.dataset.status().answers == (got.status == 200)


# ------------------------------------------------------------------------------------ appends


def append(run: Running, token: str, some: Any, key: str | None = "a1") -> Got:
    headers = {} if key is None else {"Idempotency-Key": key}
    return send(run.url, "POST", "/v1/append", some, token=token, headers=headers)


@pytest.mark.parametrize("count", [1, 300])
def test_an_append_with_a_key_is_made_once(door: Running, count):
    token, some = door.token("custodian"), records(1000, 1000 + count)
    got = at_once(12, lambda worker: append(door, token, some))
    assert {one.content for one in got} == {
        b'{"count":%d,"n":%d,"known":null,"note":null}' % (count, 1000 + count)
    }
    door.dataset.append(records(1500, 1510))
    before = contents(door.dataset.path)
    assert append(door, token, some).json == {
        "count": count,
        "n": 1000 + count,
        "known": None,
        "note": None,
    }
    assert contents(door.dataset.path) == before
    assert door.dataset.n == 1010 + count


def test_a_key_of_an_append_is_for_those_records_only(door: Running):
    token = door.token("custodian")
    assert append(door, token, records(1000, 1002)).status == 200
    before = contents(door.dataset.path)
    refused = append(door, token, records(1002, 1004))
    assert (refused.status, refused.error) == (422, "InvalidInput")
    asked = send(door.url, "POST", "/v1/ask", {"query": "age > 65", "key": "a1"}, token=token)
    assert asked.status == 422
    assert contents(door.dataset.path) == before


def test_without_a_key_only_many_records_are_known_again(door: Running):
    token, many = door.token("custodian"), records(1000, 1100)
    assert append(door, token, many, None).status == 200
    assert append(door, token, many, None).status == 422
    some = records(1100, 1101)
    assert [append(door, token, some, None).status for _ in range(2)] == [200, 200]
    again = send(door.url, "POST", "/v1/append?again=true", many, token=token)
    assert (again.status, door.dataset.n) == (200, 1202)


# ------------------------------------------------------- lost between the commit and the response


@pytest.fixture
def losing(monkeypatch) -> list[str]:
    """The next response of a route that spends, or appends, fails once all is durable."""
    left: list[str] = []
    for module in (routes.ask, routes.append):
        real = module.reply

        def reply(result: Any, real: Callable[[Any], Any] = real) -> Any:
            if left:
                left.pop()
                raise MemoryError
            return real(result)

        monkeypatch.setattr(module, "reply", reply)
    return left


@of_both
def test_what_was_charged_and_not_told_is_told_when_asked_again(
    door: Running, losing, path, body, guard
):
    sent = {**body, "key": "k1"}
    losing.append("the next")
    lost = send(door.url, "POST", path, sent)
    assert (lost.status, lost.error) == (500, "ServiceFailed")
    before, spent = contents(door.dataset.path), door.dataset._ledger.state.spent
    assert spent > 0
    door.dataset.append(records(1000, 1100))
    again = send(door.url, "POST", path, sent)
    assert not fresh(again)
    assert {answer["round"] for answer in told(again)} == {1000}
    assert door.dataset._ledger.state.spent == spent
    assert contents(door.dataset.path) != before  # by the append


def test_an_append_that_was_made_and_not_told_is_not_made_again(door: Running, losing):
    token = door.token("custodian")
    losing.append("the next")
    assert append(door, token, records(1000, 1003)).status == 500
    assert append(door, token, records(1000, 1003)).json == {
        "count": 3,
        "n": 1003,
        "known": None,
        "note": None,
    }
    assert door.dataset.n == 1003
