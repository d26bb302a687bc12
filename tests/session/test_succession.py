"""Successors: a new dataset takes over, the old one is closed for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import surehold as sh
from support.service import running
from support.small_models import ONE
from support.workload import YOUTH
from surehold.data import intake, record_store
from surehold.errors import BadRecord, InvalidInput, LedgerCorrupt, RequestRefused, WrongGuard

MARK = "8c1f-erase-me"
COLUMNS = {"user": "str", "age": "int", "rating": "int"}


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"user": MARK if i == 7 else f"u{i}", "age": 90 - i % 90, "rating": i % 5}
        for i in range(count)
    ]


@pytest.fixture(params=["pending", "sealed", "segments"])
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset whose records wait in the ledger, waited there once, or are in segments."""
    monkeypatch.setattr(intake, "LARGE", 50 if request.param == "segments" else 10_000)
    monkeypatch.setattr(intake, "RECORDS", 90)
    monkeypatch.setattr(record_store, "SEAL_AT", 10 if request.param == "sealed" else 10_000)
    return make(tmp_path)


def make(folder: Path, **more: Any) -> Path:
    path = folder / "clinic"
    with sh.create(path, beta=0.05, columns=COLUMNS, **{"id": "user", **more}) as dataset:
        dataset.append(rows(200))
        dataset.session("ann").ask("age > 45")
        dataset.session("bob").ask("rating > 2", expect=0.4)
    return path


