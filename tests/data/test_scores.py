"""What models score: the estimator's own numbers, on the same snapshot, before any noise."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    roc_auc_score,
    zero_one_loss,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import surehold as sh
from data.scored import (
    AB,
    BINARY,
    BMI,
    CITY,
    CLASSIFIERS,
    FRAME,
    ILL,
    KIND,
    REGRESSORS,
    SCHEMA,
    TRAIN,
    A,
    B,
    N,
    X,
    found,
    growing,
)
from surehold.data import scores
from surehold.data.known_sums import BLOCK
from surehold.data.process.crew import close_idle
from surehold.errors import InvalidInput
from surehold.queries import (
    accuracy,
    auc,
    brier,
    calibration,
    confusion,
    improvement,
    loss,
)


@pytest.fixture(scope="module", autouse=True)
def _no_children_left():
    yield
    close_idle()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels(name):
    model, target, truth = CLASSIFIERS[name]
    given = {**AB, "target": target}
    said = model.predict(X)
    assert found(accuracy(model, **given)) == pytest.approx(accuracy_score(truth, said), abs=1e-15)
    wrong = found(loss(model, **given, kind="zero_one"))
    assert wrong == pytest.approx(zero_one_loss(truth, said), abs=1e-15)
    table = confusion(model, **given)
    cells = found(table).reshape(len(model.classes_) + 1, -1) * N
    expected = confusion_matrix(truth, said, labels=model.classes_)
    assert np.array_equal(np.round(cells[:-1, :-1], 9), expected)
    assert not cells[-1].any()
    assert not cells[:, -1].any()
    labels = table.form(SCHEMA).labels
    names = [str(one).lower() if target == "ill" else str(one) for one in model.classes_]
    assert labels[0] == f"{names[0]} | {names[0]}"
    assert labels[1] == f"{names[0]} | {names[1]}"
    assert labels[-1] == "other | none"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities(name):
    model, target, truth = CLASSIFIERS[name]
    given = {**AB, "target": target}
    said = model.predict_proba(X)
    eps = np.finfo(np.float64).eps
    most = -np.log(eps)  # where scikit-learn cuts off as well
    expected = log_loss(truth, said, labels=model.classes_)
    assert found(loss(model, **given, kind="log", most=most)) == pytest.approx(expected, abs=2e-8)
    places = np.searchsorted(model.classes_, truth)
    with np.errstate(divide="ignore"):
        each = -np.log(said[np.arange(N), places])
    cut = np.minimum(each, 0.5).mean()
    assert found(loss(model, **given, kind="log", most=0.5)) == pytest.approx(cut, abs=1e-9)
    by_class = found(brier(model, **given))
    if name in BINARY:
        expected = brier_score_loss(truth, said[:, 1])
        squares = (said[:, 1] - places) ** 2
    else:
        squares = 0.5 * ((said - np.eye(3)[places]) ** 2).sum(axis=1)
        expected = brier_score_loss(truth, said, labels=model.classes_, scale_by_half=True)
    assert by_class[-1] == pytest.approx(expected, abs=1e-9)
    for at in range(len(model.classes_)):
        assert by_class[at] == pytest.approx(squares[places == at].sum() / N, abs=1e-9)
    assert by_class[-2] == 0.0


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("bins", [1, 7, 10, 50])
def test_calibration(name, bins):
    model, target, truth = CLASSIFIERS[name]
    query = calibration(model, **AB, target=target, bins=bins)
    said = model.predict_proba(X)[:, 1]
    edges = np.arange(bins + 1) / bins
    cells = found(query).reshape(bins, 3) * N
    for at in range(bins):
        is_last = at == bins - 1
        inside = (said >= edges[at]) & ((said < edges[at + 1]) | is_last)
        expected = [(inside & ~truth.astype(bool)).sum(), (inside & truth.astype(bool)).sum(), 0]
        assert cells[at].round(9).tolist() == expected
    labels = query.form(SCHEMA).labels
    assert len(labels) == 3 * bins
    assert labels[-1].startswith("[")
    assert labels[-1].endswith("1] | other")


@pytest.mark.parametrize("bins", [3, 10, 49, 50, 100])
def test_a_probability_on_an_edge_is_in_the_bin_whose_label_has_it(bins):
    """0.29 * 100 is 28.999999999999996 in doubles."""
    said = np.sort(np.concatenate([np.arange(bins + 1) / bins, np.nextafter(
        np.arange(1, bins + 1) / bins, 0.0)]))  # fmt: skip
    frame = (
        FRAME.head(1)
        .select(pl.all().repeat_by(len(said)).explode())
        .with_columns(a=pl.Series(said), ill=pl.Series([True] * len(said)))
    )
    query = calibration(lambda block: block[:, 0], features=["a"], target="ill", bins=bins)
    cells = found(query, frame).reshape(bins, 3)[:, 1] * len(said)
    edges = np.arange(bins + 1) / bins
    expected = np.histogram(said, edges)[0]  # the same rule: closed below, and the last above too
    assert cells.round(9).tolist() == expected.tolist()


@pytest.mark.parametrize("name", BINARY)
def test_auc(name):
    model, target, truth = CLASSIFIERS[name]
    pairs, shares = auc(model, **AB, target=target).parts
    unit = found(pairs)
    negative, positive, other = found(shares)
    assert other == 0.0
    ordered = N * (N - 1)
    expected = roc_auc_score(truth, model.predict_proba(X)[:, 1])
    assert unit * ordered / (positive * negative * N * N) == pytest.approx(expected, abs=1e-12)


def test_an_auc_has_ties_and_records_without_a_class():
    frame = FRAME.head(40).with_columns(
        a=pl.int_range(pl.len()) % 5 / 5.0,
        ill=pl.when(pl.int_range(pl.len()) < 30).then("ill"),
    )
    pairs, _ = auc(lambda block: block[:, 0], features=["a"], target="ill").parts
    kept = frame.head(30)
    truth, said = kept["ill"].to_numpy(), kept["a"].to_numpy()
    expected = roc_auc_score(truth, said) * truth.sum() * (~truth).sum() / (40 * 39)
    assert found(pairs, frame) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name):
    model = REGRESSORS[name]
    given = {**AB, "target": "bmi"}
    said = model.predict(X)
    wide = {"low": 0, "high": 100}
    squared = found(loss(model, **given, kind="squared", **wide))
    assert squared == pytest.approx(mean_squared_error(BMI, said), abs=1e-5)
    absolute = found(loss(model, **given, kind="absolute", **wide))
    assert absolute == pytest.approx(mean_absolute_error(BMI, said), abs=1e-7)
    narrow = {"low": 24, "high": 26}
    cut = np.abs(np.clip(said, 24, 26) - np.clip(BMI, 24, 26))
    assert found(loss(model, **given, kind="absolute", **narrow)) == pytest.approx(cut.mean())
    assert found(loss(model, **given, kind="squared", **narrow)) == pytest.approx((cut**2).mean())
    # Of any expression, and what has no target counts as low.
    twice = loss(model, **AB, target="2 * bmi", kind="absolute", low=0, high=200)
    assert found(twice) == pytest.approx(np.abs(2 * BMI - said).mean(), abs=1e-6)
    frame = FRAME.with_columns(bmi=pl.lit(None, pl.Float64))
    absent = found(loss(model, **given, kind="absolute", **wide), frame)
    assert absent == pytest.approx(said.mean(), abs=1e-6)


def test_callables():
    def score(block):
        return block[:, 0] / 4 + 0.5

    given = {"features": ["a"], "target": "ill"}
    said = A / 4 + 0.5
    assert found(accuracy(score, **given)) == pytest.approx(((said >= 0.5) == ILL).mean())
    cut = np.clip(said, 0, 1)
    assert found(brier(score, **given))[-1] == pytest.approx(brier_score_loss(ILL, cut), abs=1e-9)
    expected = np.minimum(-np.log(np.maximum(np.where(ILL, cut, 1 - cut), 1e-99)), 3).mean()
    assert found(loss(score, **given, kind="log", most=3)) == pytest.approx(expected, abs=1e-9)
    cells = found(confusion(score, **given)).reshape(3, 3) * N
    assert np.array_equal(cells[:2, :2].round(9), confusion_matrix(ILL, said >= 0.5))
    absolute = found(loss(score, features=["a"], target="b", kind="absolute", low=-9, high=9))
    assert absolute == pytest.approx(np.abs(said - B).mean(), abs=1e-7)


def test_callables_on_arrow_and_texts():
    import pyarrow.compute as pc

    def is_oslo(batch):
        return pc.equal(batch["city"], "Oslo").to_numpy(zero_copy_only=False)

    query = accuracy(is_oslo, features=["city", "n"], target="ill", takes="arrow")
    assert found(query) == pytest.approx(((CITY == "Oslo") == ILL).mean())
    with pytest.raises(InvalidInput, match="takes='arrow'"):
        accuracy(is_oslo, features=["city"], target="ill").form(SCHEMA)


def test_a_pipeline_with_a_text_column():
    pandas = pd.DataFrame({"city": CITY, "n": FRAME["n"].to_numpy(), "a": A})
    columns = ColumnTransformer(
        [("city", OneHotEncoder(handle_unknown="ignore"), ["city"])], remainder=StandardScaler()
    )
    model = make_pipeline(columns, LogisticRegression()).fit(pandas[TRAIN], KIND[TRAIN])
    given = {"features": ["a", "n", "city"], "target": "kind"}
    assert found(accuracy(model, **given)) == pytest.approx(model.score(pandas, KIND), abs=1e-15)
    expected = log_loss(KIND, model.predict_proba(pandas), labels=model.classes_)
    assert found(loss(model, **given, kind="log", most=30)) == pytest.approx(expected, abs=1e-8)


def converted(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from skl2onnx import to_onnx

        options = {"options": {"zipmap": False}} if hasattr(estimator, "classes_") else {}
        return to_onnx(estimator, X[:1].astype(np.float32), **options).SerializeToString()


# What 32 bits tell apart, so that labels can be compared one by one.
ROUGH = FRAME.with_columns(pl.col("a", "b").cast(pl.Float32).cast(pl.Float64))


@pytest.mark.parametrize("name", ["numbers", "texts", "forest of texts"])
def test_onnx(name):
    model, target, truth = CLASSIFIERS[name]
    content, given = converted(model), {**AB, "target": target}
    rough = ROUGH.select("a", "b").to_numpy()
    exact = accuracy_score(truth, model.predict(rough))
    assert found(accuracy(content, **given), ROUGH) == pytest.approx(exact, abs=2.1 / N)
    said = model.predict_proba(rough)
    found_log = found(loss(content, **given, kind="log", most=5), ROUGH)
    places = np.searchsorted(model.classes_, truth)
    with np.errstate(divide="ignore"):
        each = np.minimum(-np.log(said[np.arange(N), places]), 5)
    assert found_log == pytest.approx(each.mean(), abs=1e-4)
    cells = found(confusion(content, **given), ROUGH) * N
    assert cells.sum() == pytest.approx(N)
    if name == "numbers":
        pairs, _ = auc(content, **given).parts
        expected = roc_auc_score(truth, said[:, 1]) * truth.sum() * (1 - truth).sum()
        assert found(pairs, ROUGH) * N * (N - 1) == pytest.approx(expected, abs=N)


def test_an_onnx_regressor_and_a_file(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(converted(REGRESSORS["linear"]))
    given = {**AB, "target": "bmi", "kind": "absolute", "low": 0, "high": 100}
    expected = found(loss(REGRESSORS["linear"], **given))
    assert found(loss(path, **given)) == pytest.approx(expected, abs=1e-4)
    assert loss(path, **given) == loss(path.read_bytes(), **given) == loss(str(path), **given)


@pytest.mark.parametrize("metric", [accuracy, brier, confusion])
def test_booleans_and_0_and_1_are_the_same_target(metric):
    of_truths, of_numbers = CLASSIFIERS["logistic"][0], CLASSIFIERS["numbers"][0]
    expected = found(metric(of_truths, **AB, target="ill"))
    for model in (of_truths, of_numbers):
        for target in ("ill", "y", "y = 1", "cast(ill as number)"):
            assert np.array_equal(found(metric(model, **AB, target=target)), expected)


def test_a_target_that_is_another_type_is_refused_before_any_record():
    model, _, _ = CLASSIFIERS["texts"]
    with pytest.raises(sh.InvalidQuery, match="text"):
        accuracy(model, **AB, target="ill").form(SCHEMA)
    with pytest.raises(sh.InvalidQuery, match="number"):
        loss(REGRESSORS["linear"], **AB, target="city", kind="squared", low=0, high=1).form(SCHEMA)


def test_a_null_target_is_no_class():
    gaps = np.arange(N) % 7 == 0
    frame = FRAME.with_columns(
        ill=pl.when(pl.Series(~gaps)).then("ill"), kind=pl.when(pl.Series(~gaps)).then("kind")
    )
    for name in ("logistic", "texts"):
        model, target, truth = CLASSIFIERS[name]
        given = {**AB, "target": target}
        right = (model.predict(X) == truth) & ~gaps
        assert found(accuracy(model, **given), frame) == pytest.approx(right.mean())
        assert found(loss(model, **given, kind="zero_one"), frame) == pytest.approx(
            1 - right.mean()
        )
        wide = len(model.classes_) + 1
        cells = found(confusion(model, **given), frame).reshape(wide, wide) * N
        assert cells[-1].sum() == pytest.approx(gaps.sum())
        assert found(brier(model, **given), frame)[-2] > 0
        # Without a class there is no probability of what came: the most that can be lost.
        each = model.predict_proba(X)[np.arange(N), np.searchsorted(model.classes_, truth)]
        lost = np.where(gaps, 2.0, np.minimum(-np.log(each), 2.0))
        found_log = found(loss(model, **given, kind="log", most=2), frame)
        assert found_log == pytest.approx(lost.mean(), abs=1e-9)


def test_missing_features():
    gaps = np.arange(N) % 5 == 0
    frame = FRAME.with_columns(a=pl.when(pl.Series(~gaps)).then("a"))
    model, target, truth = CLASSIFIERS["logistic"]
    right = (model.predict(X) == truth) & ~gaps  # it raises where there is a gap
    assert found(accuracy(model, **AB, target=target), frame) == pytest.approx(right.mean())
    cells = found(confusion(model, **AB, target=target), frame).reshape(3, 3) * N
    assert cells[:, -1].sum() == pytest.approx(gaps.sum())
    holes = X.copy()
    holes[gaps, 0] = np.nan
    able = HistGradientBoostingClassifier(max_iter=20, random_state=1).fit(holes[TRAIN], ILL[TRAIN])
    expected = able.score(holes, ILL)
    assert found(accuracy(able, **AB, target=target), frame) == pytest.approx(expected, abs=1e-15)
    said = able.predict_proba(holes)[:, 1]
    assert found(brier(able, **AB, target=target), frame)[-1] == pytest.approx(
        brier_score_loss(ILL, said), abs=1e-9
    )


def test_improvements():
    new, old = CLASSIFIERS["logistic"][0], CLASSIFIERS["forest"][0]
    given = {**AB, "target": "ill"}
    better = improvement(accuracy(new, **given), accuracy(old, **given))
    assert found(better) == pytest.approx(new.score(X, ILL) - old.score(X, ILL), abs=1e-12)
    log = {**given, "kind": "log", "most": 2}
    expected = found(loss(old, **log)) - found(loss(new, **log))
    assert found(improvement(loss(new, **log), loss(old, **log))) == pytest.approx(expected)
    # Models with classes of other types, and other features, can be compared too.
    one = accuracy(CLASSIFIERS["numbers"][0], **given)
    two = accuracy(lambda block: block[:, 0], features=["n"], target="ill")
    expected = found(one) - found(two)
    assert found(improvement(one, two)) == pytest.approx(expected, abs=1e-12)


# ------------------------------------------------------------------------------------ growth


def test_growth_costs_only_the_new_records(monkeypatch):
    model, target, _ = CLASSIFIERS["forest"]
    given = {**AB, "target": target}
    queries = [accuracy(model, **given), brier(model, **given), calibration(model, **given)]
    evaluated = []
    real = scores.score_sums

    def spy(measure, rows, *more):
        evaluated.append(rows.height)
        return real(measure, rows, *more)

    monkeypatch.setattr(scores, "score_sums", spy)
    frame, many = FRAME.sample(1400 + BLOCK, with_replacement=True, seed=1), 1400 + BLOCK
    data = growing(frame.head(1400))
    sources = [query.form(SCHEMA).source for query in queries]
    told = []
    data.exact(sources, 1400, told.append)
    assert evaluated == [1400, 1400, 1400]
    assert told[-1] == 3 * 1400
    data._engine.extend(frame.slice(1400))
    evaluated.clear()
    told.clear()
    after = data.exact(sources, many, told.append)
    assert evaluated == [BLOCK] * 3  # fewer would never be evaluated alone
    assert told[-1] == 3 * BLOCK
    assert after == growing(frame).exact(sources, many)
    # an earlier one again
    assert data.exact(sources, 1450) == growing(frame).exact(sources, 1450)


def test_pairs_are_looked_at_anew():
    source = auc(CLASSIFIERS["logistic"][0], **AB, target="ill").parts[0].form(SCHEMA).source
    data, told = growing(FRAME.head(300)), []
    data.exact([source], 300)
    data._engine.extend(FRAME.slice(300))
    assert data.exact([source], N, told.append) == growing().exact([source], N)
    assert told[-1] == N


@pytest.mark.parametrize("block", [1, 7, 64])
def test_it_does_not_matter_how_records_are_cut_into_blocks(block, monkeypatch):
    model, target, _ = CLASSIFIERS["texts"]
    frame, given = FRAME.head(60), {**AB, "target": target}
    queries = [
        loss(model, **given, kind="log", most=3),
        confusion(model, **given),
        brier(model, **given),
    ]
    sources = [query.form(SCHEMA).source for query in queries]
    expected = growing(frame).exact(sources, 60)
    monkeypatch.setattr(scores, "BLOCK", block)
    assert growing(frame).exact(sources, 60) == expected
