from __future__ import annotations

import dataclasses
import json

import pytest

import surehold as sh
from support.runtime import made, records
from surehold.ledger.store import Store

# ------------------------------------------------------------------------------- transcript


def test_the_transcript_is_read_when_it_is_looked_at(clinic, session) -> None:
    transcript = session.transcript
    assert len(transcript) == 0
    assert list(transcript) == []
    answers = [session.ask(f"age > {i}") for i in range(5)]
    assert [a.value for a in transcript] == [a.value for a in answers]
    assert all(a.recorded for a in transcript)
    assert len(transcript) == 5
    assert [transcript[i].entry for i in range(5)] == [a.entry for a in answers]
    assert [transcript[-i].entry for i in range(1, 6)] == [a.entry for a in answers[::-1]]
    assert [a.entry for a in transcript[1:3]] == [a.entry for a in answers[1:3]]
    assert [a.entry for a in transcript.last(2)] == [a.entry for a in answers[-2:]]
    for index in (5, -6, 99):
        with pytest.raises(IndexError):
            transcript[index]
    assert "5 answers" in repr(transcript)


def test_the_last_answers_are_found_without_reading_the_others(
    clinic, session, monkeypatch
) -> None:
    session.ask_many([f"age > {i}" for i in range(20)])
    monkeypatch.setattr("surehold.ledger.store._PAGE", 2)
    read = []
    real = Store._rows

    def counted(self: Store, *query: object) -> list:
        rows = real(self, *query)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(Store, "_rows", counted)
    assert session.transcript[-1].query == "fraction(age > 19)"
    assert sum(read) <= 4
    read.clear()
    assert next(iter(session.transcript)).query == "fraction(age > 0)"
    assert sum(read) <= 26  # the twenty charges come first


# ---------------------------------------------------------------------------- what is returned


def everything(clinic, session) -> list:
    answer = session.ask("city = '<script>alert(1)</script>'")
    return [
        answer,
        session.quote("city = '<b>'"),
        session.budget,
        clinic.status(),
        clinic.verify(),
        clinic.append(records(1000, 1001)),
        dataclasses.replace(answer, analyst="<b>"),
    ]


def test_everything_returned_is_frozen_and_has_one_dictionary(clinic, session) -> None:
    for thing in everything(clinic, session):
        name = dataclasses.fields(thing)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, 1)
        values = thing.to_dict()
        assert json.loads(json.dumps(values, allow_nan=False)) == values
        assert list(values) == [field.name for field in dataclasses.fields(thing)]
        assert repr(thing).startswith(f"<{type(thing).__name__.lower()}: ")
        assert len(str(thing)) < 400


def test_html_is_escaped(clinic, session) -> None:
    for thing in everything(clinic, session):
        html = thing._repr_html_()
        assert html.startswith("<table>")
        assert "<script>" not in html
        assert "<b>" not in html


def test_terms_can_not_be_changed(session) -> None:
    answer = session.ask("age > 50")
    with pytest.raises(TypeError):
        answer.terms["noise"] = 0.0


def test_a_refused_quote_is_shown_too(tmp_path) -> None:
    with made(tmp_path / "clinic", count=10) as dataset:
        quote = dataset.session().quote("age > 50")
        assert (
            str(quote) == "refused: asking starts at 200 records and there are 10; append 190 more"
        )
        assert json.dumps(quote.to_dict(), allow_nan=False)
        status = dataset.status()
        assert (status.ready, status.round) == (False, None)
        assert json.dumps(status.to_dict(), allow_nan=False)


def test_a_closed_dataset_says_so(clinic, session) -> None:
    session.ask("age > 1")
    clinic.close()
    clinic.close()
    for use in (
        lambda: clinic.n,
        lambda: session.ask("age > 1"),
        lambda: session.ask("age > 2"),
        lambda: session.quote("age > 2"),
        lambda: session.budget,
        lambda: list(session.transcript),
        lambda: session.hold(500),
        lambda: clinic.append(records(0, 1)),
        clinic.status,
        clinic.verify,
    ):
        with pytest.raises(sh.SureholdError):
            use()


def test_time_does_not_go_back(tmp_path) -> None:
    times = iter([100.0, 50.0, 200.0, 0.0, -1e9, 150.0])
    with made(tmp_path / "clinic", count=0) as dataset:
        dataset._ledger._clock = lambda: next(times)
        dataset.append(records(0, 900))
        dataset._ledger._clock = lambda: 0.0
        first = dataset.session().ask("age > 1")
        second = dataset.session().ask("age > 2")
        assert first.time <= second.time
        dataset.verify()


@pytest.mark.parametrize("reach", [1e150, 1e30, 1e-140])
def test_answers_of_any_range_can_be_shown(session, reach) -> None:
    answer = session.ask(sh.mean("bmi", -reach, reach))
    for shown in (str(answer), answer.explain(), answer._repr_html_()):
        assert "±" in shown
    table = session.ask(sh.totals("bmi", -reach, reach, by="age > 50"))
    assert "true" in str(table)


def test_a_mean_explains_what_it_makes_of_missing_values(tmp_path):
    plan = sh.plan(n0=1_000, n=1_000, alpha=0.3, beta=0.05)
    with sh.create(tmp_path / "d", plan=plan, columns={"x": "float"}) as dataset:
        dataset.append({"x": float(i % 7)} for i in range(1_000))
        mean, fraction = dataset.session().ask_many(["mean(x, -1, 6.5)", "x > 3"])
    assert "values      below -1 or missing count as -1, above 6.5 as 6.5" in mean.explain()
    assert "missing" not in fraction.explain()
