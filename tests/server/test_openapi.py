"""schemathesis over the whole of /openapi.json: whatever it sends, the service keeps its word."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from server.test_hosts import FRONT
from support.runtime import GUARDS, contents, made, opened, records
from support.service import QUICK, hosting, running, send
from support.soak import SOAKING, length
from surehold.errors import RequestRefused
from surehold.server.host import Host
from surehold.server.tokens import TokenBook
from surehold.session.dataset import Dataset
from surehold.session.session import Session

BRIEF = replace(QUICK, stream_seconds=0.05)
"""Streams of events end soon: schemathesis reads them to their end."""
# Which texts are queries no schema can say, so that half of those sent are replaced by these.
QUERIES = [
    "age > 65",
    "mean(bmi, 10, 60)",
    "histogram(city in ('Oslo'))",
    "rate(age > 50, bmi > 20)",
    "gate(age > 50, at_least, 0.5)",
    "variance(bmi, 0, 50)",
    "income > 3",
    "city = 'Tromsø'",
]


EXPECTED = ("expect", "within", "doubt")  # which few queries take, and few texts are


@dataclass
class Findings:
    """What a run came to: which checks failed where, and which statuses there were."""

    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    def of(self, operation: str) -> set[int]:
        return {status for name, status in self.statuses if name == operation}


def tried(
    url: str,
    token: str | None,
    examples: int,
    only: Callable[[str], bool] = lambda path: True,
) -> Findings:
    """Send what schemathesis thinks of, the same at every run, and check all that comes back."""
    document = send(url, "GET", "/openapi.json").json
    document["paths"] = {path: kept for path, kept in document["paths"].items() if only(path)}
    config = SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "base-url": url,
            "headers": {} if token is None else {"Authorization": f"Bearer {token}"},
            "request-timeout": 10.0,
            "continue-on-failure": True,
            "generation": {"max-examples": examples, "deterministic": True, "database": "none"},
            "phases": {"stateful": {"enabled": False}},  # no operation links to another
            # What fits the schema may be refused all the same: it may be no query, no model.
            "checks": {"positive_data_acceptance": {"enabled": False}},
        }
    )
    schema = schemathesis.openapi.from_dict(document, config=config)
    queries = cycle(QUERIES)

    def meant(context: Any, body: Any) -> Any:
        return _replaced(body, next(queries), False)

    schema.hook("map_body")(meant)
    found = Findings()
    for event in from_schema(schema).execute():
        assert not isinstance(event, events.NonFatalError | events.FatalError), event
        if isinstance(event, events.ScenarioFinished):
            _note(event.recorder, found)
    return found


def _replaced(value: Any, query: str, is_query: bool) -> Any:
    """Texts of even length become the query; valid expectations of even length are left out."""
    if isinstance(value, dict):
        asked = ("query", "queries")
        valid = (str, int, float)
        kept = {
            k: v
            for k, v in value.items()
            if k not in EXPECTED or type(v) not in valid or len(str(v)) % 2
        }
        return {
            k: _candidates(v) if k == "candidates" else _replaced(v, query, is_query or k in asked)
            for k, v in kept.items()
        }
    if isinstance(value, list):
        return [_replaced(item, query, is_query) for item in value]
    if isinstance(value, str) and is_query and len(value) % 2 == 0:
        return query
    return value


def _candidates(value: Any) -> Any:
    """Texts of even length become queries, all different: a selection takes no two alike."""
    if isinstance(value, dict):
        return dict(zip(value, _candidates(list(value.values())), strict=True))
    if isinstance(value, list):
        is_text = [isinstance(one, str) and len(one) % 2 == 0 for one in value]
        return [f"age > {i}" if is_text[i] else one for i, one in enumerate(value)]
    return value


def _note(recorder: Any, found: Findings) -> None:
    for made_checks in recorder.checks.values():
        for check in made_checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                found.failed[recorder.label, check.name] = f"{failure.title}: {failure.message}"
    for interaction in recorder.interactions.values():
        assert interaction.response is not None, "no response came"
        found.statuses[recorder.label, interaction.response.status_code] += 1


@pytest.fixture(params=GUARDS)
def guard(request):
    return request.param


@pytest.fixture
def house(guard, tmp_path):
    path = tmp_path / "clinic"
    with (
        made(path, count=1000, guard=guard) as dataset,
        running(dataset, BRIEF) as run,
    ):
        yield run


def test_whatever_a_custodian_sends(house):
    # Which end what the others need; it learns the IDs of tokens, and revokes its own.
    final, examples = ("/v1/retire", "/v1/tokens/{id}"), length(20, full=40)
    found = tried(house.url, house.token("custodian"), examples, lambda path: path not in final)
    last = tried(house.url, house.token("custodian"), 10, lambda path: path in final)
    assert found.failed == last.failed == {}
    assert 200 in last.of("POST /v1/retire")
    found.statuses += last.statuses
    assert not [status for _, status in found.statuses if status >= 500]
    assert sum(found.statuses.values()) > 1000
    for path in json.loads(send(house.url, "GET", "/openapi.json").content)["paths"]:
        assert any(path == name.split()[1] for name, _ in found.statuses), path
    # It got as far as the data, not only as far as the door.
    for operation in ("POST /v1/ask", "POST /v1/ask-many", "POST /v1/select", "POST /v1/quote"):
        assert {200, 422} <= found.of(operation), operation
    assert 200 in found.of("POST /v1/tokens")
    verified = house.dataset.verify()
    assert verified.answers > 5
    house.dataset.append(records(5000, 5001))
    assert send(house.url, "GET", "/healthz").status == 200


def test_whatever_a_custodian_sends_to_a_server_of_several(tmp_path):
    """At its root, and to one of its datasets; the other one is not touched."""
    root = tmp_path / "root"
    for name, guard in zip(("clinic", "shop"), GUARDS, strict=True):
        made(root / name, count=1000, guard=guard).close()
    before = contents(root / "shop")
    host = Host(settings=BRIEF, root=root, open_dataset=opened)
    with hosting(host) as url:
        boss = TokenBook(root, guard=None).create("boss", "custodian", seconds=3600.0)[1]
        found = tried(url, boss, 2)
        asked = ("/v1/ask", "/v1/quote", "/v1/status")
        below = tried(f"{url}/d/clinic", boss, 1, lambda path: path in asked)
    assert found.failed == below.failed == {}
    assert not [status for _, status in (*found.statuses, *below.statuses) if status >= 500]
    assert {name for name, _ in found.statuses} == {f"{how} {path}" for how, path in FRONT}
    assert 200 in found.of("POST /v1/datasets") | found.of("POST /v1/tokens")
    assert contents(root / "shop") == before


# Most of a run is what schemathesis always sends, so that each role has one guard of two.
OTHERS = [("noise", "viewer"), ("surprise", None)]
OTHERS += [("surprise", "viewer"), ("noise", None)] if SOAKING else []


@pytest.mark.parametrize(("guard", "role"), OTHERS)
def test_whatever_others_send_changes_nothing(house, role):
    house.token("custodian")
    before = contents(house.dataset.path)
    found = tried(house.url, None if role is None else house.token(role), 4)
    assert found.failed == {}
    assert contents(house.dataset.path) == before
    for (operation, status), _ in found.statuses.items():
        assert status < 500, operation
        if role is None and operation != "GET /healthz":
            assert status in (400, 401, 404, 405), operation
    for operation in ("POST /v1/ask", "POST /v1/ask-many", "POST /v1/select", "POST /v1/append"):
        assert found.of(operation) <= {400, 401, 403, 404, 405}


# ------------------------------------------------------------------------------ that it can fail


def test_a_planted_fault_is_found(house, monkeypatch):
    def fail(*_: object) -> Any:
        raise ValueError("planted")

    monkeypatch.setattr(Dataset, "growth", fail)
    found = tried(house.url, house.token("viewer"), 1, lambda path: path == "/v1/growth")
    assert ("GET /v1/growth", "not_a_server_error") in found.failed


def test_a_planted_lie_of_the_schema_is_found(house, monkeypatch):
    monkeypatch.setattr(Dataset, "columns", property(lambda self: {"age": 7}))
    found = tried(house.url, house.token("viewer"), 1, lambda path: path == "/v1/schema")
    assert ("GET /v1/schema", "response_schema_conformance") in found.failed


def test_a_planted_status_that_is_not_documented_is_found(house, monkeypatch):
    def refuse(*_: object) -> Any:
        raise RequestRefused(418, "planted", "planted")

    monkeypatch.setattr(Session, "outlook", refuse)
    found = tried(house.url, house.token("viewer"), 1, lambda path: path == "/v1/outlook")
    assert ("GET /v1/outlook", "status_code_conformance") in found.failed
