"""Several datasets on one server: who sees which, and that nobody learns of the others."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Mount

import surehold as sh
from server.doors import (
    ADDRESSES,
    GUARDED,
    MAY,
    MISSING,
    OF_THE_OTHER_GUARD,
    ORDER,
    TABLE,
    WITHOUT_IDS,
    knocked,
)
from server.test_roles import all_routes
from support.runtime import COLUMNS, adaptive_plan, made, opened, records
from support.service import QUICK, Got, check_refusal, hosting, knock, read, send
from surehold.errors import InvalidInput
from surehold.server.app import front
from surehold.server.auth import GuardedRoute
from surehold.server.dispatch import check_base_path
from surehold.server.host import Host, check_root
from surehold.server.limits import Rates
from surehold.server.tokens import FILE, Role, TokenBook

# By hand: what a server with several datasets has at its root, and who may use it.
FRONT: dict[tuple[str, str], str | None] = {
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/v1/datasets"): "any",
    ("POST", "/v1/datasets"): "custodian",
    ("GET", "/v1/tokens"): "custodian",
    ("POST", "/v1/tokens"): "custodian",
    ("DELETE", "/v1/tokens/{id}"): "custodian",
    ("GET", "/v1/session"): "any",
    ("POST", "/v1/session"): "any",
    ("DELETE", "/v1/session"): "any",
    ("GET", "/v1/oidc/start"): None,
    ("GET", "/v1/oidc/callback"): None,
}
NEW = {"name": "new", "columns": {"x": "int"}, "beta": 0.05}
ASKED = {"query": "age > 65"}


@dataclass(frozen=True)
class House:
    """A server with the datasets clinic (noise), shop (surprise) and a damaged one."""

    url: str
    root: Path
    host: Host

    def at(self, name: str) -> str:
        return f"{self.url}/d/{name}"

    def token(self, role: Role = "analyst", *names: str, analyst: str = "ann") -> str:
        """A token of the server for these datasets, or for all."""
        book = TokenBook(self.root, guard=None)
        return book.create(analyst, role, seconds=3600.0, datasets=names or None)[1]

    def own(self, name: str, role: Role = "analyst", **options: Any) -> str:
        """A token of one dataset."""
        book = TokenBook(self.root / name)
        return book.create("bob", role, seconds=3600.0, **options)[1]

    def names(self, token: str | None) -> list[str]:
        got = send(self.url, "GET", "/v1/datasets", token=token).json
        return [one["name"] for one in got["datasets"]]


def build(root: Path) -> None:
    for name, guard in (("clinic", "noise"), ("shop", "surprise"), ("damaged", "noise")):
        made(root / name, count=1000, guard=guard).close()
    (root / "damaged" / "ledger.sqlite").write_bytes(b"no ledger")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder, to be copied."""
    root = tmp_path_factory.mktemp("built") / "datasets"
    build(root)
    return root


def served(root: Path, **settings: Any) -> Any:
    return Host(settings=replace(QUICK, **settings), root=root, open_dataset=opened)


@pytest.fixture
def house(built, tmp_path) -> Iterator[House]:
    root = tmp_path / "datasets"
    shutil.copytree(built, root)
    host = served(root)
    with hosting(host) as url:
        yield House(url, root, host)


@pytest.fixture(scope="module")
def full(built, tmp_path_factory) -> Iterator[tuple[House, dict[str, str]]]:
    """A server for tests that change little, and tokens of every role for two datasets."""
    root = tmp_path_factory.mktemp("full") / "datasets"
    shutil.copytree(built, root)
    host = served(root)
    with hosting(host) as url:
        found = House(url, root, host)
        yield found, {role: found.token(role, "clinic", "shop") for role in ORDER}


def told(got: Got) -> tuple[int, bytes, dict[str, str]]:
    """What a caller learns, but for the number of the request and the time."""
    kept = {k: v for k, v in got.headers.items() if k not in ("x-request-id", "date")}
    return got.status, got.content, kept


