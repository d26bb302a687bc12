"""Side tables and names through every session: the same results, refusals and names."""

from __future__ import annotations

from dataclasses import replace

import pytest

import surehold as sh
from contract.desks import DESKS
from support.runtime import GUARDS, guarded
from support.small_models import ONE
from surehold.session.dataset import Dataset

ROWS = [{"item": f"q{i}", "answer": "cat", "p": i % 10 / 10} for i in range(0, 2000, 2)]


def evals(path, guard):
    sh.create(path, columns={"item": "str", "label": "str"}, id="item", **guarded(guard)).close()
    with Dataset(path) as dataset:
        dataset.append({"item": f"q{i}", "label": "cat" if i % 3 else "dog"} for i in range(2000))
    return path


@pytest.fixture(params=[(desk, guard) for desk in DESKS for guard in GUARDS], ids=str)
def session(request, tmp_path):
    desk, guard = request.param
    found = DESKS[desk](evals(tmp_path / "evals", guard), guard)
    yield found.session()
    found.close()


def test_asked_by_alias_by_name_and_by_hash(session, tmp_path):
    file = tmp_path / "run-17.csv"
    file.write_text("item,answer\n" + "".join(f"{one['item']},cat\n" for one in ROWS))
    first = session.ask("p.answer = label", tables={"p": file})
    assert first.among == ("run-17",)
    assert "of the records that run-17 covers" in str(first)
    [kept] = session.tables
    assert (kept.name, kept.rows, dict(kept.columns)) == (
        "run-17",
        1000,
        {"item": "str", "answer": "str"},
    )
    again = replace(first, recorded=True)
    listed = [{"item": one["item"], "answer": "cat"} for one in reversed(ROWS)]
    for asked in (
        session.ask("other.answer = label", tables={"other": listed}),
        session.ask("p.answer = label", tables={"p": kept}),
        session.ask('"run-17".answer = label'),
        session.ask(sh.fraction('"run-17".answer = label')),
        session.ask(first.query),
        session.ask_many(["p.answer = label"], tables={"p": file})[0],
    ):
        assert asked == again
    assert session.quote("p.answer = label", tables={"p": file}).recorded
    assert session.transcript[-1].shown_query == (
        'rate("run-17".answer = label, not "run-17".item is null)'
    )


def test_select_and_register(session):
    tables = {"p": session.keep_table(ROWS, "run-17")}
    chosen = sh.select({"a": "p.answer = label", "b": "p.p > 2"}, best="highest", price=2)
    assert session.ask(chosen, tables=tables).name == "a"
    if session.guard == "surprise":
        [claim] = session.register(["p.answer = label"], tables=tables)
        assert claim.new
    else:
        with pytest.raises(sh.WrongGuard):
            session.register(["p.answer = label"], tables=tables)


def test_names(session):
    kept = session.keep_table(ROWS, "run-17")
    assert session.keep_table(ROWS) == kept
    for name, rows, says in (
        ("other", ROWS, "as it was named before"),
        ("run-17", ROWS[1:], "no other table or model has"),
        ('a"b', ROWS[2:], "without quotes"),
    ):
        with pytest.raises(sh.InvalidInput, match=says):
            session.keep_table(rows, name)
    assert session.keep_model(ONE, "tree").name == "tree"
    assert session.keep_model(ONE).name == "tree"


@pytest.mark.parametrize(
    ("query", "tables", "says"),
    [
        ("p.answer = label", None, "bring it with --with p=FILE"),
        ("p.answr = label", {"p": ROWS}, "one of its columns: item, answer, p"),
        ("p.answer > 1", {"p": ROWS}, "p.answer is text, but 1 is a number"),
        ("p.answer = label", {"p": [*ROWS, ROWS[0]]}, "different in each row"),
        ("p.answer = label", {"p": [{"answer": "cat"}]}, "which identifies the records"),
        ("p.answer = label", {"p": "nowhere.csv"}, "an existing file"),
        ("p.answer = label", [ROWS], "a mapping of names to tables"),
    ],
)
def test_refusals(session, query, tables, says):
    with pytest.raises(sh.SureholdError, match=says):
        session.ask(query, tables=tables)
    assert len(session.transcript) == 0


@pytest.mark.parametrize("guard", GUARDS)
def test_scored_in_one_command(run, tmp_path, guard):
    evals(tmp_path / "evals", guard)
    file = tmp_path / "run-17.csv"
    file.write_text("item,answer\n" + "".join(f"{one['item']},cat\n" for one in ROWS))

    def score(*arguments):
        return run("score", "evals", "run-17.csv", "--target", "label", *arguments)

    code, out, _ = score()
    assert code == 0
    assert "of the records that run-17 covers" in out
    if guard == "surprise":  # whose intervals are narrow enough here
        assert score("--at-least", "0.3")[0] == 0
        assert score("--at-least", "0.9")[0] == 6
    assert score("--at-least", "0.66")[0] == 7
    assert score("--name", "other")[0] == 2
    assert score("--at-least", "0.1", "--at-most", "0.2")[0] == 2
    assert score("--metric", "recall", "--positive", "cat")[0] == 0
    assert score("--metric", "log")[0] == 2
    code, out, _ = run("transcript", "evals")
    assert "table:" not in out
    assert '"run-17".answer = label' in out
    assert "table:" in run("transcript", "evals", "--canonical")[1]
