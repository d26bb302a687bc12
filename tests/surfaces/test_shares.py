"""Reservations and limits on every surface: the same words, and the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.runtime import adaptive_plan, records
from support.service import Running, running, send
from surehold.session.quotes import describe_left, describe_own

COLUMNS = {"age": "int", "bmi": "float", "city": "str"}


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "clinic"
    with sh.create(path, plan=adaptive_plan(), columns=COLUMNS) as data:
        data.append(records(0, 1_000))
    return path


def get(run: Running, path: str, token: str) -> Any:
    return send(run.url, "GET", path, token=token).json


def test_a_fresh_analyst_with_a_limit_sees_one_number_everywhere(clinic: Path) -> None:
    with sh.open(clinic) as data, running(data) as run:
        token = run.token("analyst", "ann", limit=0.25)
        viewer = run.token("viewer", "vic")
        outlook = get(run, "/v1/outlook", token)
        left = outlook["now"]["answers"]
        assert 0 < left < get(run, "/v1/outlook", viewer)["now"]["answers"]
        assert get(run, "/v1/room?round=1000", token)["answers_left"] == left
        end = outlook["at_end"]["round"]
        at_end = get(run, f"/v1/room?round={end}", token)["answers_left"]
        assert at_end == outlook["at_end"]["answers"]
        with sh.connect(run.url, token) as session:
            assert session.outlook().to_dict() == outlook
            assert session.quote("age > 3").answers_left == left
            assert session.quote("age > 3").answers_left_after == left - 1
            answer = session.ask("age > 3")
            assert describe_left(session, answer).startswith(f"{left - 1} answers left")
            assert session.outlook().now.answers == left - 1
            said = describe_own(session, session.status())
            assert said == f"{left - 1} answers left at n = 1,000; {session.limit}"
    with sh.open(clinic) as data:
        local = data.session("ann", limit=0.25)
        assert local.outlook().now.answers == local.answers_left(1_000) == left - 1
        assert data.outlook().now.answers == data.status().answers_left > left


def test_reserving_by_http_and_by_the_client(clinic: Path) -> None:
    with sh.open(clinic) as data, running(data) as run:
        token = run.token("custodian", "kim")
        body = {"analyst": "ann", "amount": 0.25}
        got = send(run.url, "POST", "/v1/reserve", body, token=token)
        assert got.json == run.dataset.reservations[0].to_dict()
        assert (got.json["reserved"], got.json["left"]) == (0.25, 0.25)
        [shown] = get(run, "/v1/status", token)["by_analyst"]
        assert shown["display"] == {"spent": "0% of the budget", "reserved": "25% of the budget"}
        got = send(run.url, "POST", "/v1/reserve", {**body, "analyst": "bob", "amount": 0.8},
                   token=token)  # fmt: skip
        assert (got.status, got.error) == (422, "InvalidInput")
        with sh.connect(run.url, token) as kim:
            assert kim.reserve("ann", 1).reserved == 1.0
            assert [one.reserved for one in kim.status().by_analyst] == [1.0]
            with sh.connect(run.url, run.token("analyst", "bob")) as bob:
                with pytest.raises(sh.BudgetExhausted, match="reserved for other analysts"):
                    bob.ask("age > 3")
                with pytest.raises(sh.AccessDenied):
                    bob.reserve("bob", 0.1)
            assert kim.reserve("ann", 0).reserved == 0.0


def test_the_command(run: Any, clinic: Path) -> None:
    code, out, _ = run("reserve", clinic, "ann", "0.25", "--json")
    assert (code, json.loads(out)["reserved"]) == (0, 0.25)
    assert "ann: 0% of the budget in 0 answers, 25% of the budget reserved" in " ".join(
        run("status", clinic)[1].split()
    )
    assert run("reserve", clinic, "ann")[0] == 2
    assert run("reserve", clinic, "ann", "0.5", "--release")[0] == 2
    code, out, _ = run("reserve", clinic, "ann", "--release")
    assert (code, out) == (0, "nothing is reserved for ann\n")
    code, _, err = run("reserve", clinic, "ann", "25")
    assert code == 2
    assert "a share of the budget, from 0 to 1" in err


def test_the_three_numbers_of_a_quote_have_three_words(clinic: Path) -> None:
    with sh.open(clinic) as data:
        quote = data.session().quote(sh.histogram("age", bins=range(0, 101, 5)))
        assert (quote.price, quote.counts_for) == (2, 21)
        said = (
            f"the price of 2 fractions, and reports 21 numbers; {quote.answers_left} answers left"
        )
        assert said in str(quote)


def test_a_limit_at_the_end_of_a_plan_is_not_the_end_of_the_plan(clinic: Path) -> None:
    with sh.open(clinic) as data:
        data.append(records(1_000, data.plan.n))
        bob = data.session("bob", limit=0.01)
        bob.ask_many([f"age > {age}" for age in range(bob.answers_left(data.plan.n))])
        with pytest.raises(sh.BudgetExhausted, match="the limit of analyst 'bob'") as refused:
            bob.ask("age > 98")
        assert "the plan is complete" not in str(refused.value)
        assert data.session("ann").ask("age > 99").round == data.plan.n
