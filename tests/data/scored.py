"""Records, models that were trained on some of them, and what these score before noise."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from surehold.data.record_store import RecordStore
from surehold.queries import (
    Schema,
)

COLUMNS = {
    "a": "float",
    "b": "float",
    "n": "int",
    "city": "str",
    "ill": "bool",
    "y": "int",
    "kind": "str",
    "bmi": "float",
}
SCHEMA = Schema.of(COLUMNS)
N = 500
RNG = np.random.default_rng(7)
A, B = RNG.normal(size=N), RNG.normal(size=N)
NOISY = A + 0.5 * B + RNG.normal(size=N)
ILL = NOISY > 0.2
KIND = np.array(["low", "middle", "top"])[np.digitize(NOISY, [-0.7, 0.7])]
CITY = np.array(["Oslo", "Bergen", "Tromsø"])[RNG.integers(0, 3, N)]
BMI = 25 + 3 * NOISY
FRAME = pl.DataFrame(
    {
        "a": A,
        "b": B,
        "n": RNG.integers(0, 90, N),
        "city": CITY,
        "ill": ILL,
        "y": ILL.astype(int),
        "kind": KIND,
        "bmi": BMI,
    }
)
X = np.stack([A, B], axis=1)
TRAIN = slice(0, 200)
AB = {"features": ["a", "b"]}


def growing(frame=FRAME):
    """Data as a session has it, without a ledger."""
    data = RecordStore(SimpleNamespace(folder=Path(), store=None))
    data._engine.extend(frame)
    return data


def found(query, frame=FRAME):
    """What a query comes to on a snapshot, before noise: an array of numbers."""
    form = query.form(SCHEMA)
    [exact] = growing(frame).exact([form.source], frame.height)
    units = [Fraction(number, exact.denominator) for number in exact.numerators]
    values = np.array([form.low + float(unit) * form.span for unit in units])
    return values if form.labels is not None else float(values[0])


CLASSIFIERS = {
    "logistic": (LogisticRegression().fit(X[TRAIN], ILL[TRAIN]), "ill", ILL),
    "forest": (RandomForestClassifier(9, random_state=1).fit(X[TRAIN], ILL[TRAIN]), "ill", ILL),
    "numbers": (LogisticRegression().fit(X[TRAIN], ILL[TRAIN].astype(int)), "y", ILL.astype(int)),
    "texts": (LogisticRegression().fit(X[TRAIN], KIND[TRAIN]), "kind", KIND),
    "forest of texts": (
        RandomForestClassifier(9, random_state=1).fit(X[TRAIN], KIND[TRAIN]),
        "kind",
        KIND,
    ),
    "pipeline": (
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X[TRAIN], KIND[TRAIN]),
        "kind",
        KIND,
    ),
}
BINARY = ["logistic", "forest", "numbers"]


REGRESSORS = {
    "linear": LinearRegression().fit(X[TRAIN], BMI[TRAIN]),
    "forest": RandomForestRegressor(9, random_state=1).fit(X[TRAIN], BMI[TRAIN]),
}
