"""Whatever comes back, or does not: an error of Surehold's, and never a second charge."""

from __future__ import annotations

import gzip
import json
import socket
import threading

import pytest

import surehold as sh
from client.scripted import cut, error, raw, reply, reset, scripted
from surehold.client import connection

PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def unready(wait: str | None = None):
    return error(
        503, "StorageFailed", "it failed: busy; again", wait=wait, what="", reason="", hint=""
    )


def limited(wait: str):
    return error(
        429,
        "RequestRefused",
        "request refused: too many; wait",
        wait=wait,
        status=429,
        reason="too many",
        hint="wait",
        retry_after=float(wait),
    )


BROKEN = {
    "reset": reset,
    "cut": cut,
    "closed": raw(b""),
    "no HTTP": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "garbage": reply(200, b"{]"),
    "no object": reply(200, b"[1, 2]"),
    "NaN": reply(200, b'{"value": NaN}'),
    "deep": reply(200, b"[" * 200_000),
    "not UTF-8": reply(200, b'{"a": "\xff"}'),
    "page of a proxy": reply(502, PAGE, "text/html"),
    "page that says all is well": reply(200, PAGE, "text/html"),
    "wrong type": reply(200, b"{}", "text/plain"),
    "empty": reply(200, b""),
    "another object": reply(200, {"hello": "world"}),
    "error without a shape": reply(500, {"detail": "Internal Server Error"}),
    "compressed": reply(200, b"\x1f\x8b\x08", Content_Encoding="gzip"),
    "too short": reply(200, b"{", Content_Length="5000"),
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("key", [None, "mine"])
def test_a_broken_answer_is_a_failed_service(fault, key, waits):
    with (
        scripted(*[BROKEN[fault]] * 4) as service,
        sh.connect(service.url, retries=3) as session,
        pytest.raises(sh.ServiceFailed) as caught,
    ):
        session.ask("age > 65", key=key)
    if key is None:
        assert service.paths == ["/v1/ask"]  # once and never again
        assert waits == []
    assert service.url in str(caught.value)
    assert "\n" not in str(caught.value)
    if fault != "another object":
        told = str(caught.value)
        assert ("may have been charged" in told and "key=" in told) == (key is None)
        assert ("same key" in told) == (key is not None)


@pytest.mark.parametrize("fault", ["reset", "cut", "closed"])
def test_what_has_a_key_is_sent_again(fault, waits, local):
    acts = [BROKEN[fault], BROKEN[fault], reply(200, local["answer"].to_dict())]
    with scripted(*acts) as service, sh.connect(service.url, retries=3) as session:
        assert session.ask("age > 65", key="mine") == local["answer"]
    assert service.paths == ["/v1/ask"] * 3
    assert {one.body for one in service.got if one.path == "/v1/ask"} == {
        b'{"query": "age > 65", "key": "mine"}'
    }
    assert 0.1 <= waits[0] <= 0.2 < 2 * waits[1] <= 0.8


def test_what_is_held_is_sent_again(waits, local):
    told = {"round": 500, "answers_left": 3, "charge": 0.1}
    acts = [reply(200, told), reset, reply(200, local["answer"].to_dict())]
    with scripted(*acts) as service, sh.connect(service.url) as session:
        session.hold(500)
        session.ask("age > 65")
    assert service.paths == ["/v1/hold", "/v1/ask", "/v1/ask"]
    assert service.got[-1].json == {"query": "age > 65", "round": 500}


@pytest.mark.parametrize(
    "call",
    [
        lambda session: session.quote("age > 65"),
        lambda session: session.status(),
        lambda session: session.verify(),
        lambda session: session.hold(300),
        lambda session: list(session.transcript),
    ],
)
def test_what_changes_nothing_is_sent_again(call, waits):
    with (
        scripted(reset, unready(), cut, reset) as service,
        sh.connect(service.url, retries=3) as session,
        pytest.raises(sh.ServiceFailed),
    ):
        call(session)
    assert len(service.paths) == 4
    assert len(waits) == 3


@pytest.mark.parametrize("body", [{"hello": "world"}, {}, {"rounds": 3, "answers": {}, "next": ""}])
@pytest.mark.parametrize(
    "look",
    [
        lambda session: session.plan,
        lambda session: session.budget,
        lambda session: session.rounds,
        lambda session: session.growth(),
        lambda session: session.outlook(),
        lambda session: session.verify(),
        lambda session: session.answers_left(500),
        lambda session: session.transcript.last(1),
        lambda session: session.transcript.entry(3),
        lambda session: session.quote("age > 3"),
        lambda session: session.ask_many(["age > 3"]),
        lambda session: session.append([]),
    ],
)
def test_an_object_of_something_else_is_a_failed_service(look, body, waits):
    with (
        scripted(reply(200, body), reply(200, body)) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.ServiceFailed),
    ):
        look(session)


def test_whoever_answers_is_no_service(waits, monkeypatch):
    monkeypatch.setattr("client.scripted.ME", {"hello": "world"})
    with scripted() as service, pytest.raises(sh.ServiceFailed, match="does not say"):
        sh.connect(service.url)


