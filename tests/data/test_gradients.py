"""Gradients in whole numbers: against NumPy's, no longer than 1, exact whatever records hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from surehold.data import gradients as module
from surehold.data.gradients import BITS, Gradients
from surehold.queries import Schema, fit

SCHEMA = Schema.of({"x": "float", "n": "int", "ill": "bool"})
STORED = {"x": pl.Float64, "n": pl.Int64, "ill": pl.Boolean}
FEATURES = {"x": (-2, 5), "n": (0, 100), "x * n": (-1e3, 1e3)}
FORMS = {
    "logistic": fit("logistic", target="ill", features=FEATURES, price=9).form(SCHEMA),
    "linear": fit("linear", target="n - x", low=-9, high=90, features=FEATURES, price=9).form(
        SCHEMA
    ),
}
N = 400
RNG = np.random.default_rng(3)
FRAME = pl.DataFrame(
    {"x": RNG.normal(size=N), "n": RNG.integers(-10, 120, N), "ill": RNG.random(N) < 0.4},
    schema=STORED,
)


def scaled(values, low, high):
    return 2 * (np.clip(values, low, high) - low) / (high - low) - 1


def matrix(frame):
    """Features on [-1, 1] with a one before them; a null is low."""
    x = frame["x"].fill_null(-np.inf).to_numpy()
    n = frame["n"].cast(pl.Float64).fill_null(-np.inf).to_numpy()
    both = frame.select((pl.col("x") * pl.col("n")).fill_null(-np.inf)).to_series().to_numpy()
    columns = [x, n, both]
    listed = [scaled(c, *bounds) for c, bounds in zip(columns, FEATURES.values(), strict=True)]
    return np.column_stack([np.ones(frame.height), *listed])


def target(kind, frame):
    if kind == "logistic":
        return frame["ill"].fill_null(False).to_numpy().astype(float)
    return scaled((frame["n"] - frame["x"]).to_numpy(), -9, 90)


def expected(kind, frame, at):
    """The mean gradient over clip, cut record by record."""
    z, clip = matrix(frame), np.sqrt(1 + len(FEATURES))
    said = z @ at
    residual = (expit(said) if kind == "logistic" else said) - target(kind, frame)
    vectors = residual[:, None] * z / clip
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1.0)
    return (vectors / lengths[:, None]).mean(axis=0)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("at", [[0, 0, 0, 0], [0.3, -2, 1, 0.5], [9, 9, -9, 9], [1e6, 0, 0, -1e5]])
def test_as_numpy_has_it(kind, at):
    totals, divisor = Gradients(FORMS[kind], FRAME).total(at)
    assert divisor == N << BITS
    assert all(type(total) is int for total in totals)
    found = [total / divisor for total in totals]
    # Features are kept in single precision, and coefficients multiply what that rounds.
    slack = 1e-6 * (1 + np.abs(at).max())
    np.testing.assert_allclose(found, expected(kind, FRAME, np.array(at)), atol=slack)


@pytest.mark.parametrize("kind", FORMS)
def test_as_the_slope_of_the_loss(kind):
    """By differences, where nothing is cut: the loss is what is minimised."""
    at, step = np.array([0.1, -0.4, 0.3, 0.2]), 1e-5
    z, y = matrix(FRAME), target(kind, FRAME)

    def mean_loss(at):
        said = z @ at
        if kind == "linear":
            return (0.5 * (said - y) ** 2).mean()
        return (np.logaddexp(0, said) - y * said).mean()

    slopes = [
        (mean_loss(at + step * unit) - mean_loss(at - step * unit)) / (2 * step)
        for unit in np.eye(4)
    ]
    form = FORMS[kind]
    totals, divisor = Gradients(form, FRAME).total(at)
    np.testing.assert_allclose([form.clip * total / divisor for total in totals], slopes, atol=2e-6)


def test_moments():
    totals, divisor = Gradients(FORMS["linear"], FRAME).moments()
    z = matrix(FRAME)
    found = np.zeros((4, 4))
    found[np.triu_indices(4)] = [total / divisor for total in totals]
    np.testing.assert_allclose(found, np.triu(z.T @ z / N / 4), atol=1e-4)
    assert found[0, 0] == 0.25  # of the intercept, exactly


def one_by_one(form, frame, at):
    """The sum of what the records give by themselves."""
    parts = [Gradients(form, frame.slice(i, 1)) for i in range(frame.height)]
    totals = [sum(each) for each in zip(*(part.total(at)[0] for part in parts), strict=True)]
    moments = [sum(each) for each in zip(*(part.moments()[0] for part in parts), strict=True)]
    return totals, moments


@pytest.mark.parametrize("kind", FORMS)
def test_sums_are_exact_however_records_are_cut_into_blocks(kind, monkeypatch):
    form, frame, at = FORMS[kind], FRAME.head(60), [0.3, -2.0, 1.0, 0.5]
    totals, moments = one_by_one(form, frame, at)
    for block in (1, 7, 64, 1 << 16):
        monkeypatch.setattr(module, "_BLOCK", block)
        found = Gradients(form, frame)
        assert found.total(at) == (totals, 60 << BITS)
        assert found.moments()[0] == moments
    shuffled = Gradients(form, frame.sample(60, shuffle=True, seed=1))
    assert (shuffled.total(at)[0], shuffled.moments()[0]) == (totals, moments)


values = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1e308, -1e308, 5e-324, -2.0]))
whole = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
rows = st.lists(st.tuples(values, whole, st.one_of(st.none(), st.booleans())), max_size=5)
numbers = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([1e300, -1e300, 1e12, 0.0]))


@pytest.mark.parametrize("kind", FORMS)
@settings(max_examples=60)
@given(rows, st.lists(numbers, min_size=4, max_size=4))
def test_whatever_records_hold_no_vector_is_longer_than_1(kind, rows, at):
    frame = pl.DataFrame(rows, schema=STORED, orient="row")
    for i in range(frame.height):
        record = Gradients(FORMS[kind], frame.slice(i, 1))
        for totals, divisor in (record.total(at), record.moments()):
            assert Fraction(sum(total * total for total in totals), divisor**2) <= 1
    whole = Gradients(FORMS[kind], frame)
    assert whole.total(at)[1] == frame.height << BITS
    if frame.height:
        assert all(abs(total) <= frame.height << BITS for total in whole.total(at)[0])


def test_long_blocks_of_extremes_do_not_overflow():
    """As many records as are added at once, each at its longest, all in one direction."""
    size = 3 << 16
    frame = pl.DataFrame({"x": [1e308], "n": [2**63 - 1], "ill": [False]}, schema=STORED).select(
        pl.all().repeat_by(size).explode()
    )
    for kind, form in FORMS.items():
        found = Gradients(form, frame)
        one = Gradients(form, frame.head(1))
        at = [1e9] * 4
        totals, divisor = found.total(at)
        assert totals == [size * total for total in one.total(at)[0]]
        assert divisor == size << BITS
        longest = sum(total * total for total in one.total(at)[0]) / 4.0**BITS
        assert longest == pytest.approx(1.0, abs=1e-6), kind
        assert found.moments()[0] == [size * total for total in one.moments()[0]]


def test_a_null_is_low_and_no_record_is_nothing():
    empty = pl.DataFrame({"x": [None], "n": [None], "ill": [None]}, schema=STORED)
    low = pl.DataFrame({"x": [-2.0], "n": [0], "ill": [False]}, schema=STORED)
    features = {"x": (-2, 5), "n": (0, 100)}
    form = fit("logistic", target="ill", features=features, price=9).form(SCHEMA)
    at = [0.5, 1.0, -2.0]
    assert Gradients(form, empty).total(at) == Gradients(form, low).total(at)
    assert Gradients(form, empty.clear()).total(at) == ([0, 0, 0], 0)
    assert Gradients(form, empty.clear()).moments() == ([0] * 6, 0)
    # Coefficients that are no numbers pull nowhere.
    totals, _ = Gradients(form, low).total([np.nan] * 3)
    assert totals == [0, 0, 0]


def test_a_constant_feature_and_a_constant_target():
    form = fit("logistic", target="1 > 0", features={"2 + 1": (0, 4)}, price=9).form(SCHEMA)
    totals, divisor = Gradients(form, FRAME).total([0.0, 0.0])
    np.testing.assert_allclose([t / divisor for t in totals], np.array([-0.5, -0.25]) / np.sqrt(2))
