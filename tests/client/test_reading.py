"""What comes back is what the library has: the same objects, byte for byte, and the same errors."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, replace

import pytest

import surehold as sh
from support.error_examples import KINDS
from support.error_examples import made as made_error
from support.runtime import made
from support.workload import CASES, YOUTH, in_process
from surehold import errors
from surehold.client.decoding import Unreadable, error_of, reader, result_of
from surehold.session import RESULTS, Result


def sent(shown):
    """Through JSON, as over a wire."""
    return json.loads(json.dumps(shown.to_dict(), allow_nan=False))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A result of every query there is, and what else a dataset shows."""
    with made(tmp_path_factory.mktemp("reading") / "clinic", count=2000) as dataset:
        dataset.register(YOUTH)
        session = dataset.session("ann")
        with pytest.MonkeyPatch.context() as patch:
            in_process(patch)
            results = {name: session.ask(case.query) for name, case in CASES.items()}
        undetermined = session.ask("rate(age > 3, age > 98)")
        assert undetermined.value is None
        shown = [
            session.budget,
            session.quote("age > 3"),
            session.quote(sh.rate("age > 3", given="age > 1")),
            dataset.status(),
            dataset.verify(),
            dataset.outlook(),
            *dataset.rounds,
            *dataset.growth(),
            sh.Appended(3, 4),
        ]
    outcomes, more = surprises(tmp_path_factory.mktemp("surprise") / "clinic")
    return {**results, "undetermined": undetermined, **outcomes}, [*shown, *more]


OUTCOMES = {
    "number": ("age > 50", {"expect": 0.5}),
    "no number": ("rate(age > 3, age > 99)", {}),
    "no cell": ("difference(age > 50, bmi > 20)", {}),
    "decision": ("gate(age > 50, at_least, 0.4)", {}),
    "ladder": ("difference(age > 5, age > 9)", {"expect": "no", "within": 0.01}),
    "selection": ("select(lowest, 3, age > 5, age > 95)", {}),
    "shares": ("histogram(city in ('Oslo'))", {}),
}
EVERY = [*CASES, "undetermined", *OUTCOMES]


def surprises(path):
    """The same of a dataset with the surprise guard."""
    with made(path, count=2000, guard="surprise") as dataset:
        session = dataset.session("bob", limit=100)
        results = {name: session.ask(query, **more) for name, (query, more) in OUTCOMES.items()}
        assert results["no number"].value is None
        [claim] = session.register(["age > 3"])
        shown = [claim, session.limit, session.quote("age > 3"), dataset.status()]
        return results, [*shown, session.quote(sh.rate("age > 3", given="age > 1"))]


@pytest.mark.parametrize("name", EVERY)
def test_a_result_comes_back_as_it_was(name, told):
    result = told[0][name]
    again = result_of(sent(result))
    assert type(again) is type(result)
    assert again == result
    assert hash(again) == hash(result)
    assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())
    assert (str(again), repr(again), again.explain()) == (
        str(result),
        repr(result),
        result.explain(),
    )
    for field in fields(result):
        assert type(getattr(again, field.name)) is type(getattr(result, field.name)), field.name


def test_all_kinds_of_results_are_among_them(told):
    assert {type(result) for result in told[0].values()} == set(RESULTS.values())
    kinds = {kind for guard in Result.__subclasses__() for kind in guard.__subclasses__()}
    assert kinds == set(RESULTS.values())
    assert all(sent(result)["kind"] == result.kind for result in told[0].values())


@pytest.mark.parametrize("name", EVERY)
def test_a_field_that_a_later_service_adds_is_ignored(name, told):
    result = told[0][name]
    assert result_of({**sent(result), "more": 1}) == result


def test_an_added_field_is_ignored_wherever_it_is(told):
    for shown in told[1]:
        assert reader(type(shown))({**sent(shown), "more": {"deep": []}}) == shown
    status, table = told[1][3], told[0]["cells"]
    deep = sent(status)
    deep["budget"]["more"] = 1
    assert reader(type(status))(deep) == status
    cells = sent(table)
    cells["cells"][0]["more"] = 1
    assert result_of(cells) == table


def test_whatever_else_is_shown_comes_back_as_it_was(told):
    for shown in told[1]:
        again = reader(type(shown))(sent(shown))
        assert again == shown
        assert json.dumps(again.to_dict()) == json.dumps(shown.to_dict())


def test_what_came_back_is_frozen(told):
    again = result_of(sent(told[0]["fraction"]))
    with pytest.raises(AttributeError):
        again.value = 0.0
    with pytest.raises(TypeError):
        again.terms["noise"] = 0.0


@pytest.mark.parametrize("name", ["fraction", "cells", "rate", "gate", "select", "fit", *OUTCOMES])
def test_other_values_are_refused(name, told):
    values = sent(told[0][name])
    others = ["text", 1.5, None, [1, 2, 3], {"a": []}, True]
    listed = [one for one in fields(told[0][name]) if one.init]
    defaults = {one.name: one.default for one in listed if one.default is not MISSING}
    made = (one for one in listed if one.default_factory is not MISSING)
    defaults |= {one.name: one.default_factory() for one in made}
    for field in values.keys() - {"display"}:  # which the client writes by itself
        refused = 0
        for other in others:
            try:
                result_of({**values, field: other})
            except Unreadable:
                refused += 1
        assert refused >= 4, field
        fewer = {key: value for key, value in values.items() if key != field}
        if field in defaults:  # which earlier services do not send
            assert getattr(result_of(fewer), field) == defaults[field]
            continue
        with pytest.raises(Unreadable):
            result_of(fewer)
    for whole in ({**values, "kind": "another"}, [values], None, "text", {}):
        with pytest.raises(Unreadable):
            result_of(whole)


def test_whole_numbers_may_stand_for_others_and_not_the_reverse(told):
    values = sent(told[0]["fraction"])
    assert type(result_of({**values, "value": 1}).value) is float
    for name, wrong in (("round", 1.0), ("recorded", 1), ("entry", True), ("value", 1e999)):
        with pytest.raises(Unreadable, match=name):
            result_of({**values, name: wrong})


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_back_as_it_was(kind):
    error = made_error(kind)
    body = {"error": {"type": kind.__name__, "message": str(error), "details": vars(error)}}
    again = error_of(422, json.loads(json.dumps(body)), None)
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"error": "no"},
        {"error": {}},
        {"error": {"type": "InvalidInput"}},
        {"error": {"type": 3, "message": "m", "details": {}}},
        {"error": {"type": "InvalidInput", "message": None, "details": {}}},
    ],
)
def test_what_is_no_error_is_none(values):
    assert error_of(422, values, None) is None


def test_an_error_without_details_keeps_its_words():
    told = {"error": {"type": "InvalidInput", "message": "words"}}
    error = error_of(422, told, None)
    assert type(error) is errors.RequestRefused
    assert "words" in str(error)


def test_a_choice_is_renamed_for_its_caller(told):
    choice = told[0]["select"]
    assert result_of(sent(replace(choice, name="mine"))).name == "mine"
