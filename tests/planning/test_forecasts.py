"""forecast(): both guards side by side, and a recommendation that can be followed."""

import dataclasses
import json
import shlex
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import surehold as sh
from surehold import Forecast, InvalidInput, Unreachable, compare, forecast, plan
from surehold.cli import surehold
from surehold.planning.surprise import SurpriseGuard, usual_surprises
from surehold.theory.settings import Batches
from surehold.theory.surprise.forecasts import forecast_interval, forecast_series
from surehold.theory.surprise.menus.cells import half_cell
from surehold.theory.surprise.shares import Shares

BETA = 0.05


@settings(deadline=None)
@given(
    t=st.integers(1, 10**6),
    questions=st.integers(1, 10**6),
    surprises=st.integers(0, 10**6),
    more=st.integers(1, 10**4),
)
def test_more_questions_or_surprises_are_never_narrower(t, questions, surprises, more):
    def last(questions, surprises):
        return SurpriseGuard(surprises=surprises).width(Batches(t, t).at(questions), BETA).value

    surprises = min(surprises, questions)
    assert last(questions, surprises) <= last(questions + more, surprises)
    assert last(questions, surprises) <= last(questions + more, surprises + more)
    assert last(questions, surprises) <= last(questions, min(surprises + more, questions))
    assert last(questions, None) <= last(questions + more, None)


@pytest.mark.parametrize("t", [500, 2_000, 100_000])
def test_widths_are_those_of_the_theory(t):
    found = forecast(beta=BETA, questions=50, surprises=5, n0=t)
    shares = Shares(50)
    first, *_, plain = forecast_series(t, Fraction(1, 20), 50, shares=shares)
    # This series has its last surprise at the last question: here all come before it.
    *_, last = forecast_series(t, Fraction(1, 20), 50, surprises=5, shares=shares)
    for row in found.widths:
        for level, width in ((first.level, row.first), (plain.level, row.plain)):
            within = half_cell(t, level, always=False)
            interval = forecast_interval(Fraction(str(row.mean)), t, level, within=within)
            assert width == float(interval.half_width)
        within = half_cell(t, last.level, always=False)
        nearly = forecast_interval(Fraction(str(row.mean)), t, last.level, within=within)
        assert float(nearly.half_width) <= row.last <= 1.25 * float(nearly.half_width)


def test_the_noise_guards_width_is_that_of_the_plan_to_make():
    static = forecast(beta=BETA, questions=200, n0=2_000)
    assert [row.noise for row in static.widths] == 2 * [
        plan(n0=2_000, n=2_000, queries=200, beta=BETA, batches=1).width
    ]
    growing = forecast(beta=BETA, questions=200, n0=2_000, n=10_000)
    early, late = growing.widths[0], growing.widths[2]
    assert (early.records, late.records) == (2_000, 10_000)
    at_any_time = plan(n0=2_000, n=10_000, queries=5_000, beta=BETA)
    assert at_any_time.paces.at_n0 == 200
    assert early.noise == at_any_time.width
    assert late.noise == plan(n0=2_000, n=10_000, queries=200, beta=BETA).width


@given(
    n0=st.integers(1, 10**7),
    growth=st.integers(1, 100),
    questions=st.integers(1, 10**5),
    share=st.floats(0, 1),
)
@settings(deadline=None, max_examples=40)
def test_the_recommended_guard_is_the_narrower_one(n0, growth, questions, share):
    found = forecast(
        beta=BETA, questions=questions, n0=n0, n=n0 * growth, surprises=int(share * questions)
    )
    row = found.widths[0]
    assert (found.guard == "surprise") == (row.noise is None or row.last <= row.noise)
    assert 0 < row.first <= row.last <= 0.5
    assert row.display["last"] in found.reason
    assert len(found.widths) == (2 if growth == 1 else 4)
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found).endswith(f"take the {found.guard} guard")


def test_few_records_lead_to_the_surprise_guard_and_many_questions_to_noise():
    agent = forecast(beta=BETA, questions=200, surprises=10, n0=2_000)
    assert agent.guard == "surprise"
    assert agent.commands == ("surehold create NAME --beta 0.05 --claims 200 --like FILE",)
    assert "If nobody can guess the answers, take the noise guard" in agent.reason
    many = forecast(beta=BETA, questions=5_000, n0=100_000)
    assert many.guard == "noise"
    assert "If most means are near 0 or 1, take the surprise guard" in many.reason
    assert many.commands[-1] == "surehold create NAME --plan plan.json --like FILE"
    assert many.widths[0].plain is None
    hopeless = forecast(beta=BETA, questions=10**6, n0=1_000)
    assert hopeless.widths[0].noise is None
    assert "collect more records" in hopeless.reason


