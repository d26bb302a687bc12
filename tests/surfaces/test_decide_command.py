"""Decisions, choices and models on the command line: the library's own words and numbers."""

from __future__ import annotations

import contextlib
import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import surehold as sh
from surehold.cli import console
from surehold.cli.decide import GATE_CODES
from surehold.cli.types import parse_label
from surehold.queries.query_text import READERS

COUNT = 3_000


@cache
def plan_text() -> str:
    return sh.plan(n0=2_500, n=COUNT, alpha=0.2, beta=0.05).to_json()


def people(count=COUNT):
    return pl.DataFrame(
        {
            "age": [i % 97 for i in range(count)],
            "bmi": [20 + i % 17 / 2 for i in range(count)],
            "smoker": [i % 5 == 0 for i in range(count)],
            "ill": [i % 97 > 48 for i in range(count)],
            "city": [("Oslo", "Bergen")[i % 2] for i in range(count)],
        }
    )


@pytest.fixture
def clinic(run, tmp_path):
    """A dataset that is ready, made as a user would."""
    (tmp_path / "plan.json").write_text(plan_text())
    people().write_csv("jan.csv")
    assert run("create", "clinic", "--plan", "plan.json", "--like", "jan.csv")[0] == 0
    assert run("append", "clinic", "jan.csv")[0] == 0
    return "clinic"


@pytest.fixture
def empty(run, tmp_path):
    """A dataset without records."""
    (tmp_path / "plan.json").write_text(plan_text())
    people(3).write_csv("three.csv")
    assert run("create", "empty", "--plan", "plan.json", "--like", "three.csv")[0] == 0
    return "empty"


def told(run, *arguments, code=0):
    found, out, err = run(*arguments)
    assert (found, err) == (code, "")
    return json.loads(out)


def in_one_line(err):
    return err.startswith("surehold: ") and err.count("\n") == 1


# ------------------------------------------------------------------------------------ gate


@pytest.mark.parametrize(
    ("limit", "verdict", "code"),
    [
        (("--at-least", "0.1"), "pass", 0),
        (("--at-least", "0.9"), "fail", 6),
        (("--at-least", "0.49"), "undecided", 7),
        (("--at-most", "0.9"), "pass", 0),
        (("--at-most", "0.1"), "fail", 6),
        (("--at-most", "0.5"), "undecided", 7),
    ],
)
def test_a_gate_ends_with_its_verdict(run, clinic, limit, verdict, code):
    found, out, err = run("gate", clinic, "age > 48", *limit)
    assert (found, err) == (code, "")
    assert GATE_CODES[verdict] == code
    first, left = out.splitlines()
    assert first.startswith(f"{verdict}: {limit[0][2:].replace('-', ' ')} {limit[1]} wanted, ")
    assert "left at n = " in left
    shown = told(run, "gate", clinic, "age > 48", *limit, "--json", code=code)
    assert (shown["verdict"], shown["recorded"], shown["charge"]) == (verdict, True, 0.0)


def test_a_gate_is_the_library_s(run, clinic):
    shown = told(run, "gate", clinic, "rate(smoker, ill)", "--at-most", "0.2", "--json",
                 "--analyst", "ann", "--key", "k", code=7)  # fmt: skip
    with sh.open(clinic) as dataset:
        query = sh.gate("rate(smoker, ill)", at_most=0.2)
        again = dataset.session("ann").ask(query, key="k")
        assert {**again.to_dict(), "recorded": False} == shown
        assert dataset.transcript[-1].to_dict() == again.to_dict()
    again = told(run, "gate", clinic, "rate(smoker, ill)", "--at-most", "0.2", "--json", "--key",
                 "k", code=7)  # fmt: skip
    assert again == {**shown, "recorded": True}
    assert run("verify", clinic)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("ill",), 2, "--at-least"),
        (("ill", "--at-least", "0.5", "--at-most", "0.6"), 2, "--at-least"),
        (("ill", "--at-least", "50%"), 2, "write 0.05 for 5%"),
        (("ill", "--at-least", "nan"), 2, "at_least must be a number"),
        (("ill", "--at-least", "1e200"), 2, "at_least must be a number"),
        (("histogram(ill)", "--at-least", "0"), 2, "a single number"),
        (("gone > 3", "--at-least", "0"), 2, "there is no column 'gone'"),
        (("ill and", "--at-least", "0"), 2, "expected a value"),
        (("ill", "--at-least", "0", "--round", "10"), 5, "covers rounds"),
        (("ill", "--at-least", "0", "--round", "9999"), 5, "round"),
    ],
)
def test_gates_that_cannot_be_asked(run, clinic, arguments, code, says):
    found, out, err = run("gate", clinic, *arguments)
    assert (found, out) == (code, "")
    assert in_one_line(err)
    assert says in err


