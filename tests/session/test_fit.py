"""Fits: they find the coefficients that there are, cost what they say, and can be asked about."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import surehold as sh
from support.noise_sources import FastSeededNoise, NoNoise
from surehold.data.record_store import RecordStore
from surehold.errors import BudgetExhausted, InvalidInput, InvalidQuery
from surehold.queries import Schema, fit, query_of
from surehold.session.dataset import Dataset, create

COLUMNS = {"age": "int", "bmi": "float", "income": "float", "ill": "bool"}
N = 60_000
AGES = (18, 90)
FEATURES = {"age": AGES, "bmi": (15, 45)}
PRICE = 800


@cache
def plan():
    return sh.plan(n0=50_000, n=N, alpha=0.1, beta=0.05)


@cache
def people():
    rng = np.random.default_rng(11)
    age = rng.integers(18, 91, N)
    bmi = rng.uniform(15, 45, N)
    log_odds = -7.2 + 0.05 * age + 0.15 * bmi
    income = np.clip(20 + 0.4 * age - 0.5 * bmi + rng.normal(0, 4, N), 0, 60)
    return pl.DataFrame(
        {"age": age, "bmi": bmi, "income": income, "ill": rng.random(N) < expit(log_odds)}
    )


def matrix():
    return people().select("age", "bmi").to_numpy().astype(float)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "people"
    create(path, plan=plan(), columns=COLUMNS).close()
    with Dataset(path, NoNoise()) as dataset:
        dataset.append(people())
    return path


@pytest.fixture
def dataset(folder, tmp_path):
    """A new one each time: what a test asks is charged."""
    create(tmp_path / "people", plan=plan(), columns=COLUMNS).close()
    with Dataset(tmp_path / "people", FastSeededNoise(5)) as dataset:
        dataset.append(people())
        yield dataset


def logistic(**more):
    given = {"target": "ill", "features": FEATURES, "price": PRICE, "steps": 30, **more}
    return fit("logistic", **given)


def linear(**more):
    given = {"target": "income", "low": 0, "high": 60, "features": FEATURES, "price": PRICE}
    return fit("linear", **{**given, **more})


def reference(penalty):
    """scikit-learn on the same scale: C is one over the penalty of the sum, not of the mean."""
    lows = np.array([low for low, _ in FEATURES.values()], float)
    widths = np.array([high - low for low, high in FEATURES.values()], float)
    scaled = 2 * (matrix() - lows) / widths - 1
    model = LogisticRegression(C=1 / (penalty * N), tol=1e-9, max_iter=1000)
    model.fit(scaled, people()["ill"].to_numpy())
    slopes = model.coef_[0] * 2 / widths
    intercept = model.intercept_[0] - model.coef_[0].sum() - slopes @ lows
    return intercept, slopes


@pytest.mark.parametrize("penalty", [1e-3, 0.05])
def test_a_logistic_regression_is_scikit_learn_s(dataset, penalty):
    found = dataset.session().ask(logistic(penalty=penalty))
    intercept, slopes = reference(penalty)
    assert (found.kind, found.model) == ("fit", "logistic")
    assert list(found.coefficients) == ["age", "bmi"]
    assert list(found.coefficients.values()) == pytest.approx(slopes, rel=0.1)
    assert found.intercept == pytest.approx(intercept, rel=0.1)


def test_known_coefficients_are_found(dataset):
    session = dataset.session()
    found = session.ask(logistic())
    assert found.coefficients["age"] == pytest.approx(0.05, rel=0.15)
    assert found.coefficients["bmi"] == pytest.approx(0.15, rel=0.15)
    straight = session.ask(linear())
    assert straight.coefficients["age"] == pytest.approx(0.4, rel=0.1)
    assert straight.coefficients["bmi"] == pytest.approx(-0.5, rel=0.15)
    assert straight.intercept == pytest.approx(20, rel=0.15)
    dataset.verify()


def test_without_noise_it_is_least_squares(folder):
    """And what is left of the penalty is small: nothing but noise keeps a fit from the truth."""
    with Dataset(folder, NoNoise()) as dataset:
        session = dataset.session()
        found = session.ask(linear(penalty=0, steps=300, price=301))
        x = np.column_stack([np.ones(N), matrix()])
        exact = np.linalg.lstsq(x, people()["income"].to_numpy(), rcond=None)[0]
        assert [found.intercept, *found.coefficients.values()] == pytest.approx(exact, rel=1e-3)
        again = session.ask(logistic(steps=300, price=302))
        intercept, slopes = reference(1e-3)
        assert [again.intercept, *again.coefficients.values()] == pytest.approx(
            [intercept, *slopes], rel=1e-3
        )


def test_a_lower_price_is_more_noise(dataset):
    _, slopes = reference(1e-3)
    session = dataset.session()

    def error(price):
        off = []
        for steps in (19, 20, 21):
            found = session.ask(logistic(price=price, steps=steps))
            off.append(np.array(list(found.coefficients.values())) - slopes)
        return float(np.abs(off).mean())

    assert error(10) > 2 * error(500)


def test_the_predictor_is_the_fitted_model_on_every_record(dataset):
    """Also where a feature is beyond its bounds, and where it is missing: there it is low."""
    strange = pl.DataFrame(
        {
            "age": [5, 200, None, 40, None],
            "bmi": [-3.0, 99.0, 20.0, None, None],
            "income": [1.0, 2.0, 3.0, 4.0, None],
            "ill": [True, False, None, True, False],
        }
    )
    session = dataset.session()
    for query in (logistic(), linear()):
        found = session.ask(query)
        frame = pl.concat([people().head(500), strange], how="vertical_relaxed")
        x = np.column_stack(
            [
                np.clip(frame[name].cast(pl.Float64).fill_null(low).to_numpy(), low, high)
                for name, (low, high) in FEATURES.items()
            ]
        )
        expected = found.intercept + x @ np.array(list(found.coefficients.values()))
        from surehold.data.engines.polars_records import numbers_of
        from surehold.queries import mean

        measure = mean(found.predictor, -1e3, 1e3).measure(Schema.of(COLUMNS))
        values, known = numbers_of(measure.expression, frame)
        assert known.all()
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


def test_the_fitted_model_can_be_asked_about(dataset):
    session = dataset.session()
    found = session.ask(logistic())
    right = session.ask(f"(({found.predictor}) > 0) = ill")
    said = found.intercept + matrix() @ np.array(list(found.coefficients.values()))
    exact = ((said > 0) == people()["ill"].to_numpy()).mean()
    assert right.interval[0] <= exact <= right.interval[1]


def test_what_it_costs(dataset):
    session = dataset.session()
    quote = session.quote(logistic())
    assert (quote.price, quote.counts_for, quote.width, quote.allowed) == (PRICE, 0, None, True)
    single = session.quote("ill").charge
    assert quote.charge == pytest.approx(PRICE * single)
    before = session.answers_left(N)
    found = session.ask(logistic())
    assert found.price == PRICE
    assert found.charge == pytest.approx(PRICE * single)
    assert session.budget.spent == found.charge
    assert session.answers_left(N) == before - PRICE
    # It takes none of the plan's answers, as nothing is promised of it.
    assert dataset.status().answers == 0
    again = session.ask(logistic())
    assert again.recorded
    assert again.coefficients == found.coefficients
    assert session.budget.spent == found.charge
    assert dataset.verify().answers == 0


def test_the_steps_cost_no_more_than_the_price(dataset, monkeypatch):
    """Every noisy vector that is drawn is counted here, by its own charge."""
    from surehold.mechanisms.gradient import GaussianVector

    charged = []
    real = GaussianVector.noisy

    def noisy(self, totals, divisor, noise):
        charged.append(self.charge(N))
        assert len(noise) == len(totals) == self.size
        return real(self, totals, divisor, noise)

    monkeypatch.setattr(GaussianVector, "noisy", noisy)
    session = dataset.session()
    for price, steps in ((1, 1), (3, 50), (7, 2), (100, 17)):
        charged.clear()
        session.ask(logistic(price=price, steps=steps))
        assert len(charged) == steps + (price >= 5)
        most = price * dataset._ledger.policy.mechanism.charge(N)
        assert most * 0.999999 <= sum(charged) <= most


def test_a_price_beyond_the_budget_is_refused_before_any_record(dataset, monkeypatch):
    session = dataset.session()
    room = session.answers_left(N)

    def refuse(*_):
        raise AssertionError("a record was touched")

    monkeypatch.setattr(RecordStore, "gradients", refuse)
    for price in (room + 1, 1_000_000):
        assert not session.quote(logistic(price=price)).allowed
        with pytest.raises(BudgetExhausted):
            session.ask(logistic(price=price))
    assert session.budget.spent == 0.0


def test_progress_and_repeatability(dataset, tmp_path):
    told = []
    first = dataset.session().ask(logistic(steps=4), progress=told.append)
    assert told == [N, 2 * N, 3 * N, 4 * N]
    assert "logistic: " in str(first)
    assert "age" in str(first)
    shown = first.to_dict()
    assert set(shown["coefficients"]) == {"age", "bmi"}
    assert first.predictor.startswith(str(shown["intercept"])[:4])
    # Read back from the ledger it is the same.
    assert dataset.transcript[0].to_dict()["coefficients"] == shown["coefficients"]
    assert query_of(first.query) == logistic(steps=4)


def test_few_steps_and_little_money(dataset):
    """A price of less than five answers buys no second moments; it still ends in numbers."""
    found = dataset.session().ask(linear(price=1, steps=1))
    assert all(np.isfinite([found.intercept, *found.coefficients.values()]))


@pytest.mark.parametrize("kind", ["logistic", "linear"])
def test_rounds_that_are_held_and_other_rounds(dataset, kind):
    make = logistic if kind == "logistic" else linear
    session = dataset.session()
    session.hold(50_000)
    held = session.ask(make(price=100))
    assert held.round == 50_000
    session.hold(None)
    assert session.ask(make(price=100)).round == N
    assert dataset.verify()


@pytest.mark.parametrize(
    ("query", "match"),
    [
        (logistic(target="age"), "expected a boolean"),
        (linear(target="ill"), "expected a number"),
        (logistic(features={"ill": (0, 1)}), "expected a number"),
        (logistic(features={"gone": (0, 1)}), "no column 'gone'"),
    ],
)
def test_what_does_not_fit_the_columns(dataset, query, match):
    with pytest.raises(InvalidQuery, match=match):
        dataset.session().ask(query)
    assert dataset.session().budget.spent == 0.0


def test_invalid_arguments():
    for wrong in (
        {"price": 0},
        {"price": 2.5},
        {"steps": 0},
        {"steps": 10_001},
        {"penalty": -1},
        {"features": {}},
        {"features": {"age": (1, 1)}},
        {"low": 0, "high": 1},
    ):
        with pytest.raises(InvalidInput):
            logistic(**wrong)
    with pytest.raises(InvalidInput):
        linear(low=None)