# ------------------------------------------------------------------------------------ the matrix


def test_every_route_at_the_root_has_the_role_that_the_table_says(house):
    found = {}
    for route in all_routes(front(house.host).routes):
        if isinstance(route, GuardedRoute):
            found |= {(method, route.path_format): route.role for method in route.methods}
        else:
            assert isinstance(route, Mount) or not set(route.methods) - {"GET", "HEAD"}
            assert route.path in ("/", "/tokens", "/static", "/openapi.json")
    assert found == FRONT


@pytest.mark.parametrize("role", ORDER)
@pytest.mark.parametrize("name", ["clinic", "shop"])
def test_a_token_for_several_has_its_role_on_each(full, name, role):
    house, tokens = full
    for method, path in GUARDED:
        if path == "/v1/transcript/{entry}":
            continue  # nothing was asked
        got = knocked(house.at(name), method, path, tokens[role])
        # A successor is a new dataset, which only a custodian of all may create.
        if TABLE[method, path] not in MAY[role] or path == "/v1/succeed":
            assert (got.status, got.error, path) == (403, "AccessDenied", path)
            continue
        refused = path in OF_THE_OTHER_GUARD[house.host.site(name).dataset.guard]
        invalid = path in {f"/v1/{one}" for one in ("lab", "models", "tables", "watch", "retire")}
        fine = method == "GET" or not (invalid or (method, path) == WITHOUT_IDS)
        missing = (method, path) in MISSING and not refused
        expected = 404 if missing else 200 if fine and not refused else 422
        assert (got.status, method, path) == (expected, method, path)


@pytest.mark.parametrize("role", ORDER)
def test_at_the_root_only_custodians_of_all_datasets_do_anything_but_look(house, role):
    some, own = house.token(role, "clinic", "shop"), house.own("clinic", role)
    every = house.token(role)
    for (method, path), needed in FRONT.items():
        if needed in (None, "any"):
            continue
        body = {"/v1/datasets": NEW, "/v1/tokens": {"analyst": "x"}}.get(path)
        address = ADDRESSES.get(path, path)
        for token in (some, own):
            check_refusal(send(house.url, method, address, body, token=token), 403)
        got = send(house.url, method, address, body, token=every)
        assert got.status == ((404 if method == "DELETE" else 200) if role == "custodian" else 403)
    assert house.names(some) == ["clinic", "shop"]
    assert house.names(own) == ["clinic"]


# ------------------------------------------------------------------------------------ who sees what


def test_the_list_shows_what_the_caller_has_access_to_and_nothing_else(house):
    one, two = house.token("viewer", "clinic"), house.token("viewer", "clinic", "shop")
    boss, own = house.token("custodian"), house.own("shop", "appender")
    assert (house.names(one), house.names(two)) == (["clinic"], ["clinic", "shop"])
    assert (house.names(boss), house.names(own)) == (["clinic", "damaged", "shop"], ["shop"])
    got = send(house.url, "GET", "/v1/datasets", token=one)
    assert got.json["datasets"] == [
        {
            "name": "clinic",
            "address": "/d/clinic",
            "role": "viewer",
            "state": "ready",
            "guard": "noise",
            "n": 1000,
            "answers": 0,
            "reason": None,
        }
    ]
    assert check_refusal(send(house.url, "GET", "/v1/datasets"), 401)
    assert check_refusal(send(house.url, "GET", "/v1/datasets", token="hf_x"), 401)


