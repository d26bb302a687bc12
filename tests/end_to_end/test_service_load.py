"""32 clients at once: every response is in the transcript, once, and the budget is exact.

`python benchmarks/bench_service.py` does it for a minute, and prints how long requests take.
"""

from __future__ import annotations

import copy
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from end_to_end.crowd import (
    ANALYST,
    CUSTODIAN,
    FIRST,
    Crowd,
    Log,
    check_appends,
    check_money,
    check_once,
    check_told,
    made,
    plenty,
    scarce,
    token,
    transcript,
)
from support.service import send, serving

CLIENTS, SECONDS, FEW_SECONDS = 32, 10.0, 0.5
UNLIMITED = ("--rate", "100000")


def orders(path: Path, does: dict[str, int], count: int) -> list[dict[str, Any]]:
    """Analysts who have a few names between them."""
    texts = [token(path, "analyst", f"analyst {i}") for i in range(4)]
    return [{"token": texts[i % 4], "does": does, "round": FIRST} for i in range(count)]


def test_32_clients_at_once(tmp_path: Path) -> None:
    path = made(tmp_path / "data", plenty())
    custodian = token(path, "custodian", "ward")
    with serving(path, *UNLIMITED) as (url, _), Crowd(tmp_path, url) as crowd:
        crowd.go(
            {"token": custodian, "does": CUSTODIAN},
            *orders(path, ANALYST, CLIENTS - 1),
        )
        time.sleep(SECONDS)
        crowd.wait_for_all_kinds()
        logs = crowd.end()
        kept = transcript(url, custodian)
        assert send(url, "POST", "/v1/verify", token=custodian).json["answers"] == len(kept)
    check_all(path, logs, kept)


