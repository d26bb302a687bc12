"""ONNX models through the runner."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from support.onnx_graphs import FLOAT, TensorProto, f, i, ml, model, node
from support.row_mixing import session
from surehold.data.process.evaluators import WrongAnswer
from surehold.data.process.onnx_evaluator import OnnxEvaluator
from surehold.data.process.runner import ModelLimits, ModelRunner
from surehold.errors import InvalidInput, MissingExtra
from surehold.models.base import Unfit
from surehold.models.onnx.row_proof import is_rowwise
from surehold.models.payload import payload_of
from surehold.queries import Schema

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

N = 1_000
MATRIX = np.random.default_rng(2).normal(size=(N, 3)).astype(np.float32)
FRAME = pl.DataFrame({f"x{j}": MATRIX[:, j].astype(float) for j in range(3)})
FEATURES = Schema.of({f"x{j}": "float" for j in range(3)})
THREE = np.array(["low", "middle", "top"])[np.digitize(MATRIX[:, 0], [-0.5, 0.5])]
LIMITS = ModelLimits(seconds_per_block=10.0, seconds_in_all=60.0)


@pytest.fixture(scope="module", autouse=True)
def _small_numbers():
    """The first session of a process decides about numbers next to zero: here, as for all tests."""
    session(model(node("Relu", "x", "y")))
    yield
    assert np.array([5e-324])[0] * 1.0 > 0


def run(content, want, frame=FRAME, features=FEATURES, **more):
    payload = payload_of(content, **more)
    with ModelRunner(payload, features, want, LIMITS) as runner:
        [result] = runner.evaluate([frame])
        return result, runner.probe(), payload


def converted(estimator, zipmap=True, types=None):
    options = {} if zipmap else {"options": {"zipmap": False}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if types is not None:
            return to_onnx(estimator, initial_types=types, **options).SerializeToString()
        return to_onnx(estimator, MATRIX[:1], **options).SerializeToString()


CLASSIFIERS = {
    "logistic": LogisticRegression().fit(MATRIX, THREE),
    "whole": LogisticRegression().fit(MATRIX, (MATRIX[:, 0] > 0) * 5),
    "forest": RandomForestClassifier(5, random_state=0).fit(MATRIX, THREE),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()).fit(MATRIX, THREE),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_converted_classifiers(name):
    estimator = CLASSIFIERS[name]
    content = converted(estimator, zipmap=name != "forest")
    assert is_rowwise(content)
    result, probe, payload = run(content, "labels")
    assert probe.cell > 1
    assert result.known.all()
    assert payload.classes == tuple(estimator.classes_.tolist())
    agree = np.array(payload.classes)[result.values] == estimator.predict(MATRIX)
    assert agree.mean() > 0.995  # floats of 32 bits
    result, _, _ = run(content, "scores")
    assert result.known.all()
    np.testing.assert_allclose(result.values, estimator.predict_proba(MATRIX), atol=1e-5)


def test_a_converted_regressor():
    estimator = LinearRegression().fit(MATRIX, MATRIX @ [1, 2, 3])
    result, _, _ = run(converted(estimator), "scores")
    np.testing.assert_allclose(result.values[:, 0], estimator.predict(MATRIX), atol=1e-4)


def test_an_input_for_each_column_by_name():
    import pandas as pd

    city = np.array(["Oslo", "Bergen"])[np.arange(N) % 2]
    age = np.arange(N) % 90
    pandas = pd.DataFrame({"city": city, "age": age, "bmi": MATRIX[:, 0]})
    columns = ColumnTransformer(
        [("c", OneHotEncoder(), ["city"]), ("n", StandardScaler(), ["age", "bmi"])]
    )
    estimator = make_pipeline(columns, LogisticRegression()).fit(pandas, THREE)
    types = [
        ("city", StringTensorType([None, 1])),
        ("age", Int64TensorType([None, 1])),
        ("bmi", FloatTensorType([None, 1])),
    ]
    content = converted(estimator, types=types)
    frame = pl.DataFrame({"bmi": MATRIX[:, 0].astype(float), "age": age, "city": city})
    frame = frame.with_columns(
        age=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("age"),
        city=pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise("city"),
    )
    features = Schema.of({"bmi": "float", "age": "int", "city": "str"})
    result, _, payload = run(content, "labels", frame, features)
    # Whole numbers and texts can't be missing in ONNX.
    assert np.flatnonzero(~result.known).tolist() == [3, 5]
    expected = estimator.predict(pandas)[result.known]
    assert (np.array(payload.classes)[result.values[result.known]] == expected).mean() > 0.99
    with pytest.raises(InvalidInput, match="'city'"):
        run(content, "labels", frame, Schema.of({"bmi": "float", "age": "int"}))
    wrong = Schema.of({"bmi": "float", "age": "str", "city": "str"})
    with pytest.raises(InvalidInput, match="'age'"):
        run(content, "labels", frame.cast({"age": pl.String}), wrong)


def test_graphs_by_hand():
    wide = model(node("Softmax", "x", "y", axis=1), output=("y", FLOAT, [None, 3]))
    result, _, payload = run(wide.SerializeToString(), "labels")
    assert payload.classes == (0, 1, 2)
    assert (result.values == MATRIX.argmax(axis=1)).all()
    one = model(
        node("MatMul", "x w", "a"), node("Sigmoid", "a", "y"), constants={"w": f([1], [1], [0])}
    )
    content = one.SerializeToString()
    expected = 1 / (1 + np.exp(-(MATRIX[:, 0] + MATRIX[:, 1])))
    result, _, _ = run(content, "scores")  # of a width that is not declared
    np.testing.assert_allclose(result.values[:, 0], expected, rtol=1e-5)
    result, _, _ = run(content, "labels")
    assert (result.values == (expected >= 0.5)).all()


def test_numbers_next_to_zero_are_zero():
    """They would take many times as long, and so tell of a record."""
    doubled = model(node("Mul", "x c", "y"), constants={"c": f(2)}, output=("y", FLOAT, [None, 3]))
    frame = pl.DataFrame({f"x{j}": [1e-40, 1e-30] for j in range(3)})
    result, _, _ = run(doubled.SerializeToString(), "scores", frame)
    assert result.values[0].tolist() == [0.0] * 3
    np.testing.assert_allclose(result.values[1], 2e-30)


def test_labels_of_unknown_classes():
    label = ("y", TensorProto.INT64, [None])
    content = model(node("ArgMax", "x", "y", axis=1, keepdims=0), output=label).SerializeToString()
    with pytest.raises(InvalidInput, match="classes"):
        run(content, "labels")
    result, _, _ = run(content, "labels", classes=(1, 2))
    best = MATRIX.argmax(axis=1)
    assert (result.known == (best > 0)).all()
    assert (result.values == best - 1).all()
    with pytest.raises(InvalidInput, match="labels only"):
        run(content, "scores", classes=(1, 2))


class TestWidths:
    """As many scores as there are classes, or one for two; found out before any record is read."""

    COLUMNS = [(f"x{at}", "float") for at in range(3)]  # noqa: RUF012

    def evaluator(self, *nodes, want="scores", classes=None, shape=None, **more):
        graph = model(*nodes, output=("y", FLOAT, shape), **more)
        return OnnxEvaluator(graph.SerializeToString(), self.COLUMNS, want, classes)

    @pytest.mark.parametrize("shape", [None, [None, None], [None, 3]])
    @pytest.mark.parametrize("want", ["scores", "labels"])
    def test_classes_and_scores_are_of_one_number(self, shape, want):
        for classes in ((0, 1), (0, 1, 2, 3), (0,), ()):
            with pytest.raises(Unfit, match="3 scores"):
                self.evaluator(node("Relu", "x", "y"), want=want, classes=classes, shape=shape)
        for fine in ((0, 1, 2), None):
            found = self.evaluator(node("Relu", "x", "y"), want=want, classes=fine, shape=shape)
            assert found.width == 3

    @pytest.mark.parametrize("keep", [0, 1])
    def test_one_score_is_of_two_classes(self, keep):
        nodes = [node("ReduceSum", "x one", "y", keepdims=keep)]
        for classes in (None, (0, 1)):
            found = self.evaluator(*nodes, classes=classes, constants={"one": i(1)})
            assert found.width == 1
        with pytest.raises(Unfit, match="1 scores"):
            self.evaluator(*nodes, classes=(0, 1, 2), constants={"one": i(1)})

    def test_no_scores_at_all(self):
        constants = {"none": np.zeros(0, np.int64)}
        with pytest.raises(Unfit, match="gives 0 scores"):
            self.evaluator(node("Gather", "x none", "y", axis=1), constants=constants)
        constants = {"w": np.zeros((3, 20_001), np.float32)}
        with pytest.raises(Unfit, match="20,001 scores"):
            self.evaluator(node("MatMul", "x w", "y"), constants=constants)

    def test_labels_of_no_class(self):
        label = ("y", TensorProto.INT64, [None])
        graph = model(node("ArgMax", "x", "y", axis=1, keepdims=0), output=label)
        with pytest.raises(Unfit, match="classes"):
            OnnxEvaluator(graph.SerializeToString(), self.COLUMNS, "labels", ())

    def test_a_width_that_is_not_declared_is_held_fixed(self):
        """Here it is the number of records; a call that gives another has failed."""
        turned = node("Transpose", "x", "t", perm=[1, 0])
        found = self.evaluator(turned, node("MatMul", "x t", "y"))
        assert found.width == 1
        assert found(MATRIX[:1]).shape == (1, 1)
        with pytest.raises(WrongAnswer, match=r"\(2, 2\)"):
            found(MATRIX[:2])

    def test_a_width_that_made_up_rows_do_not_tell(self):
        """What fails on made-up rows fails on all."""
        nodes = [node("Gather", "x w", "g", axis=1), node("Concat", "x g", "y", axis=1)]
        more = {"constants": {"w": i(7)}, "inputs": [("x", FLOAT, [None, None])]}
        for classes in (None, ("a", "b")):
            with pytest.raises(Unfit, match="made-up rows"):
                self.evaluator(*nodes, classes=classes, **more)

    def test_an_unknown_category_is_none_of_the_known_ones(self):
        """Even if the file says that it is an error: a record would decide whether there is one."""
        nodes = [
            ml("OneHotEncoder", "x", "h", cats_int64s=[7, 8], zeros=0),
            node("ReduceMax", "h last", "y", keepdims=0),
        ]
        more = {"constants": {"last": i(2)}, "inputs": [("x", FLOAT, [None, None])]}
        found = self.evaluator(*nodes, **more)
        assert found.width == 3
        assert found(np.array([[7.0, 8, 9]])).tolist() == [[1, 1, 0]]

    def test_the_runner_refuses_before_any_record_is_read(self):
        graph = model(node("Relu", "x", "y"), output=("y", FLOAT, [None, 3]))
        with pytest.raises(InvalidInput, match="3 scores for each record, of 2 classes"):
            run(graph.SerializeToString(), "scores", classes=(0, 1))


def test_a_model_that_may_mix_rows_is_given_one_record_at_a_time():
    centred = model(
        node("ReduceMean", "x zero", "m", keepdims=1),
        node("Sub", "x m", "d"),
        node("ReduceSum", "d one", "y", keepdims=1),
        constants={"zero": i(0), "one": i(1)},
        output=("y", FLOAT, [None, 1]),
    )
    result, probe, _ = run(centred.SerializeToString(), "scores", FRAME.head(50))
    assert probe.cell == 1
    assert (result.values == 0).all()


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (model(node("Relu", "x", "y"), inputs=[("x", FLOAT, [None, 5])]), "5 features"),
        (model(node("Relu", "x c", "y"), constants={"c": f(1)}), "Relu"),
        (model(node("Relu", "x", "y"), inputs=[("x", FLOAT, [None])]), "one input for all"),
        (
            model(node("Relu", "x", "y"), inputs=[("x", TensorProto.FLOAT16, [None, 3])]),
            "float16",
        ),
        (
            model(
                node("ReduceMean", "x z", "y", keepdims=0),
                constants={"z": i(0, 1)},
                output=("y", FLOAT, [None, 1]),
            ),
            "can be used|a number for each",
        ),
    ],
)
def test_models_that_do_not_fit_are_refused_before_any_record_is_read(graph, says):
    def never():
        raise AssertionError("a record was read")
        yield

    payload = payload_of(graph.SerializeToString())
    with ModelRunner(payload, FEATURES, "scores", LIMITS) as runner:
        with pytest.raises(InvalidInput, match=says):
            runner.probe()
        with pytest.raises(InvalidInput, match=says):
            list(runner.evaluate(never()))


def test_what_only_the_child_needs_is_missed_beforehand(monkeypatch):
    import surehold.models.extras as extras

    payload = payload_of(model(node("Relu", "x", "y")).SerializeToString())
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"surehold\[models\]"):
        ModelRunner(payload, FEATURES, "scores")
