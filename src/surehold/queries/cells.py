"""Histograms, crosstabs and totals by group: one number for each of some declared cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import product
from typing import Any

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.axes import BETWEEN_AXES, MOST_CELLS, Axis, axis_of, read_axis, refuse_many
from surehold.queries.base import Charged, NumberForm, Source
from surehold.queries.cost import cost, refuse_costly
from surehold.queries.lexer import LONGEST_QUERY
from surehold.queries.measure import Measure
from surehold.queries.parser import Parser, parse
from surehold.queries.schema import Schema
from surehold.queries.statistical import (
    Statistical,
    check_bounds,
    check_length,
    check_literal,
    read_bounds,
)
from surehold.queries.times import microseconds_of, read_time, write_time
from surehold.queries.writer import number
from surehold.queries.writer import text as quoted

MOST_AXES = 4
"""Axes of a crosstab."""

_SORTING, _WEIGHING = 30, 20


@dataclass(frozen=True)
class CellMeasure(Source):
    """Checked axes with the integers that each record gives: one in its cell, 0 in all others.

    The one is 1 or, for totals, that of the ``weight``, from 0 to 2^bits. Cells are numbered in C
    order over the axes, the last axis fastest, and "other" is the last of each.
    """

    axes: tuple[Axis, ...]
    weight: Measure | None
    canonical: str

    @property
    def bits(self) -> int:
        """Those of the grid on which a record's value lies, 0 if it is counted."""
        return 0 if self.weight is None else self.weight.bits

    @property
    def cells(self) -> int:
        return math.prod(axis.size for axis in self.axes)

    @property
    def cost(self) -> int:
        """Units of work for each record: those of its axes, each sorted into cells, and weight."""
        sorting = sum(_SORTING + cost(axis.numbered.operand) for axis in self.axes)
        return sorting + (0 if self.weight is None else _WEIGHING + self.weight.cost)

    @property
    def columns(self) -> frozenset[str]:
        read = [axis.operand.columns for axis in self.axes]
        return frozenset().union(*read, self.weight.expression.columns if self.weight else ())


@dataclass(frozen=True, repr=False, eq=False)
class Histogram(Charged):
    """For each cell the fraction of records in it or, with a ``weight``, a mean over all records.

    With a weight, a mean's expression from ``low`` to ``high``, the number of a cell is the mean
    of clip(x, low, high) - low where the record is in the cell and of 0 where it is not.

    >>> histogram("country in ('NO', 'SE')", "age > 65").canonical
    "histogram(country in ('NO', 'SE'), age > 65)"
    """

    axes: tuple[Axis, ...]
    weight: Statistical | None
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        axes = ", ".join(axis.canonical for axis in self.axes)
        if self.weight is None:
            return f"histogram({axes})"
        value, low, high = self._weighed(self.weight)
        return f"totals({value}, {low}, {high}, {axes})"

    def measure(self, schema: Schema) -> CellMeasure:
        """What it makes of a record with these columns.

        >>> histogram("city").measure(Schema.of({"city": "str"}))
        Traceback (most recent call last):
        ...
        surehold.errors.InvalidQuery: invalid query: the cells of city are not declared at ...
        """
        axes = tuple(axis.resolve(schema, self.text) for axis in self.axes)
        weight = None if self.weight is None else self.weight.measure(schema)
        measure = CellMeasure(axes, weight, self.canonical)
        if measure.cells > MOST_CELLS:
            refuse_many(measure.cells, self.text)
        refuse_costly(measure.cost, self.text)
        return measure

    def form(self, schema: Schema) -> NumberForm:
        """A number for each cell; two of them move when a record is replaced.

        The record leaves one cell, which takes at most 1/t from it, and another comes into one,
        which adds at most 1/t: the squared distance is at most 2/t^2.
        """
        measure = self.measure(schema)
        span = 1.0 if self.weight is None else self.weight.high - self.weight.low
        labels = tuple(map(BETWEEN_AXES.join, product(*(axis.labels for axis in measure.axes))))
        return NumberForm(self.canonical, measure, 0.0, span, span, measure.bits, labels, price=2)

    def __repr__(self) -> str:
        axes = [axis.canonical for axis in self.axes]
        if self.weight is None:
            return f"histogram({', '.join(map(repr, axes))})"
        value, low, high = self._weighed(self.weight)
        by = repr(axes[0]) if len(axes) == 1 else repr(axes)
        return f"totals({value!r}, low={low}, high={high}, by={by})"

    @staticmethod
    def _weighed(weight: Statistical) -> tuple[str, str, str]:
        return weight.inner, number(weight.low), number(weight.high)


