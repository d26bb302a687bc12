"""The commands of the runtime: the same words, numbers and refusals as in Python."""

import io
import json
import re
import sqlite3
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import surehold as sh
from surehold.ledger.store import Store

QUERY = "age > 65 and city = 'Oslo'"
COMMANDS = ("create", "append", "quote", "ask", "status", "transcript", "verify", "plot")


@cache
def plan_text() -> str:
    return sh.plan(n0=1_000, n=5_000, alpha=0.3, beta=0.05).to_json()


def people(count):
    return pl.DataFrame(
        {
            "age": [i % 97 for i in range(count)],
            "bmi": [20 + i % 17 / 2 for i in range(count)],
            "smoker": [i % 5 == 0 for i in range(count)],
            "city": [("Oslo", "Bergen")[i % 2] for i in range(count)],
        }
    )


@pytest.fixture
def clinic(run, tmp_path):
    """A dataset that is ready, made as a user would."""
    (tmp_path / "plan.json").write_text(plan_text())
    people(1_200).write_csv("jan.csv")
    assert run("create", "clinic", "--plan", "plan.json", "--like", "jan.csv")[0] == 0
    assert run("append", "clinic", "jan.csv")[0] == 0
    return "clinic"


def told(run, *arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_what_is_left_is_what_this_analyst_may_ask_now(run, clinic):
    """After a new answer as after a recorded one, which tells what was left of the plan then."""
    with sh.open(clinic) as dataset:
        before = dataset.session("a").answers_left(1_200)

    def left():
        return run("ask", clinic, QUERY, "--analyst", "a")[1].splitlines()[1]

    assert left().startswith(f"{before - 1:,} answers left at n = 1,200; ")
    with sh.open(clinic) as dataset:
        dataset.session("b").ask("bmi > 31")
    assert left().startswith(f"{before - 2:,} answers left at n = 1,200; ")  # it is recorded
    with sh.open(clinic) as dataset:
        dataset.reserve("b", 0.5)
        expected = dataset.session("a").answers_left(1_200)
    assert expected < before - 2
    assert left().startswith(f"{expected:,} answers left at n = 1,200; ")
    told = run("ask", clinic, "bmi > 32", "--analyst", "a")[1].splitlines()[1]  # and this is new
    assert told.startswith(f"{expected - 1:,} answers left at n = 1,200; ")


def test_a_whole_analysis(run, clinic):
    code, out, _ = run("ask", clinic, QUERY)
    assert code == 0
    first, left = out.splitlines()
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}  \[0\.\d{3}, 0\.\d{3}\]  n = 1,200", first)
    assert "left at n = " in left
    code, out, _ = run("ask", clinic, QUERY, "mean(bmi, 10, 60)")
    assert (code, out.count("\n")) == (0, 3)
    assert "(recorded: free)" in out.splitlines()[0]
    assert run("status", clinic)[1].count("2 given") == 1
    assert run("transcript", clinic)[1].count("\n") == 2
    assert run("transcript", clinic, "--last", "1")[1].count("mean(bmi, 10, 60)") == 1
    assert run("transcript", clinic, "--analyst", "nobody")[1] == ""
    code, out, _ = run("verify", clinic)
    assert (code, "6 entries" in out, "2 answers" in out) == (0, True, True)  # and 2 charges
    assert run("plot", clinic, "--out", "picture.png") == (0, "wrote picture.png\n", "")


def test_every_surface_gives_the_same_dictionary(run, clinic):
    answer = told(run, "ask", clinic, QUERY, "--json", "--analyst", "ann", "--key", "k1")
    with sh.open(clinic) as dataset:
        session = dataset.session("ann")
        again = session.ask(sh.fraction(QUERY), key="k1")
        assert {**again.to_dict(), "recorded": False} == answer
        assert dataset.transcript[0].to_dict() == again.to_dict()
        assert session.quote(QUERY).to_dict() == told(run, "quote", clinic, QUERY, "--json")
        assert dataset.status().to_dict() == told(run, "status", clinic, "--json")
        assert dataset.verify().to_dict() == told(run, "verify", clinic, "--json")
    assert told(run, "transcript", clinic, "--json")["answers"] == [again.to_dict()]
    assert told(run, "ask", clinic, QUERY, "--json", "--key", "k1") == again.to_dict()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json(run, clinic, command):
    arguments = {
        "create": ["other", "--plan", "plan.json", "--column", "age:int"],
        "append": [clinic, "jan.csv", "--again"],
        "quote": [clinic, "smoker"],
        "ask": [clinic, "smoker", "age > 3"],
        "plot": [clinic, "--out", "a.svg"],
    }.get(command, [clinic])
    assert isinstance(told(run, command, *arguments, "--json"), dict)


