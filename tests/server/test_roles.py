"""Who may do what: every route for every role, and for everybody who should not be let in."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import BaseRoute, Mount

import surehold as sh
from server.doors import (
    ADDRESSES,
    BODIES,
    GUARDED,
    MAY,
    MISSING,
    OF_THE_OTHER_GUARD,
    ORDER,
    PAGES,
    TABLE,
    WITHOUT_IDS,
    knocked,
)
from support.runtime import GUARDS, contents, made, records
from support.service import Running, raw, read, running, send
from surehold.server.app import application
from surehold.server.auth import ROLE, GuardedRoute
from surehold.server.tokens import FILE, TokenBook

by_route = pytest.mark.parametrize(("method", "path"), GUARDED, ids=lambda value: str(value))


# -------------------------------------------------------------------------------- the table


def all_routes(routes: list[Any]) -> Iterator[BaseRoute]:
    """Those of routers within routers too, however deep this FastAPI keeps them."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is None:
            yield route
        else:
            yield from all_routes(inner.routes)


def test_every_route_has_the_role_that_the_table_says():
    app = application()
    found: dict[tuple[str, str], str | None] = {}
    others = set()
    for route in all_routes(app.routes):
        if isinstance(route, GuardedRoute):
            found |= {(method, route.path_format): route.role for method in route.methods}
        else:
            others.add(route.path)
            assert isinstance(route, Mount) or not set(route.methods) - {"GET", "HEAD"}
    assert found == TABLE
    assert others == PAGES | {"/static"}


def test_openapi_says_the_same():
    paths = application().openapi()["paths"]
    listed = {
        (method.upper(), path): operation
        for path, operations in paths.items()
        for method, operation in operations.items()
    }
    assert {key: operation.get(ROLE) for key, operation in listed.items()} == TABLE
    for key, operation in listed.items():
        assert ("security" in operation) is (TABLE[key] is not None)
        assert {"401", "403"} <= set(operation["responses"]) or TABLE[key] is None


# ------------------------------------------------------------------------------- the matrix


@pytest.fixture(scope="module", params=GUARDS)
def doors(request, tmp_path_factory):
    """A service, tokens of each role, and what should not open it; the clock is at hand."""
    folder, now = tmp_path_factory.mktemp("roles"), [1_800_000_000.0]
    with (
        made(folder / "clinic", count=1000, guard=request.param) as dataset,
        made(folder / "other", count=200) as another,
    ):
        book = TokenBook(dataset.path, lambda: now[0])
        tokens = {role: book.create("ann", role, seconds=3600.0)[1] for role in ORDER}
        expired = book.create("ann", "custodian", seconds=1.0)[1]
        made_for_nothing, revoked = book.create("ann", "custodian", seconds=3600.0)
        book.revoke(made_for_nothing.id)
        now[0] += 2.0
        elsewhere = TokenBook(another.path).create("ann", "custodian", seconds=None)[1]
        good = tokens["custodian"]
        bad = {
            "none": None,
            "empty": "Bearer ",
            "no token": "Bearer",
            "garbled": "Bearer hf_xyz",
            "unknown": f"Bearer hf_{'0' * 12}_{'A' * 43}",
            "expired": f"Bearer {expired}",
            "revoked": f"Bearer {revoked}",
            "of another dataset": f"Bearer {elsewhere}",
            "another's secret": f"Bearer {good[:16]}{tokens['viewer'][16:]}",
            "longer": f"Bearer {good}A",
            "shorter": f"Bearer {good[:-1]}",
            "two": f"Bearer {good}, Bearer {good}",
            "upper case": f"Bearer {good.upper()}",
            "wrong scheme": f"Basic {good}",
            "no scheme": good,
            "beyond ASCII": f"Bearer {good[:-1]}é",
        }
        with running(dataset, book=book) as run:
            if dataset.guard == "noise":  # the other has a claim in its place
                dataset.append(records(1000, 1001))
            body = {"query": "bmi > 20", "round": 1000}
            answer = send(run.url, "POST", "/v1/ask", body, token=good)
            entry = ADDRESSES["/v1/transcript/{entry}"].rpartition("/")[2]
            assert answer.json["entry"] == int(entry)
            yield run, tokens, bad


