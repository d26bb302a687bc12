"""Integers and numbers of single records of a block, as NumPy arrays."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.engines.polars_cells import Floats, weights_of
from surehold.data.engines.polars_printer import PolarsPrinter
from surehold.queries import Measure
from surehold.queries.expressions import Expression


def steps_of(measure: Measure, block: pl.DataFrame) -> Floats:
    """Return the integer that a measure gives each record of a block."""
    if measure.bits:
        return np.broadcast_to(weights_of(measure, block), block.height)
    values, known = numbers_of(measure.expression, block)
    return values * known


def numbers_of(expression: Expression, block: pl.DataFrame) -> tuple[Floats, NDArray[np.bool_]]:
    """Return each record's number, or truth as 0 or 1, and where it is not null."""
    added = block.with_columns(PolarsPrinter().print_node(expression).cast(pl.Float64).alias(""))
    column = added.get_column("")
    return column.fill_null(0.0).to_numpy(), column.is_not_null().to_numpy()