def test_32_clients_of_several_datasets_one_of_which_is_damaged_meanwhile(tmp_path: Path) -> None:
    """Two go on, whatever becomes of the one that cannot be opened and the one that was open."""
    root = tmp_path / "root"
    root.mkdir()
    paths = {name: made(root / name, plenty()) for name in ("one", "two")}
    shutil.copytree(made(root / "later", None, 2000), root / "before")
    (root / "before" / "ledger.sqlite").write_bytes(b"no ledger")
    custodians = {name: token(path, "custodian", "ward") for name, path in paths.items()}
    own = {name: token(root / name, "analyst", "ann") for name in ("before", "later")}

    def failures(url: str, name: str) -> str | None:
        body = {"query": "x < 0.5"}
        got = send(url, "POST", f"/d/{name}/v1/ask", body, token=own[name])
        return None if got.status == 200 else got.error

    hosted = serving(root, *UNLIMITED, is_root=True)
    with hosted as (url, process), Crowd(tmp_path, url) as crowd:
        assert (failures(url, "later"), failures(url, "before")) == (None, "LedgerCorrupt")
        for name, path in paths.items():
            base = {"base": f"/d/{name}"}
            crowd.go(
                {"token": custodians[name], "does": CUSTODIAN, **base},
                *({**order, **base} for order in orders(path, ANALYST, CLIENTS // 2 - 1)),
            )
        crowd.wait_for_all_kinds()
        for left in (root / "later").glob("ledger.sqlite*"):
            left.write_bytes(bytes(4096))
        assert {failures(url, name) for name in ("later", "before")} == {"LedgerCorrupt"}
        time.sleep(FEW_SECONDS)
        assert {failures(url, name) for name in ("later", "before")} == {"LedgerCorrupt"}
        assert send(url, "GET", "/readyz").status == 200
        logs = crowd.end()
        kept = {name: transcript(f"{url}/d/{name}", custodians[name]) for name in paths}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    for i, (name, path) in enumerate(paths.items()):
        check_all(path, logs[i * CLIENTS // 2 : (i + 1) * CLIENTS // 2], kept[name])


def check_all(path: Path, logs: list[Log], kept: dict[int, dict[str, Any]]) -> None:
    for what in (*ANALYST, *CUSTODIAN):
        assert any(log.times.get(what) for log in logs), f"nobody did {what}"
    assert all(log.told or log.appended for log in logs), "somebody was never served"
    assert sum(log.refused for log in logs) == 0
    check_told(logs, kept)
    check_once(logs, kept)
    check_money(path, kept)
    check_appends(path, logs)


def test_a_budget_that_ends_in_the_middle(tmp_path: Path) -> None:
    path = made(tmp_path / "data", scarce())
    with sh.open(path) as dataset:
        fits = dataset.outlook().to_dict()["now"]["answers"]
    assert fits == 500
    with serving(path, *UNLIMITED) as (url, _), Crowd(tmp_path, url) as crowd:
        given = orders(path, {"fresh": 3, "keyed": 3, "known": 2, "again": 1, "quote": 1}, CLIENTS)
        reader = given[0]["token"]
        crowd.go(*given)
        until = time.monotonic() + 180.0
        while answers_left(url, reader):
            assert time.monotonic() < until, "the budget never ended"
            crowd.check_going()
            time.sleep(0.05)
        crowd.wait_for_refusals()  # all of them meet its end
        logs = crowd.end()
        kept = transcript(url, reader)
        assert answers_left(url, reader) == 0
    assert len(kept) == fits
    assert all(log.refused for log in logs)
    check_told(logs, kept)
    check_once(logs, kept)
    check_money(path, kept)


def answers_left(url: str, reader: str) -> int:
    return int(send(url, "GET", "/v1/status", token=reader).json["answers_left"])


class TestThatTheChecksCanFail:
    """On a ledger of three answers, two of which one caller was told as new and one another."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = made(tmp_path / "data", plenty())
        with sh.open(path) as dataset:
            session = dataset.session()
            for i in range(3):
                session.ask(f"x < {i}", key=f"key {i}")
        return path

    @pytest.fixture
    def kept(self, path: Path) -> dict[int, dict[str, Any]]:
        with sh.open(path) as dataset:
            return {answer.entry: answer.to_dict() for answer in dataset.transcript}

    @pytest.fixture
    def logs(self, kept: dict[int, dict[str, Any]]) -> list[Log]:
        told = [{**copy.deepcopy(answer), "recorded": False} for answer in kept.values()]
        return [Log(1.0, {}, part, {}, {}, 0, 0, 0) for part in (told[:2], told[2:])]

    def test_all_is_well(self, path: Path, kept: Any, logs: list[Log]) -> None:
        check_told(logs, kept)
        check_once(logs, kept)
        check_money(path, kept)
        check_appends(path, logs)

    def test_another_value_was_told(self, kept: Any, logs: list[Log]) -> None:
        logs[1].told[0]["value"] += 0.25
        with pytest.raises(AssertionError):
            check_told(logs, kept)

    def test_told_as_new_twice(self, kept: Any, logs: list[Log]) -> None:
        logs[1].told.append(logs[0].told[0])
        with pytest.raises(AssertionError):
            check_once(logs, kept)

    def test_an_answer_that_nobody_was_told(self, kept: Any, logs: list[Log]) -> None:
        logs[1].told.clear()
        with pytest.raises(AssertionError):
            check_once(logs, kept)

    def test_a_question_that_was_answered_twice(self, kept: Any, logs: list[Log]) -> None:
        first, second, _ = kept.values()
        second["query"] = first["query"]
        with pytest.raises(AssertionError):
            check_once(logs, kept)

    def test_an_answer_more_in_the_ledger(self, path: Path, kept: Any) -> None:
        with sh.open(path) as dataset:
            dataset.session().ask("x < 7")
        with pytest.raises(AssertionError):
            check_money(path, kept)

    def test_a_batch_that_is_not_there(self, path: Path, logs: list[Log]) -> None:
        logs[0].appended["1000001"] = 3
        with pytest.raises(AssertionError):
            check_appends(path, logs)

    def test_a_batch_that_is_there_twice(self, path: Path, logs: list[Log]) -> None:
        logs[0].appended["1000001"] = 1
        with sh.open(path) as dataset:
            for _ in range(2):
                dataset.append({"batch": 1000001, "i": 0, "x": 0.37})
        with pytest.raises(AssertionError):
            check_appends(path, logs)
