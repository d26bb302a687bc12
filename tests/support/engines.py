"""Engines for tests, found by introspection, and records to fill them with."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import polars as pl
import pytest

from surehold.data import engines
from surehold.data.engines import Engine, PolarsEngine
from surehold.queries import Schema

for module in pkgutil.iter_modules(engines.__path__):
    importlib.import_module(f"{engines.__name__}.{module.name}")


def concrete(cls):
    is_theirs = cls.__module__.startswith(engines.__name__)  # others only hold made-up records
    found = [] if inspect.isabstract(cls) or not is_theirs else [cls]
    return found + [engine for below in cls.__subclasses__() for engine in concrete(below)]


# How records come into an engine is its own affair; here is how, for each.
FILLED = {}


def fills(cls):
    return lambda function: FILLED.setdefault(cls, function)


@fills(PolarsEngine)
def _polars(parts):
    engine = PolarsEngine()
    for part in parts:
        columns = {name: [row[name] for row in part] for name in DTYPES}
        engine.extend(pl.DataFrame(columns, schema=DTYPES))
    return engine


DTYPES = {"age": pl.Int64(), "bmi": pl.Float64(), "smoker": pl.Boolean(), "city": pl.String()}
SCHEMA = Schema.of({"age": "int", "bmi": "float", "smoker": "bool", "city": "str"})
ROWS = [
    {"age": 70, "bmi": 20.0, "smoker": True, "city": "Oslo"},
    {"age": 20, "bmi": 35.0, "smoker": None, "city": None},
    {"age": None, "bmi": None, "smoker": False, "city": "Rome"},
    {"age": 66, "bmi": 60.5, "smoker": True, "city": "oslo"},
]

every_engine = pytest.mark.parametrize("make", [FILLED[cls] for cls in concrete(Engine)])