def test_nobody_without_access_can_tell_a_dataset_from_a_name_that_none_has(house):
    expired = TokenBook(house.root / "clinic", lambda: 1.0).create("x", "viewer", seconds=1.0)[1]
    callers = {
        "nobody": None,
        "unknown": f"hf_{'0' * 12}_{'A' * 43}",
        "of another": house.own("clinic"),
        "for another": house.token("custodian", "clinic"),
        "expired": expired,
    }
    statuses = {"nobody": 401, "unknown": 401, "of another": 404, "for another": 404}
    for name in ("shop", "damaged"):
        for who, token in callers.items():
            for method, path in GUARDED:
                there = knocked(house.at(name), method, path, token)
                nowhere = knocked(house.at("nowhere"), method, path, token)
                assert told(there) == told(nowhere), (name, who, method, path)
                assert there.status == statuses.get(who, 401)
                assert name.encode() not in there.content
    for path in ("/", "/ask", "/openapi.json", "/healthz", "/static/main.js", "/nothing"):
        here, nowhere = (send(house.at(one), "GET", path) for one in ("shop", "nowhere"))
        assert here.status == nowhere.status
        assert here.content.replace(b"/d/shop", b"/d/nowhere") == nowhere.content


def test_a_damaged_dataset_says_so_and_the_others_go_on(house):
    boss = house.token("custodian")
    listed = send(house.url, "GET", "/v1/datasets", token=boss).json["datasets"]
    states = {one["name"]: one["state"] for one in listed}
    assert states == {"clinic": "ready", "damaged": "damaged", "shop": "ready"}
    for _ in range(2):
        got = send(house.at("damaged"), "POST", "/v1/ask", ASKED, token=boss)
        assert check_refusal(got, 500)["type"] == "LedgerCorrupt"
        for name in ("clinic", "shop"):
            assert send(house.at(name), "POST", "/v1/ask", ASKED, token=boss).status == 200


def test_a_damaged_book_locks_out_only_its_own(house):
    boss, own, other = house.token("viewer"), house.own("clinic"), house.own("shop")
    (house.root / "clinic" / FILE).write_bytes(b"{")
    assert send(house.at("clinic"), "GET", "/v1/me", token=own).status == 401
    assert send(house.at("clinic"), "GET", "/v1/me").status == 401
    assert send(house.at("clinic"), "GET", "/v1/status", token=boss).status == 200
    limit = send(house.at("clinic"), "GET", "/v1/me", token=boss)  # which cannot be known
    assert check_refusal(limit, 503)["type"] == "StorageFailed"
    assert send(house.at("shop"), "GET", "/v1/me", token=other).status == 200
    assert (house.names(other), house.names(boss)) == (["shop"], ["clinic", "damaged", "shop"])
    (house.root / FILE).write_bytes(b"{")
    assert send(house.at("shop"), "GET", "/v1/me", token=other).status == 503


def test_a_revoked_token_ends_at_once_on_all_its_datasets(house):
    token = house.token("viewer", "clinic", "shop")
    assert {send(house.at(n), "GET", "/v1/me", token=token).status for n in ("clinic", "shop")} == {
        200
    }
    TokenBook(house.root, guard=None).revoke(token[3:15])
    assert {send(house.at(n), "GET", "/v1/me", token=token).status for n in ("clinic", "shop")} == {
        401
    }
    assert send(house.url, "GET", "/v1/datasets", token=token).status == 401


def test_without_tokens_it_is_open_to_this_machine_only(house):
    assert house.names(None) == ["clinic", "damaged", "shop"]
    assert send(house.at("clinic"), "POST", "/v1/ask", ASKED).status == 200
    assert send(house.at("nowhere"), "GET", "/v1/me").status == 404
    for header in ({"Host": "evil.example"}, {"X-Forwarded-For": "9.9.9.9"}):
        assert send(house.url, "GET", "/v1/datasets", headers=header).status == 403
    house.own("clinic")
    assert house.names(None) == ["damaged", "shop"]
    assert send(house.at("clinic"), "GET", "/v1/me").status == 401
    assert send(house.at("nowhere"), "GET", "/v1/me").status == 401
    assert send(house.at("shop"), "GET", "/v1/me").status == 200
    house.token("viewer", "clinic")
    assert send(house.at("shop"), "GET", "/v1/me").status == 401