def test_a_gate_on_data_that_is_not_ready_and_on_a_budget_that_is_spent(run, empty, clinic):
    found, out, err = run("gate", empty, "ill", "--at-least", "0.5")
    assert (found, out, in_one_line(err)) == (5, "", True)
    room = told(run, "quote", clinic, "ill", "--json")["answers_left"]
    price = str(room - 1)
    assert run("select", clinic, "smoker", "ill", "--price", price)[0] == 0
    assert run("gate", clinic, "age > 3", "--at-least", "0.5")[0] == 0
    found, out, err = run("gate", clinic, "age > 4", "--at-least", "0.5")
    assert (found, out, in_one_line(err)) == (3, "", True)
    assert "budget is exhausted" in err
    # What was answered can still be looked up, and decided about.
    assert run("gate", clinic, "age > 3", "--at-least", "0.4")[0] == 0


# ---------------------------------------------------------------------------------- select

GOOD, BAD, WORSE = "(age > 48) <> ill", "(age > 20) <> ill", "(age <= 48) <> ill"


def test_a_selection_is_the_library_s(run, clinic):
    arguments = ("select", clinic, BAD, GOOD, WORSE, "--price", "30")
    shown = told(run, *arguments, "--json", "--analyst", "ann", "--key", "k")
    assert (shown["name"], shown["index"], shown["candidates"]) == (GOOD, 1, 3)
    assert shown["price"] == 30
    with sh.open(clinic) as dataset:
        query = sh.select([BAD, GOOD, WORSE], price=30)
        again = dataset.session("ann").ask(query, key="k")
        assert {**again.to_dict(), "recorded": False} == shown
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    first, left = out.splitlines()
    assert first.startswith(f"{GOOD}  (at most ")
    assert "above the lowest of 3" in first
    assert first.endswith("n = 3,000  (recorded: free)")
    assert "left at n = " in left
    code, out, _ = run(*arguments, "--explain")
    assert code == 0
    assert "excess      at most" in out
    assert "that of 30 answers" in out
    assert run("verify", clinic)[0] == 0


def test_the_highest_of_scores(run, clinic):
    shown = told(run, "select", clinic, WORSE, GOOD, "--best", "highest", "--json")
    assert shown["name"] == WORSE
    assert shown["best"] == "highest"
    assert shown["price"] == 25


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "Missing argument"),
        (("ill", "(ill)"), 2, "all different"),
        (("ill", "mean(age, 0, 100)"), 2, "not on one scale"),
        (("ill", "histogram(ill)"), 2, "one answer each"),
        (("ill", "gone"), 2, "no column 'gone'"),
        (("ill", "--best", "middle"), 2, "highest"),
        (("ill", "--price", "0"), 2, "from 1 to"),
        (("ill", "--price", "2.5"), 2, "not a whole number"),
        (("ill", "--price", "1e6"), 3, "too few answers left"),
        (("ill", "--round", "7"), 5, "covers rounds"),
    ],
)
def test_selections_that_cannot_be_asked(run, clinic, arguments, code, says):
    found, out, err = run("select", clinic, *arguments)
    assert (found, out) == (code, "")
    assert in_one_line(err)
    assert says in err


def test_a_selection_of_very_many(run, clinic):
    candidates = [f"(age > {i} / 4) <> ill" for i in range(300)]
    shown = told(run, "select", clinic, *candidates, "--json", "--price", "50")
    assert shown["candidates"] == 300
    assert run("verify", clinic)[0] == 0
    code, out, _ = run("transcript", clinic)
    assert (code, out.count("\n")) == (0, 1)


