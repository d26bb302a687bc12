"""What may be asked: inert descriptions, and the expression language they are written in."""

from holdfast.queries.measure import GRID_BITS, Measure
from holdfast.queries.schema import ColumnType, Schema
from holdfast.queries.statistical import Query, fraction, mean, query_of

__all__ = [
    "GRID_BITS",
    "ColumnType",
    "Measure",
    "Query",
    "Schema",
    "fraction",
    "mean",
    "query_of",
]
