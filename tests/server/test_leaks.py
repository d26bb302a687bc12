"""Nothing that a record holds gets out but through an answer: not by errors, logs or metrics."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from server.doors import GUARDED, OF_THE_OTHER_GUARD, knocked
from support.noise_sources import FastSeededNoise
from support.runtime import COLUMNS, GUARDS, guarded
from support.service import QUICK, Got, Running, knock, running, running_among, send
from surehold.server.routes import page
from surehold.server.tokens import TokenBook
from surehold.session.dataset import Dataset, create
from surehold.session.session import Session

WORD, NUMBER, FRACTION = "canary-7f3a", 731_642_189, 73_164.2189
CANARIES = (WORD, WORD.upper(), str(NUMBER), f"{NUMBER:,}", str(FRACTION), f"{FRACTION:,}")
RARE = {"age": NUMBER, "bmi": FRACTION, "city": WORD}


def canaries(count: int = 1000) -> list[dict[str, Any]]:
    """Records that nobody could mistake for anything else."""
    return [RARE if i % 3 else {"age": i, "bmi": 20.0, "city": "Oslo"} for i in range(count)]


def sparrows(count: int = 1000) -> list[dict[str, Any]]:
    """As many others, of the same columns."""
    return [{"age": 1, "bmi": 30.0 + i, "city": "Bergen"} for i in range(count)]


def filled(path: Any, some: list[dict[str, Any]], guard: str) -> Dataset:
    path.parent.mkdir(exist_ok=True)
    create(path, **guarded(guard, limit=120), columns=COLUMNS).close()
    dataset = Dataset(path, FastSeededNoise(3))
    dataset.append(some)
    return dataset


LIVELY = replace(QUICK, alive_seconds=0.3)


@contextmanager
def caged(folder: Path, how: str) -> Iterator[tuple[Running, str]]:
    """A service of a dataset of canaries with one guard, or of several, one with each guard."""
    if how != "several":
        with filled(folder / "clinic", canaries(), how) as dataset, running(dataset, LIVELY) as run:
            yield run, run.token("custodian")
        return
    for name, guard in (("clinic", "surprise"), ("shop", "noise")):
        filled(folder / name, canaries(), guard).close()
    with running_among(folder / "clinic", folder / "shop", settings=LIVELY) as run:
        TokenBook(folder / "shop").create("ann", "custodian", seconds=60.0)
        yield run, run.token("custodian")


@pytest.fixture(params=[*GUARDS, "several"])
def cage(request, tmp_path):
    with caged(tmp_path, request.param) as found:
        yield found


@pytest.fixture(scope="module", params=[*GUARDS, "several"])
def lasting_cage(request, tmp_path_factory):
    with caged(tmp_path_factory.mktemp("cage"), request.param) as found:
        yield found


def check_silent(*told: object) -> None:
    """Nowhere a canary, however it is written."""
    for one in told:
        text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, default=str)
        for canary in CANARIES:
            assert canary.lower() not in text.lower(), text[:2000]


def check_got(got: Got, *statuses: int) -> None:
    assert got.status in statuses, got.content
    check_silent(got.content.decode(), got.headers)


# -------------------------------------------------------------------------------- what is asked

ASKED = [
    "age > 65",
    "mean(bmi, 10, 60)",
    "mean(age, 0, 100)",
    "histogram(bins(age, 0, 50, 98))",
    "variance(bmi, 0, 50)",
    "auc_pairs(age, bmi > 25)",
    "rate(age > 50, bmi > 20)",
    "gate(age > 50, at_least, 0.5)",
    "select(lowest, 3, fraction(age > 5), fraction(age > 95))",
    "income > 3",
    "age + city > 3",
    "city > 3",
    "age / 0 > 3",
    "mean(age, 0, 1e308)",
    "log(0 - age) > 1",
]


def test_a_battery_of_questions(cage, log):
    run, token = cage
    statuses = set()
    for query in ASKED:
        for path in ("/v1/quote", "/v1/ask"):
            got = send(run.url, "POST", path, {"query": query}, token=token)
            statuses.add(got.status)
            check_got(got, 200, 422)
    for i in range(400):
        got = send(run.url, "POST", "/v1/ask", {"query": f"age > {i} + 0.5"}, token=token)
        check_got(got, 200, 402)
        statuses.add(got.status)
        if got.status == 402:
            break
    assert statuses == {200, 402, 422}
    entry = send(run.url, "GET", "/v1/transcript", token=token).json["answers"][0]["entry"]
    for path in (
        *("/v1/me", "/v1/schema", "/v1/status", "/v1/plan", "/v1/outlook", "/v1/rounds"),
        "/v1/room?round=1500",
        *("/v1/growth", "/v1/models", "/v1/transcript", f"/v1/transcript/{entry}", "/metrics"),
        *("/openapi.json", "/healthz"),
    ):
        is_refused = path.partition("?")[0] in OF_THE_OTHER_GUARD[run.dataset.guard]
        check_got(send(run.url, "GET", path, token=token), 422 if is_refused else 200)
    check_got(send(run.url, "POST", "/v1/verify", token=token), 200)
    assert len(log()) > 40
    check_silent(log())


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("role", ["viewer", "custodian"])
def test_no_response_says_where_the_dataset_lies(tmp_path, role, guard):
    """Of the folder its name at most: no route, no refusal, and not when files are gone."""
    place = tmp_path / "where-it-lies"
    with filled(place / "clinic", canaries(), guard) as dataset, running(dataset) as run:
        token, told = run.token(role), []
        for method, path in GUARDED:
            told.append(knocked(run.url, method, path, token))
        for kind, body in BAD.values():
            kinds = {"Content-Type": kind}
            told.append(send(run.url, "POST", "/v1/append", body, token=token, headers=kinds))
        for path in ("/", "/openapi.json", "/healthz", "/nothing", "/v1/transcript/999999"):
            told.append(send(run.url, "GET", path, token=token))
        for file in (place / "clinic" / "segments").iterdir():
            file.unlink()
        (place / "clinic" / "witness").unlink()
        for method, path in GUARDED:
            told.append(knocked(run.url, method, path, token))
    for got in told:
        assert str(place) not in got.content.decode() + str(got.headers)
        assert str(tmp_path) not in got.content.decode() + str(got.headers)
    statuses = {got.status for got in told}
    assert statuses >= {200, 403 if role == "viewer" else 422, 404}
    assert any(b'"name":"clinic"' in got.content.replace(b": ", b":") for got in told)


# ------------------------------------------------------------------------------ what is appended


def as_bytes(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


WRONG = pl.DataFrame({"age": [WORD], "bmi": [FRACTION], "city": [str(NUMBER)]})
LINE = f"{NUMBER},{FRACTION},{WORD}\n"
JSON, CSV, TSV = "application/json", "text/csv", "text/tab-separated-values"
LINES, PARQUET = "application/x-ndjson", "application/vnd.apache.parquet"
ARROW = "application/vnd.apache.arrow.file"
BAD: dict[str, tuple[str, bytes]] = {
    "text for a number": (CSV, f"age,bmi,city\n1,2,Oslo\n{WORD},{FRACTION},{WORD}\n".encode()),
    "a fraction for a number": (CSV, f"age,bmi,city\n{FRACTION},2,{WORD}\n".encode()),
    "no first line": (CSV, (LINE * 3).encode()),
    "too few fields": (CSV, f"age,bmi,city\n{NUMBER},{WORD}\n".encode()),
    "too many fields": (CSV, f"age,bmi,city\n{LINE[:-1]},{WORD}\n".encode()),
    "an open quote": (CSV, f'age,bmi,city\n1,2,"{WORD}\n'.encode()),
    "bad UTF-8": (CSV, f"age,bmi,city\n{NUMBER},2,{WORD}".encode() + b"\xff\n"),
    "commas for tabs": (TSV, f"age\tbmi\tcity\n{LINE}".encode()),
    "lines that are no JSON": (LINES, f'{{"age": {NUMBER}, "city": "{WORD}"\n'.encode()),
    "a text": (LINES, f'"{WORD}"\n'.encode()),
    "a column that is not there": (LINES, f'{{"age": 1, "income": "{WORD}"}}\n'.encode()),
    "a list for a text": (LINES, f'{{"city": ["{WORD}"]}}\n'.encode()),
    "text in JSON": (JSON, f'[{{"age": "{WORD}"}}]'.encode()),
    "an object": (JSON, f'{{"age": {NUMBER}, "city": "{WORD}"}}'.encode()),
    "a text in JSON": (JSON, f'"{WORD}"'.encode()),
    "half of JSON": (JSON, f'[{{"city": "{WORD}"'.encode()),
    "said twice": (JSON, f'[{{"age": {NUMBER}, "age": 3, "city": "{WORD}"}}]'.encode()),
    "a large number": (JSON, f'[{{"age": {NUMBER}{"0" * 30}, "city": "{WORD}"}}]'.encode()),
    "parquet of other types": (PARQUET, as_bytes(WRONG.write_parquet)),
    "half of parquet": (PARQUET, as_bytes(WRONG.write_parquet)[:-20]),
    "arrow of other types": (ARROW, as_bytes(WRONG.write_ipc)),
    "half of arrow": (ARROW, as_bytes(WRONG.write_ipc)[:-20]),
    "another kind": ("text/html", WORD.encode()),
}


def test_records_that_do_not_fit(cage, log):
    run, token = cage
    for name, (kind, body) in BAD.items():
        got = send(run.url, "POST", "/v1/append", body, token=token, headers={"Content-Type": kind})
        assert (name, got.status in (400, 415, 422)) == (name, True)
        check_got(got, 400, 415, 422)
    many = [RARE] * 150
    assert send(run.url, "POST", "/v1/append", many, token=token).status == 200
    check_got(send(run.url, "POST", "/v1/append", many, token=token), 422)
    for path in ("/v1/ask", "/v1/models"):
        got = send(run.url, "POST", path, json.dumps(RARE).encode(), token=token)
        check_got(got, 415)
    log.of(got)
    assert len(log()) >= len(BAD) + 4
    check_silent(log())
    assert run.dataset.n == 1150


@pytest.mark.parametrize("guard", GUARDS)
def test_ids_that_are_known_are_counted_and_never_named(tmp_path, log, guard):
    """Neither the ids nor what is kept of them, whatever an export has of either."""
    columns = {"who": "str", "age": "int", "city": "str"}
    create(tmp_path / "clinic", **guarded(guard), columns=columns, id="who").close()
    rows = [{"who": f"{WORD}-{i}", "age": NUMBER, "city": WORD} for i in range(300)]
    with Dataset(tmp_path / "clinic", FastSeededNoise(3)) as dataset, running(dataset) as run:
        dataset.append(rows)
        token = run.token("custodian")
        others = [{**row, "age": 1} for row in rows[::100]]
        for body in (others, [*rows, *others], [*rows, {"who": "new", "age": 1}, *others]):
            got = send(run.url, "POST", "/v1/append", body, token=token)
            check_got(got, 422)
            assert "3 known ids with other values" in got.content.decode()
        twice = [{"who": f"{WORD}-x", "age": i} for i in range(2)]
        check_got(send(run.url, "POST", "/v1/append", twice, token=token), 422)
        missing = [{"who": None, "age": NUMBER, "city": WORD}]
        check_got(send(run.url, "POST", "/v1/append", missing, token=token), 422)
        check_got(send(run.url, "POST", "/v1/append", rows, token=token), 200)
        got = send(run.url, "POST", "/v1/tables?name=p", [{"who": f"{WORD}-1"}] * 2, token=token)
        check_got(got, 422)
        assert dataset.n == 300
    check_silent(log())


# ------------------------------------------------------------------------- what goes wrong inside


class Careless(Exception):
    """An error that says what it saw."""


@pytest.mark.parametrize(
    ("owner", "name", "method", "path", "body"),
    [
        (Dataset, "status", "GET", "/v1/status", None),
        (Dataset, "status", "GET", "/metrics", None),
        (Dataset, "growth", "GET", "/v1/growth", None),
        (Dataset, "transcript_of", "GET", "/v1/transcript", None),
        (Dataset, "verify", "POST", "/v1/verify", None),
        (Dataset, "append", "POST", "/v1/append", [RARE]),
        (Session, "ask", "POST", "/v1/ask", {"query": "age > 65"}),
        (Session, "ask_many", "POST", "/v1/ask-many", {"queries": ["age > 65"]}),
        (Session, "quote", "POST", "/v1/quote", {"query": "age > 65"}),
        (Session, "register", "POST", "/v1/register", {"queries": ["age > 65"]}),
    ],
)
@pytest.mark.parametrize("kind", [Careless, KeyError, UnicodeError, OSError, AssertionError])
def test_errors_that_nobody_expected_say_nothing(
    lasting_cage, log, monkeypatch, owner, name, method, path, body, kind
):
    run, token = lasting_cage

    def fail(*_: object, **__: object) -> None:
        raise kind(f"{WORD} {NUMBER}")

    monkeypatch.setattr(owner, name, fail)
    got = send(run.url, method, path, body, token=token)
    check_got(got, 500)
    assert got.error == "ServiceFailed"
    monkeypatch.undo()
    request = log.of(got)
    assert (request["status"], request["route"]) == (500, path)
    [error] = [line for line in log() if line["event"] == "unexpected error"]
    assert (error["error"], error["level"]) == (kind.__name__, "error")
    assert error["places"]
    check_silent(log())
    assert send(run.url, "GET", "/v1/status", token=token).status == 200


def test_errors_of_what_is_around_the_routes(cage, log, monkeypatch):
    """The page's own files, and whatever a task of the loop leaves behind."""
    run, _ = cage

    async def fail(*_: object) -> None:
        raise Careless(WORD)

    monkeypatch.setattr(page.StaticFiles, "get_response", fail)
    got = send(run.url, "GET", "/static/main.js")
    check_got(got, 500)
    assert got.error == "ServiceFailed"
    logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: %r", WORD)
    logging.getLogger("asyncio").error("lost", exc_info=Careless(WORD))
    assert {line["event"] for line in log()} >= {"Task exception was never retrieved", "lost"}
    check_silent(log())