@by_route
@pytest.mark.parametrize("role", ORDER)
def test_each_role_may_do_what_the_table_says_and_no_more(doors, method, path, role):
    run, tokens, _ = doors
    needed = TABLE[method, path]
    before = contents(run.dataset.path)
    got = knocked(run.url, method, path, tokens[role])
    if needed in MAY[role]:
        names = ("lab", "models", "tables", "watch", "retire", "succeed")
        invalid = {("POST", f"/v1/{name}") for name in names}
        model = (method, path) in invalid
        refused = path in OF_THE_OTHER_GUARD[run.dataset.guard]
        is_invalid = model or refused or (method, path) == WITHOUT_IDS
        is_missing = (method, path) in MISSING and not refused
        status = 404 if is_missing else 422 if is_invalid else 200
        assert (got.status, path) == (status, path)
        assert not refused or got.error == "WrongGuard"
        return
    assert (got.status, got.error) == (403, "AccessDenied")
    assert needed in got.json["error"]["message"]
    assert contents(run.dataset.path) == before


@by_route
def test_who_has_no_good_token_gets_nowhere(doors, method, path):
    run, _, bad = doors
    before = contents(run.dataset.path)
    for name, header in bad.items():
        given = {} if header is None else {"Authorization": header}
        got = knocked(run.url, method, path, **given)
        assert (name, got.status, got.error) == (name, 401, "AccessDenied")
        assert got.headers["www-authenticate"] == "Bearer"
        assert b"hf_" not in got.content  # not even what was sent is repeated
    assert contents(run.dataset.path) == before


@by_route
def test_a_refusal_comes_before_the_body(doors, method, path):
    """The head promises a body that never comes; who waits for it would not answer."""
    run, tokens, bad = doors
    kind = "application/json" if isinstance(BODIES.get(path), dict) else "text/csv"
    for authorization in (bad["unknown"], f"Bearer {tokens['viewer']}"):
        if authorization != bad["unknown"] and TABLE[method, path] in MAY["viewer"]:
            continue
        head = (
            f"{method} {ADDRESSES.get(path, path)} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: {authorization}\r\nContent-Type: {kind}\r\n"
            "Content-Length: 1000000\r\nConnection: close\r\n\r\n"
        )
        assert read(raw(run.url, head.encode())).status in (401, 403)


def test_the_page_and_health_are_for_everybody(doors):
    run, _, bad = doors
    for path in [*PAGES, "/healthz", "/static/main.js"]:
        for header in (bad["none"], bad["unknown"]):
            given = {} if header is None else {"Authorization": header}
            assert send(run.url, "GET", path, headers=given).status == 200
    shown = b"".join(send(run.url, "GET", path).content for path in PAGES)
    assert run.dataset.path.name.encode() not in re.sub(rb"[a-z]*clinic[a-z]+", b"", shown)


def test_the_scheme_may_be_written_in_any_case(doors):
    run, tokens, _ = doors
    for scheme in ("bearer", "BEARER"):
        given = {"Authorization": f"{scheme} {tokens['viewer']}"}
        assert send(run.url, "GET", "/v1/me", headers=given).json["role"] == "viewer"


# ------------------------------------------------------------------------------ open or not


def status_of(run: Running, token: str | None = None) -> int:
    return send(run.url, "GET", "/v1/status", token=token).status


def test_what_ends_a_token_counts_from_the_next_request_on(clinic):
    now = [1_800_000_000.0]
    book = TokenBook(clinic.path, lambda: now[0])
    with running(clinic, book=book) as run:
        brief = run.token("viewer", seconds=10.0)
        lasting = run.token("viewer")
        assert (status_of(run, brief), status_of(run, lasting)) == (200, 200)
        now[0] += 9.9
        assert status_of(run, brief) == 200
        now[0] += 0.1
        assert status_of(run, brief) == 401
        other = TokenBook(clinic.path)  # as another process has it
        other.revoke(lasting[3:15])
        assert status_of(run, lasting) == 401
        assert status_of(run, other.create("bob", "viewer", seconds=60.0)[1]) == 401  # of 2027
        assert status_of(run, book.create("bob", "viewer", seconds=60.0)[1]) == 200


