"""Statistics over pairs of records: Polars evaluates the expressions, NumPy counts the pairs."""

from __future__ import annotations

import numpy as np
import polars as pl

from surehold.data import pairs
from surehold.data.engines.polars_records import numbers_of
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
    operands = [numbers_of(operand, rows) for operand in measure.operands]
    known = np.logical_and.reduce([there & ~np.isnan(numbers) for numbers, there in operands])
    values, *others = (numbers for numbers, _ in operands)
    if measure.bounds is not None:
        steps = pairs.on_grid(values, known, *measure.bounds, GRID_BITS)
        spread = pairs.variance if measure.kind == "variance" else pairs.gini
        return spread(steps, GRID_BITS)
    [other] = others
    if measure.kind == "auc_pairs":
        positive, negative = (values[known & (other == truth)] for truth in (1, 0))
        return pairs.auc_pairs(positive, negative, rows.height)
    ordered = pairs.kendall if measure.kind == "kendall" else pairs.concordance
    return ordered(values[known], other[known], rows.height)
