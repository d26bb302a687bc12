"""A dataset with the surprise guard over HTTP: the library's dictionaries, limits in bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import surehold as sh
from server.doors import ADDRESSES, OF_THE_OTHER_GUARD
from support.runtime import made
from support.service import Running, running, send
from surehold.server.settings import Settings
from surehold.server.tokens import TokenBook

ASKED: dict[str, dict[str, Any]] = {
    "plain": {"query": "age > 50"},
    "expected": {"query": "bmi > 20", "expect": 0.6, "within": 0.01, "doubt": 0.05},
    "expected as text": {"query": "bmi > 21", "expect": "0.6", "within": "1/100", "doubt": "0.05"},
    "a surprise": {"query": "bmi > 22", "expect": 0, "within": 0.01},
    "a gate": {"query": "gate(age > 5, at_least, 0.8)", "expect": "pass", "doubt": 0.1},
    "one side": {"query": "gate(age > 5, at_least, 0.7)", "expect": "not pass"},
    "the ladder": {"query": "difference(age > 5, age > 6)", "expect": "no", "within": 0.05},
    "a difference": {"query": "difference(age > 50, bmi > 20)"},
    "a rate": {"query": "rate(age > 50, bmi > 20)"},
    "a mean": {"query": "mean(bmi, 10, 60)", "expect": 25, "within": 0.5},
    "an area": {"query": "auc(age, bmi > 25)"},
    "a selection": {"query": "select(highest, 25, age > 50, age > 60, age > 40)"},
    "a table": {"query": "histogram(city in ('Oslo', 'Bergen'))"},
    "an early round": {"query": "age > 51", "round": 12},
}


@pytest.fixture
def door(tmp_path) -> Iterator[Running]:
    with made(tmp_path / "evals", count=1000, guard="surprise") as dataset, running(dataset) as run:
        yield run


def post(run: Running, path: str, body: Any, **options: Any) -> Any:
    got = send(run.url, "POST", path, body, **options)
    assert got.status == 200, got.content
    return got.json


def as_new(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = replace(result, recorded=False).to_dict()
    return found


def test_results_and_quotes_are_the_librarys_own(door: Running):
    session = door.dataset.session("analyst")
    for name, body in ASKED.items():
        asked = {key: value for key, value in body.items() if key not in ("query", "round")}
        here = session.at(body.get("round"))
        quote = here.quote(body["query"], **asked)
        assert post(door, "/v1/quote", body) == quote.to_dict(), name
        told = post(door, "/v1/ask", body)
        again = here.ask(body["query"], **asked)
        assert isinstance(again, sh.Outcome)
        assert told == as_new(again), name
        assert 0.0 < told["surprise"] <= quote.most, name
        entry = send(door.url, "GET", f"/v1/transcript/{told['entry']}")
        assert entry.json == again.to_dict()
    listed = send(door.url, "GET", "/v1/transcript").json["answers"]
    assert listed == [one.to_dict() for one in door.dataset.transcript]
    assert len(listed) == len(ASKED)
    assert send(door.url, "GET", "/v1/status").json == door.dataset.status().to_dict()
    assert post(door, "/v1/verify", None) == door.dataset.verify().to_dict()


def test_numbers_are_kept_as_they_are_written(door: Running):
    body = {"query": "age > 50", "expect": 0.1, "within": "0.30000000000000000001"}
    entry = post(door, "/v1/ask", body)["entry"]
    asked = door.dataset._ledger.store.entry(entry).read()["asked"]
    assert asked == {"expect": "1/10", "within": "30000000000000000001/1" + 20 * "0", "doubt": None}


def test_several_and_select(door: Running):
    session = door.dataset.session("analyst")
    texts = ["age > 11", "rate(age > 11, bmi > 20)"]
    told = post(door, "/v1/ask-many", {"queries": texts})["answers"]
    again = session.ask_many(texts)
    assert told == [as_new(one) for one in again]
    body = {"candidates": {"young": "age < 12", "old": "age > 80"}, "best": "highest"}
    told = post(door, "/v1/select", body)
    query = sh.select(body["candidates"], best="highest")
    assert told == as_new(session.ask(query))
    assert (told["kind"], told["name"]) == ("selection", "old")


# ----------------------------------------------------------------------------------- registering


def test_registering(door: Running, tmp_path):
    with made(tmp_path / "twin" / "evals", count=1000, guard="surprise") as twin:
        session, token = twin.session("custodian"), door.token("custodian", "custodian")
        for body in ({"queries": ["age > 50", "bmi > 20"]}, {"queries": ["age > 50", "age > 3"]}):
            told = post(door, "/v1/register", {**body, "share": 0.25}, token=token)["registered"]
            local = session.register(body["queries"], share=0.25)
            assert told == [one.to_dict() for one in local]
    assert [one["new"] for one in told] == [False, True]
    assert door.dataset.status().claims == 3
    assert post(door, "/v1/ask", {"query": "age > 50"}, token=token)["claim"] == 1


def test_each_registered_question_counts_as_a_request_in_full(tmp_path):
    with (
        made(tmp_path / "evals", count=10, guard="surprise") as dataset,
        running(dataset, Settings(rate=50.0)) as run,
    ):
        token = run.token("custodian")  # who may register any number in a day
        queries = [f"age > {i}" for i in range(2000)]
        post(run, "/v1/register", {"queries": queries}, token=token)
        entries = dataset.last_entry
        more = {"queries": ["bmi > 1"]}
        got = send(run.url, "POST", "/v1/register", more, token=token)
        while "rate limit of 50 requests" in got.json["error"]["message"]:  # which forgives soon
            got = send(run.url, "POST", "/v1/register", more, token=token)
        assert (got.status, got.error) == (429, "RequestRefused")
        assert got.json["error"]["details"]["retry_after"] > 10.0
        assert dataset.last_entry == entries


def test_only_the_custodian_declares_a_share(door: Running):
    body = {"queries": ["age > 50"], "share": 1}
    before = send(door.url, "POST", "/v1/register", body)  # while there are no tokens
    tokens = (door.token(analyst="bob", limit=40), door.token(analyst="eve"))
    later = (send(door.url, "POST", "/v1/register", body, token=token) for token in tokens)
    for got in (before, *later):
        assert (got.status, got.error) == (403, "AccessDenied")
        assert "it takes the role custodian, and yours is analyst" in got.json["error"]["message"]
    eve, custodian = door.token(analyst="eve"), door.token("custodian", analyst="cleo")
    assert door.dataset.status().claims == 0
    post(door, "/v1/register", {"queries": ["age > 50"]}, token=eve)
    post(door, "/v1/register", {"queries": ["age > 51"], "share": 0.5}, token=custodian)
    assert door.dataset.status().claims == 2


def test_analysts_register_so_many_a_day(door: Running, monkeypatch):
    monkeypatch.setattr("surehold.ledger.draft.FREE_A_DAY", 3)
    eve, custodian = door.token(analyst="eve"), door.token("custodian", analyst="cleo")
    post(door, "/v1/register", {"queries": ["age > 1", "age > 2"]}, token=eve)
    post(door, "/v1/register", {"queries": ["2 < age", "age > 1"]}, token=eve)  # known: not counted
    got = send(door.url, "POST", "/v1/register", {"queries": ["age > 3", "age > 4"]}, token=eve)
    assert (got.status, got.error) == (429, "RequestRefused")
    assert "free entries" in got.json["error"]["message"]
    assert got.json["error"]["details"]["retry_after"] > 0.0
    assert door.dataset.status().claims == 2  # all of them or none
    post(door, "/v1/register", {"queries": ["age > 3"]}, token=eve)
    post(door, "/v1/register", {"queries": [f"age > {i}" for i in range(9)]}, token=custodian)
    assert door.dataset.status().claims == 9
    assert post(door, "/v1/ask", {"query": "age > 44"}, token=eve)["claim"] == 10  # it is charged
    door.dataset.verify()


# ---------------------------------------------------------------------------------------- limits


def test_a_limit_is_in_bits(door: Running):
    token = door.token(analyst="bob", limit=12.5)
    me = send(door.url, "GET", "/v1/me", token=token).json
    assert (me["guard"], me["limit"]) == (
        "surprise",
        door.dataset.session("bob", limit=12.5).limit.to_dict(),
    )
    assert me["limit"]["total"] == pytest.approx(12.5)
    spent, statuses = 0.0, []
    for i in range(10):
        got = send(door.url, "POST", "/v1/ask", {"query": f"age > {i}"}, token=token)
        statuses.append(got.status)
        spent += got.json["surprise"] if got.status == 200 else 0.0
    assert set(statuses) == {200, 402}
    assert 0.0 < spent <= 12.5
    assert "the limit of analyst 'bob'" in got.json["error"]["message"]
    assert send(door.url, "GET", "/v1/me", token=token).json["limit"]["spent"] == spent


@pytest.mark.parametrize("limit", [0, -1, 1e7, float("nan"), float("inf"), True, "40"])
def test_a_limit_that_can_not_be_one(tmp_path, limit):
    with pytest.raises(sh.InvalidInput, match="limit"):
        TokenBook(tmp_path, guard="surprise").create("ann", "analyst", seconds=None, limit=limit)


def test_a_limit_is_read_back_in_its_unit(tmp_path):
    share = TokenBook(tmp_path).create("ann", "analyst", seconds=None, limit=0.5)[0]
    bits = TokenBook(tmp_path, guard="surprise").create("ann", "analyst", seconds=None, limit=40)[0]
    assert TokenBook(tmp_path).tokens == (share, bits)
    assert ("up to 0.5 of the budget" in str(share), "up to 40 bits" in str(bits)) == (True, True)


# ----------------------------------------------------------------------------------- the dataset


@pytest.mark.parametrize("path", sorted(OF_THE_OTHER_GUARD["surprise"]))
def test_what_only_the_noise_guard_has(door: Running, path):
    got = send(door.url, "GET", ADDRESSES.get(path, path))
    assert (got.status, got.error) == (422, "WrongGuard")
    assert "surehold create NAME --plan" in got.json["error"]["message"]


def test_a_round_may_be_held(door: Running):
    assert post(door, "/v1/hold", {"round": 12}) == {"round": 12, "answers_left": None}
    assert post(door, "/v1/hold", {"round": None}) == {"round": 1000, "answers_left": None}
    assert send(door.url, "POST", "/v1/hold", {"round": 1001}).error == "NotReady"


def test_metrics(door: Running):
    session = door.dataset.session()
    session.ask("age > 65")
    session.register(["age > 3"])
    text = send(door.url, "GET", "/metrics").content.decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    status = door.dataset.status()
    assert float(values["surehold_records"]) == 1000
    assert float(values["surehold_answers"]) == 1
    assert float(values["surehold_claims"]) == status.claims == 2
    assert float(values["surehold_spent_bits"]) == status.spent > 0
    assert float(values["surehold_ledger_entries"]) == status.entries
    assert "budget" not in text
    assert "answers_left" not in text