def histogram(
    *by: str, cells: Iterable[Any] | None = None, bins: Iterable[float] | None = None
) -> Histogram:
    """The fraction of records in each cell; of several axes, in each combination of theirs.

    An axis is an expression with its cells: ``country in ('NO', 'SE')`` or ``bins(age, 0, 18,
    65)``; those of a boolean, or of a column with declared categories, need no cells. For a single
    axis they can be given as ``cells`` or ``bins`` instead. What is in no cell is in "other".

    >>> histogram("country", cells=["NO", "SE"])
    histogram("country in ('NO', 'SE')")
    >>> histogram("bins(age, 0, 18, 65)", "smoker").canonical
    'histogram(bins(age, 0, 18, 65), smoker)'
    """
    return _build("histogram", _texts(by, cells, bins))


def totals(
    text: str,
    low: float,
    high: float,
    by: str | Sequence[str],
    cells: Iterable[Any] | None = None,
    bins: Iterable[float] | None = None,
) -> Histogram:
    """For each cell, the mean over all records of what a number has above ``low`` in that cell.

    The number is cut off at the bounds, as in a mean; a record outside of the cell counts 0. With
    ``low=0`` these are the totals of the cells, each divided by the number of all records.

    >>> totals("spend", low=0, high=100, by="country in ('NO', 'SE')")
    totals('spend', low=0, high=100, by="country in ('NO', 'SE')")
    """
    parse(text)
    bounds = map(number, check_bounds(low, high))
    if not isinstance(by, Sequence):
        raise InvalidInput("by", "an expression, or several", by)
    axes = (by,) if isinstance(by, str) else tuple(by)
    return _build("totals", [text, *bounds, *_texts(axes, cells, bins)])


def read_cells(parser: Parser, name: str) -> Histogram:
    """What follows the name ``histogram`` or ``totals``, up to the closing bracket."""
    example = f"for instance {_EXAMPLES[name]}"
    weight: Statistical | None = None
    axes: list[Axis] = []
    if name == "totals":
        value = parser.expression()
        bounds = read_bounds(parser, _EXAMPLES[name])
        weight = Statistical("mean", value, *bounds, parser.text)
    if parser.at(")"):
        parser.refuse(f"{name}(...) needs something to sort records by", example)
    if weight is not None:
        parser.expect(",")
    while not axes or parser.accept(","):
        if len(axes) == MOST_AXES:
            parser.refuse(f"{MOST_AXES} axes are the most")
        axes.append(read_axis(parser))
    query = Histogram(tuple(axes), weight, parser.text)
    known = math.prod(axis.size for axis in axes if axis.is_declared)
    if known > MOST_CELLS:
        refuse_many(known, parser.text)
    return query


_EXAMPLES = {
    "histogram": "histogram(country in ('NO', 'SE'))",
    "totals": "totals(spend, 0, 100, country in ('NO', 'SE'))",
}


def _build(name: str, parts: Sequence[str]) -> Histogram:
    """The query of parts that can each be read by themselves."""
    text = f"{name}({', '.join(parts)})"
    if len(text) > LONGEST_QUERY:
        reason = f"it is longer than {LONGEST_QUERY:,} characters ({len(text):,})"
        hint = "declare the column's categories when the dataset is created, or write bins in steps"
        raise InvalidQuery(reason, text, hint=f"{hint}: bins(x, 0 to 1000 by 1)")
    return check_length(Parser(text).brackets(read_cells))


def _texts(by: Sequence[object], cells: object, bins: object) -> list[str]:
    """Each axis as it is written, with what was given for it beside."""
    if not by:
        raise InvalidInput("what to sort records by", "an expression or more", "nothing")
    texts = []
    for text in by:
        if not isinstance(text, str):
            raise InvalidInput("what to sort records by", "text", text)
        axis_of(text)
        texts.append(text)
    if cells is None and bins is None:
        return texts
    if len(texts) > 1 or axis_of(texts[0]).is_declared or (cells is not None and bins is not None):
        required = "given once, for one axis; write those of several as in country in ('NO', 'SE')"
        raise InvalidInput("cells or bins", required, ", ".join(texts))
    if bins is not None:
        return [f"bins({texts[0]}, {_write_list('bins', bins, _edge)})"]
    return [f"({texts[0]}) in ({_write_list('cells', cells, _cell)})"]


def _write_list(name: str, given: object, shown: Callable[[str, object], str]) -> str:
    """A list as it is written; sets have no order, and cells do."""
    if isinstance(given, str | bytes | Set) or not isinstance(given, Iterable):
        raise InvalidInput(name, "a list", given)
    found = [shown(name, value) for value in given]
    if not found:
        raise InvalidInput(name, "a list that is not empty", found)
    return ", ".join(found)


def _cell(name: str, given: object) -> str:
    if isinstance(given, bool):
        return "true" if given else "false"
    return _edge(name, given)


def _edge(name: str, given: object) -> str:
    if isinstance(given, date):
        return quoted(write_time(microseconds_of(given)))
    if isinstance(given, str) and (name == "cells" or read_time(given) is not None):
        return quoted(given)
    listed = "numbers or dates"
    if name == "cells":
        listed = "a list of texts, of truth values, of dates or of numbers"
    return number(check_literal(name, given, listed))
