"""Models that are kept by name: asked about like models at hand, with the same numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import surehold as sh
from support.noise_sources import NoNoise
from support.runtime import made
from surehold.session.dataset import Dataset

ABOUT = {"features": ["age", "bmi"], "target": "age > 50"}


def onnx_of(labels: list[object]) -> bytes:
    """A tree that tells, fairly well, whether an age is above fifty."""
    from skl2onnx import to_onnx
    from sklearn.tree import DecisionTreeClassifier

    ages = np.arange(0, 100, 3, dtype=np.float32)
    features = np.column_stack([ages, ages * 0]).astype(np.float32)
    classes = np.array([labels[int(age > 47)] for age in ages])
    model = DecisionTreeClassifier(max_depth=1).fit(features, classes)
    return to_onnx(model, features[:1], options={"zipmap": False}).SerializeToString()


@pytest.fixture(scope="module")
def model() -> bytes:
    return onnx_of([False, True])


@pytest.fixture
def exact(tmp_path):
    made(tmp_path / "exact", count=2000).close()
    with Dataset(tmp_path / "exact", NoNoise()) as dataset:
        yield dataset


def queries(model: bytes) -> list[sh.Query]:
    old = sh.accuracy(onnx_of([True, False]), **ABOUT)
    return [
        sh.accuracy(model, **ABOUT),
        sh.confusion(model, **ABOUT),
        sh.auc(model, **ABOUT),
        sh.loss(model, kind="log", most=5.0, **ABOUT),
        sh.calibration(model, bins=2, **ABOUT),
        sh.gate(sh.accuracy(model, **ABOUT), at_least=0.5),
        sh.improvement(sh.accuracy(model, **ABOUT), old),
        sh.select([sh.accuracy(model, **ABOUT), old], best="highest", price=4),
    ]


@pytest.mark.parametrize("which", range(8))
def test_by_name_is_as_at_hand(exact, tmp_path, model, which):
    """At two rounds, so that neither is answered from the record of the other."""
    asked = queries(model)[which]
    at_hand = exact.session("ann").at(1900).ask(asked)
    exact.keep_model(model)
    exact.keep_model(onnx_of([True, False]))
    made(tmp_path / "other", count=1900).close()
    with Dataset(tmp_path / "other", NoNoise()) as other:
        other.keep_model(model)
        other.keep_model(onnx_of([True, False]))
        by_name = other.session("ann").ask(asked.canonical)
    same = ("value", "cells", "index", "verdict", "interval", "price")
    assert [getattr(by_name, name, None) for name in same] == [
        getattr(at_hand, name, None) for name in same
    ]


def test_a_model_is_kept_once_and_found_after_reopening(exact, model, tmp_path):
    kept = exact.keep_model(model)
    assert kept == exact.keep_model(model)
    assert kept.classes == (False, True) or kept.classes == (0, 1)
    assert exact.models == (kept,)
    assert exact.models_size == (kept.bytes, 1) == (len(model), 1)
    assert exact.model_content(kept.model) == model
    with sh.open(exact.path) as again:
        assert again.models == (kept,)
    (tmp_path / "m.onnx").write_bytes(model)
    named = exact.keep_model(tmp_path / "m.onnx")  # the first name it gets stays
    assert named == replace(kept, name="m") == exact.keep_model(model)


def test_a_model_that_is_not_kept_is_refused_before_it_is_charged(exact, model):
    session = exact.session("ann")
    text = sh.accuracy(model, **ABOUT).canonical
    with pytest.raises(sh.InvalidInput, match="at hand"):
        session.ask(text)
    assert session.budget.spent == 0.0


def test_a_file_that_was_changed_is_no_longer_the_model(exact, model):
    kept = exact.keep_model(model)
    [path] = (exact.path / "models").iterdir()
    path.write_bytes(onnx_of([True, False]))
    with sh.open(exact.path) as again:
        assert again.model_content(kept.model) is None
        assert again.models == ()
    path.write_bytes(b"nonsense")
    with sh.open(exact.path) as again:
        assert again.models == ()


@pytest.mark.parametrize("junk", [b"", b"nonsense", b"\x08\x07" * 100])
def test_only_models_are_kept(exact, junk):
    with pytest.raises(sh.InvalidInput):
        exact.keep_model(junk)
    assert not (exact.path / "models").exists()


@pytest.mark.parametrize(
    "name", ["onnx:" + "0" * 64, "onnx:../../ledger", "", "callable:" + "0" * 64]
)
def test_names_that_lead_nowhere(exact, name):
    assert exact.model_content(name) is None
