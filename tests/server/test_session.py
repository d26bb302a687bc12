"""Browsers that are signed in: what the cookie is and opens, when it ends, and for which pages."""

from __future__ import annotations

from dataclasses import replace
from http.cookies import Morsel, SimpleCookie

import pytest

from server.doors import GUARDED, TABLE, knocked
from support.runtime import contents, made
from support.service import QUICK, Got, check_refusal, hosting, running, send
from surehold.server.cookie import PAGE
from surehold.server.host import Host
from surehold.server.tokens import TokenBook

OWN = {PAGE: "1", "Sec-Fetch-Site": "same-origin"}
ASKED = {"query": "age > 65"}


def cookie_of(got: Got) -> Morsel[str]:
    [morsel] = SimpleCookie(got.headers["set-cookie"]).values()
    return morsel


def signed_in(url: str, token: str, **headers: str) -> Morsel[str]:
    got = send(url, "POST", "/v1/session", token=token, headers=headers)
    assert (got.status, token in got.content.decode()) == (200, False)
    return cookie_of(got)


def with_cookie(morsel: Morsel[str], **headers: str) -> dict[str, str]:
    return {"Cookie": f"{morsel.key}={morsel.value}", **headers}


def test_the_cookie_is_for_this_service_alone_and_until_the_token_ends(door):
    morsel = signed_in(door.url, door.token("viewer", seconds=1000.0))
    assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "strict", "/")
    assert (morsel["secure"], morsel["domain"]) == ("", "")
    assert 900 < int(morsel["max-age"]) <= 1000
    assert int(signed_in(door.url, door.token(seconds=None))["max-age"]) == 400 * 86_400
    got = send(door.url, "GET", "/v1/session", headers=with_cookie(morsel))
    assert (got.json["analyst"], got.json["role"]) == ("ann", "viewer")
    assert got.json["token"]["id"] == morsel.value[3:15]
    assert "set-cookie" not in got.headers


@pytest.mark.parametrize(("proxies", "secure"), [(("127.0.0.1",), True), ((), "")])
def test_it_is_secure_where_a_named_proxy_says_https(clinic, proxies, secure):
    with running(clinic, replace(QUICK, proxies=proxies)) as run:
        told = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        assert signed_in(run.url, run.token(), **told)["secure"] == secure


def test_it_authenticates_like_the_token_until_that_is_revoked(door):
    token = door.token("custodian")
    given = with_cookie(signed_in(door.url, token), **OWN)
    for method, path in (("GET", "/v1/status"), ("POST", "/v1/ask"), ("GET", "/v1/tokens")):
        body = ASKED if method == "POST" else None
        assert send(door.url, method, path, body, headers=given).status == 200
    assert [answer.analyst for answer in door.dataset.transcript] == ["ann"]
    # A token in the header goes first, whatever cookie comes with it.
    viewer = send(door.url, "GET", "/v1/me", token=door.token("viewer"), headers=given)
    assert viewer.json["role"] == "viewer"
    TokenBook(door.dataset.path).revoke(token[3:15])
    refused = check_refusal(send(door.url, "GET", "/v1/status", headers=given), 401)
    assert "revoked" in refused["message"]


def test_signing_out_removes_the_cookie_and_leaves_the_token(door):
    token = door.token()
    given = with_cookie(signed_in(door.url, token), **OWN)
    check_refusal(
        send(
            door.url,
            "DELETE",
            "/v1/session",
            headers=with_cookie(cookie_of(send(door.url, "POST", "/v1/session", token=token))),
        ),
        403,
    )
    morsel = cookie_of(send(door.url, "DELETE", "/v1/session", headers=given))
    assert (morsel.value, morsel["max-age"], morsel["path"]) == ("", "0", "/")
    assert send(door.url, "GET", "/v1/me", token=token).status == 200
    check_refusal(send(door.url, "DELETE", "/v1/session", token=token), 404)