def test_where_other_machines_can_connect_everybody_needs_a_token(built):
    host = Host(settings=QUICK, root=built, is_exposed=True, open_dataset=opened)
    with hosting(host) as url:
        for path in ("/v1/datasets", "/d/clinic/v1/me", "/d/nowhere/v1/me"):
            assert send(url, "GET", path).status == 401
    assert not host.has_tokens


def test_each_has_its_own_limits_ledger_metrics_and_events(house):
    mine = house.own("clinic", limit=0.25)
    wide = TokenBook(house.root, guard=None).create("bob", "analyst", seconds=60.0)[1]
    assert send(house.at("clinic"), "GET", "/v1/me", token=wide).json["limit"]["spent"] == 0.0
    assert send(house.at("shop"), "GET", "/v1/me", token=wide).json["limit"] is None
    assert send(house.at("clinic"), "POST", "/v1/ask", ASKED, token=mine).status == 200
    for name, count in (("clinic", 1), ("shop", 0)):
        text = send(house.at(name), "GET", "/metrics", token=wide).content.decode()
        assert f"surehold_answers {count}.0" in text
    with pytest.raises(InvalidInput, match="limit"):
        TokenBook(house.root, guard=None).create("x", "analyst", seconds=60.0, limit=0.5)
    head = f"GET /d/clinic/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {wide}\r\n\r\n"
    with knock(house.url, head.encode()) as connection:
        heard = b""
        while b'"answers":' not in heard.replace(b" ", b""):
            heard += connection.recv(1 << 16)
        assert read(heard).status == 200
        assert b'"name": "clinic"' in heard


# ------------------------------------------------------------------------------------ custody


def test_a_custodian_creates_fills_and_retires_a_dataset(house):
    boss = house.token("custodian")
    for body in (NEW, {**NEW, "name": "plan", "beta": None, "plan": adaptive_plan().to_dict()}):
        got = send(house.url, "POST", "/v1/datasets", body, token=boss)
        assert (got.status, got.json["n"], got.json["state"]) == (200, 0, "ready")
        again = check_refusal(send(house.url, "POST", "/v1/datasets", body, token=boss), 409)
        assert str(house.root) not in str(again)
    new = house.at("new")
    rows = [{"x": i} for i in range(600)]
    assert send(new, "POST", "/v1/append", rows, token=boss).json["n"] == 600
    assert send(new, "POST", "/v1/ask", {"query": "x > 300"}, token=boss).status == 200
    got = send(new, "POST", "/v1/retire", {"reason": "superseded"}, token=boss)
    assert (got.status, got.json["by"], got.json["reason"]) == (200, "ann", "superseded")
    for path, body in (("ask", {"query": "x > 1"}), ("append", rows), ("register", ASKED)):
        error = check_refusal(send(new, "POST", f"/v1/{path}", body, token=boss), 410)
        assert "superseded" in error["message"]
    assert send(new, "POST", "/v1/reserve", {"analyst": "a", "amount": 0}, token=boss).status == 410
    assert send(new, "GET", "/v1/status", token=boss).json["answers"] == 1
    assert send(new, "POST", "/v1/verify", token=boss).status == 200
    listed = send(house.url, "GET", "/v1/datasets", token=boss).json["datasets"]
    found = {one["name"]: (one["state"], one["reason"]) for one in listed}
    assert found["new"] == ("retired", "superseded")


@pytest.mark.parametrize("name", ["", "..", ".x", "a/b", "a b", "é", "x" * 65, "a\\b", "%2e%2e"])
def test_names_are_parts_of_an_address_and_nothing_else(house, name):
    boss = house.token("custodian")
    before = sorted(path.name for path in house.root.parent.rglob("*"))
    got = send(house.url, "POST", "/v1/datasets", {**NEW, "name": name}, token=boss)
    check_refusal(got, 422)
    assert sorted(path.name for path in house.root.parent.rglob("*")) == before


def test_what_cannot_be_created_leaves_nothing(house):
    boss = house.token("custodian")
    for change in ({"beta": None}, {"beta": 2}, {"columns": {"x": "lions"}}, {"plan": {}}):
        got = send(house.url, "POST", "/v1/datasets", {**NEW, **change}, token=boss)
        error = check_refusal(got, 422)
        assert str(house.root) not in str(error)
    assert not (house.root / "new").exists()