# ----------------------------------------------------------------------------------- score


@cache
def onnx_models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from skl2onnx import to_onnx

        frame = people()
        x = frame.select("age", "bmi").to_numpy().astype(np.float32)
        numbers = LogisticRegression(max_iter=500).fit(x, frame["ill"].cast(int).to_numpy())
        texts = LogisticRegression().fit(x, frame["city"].to_numpy())
        regressor = LinearRegression().fit(x, frame["age"].to_numpy())
        return {
            "ill.onnx": to_onnx(numbers, x[:1]).SerializeToString(),
            "city.onnx": to_onnx(texts, x[:1]).SerializeToString(),
            "age.ONNX": to_onnx(regressor, x[:1]).SerializeToString(),
        }


@pytest.fixture
def models(tmp_path):
    for name, content in onnx_models().items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "not.onnx").write_bytes(b"not a model")
    (tmp_path / "model.pkl").write_bytes(b"")


OF_ILL = ("--features", "age,bmi", "--target", "ill")
ILL = {"features": ["age", "bmi"], "target": "ill"}
SCORES = {
    "accuracy": ((), lambda: sh.accuracy("ill.onnx", **ILL)),
    "auc": ((), lambda: sh.auc("ill.onnx", **ILL)),
    "zero_one": ((), lambda: sh.loss("ill.onnx", **ILL, kind="zero_one")),
    "log": (("--most", "3"), lambda: sh.loss("ill.onnx", **ILL, kind="log", most=3)),
    "brier": ((), lambda: sh.brier("ill.onnx", **ILL)),
    "confusion": ((), lambda: sh.confusion("ill.onnx", **ILL)),
    "calibration": (("--bins", "4"), lambda: sh.calibration("ill.onnx", **ILL, bins=4)),
}


@pytest.mark.parametrize("metric", SCORES)
def test_a_score_is_the_library_s(run, clinic, models, metric):
    options, make = SCORES[metric]
    arguments = ("score", clinic, "ill.onnx", *OF_ILL, "--metric", metric, *options)
    shown = told(run, *arguments, "--json")
    with sh.open(clinic) as dataset:
        again = dataset.session().ask(make())
        assert {**again.to_dict(), "recorded": False} == shown
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "(recorded: free)" in out
    assert run(*arguments, "--explain")[0] == 0
    if metric == "accuracy":
        assert shown["value"] > 0.6
    assert run("verify", clinic)[0] == 0


@pytest.mark.parametrize("metric", ["squared", "absolute"])
def test_a_regressor_is_scored(run, clinic, models, metric):
    arguments = ("score", clinic, "age.ONNX", "--features", " age , bmi ", "--target", "age + bmi")
    shown = told(run, *arguments, "--metric", metric, "--low", "0", "--high", "200", "--json")
    with sh.open(clinic) as dataset:
        query = sh.loss("age.ONNX", features=["age", "bmi"], target="age + bmi", kind=metric,
                        low=0, high=200)  # fmt: skip
        assert dataset.session().ask(query).value == shown["value"]


def test_texts_as_labels(run, clinic, models):
    shown = told(run, "score", clinic, "city.onnx", "--features", "age,bmi", "--target", "city",
                 "--metric", "confusion", "--json")  # fmt: skip
    assert [cell["label"] for cell in shown["cells"]][:2] == ["Bergen | Bergen", "Bergen | Oslo"]