FOREIGN = {
    "no header of the page": {"Sec-Fetch-Site": "same-origin"},
    "another site": {**OWN, "Sec-Fetch-Site": "cross-site"},
    "another port of this host": {**OWN, "Sec-Fetch-Site": "same-site"},
    "no page at all": {**OWN, "Sec-Fetch-Site": "none"},
    "another origin": {PAGE: "1", "Origin": "http://evil.example"},
    "an origin of its own": {PAGE: "1", "Origin": "null"},
}


def test_no_page_of_another_origin_can_use_it(door):
    given = with_cookie(signed_in(door.url, door.token("custodian")))
    before = contents(door.dataset.path)
    for method, path in GUARDED:
        if method == "GET":
            continue
        for name, headers in FOREIGN.items():
            got = knocked(door.url, method, path, **given, **headers)
            assert (name, got.status, got.error) == (name, 403, "AccessDenied")
            assert "set-cookie" not in got.headers
            assert b"hf_" not in got.content
    assert contents(door.dataset.path) == before
    assert not [name for name in got.headers if name.startswith("access-control")]
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Headers": PAGE}
    got = send(door.url, "OPTIONS", "/v1/ask", headers={**preflight, **given})
    assert got.status == 405
    assert not [name for name in got.headers if name.startswith("access-control")]
    place = {PAGE: "1", "Origin": door.url}  # of a browser that says no site
    assert send(door.url, "POST", "/v1/ask", ASKED, headers={**given, **place}).status == 200


def test_bad_cookies_open_nothing_and_are_not_repeated(door):
    name, token = signed_in(door.url, door.token("custodian")).key, door.token("viewer")
    values = [
        "",
        "x",
        f"hf_{'0' * 12}_{'A' * 43}",
        f"{token[:-1]}",
        f"{token}; {name}=x",
        '"\\',
        "é",
    ]
    for value in values:
        for method, path in GUARDED:
            if method != "GET" or path == "/v1/events":
                continue
            got = knocked(door.url, method, path, Cookie=f"{name}={value}")
            assert (value, got.status, got.error) == (value, 401, "AccessDenied")
            assert b"hf_" not in got.content
    other = {"Cookie": f"surehold-1={token}"}  # that of another port of this machine
    assert send(door.url, "GET", "/v1/me", headers=other).status == 401
    assert TABLE["POST", "/v1/session"] == "any"


def test_where_no_token_is_needed_a_cookie_that_was_left_changes_nothing(door):
    port = door.url.rpartition(":")[2]
    left = {"Cookie": f"surehold-{port}=hf_{'0' * 12}_{'A' * 43}"}
    got = send(door.url, "POST", "/v1/ask", ASKED, headers=left)
    assert got.status == 200
    assert send(door.url, "POST", "/v1/session").json["token"] is None
    rebound = {**left, "Host": "evil.example"}
    assert send(door.url, "GET", "/v1/me", headers=rebound).status == 403


def test_one_cookie_covers_several_datasets_below_a_path(tmp_path):
    root = tmp_path / "datasets"
    root.mkdir()
    for name in ("clinic", "shop", "secret"):
        made(root / name, count=300).close()
    token = TokenBook(root, guard=None).create(
        "ann", "viewer", seconds=60.0, datasets=("clinic", "shop")
    )[1]
    own = TokenBook(root / "secret").create("bob", "viewer", seconds=60.0)[1]
    with hosting(Host(settings=replace(QUICK, base_path="/eval"), root=root)) as url:
        for place in (url, f"{url}/d/clinic"):
            morsel = signed_in(place, token)
            assert morsel["path"] == "/eval"
            given = with_cookie(morsel)
            got = send(url, "GET", "/v1/datasets", headers=given).json["datasets"]
            assert [one["name"] for one in got] == ["clinic", "shop"]
            for name, status in {"clinic": 200, "shop": 200, "secret": 404, "nowhere": 404}.items():
                assert send(f"{url}/d/{name}", "GET", "/v1/me", headers=given).status == status
        check_refusal(send(f"{url}/d/shop", "POST", "/v1/session", token=own), 404)
        assert signed_in(f"{url}/d/secret", own)["path"] == "/eval"