def test_a_fixed_list_of_datasets_does_not_grow(built):
    host = Host([built / "clinic", built / "shop"], QUICK, open_dataset=opened)
    with hosting(host) as url:
        assert len(send(url, "GET", "/v1/datasets").json["datasets"]) == 2
        assert send(url, "POST", "/v1/datasets", NEW).status == 403
        assert send(url, "GET", "/v1/tokens").status == 403
    for folders in ([built / "clinic", built / "shop" / ".." / "clinic"], [built]):
        with pytest.raises(InvalidInput):
            Host([folder.resolve() for folder in folders])
    with pytest.raises(InvalidInput, match="a folder of datasets"):
        check_root(built / "clinic")


def test_custodians_create_list_and_revoke_tokens(house):
    boss = house.token("custodian")
    keeper = house.own("clinic", "custodian")
    body = {"analyst": "cy", "role": "analyst", "expires": "12h", "limit": 0.5}
    made_ = send(house.at("clinic"), "POST", "/v1/tokens", body, token=keeper).json
    assert (made_["analyst"], made_["limit"], made_["datasets"]) == ("cy", 0.5, None)
    assert send(house.at("clinic"), "POST", "/v1/ask", ASKED, token=made_["token"]).status == 200
    assert send(house.at("shop"), "GET", "/v1/me", token=made_["token"]).status == 404
    body = {"analyst": "di", "role": "viewer", "expires": "never", "datasets": ["shop", "clinic"]}
    wide = send(house.url, "POST", "/v1/tokens", body, token=boss).json
    assert house.names(wide["token"]) == ["clinic", "shop"]
    for url, token, gone in ((house.at("clinic"), keeper, made_), (house.url, boss, wide)):
        listed = send(url, "GET", "/v1/tokens", token=token)
        assert b"hash" not in listed.content
        assert gone["token"].encode() not in listed.content
        assert {one["id"]: one["state"] for one in listed.json["tokens"]}[gone["id"]] == "valid"
        assert send(url, "DELETE", f"/v1/tokens/{gone['id']}", token=token).json["revoked"]
        assert send(house.at("clinic"), "GET", "/v1/me", token=gone["token"]).status == 401
        after = {
            one["id"]: one["state"]
            for one in send(url, "GET", "/v1/tokens", token=token).json["tokens"]
        }
        assert after[gone["id"]] == "revoked"
    for wrong in ({"role": "king"}, {"expires": "soon"}, {"limit": 7}, {"analyst": ""}, {"x": 1}):
        got = send(
            house.at("clinic"),
            "POST",
            "/v1/tokens",
            {**body, "datasets": ["clinic"]} | wrong,
            token=keeper,
        )
        check_refusal(got, 422)


# ------------------------------------------------------------------------------------ paths


@pytest.mark.parametrize("passes", [True, False], ids=["kept", "removed"])
def test_behind_a_base_path_everything_begins_with_it(built, passes):
    host = served(built, base_path="/eval/data")
    with hosting(host) as public:
        url = public if passes else public.removesuffix("/eval/data")
        listed = send(url, "GET", "/v1/datasets").json["datasets"]
        assert {one["address"] for one in listed} == {
            f"/eval/data/d/{name}" for name in ("clinic", "damaged", "shop")
        }
        for root in ("", "/d/clinic"):
            page = send(url, "GET", f"{root}/").content.decode()
            links = re.findall('(?:href|src|data-root)="(/[^"]*)"', page)
            assert links
            assert {link.startswith(f"/eval/data{root}/") for link in links} == {True}
            scripts = [link for link in links if "/static/" in link]
            own = public.removesuffix("/eval/data")
            assert {send(own, "GET", link).status for link in scripts} == {200}
            described = send(url, "GET", f"{root}/openapi.json").json
            assert described["servers"] == [{"url": f"/eval/data{root}"}]
        assert send(url, "GET", "/d/clinic/v1/me").status == 200
        allowed = send(url, "PUT", "/d/clinic/v1/models")
        assert (allowed.status, allowed.headers["allow"]) == (405, "GET, POST")
        if passes:
            with sh.connect(f"{url}/d/clinic") as session:
                assert session.quote("age > 50").allowed
            assert send(public.removesuffix("/data"), "GET", "/v1/datasets").status == 404


