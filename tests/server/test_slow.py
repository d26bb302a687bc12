"""Clients that take their time, send too much, lie about it, or go away in the middle."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.runtime import contents, made, record
from support.service import (
    PATIENT,
    QUICK,
    Running,
    check_refusal,
    heard,
    knock,
    raw,
    read,
    running,
    send,
)

MEGABYTE = 1 << 20
SMALL = replace(QUICK, json_bytes=MEGABYTE, append_bytes=MEGABYTE, model_bytes=MEGABYTE)
HASTY = replace(SMALL, patience=0.4, slowest=1e9)
POSTS = {
    "/v1/ask": "application/json",
    "/v1/ask-many": "application/json",
    "/v1/select": "application/json",
    "/v1/quote": "application/json",
    "/v1/hold": "application/json",
    "/v1/models": "application/octet-stream",
    "/v1/append": "text/csv",
}

MAY = dict.fromkeys(POSTS, ("custodian",)) | dict.fromkeys(
    ("/v1/quote", "/v1/hold"), ("custodian", "viewer")
)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """One dataset for all who achieve nothing."""
    with made(tmp_path_factory.mktemp("slow") / "clinic", count=1000) as dataset:
        yield dataset


@pytest.fixture(scope="module")
def strict(house):
    """A service that takes little, and tokens of two roles."""
    with running(house, SMALL) as run:
        yield run, {role: run.token(role) for role in ("viewer", "custodian")}


@pytest.fixture(scope="module")
def hasty(house):
    """One that waits for nobody."""
    with running(house, HASTY) as run:
        yield run, run.token("custodian")


def head(path: str, token: str, *lines: str) -> bytes:
    given = ["Host: 127.0.0.1", f"Authorization: Bearer {token}", *lines]
    return "\r\n".join([f"POST {path} HTTP/1.1", *given, "", ""]).encode()


def kept_well(run: Running, token: str) -> None:
    """It answers as ever, and nothing lies about."""
    got = send(run.url, "POST", "/v1/quote", {"query": "age > 65"}, token=token)
    assert (got.status, got.json["allowed"]) == (200, True)
    until = time.monotonic() + PATIENT
    while list(run.service.incoming.glob("*")):
        assert time.monotonic() < until, "what nobody finished sending is still there"
        time.sleep(0.01)


# ------------------------------------------------------------------------------------ too much


def pushed(connection: socket.socket, most: int) -> int:
    """How many bytes could be sent before the service closed the connection."""
    sent, piece = 0, b"x" * 65536
    with contextlib.suppress(ConnectionError):
        while sent < most:
            sent += connection.send(piece)
    return sent


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("who", ["custodian", "viewer", "nobody"])
def test_a_huge_upload_is_refused_before_it_was_read(strict, path, who):
    """By its length; and who does not say one gets as far as the limit, and what is on its way."""
    run, tokens = strict
    before = contents(run.dataset.path)
    token = tokens.get(who, "hf_nobody")
    kind = f"Content-Type: {POSTS[path]}"
    said = head(path, token, kind, f"Content-Length: {200 * MEGABYTE}")
    unsaid = head(path, token, kind, "Transfer-Encoding: chunked") + b"f000000\r\n"
    for begin in (said, unsaid):
        with knock(run.url, begin) as connection:
            sent = pushed(connection, 200 * MEGABYTE)
            assert sent < 30 * MEGABYTE  # what buffers of both ends take, at the most
            got = read(heard(connection))
            check_refusal(got, 401 if who == "nobody" else 413 if who in MAY[path] else 403)
            assert got.headers["connection"] == "close"
    assert contents(run.dataset.path) == before
    kept_well(run, tokens["custodian"])


def test_just_small_enough_is_taken(clinic):
    lines = b"age,bmi,city\n" + b"1,2.5,Oslo\n" * 1000
    with running(clinic, replace(QUICK, append_bytes=len(lines))) as run:
        token = run.token("custodian")
        kind = {"Content-Type": "text/csv"}
        got = send(run.url, "POST", "/v1/append", lines, token=token, headers=kind)
        assert (got.status, got.json["count"]) == (200, 1000)
        got = send(run.url, "POST", "/v1/append", lines + b"\n", token=token, headers=kind)
        assert got.status == 413


# ------------------------------------------------------------------------------------ too slow


def test_a_head_that_does_not_come(clinic):
    with running(clinic, replace(QUICK, head_seconds=0.3)) as run:
        for begin in (b"", b"GET /v1/sta", b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n"):
            began = time.monotonic()
            got = read(raw(run.url, begin))
            assert check_refusal(got, 408)["details"]["retry_after"] is None
            assert 0.25 < time.monotonic() - began < PATIENT


def test_a_head_that_trickles_gets_no_more_time(clinic):
    begin = b"GET /v1/status HTTP/1.1\r\n"
    hasty = replace(QUICK, head_seconds=0.5)
    with running(clinic, hasty) as run, knock(run.url, begin) as connection:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < PATIENT:
                connection.sendall(b"X: y\r\n")
                time.sleep(0.05)
        assert time.monotonic() - began < PATIENT
        # Also after a request that went well.
    with running(clinic) as run, knock(run.url) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"200 OK" in connection.recv(1 << 16)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127")
        assert b"408 Request Timeout" in heard(connection)


@pytest.mark.parametrize("path", POSTS)
def test_a_body_that_does_not_come(hasty, path):
    run, token = hasty
    before = contents(run.dataset.path)
    for more in ("Content-Length: 50", "Transfer-Encoding: chunked"):
        sent = head(path, token, f"Content-Type: {POSTS[path]}", more) + b'5\r\n{"que'
        got = read(raw(run.url, sent))
        assert check_refusal(got, 408)["type"] == "RequestRefused"
        assert got.headers["connection"] == "close"
    assert contents(run.dataset.path) == before
    kept_well(run, token)


def test_chunks_without_end(clinic):
    """Steadily, but never enough: the patience of a second is all there is."""
    with running(clinic, replace(HASTY, slowest=1e6)) as run:
        token = run.token("custodian")
        begin = head("/v1/append", token, "Content-Type: text/csv", "Transfer-Encoding: chunked")
        with knock(run.url, begin) as connection:
            began = time.monotonic()
            with contextlib.suppress(ConnectionError):
                while time.monotonic() - began < PATIENT:
                    connection.sendall(b"1\r\na\r\n")
                    time.sleep(0.02)
            assert time.monotonic() - began < PATIENT
            check_refusal(read(heard(connection)), 408)
        kept_well(run, token)


def test_a_body_may_take_its_time_as_long_as_it_comes_steadily(clinic):
    """Longer than the patience, yet never slower than the slowest that is allowed."""
    body = b"age,bmi,city\n" + b"".join(b"%d,2.5,Oslo\n" % i for i in range(200))
    with running(clinic, replace(QUICK, patience=0.5, slowest=2000.0)) as run:
        token = run.token("custodian")
        length = f"Content-Length: {len(body)}"
        begin = head("/v1/append", token, "Content-Type: text/csv", length, "Connection: close")
        with knock(run.url, begin) as connection:
            for at in range(0, len(body), 500):
                connection.sendall(body[at : at + 500])
                time.sleep(0.15)
            assert read(heard(connection)).json == {
                "count": 200,
                "n": 1200,
                "known": None,
                "note": None,
            }


def test_who_does_not_read_is_let_go(clinic):
    """The answer is larger than what the buffers on the way take; the next one is answered."""
    with running(clinic, replace(QUICK, unread_seconds=0.5)) as run:
        token = run.token("custodian")
        # Pipelined: each answer waits for the one before it to be taken.
        get = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        size = len(send(run.url, "GET", "/openapi.json").content)
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", int(run.url.rpartition(":")[2])))
            connection.sendall(get * (8 * MEGABYTE // size))
            time.sleep(3.0)
            got = heard(connection)
            assert 0 < len(got) < 8 * MEGABYTE  # it was ended, before all of it was sent
        kept_well(run, token)


def test_who_reads_slowly_gets_all_of_it(clinic):
    with running(clinic, replace(QUICK, unread_seconds=0.4)) as run:
        full = send(run.url, "GET", "/openapi.json").content
        with knock(run.url) as connection:
            connection.sendall(
                b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            )
            got = b""
            while piece := connection.recv(len(full) // 8):
                got += piece
                time.sleep(0.1)
            assert read(got).content == full


# ------------------------------------------------------------------------- lies about the length


def test_a_length_that_is_too_large_is_waited_for_and_refused(clinic):
    before = contents(clinic.path)
    body = b'{"query": "age > 65"}'
    with running(clinic, HASTY) as run:
        token = run.token("custodian")
        said = f"Content-Length: {len(body) + 1}"
        begin = head("/v1/ask", token, "Content-Type: application/json", said)
        check_refusal(read(raw(run.url, begin + body)), 408)
        assert contents(clinic.path) == before


def test_a_length_that_is_too_small_makes_two_requests_of_one(clinic):
    """The first is half a document; what follows is no request at all."""
    before = contents(clinic.path)
    with running(clinic) as run:
        token = run.token("custodian")
        begin = head("/v1/ask", token, "Content-Type: application/json", "Content-Length: 5")
        got = raw(run.url, begin + b'{"query": "age > 65"}\r\n\r\n')
        assert got.count(b"HTTP/1.1 ") == got.count(b"HTTP/1.1 400 Bad Request") == 2
        assert contents(clinic.path) == before


def test_a_length_and_chunks_at_once_hide_no_second_request(clinic):
    """Chunks count, as the standard says, and the connection is not used again."""
    hidden = head("/v1/append", "{token}", "Content-Type: text/csv", "Content-Length: 5")
    with running(clinic) as run:
        token = run.token("custodian")
        body = b'{"query": "age > 65"}'
        begin = head(
            "/v1/quote",
            token,
            "Content-Type: application/json",
            "Content-Length: 3",
            "Transfer-Encoding: chunked",
            "Connection: close",
        )
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        got = raw(run.url, begin + chunks + hidden.replace(b"{token}", token.encode()) + b"age,b")
        assert got.count(b"HTTP/1.1 ") == 1
        assert read(got).json["query"] == "fraction(age > 65)"
        assert clinic.n == 1000


def test_requests_in_one_go_are_answered_in_order(clinic):
    with running(clinic) as run:
        token = run.token()
        sent = b""
        for i in range(20):
            body = b'{"query": "age > %d"}' % i
            length = f"Content-Length: {len(body)}"
            sent += head("/v1/quote", token, "Content-Type: application/json", length) + body
        last = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        got = raw(run.url, sent + last)
        places = [got.index(b'"query":"fraction(age > %d)"' % i) for i in range(20)]
        assert places == sorted(places)
        assert got.count(b"HTTP/1.1 200 OK") == 21


# ---------------------------------------------------------------------------------- gone away


@pytest.mark.parametrize("path", POSTS)
def test_who_goes_away_in_the_middle_of_a_body(strict, path):
    run, tokens = strict
    before = contents(run.dataset.path)
    for _ in range(5):
        kind = f"Content-Type: {POSTS[path]}"
        begin = head(path, tokens["custodian"], kind, "Content-Length: 5000")
        with knock(run.url, begin + b"age,bmi"):
            pass
    kept_well(run, tokens["custodian"])
    assert contents(run.dataset.path) == before


def test_who_goes_away_before_the_answer_finds_it_in_the_record(clinic):
    """What was charged is there to be had: with its key, for nothing."""
    body = b'{"query": "age > 65", "key": "k1"}'
    with running(clinic) as run:
        token = run.token("custodian")
        kind, length = "Content-Type: application/json", f"Content-Length: {len(body)}"
        with knock(run.url, head("/v1/ask", token, kind, length) + body):
            pass
        until = time.monotonic() + PATIENT
        while not len(clinic.transcript):
            assert time.monotonic() < until
            time.sleep(0.01)
        asked = {"query": "age > 65", "key": "k1"}
        again = send(run.url, "POST", "/v1/ask", asked, token=token)
        assert (again.json["recorded"], again.json["key"]) == (True, "k1")
        assert clinic.status().answers == 1


LOOK = b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def connected(run, count):
    """Wait until so many connections are open at the service."""
    until = time.monotonic() + PATIENT
    while len(run.runner.server_state.connections) != count:
        assert time.monotonic() < until
        time.sleep(0.005)


def test_one_address_leaves_connections_to_others(clinic):
    """More than there may be in all, from one address: the others get in all the same."""
    with running(clinic) as run:
        host, port = urlsplit(run.url).hostname, urlsplit(run.url).port

        def come(address):
            return socket.create_connection((host, port), PATIENT, (address, 0))

        most, each = QUICK.connections
        mine = [come("127.0.0.2") for _ in range(each)]
        connected(run, each)
        for _ in range(most):
            with come("127.0.0.2") as refused:
                got = read(heard(refused))
                assert check_refusal(got, 429)["type"] == "RequestRefused"
                assert got.headers["retry-after"] == "1"
        connected(run, each)
        with come("127.0.0.3") as other:
            other.sendall(LOOK)
            assert read(heard(other)).status == 200
        mine[0].sendall(LOOK)
        assert read(heard(mine[0])).status == 200  # those that are open go on
        connected(run, each - 1)
        proxied = [come("127.0.0.1") for _ in range(each)]
        connected(run, 2 * each - 1)
        assert send(run.url, "GET", "/v1/status").status == 200  # there may be many behind it
        for connection in (*mine, *proxied):
            connection.close()


def test_too_many_connections_are_told_so(clinic):
    with running(clinic, replace(QUICK, connections=(5, 5))) as run:
        idle = [knock(run.url) for _ in range(5)]
        connected(run, 5)
        got = send(run.url, "GET", "/v1/status")
        assert check_refusal(got, 503)["type"] == "RequestRefused"
        assert got.headers["retry-after"] == "1"
        for connection in idle:
            connection.close()
        until = time.monotonic() + PATIENT
        while send(run.url, "GET", "/v1/status").status != 200:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_many_who_do_all_of_it_at_once(clinic):
    """Half of them misbehave; the others notice nothing, and every record arrives once."""
    with running(clinic, replace(QUICK, patience=1.0)) as run:
        token = run.token("custodian")
        counts: list[Any] = []

        def well(worker: int) -> None:
            for i in range(5):
                made = [record(5000 + 5 * worker + i)]
                counts.append(send(run.url, "POST", "/v1/append", made, token=token).json["count"])

        def badly(worker: int) -> None:
            for i in range(5):
                begin = head("/v1/append", token, "Content-Type: text/csv", "Content-Length: 500")
                with knock(run.url, begin + b"age,bmi,city\n1,2,Oslo\n" * (i % 3)):
                    time.sleep(0.01 * worker)

        threads = [threading.Thread(target=(well, badly)[i % 2], args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (counts, clinic.n) == ([1] * 30, 1030)
        kept_well(run, token)


def test_many_who_wait_for_a_verification_are_in_nobodys_way(clinic, monkeypatch):
    """It may take minutes, and a viewer may ask for it: one replay for all, and one thread."""
    real, go, begun = type(clinic).verify, threading.Event(), list[None]()

    def slow(self: Any) -> Any:
        begun.append(None)
        assert go.wait(PATIENT)
        return real(self)

    monkeypatch.setattr(type(clinic), "verify", slow)
    with running(clinic) as run:
        token, found = run.token("viewer"), list[Any]()

        def verify() -> None:
            found.append(send(run.url, "POST", "/v1/verify", token=token))

        threads = [threading.Thread(target=verify) for _ in range(60)]
        for thread in threads:
            thread.start()
        connected(run, 60)
        began = time.monotonic()
        assert send(run.url, "GET", "/v1/status", token=token).status == 200
        assert time.monotonic() - began < PATIENT
        assert (len(begun), found) == (1, [])
        go.set()
        for thread in threads:
            thread.join()
        assert {(got.status, got.content) for got in found} == {(200, found[0].content)}
        assert run.dataset.verify().to_dict() == found[0].json
