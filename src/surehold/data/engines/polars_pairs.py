"""Statistics over pairs of records: Polars evaluates the expressions, NumPy counts the pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data import pairs
from surehold.data.engines.polars_printer import PolarsPrinter
from surehold.queries import GRID_BITS
from surehold.queries.pairs import PairMeasure


def pair_unit(measure: PairMeasure, rows: pl.DataFrame) -> pairs.Ratio:
    """Return the unit of the statistic over these records; see :mod:`surehold.data.pairs`.

    >>> from surehold.queries import Schema, query_of
    >>> rows = pl.DataFrame({"bmi": [20.0, None, 30.0, 40.0]})
    >>> source = query_of("variance(bmi, 20, 40)").form(Schema.of({"bmi": "float"})).source
    >>> top, bottom = pair_unit(source, rows)  # of 20, 20, 30 and 40, over 400
    >>> round(400 * top / bottom, 6)
    91.666667
    """
    size = rows.height
    (values, known), *others = _operands(measure, rows)
    if measure.bounds is not None:
        steps = pairs.on_grid(values, known, *measure.bounds, GRID_BITS)
        spread = pairs.variance if measure.kind == "variance" else pairs.gini
        return spread(steps, GRID_BITS)
    [(other, also_known)] = others
    known = known & also_known
    if measure.kind == "auc_pairs":
        return pairs.auc_pairs(values[known & other], values[known & ~other], size)
    ordered = pairs.kendall if measure.kind == "kendall" else pairs.concordance
    return ordered(values[known], other[known], size)


def _operands(
    measure: PairMeasure, rows: pl.DataFrame
) -> list[tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Return each operand's values, 0 or false where null, and where it is not null."""
    printer = PolarsPrinter()
    printed = [printer.print_node(operand) for operand in measure.operands]
    names = [str(i) for i in range(len(printed))]
    # Added to the records, so that what reads no column is repeated for each of them.
    added = rows.with_columns([e.alias(name) for name, e in zip(names, printed, strict=True)])
    return [_parts(added[name]) for name in names]


def _parts(column: pl.Series) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    empty = False if column.dtype == pl.Boolean else 0.0
    values = column.fill_null(empty).to_numpy()
    return values, column.is_not_null().to_numpy() & (values == values)
