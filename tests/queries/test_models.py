"""Queries about models: named by hashes, read back from texts, refused with a reason."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from queries.generators import booleans, numbers
from queries.generators import written as spelled
from queries.wrong_types import check
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import (
    GRID_BITS,
    Improvement,
    ModelMeasure,
    ModelScore,
    ModelTable,
    Schema,
    accuracy,
    brier,
    calibration,
    confusion,
    fraction,
    improvement,
    loss,
    query_of,
)

SCHEMA = Schema.of({"x": "float", "a b": "int", "ill": "bool", "n": "int", "city": "str"})
X = np.arange(20.0).reshape(-1, 1)


def classifier(*classes):
    return DummyClassifier().fit(X, [classes[i % len(classes)] for i in range(20)])


BINARY, TEXTS = classifier(False, True), classifier("no", "it's", "")
REGRESSOR = DummyRegressor().fit(X, X[:, 0])
OF_ILL = {"features": ["x", "a b"], "target": "ill"}
OF_CITY = {"features": ["x"], "target": "city"}
OF_X = {"features": ["n"], "target": "x + 1", "low": -1, "high": 5}


def half(block):
    return block[:, 0] / 2


QUERIES = {
    "accuracy('M', ill in (false, true), x, \"a b\")": accuracy(BINARY, **OF_ILL),
    "accuracy('M', city in ('', 'it''s', 'no'), x)": accuracy(TEXTS, **OF_CITY),
    "loss(zero_one, 'M', ill in (false, true), x, \"a b\")": loss(
        BINARY, **OF_ILL, kind="zero_one"
    ),
    "loss(log, 2.5, 'M', ill in (false, true), x, \"a b\")": loss(
        BINARY, **OF_ILL, kind="log", most=2.5
    ),
    "loss(squared, -1, 5, 'M', x + 1, n)": loss(REGRESSOR, **OF_X, kind="squared"),
    "loss(absolute, -1, 5, 'M', x + 1, n)": loss(REGRESSOR, **OF_X, kind="absolute"),
    "brier('M', ill in (false, true), x, \"a b\")": brier(BINARY, **OF_ILL),
    "confusion('M', city in ('', 'it''s', 'no'), x)": confusion(TEXTS, **OF_CITY),
    "calibration(7, 'M', ill in (false, true), x, \"a b\")": calibration(BINARY, **OF_ILL, bins=7),
    "accuracy('M', (n in (1, 2)) in (false, true), x)": accuracy(
        half, features=["x"], target="n in (1, 2)"
    ),
    "loss(squared, 0, 1, 'M', case when n in (1, 2) then 1 else 0 end, x)": loss(
        REGRESSOR, features=["x"], target="case when n in (1,2) then 1 else 0 end", kind="squared",
        low=0, high=1,
    ),
    "accuracy('M', n - 1 in (-3, 1e+20), x)": accuracy(
        classifier(-3, int(1e20)), features=["x"], target="n-1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("canonical", QUERIES)
def test_one_text_for_all_spellings(canonical):
    query = QUERIES[canonical]
    full = canonical.replace("'M'", f"'{query.model.name}'")
    assert query.canonical == str(query) == query.text == full
    again = query_of(full)
    assert again == query
    assert hash(again) == hash(query)
    assert type(again) is type(query)
    assert again.model.payload is None
    assert query.model.payload is not None
    assert json.loads(json.dumps(query.to_dict()))["canonical"] == full
    assert len(repr(query)) <= 90
    with pytest.raises(FrozenInstanceError):
        query.metric = "brier"
    # What is charged does not depend on whether the model is at hand.
    form, other = query.form(SCHEMA), again.form(SCHEMA)
    assert isinstance(form.source, ModelMeasure)
    assert form == other


def test_a_model_is_known_by_its_bytes():
    same = accuracy(classifier(False, True), **OF_ILL)
    assert same == accuracy(BINARY, **OF_ILL)
    assert same != accuracy(DummyClassifier(strategy="uniform").fit(X, X[:, 0] > 5), **OF_ILL)
    assert same != brier(BINARY, **OF_ILL)
    assert same != accuracy(BINARY, features=["x"], target="ill")
    assert len({same, accuracy(BINARY, **OF_ILL), fraction("ill")}) == 2
    assert same.model.name.startswith("sklearn:")
    assert accuracy(half, **OF_ILL).model.name.startswith("callable:")


def test_forms():
    def form(query):
        found = query.form(SCHEMA)
        return (found.low, found.high, found.span, found.bits, found.price, found.slots)

    assert form(accuracy(BINARY, **OF_ILL)) == (0, 1, 1, 0, 1, 1)
    assert form(loss(BINARY, **OF_ILL, kind="zero_one")) == (0, 1, 1, 0, 1, 1)
    assert form(loss(BINARY, **OF_ILL, kind="log", most=3)) == (0, 3, 3, GRID_BITS, 1, 1)
    assert form(loss(REGRESSOR, **OF_X, kind="absolute")) == (0, 6, 6, GRID_BITS, 1, 1)
    assert form(loss(REGRESSOR, **OF_X, kind="squared")) == (0, 36, 36, GRID_BITS, 1, 1)
    assert form(brier(TEXTS, **OF_CITY)) == (0, 1, 1, GRID_BITS, 2, 5)
    assert form(confusion(TEXTS, **OF_CITY)) == (0, 1, 1, 0, 2, 16)
    assert form(calibration(BINARY, **OF_ILL, bins=4)) == (0, 1, 1, 0, 2, 12)
    assert {query.form(SCHEMA).needs for query in QUERIES.values()} == {"statistical"}
    labels = brier(BINARY, **OF_ILL).form(SCHEMA).labels
    assert labels == ("false", "true", "other", "all")
    labels = calibration(BINARY, **OF_ILL, bins=2).form(SCHEMA).labels
    assert labels[:3] == ("[0, 0.5) | false", "[0, 0.5) | true", "[0, 0.5) | other")
    assert labels[3] == "[0.5, 1] | false"
    labels = confusion(TEXTS, **OF_CITY).form(SCHEMA).labels
    assert len(set(labels)) == len(labels)


@settings(max_examples=60)
@given(booleans, numbers)
def test_any_target_reads_back(condition, number):
    for query in (
        accuracy(half, features=["x"], target=spelled(condition)),
        loss(half, features=["x"], target=spelled(number), kind="absolute", low=0, high=1),
    ):
        assert query_of(query.canonical) == query


@settings(max_examples=60)
@given(st.lists(st.one_of(st.text(max_size=5), st.floats(), st.integers()), max_size=4))
def test_any_classes_read_back_or_are_refused(classes):
    content = _onnx_without_classes()
    try:
        query = accuracy(content, features=["x"], target="n", classes=classes)
    except (InvalidInput, InvalidQuery):
        return
    assert query_of(query.canonical) == query


def _onnx_without_classes():
    from onnx import TensorProto, helper

    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])
    label = helper.make_tensor_value_info("label", TensorProto.FLOAT, [None, 1])
    node = helper.make_node("Identity", ["x"], ["label"])
    graph = helper.make_graph([node], "g", [given], [label])
    opset = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


@pytest.mark.parametrize(
    "classes",
    [("a\u202e", "b"), ("x" * 1001, "b"), (2**60, 2**60 + 1), (1.5e200, 1.0), ("a\ud800", "b")],
    ids=["invisible", "long", "one double", "too large", "surrogate"],
)
def test_classes_that_no_ledger_could_read_are_refused(classes):
    """Else it would be charged, answered, and the dataset could not be verified any more."""
    stub = classifier("a", "b")
    stub.classes_ = np.array(classes, object)
    with pytest.raises(InvalidInput, match="classes"):
        accuracy(stub, **OF_CITY)


def test_a_target_is_of_the_classes_type():
    for target in ("ill", "n", "n > 3"):  # 0 and 1 are false and true
        accuracy(BINARY, features=["x"], target=target).form(SCHEMA)
        accuracy(classifier(0, 1), features=["x"], target=target).form(SCHEMA)
    with pytest.raises(InvalidQuery):
        accuracy(BINARY, features=["x"], target="city").form(SCHEMA)
    with pytest.raises(InvalidQuery):
        accuracy(TEXTS, features=["x"], target="n").form(SCHEMA)
    with pytest.raises(InvalidQuery, match="no column 'gone'"):
        accuracy(BINARY, features=["x"], target="gone").form(SCHEMA)
    with pytest.raises(InvalidQuery, match="no column 'gone'"):
        accuracy(BINARY, features=["x", "gone"], target="ill").form(SCHEMA)


@pytest.mark.parametrize("parameter", ["model", "features", "target", "classes", "takes"])
@pytest.mark.parametrize("make", [accuracy, brier, confusion])
def test_wrong_types(make, parameter):
    check(make, {"model": half, **OF_ILL}, parameter)


@pytest.mark.parametrize("parameter", ["kind", "low", "high", "most", "model", "target"])
def test_wrong_types_in_losses(parameter):
    for valid in (
        {"model": half, **OF_ILL, "kind": "log", "most": 3},
        {"model": half, **OF_X, "kind": "squared"},
    ):
        check(loss, valid, parameter)


def test_wrong_types_in_tables_and_improvements():
    check(calibration, {"model": half, **OF_ILL}, "bins")
    for parameter in ("new", "old"):
        score = accuracy(half, **OF_ILL)
        check(improvement, {"new": score, "old": score}, parameter)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: accuracy(REGRESSOR, **OF_ILL), r"without classes.*kind='squared'"),
        (lambda: accuracy(LogisticRegression(), **OF_ILL), "fitted"),
        (lambda: accuracy(LinearRegression, **OF_ILL), "make one of this class"),
        (lambda: accuracy("model.pkl", **OF_ILL), "ends in .onnx"),
        (lambda: accuracy("gone.onnx", **OF_ILL), "can be read"),
        (lambda: accuracy(BINARY, features="x", target="ill"), "a list of names"),
        (lambda: accuracy(BINARY, features=[], target="ill"), "a list of names"),
        (lambda: accuracy(BINARY, features=["x", "x"], target="ill"), "all different"),
        (lambda: accuracy(BINARY, **OF_ILL, classes=[0, 1]), "left out"),
        (lambda: loss(BINARY, **OF_ILL, kind="hinge"), "zero_one, log, squared"),
        (lambda: loss(BINARY, **OF_ILL, kind="log"), "most must be"),
        (lambda: loss(BINARY, **OF_ILL, kind="log", most=1001), "up to 1000"),
        (lambda: loss(REGRESSOR, features=["n"], target="x", kind="squared"), "low"),
        (lambda: calibration(TEXTS, **OF_CITY), "of two classes"),
        (lambda: calibration(BINARY, **OF_ILL, bins=0), "from 1 to 1,000"),
        (lambda: improvement("a", accuracy(BINARY, **OF_ILL)), "an accuracy"),
        (lambda: improvement(3, 4), "a fraction or a mean"),
        (lambda: improvement(brier(BINARY, **OF_ILL), brier(BINARY, **OF_ILL)), "a fraction or"),
    ],
)
def test_errors_that_help(make, match):
    with pytest.raises(InvalidInput, match=match):
        make()


def test_a_table_of_very_many_classes_is_refused():
    many = classifier(*range(20))
    many.classes_ = np.arange(200)
    with pytest.raises(InvalidQuery, match="40,401 cells"):
        confusion(many, features=["x"], target="n")
    listed = ", ".join(map(str, range(200)))
    with pytest.raises(InvalidQuery, match="40,401 cells"):
        query_of(f"confusion('m', n in ({listed}), x)")
    assert accuracy(many, features=["x"], target="n").form(SCHEMA).slots == 1


M = "'sklearn:abc', ill in (false, true), x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy(", "named by its hash"),
        ("accuracy(x)", "named by its hash"),
        ("accuracy('m'", "expected ','"),
        ("accuracy('m', ", "expected a value"),
        ("accuracy('m', ill in (false, true))", "needs columns"),
        ("accuracy('m', ill in (false, true), x, x)", "each of them once"),
        ("accuracy('m', ill in (false, true), x + 1)", "features must be columns"),
        ("accuracy('m', ill, x)", "must list its classes"),
        ("accuracy('m', bins(n, 0, 1), x)", "must list its classes"),
        ("accuracy('m', n in (1, 1), x)", "declared twice"),
        ("brier('m', n, x)", "must list its classes"),
        ("confusion('m', n, x)", "must list its classes"),
        ("loss(", "a loss is one of"),
        ("loss(hinge, 'm', ill in (false, true), x)", "a loss is one of"),
        ("loss(log, 'm', ill in (false, true), x)", "expected a number"),
        ("loss(squared, 0, 'm', x, n)", "expected a number"),
        ("loss(squared, 0, 1, 'm', n in (1, 2), n)", "must list its classes"),
        ("calibration(0, 'm', ill in (false, true), x)", "from 1 to 1,000"),
        ("calibration(2.5, 'm', ill in (false, true), x)", "from 1 to 1,000"),
        ("calibration(1e150, 'm', ill in (false, true), x)", "from 1 to 1,000"),
        ("calibration(-3, 'm', ill in (false, true), x)", "from 1 to 1,000"),
        ("calibration(3, 'm', n in (1, 2, 3), x)", "needs two classes"),
        ("improvement(", "expected a value"),
        ("improvement(ill, rate(ill, x > 1))", "two models, or two fractions"),
        (f"improvement(accuracy({M}), ill)", "two models, or two fractions"),
        (f"improvement(accuracy({M}), loss(zero_one, {M}))", "the same metric"),
        (f"improvement(brier({M}), brier({M}))", "two models, or two fractions"),
        (f"accuracy({M}) > 0.5", "stands alone"),
        (f"difference(accuracy({M}), accuracy({M}))", "two fractions, two means or two rates"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(InvalidQuery, match=message):
        query_of(text)


@pytest.mark.parametrize("text", [f"loss(log, 2000, {M})", f"loss(log, -1, {M})"])
def test_bounds_that_cannot_be_meant(text):
    with pytest.raises(InvalidInput, match="up to 1000"):
        query_of(text)


def test_improvements():
    new, old = accuracy(BINARY, **OF_ILL), accuracy(half, features=["n"], target="(ill)")
    query = improvement(new, old)
    assert isinstance(query, Improvement)
    assert query.canonical == f"improvement({new.canonical}, {old.canonical})"
    assert query_of(query.canonical) == query == improvement(new, old)
    assert query != improvement(old, new)
    form = query.form(SCHEMA)
    assert (form.low, form.high, form.span, form.bits, form.price) == (-1, 1, 2, 0, 1)
    log = {**OF_ILL, "kind": "log", "most": 3}
    form = improvement(loss(BINARY, **log), loss(half, **log)).form(SCHEMA)
    assert (form.low, form.high, form.span, form.bits) == (-3, 3, 6, GRID_BITS)
    with pytest.raises(InvalidQuery, match="same scale"):
        improvement(loss(BINARY, **log), loss(half, **{**log, "most": 4}))
    with pytest.raises(InvalidQuery, match="same target"):
        improvement(new, accuracy(BINARY, features=["x"], target="n"))
    long = " and ".join(f"city <> '{i * 'x'}'" for i in range(100))
    long_new = accuracy(BINARY, features=["x"], target=long)
    with pytest.raises(InvalidQuery, match="longer than 10,000"):
        improvement(long_new, accuracy(half, features=["x"], target=long))


def test_scores_and_tables_are_told_apart():
    kinds = {name.partition("(")[0]: type(query) for name, query in QUERIES.items()}
    assert kinds == {
        "accuracy": ModelScore,
        "loss": ModelScore,
        "brier": ModelTable,
        "confusion": ModelTable,
        "calibration": ModelTable,
    }