def test_retries_are_bounded_and_may_be_none(waits):
    with (
        scripted(reset, reset) as service,
        sh.connect(service.url, retries=0) as session,
        pytest.raises(sh.ServiceFailed),
    ):
        session.status()
    assert (service.paths, waits) == (["/v1/status"], [])


@pytest.mark.parametrize("act", [reset, cut, unready("1"), BROKEN["garbage"]])
def test_records_without_a_key_have_one_of_their_own(act, waits, local):
    times = 1 if act is BROKEN["garbage"] else 4
    with (
        scripted(reply(200, local["columns"]), *[act] * times) as service,
        sh.connect(service.url) as session,
    ):
        with pytest.raises((sh.ServiceFailed, sh.StorageFailed)) as caught:
            session.append([{"age": 3}])
        sent = [one for one in service.got if one.path == "/v1/append?again=false"]
        assert len(sent) == times
        [key] = {one.headers["idempotency-key"] for one in sent}
        if isinstance(caught.value, sh.ServiceFailed):
            assert f"with the key {key} (--key {key}): they will be kept once" in str(caught.value)


def test_two_appends_without_a_key_have_two(waits, local):
    done = reply(200, {"count": 1, "n": 7})
    columns = reply(200, local["columns"])
    with scripted(columns, done, columns, done) as service, sh.connect(service.url) as session:
        for _ in range(2):
            session.append([{"age": 3}])
        keys = [one.headers.get("idempotency-key") for one in service.got if one.body]
        assert len(set(keys)) == 2
        assert None not in keys


def test_records_with_a_key_are_sent_again_whole(waits, local):
    acts = [reply(200, local["columns"]), reset, unready(), reply(200, {"count": 1, "n": 7})]
    with scripted(*acts) as service, sh.connect(service.url) as session:
        assert session.append([{"age": 3}], key="mine", again=True) == sh.Appended(1, 7)
    sent = [one for one in service.got if one.path == "/v1/append?again=true"]
    assert len(sent) == 3
    assert {one.headers["idempotency-key"] for one in sent} == {"mine"}
    assert {one.headers["content-type"] for one in sent} == {"application/vnd.apache.parquet"}
    [body] = {one.body for one in sent}
    assert body.startswith(b"PAR1")
    assert body.endswith(b"PAR1")


@pytest.mark.parametrize("key", ["ü", " a", "a ", "", 3])
def test_a_key_that_no_header_carries_is_refused(key, waits):
    with (
        scripted() as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.InvalidInput, match="key must be"),
    ):
        session.append([{"age": 3}], key=key)
    assert service.paths == []


def test_nothing_is_unpacked(waits, local):
    """No service of ours compresses, and a little that becomes a lot fills the memory."""
    packed = gzip.compress(json.dumps(local["quote"].to_dict()).encode())
    with (
        scripted(reply(200, packed, Content_Encoding="gzip")) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.ServiceFailed, match="not a JSON object"),
    ):
        session.quote("age > 65")
    assert service.got[-1].headers["accept-encoding"] == "identity"


# -------------------------------------------------------------------------------- refusals


def test_a_busy_service_is_asked_again(waits, local):
    acts = [unready(), unready("2"), reply(200, local["answer"].to_dict())]
    with scripted(*acts) as service, sh.connect(service.url) as session:
        assert session.ask("age > 65", key="mine") == local["answer"]
    assert len(waits) == 2
    assert waits[1] == 2.0


def test_a_rate_limit_is_waited_for(waits, local):
    acts = [limited("7"), reply(200, local["quote"].to_dict())]
    with scripted(*acts) as service, sh.connect(service.url) as session:
        assert session.quote("age > 65") == local["quote"]
    assert waits == [7.0]


def test_a_date_is_waited_for_too(waits, local):
    past = "Wed, 21 Oct 2015 07:28:00 GMT"
    acts = [unready(past), reply(200, local["quote"].to_dict())]
    with scripted(*acts) as service, sh.connect(service.url) as session:
        session.quote("age > 65")
    assert waits == [0.0]


@pytest.mark.parametrize("wait", ["", "soon", "-3", "nan"])
def test_a_strange_wait_does_no_harm(wait, waits, local):
    acts = [unready(wait), reply(200, local["quote"].to_dict())]
    with scripted(*acts) as service, sh.connect(service.url) as session:
        assert session.quote("age > 65") == local["quote"]
    assert len(waits) == 1
    assert 0.0 <= waits[0] <= 0.2


def test_a_wait_that_is_too_long_is_told(waits):
    with (
        scripted(limited("3600")) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.RequestRefused) as caught,
    ):
        session.quote("age > 65")
    assert (caught.value.status, caught.value.retry_after, waits) == (429, 3600.0, [])


def test_without_a_key_nothing_is_asked_twice(waits):
    with (
        scripted(unready("1")) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.StorageFailed),
    ):
        session.ask("age > 65")
    assert (service.paths, waits) == (["/v1/ask"], [])


