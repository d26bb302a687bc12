"""Tokens over HTTP: who is let in, as whom, for what, and up to which limit."""

from __future__ import annotations

import json
import subprocess

import httpx2
import pytest

import surehold as sh
from support.runtime import made
from surehold.server.tokens import TokenBook

from .hosts import COMMAND, listening, over_http, text_of

NAMED = [{"name": "older", "question": "age > 55", "unit": "%", "gate": ">= 10 %"}]
ASKING = {
    "register": {"questions": NAMED},
    "watch": {"questions": ["older"]},
    "ask": {"query": "age > 50"},
    "ask_many": {"queries": ["age > 50"]},
    "select": {"candidates": ["age > 50", "age > 60"], "price": 2},
}
LOOKING = {"describe": {}, "budget": {}, "quote": {"query": "age > 50"}, "transcript": {}}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "budget", "arguments": {}},
}
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Place:
    """A dataset with tokens, and where it listens."""

    def __init__(self, folder, url):
        self.folder, self.url, self.book = folder, url, TokenBook(folder)

    def token(self, role, analyst="ann", **options):
        return self.book.create(analyst, role, **{"seconds": None, **options})

    def sent(self, token, **headers):
        """A call by hand."""
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return httpx2.post(self.url, json=CALL, headers={**JSON, **headers}, timeout=120)


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "clinic"
    made(folder, count=1000).close()
    TokenBook(folder).create("first", "custodian", seconds=None)
    with listening(folder) as url:
        yield Place(folder, url)


@pytest.mark.parametrize("role", ["viewer", "analyst", "custodian"])
def test_what_each_role_may_do(place, role):
    _, text = place.token(role)
    with over_http(place.url, text) as host:
        assert len(host.tools()) == 13
        for tool, arguments in LOOKING.items():
            host.told(tool, **arguments)
        for tool, arguments in ASKING.items():
            if role == "viewer":
                error = host.error(tool, **arguments)
                assert (error["type"], error["details"]["status"]) == ("AccessDenied", 403)
                assert "it takes the role analyst" in error["message"]
            else:
                host.told(tool, **arguments)
    with sh.open(place.folder) as dataset:
        assert (len(dataset.transcript) == 0) == (role == "viewer")
        assert {answer.analyst for answer in dataset.transcript} <= {"ann"}


def test_strangers(place):
    right = place.token("analyst")[1]
    expired = place.token("analyst", seconds=1e-6)[1]
    revoked, text = place.token("analyst")
    place.book.revoke(revoked.id)
    wrong = right[:-1] + ("A" if right[-1] != "A" else "B")
    for token in (None, "x", wrong, expired, text, right + "x"):
        response = place.sent(token)
        assert response.status_code == 401, token
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["error"]["type"] == "AccessDenied"
    assert place.sent(None, authorization="Basic YTpi").status_code == 401
    assert place.sent(right).status_code == 200


def test_a_token_is_revoked_while_somebody_is_connected(place):
    token, text = place.token("analyst")
    with over_http(place.url, text) as host:
        host.told("ask", query="age > 50")
        place.book.revoke(token.id)
        with pytest.raises(Exception, match=r"401|error"):
            host.call("ask", query="age > 51")
    with sh.open(place.folder) as dataset:
        assert len(dataset.transcript) == 1


def test_a_limit_is_the_tokens(place):
    _, text = place.token("analyst", "ann", limit=0.1)
    _, other = place.token("analyst", "ben")
    with over_http(place.url, text) as ann, over_http(place.url, other) as ben:
        asked = 0
        while not ann.call("ask", query=f"age > {asked}").is_error:
            asked += 1
        error = ann.error("ask", query="age > 99")
        assert error["type"] == "BudgetExhausted"
        assert "the limit of analyst 'ann'" in error["message"]
        limit = ann.told("budget")["limit"]
        assert (
            limit["spent"]
            <= limit["total"]
            <= 0.1 * ann.told("budget")["status"]["budget"]["total"]
        )
        assert 0.0 <= limit["remaining"] < limit["spent"] / asked
        said = text_of(ann.call("budget"))
        assert "% of the limit left (" in said
        assert "for you it buys 0 answers at n = 1,000" in said
        assert "% of the limit left (" in text_of(ann.call("ask", query="age > 0"))
        assert ben.told("budget")["limit"] is None
        assert "limit" not in text_of(ben.call("budget"))
        assert ben.told("ask", query="age > 99")["analyst"] == "ben"
    assert 1 <= asked <= 7


def test_with_a_token_any_name_will_do(place):
    """A proxy calls it by the name of the world outside; a page in a browser has no token."""
    text = place.token("viewer")[1]
    assert place.sent(text, host="holdout.example").status_code == 200
    assert place.sent(None, host="holdout.example").status_code == 401


def test_a_first_token_closes_the_door_at_once(tmp_path):
    folder = tmp_path / "clinic"
    made(folder, count=1000).close()
    with listening(folder) as url:
        place = Place(folder, url)
        assert place.sent(None).status_code == 200
        text = place.token("viewer")[1]
        assert place.sent(None).status_code == 401
        assert place.sent(text).status_code == 200


def test_a_book_that_cannot_be_read_lets_nobody_in(place):
    text = place.token("viewer")[1]
    (place.folder / "tokens.json").write_text("{")
    response = place.sent(text)
    assert response.status_code == 503
    assert response.json()["error"]["type"] == "StorageFailed"


def test_too_many_requests(place):
    text = place.token("viewer")[1]
    with httpx2.Client(headers={**JSON, "authorization": f"Bearer {text}"}, timeout=120) as client:
        statuses = []
        while 429 not in statuses and len(statuses) < 3000:
            response = client.post(place.url, content=json.dumps(CALL))
            statuses.append(response.status_code)
    assert response.status_code == 429
    assert response.json()["error"]["type"] == "RequestRefused"
    assert int(response.headers["retry-after"]) >= 1
    assert set(statuses[:100]) == {200}


def test_other_machines_need_tokens_and_a_word(tmp_path):
    """By the rules of `surehold serve`."""
    made(tmp_path / "clinic", count=600).close()

    def refused(*options):
        command = [*COMMAND, str(tmp_path / "clinic"), "--http", "--port", "0", *options]
        ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
        assert (ended.returncode, ended.stdout) == (2, "")
        return ended.stderr

    assert "while there are no tokens" in refused("--host", "0.0.0.0")
    assert "while there are no tokens" in refused("--host", "0.0.0.0", "--expose")
    text = TokenBook(tmp_path / "clinic").create("ann", "viewer", seconds=60.0)[1]
    assert "add --expose" in refused("--host", "0.0.0.0")
    with listening(tmp_path / "clinic", "--host", "0.0.0.0", "--expose") as url:
        place = Place(tmp_path / "clinic", url.replace("0.0.0.0", "127.0.0.1"))
        assert place.sent(None).status_code == 401
        assert place.sent(text).status_code == 200