def test_standard_input(run, clinic, monkeypatch):
    lines = b'{"age": 71, "smoker": false}\n\n{"age": 5, "city": "Oslo"}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert run("append", clinic)[1] == "appended 2 records; there are 1,202\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"age": "old"}\n')))
    code, out, err = run("append", clinic, "-")
    assert (code, out) == (2, "")
    assert "record 1, column 'age'" in err
    assert "old" not in err.replace("surehold", "")
    assert run("append", clinic, "--format", "csv")[0] == 2


def test_an_append_that_may_be_kept_says_with_which_key_to_run_it_again(run, clinic, monkeypatch):
    """Syncing fails after all was written: run again as is said, the records are kept once."""
    people(50).write_csv("feb.csv")
    real = Store._commit

    def cut_off(store):
        real(store)
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_commit", cut_off)
        code, out, err = run("append", clinic, "feb.csv")
    assert (code, out) == (1, "")
    said = " ".join(err.split())
    assert "it is unknown whether the records were kept" in said
    key = re.search(r"--key ([0-9a-f]{32})", said).group(1)
    assert told(run, "append", clinic, "feb.csv", "--key", key, "--json")["n"] == 1_250
    assert told(run, "status", clinic, "--json")["n"] == 1_250


def test_rounds(run, clinic):
    assert told(run, "quote", clinic, "smoker", "--round", "1000", "--json")["round"] == 1_000
    early = told(run, "ask", clinic, "smoker", "--round", "1000", "--json")
    late = told(run, "ask", clinic, "smoker", "--json")
    assert (early["round"], late["round"]) == (1_000, 1_200)
    assert early["charge"] > late["charge"]


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ["ask", "clinic", "age >"]),
        (2, ["ask", "clinic", "weight > 3"]),
        (2, ["ask", "clinic", "smoker", "--key", ""]),
        (2, ["ask", "nowhere", "smoker"]),
        (2, ["ask", "clinic"]),
        (2, ["append", "clinic", "nothing.csv"]),
        (2, ["append", "clinic", "plan.json"]),
        (2, ["create", "clinic", "--plan", "plan.json", "--like", "jan.csv"]),
        (2, ["create", "other", "--plan", "plan.json"]),
        (2, ["create", "other", "--plan", "jan.csv", "--like", "jan.csv"]),
        (2, ["create", "other", "--plan", "plan.json", "--column", "age"]),
        (2, ["create", "other", "--plan", "plan.json", "--column", "age:number"]),
        (2, ["plot", "clinic", "--out", "picture.gif"]),
        (5, ["ask", "clinic", "smoker", "--round", "1201"]),
        (5, ["ask", "clinic", "smoker", "--round", "10"]),
        (5, ["quote", "clinic", "smoker", "--round", "10"]),
    ],
)
def test_refusals_are_one_line_with_a_code_and_change_nothing(run, clinic, code, arguments):
    before = told(run, "status", clinic, "--json")
    got, out, err = run(*arguments)
    assert (got, out) == (code, "")
    assert err.startswith("surehold: ")
    assert err.count("\n") == 1
    assert told(run, "status", clinic, "--json") == before


def test_exhaustion(run, clinic):
    left = told(run, "status", clinic, "--json")["answers_left"]
    queries = [f"age > {i}" for i in range(left)]
    code, _, err = run("ask", clinic, *queries, "age > 1000")
    assert code == 3
    assert f"{left} of the {left + 1} queries would fit" in err or "it would fit after" in err
    assert run("ask", clinic, *queries)[0] == 0
    code, out, err = run("ask", clinic, "age > 1000")
    assert (code, out) == (3, "")
    more = int(re.search(r"after ([\d,]+) more records", err)[1].replace(",", ""))
    quote = told(run, "quote", clinic, "age > 1000", "--json")
    assert (quote["allowed"], quote["more_records"]) == (False, more)
    people(more).write_parquet("more.parquet")
    assert run("append", clinic, "more.parquet")[0] == 0
    assert run("ask", clinic, "age > 1000")[0] == 0


def test_before_and_after_the_plan(run, clinic):
    people(10).write_ipc("few.arrow")
    assert run("create", "new", "--plan", "plan.json", "--like", "few.arrow")[0] == 0
    assert run("append", "new", "few.arrow")[0] == 0
    code, _, err = run("ask", "new", "smoker")
    assert code == 5
    assert "append 990 more" in err
    assert "append 990 more" in " ".join(run("status", "new")[1].split())
    people(5_000).write_ipc("many.arrow")
    assert run("append", "new", "many.arrow")[0] == 0
    code, _, err = run("ask", "new", "smoker")
    assert code == 5
    assert "--round 5000" in err
    assert run("ask", "new", "smoker", "--round", "5000")[0] == 0


def test_a_corrupt_ledger(run, clinic, tmp_path):
    (tmp_path / clinic / "witness").unlink()
    for command in (["status"], ["verify"], ["ask", "smoker"], ["append", "jan.csv"]):
        code, out, err = run(command[0], clinic, *command[1:])
        assert (code, out) == (4, "")
        assert "witness" in err