def holds(folder: Path, text: str) -> list[str]:
    """The files below a folder with this text in their bytes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if text.encode() in path.read_bytes()]


def frame(dataset: sh.Dataset) -> pl.DataFrame:
    return dataset._data.load_frame(dataset.n)


def test_a_record_is_erased(old: Path) -> None:
    new = old.with_name("clinic-2")
    assert holds(old, MARK)
    done = sh.succeed(old, new, erase=[MARK], reason="on request")
    assert (done.n, done.erased, done.name, done.predecessor) == (199, 1, "clinic-2", "clinic")
    assert not holds(old.parent, MARK)
    with sh.open(new) as made, sh.open(old) as closed:
        assert frame(made)["user"].to_list() == [f"u{i}" for i in range(200) if i != 7]
        assert made.status().predecessor == "clinic"
        assert closed.status().successor == "clinic-2"
        assert closed.status().round is None
        assert len(closed.transcript) == 2
        assert closed.verify().recomputed == 0
        assert "1 record erased" in str(closed.verify())
        made.session().ask("age > 40")
        assert made.verify().recomputed == 1
        assert "It took over from clinic" in str(made.verify())


def test_what_was_spent_stays_spent(tmp_path: Path) -> None:
    old, new = make(tmp_path), tmp_path / "clinic-2"
    with sh.open(old) as dataset:
        before = dataset.status()
    sh.succeed(old, new, erase=["u1"], reason="on request")
    with sh.open(new) as made:
        after = made.status()
        assert (after.spent, after.share_left, after.claims) == (
            before.spent,
            before.share_left,
            before.claims,
        )
        assert {one.analyst: one.spent for one in after.by_analyst} == {
            one.analyst: one.spent for one in before.by_analyst
        }
        with pytest.raises(sh.BudgetExhausted):
            made.session("ann", limit=before.spent).ask("age > 41")
        again = made.session("ann").ask("age > 45")
        assert again.claim == before.claims + 1
        assert again.spent > before.spent
        made._ledger._mend_spending()  # the entries say the same
        made.verify()


def test_the_old_one_is_closed_for_good(tmp_path: Path) -> None:
    old = make(tmp_path)
    with sh.open(old) as elsewhere:  # another process has it open
        session = elsewhere.session()
        sh.succeed(old, tmp_path / "clinic-2", columns={"rating": "float"}, reason="decimals")
        with pytest.raises(RequestRefused, match="'clinic-2' took over"):
            elsewhere.session().ask("age > 2")  # which may be the first to notice
        head = elsewhere.status().head
        asked = (
            lambda: session.ask("age > 3"),
            lambda: session.ask("age > 45"),  # recorded before
            lambda: session.ask("age > 45", key="again"),
            lambda: session.quote("age > 45"),
            lambda: session.ask_many(["age > 45"]),
            lambda: session.register(["age > 4"]),
            lambda: elsewhere.session(),
            lambda: elsewhere.append([{"user": "x", "age": 1, "rating": 1}]),
            lambda: sh.succeed(old, tmp_path / "other", columns={"age": "float"}, reason="x"),
        )
        for ask in asked:
            with pytest.raises(RequestRefused, match="'clinic-2' took over") as refused:
                ask()
            assert refused.value.status == 410
        assert elsewhere.status().head == head
        assert elsewhere.verify().recomputed == 2  # no record was erased, so all are there
    assert not (tmp_path / "other").exists()


def test_columns_are_added_and_mended(tmp_path: Path) -> None:
    old, new = make(tmp_path), tmp_path / "clinic-2"
    regions = tmp_path / "regions.csv"
    regions.write_text("user,region\nu3,north\nu5,south\nnobody,west\n")
    types = {"rating": "float", "age": "str"}
    sh.succeed(old, new, add={"region": regions}, columns=types, reason="known now")
    with sh.open(new) as made:
        assert made.columns == {
            "user": "str id",
            "age": "str",
            "rating": "float",
            "region": "str",
        }
        assert frame(made)["region"].drop_nulls().to_list() == ["north", "south"]
        assert frame(made)["rating"].to_list() == [i % 5 * 1.0 for i in range(200)]
        assert made.append([{"user": "new", "rating": 4.5}]).n == 201
        made.verify()


def test_a_successor_can_have_an_id(tmp_path: Path) -> None:
    old = make(tmp_path, id=None)
    with pytest.raises(InvalidInput, match="unique"):
        sh.succeed(old, tmp_path / "clinic-2", id="age", reason="an id")
    sh.succeed(old, tmp_path / "clinic-2", id="user", reason="an id")
    with sh.open(tmp_path / "clinic-2") as made:
        assert made.append(rows(201)).known == 200


TABLE = [{"user": MARK if i == 7 else f"u{i}", "guess": i % 5} for i in range(150)]
QUESTIONS = [
    {"name": "old", "question": "age > 45", "unit": "%"},
    {"name": "right", "question": '"run-1".guess = rating', "gate": ">= 10 %"},
]


@pytest.mark.usefixtures("quick_models")
def test_names_tables_models_and_reservations_are_taken_over(tmp_path: Path) -> None:
    """Without rows of erased records; nothing more is spent or claimed by that."""
    old, new = make(tmp_path, limit=100), tmp_path / "clinic-2"
    with sh.open(old) as dataset:
        session = dataset.session("ann")
        session.keep_table(TABLE, "run-1")
        session.keep_table([{"user": MARK, "guess": 1}], "only")
        dataset.keep_model(ONE, "net", analyst="bob")
        dataset.register(YOUTH)
        session.register(sh.Dashboard.of(QUESTIONS))
        dataset.reserve("bob", 10)
        dataset.reserve("cy", 20)
        dataset.reserve("cy", 0)
        before, kept = dataset.status(), dataset.reservations
    done = sh.succeed(old, new, erase=[MARK], reason="on request")
    assert (done.tables, done.models) == (("run-1",), ("net",))
    assert (done.questions, done.reservations) == (("old", "right"), ("bob",))
    assert done.left_out == ("only",)
    assert "1 table, 1 model, 2 questions, 1 reservation" in str(done)
    assert not holds(tmp_path, MARK)
    with sh.open(new) as made, sh.open(old) as closed:
        assert made.status().spent == before.spent
        assert made.status().claims == before.claims
        assert made.reservations == kept
        assert [table.rows for table in made.tables] == [149]
        assert made.model_content(made.models[0].model) == ONE
        made.register(YOUTH)
        first = made.session("ann").watch()
        assert {one.name for one in first.questions} == {"old", "right"}
        assert first.questions[1].result.among == ("run-1",)
        made.verify()
        closed.verify()
    assert sh.succeed(old, new, erase=[MARK], reason="on request") == done


def test_what_no_longer_fits_is_left_out_by_name(tmp_path: Path) -> None:
    old = make(tmp_path)
    with sh.open(old) as dataset:
        session = dataset.session("ann")
        session.keep_table(TABLE, "run-1")
        session.register(sh.Dashboard.of([*QUESTIONS, {"name": "low", "question": "rating < 3"}]))
    done = sh.succeed(old, tmp_path / "new", columns={"age": "str"}, reason="codes")
    assert (done.questions, done.left_out) == (("right", "low"), ("old",))


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"erase": ["u1", "u999", "u998"]}, "2 ids of no record"),
        ({"columns": {"nothing": "int"}}, "the columns to mend"),
        ({"columns": {"user": "int"}}, "column 'user'"),
        ({"add": {"age": [{"user": "u1", "age": 1}]}}, "a column to add must be new"),
        ({}, "something to change"),
        ({"erase": []}, "something to change"),
        ({"erase": ["u1"], "id": "gone"}, "the id must be one of user"),
        ({"erase": [10**30], "id": "age"}, "whole numbers"),
    ],
)
def test_a_refusal_changes_nothing(tmp_path: Path, wish: dict[str, Any], words: str) -> None:
    old, before = make(tmp_path), sorted(tmp_path.iterdir())
    with pytest.raises((InvalidInput, BadRecord), match=words) as refused:
        sh.succeed(old, tmp_path / "clinic-2", reason="no", **wish)
    assert "u99" not in str(refused.value)
    assert sorted(tmp_path.iterdir()) == before
    with sh.open(old) as dataset:
        dataset.session().ask("age > 20")


def test_the_noise_guard_says_what_can_be_done_instead(tmp_path: Path) -> None:
    plan = sh.plan(n0=2_000, n=20_000, alpha=0.2, beta=0.05)
    sh.create(tmp_path / "noisy", plan=plan, columns=COLUMNS, id="user").close()
    with pytest.raises(WrongGuard, match="create a dataset with a new plan"):
        sh.succeed(tmp_path / "noisy", tmp_path / "other", erase=["u1"], reason="no")


def test_what_was_taken_over_cannot_be_edited(tmp_path: Path) -> None:
    """Spending less, or shares that were used, would show: the fingerprint covers them."""
    import sqlite3

    old, new = make(tmp_path), tmp_path / "clinic-2"
    sh.succeed(old, new, erase=["u1"], reason="on request")
    with sqlite3.connect(new / "ledger.sqlite") as database:
        [[body]] = database.execute("SELECT body FROM entries WHERE seq = 1").fetchall()
        spent = body.index('"spent":"') + 9
        forged = f"{body[:spent]}1{body[spent + 1 :]}"
        if forged == body:
            forged = f"{body[:spent]}2{body[spent + 1 :]}"
        database.execute("UPDATE entries SET body = ? WHERE seq = 1", (forged,))
    database.close()
    with pytest.raises(LedgerCorrupt):
        sh.open(new)


def test_nothing_follows_the_last_entry(tmp_path: Path) -> None:
    old = make(tmp_path)
    sh.succeed(old, tmp_path / "clinic-2", columns={"age": "float"}, reason="decimals")
    with sh.open(old) as closed:
        ledger = closed._ledger
        patched = pytest.MonkeyPatch()
        patched.setattr(type(ledger), "check_open", lambda self: None)
        with ledger.writing() as draft:
            draft.register({"name": "x"})
        patched.undo()
        with pytest.raises(LedgerCorrupt, match="after the dataset was closed"):
            closed.verify()


def test_a_custodian_succeeds_over_http(tmp_path: Path) -> None:
    """The same as by folder; the service goes on with the closed one, and no path is shown."""
    old = make(tmp_path)
    with sh.open(old) as dataset, running(dataset) as run:
        token = run.token("custodian")
        with sh.connect(run.url, token) as remote:
            (tmp_path / "taken" / "x").mkdir(parents=True)
            with pytest.raises(InvalidInput) as refused:
                remote.succeed("taken", reason="no", erase=["u1"])
            assert str(tmp_path) not in str(refused.value)
            for name in ("../elsewhere", ".hidden", "a/b", ""):
                with pytest.raises(InvalidInput):
                    remote.succeed(name, reason="no", erase=["u1"])
            with pytest.raises(InvalidInput, match="1 id of no record"):
                remote.succeed("clinic-2", reason="no", erase=["u999"])
            regions = [{"user": "u3", "region": "north"}]
            done = remote.succeed(
                "clinic-2", reason="on request", erase=[MARK], add={"region": regions}
            )
            assert (done.n, done.erased, done.added) == (199, 1, ("region",))
            assert done == remote.succeed("clinic-2", reason="on request", erase=[MARK])
            with pytest.raises(RequestRefused, match="'clinic-2' took over") as closed:
                remote.ask("age > 45")
            assert closed.value.status == 410
    assert not holds(tmp_path, MARK)
