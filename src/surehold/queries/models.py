"""Queries about models: how often one is right, how much it loses, and where it errs.

A model is known by the hash of its bytes. A query that was read back from a ledger knows which
model it was about, and can be priced and replayed, but no longer evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.axes import Axis
from surehold.queries.base import Charged, NumberForm, ScalarQuery, Source
from surehold.queries.checker import check_types
from surehold.queries.expressions import Column, Number, ToNumber, Type
from surehold.queries.measure import GRID_BITS, Contrast
from surehold.queries.schema import ColumnType, Schema
from surehold.queries.writer import name as column_name
from surehold.queries.writer import number
from surehold.queries.writer import text as quoted

if TYPE_CHECKING:
    from surehold.models.payload import ModelPayload

Metric: TypeAlias = Literal[
    "accuracy", "zero_one", "log", "squared", "absolute", "brier", "confusion", "calibration"
]
LOSSES = ("zero_one", "log", "squared", "absolute")
TABLES = ("brier", "confusion", "calibration")
OF_NUMBERS = ("squared", "absolute")

_PLURAL = {
    Type.NUMBER: "numbers",
    Type.TEXT: "texts",
    Type.BOOLEAN: "truth values",
    Type.DATE: "dates",
    Type.TIMESTAMP: "timestamps",
}

NONE = "none"
"""What a model predicts that gives no value."""
ALL = "all"
"""The cell of a Brier score that is over all records."""


@dataclass(frozen=True)
class Model:
    """Which model it is; ``payload`` is the model itself, as long as it is at hand."""

    name: str
    payload: ModelPayload | None = field(compare=False, repr=False)


@dataclass(frozen=True)
class ModelMeasure(Source):
    """What a metric makes of a record, given what the model says about it: whole numbers.

    ``target`` has the classes as its cells, in the model's order; for a regressor it is a number
    from ``bounds`` and has none. ``size`` is how many sums there are, each of numbers from 0 to
    2^bits for a record.
    """

    metric: Metric
    model: Model
    features: Schema
    target: Axis
    bounds: tuple[float, float]
    bins: int
    bits: int
    size: int
    canonical: str


@dataclass(frozen=True, repr=False, eq=False)
class _OfModel(Charged):
    """What all queries about one model have.

    ``bounds`` are those of the loss (0 and the most, for logarithms) or of the target of a
    regressor; ``bins`` those of a calibration.
    """

    metric: Metric
    model: Model
    target: Axis
    features: tuple[str, ...]
    bounds: tuple[float, float]
    bins: int
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        """One text for all spellings; it names the model by its hash."""
        said: list[str] = []
        if self.metric in LOSSES:
            said.append(self.metric)
        if self.metric == "log":
            said.append(number(self.bounds[1]))
        if self.metric in OF_NUMBERS:
            said += map(number, self.bounds)
        if self.metric == "calibration":
            said.append(str(self.bins))
        said += [quoted(self.model.name), self.target.canonical, *map(column_name, self.features)]
        return f"{'loss' if self.metric in LOSSES else self.metric}({', '.join(said)})"

    def measure(self, schema: Schema) -> ModelMeasure:
        for feature in self.features:
            if feature not in schema:
                hint = f"there are {', '.join(schema.names[:8])}"
                raise InvalidQuery(f"there is no column {feature!r}", self.text, hint=hint)
            if schema[feature] in (ColumnType.DATE, ColumnType.TIMESTAMP):
                reason = f"the feature {feature!r} is a {schema[feature].value}"
                hint = "a model takes numbers and texts; append a column with its year, or its days"
                raise InvalidQuery(reason, self.text, hint=hint)
        features = Schema.of({name: schema[name].value for name in self.features})
        self._check_target(features)
        is_exact = self.metric in ("accuracy", "zero_one", "confusion", "calibration")
        target = resolve_target(self.target, schema, self.text)
        return ModelMeasure(
            self.metric,
            self.model,
            features,
            target,
            self.bounds,
            self.bins,
            0 if is_exact else GRID_BITS,
            len(self._labels() or (None,)),
            self.canonical,
        )

    def _check_target(self, features: Schema) -> None:
        payload = self.model.payload
        texts = [name for name, kind in features if kind is ColumnType.STR]
        is_plain = payload is not None and (payload.kind, payload.takes) == ("callable", "numpy")
        if is_plain and texts:
            hint = "say takes='arrow', or leave texts out"
            raise InvalidInput("features", "numbers, for a callable", ", ".join(texts), hint)

    def form(self, schema: Schema) -> NumberForm:
        """A mean over records or, for a table, one in every cell, of which two can move."""
        measure, labels = self.measure(schema), self._labels()
        high = 1.0
        if self.metric in ("log", "absolute"):
            high = self.bounds[1] - self.bounds[0]
        elif self.metric == "squared":
            high = (self.bounds[1] - self.bounds[0]) ** 2
        price = 1 if labels is None else 2
        return NumberForm(
            self.canonical, measure, 0.0, high, high, measure.bits, labels, price=price
        )

    def _labels(self) -> tuple[str, ...] | None:
        """The cells of a table.

        Brier: a record counts for its actual class and for all. With x and x' what two records
        count for, in different classes, the cells move by x, x' and x - x', whose squares add up to
        at most 2; in the same class twice by x - x'. If all three move, x and x' are steps of the
        grid apart and their squares add up to 2 - 2^-31 at most, which allows for the rounding of a
        third cell (:data:`surehold.planning.certified._WIDEST`).
        """
        actual = self.target.labels
        match self.metric:
            case "brier":
                return (*actual, ALL)
            case "confusion":
                predicted = (*actual[:-1], NONE)
                return tuple(f"{was} | {said}" for was in actual for said in predicted)
            case "calibration":
                edges = [number(i / self.bins) for i in range(self.bins + 1)]
                ends = [")"] * (self.bins - 1) + ["]"]
                bins = [f"[{edges[i]}, {edges[i + 1]}{ends[i]}" for i in range(self.bins)]
                return tuple(f"{said} | {was}" for said in bins for was in actual)
            case _:
                return None


@dataclass(frozen=True, repr=False, eq=False)
class ModelScore(_OfModel, ScalarQuery):
    """One number about a model."""


@dataclass(frozen=True, repr=False, eq=False)
class ModelTable(_OfModel):
    """A number for every cell."""


@dataclass(frozen=True, repr=False, eq=False)
class Improvement(ScalarQuery):
    """How much better one model is than another, in one answer."""

    new: ModelScore
    old: ModelScore
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        return f"improvement({self.new.canonical}, {self.old.canonical})"

    def form(self, schema: Schema) -> NumberForm:
        """A mean over records of a difference: of accuracies, or of losses the other way round."""
        new, old = self.new.form(schema), self.old.form(schema)
        better, worse = (new, old) if self.new.metric == "accuracy" else (old, new)
        source = Contrast(better.source, worse.source, new.bits, self.canonical)
        return NumberForm(self.canonical, source, -new.high, new.high, 2.0 * new.high, new.bits)

    def __repr__(self) -> str:
        return f"improvement({self.new!r}, {self.old!r})"


@dataclass(frozen=True)
class Discordance(Source):
    """On how many records exactly one of two accuracies counts: only the first, only the second."""

    bits: ClassVar[int] = 0
    plus: ModelMeasure
    minus: ModelMeasure
    canonical: str


def resolve_target(axis: Axis, schema: Schema, text: str) -> Axis:
    """The target with its columns looked up; 0 and 1 stand for false and true, and the reverse."""
    if not axis.values:
        return replace(axis, operand=check_types(axis.operand, schema, text, Type.NUMBER))
    operand = check_types(axis.operand, schema, text, None)
    kind = axis.values[0].type
    if operand.type is Type.BOOLEAN and kind is Type.NUMBER:
        return Axis(check_types(ToNumber(axis.operand), schema, text, Type.NUMBER), axis.values)
    if isinstance(operand, Column) and operand.holds is ColumnType.FLOAT and kind is Type.BOOLEAN:
        reason = "the target is a measured number, but the model predicts true or false"
        hint = "for a regressor ask loss(..., kind='squared', low=..., high=...)"
        raise InvalidQuery(reason, text, hint=hint)
    if operand.type is Type.NUMBER and kind is Type.BOOLEAN:
        values = tuple(Number(float(value.value)) for value in axis.values)
        return Axis(operand, values)
    if operand.type is not kind:
        held, known = _PLURAL[operand.type], _PLURAL[kind]
        reason = f"the target holds {held}, and the model's classes are {known}"
        raise InvalidQuery(reason, text, hint="predict what the column holds, or write a condition")
    return axis.resolve(schema, text)