def test_open_ends_with_the_first_token_and_never_comes_back(door):
    me = send(door.url, "GET", "/v1/me").json
    assert (me["analyst"], me["role"], me["token"]) == ("analyst", "analyst", None)
    assert send(door.url, "POST", "/v1/append", records(0, 1)).status == 403
    token = door.token("viewer")
    assert (status_of(door), status_of(door, token)) == (401, 200)
    TokenBook(door.dataset.path).revoke(token[3:15])
    assert (status_of(door), status_of(door, token)) == (401, 401)


DAMAGE = {
    "deleted": None,
    "empty": b"",
    "nothing in it": b'{"format":1,"tokens":[]}',
    "a list": b"[]",
    "another format": b'{"format":2,"tokens":[]}',
    "half": b'{"format":1,"tok',
    "not UTF-8": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "a folder": "folder",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_book_lets_nobody_in(door, how):
    token, path = door.token("custodian"), door.dataset.path / FILE
    assert status_of(door, token) == 200
    whole = path.read_bytes()
    path.unlink()
    if isinstance(damage := DAMAGE[how], bytes):
        path.write_bytes(damage)
    elif damage is not None:
        path.mkdir()
    before = contents(door.dataset.path)
    for given in (None, token):
        for method, address in GUARDED:
            assert knocked(door.url, method, address, given).status in (401, 503)
    assert contents(door.dataset.path) == before
    if how == "a folder":
        path.rmdir()
    path.write_bytes(whole)
    assert (status_of(door), status_of(door, token)) == (401, 200)


@pytest.mark.parametrize("how", sorted(set(DAMAGE) - {"deleted"}))
def test_a_service_that_was_open_is_closed_by_a_book_it_cant_read(door, how):
    """And stays so when that is taken away: there was one, and it may have had tokens in it."""
    path = door.dataset.path / FILE
    assert status_of(door) == 200
    if isinstance(damage := DAMAGE[how], bytes):
        path.write_bytes(damage)
    else:
        path.mkdir()
    assert status_of(door) in (401, 503)
    os.rename(path, path.with_name("elsewhere"))  # noqa: PTH104 -- a folder too
    assert status_of(door) in (401, 503)


# ------------------------------------------------------------------------------------ limits


def test_a_limit_is_exact_however_many_ask_at_once(clinic):
    total = clinic.status().budget.total
    with running(clinic) as run:
        token = run.token(limit=0.25)
        statuses: list[int] = []

        def ask(worker: int) -> None:
            for i in range(12):
                body = {"query": f"age > {worker} + {i} / 100"}
                statuses.append(send(run.url, "POST", "/v1/ask", body, token=token).status)

        threads = [threading.Thread(target=ask, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent = send(run.url, "GET", "/v1/me", token=token).json["limit"]
        charge = send(run.url, "POST", "/v1/quote", {"query": "bmi > 7"}, token=token).json
        given = [answer for answer in clinic.transcript if answer.analyst == "ann"]
        assert set(statuses) == {200, 402}
        assert statuses.count(200) == len(given)
        assert spent["total"] == pytest.approx(total / 4)
        assert spent["spent"] <= spent["total"] < spent["spent"] + charge["charge"]
        assert spent["spent"] == pytest.approx(sum(answer.charge for answer in given))
        assert charge["allowed"] is False
        free = run.token(analyst="bob")
        assert send(run.url, "POST", "/v1/ask", {"query": "bmi > 7"}, token=free).status == 200


def test_the_ledger_names_who_the_token_is_of(door):
    token = door.token(analyst="bob")
    body = {"query": "age > 65"}
    got = send(door.url, "POST", "/v1/ask", body, token=token, headers={"X-Analyst": "eve"})
    assert got.json["analyst"] == "bob"
    for extra in ({"analyst": "eve"}, {"limit": 1.0}, {"role": "custodian"}):
        asked = {"query": "age > 66", **extra}
        refused = send(door.url, "POST", "/v1/ask?analyst=eve", asked, token=token)
        assert (refused.status, refused.error) == (422, "InvalidInput")
    assert {answer.analyst for answer in door.dataset.transcript} == {"bob"}
    with sh.open(door.dataset.path) as again:
        assert again.verify().answers == 1
