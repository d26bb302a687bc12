"""Hostile requests: each gets a clear refusal in the one shape, and nothing is lost by it."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest

import surehold.errors as errors
from support.runtime import GUARDS, contents, made
from support.service import (
    KINDS,
    Running,
    check_headers,
    check_refusal,
    raw,
    read,
    running,
    running_among,
    send,
)
from surehold.server.errors import STATUSES, headers_of, status_of, unexpected

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module", params=[*GUARDS, "several"])
def house(request, tmp_path_factory):
    """A service with tokens, and one of each role; of one dataset, or one of several."""
    folder = tmp_path_factory.mktemp("hostile") / "clinic"
    if request.param != "several":
        with made(folder, count=1000, guard=request.param) as dataset, running(dataset) as run:
            yield run, run.token("custodian")
        return
    other = folder.with_name("shop")
    made(folder, count=1000).close()
    made(other, count=1000, guard="surprise").close()
    with running_among(folder, other) as run:
        yield run, run.token("custodian")


@pytest.fixture
def unharmed(house):
    """Whatever happens meanwhile leaves the dataset as it was, and the service well."""
    run, token = house
    before = [contents(path) for path in (run.dataset.path, *run.others)]
    yield
    assert [contents(path) for path in (run.dataset.path, *run.others)] == before
    assert send(run.url, "GET", "/v1/status", token=token).status == 200
    assert list(run.service.incoming.glob("*")) == []


pytestmark = pytest.mark.usefixtures("unharmed")


# ------------------------------------------------------------------------------------ bodies

ASKED = b'{"query": "age > 65"%s}'
BODIES = {
    "empty": b"",
    "white": b" \n",
    "no JSON": b"age > 65",
    "bad UTF-8": b'{"query": "\xff\xfe"}',
    "overlong UTF-8": b'{"query": "\xc0\xafage"}',
    "UTF-16": '{"query": "age > 65"}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + ASKED % b"",
    "two documents": ASKED % b"" + ASKED % b"",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"query":' * 50_000,
    "deep and closed": b"[" * 900 + b"]" * 900,
    "a list": b"[]",
    "null": b"null",
    "a text": b'"age > 65"',
    "a number": b"7",
    "nothing said": b"{}",
    "said twice": b'{"query": "age > 65", "query": "age > 64"}',
    "something besides": ASKED % b', "more": 1',
    "half a character as name": ASKED % b', "\\ud800": 1',
    "half a character as query": b'{"query": "\\ud800"}',
    "half a character in a text": b'{"query": "city == \'\\udfff\'"}',
    "half a character as key": ASKED % b', "key": "\\ud800"',
    "NUL in the query": b'{"query": "age > 65\\u0000"}',
    "a line end in the key": ASKED % b', "key": "a\\r\\nSet-Cookie: b"',
    "an empty key": ASKED % b', "key": ""',
    "a long key": ASKED % b', "key": "%s"' % (b"k" * 201),
    "a number as key": ASKED % b', "key": 7',
    "a large number": ASKED % b', "round": 1e999',
    "a larger number": ASKED % b', "round": 1e999999999999999999999',
    "many digits": ASKED % b', "round": %s' % (b"9" * 4000),
    "too many digits": ASKED % b', "round": %s' % (b"9" * 10_000),
    "NaN": ASKED % b', "round": NaN',
    "infinity": ASKED % b', "round": -Infinity',
    "a round below 1": ASKED % b', "round": 0',
    "a negative round": ASKED % b', "round": -5',
    "a broken round": ASKED % b', "round": 1000.5',
    "a round as text": ASKED % b', "round": "1000"',
    "a round as truth": ASKED % b', "round": true',
    "a truth as expectation": ASKED % b', "expect": true',
    "a list as expectation": ASKED % b', "expect": [0.8]',
    "words as expectation": ASKED % b', "expect": "about half"',
    "NaN as expectation": ASKED % b', "expect": "NaN"',
    "more than all": ASKED % b', "expect": 1e300, "within": 0.1',
    "a long expectation": ASKED % b', "expect": "0.%s"' % (b"8" * 1000),
    "many digits expected": ASKED % b', "expect": %s, "within": 0.1' % (b"9" * 4000),
    "a division by zero": ASKED % b', "expect": "1/0"',
    "within nothing": ASKED % b', "expect": 0.5, "within": 0',
    "no doubt": ASKED % b', "expect": 0.5, "doubt": 0',
    "all doubt": ASKED % b', "expect": 0.5, "doubt": "1"',
    "half a character expected": ASKED % b', "expect": "\\ud800"',
    "a number as query": b'{"query": 7}',
    "a list as query": b'{"query": ["age > 65"]}',
    "a long query": b'{"query": "age > 1%s"}' % (b" + 1" * 5000),
    "a deep query": b'{"query": "%sage%s > 65"}' % (b"(" * 4000, b")" * 4000),
    "a query that calls": b'{"query": "__import__(1)"}',
    "no such column": b'{"query": "income > 65"}',
    "a model that is not there": b'{"query": {"metric": "accuracy", "model": "onnx:x", '
    b'"features": ["age"], "target": "age > 65"}}',
    "a model by path": b'{"query": {"metric": "accuracy", "model": "/etc/passwd", '
    b'"features": ["age"], "target": "age > 65"}}',
    "a score that is no number": b'{"query": {"metric": "log", "model": "onnx:x", "most": NaN, '
    b'"features": ["age"], "target": "age > 65"}}',
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_can_not_be_meant(house, name):
    run, token = house
    for path in ("/v1/ask", "/v1/quote"):
        got = send(run.url, "POST", path, BODIES[name], token=token, headers=JSON)
        error = check_refusal(got, 400, 409, 422)
        assert len(got.content) < 100_000
        assert error["type"] != "BudgetExhausted"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/select", b'{"candidates": {"\\ud800": "age > 1", "b": "age > 2"}}'),
        ("/v1/select", b'{"candidates": {"": "age > 1", "b": "age > 2"}}'),
        ("/v1/select", b'{"candidates": {"a": "age > 1", "a": "age > 2"}}'),
        ("/v1/select", b'{"candidates": {}}'),
        ("/v1/select", b'{"candidates": []}'),
        ("/v1/select", b'{"candidates": ["age > 1", "age > 2"], "price": 0}'),
        ("/v1/select", b'{"candidates": ["age > 1", "age > 2"], "price": 1e9}'),
        ("/v1/select", b'{"candidates": ["age > 1", "age > 2"], "best": "worst"}'),
        ("/v1/ask-many", b'{"queries": []}'),
        ("/v1/ask-many", b'{"queries": "age > 65"}'),
        ("/v1/ask-many", b'{"queries": ["age > 65", "\\ud800"]}'),
        ("/v1/ask-many", b'{"queries": [%s"age > 1"]}' % (b'"age > 1",' * 10_001)),
        ("/v1/hold", b'{"round": 0}'),
        ("/v1/hold", b'{"round": 99999999}'),
        ("/v1/register", b'{"queries": []}'),
        ("/v1/register", b'{"queries": "age > 65"}'),
        ("/v1/register", b'{"queries": ["age > 65", "age >"]}'),
        ("/v1/register", b'{"queries": ["age > 65"], "share": 0}'),
        ("/v1/register", b'{"queries": ["age > 65"], "share": "1.5"}'),
        ("/v1/register", b'{"queries": ["age > 65"], "share": [1]}'),
        ("/v1/register", b'{"queries": ["age > 65"], "share": 1e-999999999}'),
        ("/v1/register", b'{"queries": ["age > 65"], "expect": 0.5}'),
        ("/v1/register", b'{"queries": ["income > 65"]}'),
    ],
)
def test_bodies_of_other_routes(house, path, body):
    run, token = house
    check_refusal(send(run.url, "POST", path, body, token=token, headers=JSON), 400, 409, 422)


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "",
        "text/plain",
        "application/jsonp",
        "application/json, text/html",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ],
)
def test_content_types_that_a_form_of_a_web_page_can_send_are_refused(house, kind):
    run, token = house
    headers = {} if kind is None else {"Content-Type": kind}
    for path in ("/v1/ask", "/v1/quote", "/v1/hold", "/v1/append", "/v1/models", "/v1/tables"):
        got = send(run.url, "POST", path, ASKED % b"", token=token, headers=headers)
        assert check_refusal(got, 415)["type"] == "RequestRefused"


# ----------------------------------------------------------------------- methods and addresses


def test_other_methods_are_refused_and_told_which_there_are(house):
    run, token = house
    for path, right in {"/v1/ask": "POST", "/v1/status": "GET", "/healthz": "GET"}.items():
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"):
            if method != right:
                got = send(run.url, method, path, token=token)
                check_refusal(got, 405)
                assert got.headers["allow"] == right
    assert send(run.url, "PUT", "/v1/models", token=token).headers["allow"] == "GET, POST"
    assert send(run.url, "PUT", "/ask", token=token).headers["allow"] == "GET, HEAD"
    head = send(run.url, "HEAD", "/v1/status", token=token)
    assert (head.status, head.content) == (405, b"")
    for page in ("/", "/transcript", "/openapi.json"):
        head, full = send(run.url, "HEAD", page), send(run.url, "GET", page)
        assert (head.status, head.content, full.status) == (200, b"", 200)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1"])
def test_preflights_are_refused(house, origin):
    run, token = house
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x"}
    got = send(run.url, "OPTIONS", "/v1/ask", headers={"Origin": origin, **asked})
    check_refusal(got, 405)
    got = send(run.url, "GET", "/v1/status", token=token, headers={"Origin": origin})
    assert got.status == 200  # a token proves more than an origin
    check_headers(got)


ADDRESSES = [
    "/static/../index.html",
    "/static/..%2findex.html",
    "/static/%2e%2e/index.html",
    "/static/%2e%2e%2f%2e%2e%2fapp.py",
    "/static/..%5c..%5capp.py",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/static/....//app.py",
    "/static/%00",
    "/static/main.js%00.css",
    "/static/" + "a" * 5000,
    "/static/" + "a/" * 2000,
    "/static",
    "/static/",
    "/static/vendor",
    "/index.html",
    "/%00",
    "/%ff%fe",
    "/%",
    "/%zz",
    "/v1",
    "/v1/",
    "/v1/status/",
    "//v1/status",
    "/V1/status",
    "/v1/./status",
    "/v1/../v1/status",
    "/v1/status%00",
    "/v1/status;x=1",
    "/docs",
    "/redoc",
    "/.env",
    "/v1/models/onnx:x",
    "/tokens.json",
]


@pytest.mark.parametrize("path", ADDRESSES, ids=lambda path: path[:30])
def test_addresses_of_nothing(house, path):
    run, token = house
    check_refusal(send(run.url, "GET", path, token=token), 404)


@pytest.mark.parametrize(
    "address",
    [
        "/v1/transcript/x",
        "/v1/transcript/0",
        "/v1/transcript/-1",
        "/v1/transcript/1e3",
        "/v1/transcript/99999999999999999999999",
        "/v1/transcript/%00",
        "/v1/transcript?limit=0",
        "/v1/transcript?limit=1001",
        "/v1/transcript?after=-1",
        "/v1/transcript?after=" + "9" * 5000,
        "/v1/transcript?before=x",
        "/v1/transcript?round=0",
        "/v1/transcript?newest=perhaps",
        "/v1/transcript?analyst=" + "a" * 201,
        "/v1/transcript?contains=" + "a" * 1001,
        "/v1/compare",
        "/v1/compare?beta=nan",
        "/v1/compare?beta=inf&alpha=0.1&n=100",
        "/v1/compare?beta=0.1",
        "/v1/compare?beta=0.1&alpha=0.1&queries=3&n=1",
        "/v1/compare?beta=0.1&alpha=0.3&n0=200&n=2000&batches=100000",
        "/v1/room",
        "/v1/room?round=-1",
        "/v1/room?round=1e3",
        "/v1/compare?beta=0.1&alpha=1e-300&n=9007199254740992",
        "/v1/compare?beta=1e-320&alpha=0.1&n0=1&n=9007199254740992",
    ],
    ids=lambda address: address[:50],
)
def test_parameters_that_can_not_be_meant(house, address):
    run, token = house
    check_refusal(send(run.url, "GET", address, token=token), 422)


@pytest.mark.parametrize(
    "address",
    [
        "/v1/transcript?analyst=%ED%A0%80",
        "/v1/transcript?contains=%00",
        "/v1/transcript?contains=%0d%0aSet-Cookie:%20a=b",
        "/v1/transcript?contains=%ff",
        "/v1/transcript?a[]=b&&&=&;",
        "/v1/transcript?analyst=' OR 1=1 --".replace(" ", "%20"),
    ],
)
def test_odd_parameters_find_nothing(house, address):
    run, token = house
    got = send(run.url, "GET", address, token=token)
    assert (got.status, got.json["answers"]) == (200, [])
    assert "set-cookie" not in got.headers


# ------------------------------------------------------------------------------- no HTTP at all

HEAD = "Host: 127.0.0.1\r\nConnection: close\r\n"
POST = f"POST /v1/quote HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\n"
CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n"
NO_HTTP = {
    "bytes": "\x00\x01\x02\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "HTTP/0.9": "GET /v1/status\r\n\r\n",
    "no host": "GET /v1/status HTTP/1.1\r\nConnection: close\r\n\r\n",
    "two hosts": f"GET /v1/status HTTP/1.1\r\n{HEAD}Host: evil\r\n\r\n",
    "a blank before the colon": f"GET /v1/status HTTP/1.1\r\n{HEAD}X : a\r\n\r\n",
    "NUL in a header": f"GET /v1/status HTTP/1.1\r\n{HEAD}X: a\x00b\r\n\r\n",
    "a return in a header": f"GET /v1/status HTTP/1.1\r\n{HEAD}X: a\rb\r\n\r\n",
    "beyond ASCII": f"GET /\xe9 HTTP/1.1\r\n{HEAD}\r\n",
    "a negative length": f"{POST}Content-Length: -1\r\n\r\n",
    "a length in words": f"{POST}Content-Length: ten\r\n\r\n",
    "a length with a sign": f"{POST}Content-Length: +5\r\n\r\n12345",
    "two lengths": f"{POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456",
    "two lengths in one": f"{POST}Content-Length: 5, 6\r\n\r\n123456",
    "another coding": f"{POST}Transfer-Encoding: gzip, chunked\r\n\r\n",
    "two codings": f"{CHUNKED}Transfer-Encoding: identity\r\n\r\n",
    "a chunk of no size": f"{CHUNKED}\r\nzz\r\n",
    "a chunk of negative size": f"{CHUNKED}\r\n-5\r\n12345\r\n0\r\n\r\n",
    "a chunk that is longer": f"{CHUNKED}\r\n2\r\n12345\r\n0\r\n\r\n",
    "a second chunk of no size": f'{CHUNKED}\r\n5\r\n{{"que\r\nzz\r\n',
}


@pytest.mark.parametrize("name", NO_HTTP)
def test_what_is_no_http(house, name):
    run, _ = house
    sent = NO_HTTP[name].replace("/v1/", f"{urlsplit(run.url).path}/v1/")
    got = read(raw(run.url, sent.encode("latin-1")))
    error = check_refusal(got, 400, 401)  # 401 where the head was good and the body was not
    assert (got.status == 400) is (error["type"] == "RequestRefused")


def test_a_head_without_end_is_not_read_to_its_end(house):
    run, _ = house
    for begin in ("GET /" + "a" * 1000, f"GET / HTTP/1.1\r\n{HEAD}X: " + "a" * 1000):
        check_refusal(read(raw(run.url, (begin + "a" * 200_000).encode())), 400)


# -------------------------------------------------------------------------- every kind of error


def test_every_class_of_errors_has_a_status():
    """A new class has to be given one: it would be an unexpected error otherwise."""
    own = {errors.AccessDenied, errors.RequestRefused}  # which say it themselves
    assert set(STATUSES) | own | {errors.SureholdError} == set(KINDS.values())
    assert set(STATUSES.values()) == {402, 409, 422, 500, 501, 503}
    for status in (401, 403):
        denied = errors.AccessDenied("a", "b", status)
        assert status_of(denied) == status
        assert ("WWW-Authenticate" in headers_of(denied)) is (status == 401)
    refused = errors.RequestRefused(429, "a", "b", 2.4)
    assert (status_of(refused), headers_of(refused)) == (429, {"Retry-After": "3"})
    assert status_of(unexpected()) == 500


# ------------------------------------------------------------------- other machines' web pages


@pytest.fixture(scope="module")
def open_house(tmp_path_factory):
    """Without tokens: anybody on this machine may ask, and no web page may make them."""
    with (
        made(tmp_path_factory.mktemp("open") / "clinic", count=1000) as dataset,
        running(dataset) as run,
    ):
        yield run


HOSTS = ["evil.example", "evil.example:8750", "[", "[::1", "", "127.0.0.1.evil.example"]
HOSTS += ["localhost.evil.example", "localhost@evil.example", "0.0.0.0", "192.168.1.7", "127.1"]
ORIGINS = ["null", "http://evil.example", "http://[", "https://evil.example:8750", "file://", ""]
ORIGINS += ["http://127.0.0.1:1", "http://localhost.evil.example", "127.0.0.1"]


def test_a_name_that_was_made_to_stand_for_this_machine(open_house: Running):
    before = contents(open_house.dataset.path)
    for host in HOSTS:
        for method, path, body in (
            ("GET", "/v1/status", None),
            ("POST", "/v1/ask", {"query": "1"}),
        ):
            got = send(open_house.url, method, path, body, headers={"Host": host})
            assert check_refusal(got, 403)["type"] == "AccessDenied"
    for origin in ORIGINS:
        for body in ({"query": "age > 65"}, None):
            got = send(open_house.url, "POST", "/v1/ask", body, headers={"Origin": origin})
            check_refusal(got, 403)
    assert contents(open_house.dataset.path) == before


def test_this_machine_under_its_own_names(open_house: Running):
    port = open_house.url.rpartition(":")[2]
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        host = f"{name}:{port}"
        headers = {"Host": host, "Origin": f"http://{host}"}
        got = send(open_house.url, "POST", "/v1/quote", {"query": "age > 65"}, headers=headers)
        assert (got.status, json.loads(got.content)["allowed"]) == (200, True)
        check_headers(got)
