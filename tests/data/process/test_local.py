"""Linear models of scikit-learn's own, which are evaluated in this process."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RANSACRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from surehold.data.process import local
from surehold.data.process.runner import ModelLimits, ModelRunner
from surehold.errors import InvalidInput
from surehold.models.payload import payload_of
from surehold.queries import Schema

FEATURES = Schema.of({"a": "float", "b": "int", "c": "bool"})
RANDOM = np.random.default_rng(5)
SIZE = 70_000
MATRIX = np.stack(
    [
        RANDOM.normal(size=SIZE),
        RANDOM.integers(-9, 10, SIZE).astype(float),
        (RANDOM.random(SIZE) < 0.5).astype(float),
    ],
    axis=1,
)
FRAME = pl.DataFrame(
    {"a": MATRIX[:, 0], "b": MATRIX[:, 1].astype(int), "c": MATRIX[:, 2].astype(bool)}
)
LABELS = np.where(MATRIX[:, 0] + 0.1 * MATRIX[:, 1] > 0, "yes", "no")


def evaluated(model, want, frame=FRAME, limits=None, size=1 << 16):
    with ModelRunner(payload_of(model), FEATURES, want, limits) as runner:
        runner.probe()
        blocks = [frame.slice(at, size) for at in range(0, frame.height, size)]
        results = list(runner.evaluate(blocks))
        assert runner._crew is None  # no process was started
    values = np.concatenate([result.values for result in results])
    return values, np.concatenate([result.known for result in results])


@pytest.mark.parametrize("model", [LogisticRegression(), SGDClassifier(random_state=1)])
def test_labels_are_the_estimators_own(model) -> None:
    model.fit(MATRIX[:500], LABELS[:500])
    values, known = evaluated(model, "labels")
    assert known.all()
    assert (model.classes_[values] == model.predict(MATRIX)).all()


def test_scores_are_the_estimators_own() -> None:
    classifier = LogisticRegression().fit(MATRIX[:500], LABELS[:500])
    values, known = evaluated(classifier, "scores")
    assert known.all()
    assert values == pytest.approx(classifier.predict_proba(MATRIX), abs=1e-14)
    regressor = Ridge().fit(MATRIX[:500], MATRIX[:500, 0] * 3)
    values, _ = evaluated(regressor, "scores")
    assert values[:, 0] == pytest.approx(regressor.predict(MATRIX), abs=1e-12)


def test_a_missing_value_costs_its_record_alone_its_value() -> None:
    model = LogisticRegression().fit(MATRIX[:500], LABELS[:500])
    whole, _ = evaluated(model, "scores")
    gone = np.zeros(SIZE, bool)
    gone[[0, 17, 65_535, 65_536, SIZE - 1]] = True
    frame = FRAME.with_columns(pl.when(~pl.Series(gone)).then(pl.col("a")).alias("a"))
    values, known = evaluated(model, "scores", frame)
    assert (known == ~gone).all()
    assert (values[known] == whole[known]).all()  # to the last bit
    assert np.isnan(values[gone]).all()


def test_how_records_are_cut_into_blocks_and_chunks_makes_no_difference() -> None:
    model = LogisticRegression().fit(MATRIX[:500], LABELS[:500])
    whole, _ = evaluated(model, "labels")
    pieces = pl.concat([FRAME.slice(0, 1000), FRAME.slice(1000, 64_000), FRAME.slice(65_000)])
    for frame, size in ((FRAME, 1 << 12), (pieces, 1 << 16), (pieces.rechunk(), 999)):
        assert (evaluated(model, "labels", frame, size=size)[0] == whole).all()


def test_a_column_that_takes_the_place_of_another_is_not_taken_for_it() -> None:
    """Matrices are known by where columns lie; places that are free again get other columns."""
    model = LinearRegression().fit(MATRIX[:500], MATRIX[:500, 0])
    features = Schema.of({"a": "float", "b": "float", "c": "float"})
    for seed in range(50):
        matrix = np.random.default_rng(seed).normal(size=(500, 3))
        frame = pl.DataFrame({name: matrix[:, at].copy() for at, name in enumerate("abc")})
        with ModelRunner(payload_of(model), features, "scores") as runner:
            [result] = runner.evaluate([frame])
        assert result.values[:, 0] == pytest.approx(model.predict(matrix), abs=1e-12)


def test_matrices_are_kept_within_bounds() -> None:
    kept = local.Matrices(most=3 * 8 * 100)
    frames = [pl.DataFrame({"a": np.full(100, float(i))}) for i in range(5)]
    first = kept.of(frames[0])
    assert kept.of(frames[0]) is first
    made = [kept.of(frame) for frame in frames]
    assert all(kept.of(frame) is one for frame, one in zip(frames[2:], made[2:], strict=True))
    assert kept.of(frames[1]) is not made[1]
    assert kept.of(frames[0]) is not first
    assert (kept.of(frames[0]).slice(0, 100) == 0.0).all()
    with_null = pl.DataFrame({"a": [1.0, None]})
    assert kept.of(with_null) is not kept.of(with_null)


def test_only_linear_models_of_the_library_itself() -> None:
    y = MATRIX[:500, 0]
    others = [
        DecisionTreeClassifier(max_depth=2).fit(MATRIX[:500], LABELS[:500]),
        make_pipeline(StandardScaler(), LogisticRegression()).fit(MATRIX[:500], LABELS[:500]),
        RANSACRegressor(random_state=1).fit(MATRIX[:500], y),
    ]
    for model in others:
        assert local.local_model(payload_of(model), FEATURES, "scores", None) is None

    class Mine(LogisticRegression):
        pass

    mine = Mine().fit(MATRIX[:500], LABELS[:500])
    assert local.local_model(payload_of(mine), FEATURES, "labels", None) is None
    texts = Schema.of({"a": "float", "b": "int", "c": "str"})
    plain = payload_of(LogisticRegression().fit(MATRIX[:500], LABELS[:500]))
    assert local.local_model(plain, texts, "labels", None) is None
    assert local.local_model(plain, FEATURES, "labels", None) is not None


def test_what_can_not_be_used_is_refused() -> None:
    model = LogisticRegression().fit(MATRIX[:500, :2], LABELS[:500])
    with pytest.raises(InvalidInput, match="expects 2 features"):
        ModelRunner(payload_of(model), FEATURES, "labels")
    regressor = LinearRegression().fit(MATRIX[:500], MATRIX[:500, 0])
    with pytest.raises(InvalidInput, match="no labels"):
        ModelRunner(payload_of(regressor), FEATURES, "labels")


def test_it_is_refused_unless_the_worst_case_fits_like_any_other() -> None:
    model = LogisticRegression().fit(MATRIX[:500], LABELS[:500])
    limits = ModelLimits(seconds_in_all=1e-9)
    with ModelRunner(payload_of(model), FEATURES, "labels", limits) as runner:
        with pytest.raises(InvalidInput, match="leave out seconds_in_all"):
            runner.check_time(5_000)
        assert evaluated(model, "labels", limits=limits)[1].all()  # and else no clock ends it