def test_who_is_told_to_slow_down_waits_also_without_a_key(waits, local):
    """Nothing was done: whoever refuses for the rate has not looked at the request."""
    acts = [limited("3"), reply(200, local["answer"].to_dict())]
    with scripted(*acts) as service, sh.connect(service.url) as session:
        assert session.ask("age > 65") == local["answer"]
    assert (service.paths, waits) == (["/v1/ask", "/v1/ask"], [3.0])


def test_a_refusal_is_final(waits):
    denied = error(
        403, "AccessDenied", "permission denied: no; x", status=403, reason="no", hint="x"
    )
    with (
        scripted(denied) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.AccessDenied) as caught,
    ):
        session.ask("age > 65", key="mine")
    assert vars(caught.value) == {"status": 403, "reason": "no", "hint": "x"}
    assert (service.paths, waits) == (["/v1/ask"], [])


@pytest.mark.parametrize(("status", "kind"), [(418, sh.RequestRefused), (500, sh.ServiceFailed)])
def test_an_error_of_a_later_version_keeps_its_words(status, kind, waits):
    with (
        scripted(error(status, "Teapot", "short and stout", spout=1)) as service,
        sh.connect(service.url) as session,
        pytest.raises(kind, match="short and stout"),
    ):
        session.status()


@pytest.mark.parametrize("type", ["os", "Mapping", "Any", "_restored", "annotations", "ValueError"])
def test_an_error_is_never_anything_else_of_a_module(type, waits):
    with (
        scripted(error(422, type, "words")) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.RequestRefused, match="words"),
    ):
        session.status()


def test_a_redirect_is_not_followed(waits):
    place = "https://elsewhere.example/v1/ask"
    with (
        scripted(reply(307, b"", Location=place)) as service,
        sh.connect(service.url) as session,
        pytest.raises(sh.ServiceFailed, match=f"redirects to '{place}'") as caught,
    ):
        session.ask("age > 65")
    assert service.paths == ["/v1/ask"]
    assert "charged" not in str(caught.value)


# ------------------------------------------------------------------------------------ time


def test_a_slow_answer_is_given_up(waits):
    with scripted() as service, sh.connect(service.url) as session:
        session._connection._timeout = 0.3  # from now on: a busy machine takes its time to connect
        service.script.append(service.silence)
        with pytest.raises(sh.ServiceFailed, match=r"in time.*same key"):
            session.ask("age > 65", key="mine")
    assert (service.paths, waits) == (["/v1/ask"], [])  # who waited long enough is not kept waiting


def test_an_answer_that_never_ends_is_given_up(waits):
    with scripted() as service, sh.connect(service.url) as session:
        session._connection._timeout = 0.5
        service.script.append(service.dripping)
        with pytest.raises(sh.ServiceFailed, match=r"still coming after 0\.5 seconds"):
            session.status()


def test_the_timeout_is_the_callers(waits):
    with scripted() as service, sh.connect(service.url, timeout=7) as session:
        assert session._connection._timeout == 7
        assert session.at(None)._connection is session._connection


@pytest.mark.parametrize("declared", [None, str(10**15), "9" * 30])
def test_too_much_is_not_read(declared, waits, monkeypatch):
    monkeypatch.setattr(connection, "MOST_BYTES", 1 << 20)
    body = b" " * (1 << 21)
    act = reply(200, body) if declared is None else reply(200, body, Content_Length=declared)
    with (
        scripted(act) as service,
        sh.connect(service.url, retries=0) as session,
        pytest.raises(sh.ServiceFailed, match="more than 1,048,576 bytes"),
    ):
        session.status()


# ------------------------------------------------------------------------------ connections


def test_nobody_there(waits):
    with pytest.raises(sh.ServiceFailed, match="no connection") as caught:
        sh.connect(f"http://127.0.0.1:{free_port()}", retries=2)
    assert len(waits) == 2
    assert isinstance(caught.value, ConnectionError)


def test_no_such_host(waits):
    with pytest.raises(sh.ServiceFailed, match="no connection"):
        sh.connect("http://nowhere.invalid", retries=0)


def test_without_a_key_what_never_left_is_sent_again(waits, local):
    """The service went away and comes back: a connection that was refused charged nothing."""
    with scripted() as service:
        session = sh.connect(service.url, retries=2)
    with pytest.raises(sh.ServiceFailed) as caught:
        session.ask("age > 65")
    assert len(waits) == 2
    assert "charged" not in str(caught.value)


def test_tls_where_there_is_none(waits):
    with scripted() as service, pytest.raises(sh.ServiceFailed, match="TLS"):
        sh.connect(service.url.replace("http:", "https:"))
    assert waits == []


def test_threads_do_not_get_each_others_answers(local):
    count, found = 24, {}
    with scripted() as service, sh.connect(service.url) as session:
        quote = local["quote"].to_dict()
        service.by = lambda got: reply(200, {**quote, "query": got.json["query"]})

        def ask(i: int) -> None:
            found[i] = session.quote(f"q{i}").query

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {i: f"q{i}" for i in range(count)}
