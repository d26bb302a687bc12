"""A dataset that was made under the product's former name opens, verifies and answers.

`before_rename.tar.gz` was made with the last commit before the rename. It holds a dataset with one
segment of 18,000 records, one pending record, five answers, a model and a token; and beside it
those answers (`answers.json`) and the token (`token.txt`).
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import surehold as sh
from support.service import running, send
from surehold.errors import InvalidInput

ARCHIVE = Path(__file__).with_name("before_rename.tar.gz")
ANSWERED = ("query", "round", "value", "width", "interval", "charge", "price", "sigma", "verdict")
SELECTED = ("winner", "index", "candidates")


@pytest.fixture
def unpacked(tmp_path):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    for made in ("clinic", "clinic/segments", "clinic/models"):
        (tmp_path / made).chmod(0o700)
    return tmp_path


@pytest.fixture
def dataset(unpacked):
    with sh.open(unpacked / "clinic") as opened:
        yield opened


def kept(answer):
    return {name: answer[name] for name in (*ANSWERED, *SELECTED) if name in answer}


def test_it_verifies(dataset):
    verified = dataset.verify()
    assert (verified.records, verified.segments, verified.strays) == (18_001, 1, ())


def test_what_was_answered_is_answered_alike_and_free(dataset, unpacked):
    answered = json.loads((unpacked / "answers.json").read_text())
    session, before = dataset.session(analyst="ann"), dataset.status().budget
    assert len(answered) == 5
    for answer in answered:
        again = session.ask(answer["query"], key=answer["key"])
        assert again.recorded
        assert kept(json.loads(json.dumps(again.to_dict()))) == kept(answer)
    assert dataset.status().budget == before


def test_it_answers_and_grows(dataset):
    session = dataset.session(analyst="ann")
    assert abs(session.ask("ward = 'north'").value - 12_000 / 18_001) <= 0.2
    [model] = dataset.models
    asked = session.ask(f"accuracy('{model.model}', smoker in (false, true), bmi, age)")
    assert not asked.recorded
    assert dataset.append([{"age": 30, "bmi": None, "smoker": None, "ward": "south"}]).count == 1
    assert session.ask("age > 65").round == len(dataset) == 18_002
    dataset.verify()


def test_an_append_is_known_by_its_key(dataset):
    records = len(dataset)
    dataset.append([{"age": 30, "bmi": None, "smoker": None, "ward": "south"}], key="monday")
    assert len(dataset) == records


def test_its_token_opens_the_service(dataset, unpacked):
    token = (unpacked / "token.txt").read_text().strip()
    with running(dataset) as run:
        assert send(run.url, "GET", "/v1/status").status == 401
        assert send(run.url, "GET", "/v1/status", token=token).status == 200


def test_its_segment_is_no_source_of_records(dataset, unpacked):
    """Appended again, the same records would get a fresh budget."""
    [segment] = (unpacked / "clinic" / "segments").iterdir()
    with pytest.raises(InvalidInput, match="a segment of dataset"):
        dataset.append(segment, again=True)
