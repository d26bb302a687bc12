"""The lab over HTTP: contests on made-up records, one at a time, of limited size."""

from __future__ import annotations

import time

import pytest

from server.doors import knocked
from support.runtime import GUARDS, made
from support.service import PATIENT, running, send

SHORT = {"attacks": ["sign", "flooding"], "queries": 40, "repeats": 2}
LONG = {"attacks": ["sign"], "queries": 500, "repeats": 100}


@pytest.fixture(scope="module", params=GUARDS)
def lab(request, tmp_path_factory):
    """A service, and what asks its lab as a custodian."""
    path = tmp_path_factory.mktemp("lab") / "clinic"
    with made(path, count=1000, guard=request.param) as kept, running(kept) as run:
        token = run.token("custodian")
        yield run, lambda method, body=None: send(run.url, method, "/v1/lab", body, token=token)


def _finished(ask):
    until = time.monotonic() + PATIENT
    while (status := ask("GET").json["contest"])["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.05)
    return status


def test_a_contest_is_played_and_touches_nothing(lab):
    run, ask = lab
    before = run.dataset.status().to_dict()
    assert ask("GET").json["contest"]["state"] in ("idle", "cancelled")
    begun = ask("POST", SHORT)
    assert begun.json["state"] == "running"
    status = _finished(ask)
    assert (status["state"], status["done"], status["total"]) == ("done", 4, 4)
    report = status["report"]
    assert {row["attack"] for row in report["rows"]} == set(SHORT["attacks"])
    [guard, control] = sorted(
        {row["defender"] for row in report["rows"]}, key=report["guard"].__ne__
    )
    assert guard == report["guard"]
    assert control == {"surehold": "wide", "surprise": "plain"}[guard]
    for row in report["rows"]:
        assert row["coverage_low"] <= row["covered"] / row["repeats"] <= row["coverage_high"]
        assert row["display"][1] == f"{row['covered']} of 2"
    assert all(row["covered"] == 2 for row in report["rows"] if row["defender"] == guard)
    assert f"{guard}: 4 of 4 analyses" in report["verdict"]
    assert run.dataset.status().to_dict() == before


def test_one_runs_at_a_time_and_can_be_cancelled(lab):
    _, ask = lab
    ask("POST", LONG)
    refused = ask("POST", SHORT)
    assert refused.status == 429
    assert ask("DELETE").json["state"] == "cancelled"
    assert ask("GET").json["contest"]["state"] == "cancelled"
    assert ask("DELETE").status == 404
    assert ask("POST", SHORT).json["state"] == "running"
    assert _finished(ask)["state"] == "done"


@pytest.mark.parametrize(
    "wrong",
    [
        {"attacks": []},
        {"attacks": ["nobody"]},
        {"attacks": ["sign"], "queries": 2001},
        {"attacks": ["sign"], "repeats": 101},
        {"attacks": ["sign"], "n0": 50_000, "n": 100_001},
        {"attacks": ["sign"], "n0": 50_000, "n": 100_000, "queries": 2000},
    ],
)
def test_what_would_take_too_long_or_is_not_known_is_refused(lab, wrong):
    run, ask = lab
    assert ask("POST", wrong).status == 422
    assert ask("GET").json["contest"]["state"] != "running"
    assert knocked(run.url, "GET", "/v1/lab", run.token("analyst")).status == 403
