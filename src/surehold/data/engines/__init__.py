"""The engine: evaluates measures over a range of records, in exact integers."""

from surehold.data.engines.polars_engine import PolarsEngine

__all__ = ["PolarsEngine"]
