"""What queries of every class tell, and ledgers from before there were classes."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from pathlib import Path

import pytest

import surehold as sh
from support.noise_sources import FastSeededNoise
from support.runtime import (
    adaptive_plan,
    batch_plan,
    made,
    opened,
    rare_plan,
    sql,
)
from support.tampering import bodies, rehash, rewitness, write
from support.workload import CASES
from surehold.ledger.entries import State
from surehold.ledger.ledger import fingerprint_of
from surehold.queries import query_of
from surehold.session.dataset import Dataset

pytestmark = pytest.mark.usefixtures("quick_models")


@pytest.fixture
def dataset(full):
    return full


@pytest.fixture
def session(dataset):
    return dataset.session("ann")


# --------------------------------------------------------------------------------- results


def results_of(session: sh.Session) -> list[sh.Result]:
    found = [session.ask(case.query) for case in CASES.values()]
    found.append(session.ask(sh.rate("bmi > 20", given="age > 200")))
    found.append(session.ask(sh.gate(sh.rate("bmi > 20", given="age > 200"), at_least=0)))
    found.append(session.ask(sh.means("bmi", 0, 50, by="city in ('Rome')")))
    found.append(session.ask(sh.histogram("city", cells=["<script>", "Oslo", "'other'"])))
    found.append(session.ask(sh.select({"<script>": "age > 1"}, price=1)))
    return found


def test_every_result_is_plain_frozen_and_shown(dataset, session) -> None:
    results = results_of(session)
    assert {type(result) for result in results} == {
        *(sh.Answer, sh.Table, sh.Estimate, sh.Verdict, sh.Choice, sh.Fitted)
    }
    for result in results:
        values = result.to_dict()
        assert json.loads(json.dumps(values, allow_nan=False)) == values
        assert list(values) == [field.name for field in dataclasses.fields(result)]
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.query = "another"
        for other in (
            pickle.loads(pickle.dumps(result)),
            copy.copy(result),
            copy.deepcopy(result),
        ):
            assert other == result
            assert hash(other) == hash(result)
            assert other.to_dict() == values
            assert other.explain() == result.explain()
        if isinstance(result, sh.Table):  # what a notebook shows of it
            assert repr(result) == str(result)
        else:
            assert repr(result).startswith(f"<{type(result).__name__.lower()}: ")
            assert "\n" not in repr(result)
        assert "\n" not in result.brief
        assert str(result).endswith("n = 2,000")
        assert "nan" not in str(result)
        html = result._repr_html_()
        assert html.startswith("<table>")
        assert "<script>" not in html
        explained = result.explain()
        for part in (str(result), result.query, "Sharp theorem", "independent"):
            assert part in explained
        # Of the coefficients of a fit nothing is promised.
        assert ("probability 90" in explained) == (not isinstance(result, sh.Fitted))
        free = "nothing beyond the answers it follows from"
        assert (free in explained) == (result.price == 0)
        assert (f"that of {result.price} answers" in explained) == (result.price > 1)


def test_a_table_is_a_sequence_of_named_cells(session) -> None:
    table = session.ask(sh.histogram("age", bins=range(0, 101, 5)))
    assert len(table) == len(list(table)) == 21
    assert all(f"{cell.label} " in str(table) for cell in table)
    decimals = {
        len(line.split("[")[-1].split(",")[0].split(".")[1])
        for line in str(table).splitlines()[:-1]
    }
    assert len(decimals) == 1
    assert table["[0, 5)"] is table.cells[0]
    assert table["other"] is table.cells[-1]
    with pytest.raises(sh.InvalidInput, match="one of the table's"):
        table["[0, 6)"]
    for cell in table:
        assert cell.interval[0] <= cell.value <= cell.interval[1]
        assert json.dumps(cell.to_dict())
    assert table.width == session.quote(table.query).width


def test_a_fit_can_be_asked_about(exact) -> None:
    fitted = exact.ask(CASES["fit"].query)
    assert set(fitted.coefficients) == {"age"}
    with pytest.raises(TypeError):
        fitted.coefficients["age"] = 1.0
    error = exact.ask(sh.mean(f"abs(bmi - ({fitted.predictor}))", low=0, high=50))
    assert error.width > 0
    assert error.recorded is False


def test_the_transcript_has_all_kinds_in_order(dataset, session) -> None:
    results = results_of(session)
    transcript = session.transcript
    entries = [one.entry for one in transcript]
    assert entries == sorted(set(entries))
    assert {result.entry for result in results} <= set(entries)
    assert len(transcript) == len(entries)
    assert [one.entry for one in transcript[3:9]] == entries[3:9]
    assert [one.entry for one in transcript[::-2]] == entries[::-2]
    assert [transcript[i].entry for i in range(-3, 3)] == [*entries[-3:], *entries[:3]]
    assert [one.entry for one in transcript.last(4)] == entries[-4:]
    by_entry = {one.entry: one for one in transcript}
    for result in (one for one in results if not one.recorded):  # the others are implied
        assert by_entry[result.entry] == dataclasses.replace(result, recorded=True)
    assert json.dumps(transcript.to_dict(), allow_nan=False)
    assert "<script>" not in transcript._repr_html_()
    assert len(dataset.transcript_of("ann")) == len(entries)
    assert len(dataset.transcript_of("bob")) == 0
    rounds = dataset.rounds
    assert [(one.round, one.answers) for one in rounds] == [(2000, dataset._ledger.state.answers)]
    assert rounds[0].spent == session.budget.spent


# ----------------------------------------------------------------------------- older ledgers


def as_before(path: Path) -> None:
    """Make a ledger what it was before there was more than one kind of answer.

    Rounds had no prices, answers no kind and no span, and plans did not say what they cover.
    """
    dropped = ("spending", "charged", "free_entries", "claims", "synonyms")
    undone = ("ALTER TABLE rounds DROP COLUMN price", *(f"DROP TABLE {name}" for name in dropped))
    sql(path, *undone, "PRAGMA user_version = 1")
    created = bodies(path)[1][1]
    del created["plan"]["covers"]
    fingerprint = fingerprint_of(created)
    for seq, (_, body) in bodies(path).items():
        body = created if seq == 1 else body
        for name in ("kind", "span"):
            body.pop(name, None)
        body["after"] = dataclasses.replace(
            State.from_dict(body["after"]), dataset=fingerprint
        ).to_dict()
        write(path, seq, json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    rehash(path, 1)
    rewitness(path)


@pytest.mark.parametrize("plan", [adaptive_plan, batch_plan, rare_plan])
def test_a_ledger_from_before_there_were_prices_opens_and_goes_on(tmp_path, plan) -> None:
    path = tmp_path / "clinic"
    with made(path, plan(), 850) as dataset:
        session = dataset.session("ann")
        held = dataset.status().round
        for text in ("age > 50", "mean(bmi, 10, 40)"):  # as before: answers without charges
            form = query_of(text).form(dataset._ledger.schema)
            dataset._data.exact([form.source], held)
        told = [session.ask("age > 50", key="k"), session.ask("mean(bmi, 10, 40)")]
        assert dataset._ledger.head.seq == told[-1].entry == 4
        spent = dataset._ledger.state.spent
    as_before(path)
    with Dataset(path, FastSeededNoise(3)) as dataset:
        session = dataset.session("bob")
        assert list(session.transcript) == [dataclasses.replace(t, recorded=True) for t in told]
        assert dataset.verify().answers == 2
        assert dataset._ledger.state.spent == spent
        [totals] = dataset._ledger.store.rounds()
        assert (totals.answers, totals.price) == (2, 2)
        assert session.ask("age > 50", key="k").value == told[0].value
        gate = session.ask(sh.gate("age > 50", at_least=0.0))  # what follows from an old answer
        assert (gate.value, gate.parts) == (told[0].value, (told[0].entry,))
        table = session.ask("histogram(city in ('Oslo'))")
        assert table.price == 2
        dataset.verify()
    with opened(path) as again:
        assert again.verify().answers == 4
