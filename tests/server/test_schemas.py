"""Real responses against /openapi.json, closed: every field is required, and no other one comes."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import surehold as sh
from server.doors import TABLE, knocked
from support.runtime import GUARDS, made
from support.service import Got, Running, running, send
from support.small_models import ONE
from surehold.session import RESULTS

TABLE_OF_TWO, SELECT = "histogram(city in ('Oslo'))", "select(lowest, 1, age > 50, age > 60)"
QUERIES: dict[str, dict[str, dict[str, Any]]] = {
    "noise": {
        "answer": {"query": "age > 65"},
        "table": {"query": TABLE_OF_TWO},
        "estimate": {"query": "rate(age > 50, bmi > 20)"},
        "verdict": {"query": "gate(age > 50, at_least, 0.5)"},
        "choice": {"query": SELECT},
        "fit": {
            "query": sh.fit(
                "logistic", target="age > 50", features={"bmi": (0, 50)}, price=4
            ).canonical
        },
    },
    "surprise": {
        "number": {"query": "age > 65", "expect": 0.34, "within": "0.02", "doubt": "1/20"},
        "decision": {"query": "gate(age > 50, at_least, 0.5)", "expect": "undecided"},
        "ladder": {"query": "difference(age > 50, age > 60)", "expect": "no", "within": 0.02},
        "selection": {"query": SELECT},
        "shares": {"query": TABLE_OF_TWO},
    },
}
KINDS = [(guard, kind) for guard, queries in QUERIES.items() for kind in queries]
BYTES = {"Content-Type": "application/octet-stream"}
STREAMS = {("GET", "/metrics"), ("GET", "/v1/events"), ("GET", "/v1/transcript.csv")}


def closed(schema: Any) -> Any:
    """The same, where an object has the fields that it names, each of them, and no other."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(value) for name, value in schema.items()}
    if isinstance(found.get("properties"), dict):
        found |= {"additionalProperties": False, "required": list(found["properties"])}
    return found


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """A service of a dataset with each guard."""
    with ExitStack() as stack:
        found = {}
        for guard in GUARDS:
            path = tmp_path_factory.mktemp(guard) / "clinic"
            dataset = stack.enter_context(made(path, count=2000, guard=guard))
            run = found[guard] = stack.enter_context(running(dataset))
            assert send(run.url, "POST", "/v1/models", ONE, headers=BYTES).status == 200
        yield found


def check(run: Running, method: str, path: str, got: Got) -> None:
    """That a response is what the document says of its status."""
    document = send(run.url, "GET", "/openapi.json").json
    stated = document["paths"][path][method.lower()]["responses"][str(got.status)]
    root = {
        "components": closed(document["components"]),
        **closed(stated["content"]["application/json"]["schema"]),
    }
    errors = [str(error) for error in Draft202012Validator(root).iter_errors(got.json)]
    assert errors == [], got.json


def test_every_kind_has_a_query():
    assert {kind for _, kind in KINDS} == RESULTS.keys()


@pytest.mark.parametrize(("guard", "kind"), KINDS)
def test_a_result_of_each_kind(houses, guard, kind):
    house = houses[guard]
    for path in ("/v1/quote", "/v1/ask"):
        got = send(house.url, "POST", path, QUERIES[guard][kind])
        assert got.status == 200, got.json
        check(house, "POST", path, got)
    assert got.json["kind"] == kind
    # It is that kind's own schema that it fits, whatever the others allow.
    document = send(house.url, "GET", "/openapi.json").json["components"]["schemas"]
    assert set(document[RESULTS[kind].__name__]["required"]) == set(got.json)
    entry = got.json["entry"]
    got = send(house.url, "GET", f"/v1/transcript/{entry}")
    check(house, "GET", "/v1/transcript/{entry}", got)


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize(("method", "path"), sorted(TABLE.keys() - STREAMS), ids=str)
def test_every_route_of_json(houses, guard, method, path):
    house = houses[guard]
    if path == "/v1/transcript/{entry}":
        send(house.url, "POST", "/v1/ask", {"query": "age > 65"})
    check(house, method, path, knocked(house.url, method, path))
