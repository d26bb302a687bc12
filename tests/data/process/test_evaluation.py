"""Values through the runner are those of the model itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from surehold.data.process.runner import ModelLimits, ModelRunner
from surehold.errors import InvalidInput
from surehold.models.payload import payload_of
from surehold.queries import Schema

N = 5_000
RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(N, 3))
FRAME = pl.DataFrame({f"x{j}": MATRIX[:, j] for j in range(3)})
FEATURES = Schema.of({f"x{j}": "float" for j in range(3)})
TRUTH = MATRIX @ np.array([1.0, -2.0, 0.5]) + RNG.normal(size=N) > 0
THREE = np.array(["low", "middle", "top"])[np.digitize(MATRIX[:, 0], [-0.5, 0.5])]
LIMITS = ModelLimits(seconds_per_block=20.0, seconds_in_all=60.0)


def run(model, want, frame=FRAME, features=FEATURES, cell=None, blocks=None, takes="numpy"):
    with ModelRunner(payload_of(model, takes), features, want, LIMITS, cell) as runner:
        results = list(runner.evaluate([frame] if blocks is None else blocks))
    values = np.concatenate([result.values for result in results])
    return values, np.concatenate([result.known for result in results])


CLASSIFIERS = {
    "logistic": lambda: LogisticRegression().fit(MATRIX, TRUTH),
    "texts": lambda: LogisticRegression().fit(MATRIX, THREE),
    "forest": lambda: RandomForestClassifier(8, random_state=1).fit(MATRIX[:500], THREE[:500]),
    # One that writes to what it is given.
    "pipeline": lambda: make_pipeline(StandardScaler(copy=False), LogisticRegression()).fit(
        MATRIX.copy(), TRUTH
    ),
}


@pytest.mark.parametrize("name", ["texts", "forest"])
def test_classifiers_give_their_own_labels(name):
    model = CLASSIFIERS[name]()
    payload = payload_of(model)
    assert payload.kind == "sklearn"
    labels, known = run(model, "labels")
    assert known.all()
    assert labels.dtype == np.int32
    assert (np.array(payload.classes)[labels] == model.predict(MATRIX)).all()


@pytest.mark.parametrize("name", ["texts", "pipeline"])
def test_classifiers_give_their_own_probabilities(name):
    model = CLASSIFIERS[name]()
    scores, known = run(model, "scores")
    assert known.all()
    assert scores.shape == (N, len(model.classes_))
    np.testing.assert_allclose(scores, model.predict_proba(MATRIX.copy()), rtol=1e-12)


def test_regressors_give_their_predictions():
    model = RandomForestRegressor(5, random_state=1)
    model.fit(MATRIX[:500], 3 * MATRIX[:500, 1] - 5)
    scores, known = run(model, "scores")
    assert known.all()
    assert payload_of(model).classes is None
    np.testing.assert_allclose(scores[:, 0], model.predict(MATRIX), rtol=1e-12)
    with pytest.raises(InvalidInput, match="regressor"):
        run(model, "labels")


def test_texts_come_as_a_data_frame():
    import pandas as pd

    city = np.array(["Oslo", "Bergen", "Tromsø"])[RNG.integers(0, 3, N)]
    age = RNG.integers(0, 90, N)
    smoker = RNG.random(N) < 0.3
    truth = (city == "Oslo") ^ (age > 50)
    pandas = pd.DataFrame({"city": city, "age": age, "smoker": smoker})
    columns = ColumnTransformer(
        [("c", OneHotEncoder(), ["city"]), ("n", StandardScaler(), ["age", "smoker"])]
    )
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(pandas, truth)
    frame = pl.DataFrame({"smoker": smoker, "age": age, "other": age, "city": city})
    features = Schema.of({"smoker": "bool", "age": "int", "other": "int", "city": "str"})
    labels, known = run(model, "labels", frame, features)
    assert known.all()
    assert (labels == model.predict(pandas)).all()
    # An unknown city raises, and only those records are without a value.
    strange = frame.with_columns(
        city=pl.when(pl.int_range(pl.len()) % 1000 == 7).then(pl.lit("Rome")).otherwise("city")
    )
    others, known = run(model, "labels", strange, features)
    assert np.flatnonzero(~known).tolist() == [7, 1007, 2007, 3007, 4007]
    assert (others[known] == labels[known]).all()


def test_names_are_matched_whatever_their_order():
    import pandas as pd

    pandas = pd.DataFrame(MATRIX, columns=["x0", "x1", "x2"])
    model = LogisticRegression().fit(pandas, TRUTH)
    turned = Schema.of({"x2": "float", "x0": "float", "x1": "float"})
    labels, _ = run(model, "labels", FRAME, turned)
    assert (labels == model.predict(pandas)).all()
    with pytest.raises(InvalidInput, match="x1"):
        run(model, "labels", FRAME, Schema.of({"x2": "float", "x0": "float"}))


def test_missing_values_that_an_estimator_does_not_take():
    model = CLASSIFIERS["logistic"]()
    gaps = FRAME.with_columns(
        x1=pl.when(pl.int_range(pl.len()) % 3 == 1).then(None).otherwise("x1")
    )
    with ModelRunner(payload_of(model), FEATURES, "labels", LIMITS) as runner:
        assert runner.probe().gaps == ("x0", "x1", "x2")
        [whole] = runner.evaluate([FRAME])
        [result] = runner.evaluate([gaps])
        [none] = runner.evaluate([gaps.filter(pl.col("x1").is_null())])
    assert (result.known == (np.arange(N) % 3 != 1)).all()
    assert (result.values[result.known] == whole.values[result.known]).all()
    assert not none.known.any()
    # With another number of features it is not even tried.
    with pytest.raises(InvalidInput, match="3 features"):
        run(model, "labels", FRAME, Schema.of({"x2": "float"}))


def test_numbers_of_all_types_are_floats_and_nulls_are_nan():
    frame = pl.DataFrame(
        {"i": [1, None, 3, 2**53], "b": [True, False, None, True], "f": [0.5, None, 2.5, 3.5]}
    )
    features = Schema.of({"i": "int", "b": "bool", "f": "float"})
    for column, expected in enumerate(
        [[1, None, 3, 2**53], [1, 0, None, 1], [0.5, None, 2.5, 3.5]]
    ):
        values, known = run(lambda block, at=column: block[:, at], "scores", frame, features)
        assert known.tolist() == [value is not None for value in expected]
        assert values[known, 0].tolist() == [value for value in expected if value is not None]
        assert np.isnan(values[~known]).all()


def test_callables():
    half = 0.25

    def closure(block):
        assert block.flags.c_contiguous
        assert block.dtype == np.float64
        block[:] = block + half  # its own to write to
        return block[:, 1] > 0.5

    labels, known = run(closure, "labels")
    assert known.all()
    assert (labels == (MATRIX[:, 1] + half > 0.5)).all()
    scores, _ = run(lambda block: block[:, :1].tolist(), "scores")
    assert (scores[:, 0] == MATRIX[:, 0]).all()


def test_callables_on_arrow():
    import pyarrow as pa
    import pyarrow.compute as pc

    frame = pl.DataFrame({"city": ["Oslo", None, "Bergen", "Å"], "age": [1, 2, None, 4]})
    features = Schema.of({"city": "str", "age": "int"})

    def longer(batch):
        assert isinstance(batch, pa.RecordBatch)
        assert batch.schema.types == [pa.string(), pa.int64()]
        return pc.divide(pc.cast(pc.utf8_length(batch["city"]), pa.float64()), 4.0)

    values, known = run(longer, "scores", frame, features, takes="arrow")
    assert known.tolist() == [True, False, True, True]
    assert values[known, 0].tolist() == [1.0, 1.5, 0.25]
    with pytest.raises(InvalidInput, match="arrow"):
        run(longer, "scores", frame, features)


def test_functions_of_modules(tmp_path, monkeypatch):
    (tmp_path / "my_models.py").write_text("def first(block):\n    return block[:, 0]\n")
    monkeypatch.syspath_prepend(tmp_path)
    import my_models

    monkeypatch.chdir(tmp_path.parent)
    values, _ = run(my_models.first, "scores")
    assert (values[:, 0] == MATRIX[:, 0]).all()


def test_it_does_not_matter_how_records_are_cut_into_blocks():
    want = "scores"
    model = MLPClassifier((20,), max_iter=20, random_state=0)
    with pytest.warns(UserWarning, match="converge"):
        model.fit(MATRIX[:500], THREE[:500])
    whole, _ = run(model, want, cell=512)
    for size in (1, 37, 512, 3000):
        blocks = [FRAME.slice(start, size) for start in range(0, N if size > 1 else 50, size)]
        parts, known = run(model, want, cell=512, blocks=blocks)
        assert known.all()
        assert (parts == whole[: len(parts)]).all()  # to the last bit


def test_no_blocks_and_empty_blocks():
    with ModelRunner(payload_of(lambda block: block[:, 0]), FEATURES, "scores", LIMITS) as runner:
        assert list(runner.evaluate([])) == []
        results = list(runner.evaluate([FRAME.clear(), FRAME.head(2), FRAME.clear()]))
    assert [result.values.shape for result in results] == [(0, 1), (2, 1), (0, 1)]


def test_blocks_with_other_columns_are_refused():
    with ModelRunner(payload_of(lambda block: block[:, 0]), FEATURES, "labels", LIMITS) as runner:
        with pytest.raises(InvalidInput, match="x1"):
            list(runner.evaluate([FRAME.select("x0", "x2")]))
        with pytest.raises(InvalidInput, match="x0"):
            list(runner.evaluate([FRAME.cast(pl.String)]))
        [result] = runner.evaluate([FRAME.head(3)])  # and it goes on
        assert result.known.all()
