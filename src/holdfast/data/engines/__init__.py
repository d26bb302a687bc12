"""Engines: each evaluates measures over a range of records, all with the very same integers."""

from holdfast.data.engines.base import Engine
from holdfast.data.engines.polars_engine import PolarsEngine

__all__ = ["Engine", "PolarsEngine"]
