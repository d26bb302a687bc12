"""Datasets from before one canonical form stood for all ways to write a question.

`before_normal_forms.tar.gz` was made with the last commit before that. It holds a dataset with each
guard, of 1,900 records: ten answers, most of whose canonical texts are others today, with the keys
`k0` to `k9` (they are in `noise.json` and `surprise.json`); a charge that is not answered yet
(`85 < age`, with a key); and, under the surprise guard, two questions that are registered and not
asked yet.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import surehold as sh
from support.runtime import GUARDS, opened, records, sql
from surehold.errors import LedgerCorrupt

ARCHIVE = Path(__file__).with_name("before_normal_forms.tar.gz")
# As it was asked, and in other words.
ASKED = [
    ("20 < age", "not age <= 20"),
    ("not age <= 30 and age < 90", "90 > age and age > 30"),
    ("age in (40, 20, 30)", "age = 20 or age in (30, 40)"),
    ("mean(1 + age, 0, 100)", "mean(age + 1, 0, 100)"),
    ("rate(40 < age, not age <= 20)", "rate(age > 40, age > 20)"),
    ("gate(fraction(60 > age), at_least, 0.2)", "gate(fraction(age < 60), at_least, 0.2)"),
    ("histogram(50 < age)", "histogram(not age <= 50)"),
    ("difference(45 < age, 55 < age)", "difference(age > 45, age > 55)"),
    ("age > 70", "not 70 >= age"),
]


@pytest.fixture(params=GUARDS)
def path(request, tmp_path):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    found = tmp_path / request.param
    for folder in (found, found / "segments"):
        folder.chmod(0o700)
    return found


@pytest.fixture
def dataset(path):
    with opened(path) as found:
        yield found


def answered(path):
    return json.loads(path.with_suffix(".json").read_text())


def spent(dataset):
    return dataset._ledger.state.spent


def test_it_verifies_and_goes_on(dataset, path):
    dataset.verify()
    session = dataset.session("ann")
    for words in ASKED:
        for text in words:
            session.ask(text)
    dataset.verify()
    dataset.append(records(1900, 1990))
    for _, text in ASKED:
        assert not session.ask(text).recorded
    dataset.verify()


@pytest.mark.parametrize("which", [0, 1])
def test_what_was_asked_is_free_in_any_words(dataset, path, which):
    session, before, entries = dataset.session("bob"), spent(dataset), dataset._ledger.head.seq
    for words, known in zip(ASKED, answered(path), strict=False):
        quote = session.quote(words[which])
        assert quote.recorded, words
        result = json.loads(json.dumps(session.ask(words[which]).to_dict()))
        assert result["recorded"]
        same = ("round", "value", "interval", "verdict", "cells", "claim", "level")
        assert {name: result.get(name) for name in same} == {
            name: known.get(name) for name in same
        }, words
    assert (spent(dataset), dataset._ledger.head.seq) == (before, entries)


def test_keys_stand_for_what_they_were_used_for(dataset, path):
    session, before = dataset.session("ann"), spent(dataset)
    for i, (_, text) in enumerate(ASKED):
        assert session.ask(text, key=f"k{i}").recorded
    assert spent(dataset) == before
    with pytest.raises(sh.InvalidInput, match="used for another"):
        session.ask("age > 21", key="k0")


@pytest.mark.parametrize("text", ["85 < age", "age > 85"])
def test_a_charge_without_an_answer_is_answered_in_its_words(dataset, text):
    session = dataset.session("ann")
    charges = len(dataset._ledger.store.of_kind("charge"))
    first = session.ask(text, key="cut off")
    assert first.query == "fraction(85 < age)"
    assert session.ask("not age <= 85").recorded
    assert len(dataset._ledger.store.of_kind("charge")) == charges
    assert dataset._ledger.store.unanswered() == 0
    dataset.verify()


def test_what_was_registered_keeps_its_claim(dataset, path):
    if path.name == "noise":
        return
    session = dataset.session("ann")
    registered = session.register(["age > 80", "age < 44 and age > 33"])
    assert [(one.claim, one.new) for one in registered] == [(1, False), (2, False)]
    assert session.ask("not age <= 80").claim == 1
    dataset.append(records(1900, 2000))
    assert session.ask("80 < age").claim == 1
    assert session.ask("age > 33 and age < 44").claim == 2
    assert session.quote("not (80 >= age)").claim == 1
    dataset.verify()


def test_two_that_are_one_now_keep_their_answers(dataset, path):
    session = dataset.session("ann")
    one, two = answered(path)[8:]
    assert one["query"] == "fraction(age > 70)"
    assert two["query"] == "fraction(70 < age)"
    assert session.ask("70 < age").value == one["value"]
    assert session.ask("not 70 >= age", key="k9").value == two["value"]


def test_an_index_that_leads_elsewhere_is_found(path):
    opened(path).close()
    rows = sql(path, "SELECT question, earlier FROM synonyms ORDER BY question")
    assert len(rows) > 8
    one, its = rows[0]
    for column, was, forged in (("earlier", its, b"forged"), ("question", one, b"forged")):
        statement = f"UPDATE synonyms SET {column} = ? WHERE {column} = ?"
        sql(path, statement, values=(forged, was))
        with opened(path) as dataset, pytest.raises(LedgerCorrupt, match="synonyms"):
            dataset.verify()
        sql(path, statement, values=(was, forged))
        with opened(path) as dataset:
            dataset.verify()
