"""An engine for tests, and records to fill it with."""

from __future__ import annotations

import polars as pl

from surehold.data.engines import PolarsEngine
from surehold.queries import Schema

DTYPES = {"age": pl.Int64(), "bmi": pl.Float64(), "smoker": pl.Boolean(), "city": pl.String()}
SCHEMA = Schema.of({"age": "int", "bmi": "float", "smoker": "bool", "city": "str"})
ROWS = [
    {"age": 70, "bmi": 20.0, "smoker": True, "city": "Oslo"},
    {"age": 20, "bmi": 35.0, "smoker": None, "city": None},
    {"age": None, "bmi": None, "smoker": False, "city": "Rome"},
    {"age": 66, "bmi": 60.5, "smoker": True, "city": "oslo"},
]


def filled(parts):
    engine = PolarsEngine()
    for part in parts:
        columns = {name: [row[name] for row in part] for name in DTYPES}
        engine.extend(pl.DataFrame(columns, schema=DTYPES))
    return engine