@pytest.mark.parametrize("n", [2_000, 10_000])
@pytest.mark.parametrize("questions", [1, 200, 50_000])
def test_the_plan_of_a_recommended_command_gives_the_width(n, questions):
    found = forecast(beta=BETA, questions=questions, n0=2_000, n=n, surprises=questions)
    for text in found.commands:
        words = shlex.split(text.removesuffix(" > plan.json"))
        assert words[0] == "surehold"
        if words[1] == "plan":
            context = surehold.commands["plan"].make_context("plan", words[2:])
            given = {
                name: value
                for name, value in context.params.items()
                if name in ("n0", "n", "queries", "beta") and value is not None
            }
            static = context.params["static"]
            size = {} if static is None else {"n0": static, "n": static, "batches": 1}
            assert plan(**given, **size).width == found.widths[0].noise


def test_the_recommended_create_command_of_the_noise_guard_is_one_that_create_takes():
    words = shlex.split(forecast(beta=BETA, questions=5_000, n0=100_000).commands[-1])
    assert words[:2] == ["surehold", "create"]
    context = surehold.commands["create"].make_context("create", words[2:])
    assert str(context.params["plan_file"]) == "plan.json"


@pytest.mark.parametrize(
    ("n0", "n", "questions", "beta"),
    [
        (1, 1, 1, 0.5),
        (100, 300, 20, 1e-6),
        (2_000, 2_000, 200, 0.05),
        (100_000, 10**6, 5_000, 0.05),
    ],
)
def test_create_takes_whatever_is_recommended(n0, n, questions, beta, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("FILE.csv").write_text("a\n1\n")
    for text in forecast(beta=beta, questions=questions, n0=n0, n=n).commands:
        words, _, out = text.partition(" > ")
        found = CliRunner().invoke(surehold, shlex.split(words.replace("FILE", "FILE.csv"))[1:])
        assert found.exit_code == 0, found.output
        if out:
            Path(out).write_text(found.stdout)
    with sh.open("NAME") as dataset:
        assert float(dataset.status().beta) == beta


def test_no_command_that_create_refuses_is_recommended():
    with pytest.raises(InvalidInput, match=r"at most 0\.5"):
        forecast(beta=0.6, questions=20, n0=900)
    assert "surehold create" not in str(plan(n0=900, n=900, queries=20, beta=0.6).advice)
    with pytest.raises(Unreachable) as refusal:
        plan(n0=20, n=20, alpha=0.1, beta=0.6)
    assert "surehold create" not in str(refusal.value)


def test_a_tenth_surprises_unless_the_caller_says():
    assert [usual_surprises(q) for q in (1, 10, 11, 200)] == [1, 1, 2, 20]
    assert forecast(beta=BETA, questions=200, n0=900).surprises == 20
    by_default = forecast(beta=BETA, questions=200, n0=900)
    assert by_default == forecast(beta=BETA, questions=200, n0=900, n=900, surprises=20)


def test_a_forecast_is_frozen_and_says_what_kind_it_is():
    found = forecast(beta=BETA, questions=20, n0=900)
    assert isinstance(found, Forecast)
    assert found.to_dict()["kind"] == "forecast"
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.guard = "noise"
    assert "take the" in found._repr_html_()


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"questions": 0}, "questions"),
        ({"questions": 10**9 + 1}, "questions"),
        ({"surprises": -1}, "surprises"),
        ({"surprises": 201}, "surprises"),
        ({"surprises": 2.5}, "surprises"),
        ({"n0": 0}, "n0"),
        ({"n": 100}, "n"),
        ({"beta": 5}, "beta"),
        ({"beta": None}, "beta"),
    ],
)
def test_a_bad_value_is_named(change, parameter):
    with pytest.raises(InvalidInput) as caught:
        forecast(**{"beta": BETA, "questions": 200, "n0": 2_000, **change})
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "question",
    [
        {"n0": 2_000, "n": 2_000, "queries": 200},
        {"n0": 2_000, "n": 6_000, "alpha": 0.1},
        {"queries": 200, "alpha": 0.1, "growth": 2},
    ],
)
def test_compare_has_the_surprise_guard_last(question):
    row = compare(**question, beta=BETA, surprises=10)[-1]
    assert row.certificate == "surprise"
    found = forecast(beta=BETA, questions=row.queries, surprises=10, n0=row.n)
    assert row.width == found.widths[0].last
    assert row.width <= question.get("alpha", 1)
    assert row.width == pytest.approx(sum(row.terms.values()))


def test_the_forecast_is_for_fractions():
    low = compare(n0=900, n=900, queries=5, beta=BETA, covers="low-sensitivity")[-1]
    assert low.reason == "its forecast is for fractions only"


def test_the_surprise_guard_has_no_plan():
    with pytest.raises(InvalidInput, match="needs no plan: surehold create"):
        plan(n0=2_000, n=2_000, queries=200, beta=BETA, certificate="surprise")
