"""A recorded answer is sent again as it was sent before, until anything changes it."""

from __future__ import annotations

from typing import Any

import pytest

import surehold as sh
from support.runtime import made, opened, records
from support.service import Running, check_headers, running, send
from surehold.session import Session

QUERY = {"query": "age > 50"}


@pytest.fixture
def asked(monkeypatch) -> list[Any]:
    """The questions that came as far as a session."""
    found, ask = [], Session.ask
    monkeypatch.setattr(
        Session, "ask", lambda self, query, **more: found.append(query) or ask(self, query, **more)
    )
    return found


def told(door: Running, body: dict[str, Any] = QUERY, token: str | None = None) -> Any:
    got = send(door.url, "POST", "/v1/ask", body, token=token)
    check_headers(got)
    assert got.status == 200, got.content
    assert got.headers["content-type"] == "application/json"
    return got.json


def test_it_is_sent_again_without_a_look(door, clinic, asked) -> None:
    first, second = told(door), told(door)
    assert (first["recorded"], second["recorded"]) == (False, True)
    told(door, {"query": "age > 60"})  # which changes nothing about the other
    assert len(asked) == 3
    assert [told(door), told(door, {**QUERY}), told(door)] == [second] * 3
    assert len(asked) == 3
    assert second == {**first, "recorded": True}
    assert told(door, {**QUERY, "key": "mine"})["key"] is None
    assert len(asked) == 4  # the key has to be noted
    assert len(clinic.transcript) == 2


@pytest.mark.parametrize("by", ["this service", "another process"])
def test_records_end_it(door, clinic, asked, by) -> None:
    before = [told(door) for _ in range(3)][-1]
    count = len(asked)
    if by == "this service":
        clinic.append(records(1000, 1100))
    else:
        with opened(clinic.path) as other:
            other.append(records(1000, 1100))
    after = told(door)
    assert (before["round"], after["round"], after["recorded"]) == (1000, 1100, False)
    assert len(asked) == count + 1
    assert told(door, {**QUERY, "round": 1000}) == before


def test_a_name_is_shown_at_once(door, clinic) -> None:
    assert [told(door) for _ in range(3)][-1]["title"] is None
    clinic.session().register(sh.Dashboard.of([{"name": "old", "question": "age > 50"}]))
    assert told(door)["title"] == "old"


def test_a_closed_dataset_has_no_answers(tmp_path) -> None:
    path = tmp_path / "clinic"
    with made(path, count=1000, guard="surprise") as dataset, running(dataset) as door:
        assert [told(door) for _ in range(3)][-1]["recorded"]
        sh.succeed(path, tmp_path / "next", reason="another type", columns={"age": "float"})
        assert send(door.url, "POST", "/v1/ask", QUERY).status == 410


def test_what_follows_from_answers_says_what_is_left_now(door) -> None:
    told(door)
    gate = {"query": "gate(age > 50, at_least, 0.1)"}  # which has no entry of its own
    shown = [told(door, gate) for _ in range(3)][-1]
    told(door, {"query": "age > 60"})
    assert told(door, gate)["answers_left"] == shown["answers_left"] - 1


def test_a_revoked_token_ends_at_once(door) -> None:
    token = door.token("analyst", "ann")
    assert [told(door, token=token) for _ in range(3)][-1]["recorded"]
    [number] = [one.id for one in door.service.book.tokens]
    door.service.book.revoke(number)
    assert send(door.url, "POST", "/v1/ask", QUERY, token=token).status == 401
    assert send(door.url, "POST", "/v1/ask", QUERY).status == 401
    viewer = door.token("viewer", "eve")
    assert send(door.url, "POST", "/v1/ask", QUERY, token=viewer).status == 403
