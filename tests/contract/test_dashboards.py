"""Dashboards, local and remote: one register, one watch, the same dictionaries and errors."""

from __future__ import annotations

from functools import partial

import pytest

import surehold as sh
from support.runtime import GUARDS

DASHBOARD = sh.Dashboard.of(
    [
        {"name": "older", "question": "age > 50", "unit": "%", "gate": ">= 10 %"},
        {"name": "mean bmi", "question": "mean(bmi, 0, 50)", "unit": "kg/m²", "gate": "<= 1"},
        {"name": "older in Oslo", "question": "rate(age > 50, city = 'Oslo')", "watch": False},
    ]
)
WRONG = {
    "a question that cannot be asked": [{"name": "a b", "question": "nothing > 3"}],
    "a query that cannot be read": [{"name": "a b", "question": "age >"}],
    "a gate out of range": [{"name": "a b", "question": "age > 5", "gate": ">= 7"}],
    "another question": [{"name": "older", "question": "age > 51"}],
    "two names": [{"name": "a b", "question": "age > 5"}, {"name": "b c", "question": "age > 5"}],
    "a query for a name": [{"name": "age > 6", "question": "age > 5"}],
}


@pytest.fixture(params=GUARDS)
def guard(request) -> str:
    return request.param


def error_of(call) -> dict:
    with pytest.raises(sh.SureholdError) as raised:
        call()
    return raised.value.to_dict()


def test_here_and_there_are_the_same(both):
    local, remote = (desk.session() for desk in both)
    assert len(local.dashboard) == len(remote.dashboard) == 0
    assert error_of(local.watch) == error_of(remote.watch)
    first = remote.register(DASHBOARD)
    assert all(one.new for one in first)
    again = local.register(DASHBOARD)
    assert again == remote.register(DASHBOARD)
    assert [one.title for one in again] == [one.name for one in DASHBOARD]
    assert local.dashboard == remote.dashboard == DASHBOARD
    watched = remote.watch()
    assert (watched.new, watched.verdict, len(watched.questions)) == (2, "fail", 2)
    assert local.watch() == remote.watch()
    assert local.watch(["older"]).to_dict() == remote.watch(["older"]).to_dict()
    assert local.history("older") == remote.history("age > 50")
    assert local.histories() == remote.histories()
    assert local.histories(1) == remote.histories(1)
    assert local.ask("mean bmi") == remote.ask("mean bmi")
    assert local.quote("older") == remote.quote("older")
    assert remote.ask(sh.gate("older", at_least=0.1)).query.startswith("gate(fraction(age > 50)")
    for names in (["nobody"], [], "older"):
        assert error_of(partial(local.watch, names)) == error_of(partial(remote.watch, names))
    for name, questions in WRONG.items():
        wrong = sh.Dashboard.of(questions)
        here, there = (error_of(partial(one.register, wrong)) for one in (local, remote))
        assert here == there, name
    assert error_of(lambda: local.history("nobody")) == error_of(lambda: remote.history("nobody"))
    if local.guard == "noise":
        refused = error_of(lambda: local.register(DASHBOARD, share=0.1))
        assert refused == error_of(lambda: remote.register(DASHBOARD, share=0.1))
