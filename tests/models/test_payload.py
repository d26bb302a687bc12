"""A model as bytes: what names it, what it is refused for."""

from __future__ import annotations

import importlib
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import surehold.models.extras
from support.onnx_graphs import FLOAT, TensorProto, f, i, ml, model, node
from surehold.errors import InvalidInput, MissingExtra
from surehold.models.payload import payload_of, pickled_modules

MATRIX = np.random.default_rng(0).normal(size=(60, 2))


def fitted(target=None):
    return LogisticRegression().fit(MATRIX, MATRIX[:, 0] > 0 if target is None else target)


def test_an_estimator_is_its_bytes_and_its_classes():
    estimator = fitted()
    payload = payload_of(estimator)
    assert (payload.kind, payload.takes, payload.classes) == ("sklearn", "numpy", (False, True))
    assert payload == payload_of(estimator)
    copy = pickle.loads(payload.content)
    assert (copy.predict(MATRIX) == estimator.predict(MATRIX)).all()
    assert payload_of(copy).digest == payload.digest
    estimator.coef_ *= -1
    assert payload_of(estimator).digest != payload.digest
    assert "content" not in repr(payload)


@pytest.mark.parametrize(("one", "other"), [("a", "b"), (-1, 5)])
def test_classes_are_plain_values(one, other):
    classes = payload_of(fitted([other, one] * 30)).classes
    assert classes == (one, other)
    assert {type(value) for value in classes} == {type(one)}


def test_a_regressor_has_no_classes():
    assert payload_of(LinearRegression().fit(MATRIX, MATRIX[:, 0])).classes is None


class OnlyHere(BaseEstimator):
    """As a class of a script is: no other process can import it."""

    def fit(self):
        self.done_ = True
        return self

    def predict(self, block):
        return block[:, 0]


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        OnlyHere(),
    ],
)
def test_unfitted_estimators_are_refused(estimator):
    with pytest.raises(InvalidInput, match="unfitted"):
        payload_of(estimator)


def test_estimators_that_plain_pickle_does_not_take():
    steps = make_pipeline(FunctionTransformer(lambda block: block * 2), LogisticRegression())
    payload = payload_of(steps.fit(MATRIX, MATRIX[:, 0] > 0))
    assert pickle.loads(payload.content).predict(MATRIX).shape == (60,)


def make(weight):
    return lambda block: block @ weight


def test_callables_are_named_by_what_they_hold():
    first = payload_of(make(np.ones(2)))
    assert (first.kind, first.classes) == ("callable", (False, True))
    assert payload_of(make(np.ones(2))).digest == first.digest
    assert payload_of(make(np.zeros(2))).digest != first.digest
    assert payload_of(lambda block: block @ np.ones(2)).digest != first.digest


SOURCE = """
class Scored:
    def __call__(self, block):
        return block[:, {column}]

def scored(block, *, scale={scale}):
    inner = lambda x: x in {{"a", "b", "c"}}
    return block[:, {column}] * scale
"""


def test_functions_of_modules_are_named_by_their_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "edited_models.py"

    def digests(column, scale, above=""):
        path.write_text(above + SOURCE.format(column=column, scale=scale))
        importlib.invalidate_caches()
        sys.modules.pop("edited_models", None)
        module = importlib.import_module("edited_models")
        return payload_of(module.scored).digest, payload_of(module.Scored()).digest

    first = digests(0, 1.5)
    assert digests(0, 1.5) == first
    assert digests(0, 1.5, above="# moved\n") == first
    assert all(a != b for a, b in zip(digests(1, 1.5), first, strict=True))
    assert digests(0, 2.5)[0] != first[0]
    digests(0, 1.5)
    # The same in another process, whose hashes are others.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import edited_models as e; "
        "from surehold.models.payload import payload_of as p; "
        "sys.stdout.write(p(e.scored).digest + ' ' + p(e.Scored()).digest)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    other = subprocess.run(command, capture_output=True, text=True, check=True)
    assert tuple(other.stdout.split()) == first


@pytest.mark.parametrize(
    "given", [3, None, object(), LogisticRegression, "model.pkl", "no/such.onnx", b"", b"PK\x03"]
)
def test_other_things_are_refused(given):
    with pytest.raises(InvalidInput):
        payload_of(given)


def test_what_can_not_be_pickled_is_refused_with_a_reason():
    lines = (line for line in "abc")
    with pytest.raises(InvalidInput, match="can't hold open files") as refused:
        payload_of(lambda block: [next(lines)] * len(block))
    assert "generator" in str(refused.value)


