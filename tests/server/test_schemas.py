"""Real responses against /openapi.json, closed: every field is required, and no other one comes."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

import surehold as sh
from server.doors import TABLE, knocked
from support.runtime import made
from support.service import Got, Running, running, send
from support.small_models import ONE
from surehold.session.results import RESULTS

QUERIES = {
    "answer": "age > 65",
    "table": "histogram(city in ('Oslo'))",
    "estimate": "rate(age > 50, bmi > 20)",
    "verdict": "gate(age > 50, at_least, 0.5)",
    "choice": "select(lowest, 1, age > 50, age > 60)",
    "fit": sh.fit("logistic", target="age > 50", features={"bmi": (0, 50)}, price=4).canonical,
}
BYTES = {"Content-Type": "application/octet-stream"}
STREAMS = {("GET", "/metrics"), ("GET", "/v1/events")}


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
def house(tmp_path_factory):
    path = tmp_path_factory.mktemp("house") / "clinic"
    with made(path, count=2000) as dataset, running(dataset) as run:
        assert send(run.url, "POST", "/v1/models", ONE, headers=BYTES).status == 200
        yield run


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
    assert QUERIES.keys() == RESULTS.keys()


@pytest.mark.parametrize("kind", QUERIES)
def test_a_result_of_each_kind(house, kind):
    for path in ("/v1/quote", "/v1/ask"):
        got = send(house.url, "POST", path, {"query": QUERIES[kind]})
        assert got.status == 200, got.json
        check(house, "POST", path, got)
    assert got.json["kind"] == kind
    # It is that kind's own schema that it fits, whatever the others allow.
    document = send(house.url, "GET", "/openapi.json").json["components"]["schemas"]
    assert set(document[RESULTS[kind].__name__]["required"]) == set(got.json)
    entry = got.json["entry"]
    got = send(house.url, "GET", f"/v1/transcript/{entry}")
    check(house, "GET", "/v1/transcript/{entry}", got)


@pytest.mark.parametrize(("method", "path"), sorted(TABLE.keys() - STREAMS), ids=str)
def test_every_route_of_json(house, method, path):
    if path == "/v1/transcript/{entry}":
        send(house.url, "POST", "/v1/ask", {"query": "age > 65"})
    check(house, method, path, knocked(house.url, method, path))
