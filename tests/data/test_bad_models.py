"""Models that do wrong, and models through a session: an answer, never what a record holds."""

from __future__ import annotations

import os
import signal
import time
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    brier_score_loss,
    confusion_matrix,
    roc_auc_score,
)
from sklearn.svm import LinearSVC

import surehold as sh
from data.scored import (
    AB,
    CITY,
    CLASSIFIERS,
    COLUMNS,
    FRAME,
    ILL,
    SCHEMA,
    TRAIN,
    A,
    N,
    X,
    growing,
)
from support.noise_sources import NoNoise
from support.runtime import GUARDS, guarded
from surehold.data.process.crew import close_idle
from surehold.data.process.runner import ModelLimits
from surehold.errors import InvalidInput
from surehold.queries import (
    accuracy,
    auc,
    brier,
    calibration,
    confusion,
    query_of,
    select,
)
from surehold.session.dataset import Dataset, create


@pytest.fixture(scope="module", autouse=True)
def _no_children_left():
    yield
    close_idle()


def _slow(block):
    time.sleep(5.0 if (block != 0).any() and (block != 1).any() else 0.0)
    return block[:, 0]


def _raises(block):
    raise RuntimeError(f"a record: {block[0].tolist()}")


def _raises_on_some(block):
    if (block[:, 0] > 1.0).any():
        raise RuntimeError("a record")
    return np.full(len(block), 0.9)


def _wrong_shape_on_some(block):
    return np.full(len(block) + (block[:, 0] > 1.0).sum(), 0.9)


def _dies_on_some(block):
    if (block[:, 0] > 2.0).any():
        os._exit(3)
    return np.full(len(block), 0.9)


def _not_numbers(block):
    return np.full(len(block), np.nan)


def _hangs_on_some(block):
    if (block[:, 0] > 2.3).any():
        time.sleep(600)
    return np.full(len(block), 0.9)


def test_a_record_that_takes_too_long_costs_nobody_else_a_value():
    """Once it used up the time of all, and a value went from 0 to 1 for it."""
    frame = FRAME.head(50).with_columns(a=pl.lit(0.9))
    slow = frame.with_columns(a=pl.when(pl.int_range(pl.len()) == 7).then(2.5).otherwise("a"))
    source = accuracy(_as_a_script(_hangs_on_some), **AB, target="true").form(SCHEMA).source
    found = []
    for rows in (frame, slow):
        data = growing(rows)
        data.limits = ModelLimits(seconds_per_block=0.5)
        [right] = data.exact([source], 50)
        found.append(right.numerators)
    assert found == [(50,), (49,)]


def test_an_estimator_that_fails_on_all_records_predicts_no_class():
    class Failing:
        def __init__(self):
            self.classes_ = np.array(["Bergen", "Oslo", "Tromsø"])

        def get_params(self, deep=True):
            return {}

        def predict(self, block):
            if len(np.unique(block)) > 1:
                raise RuntimeError("not made up")
            return np.full(len(block), "Oslo")

        def predict_proba(self, block):
            self.predict(block)
            return np.full((len(block), 3), 1 / 3)

    data = growing()
    given = {**AB, "target": "city"}
    queries = [
        accuracy(Failing(), **given),
        confusion(Failing(), **given),
        brier(Failing(), **given),
    ]
    right, table, squares = data.exact([query.form(SCHEMA).source for query in queries], N)
    assert right.numerators == (0,)
    counts = [int((city == CITY).sum()) for city in ("Bergen", "Oslo", "Tromsø")]
    expected = np.zeros((4, 4), int)
    expected[:3, 3] = counts
    assert table.numerators == tuple(expected.ravel().tolist())
    assert Fraction(squares.numerators[-1], squares.denominator) == Fraction(1, 2)


def _as_a_script(function):
    """With a module that its process does not have to find: it goes by value."""
    import types

    copied = types.FunctionType(
        function.__code__, {**function.__globals__, "__name__": "__main__"}, function.__name__
    )
    copied.__module__ = "__main__"
    return copied


