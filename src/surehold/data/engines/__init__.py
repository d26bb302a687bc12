"""Engines: each evaluates measures over a range of records, all with the same integers."""

from surehold.data.engines.base import Engine
from surehold.data.engines.polars_engine import PolarsEngine

__all__ = ["Engine", "PolarsEngine"]