@pytest.mark.parametrize("given", ["eval", "/d", "/v1/x", "/a b", "//x", "/a//b", "/../x", '/"x'])
def test_a_base_path_is_plain(given):
    with pytest.raises(InvalidInput, match="--base-path"):
        check_base_path(given)
    assert [check_base_path(fine) for fine in ("", "/", "/eval", "/eval/", "/a/b")] == [
        *("", "", "/eval", "/eval", "/a/b")
    ]


def test_one_dataset_is_also_below_its_name(tmp_path):
    from support.service import running

    with made(tmp_path / "clinic", count=300) as dataset, running(dataset) as run:
        for root in ("", "/d/clinic"):
            assert send(run.url, "GET", f"{root}/v1/status").json["name"] == "clinic"
        assert send(run.url, "GET", "/d/other/v1/status").status == 404
        listed = send(run.url, "GET", "/v1/datasets").json["datasets"]
        assert [(one["name"], one["address"]) for one in listed] == [("clinic", "/d/clinic")]
        token = run.token("viewer")
        assert send(run.url, "GET", "/d/clinic/v1/status", token=token).status == 200
        assert send(run.url, "GET", "/d/other/v1/status", token=token).status == 404
        assert send(run.url, "GET", "/d/other/v1/status").status == 401
        assert send(run.url, "GET", "/v1/datasets", token=token).status == 200


def test_no_response_names_a_folder_of_the_server(full):
    house, tokens = full
    hidden = str(house.root.parent).encode()
    shutil.rmtree(house.root / "damaged" / "segments")
    (house.root / "damaged" / "ledger.sqlite").unlink()
    boss = house.token("custodian")
    for name in ("clinic", "shop", "damaged"):
        for method, path in GUARDED:
            for token in (*tokens.values(), boss):
                got = knocked(house.at(name), method, path, token)
                assert hidden not in got.content, (name, method, path)
    bad = {"Content-Type": "text/csv"}
    got = send(house.at("clinic"), "POST", "/v1/append", b"\xff\xfe,\n", token=boss, headers=bad)
    assert got.status == 422
    assert hidden not in got.content


# ------------------------------------------------------------------------------------ proxies


@pytest.mark.parametrize("is_named", [True, False])
def test_forwarded_addresses_count_only_from_named_proxies(built, is_named):
    """Failed attempts are limited by address: that of the client, or of the proxy for all."""
    host = served(built, proxies=("127.0.0.1",) if is_named else ())
    host.limits.strangers = Rates(1.0, clock=lambda: 0.0)
    with hosting(host) as url:
        host.site("clinic").access._strangers = host.limits.strangers

        def attempt(client: str) -> int:
            forwarded = {"X-Forwarded-For": client}
            return send(url, "GET", "/d/clinic/v1/me", token="hf_x", headers=forwarded).status

        first = [attempt("203.0.113.7") for _ in range(3)]
        assert first == [401, 401, 429]
        assert attempt("203.0.113.8") == (401 if is_named else 429)


def test_columns_are_those_that_were_given(house):
    boss = house.token("custodian")
    body = {"name": "typed", "columns": COLUMNS, "beta": "1/20", "id": "age"}
    assert send(house.url, "POST", "/v1/datasets", body, token=boss).status == 200
    with sh.connect(house.at("typed"), token=boss) as session:
        assert dict(session.columns) == COLUMNS | {"age": "int id"}
        assert session.append(records(0, 50)).n > 0
