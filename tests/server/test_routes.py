"""Each route says exactly what the library says, in the same dictionaries."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

import surehold as sh
from support.runtime import batch_plan, made, record, records
from support.service import QUICK, Running, running, send
from support.workload import CASES, YOUTH
from surehold import __version__
from surehold.server.settings import Settings
from surehold.session.transcript_csv import csv_lines


def get(run: Running, path: str, **options: Any) -> Any:
    got = send(run.url, "GET", path, **options)
    assert got.status == 200, got.content
    return got.json


def post(run: Running, path: str, body: Any, **options: Any) -> Any:
    got = send(run.url, "POST", path, body, **options)
    assert got.status == 200, got.content
    return got.json


# ------------------------------------------------------------------------------------- looking


def test_what_is_looked_at(door: Running):
    dataset = door.dataset
    session = dataset.session("analyst")
    session.ask("age > 65")
    session.at(400).ask("bmi > 20")
    assert get(door, "/healthz") == {"status": "ok", "version": __version__}
    assert get(door, "/v1/schema") == dataset.columns
    assert get(door, "/v1/status") == dataset.status().to_dict()
    assert get(door, "/v1/plan") == dataset.plan.to_dict()
    assert get(door, "/v1/outlook") == dataset.outlook().to_dict()
    assert get(door, "/v1/rounds") == {"rounds": [one.to_dict() for one in dataset.rounds]}
    assert get(door, "/v1/growth") == {"growth": [one.to_dict() for one in dataset.growth()]}
    assert get(door, "/v1/models") == {"models": []}
    assert post(door, "/v1/verify", None) == dataset.verify().to_dict()
    options = {"n0": 200, "n": 2000, "alpha": 0.3, "beta": 0.1}
    entries = [entry.to_dict() for entry in sh.compare(**options)]
    query = "&".join(f"{name}={value}" for name, value in options.items())
    assert get(door, f"/v1/compare?{query}") == {"entries": entries}
    held = post(door, "/v1/hold", {"round": 400})
    assert (held["round"], held["answers_left"]) == (400, session.answers_left(400))
    assert post(door, "/v1/hold", {"round": None})["round"] == 1000
    for round in (200, 1000, 2000):
        left = session.answers_left(round)
        assert get(door, f"/v1/room?round={round}") == {"round": round, "answers_left": left}


def test_me(door: Running):
    token = door.token(analyst="bob", limit=0.5)
    found = door.service.book.find(token)
    me = get(door, "/v1/me", token=token)
    limit = door.dataset.session("bob", limit=0.5).limit
    assert me == {
        "analyst": "bob",
        "role": "analyst",
        "token": found.id,
        "expires": found.expires,
        "limit": limit.to_dict(),
        "guard": "noise",
    }


def test_metrics(door: Running):
    door.dataset.session().ask("age > 65")
    send(door.url, "GET", "/v1/nothing/here")
    got = send(door.url, "GET", "/metrics")
    assert got.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = dict(
        line.rsplit(" ", 1) for line in got.content.decode().splitlines() if line[0] != "#"
    )
    status = door.dataset.status()
    assert float(values["surehold_records"]) == 1000
    assert float(values["surehold_answers"]) == 1
    assert float(values["surehold_answers_left"]) == status.answers_left
    assert float(values["surehold_budget_spent"]) == status.budget.spent > 0
    assert float(values["surehold_budget_total"]) == status.budget.total
    assert float(values["surehold_ledger_entries"]) == status.entries
    other = 'surehold_requests_total{method="GET",route="other",status="404"}'
    assert float(values[other]) == 1
    assert "nothing" not in got.content.decode()


# --------------------------------------------------------------------------------------- asking


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """With all records, so that every kind of query fits; and a twin that is asked directly."""
    folder = tmp_path_factory.mktemp("routes")
    with made(folder / "a" / "full", count=2000, seed=5) as dataset:
        dataset.register(YOUTH)
        with running(dataset) as run:
            yield run


def _models(case: str) -> bool:
    return case in ("model", "improvement", "confusion")  # of scikit-learn's: not over HTTP


@pytest.mark.parametrize("case", [name for name in CASES if not _models(name)])
def test_every_kind_of_result_is_the_librarys_own(full, case):
    query = CASES[case].query
    text = query if isinstance(query, str) else query.canonical
    session = full.dataset.session("analyst")
    assert post(full, "/v1/quote", {"query": text}) == session.quote(text).to_dict()
    told = post(full, "/v1/ask", {"query": text, "key": f"k {case}"})
    again = session.ask(text)
    assert again.recorded
    assert told == {**again.to_dict(), "recorded": told["recorded"]}
    assert type(again) is CASES[case].kind
    assert get(full, f"/v1/transcript/{told['entry']}") == again.to_dict()
    assert post(full, "/v1/quote", {"query": text}) == session.quote(text).to_dict()


def test_several_at_once(full):
    texts = ["age > 11", "rate(age > 11, bmi > 20)", "histogram(city in ('Oslo'))"]
    told = post(full, "/v1/ask-many", {"queries": texts, "round": 1999})["answers"]
    local = full.dataset.session("analyst").at(1999).ask_many(texts)
    assert told == [
        {**one.to_dict(), "recorded": t["recorded"]} for one, t in zip(local, told, strict=True)
    ]


@pytest.mark.parametrize("best", ["lowest", "highest"])
def test_select_is_the_same_as_its_text(full, best):
    names = {"young": "age < 12", "old": "age > 88"}
    told = post(full, "/v1/select", {"candidates": names, "best": best, "price": 2})
    query = sh.select(names, best=best, price=2)
    assert told == {**full.dataset.session("analyst").ask(query).to_dict(), "recorded": False}
    assert told["name"] in names
    body = {"candidates": list(names.values()), "best": best, "price": 2}
    assert post(full, "/v1/select", body)["entry"] == told["entry"]


def test_refusals_are_the_librarys_own(door: Running):
    session = door.dataset.session("analyst")
    for query, round in (("income > 3", None), ("age > 65", 12), ("mean(bmi, 5, 5)", None)):
        with pytest.raises(sh.SureholdError) as caught:
            session.at(round).ask(query)
        got = send(door.url, "POST", "/v1/ask", {"query": query, "round": round})
        assert got.json == caught.value.to_dict()
        assert got.status in (409, 422)


def test_a_plan_in_batches(tmp_path):
    with made(tmp_path / "batches", batch_plan(), 150) as dataset, running(dataset) as run:
        refused = send(run.url, "POST", "/v1/ask", {"query": "age > 65"})
        assert (refused.status, refused.error) == (409, "NotReady")
        assert post(run, "/v1/quote", {"query": "age > 65"})["allowed"] is False
        dataset.append(records(150, 500))
        assert post(run, "/v1/ask", {"query": "age > 65", "round": 200})["round"] == 200
        assert get(run, "/v1/status") == dataset.status().to_dict()


# ---------------------------------------------------------------------------------- transcript


def test_the_transcript_in_pages(door: Running):
    ann, bob = door.dataset.session("ann"), door.dataset.session("bob")
    for i in range(6):
        ann.ask(f"age > {i}")
        bob.at(500).ask(f"bmi > {i}")
        door.dataset.append([record(1000 + i)])
    listed = [answer.to_dict() for answer in door.dataset.transcript]
    for limit in (1, 5, 12, 1000):
        for newest in ("", "&newest=true"):
            found, more = [], ""
            while True:
                page = get(door, f"/v1/transcript?limit={limit}{newest}{more}")
                assert len(page["answers"]) <= limit
                found += page["answers"]
                if page["next"] is None:
                    break
                more = f"&{'before' if newest else 'after'}={page['next']}"
            assert found == (listed[::-1] if newest else listed)

    def filtered(query: str) -> list[str]:
        return [answer["text"] for answer in get(door, f"/v1/transcript?{query}")["answers"]]

    assert filtered("analyst=bob") == [f"bmi > {i}" for i in range(6)]
    assert filtered("round=500&contains=BMI%20%3E%203") == ["bmi > 3"]
    assert filtered("analyst=eve") == []
    assert filtered("kind=fraction&analyst=ann") == [f"age > {i}" for i in range(6)]
    assert filtered("kind=rate") == []
    times = sorted(answer.time for answer in door.dataset.transcript)
    seconds = [datetime.fromisoformat(time).timestamp() for time in times]
    assert len(filtered(f"since={seconds[0] - 1}&until={seconds[-1] + 1}")) == 12
    assert filtered(f"since={seconds[-1] + 1}") == filtered(f"until={seconds[0] - 1}") == []
    entries = [answer["entry"] for answer in listed]
    between = get(door, f"/v1/transcript?after={entries[2]}&before={entries[5]}")["answers"]
    assert [answer["entry"] for answer in between] == entries[3:5]
    assert send(door.url, "GET", "/v1/transcript/1").status == 404
    assert send(door.url, "GET", "/v1/transcript/999").status == 404


def test_the_transcript_as_csv(full: Running):
    """Every number has a line, with what the results say; a filter leaves some."""
    queries = (
        "age > 3",
        "mean(bmi, 0, 50)",
        "histogram(bins(age, 0 to 100 by 20))",
        "gate(age > 17, at_least, 0.4)",
    )
    for query in (*queries, "rate(age > 50, city = 'Oslo')"):
        full.dataset.session("carl").ask(query)
    got = send(full.url, "GET", "/v1/transcript.csv")
    assert got.headers["content-type"] == "text/csv; charset=utf-8"
    rows = [*csv.DictReader(io.StringIO(got.content.decode()))]
    results = {result.entry: result.to_dict() for result in full.dataset.transcript}
    assert {int(row["entry"]) for row in rows} == results.keys()
    lines = Counter(int(row["entry"]) for row in rows)
    for entry, result in results.items():
        assert lines[entry] == len(result.get("cells", [None]))
    for row in rows:
        result = results[int(row["entry"])]
        if result["kind"] == "answer":
            assert float(row["value"]) == result["value"]
            assert [float(row["low"]), float(row["high"])] == result["interval"]
        if result["kind"] == "verdict":
            assert row["verdict"] == result["verdict"]
    only = send(full.url, "GET", "/v1/transcript.csv?kind=gate&analyst=carl").content.decode()
    assert len(only.splitlines()) == 2


def test_csv_that_a_spreadsheet_would_run(tmp_path):
    with sh.create(tmp_path / "evil", beta=0.1, columns={"=cmd": "bool"}) as dataset:
        dataset.append([{"=cmd": True}] * 100)
        dataset.session("@ann").ask('"=cmd"')
        text = "".join(csv_lines(dataset.transcript))
    [row] = csv.DictReader(io.StringIO(text))
    assert row["analyst"] == "'@ann"
    assert not row["query"].startswith("=")


# -------------------------------------------------------------------------------------- models


@pytest.fixture(scope="module")
def model() -> bytes:
    """A tree that tells whether an age is above fifty."""
    from skl2onnx import to_onnx
    from sklearn.tree import DecisionTreeClassifier

    ages = np.arange(0, 100, 3, dtype=np.float32)
    features = np.column_stack([ages, ages * 0]).astype(np.float32)
    fitted = DecisionTreeClassifier(max_depth=1).fit(features, ages > 47)
    return to_onnx(fitted, features[:1], options={"zipmap": False}).SerializeToString()


BYTES = {"Content-Type": "application/octet-stream"}
ABOUT: dict[str, Any] = {"features": ["age", "bmi"], "target": "age > 50"}


def test_a_model_is_handed_in_once_and_asked_about(door: Running, model):
    kept = post(door, "/v1/models", model, headers=BYTES)
    assert kept == post(door, "/v1/models", model, headers=BYTES)
    assert kept["bytes"] == len(model)
    assert get(door, "/v1/models") == {"models": [kept]}
    asked = {"metric": "accuracy", "model": kept["model"], **ABOUT}
    told = post(door, "/v1/ask", {"query": asked})
    query = sh.accuracy(model, **ABOUT)
    assert told == {**door.dataset.session("analyst").ask(query).to_dict(), "recorded": False}
    by_text = post(door, "/v1/ask", {"query": query.canonical})
    assert (by_text["recorded"], by_text["entry"]) == (True, told["entry"])
    for metric, more in {
        "log": {"most": 5.0},
        "brier": {},
        "zero_one": {},
        "auc": {},
        "confusion": {},
        "calibration": {"bins": 2},
    }.items():
        quote = post(door, "/v1/quote", {"query": {**asked, "metric": metric, **more}})
        make: Callable[..., Any] = getattr(sh, metric, None) or (
            lambda *a, kind=metric, **o: sh.loss(*a, kind=kind, **o)
        )
        assert quote["query"] == make(model, **ABOUT, **more).canonical


def test_models_that_are_not_kept(clinic, model):
    settings = replace(QUICK, model_bytes=len(model), shelf_bytes=len(model) + 10)
    with running(clinic, settings) as run:
        for content in (b"", b"no model", model[:-20], b"\x80\x04N.", b"PK\x03\x04"):
            got = send(run.url, "POST", "/v1/models", content, headers=BYTES)
            assert (got.status, got.error) == (422, "InvalidInput"), content[:10]
        got = send(run.url, "POST", "/v1/models", model + b"\x00", headers=BYTES)
        assert (got.status, got.error) == (413, "RequestRefused")
        kept = post(run, "/v1/models", model, headers=BYTES)
        other = model.replace(b"skl2onnx", b"skl2onny")
        assert other != model
        got = send(run.url, "POST", "/v1/models", other, headers=BYTES)
        assert (got.status, "custodian" in got.json["error"]["details"]["hint"]) == (413, True)
        assert post(run, "/v1/models", model, headers=BYTES) == kept  # it is there: no more room
        assert get(run, "/v1/models") == {"models": [kept]}
        asked = {"metric": "accuracy", "model": "onnx:" + "0" * 64, **ABOUT}
        refused = send(run.url, "POST", "/v1/ask", {"query": asked})
        assert (refused.status, refused.error) == (422, "InvalidInput")


# ------------------------------------------------------------------------------------ appending


def as_bytes(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


FORMATS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    "text/csv": lambda frame: frame.write_csv().encode(),
    "Text/CSV; charset=utf-8; header=present": lambda frame: frame.write_csv().encode(),
    "text/tab-separated-values": lambda frame: frame.write_csv(separator="\t").encode(),
    "application/x-ndjson": lambda frame: frame.write_ndjson().encode(),
    "application/json": lambda frame: json.dumps(frame.to_dicts()).encode(),
    "application/vnd.apache.parquet": lambda frame: as_bytes(frame.write_parquet),
    "application/vnd.apache.arrow.file": lambda frame: as_bytes(frame.write_ipc),
}


def snapshot(dataset: sh.Dataset) -> list[Any]:
    """All records, as they are kept."""
    return list(dataset._data.text(0, dataset.n))


@pytest.mark.parametrize("kind", FORMATS)
def test_records_come_in_every_format(door: Running, tmp_path, kind):
    token = door.token("custodian")
    body = FORMATS[kind](pl.DataFrame(records(1000, 1200)))
    got = post(door, "/v1/append", body, token=token, headers={"Content-Type": kind})
    assert got == {"count": 200, "n": 1200, "known": None, "note": None}
    with made(tmp_path / "twin", count=1000) as twin:
        twin.append(records(1000, 1200))
        assert snapshot(door.dataset) == snapshot(twin)
    assert list(door.service.incoming.iterdir()) == []


def test_csv_in_another_dialect(door: Running):
    token, kind = door.token("custodian"), {"Content-Type": "text/csv"}
    body = b"age;bmi;city\n30;21,5;Oslo\n"
    got = send(door.url, "POST", "/v1/append", body, token=token, headers=kind)
    assert (got.status, got.error) == (422, "InvalidInput")
    assert "the body of this request" in got.json["error"]["message"]
    assert "--delimiter ';'" in got.json["error"]["message"]
    path = "/v1/append?delimiter=%3B&decimal=,"
    assert post(door, path, body, token=token, headers=kind) == {
        "count": 1,
        "n": 1001,
        "known": None,
        "note": None,
    }


def test_one_bad_record_keeps_all_of_them_out(door: Running):
    token = door.token("custodian")
    some = [*records(1000, 1003), {"age": "old"}, *records(1003, 1005)]
    got = send(door.url, "POST", "/v1/append", some, token=token)
    assert (got.status, got.error) == (422, "BadRecord")
    details = got.json["error"]["details"]
    assert (details["record"], details["column"]) == (4, "age")
    assert door.dataset.n == 1000


# --------------------------------------------------------------------------------------- rates


def test_who_comes_too_often_is_told_when_to_come_again(clinic):
    with running(clinic, Settings(rate=2.0)) as run:
        tokens = [run.token(analyst=name) for name in ("ann", "bob")]
        for token in tokens:  # each has a bucket of its own
            got = [send(run.url, "GET", "/v1/schema", token=token) for _ in range(6)]
            assert [one.status for one in got[:4]] == [200] * 4
            refused = got[-1]
            assert (refused.status, refused.error) == (429, "RequestRefused")
            assert 1 <= int(refused.headers["retry-after"]) <= 2
            assert 0 < refused.json["error"]["details"]["retry_after"] <= 0.5
        strangers = [send(run.url, "GET", "/v1/schema").status for _ in range(7)]
        assert strangers[:4] == [401] * 4
        assert strangers[-1] == 429
        assert send(run.url, "GET", "/healthz").status == 200