@pytest.fixture
def guard():
    """Tests of both guards are given each of them."""
    return "noise"


@pytest.fixture
def dataset(tmp_path, guard):
    create(tmp_path / "d", **guarded(guard), columns=COLUMNS).close()
    with Dataset(tmp_path / "d", NoNoise()) as dataset:
        dataset.append(FRAME)
        dataset.limit_models(ModelLimits(seconds_per_block=1.0))
        yield dataset


EVIL = {
    "raises": (_raises, 0.0),
    "raises on some": (_raises_on_some, 1.0),
    "wrong shape on some": (_wrong_shape_on_some, 1.0),
    "dies on some": (_dies_on_some, 2.0),
    "hangs on some": (_hangs_on_some, 2.3),
    "not numbers": (_not_numbers, 0.0),
}


@pytest.mark.parametrize(
    ("guard", "name"), [*(("noise", name) for name in EVIL), ("surprise", "wrong shape on some")]
)
def test_bad_models_end_in_an_answer(dataset, guard, name):
    function, limit = EVIL[name]
    session = dataset.session()
    answer = session.ask(accuracy(_as_a_script(function), **AB, target="ill"))
    # What it says of the others is kept, and what it does not say is 0: false.
    says_true = np.zeros(N, bool) if name in ("raises", "not numbers") else limit >= A
    exact = (says_true == ILL).mean()
    if guard == "noise":
        assert answer.value == pytest.approx(exact, abs=1e-9)
        assert session.budget.spent == answer.charge > 0
    else:
        assert answer.cell[0] <= exact <= answer.cell[1]
        assert answer.spent == answer.surprise > 0
    again = session.ask(accuracy(_as_a_script(function), **AB, target="ill"))
    assert again.recorded
    assert dataset.verify().answers == 1


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (lambda block: np.zeros((len(block), 3)), "the shape"),
        (lambda block: "no", "shape"),
        (lambda block: np.array(["a"] * len(block)), "type"),
        (LinearSVC().fit(X[TRAIN], ILL[TRAIN]), "predict_proba"),
        (LogisticRegression().fit(A[TRAIN, None], ILL[TRAIN]), "1 features"),
    ],
)
def test_models_that_cannot_be_used_are_refused_and_cost_nothing(dataset, model, match):
    session = dataset.session()
    with pytest.raises(InvalidInput, match=match) as caught:
        session.ask(brier(model, **AB, target="ill"))
    assert not any(f"{value}" in str(caught.value) for value in A[:50])
    assert session.budget.spent == 0.0
    assert dataset.verify().answers == 0


def _relu():
    """An ONNX model that says whether a is above 0."""
    from onnx import TensorProto, helper

    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])
    told = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2])
    nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=1)]
    opsets = [helper.make_opsetid("", 18)]
    graph = helper.make_graph(nodes, "g", [given], [told])
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


@pytest.mark.parametrize("guard", GUARDS)
def test_an_evaluation_that_fails_is_charged_once(dataset, guard, monkeypatch):
    """For want of memory, say: no record is the reason, and nothing is answered."""
    from surehold.data.process import evaluation

    dataset.limit_models(ModelLimits())
    session = dataset.session()
    query = accuracy(_relu(), **AB, target="ill", classes=(False, True))

    def no_room(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "write_block", no_room)
        for _ in range(2):
            with pytest.raises(sh.EvaluationFailed, match="not enough memory for a block"):
                session.ask(query)
            spent = dataset._ledger.state.spent
            assert (spent > 0) == (guard == "noise")  # a surprise is spent when it comes
    answer = session.ask(query)
    assert guard == "surprise" or dataset._ledger.state.spent == spent
    value = ((X[:, 1] > X[:, 0]) == ILL).mean()
    assert answer.interval[0] <= value <= answer.interval[1]
    if guard == "noise":
        assert answer.value == pytest.approx(value, abs=2e-3)
    assert dataset.verify().answers == 1