def test_explain(run, clinic):
    code, out, _ = run("ask", clinic, "smoker", "--explain")
    assert code == 0
    for word in ("sharp", "stability", "95%", "records are independent draws", "budget"):
        assert word in out


def test_the_same_records_again(run, clinic):
    people(1_200).write_parquet("same.parquet")
    for source in ("jan.csv", "same.parquet"):
        code, _, err = run("append", clinic, source)
        assert code == 2
        assert "the 1,200 records of entry 2" in err
        assert "--again" in err
    assert run("append", clinic, "same.parquet", "--again")[1].endswith("there are 2,400\n")
    people(50).write_csv("few.csv")
    for n in (2_450, 2_500):  # a few may well be alike
        assert run("append", clinic, "few.csv")[1].endswith(f"there are {n:,}\n")
    people(20_000).write_csv("many.csv")
    assert run("append", clinic, "many.csv")[0] == 0
    code, _, err = run("append", clinic, "many.csv")
    assert code == 2
    assert "20,000 records" in err
    assert told(run, "verify", clinic, "--json")["strays"] == []


def test_a_plan_in_batches_and_one_for_rare_events_say_what_they_are(run):
    code, out, _ = run("plan", "--n0", "2000", "--n", "8000", "--alpha", "0.2", "--beta", "0.05",
                       "--batches", "4", "--json")  # fmt: skip
    (Path() / "batches.json").write_text(out)
    people(2_500).write_csv("a.csv")
    assert run("create", "b", "--plan", "batches.json", "--like", "a.csv")[0] == 0
    assert run("append", "b", "a.csv")[0] == 0
    assert "next round at 4,000" in " ".join(run("status", "b")[1].split())
    assert told(run, "ask", "b", "smoker", "--json")["round"] == 2_000
    code, _, err = run("ask", "b", "smoker", "--round", "3000")
    assert code == 5
    assert "2,000, 4,000, 6,000, 8,000" in err
    question = ["--n0", "2000", "--n", "8000", "--alpha", "0.2", "--beta", "0.05"]
    assert "at 2,000" in run("plan", *question, "--batches", "4")[1]
    rare = " ".join(run("plan", *question, "--rare", "0.02")[1].split())
    assert re.search(r"near 0.02, up to ± 0.\d+ elsewhere", rare)
    assert "for comparison" in " ".join(run("plan", *question, "--certificate", "split")[1].split())


def test_columns_correct_what_a_sample_shows(run, clinic):
    Path("m.csv").write_text("age,rating\n4,NA\n5,3.5\n")
    made = told(run, "create", "m", "--plan", "plan.json", "--like", "m.csv", "--column",
                "rating:float", "--json")  # fmt: skip
    assert made["columns"] == {"age": "int", "rating": "float"}
    code, _, err = run("append", "m", "m.csv")
    assert code == 2
    assert "record 1, column 'rating'" in err
    assert run("create", "x", "--plan", "plan.json", "--like", "m.csv", "--column", "b:int")[0] == 2
    Path("semicolons.csv").write_text("age;rating\n4;3\n")
    code, _, err = run("create", "y", "--plan", "plan.json", "--like", "semicolons.csv")
    assert code == 2
    assert "separated by commas" in err
    Path("text.json").write_text("Plan · certificate sharp")
    code, _, err = run("create", "z", "--plan", "text.json", "--like", "m.csv")
    assert code == 2
    assert "surehold plan ... --json > plan.json" in err


def test_an_open_quote_is_told(run, clinic):
    text = 'age,bmi,smoker,city\n1,2,true,a\n2,3,true,"b\n3,4,true,c\n4,5,false,d\n'
    Path("open.csv").write_text(text)
    code, _, err = run("append", clinic, "open.csv")
    assert code == 2
    assert "open at the end of the file" in err
    Path("closed.csv").write_text(text.replace('"b\n3,4,true,c\n4', '"b\n"\n4'))
    assert run("append", clinic, "closed.csv")[0] == 0


def test_a_sample_with_dates_that_do_not_sort_is_remarked_on(run, tmp_path):
    (tmp_path / "plan.json").write_text(
        sh.plan(n0=1_000, n=1_000, alpha=0.3, beta=0.1).to_json(), encoding="utf-8"
    )
    (tmp_path / "orders.csv").write_text("when,paid\n18/05/2023,1\n19/05/2023,0\n", "utf-8")
    files = ["--plan", f"{tmp_path}/plan.json", "--like", f"{tmp_path}/orders.csv"]
    code, out, err = run("create", f"{tmp_path}/orders", *files, "--json")
    assert code == 0
    assert json.loads(out)["columns"] == {"when": "str", "paid": "int"}
    assert err.startswith("note: 'when' is text, and its dates compare correctly only if ")