def test_a_stream_whose_look_fails_says_nothing_of_it(cage, log, monkeypatch):
    run, token = cage

    def fail(self: Dataset) -> None:
        raise Careless(WORD)

    monkeypatch.setattr(Dataset, "status", fail)
    path = f"{urlsplit(run.url).path}/v1/events"
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
    with knock(run.url, head.encode()) as connection:
        told = b""
        while b": still here" not in told:
            told += connection.recv(1 << 16)
    monkeypatch.undo()
    check_silent(told.decode())
    check_silent(log())


# --------------------------------------------------------------- refusals know nothing of values

REFUSED: list[tuple[str, str, Any]] = [
    ("POST", "/v1/ask", {"query": "age > 65"}),  # by then there is no budget left
    ("POST", "/v1/ask", {"query": "bmi > 1e9"}),
    ("POST", "/v1/ask", {"query": f"city == '{WORD}'"}),
    ("POST", "/v1/ask", {"query": "age > 65", "round": 199}),
    ("POST", "/v1/ask", {"query": "age > 65", "round": 5000}),
    ("POST", "/v1/ask", {"query": "income > 65"}),
    ("POST", "/v1/ask", {"query": "mean(bmi, 5, 5)"}),
    ("POST", "/v1/ask-many", {"queries": ["age > 65", "age > 1e9"]}),
    ("POST", "/v1/select", {"candidates": [f"bmi > {i}e9" for i in range(64)]}),
    ("POST", "/v1/quote", {"query": "age > 64"}),
    ("POST", "/v1/quote", {"query": f"city == '{WORD}'"}),
    ("POST", "/v1/hold", {"round": 100}),
    ("POST", "/v1/quote", {"query": "age > 63", "expect": "pass"}),
    ("POST", "/v1/ask", {"query": "age > 63", "expect": 2, "within": 0.1}),
    ("POST", "/v1/ask", {"query": f"city == '{WORD}'", "expect": 0.6, "within": 0.01}),
    ("POST", "/v1/register", {"queries": ["bmi > 1e9", f"city == '{WORD}'"]}),
    ("POST", "/v1/append", [{"age": "old"}]),
    ("POST", "/v1/append", [{"city": 7}]),
    ("GET", "/v1/transcript/2", None),
    ("GET", "/v1/outlook", None),
    ("GET", "/v1/rounds", None),
]


@pytest.mark.parametrize("guard", GUARDS)
def test_two_datasets_that_differ_in_values_refuse_with_the_same_bytes(tmp_path, guard):
    told: list[list[object]] = []
    for name, some in (("a", canaries()), ("b", sparrows())):
        with filled(tmp_path / name / "clinic", some, guard) as dataset, running(dataset) as run:
            token, found = run.token("custodian"), list[object]()
            for i in range(400):
                got = send(run.url, "POST", "/v1/ask", {"query": f"age > {i}.5"}, token=token)
                found.append(got.status)
                if got.status == 402:
                    break
            for method, path, body in REFUSED:
                got = send(run.url, method, path, body, token=token)
                kept = {k: v for k, v in got.headers.items() if k not in ("date", "x-request-id")}
                found.append((path, got.status, got.content, kept))
        told.append(found)
    assert told[0] == told[1]
    assert {status for _, status, *_ in told[0][-len(REFUSED) :]} == {200, 402, 404, 409, 422}
