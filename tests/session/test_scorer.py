"""A session as a scorer of scikit-learn's loops: the scores are answers, with their widths."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import surehold as sh
from support.noise_sources import NoNoise
from support.runtime import made, records
from surehold.session.dataset import Dataset

FEATURES = ["age", "bmi"]
OWN = records(5000, 5200)  # the analyst's, which are not in the dataset
X = np.array([[row["age"], row["bmi"]] for row in OWN], dtype=float)
Y = X[:, 0] > 60
HELD = np.array([[row["age"], row["bmi"]] for row in records(0, 2000)], dtype=float)
TARGET = "age > 60 or bmi > 45"
TRUTH = (HELD[:, 0] > 60) | (HELD[:, 1] > 45)


@pytest.fixture
def dataset(tmp_path):
    made(tmp_path / "clinic", count=2000).close()
    with Dataset(tmp_path / "clinic", NoNoise()) as found:
        yield found


@pytest.fixture
def session(dataset):
    return dataset.session("ann")


def test_a_grid_search_is_scored_on_the_guarded_records(dataset, session) -> None:
    scorer = session.scorer(features=FEATURES, target=TARGET)
    grid = {"max_depth": [1, 2, 3]}
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), grid, scoring=scorer, cv=2, refit=False
    )
    search.fit(X, Y)
    assert len(scorer.answers) == 6
    told = np.array([answer.value for answer in scorer.answers]).reshape(3, 2)
    found = [search.cv_results_[f"split{i}_test_score"] for i in range(2)]
    np.testing.assert_array_equal(np.transpose(found), told)
    fresh = [answer for answer in scorer.answers if not answer.recorded]
    assert dataset._ledger.state.answers == len(fresh) == len({a.query for a in scorer.answers})
    for answer in scorer.answers:
        assert type(answer) is sh.Answer
        assert (answer.round, answer.price) == (2000, 1)
        assert answer.query.startswith("accuracy('sklearn:")
    assert "6 answers" in repr(scorer)
    dataset.verify()


def test_a_score_is_the_estimator_s_own(session) -> None:
    """Without noise; what it is given as X and y does not matter."""
    scorer = session.scorer(features=FEATURES, target=TARGET)
    for model in (LogisticRegression(), KNeighborsClassifier(3)):
        model.fit(X, Y)
        own = accuracy_score(TRUTH, model.predict(HELD))
        assert scorer(model) == pytest.approx(own, abs=1e-12)
        assert scorer(model, X[:3], Y[:3]) == pytest.approx(own, abs=1e-12)
        assert scorer.answers[-1].recorded
    assert [answer.recorded for answer in scorer.answers] == [False, True] * 2


def test_losses_are_negative(session) -> None:
    model = LogisticRegression().fit(X, Y)
    chances = model.predict_proba(HELD)[np.arange(2000), TRUTH.astype(int)]
    losses = {
        "zero_one": 1 - accuracy_score(TRUTH, model.predict(HELD)),
        "log": np.minimum(-np.log(chances), 5.0).mean(),
    }
    for metric, loss in losses.items():
        options = {"most": 5.0} if metric == "log" else {}
        scorer = session.scorer(features=FEATURES, target=TARGET, metric=metric, **options)
        score = scorer(model, X, Y)
        assert score == -scorer.answers[0].value
        assert score == pytest.approx(-loss, abs=1e-6)
        assert score < 0


def test_losses_of_a_regressor(session) -> None:
    model = Ridge().fit(X[:, :1], X[:, 1])
    said = np.clip(model.predict(HELD[:, :1]), 0, 50)
    for metric, loss in {
        "squared": np.mean((said - HELD[:, 1]) ** 2),
        "absolute": np.mean(np.abs(said - HELD[:, 1])),
    }.items():
        scorer = session.scorer(features=["age"], target="bmi", metric=metric, low=0, high=50)
        assert scorer(model) == pytest.approx(-loss, abs=1e-5)


def test_cross_validation_takes_it_too(session) -> None:
    scorer = session.scorer(features=FEATURES, target=TARGET)
    scores = cross_val_score(LogisticRegression(), X, Y, scoring=scorer, cv=3)
    assert scores.tolist() == [answer.value for answer in scorer.answers]


def test_when_the_budget_ends_so_does_the_loop(tmp_path) -> None:
    """By an error, if scikit-learn is told to raise it; otherwise it makes a NaN and a warning."""
    with made(tmp_path / "clinic", count=200) as dataset:
        scorer = dataset.session().scorer(features=FEATURES, target=TARGET)
        for depth in (1, 2):
            scorer(DecisionTreeClassifier(max_depth=depth).fit(X, Y))
        with pytest.raises(sh.BudgetExhausted):
            scorer(DecisionTreeClassifier(max_depth=3).fit(X, Y))
        assert len(scorer.answers) == 2
        search = GridSearchCV(
            LogisticRegression(), {"C": [1, 2]}, scoring=scorer, cv=2, error_score="raise"
        )
        with pytest.raises(sh.BudgetExhausted):
            search.fit(X, Y)


@pytest.mark.parametrize("metric", ["f1", "", "accuracies", None])
def test_a_metric_that_there_is_not(session, metric) -> None:
    with pytest.raises(sh.InvalidInput, match="metric"):
        session.scorer(features=FEATURES, target=TARGET, metric=metric)


def test_what_is_no_model_costs_nothing(dataset, session) -> None:
    state = dataset._ledger.state
    scorer = session.scorer(features=FEATURES, target=TARGET)
    for wrong in (LogisticRegression(), Ridge().fit(X, Y), 7, None):
        with pytest.raises(sh.InvalidInput):
            scorer(wrong)
    for wrong_options in (
        {"features": ["height"]},
        {"target": "heigth"},
        {"metric": "log"},
        {"metric": "squared", "low": 0},
        {"metric": "best"},
    ):
        with pytest.raises((sh.InvalidInput, sh.InvalidQuery)):
            session.scorer(**{"features": FEATURES, "target": TARGET, **wrong_options})
    assert scorer.answers == []
    assert dataclasses.replace(dataset._ledger.refresh()) == state