@pytest.mark.parametrize(
    ("missing", "says"),
    [("time", "more than 600 seconds in all"), ("processes", "several times")],
)
def test_an_evaluation_that_lacks_something_gives_no_values(dataset, monkeypatch, missing, says):
    """All values lost would be an answer that one record, or a busy machine, has decided."""
    from surehold.data.process import child, evaluation

    dataset.limit_models(ModelLimits())
    session = dataset.session()
    query = accuracy(_relu(), **AB, target="ill", classes=(False, True))
    real = child.Child.send

    def lost(given, message):
        if message["do"] == "evaluate":
            os.killpg(given._process.pid, signal.SIGKILL)
        real(given, message)

    with monkeypatch.context() as patch:
        if missing == "time":
            patch.setattr(evaluation.Evaluation, "_left_in_all", lambda _: 0.0)
        else:
            patch.setattr(child.Child, "send", lost)
        with pytest.raises(sh.EvaluationFailed, match=says):
            session.ask(query)
    assert dataset.status().answers == 1  # charged, and not answered
    assert len(dataset.transcript) == 0
    assert session.ask(query).value > 0
    assert len(dataset.transcript) == 1


def test_a_model_whose_worst_case_does_not_fit_is_refused_and_costs_nothing(dataset):
    session = dataset.session()
    query = accuracy(_relu(), **AB, target="ill", classes=(False, True))
    dataset.limit_models(ModelLimits(seconds_in_all=1e-6))
    with pytest.raises(InvalidInput, match=r"at most 1e-06 seconds.*raise seconds_in_all"):
        session.ask(query)
    assert session.budget.spent == 0.0
    dataset.limit_models(ModelLimits())
    assert session.ask(query).charge > 0


def test_a_model_that_is_only_named_is_refused_with_a_hint(dataset):
    session, model = dataset.session(), CLASSIFIERS["logistic"][0]
    query = accuracy(model, **AB, target="ill")
    named = query_of(query.canonical)
    assert named == query
    assert session.quote(named).allowed
    with pytest.raises(InvalidInput, match=r"the model must be at hand.*pass the model itself"):
        session.ask(named)
    assert session.budget.spent == 0.0
    first = session.ask(query)
    again = session.ask(query.canonical)  # once it was answered the name is enough
    assert again.recorded
    assert again.value == first.value
    with pytest.raises(InvalidInput, match="at hand"):
        session.ask(auc(model, **AB, target="ill").parts[0].canonical)


def test_every_metric_through_a_session(dataset):
    session = dataset.session()
    model, target, truth = CLASSIFIERS["logistic"]
    given = {**AB, "target": target}
    table = session.ask(confusion(model, **given))
    expected = confusion_matrix(truth, model.predict(X)) / N
    assert table["true | false"].value == pytest.approx(expected[1, 0], abs=1e-9)
    assert session.ask(brier(model, **given))["all"].value == pytest.approx(
        brier_score_loss(truth, model.predict_proba(X)[:, 1]), abs=1e-9
    )
    assert len(session.ask(calibration(model, **given, bins=4)).cells) == 12
    chosen = session.ask(
        select(
            {"good": model, "bad": lambda block: -block[:, 0]},
            lambda one: accuracy(one, **given),
            best="highest",
            price=9,
        )
    )
    assert chosen.name == "good"
    dataset.verify()


def test_an_auc_through_a_session(tmp_path):
    """Of so many records that the intervals leave something to say about a quotient."""
    plan, times = sh.plan(n0=15_000, n=20_000, alpha=0.06, beta=0.1), 40
    create(tmp_path / "d", plan=plan, columns=COLUMNS).close()
    with Dataset(tmp_path / "d", NoNoise()) as dataset:
        dataset.append(pl.concat([FRAME] * times))
        model, target, truth = CLASSIFIERS["logistic"]
        found = dataset.session().ask(auc(model, **AB, target=target))
        expected = roc_auc_score(truth, model.predict_proba(X)[:, 1])
        assert found.value == pytest.approx(expected, abs=1e-3)
        assert found.interval[0] < expected < found.interval[1]
        assert dataset.verify().answers == 4