def test_labels_are_read_as_they_are_meant():
    found = {text: parse_label(text) for text in ("1", "-2", "2.5", "true", "false", "a b", "nan")}
    assert found == {
        "1": 1, "-2": -2, "2.5": 2.5, "true": True, "false": False, "a b": "a b", "nan": "nan",
    }  # fmt: skip
    assert [type(value) for value in found.values()][:4] == [int, int, float, bool]
    assert [parse_label(text) for text in ("inf", "1_0", "1e5", "+1", "")] == [
        "inf", "1_0", "1e5", "+1", ""]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("gone.onnx", *OF_ILL), "does not exist"),
        (("model.pkl", *OF_ILL), "an ONNX file"),
        (("not.onnx", *OF_ILL), "the model"),
        (("ill.onnx", "--target", "ill"), "--features"),
        (("ill.onnx", "--features", "age,bmi"), "--target"),
        (("ill.onnx", "--features", "", "--target", "ill"), "a list of names"),
        (("ill.onnx", "--features", "age,age", "--target", "ill"), "all different"),
        (("ill.onnx", "--features", "age,gone", "--target", "ill"), "no column 'gone'"),
        (("ill.onnx", "--features", "age,bmi", "--target", "gone"), "no column 'gone'"),
        (("ill.onnx", *OF_ILL, "--metric", "f1"), "predictions in a table"),
        (("ill.onnx", *OF_ILL, "--metric", "log"), "most must be"),
        (("ill.onnx", *OF_ILL, "--metric", "log", "--most", "-1"), "most must be"),
        (("ill.onnx", *OF_ILL, "--metric", "calibration", "--bins", "0"), "from 1 to 1,000"),
        (("age.ONNX", "--features", "age,bmi", "--target", "age", "--metric", "squared"), "low"),
        (("ill.onnx", "--features", "age,bmi", "--target", "city"), "number"),
    ],
)
def test_scores_that_cannot_be_asked(run, clinic, models, arguments, says):
    found, out, err = run("score", clinic, *arguments)
    assert (found, out) == (2, "")
    assert in_one_line(err)
    assert says in err
    assert told(run, "status", clinic, "--json")["budget"]["spent"] == 0.0


def test_a_model_that_expects_other_features_is_refused(run, clinic, models):
    code, out, err = run("score", clinic, "ill.onnx", "--features", "age", "--target", "ill")
    assert (code, out, in_one_line(err)) == (2, "", True)
    assert told(run, "status", clinic, "--json")["budget"]["spent"] == 0.0


def test_scores_before_and_after(run, empty, clinic, models):
    code, out, err = run("score", empty, "ill.onnx", *OF_ILL)
    assert (code, out, in_one_line(err)) == (5, "", True)
    assert run("select", clinic, "ill", "smoker", "--price", str(
        told(run, "quote", clinic, "ill", "--json")["answers_left"]))[0] == 0  # fmt: skip
    code, out, err = run("score", clinic, "ill.onnx", *OF_ILL)
    assert (code, out, in_one_line(err)) == (3, "", True)


# ------------------------------------------------------------------------------------- ask

FORMS = {
    "ill": "value",
    "fraction(ill)": "value",
    "mean(bmi, 10, 60)": "value",
    "difference(smoker and ill, ill)": "value",
    "difference(mean(age, 0, 100), mean(bmi, 0, 100))": "value",
    "histogram(city in ('Oslo', 'Rome'))": "cells",
    "histogram(bins(age, 0 to 100 by 20), ill)": "cells",
    "totals(bmi, 0, 60, ill)": "cells",
    "f1(smoker, ill)": "interval",
    "rate(smoker, ill)": "interval",
    "rate(bmi, ill, 0, 60)": "interval",
    "means(bmi, 0, 60, ill)": "cells",
    "auc(age, ill)": "interval",
    "auc_pairs(age, ill)": "value",
    "variance(bmi, 10, 60)": "value",
    "gini(bmi, 10, 60)": "value",
    "kendall(age, bmi)": "value",
    "concordance(age, bmi)": "value",
    "classes(ill in (false, true))": "cells",
    "select(highest, 9, ill, smoker)": "name",
    "gate(ill, at_least, 0.1)": "verdict",
    "fit(logistic, 20, 5, 0.001, fraction(ill), mean(age, 0, 100))": "coefficients",
}


