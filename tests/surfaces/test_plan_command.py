"""`surehold plan`: the contract that other programs rely on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from surehold import compare, forecast, plan
from surehold.theory.certificates import CERTIFICATES

BASE = ["plan", "--n0", "500000", "--n", "1500000", "--beta", "0.05"]


def test_the_command_that_other_programs_rely_on(run):
    code, out, err = run(
        *BASE, "--alpha", "0.1", "--batches", "4", "--certificate", "ours-n", "--json"
    )
    assert (code, err) == (0, "")
    values = json.loads(out)
    assert values["queries"] == pytest.approx(11_561, rel=0.003)
    assert values["width"] <= 0.1
    assert values["sigma"] > 0
    assert values["certificate"] == "ours-n"
    assert sum(values["terms"].values()) == pytest.approx(values["width"])
    assert {"sigma", "beta", "epsilon"} <= set(values["constants"])


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        ("--n0 50000 --n 150000 --alpha 0.1", {"n0": 50_000, "n": 150_000, "alpha": 0.1}),
        ("--n0 50000 --n 150000 --queries 70", {"n0": 50_000, "n": 150_000, "queries": 70}),
        ("--queries 70 --alpha 0.1 --growth 3", {"queries": 70, "alpha": 0.1, "growth": 3.0}),
        ("--static 70000 --alpha 0.1", {"n0": 70_000, "n": 70_000, "alpha": 0.1, "batches": 1}),
        ("--n0 5e4 --n 150_000 --queries 1,000", {"n0": 50_000, "n": 150_000, "queries": 1_000}),
        (
            "--n0 500 --n 900 --queries 3 --batches 2 --certificate split",
            {"n0": 500, "n": 900, "queries": 3, "batches": 2, "certificate": "split"},
        ),
    ],
)
def test_json_is_the_librarys_dictionary(run, arguments, question):
    code, out, _ = run("plan", *arguments.split(), "--beta", "0.05", "--json")
    assert code == 0
    assert json.loads(out) == plan(**question, beta=0.05).to_dict()


def test_an_adaptive_plan_has_budget_cap_and_paces(run):
    values = json.loads(run(*BASE, "--alpha", "0.1", "--json")[1])
    assert values["budget"] == pytest.approx(0.0049845, rel=1e-4)
    assert values["max_queries"] == 892_324
    assert values["paces"] == {"at_n0": 99_147, "evenly": 297_441, "at_n": 892_324}
    assert values["batches"] is None


def test_compare_adds_one_entry_for_each_certificate(run):
    code, out, _ = run(*BASE, "--alpha", "0.1", "--batches", "2", "--compare", "--json")
    assert code == 0
    entries = compare(n0=500_000, n=1_500_000, alpha=0.1, beta=0.05, batches=2)
    assert json.loads(out)["comparison"] == [entry.to_dict() for entry in entries]
    compared = [entry["certificate"] for entry in json.loads(out)["comparison"]]
    assert compared == [*CERTIFICATES, "surprise"]


@pytest.mark.parametrize(
    "arguments",
    [
        "--n0 -5 --n 10 --alpha 0.1 --beta 0.05",
        "--n0 0 --n 10 --alpha 0.1 --beta 0.05",
        "--n0 10 --n 5 --alpha 0.1 --beta 0.05",
        "--n0 abc --n 10 --alpha 0.1 --beta 0.05",
        "--n0 nan --n 10 --alpha 0.1 --beta 0.05",
        "--n0 1.5 --n 10 --alpha 0.1 --beta 0.05",
        "--n0 10 --n inf --alpha 0.1 --beta 0.05",
        "--n0 10 --n 1e40 --alpha 0.1 --beta 0.05",
        "--n0 10 --n 1,5 --alpha 0.1 --beta 0.05",
        "--n0 10 --n 1e999999999 --alpha 0.1 --beta 0.05",
        "--n0 10 --n 20 --alpha 0.1 --beta 5e-324",
        "--n0 10 --n 20 --alpha nan --beta 0.05",
        "--n0 10 --n 20 --alpha wide --beta 0.05",
        "--n0 10 --n 20 --alpha -0.1 --beta 0.05",
        "--n0 10 --n 20 --alpha 1.5 --beta 0.05",
        "--n0 10 --n 20 --alpha 0.1 --beta 0",
        "--n0 10 --n 20 --alpha 0.1 --beta 1",
        "--n0 10 --n 20 --alpha 0.1 --beta nan",
        "--n0 10 --n 20 --alpha 0.1 --beta -1",
        "--n0 10 --n 20 --alpha 0.1",
        "--n0 10 --n 20 --alpha 0.1 --beta",
        "--n0 10 --n 20 --beta 0.05",
        "--n0 10 --n 20 --alpha 0.1 --queries 5 --beta 0.05",
        "--alpha 0.1 --beta 0.05",
        "--beta 0.05",
        "--n0 10 --alpha 0.1 --beta 0.05",
        "--n 10 --alpha 0.1 --beta 0.05",
        "--queries 5 --alpha 0.1 --beta 0.05",
        "--queries 5 --alpha 0.1 --beta 0.05 --growth 0.5",
        "--queries 5 --alpha 0.1 --beta 0.05 --growth nan",
        "--n0 10 --n 20 --growth 2 --alpha 0.1 --beta 0.05",
        "--n0 10 --n 20 --queries 0 --beta 0.05",
        "--n0 10 --n 20 --queries 2.5 --beta 0.05",
        "--n0 10 --n 20 --queries many --beta 0.05",
        "--n0 10 --n 20 --alpha 0.1 --beta 0.05 --batches 0",
        "--n0 10 --n 20 --alpha 0.1 --beta 0.05 --certificate best",
        "--n0 10 --n 20 --alpha 0.1 --beta 0.05 --certificate ours-n",
        "--static 10 --n0 10 --alpha 0.1 --beta 0.05",
        "--static 10 --batches 2 --alpha 0.1 --beta 0.05",
        "--static 900 --alpha 0.3 --beta 0.05 --plot picture.gif",
        "--static 900 --alpha 0.3 --beta 0.05 --plot nowhere/picture.png",
        "--static 900 --alpha 0.3 --beta 0.05 --nonsense",
        "--static 900 --alpha 0.3 --beta 0.05 surplus",
    ],
)
def test_bad_values_exit_with_2_and_one_clear_line(run, arguments):
    code, out, err = run("plan", *arguments.split())
    assert code == 2
    assert out == ""
    assert err.startswith("surehold: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--static 100 --alpha 0.001 --beta 0.05", "a single query has width ±"),
        ("--static 100 --queries 1e9 --beta 0.05", "would have width ±0.5"),
        ("--queries 1e12 --alpha 1e-9 --growth 3 --beta 0.05", "more than 10^18 records"),
    ],
)
def test_an_unreachable_target_exits_with_1_and_says_what_is_reachable(run, arguments, said):
    code, out, err = run("plan", *arguments.split())
    assert (code, out) == (1, "")
    assert err.startswith("surehold: ")
    assert "out of reach; " in err
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        "--static 900 --alpha 0.3",
        "--n0 900 --n 2700 --alpha 0.3",
        "--n0 900 --n 2700 --queries 5 --batches 3",
        "--growth 2 --alpha 0.3 --queries 5",
        "--growth 2 --alpha 0.3 --queries 5 --certificate split",
    ],
)
def test_words_for_people(run, arguments):
    code, out, err = run("plan", *arguments.split(), "--beta", "0.05", "--compare")
    assert (code, err) == (0, "")
    for word in ("Data", "Queries", "Any fraction", "It holds if", "95%", "certificate", "sharp"):
        assert word in out
    assert "None" not in out
    assert "nan" not in out


@pytest.mark.parametrize("columns", [30, 40, 50, 60, 80, 200])
def test_a_narrow_screen_keeps_names_and_numbers(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = run(*BASE, "--alpha", "0.1", "--batches", "4", "--compare")
    lines = out.splitlines()
    assert len(lines) < 80
    for name, number in (("sharp", "307,720"), ("jlnrss+", "6,617"), ("split", "2,597")):
        assert any(name in line and number in line for line in lines)
    assert all(line == line.rstrip() for line in lines)


FORECAST = ["plan", "--static", "2000", "--beta", "0.05", "--questions", "200"]


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        ("--static 2000 --surprises 10", {"n0": 2_000, "surprises": 10}),
        ("--static 2e3", {"n0": 2_000}),
        ("--n0 2000 --n 9,000 --surprises 0", {"n0": 2_000, "n": 9_000, "surprises": 0}),
    ],
)
def test_a_forecasts_json_is_the_librarys_dictionary(run, arguments, question):
    code, out, err = run(
        "plan", *arguments.split(), "--questions", "200", "--beta", "0.05", "--json"
    )
    assert (code, err) == (0, "")
    assert json.loads(out) == forecast(beta=0.05, questions=200, **question).to_dict()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_forecast_for_people_names_both_guards_and_the_next_command(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, err = run(*FORECAST, "--surprises", "10", "--compare")
    assert (code, err) == (0, "")
    row = forecast(beta=0.05, questions=200, surprises=10, n0=2_000).widths[0]
    for word in ("95%", "noise", "surprise guard", row.display["last"], row.display["noise"]):
        assert word in " ".join(out.split())
    assert "  surehold create NAME --beta 0.05 --claims 200 --like FILE" in out.splitlines()
    assert "sharp" in out
    assert "None" not in out


def test_a_forecasts_comparison_uses_its_surprises(run):
    values = json.loads(run(*FORECAST, "--surprises", "10", "--compare", "--json")[1])
    last = values["comparison"][-1]
    assert (last["certificate"], last["constants"]["surprises"]) == ("surprise", 10)
    assert last["width"] == values["widths"][0]["last"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--surprises 3 --static 900", "--surprises must be used with --questions"),
        ("--questions 3", "--questions must be used with --static, or with --n0 and --n"),
        ("--questions 3 --static 900 --alpha 0.1 --rare 0.1", "used with --alpha, --rare"),
        ("--questions 3 --n0 900 --n 1000 --batches 2", "used with --batches"),
        ("--questions 3 --static 900 --surprises 4", "surprises must be a whole number from 0 to"),
        ("--questions 3 --static 900 --surprises -1", "surprises must be a whole number from 0 to"),
        ("--questions 0 --static 900", "questions must be a whole number from 1"),
    ],
)
def test_a_bad_forecast_says_what_to_do(run, arguments, said):
    code, out, err = run("plan", *arguments.split(), "--beta", "0.05")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_an_unreachable_plan_still_compares(run):
    code, out, err = run(
        "plan", *["--static", "300", "--alpha", "0.1", "--beta", "0.05", "--compare"]
    )
    assert code == 1
    assert "split" in out
    assert "out of reach" in err
    code, out, _ = run(
        "plan", *["--static", "300", "--alpha", "0.1", "--beta", "0.05", "--compare", "--json"]
    )
    assert (code, out) == (1, "")


def test_an_adaptive_plan_puts_the_honest_number_first(run):
    _, out, _ = run(*BASE, "--alpha", "0.1")
    assert "297,441 if asked evenly" in out
    assert "99,147 if all at n0, 892,324 if all at n" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("--static 900 --alpha 10% --beta 0.05", "write 0.05 for 5%"),
        ("", "Missing option '--beta'. See 'surehold plan --help'."),
        ("--static 900 --alpha 10 --beta 0.05", "write 0.05 for 5%"),
        ("--n 900 --alpha 0.1 --beta 0.05", "n0 and n come together"),
        ("--alpha 0.1 --queries 5 --beta 0.05", "1 if the data does not grow"),
        ("--alpha 0.1 --beta 0.05", "give one more"),
        ("--static 9 --alpha 0.1 --queries 5 --beta 0.05", "leave out the one to solve for"),
        ("--n0 900 --n 300 --alpha 0.1 --beta 0.05", "n0 is the size at the first query"),
    ],
)
def test_errors_say_what_to_do(run, arguments, hint):
    code, _, err = run("plan", *arguments.split())
    assert code == 2
    assert hint in err


def test_shown_widths_are_rounded_outwards(run):
    _, out, _ = run("plan", "--static", "900", "--queries", "7", "--beta", "0.05")
    shown = float(out.split("±")[1].split(";")[0])
    width = plan(n0=900, n=900, queries=7, beta=0.05, batches=1).width
    assert width <= shown <= width * 1.001


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_plot_writes_a_picture(run, tmp_path, suffix):
    path = tmp_path / f"plan.{suffix}"
    code, out, _ = run(
        "plan", "--static", "900", "--alpha", "0.3", "--beta", "0.05", "--plot", path
    )
    assert code == 0
    assert f"wrote {path}" in out.replace("\n", "")
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if suffix == "png" else b"<?xml" in start


def test_json_stays_pure_with_a_plot(run, tmp_path):
    path = tmp_path / "plan.svg"
    _, out, _ = run(
        "plan", "--static", "900", "--alpha", "0.3", "--beta", "0.05", "--json", "--plot", path
    )
    assert json.loads(out)["certificate"] == "sharp"
    assert "comparison" not in json.loads(out)
    assert path.exists()


def test_a_terminal_without_signs_and_a_full_disk():
    command = [sys.executable, "-m", "surehold", "plan", "--static", "900", "--queries", "5"]
    plain = subprocess.run(
        [*command, "--beta", "0.05"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert b"Any fraction" in plain.stdout
    assert plain.stderr == b""
    with Path("/dev/full").open("w") as full:
        finished = subprocess.run(
            [*command, "--beta", "0.05", "--json"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert finished.returncode != 0
    assert b"Traceback" not in finished.stderr


def test_as_a_real_process():
    finished = subprocess.run(
        [sys.executable, "-m", "surehold", "plan", "--static", "900", "--beta", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr == (
        "surehold: beta must be a number strictly between 0 and 1, but is 2.0; write 0.05 for 5%\n"
    )
