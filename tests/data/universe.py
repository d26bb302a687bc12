"""A few records that are all there are, and models that do wrong on some of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from surehold.queries import Schema

COLUMNS = {"x": "float", "n": "int", "ill": "bool", "city": "str in ('Oslo', 'Rome')"}
SCHEMA = Schema.of(COLUMNS)
STORED = {"x": pl.Float64, "n": pl.Int64, "ill": pl.Boolean, "city": pl.String}
UNIVERSE = [
    {"x": 0.0, "n": 0, "ill": False, "city": "Oslo"},
    {"x": 1e308, "n": -(2**63), "ill": True, "city": "Rome"},
    {"x": -1e308, "n": 2**63 - 1, "ill": True, "city": "Oslo"},
    {"x": None, "n": None, "ill": None, "city": None},
    {"x": 1.0, "n": 1, "ill": True, "city": "elsewhere"},
    # On these the models raise, say nothing that is a number, and name a class that there is not.
    {"x": 70.0, "n": 1, "ill": False, "city": "Rome"},
    {"x": 71.0, "n": 0, "ill": True, "city": "Rome"},
    {"x": 72.0, "n": 2, "ill": False, "city": "Oslo"},
]
RAISES, NOT_A_NUMBER, WRONG = 70.0, 71.0, 72.0


def _models():
    """They are made in here, so that they go to their processes by value."""

    def score(block):
        at = block[:, 0]
        if (at == 70.0).any():
            raise ValueError(f"I will not say anything of {at.max()}")
        return np.where(at == 71.0, np.nan, np.where(at == 72.0, np.inf, at / 2.0))

    class Stub:
        """As little of an estimator as there can be."""

        def __init__(self, classes, is_contrary=False):
            self.is_contrary = is_contrary
            if classes is not None:
                self.classes_ = np.array(classes)
            self.fitted_ = True

        def get_params(self, deep=True):
            return {}

        def _checked(self, block):
            at = np.nan_to_num(block[:, 0].astype(float))
            if (at == 70.0).any():
                raise ValueError("no")
            return 1.0 - at if self.is_contrary else at

        def predict(self, block):
            at = self._checked(block)
            if not hasattr(self, "classes_"):
                return np.where(block[:, 0] == 71.0, np.nan, at)
            said = self.classes_[(at > 0.5).astype(int)].astype(object)
            said[block[:, 0] == 72.0] = "nobody"
            return said

        def predict_proba(self, block):
            at = self._checked(block)
            high = np.clip(at, 0.0, 1.0)
            high[block[:, 0] == 71.0] = np.nan
            high[block[:, 0] == 72.0] = 7.0  # not a probability
            others = [np.zeros(len(at))] * (len(self.classes_) - 2)
            return np.stack([1.0 - high, high, *others], axis=1)

    return (
        score,
        Stub([False, True]),
        Stub([False, True], is_contrary=True),
        Stub(["Oslo", "Rome", "Paris"]),
        Stub(None),
    )


CALLABLE, BINARY, OTHER, THREE, REGRESSOR = _models()
OF_ILL = {"features": ["x"], "target": "ill"}
OF_CITY = {"features": ["x", "n"], "target": "city"}
OF_X = {"features": ["n", "x"], "target": "-x", "low": -1.0, "high": 1.0}


def frame_of(records):
    columns = {name: [record[name] for record in records] for name in STORED}
    return pl.DataFrame(columns, schema=STORED)