def test_takes():
    assert payload_of(len, takes="arrow").takes == "arrow"
    with pytest.raises(InvalidInput, match="takes"):
        payload_of(len, takes="pandas")
    with pytest.raises(InvalidInput, match="takes"):
        payload_of(fitted(), takes="arrow")
    with pytest.raises(InvalidInput, match="classes"):
        payload_of(len, classes=(1, 2))


LABELS = ("label", TensorProto.INT64, [None])


def classes_of(*nodes, output=("y", FLOAT, [None, 1]), more_outputs=(), **more):
    graph = model(*nodes, output=output, more_outputs=more_outputs, **more)
    return payload_of(graph.SerializeToString()).classes


def test_classes_of_onnx_models(tmp_path):
    linear = {"coefficients": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "intercepts": [0.0, 0.0]}
    classifier = ml("LinearClassifier", "x", "label y", classlabels_ints=[3, 7], **linear)
    assert classes_of(classifier, output=LABELS, more_outputs=[("y", FLOAT, None)]) == (3, 7)
    column = {"w": f([1], [2], [3])}
    assert classes_of(node("MatMul", "x w", "y"), constants=column) == (False, True)
    wide = ("y", FLOAT, [None, 3])
    assert classes_of(node("Relu", "x", "y"), output=wide) == (0, 1, 2)
    chosen = [
        node("ArgMax", "x", "a", axis=1),
        ml("ArrayFeatureExtractor", "names a", "b"),
        node("Reshape", "b flat", "label"),
    ]
    constant = {"names": np.array(["u", "v", "w"], object), "flat": i(-1)}
    texts = ("label", TensorProto.STRING, [None])
    assert classes_of(*chosen, constants=constant, output=texts) == ("u", "v", "w")
    unknown = model(node("ArgMax", "x", "label", axis=1), output=LABELS).SerializeToString()
    assert payload_of(unknown).classes is None
    path = tmp_path / "model.ONNX"
    path.write_bytes(unknown)
    payload = payload_of(path, classes=("a", "b", "c"))
    assert (payload.kind, payload.classes) == ("onnx", ("a", "b", "c"))
    assert payload.digest == payload_of(unknown).digest == payload_of(str(path)).digest


@pytest.mark.parametrize(
    ("package", "given"),
    [("cloudpickle", len), ("onnx", model(node("Relu", "x", "y")).SerializeToString())],
)
def test_missing_packages_are_named(package, given, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(surehold.models.extras, "import_module", absent)
    with pytest.raises(MissingExtra, match=r"surehold\[models\]") as error:
        payload_of(given)
    assert error.value.extra == "models"


def test_importing_data_imports_none_of_them():
    code = (
        "import sys, surehold.data, surehold.data.process.runner, surehold.models.payload; "
        "heavy = ('onnx', 'onnxruntime', 'cloudpickle', 'sklearn', 'pandas'); "
        "sys.exit(str([name for name in heavy if name in sys.modules] or ''))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.stderr.strip() == ""


def test_the_same_function_of_a_matrix_and_of_a_batch_are_two_models():
    def first(block):
        return [0.5] * len(block)

    matrix, batch = payload_of(first), payload_of(first, takes="arrow")
    assert matrix.digest != batch.digest
    assert batch.digest == payload_of(first, takes="arrow").digest


def test_an_estimator_of_an_edited_module_is_another_model(tmp_path, monkeypatch):
    source = (
        "from sklearn.base import BaseEstimator, ClassifierMixin\n"
        "class Mine(ClassifierMixin, BaseEstimator):\n"
        "    def fit(self, X, y):\n"
        "        self.classes_ = [False, True]\n"
        "        return self\n"
        "    def predict(self, X):\n"
        "        return X[:, 0] > {limit}\n"
    )
    path = tmp_path / "minemodule.py"
    path.write_text(source.format(limit=0))
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("minemodule")
    try:
        model = module.Mine().fit(None, None)
        before = payload_of(model)
        assert not before.is_plain
        assert payload_of(model).digest == before.digest
        path.write_text(source.format(limit=1))
        after = payload_of(model)
        assert after.content == before.content
        assert after.digest != before.digest
    finally:
        del sys.modules["minemodule"]


def test_the_modules_that_a_pickle_names():
    """Against what Python itself looks up when it reads the pickle."""
    seen = []

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            seen.append(module)
            return super().find_class(module, name)

    x = np.arange(20.0)[:, None]
    y = x[:, 0] > 9
    pipeline = make_pipeline(StandardScaler(), FunctionTransformer(np.arctan), LogisticRegression())
    for fitted in (
        LogisticRegression().fit(x, y),
        pipeline.fit(x, y),
        LinearRegression().fit(x, y),
    ):
        content = payload_of(fitted).content
        seen.clear()
        Reader(io.BytesIO(content)).load()
        assert list(pickled_modules(content)) == seen
        assert payload_of(fitted).is_plain