@pytest.mark.parametrize("text", FORMS)
def test_every_text_can_be_asked(run, clinic, text):
    quoted = told(run, "quote", clinic, text, "--json")
    shown = told(run, "ask", clinic, text, "--json")
    assert FORMS[text] in shown
    assert quoted["allowed"]
    assert shown["query"] == quoted["query"]
    with sh.open(clinic) as dataset:
        session = dataset.session()
        again = session.ask(text)
        assert again.to_dict() == {**shown, "recorded": True}
        assert session.budget.spent == pytest.approx(quoted["charge"])
    code, out, err = run("ask", clinic, text)
    assert (code, err) == (0, "")
    assert "(recorded: free)" in out
    code, out, err = run("ask", clinic, text, "--explain")
    assert (code, err) == (0, "")
    assert f"query       {shown['query']}" in out
    assert run("transcript", clinic)[0] == 0
    assert json.loads(run("transcript", clinic, "--json")[1])["answers"][-1]["query"] == (
        shown["query"])  # fmt: skip
    code, out, _ = run("verify", clinic)
    assert code == 0


def test_every_name_that_a_text_can_have_is_tried():
    """But for those of models, which a text only names, and of registered statistics."""
    tried = {text.partition("(")[0] for text in FORMS}
    of_models = {"accuracy", "loss", "brier", "confusion", "calibration", "improvement",
                 "model_auc", "model_pairs"}  # fmt: skip
    assert set(READERS) == (tried - {"ill"}) | of_models | {"statistic"}


def test_several_texts_at_once(run, clinic):
    texts = ["ill", "rate(smoker, ill)", "histogram(ill)", "variance(bmi, 10, 60)"]
    shown = told(run, "ask", clinic, *texts, "--json")["answers"]
    assert [answer["query"] for answer in shown][:2] == ["fraction(ill)", "rate(smoker, ill)"]
    assert len(shown) == 4
    code, out, err = run("ask", clinic, *texts)
    assert (code, err) == (0, "")
    assert out.count("(recorded: free)") == 4
    assert run("verify", clinic)[0] == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("accuracy('sklearn:abc', ill in (false, true), age)", "at hand"),
        ("accuracy(model, ill)", "surehold score"),
        ("statistic('gone')", "no statistic 'gone'"),
        ("histogram(city)", "not declared"),
        ("rate(ill)", "needs a condition"),
        ("select(best, 3, ill)", "lowest or highest"),
        ("calibration(1e9, 'm', ill in (false, true), age)", "from 1 to 1,000"),
        ("gate(ill, at_least", "expected ','"),
        ("fit(", "logistic or linear"),
        ("loss(", "a loss is one of"),
        ("select(", "lowest or highest"),
    ],
)
def test_texts_that_cannot_be_asked(run, clinic, text, says):
    code, out, err = run("ask", clinic, text)
    assert (code, out) == (2, "")
    assert in_one_line(err)
    assert says in err


# ------------------------------------------------------------------------------------ help


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("gate", ["--at-least", "--at-most", "Exit code 0 means pass, 6", "--json", "--explain"]),
        ("select", ["--best", "--price", "[default: 25]", "--json", "--explain", "--key"]),
        ("score", ["--features", "--target", "--metric", "ONNX", "--classes", "--bins"]),
    ],
)
def test_help(run, command, words):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    joined = " ".join(out.split())
    for word in words:
        assert word in joined
    assert all(len(line) <= 80 for line in out.splitlines())
    assert f"\n  {command} " in run("--help")[1]


@pytest.mark.parametrize("command", ["gate", "select", "score"])
def test_a_dataset_that_is_not_there(run, tmp_path, models, command):
    arguments = {
        "gate": ("ill", "--at-least", "1"),
        "select": ("ill",),
        "score": ("ill.onnx", *OF_ILL),
    }[command]
    code, out, err = run(command, "gone", *arguments)
    assert code != 0
    assert out == ""
    assert in_one_line(err)
    assert not Path("gone").exists()


@pytest.mark.parametrize("many", [False, True])
def test_a_fit_shows_how_far_it_is(run, clinic, monkeypatch, many):
    seen = []

    @contextlib.contextmanager
    def counting(what):
        assert what == "records"
        yield seen.append

    monkeypatch.setattr(console, "counting", counting)
    asked = ["fit(logistic, 2, 3, 0.001, fraction(ill), mean(age, 0, 97))", "smoker"]
    assert run("ask", clinic, *(asked if many else asked[:1]))[0] == 0
    count = len(people())
    assert seen == [count, 2 * count, 3 * count]
    seen.clear()
    assert run("ask", clinic, "age > 12")[0] == 0
    assert seen == []
