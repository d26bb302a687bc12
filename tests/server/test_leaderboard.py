"""The leaderboard over HTTP: who may read it, who may submit, and that nothing else gets out."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

import surehold as sh
from support.service import QUICK, hosting, running, send
from surehold.server.host import Host
from surehold.server.tokens import TokenBook
from surehold.session.dataset import Dataset

N = 400
BOARD, SUBMISSIONS = "/v1/leaderboard", "/v1/leaderboard/submissions"
RULES = {"title": "Every third", "target": "label", "step": "0.02", "daily": 3}


def rows(wrong: int, n: int = N) -> list[dict[str, object]]:
    return [{"item": i, "answer": (i % 3 == 0) ^ (i < wrong)} for i in range(n)]


def filled(path) -> Dataset:
    dataset = sh.create(path, beta=0.05, columns={"item": "int", "label": "bool"}, id="item")
    dataset.append([{"item": i, "label": i % 3 == 0} for i in range(N)])
    return dataset


@pytest.fixture
def service(tmp_path):
    with filled(tmp_path / "secret-folder") as dataset, running(dataset) as run:
        yield run


def test_from_opening_to_the_last_submission_of_a_day(service):
    custodian = service.token("custodian")
    submitter = TokenBook(service.dataset.path).create("ann-lee", "submitter", seconds=60.0)[1]
    for method, path in (("GET", BOARD), ("POST", f"{SUBMISSIONS}?name=first")):
        none = send(service.url, method, path, rows(1) if method == "POST" else None,
                    token=submitter)  # fmt: skip
        assert (none.status, none.error) == (404, "RequestRefused")
    opened = send(service.url, "POST", BOARD, {**RULES, "public": True}, token=custodian)
    assert (opened.status, opened.json["submissions"]) == (200, [])
    assert send(service.url, "POST", BOARD, RULES, token=custodian).status == 422

    made = send(service.url, "POST", f"{SUBMISSIONS}?name=first", rows(100), token=submitter)
    assert (made.status, made.json["submission"]["rank"], made.json["left_today"]) == (200, 1, 2)
    again = send(service.url, "POST", f"{SUBMISSIONS}?default=x", rows(100), token=submitter)
    assert (again.json["recorded"], again.json["submission"]["name"]) == (True, "first")
    with sh.connect(service.url, submitter) as session:
        better = session.submit(rows(40), "second")
        assert better.submission.certified
        assert session.leaderboard == service.dataset.leaderboard
    worse = send(service.url, "POST", SUBMISSIONS, rows(60), token=submitter)
    assert worse.json["submission"]["display"]["outcome"] == "not better than second by 0.02"
    over = send(service.url, "POST", SUBMISSIONS, rows(0), token=submitter)
    assert (over.status, over.error) == (429, "RequestRefused")
    assert 0 < int(over.headers["retry-after"]) <= 86_400
    few = send(service.url, "POST", SUBMISSIONS, rows(0, N - 1), token=custodian)
    assert "a row for each of the 400 records" in few.json["error"]["message"]

    # Everybody reads the board, and learns nothing of people, places, predictions or records.
    for token in (None, "no token", submitter):
        got = send(service.url, "GET", BOARD, token=token)
        assert (got.status, len(got.json["submissions"])) == (200, 3)
    for hidden in ("ann-lee", "secret-folder", "table:", service.dataset.status().dataset):
        assert hidden not in got.content.decode()
    public = json.loads(send(service.url, "GET", BOARD).content)
    assert public == service.dataset.leaderboard.to_dict()
    assert send(service.url, "GET", "/v1/status").status == 401
    service.dataset.verify()


def test_a_board_that_is_not_public_needs_a_token(service):
    custodian = service.token("custodian")
    service.dataset.open_leaderboard("Every third", target="label", step="0.02")
    assert send(service.url, "GET", BOARD).status == 401
    for role in ("viewer", "submitter", "analyst", "appender"):
        token = service.token(role)
        assert send(service.url, "GET", BOARD, token=token).status == 200
    viewer = service.token("viewer")
    assert send(service.url, "POST", SUBMISSIONS, rows(9), token=viewer).status == 403
    assert send(service.url, "POST", BOARD, RULES, token=service.token("analyst")).status == 403
    assert (
        send(service.url, "POST", "/v1/retire", {"reason": "over"}, token=custodian).status == 200
    )
    # The server of one dataset looks only at its tokens; those of several refuse it (test_hosts).
    assert send(service.url, "GET", BOARD, token=viewer).status == 200


def test_boards_of_several_datasets(tmp_path):
    """A public board is read below /d/NAME; of others a stranger learns nothing."""
    root = tmp_path / "datasets"
    root.mkdir()
    for name, public in (("open", True), ("closed", False)):
        with filled(root / name) as dataset:
            dataset.open_leaderboard(name, target="label", step="0.02", public=public)
    book = TokenBook(root, guard=None)
    book.create("ann", "custodian", seconds=60.0)
    elsewhere = book.create("bob", "submitter", seconds=60.0, datasets=("closed",))[1]
    with hosting(Host(settings=replace(QUICK, base_path="/eval"), root=root)) as url:
        assert send(url, "GET", f"/d/open{BOARD}").json["title"] == "open"
        assert send(url, "GET", f"/d/open{BOARD}", token=elsewhere).status == 200
        assert send(url, "POST", f"/d/open{SUBMISSIONS}", rows(9), token=elsewhere).status == 404
        assert send(url, "POST", f"/d/closed{SUBMISSIONS}", rows(9), token=elsewhere).status == 200
        closed, nowhere = (send(url, "GET", f"/d/{name}{BOARD}") for name in ("closed", "nowhere"))
        assert closed.status == nowhere.status == 401
        assert closed.json == nowhere.json
        with sh.connect(f"{url}/d/closed", elsewhere) as session:
            assert [one["address"] for one in session.datasets] == ["/eval/d/closed"]
        page = send(url, "GET", "/d/open/leaderboard")
        assert page.status == 200
        assert b'href="/eval/d/open/static/base.css"' in page.content


def test_the_command_here_and_at_an_address(tmp_path, monkeypatch, capsys):
    from surehold.cli import main

    def run(*arguments: object) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments)])
        assert ended.value.code == 0, capsys.readouterr()
        return capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    file = tmp_path / "run 1.csv"
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, ["item", "answer"])
        writer.writeheader()
        writer.writerows(rows(100))
    with filled(tmp_path / "evals") as dataset:
        token = tmp_path / "token"
        token.write_text(TokenBook(dataset.path).create("ann", "custodian", seconds=60.0)[1])
        with running(dataset) as service:
            there = (service.url, "--token-file", token)
            about = ("--title", "Every third", "--target", "label", "--step", "0.02")
            assert "Every third · accuracy of label" in run(
                "leaderboard", "open", service.url, *about, *there[1:]
            )
            assert "run 1: 0.75" in run("leaderboard", "submit", service.url, file, *there[1:])
            shown = run("leaderboard", "show", service.url, "--json", *there[1:])
        assert json.loads(shown) == dataset.leaderboard.to_dict()
    assert "recorded, and free" in run("leaderboard", "submit", "evals", file)
    listed = run("leaderboard", "show", "evals")
    assert "run 1" in listed
    assert "hold together with probability 95%" in listed
