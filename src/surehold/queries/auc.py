"""AUC: how often a score ranks a positive record above a negative one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from surehold.errors import InvalidInput
from surehold.queries.axes import Axis, read_axis
from surehold.queries.base import Charged, NumberForm, Query, ScalarQuery, Source
from surehold.queries.cells import CellMeasure
from surehold.queries.derived import (
    UNDETERMINED,
    DerivedNumber,
    Reading,
    between,
    check_parts,
    check_readable,
    down,
    up,
)
from surehold.queries.expressions import Expression, IsNull, Not
from surehold.queries.model_queries import accuracy
from surehold.queries.models import ModelMeasure, ModelScore, resolve_target
from surehold.queries.normal_form import canonical
from surehold.queries.pairs import PairStatistic
from surehold.queries.parser import Parser, join
from surehold.queries.schema import Schema
from surehold.queries.statistical import Statistical, build, check_length
from surehold.queries.writer import write


class _Area(DerivedNumber):
    """An area under a ROC curve, from the pairs in the right order, positives and negatives."""

    low, high = 0.0, 1.0

    def estimate(self, parts: Sequence[Reading]) -> Reading:
        """The quotient; undetermined when there may be no positives, or no negatives."""
        return divide_pairs(*parts)


@dataclass(frozen=True, repr=False, eq=False)
class Auc(_Area):
    """The area under the ROC curve, from three answers.

    P(score+ > score-, one positive and one negative), half the ties included, over the
    probabilities of positives and of negatives; records without a score are neither.
    """

    score: Expression
    target: Expression
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        return f"auc({canonical(self.score)}, {canonical(self.target)})"

    @cached_property
    def parts(self) -> tuple[Query, ...]:
        """The pairs in the right order, the positives and the negatives."""
        text, there = self.text, Not(IsNull(self.score))
        positive = join("and", self.target, there)
        negative = join("and", Not(self.target), there)
        return (
            check_readable(PairStatistic("auc_pairs", (self.score, self.target), None, text), text),
            check_readable(Statistical("fraction", positive, 0.0, 1.0, text), text),
            check_readable(Statistical("fraction", negative, 0.0, 1.0, text), text),
        )

    def __repr__(self) -> str:
        return f"auc({write(self.score)!r}, target={write(self.target)!r})"


def divide_pairs(pairs: Reading, positive: Reading, negative: Reading) -> Reading:
    """``pairs / (positive negative)``, on [0, 1], where a share and its rest multiply to 1/4."""
    if pairs.interval is None or positive.interval is None or negative.interval is None:
        return UNDETERMINED
    fewest = down(positive.interval[0] * negative.interval[0])
    most = min(up(positive.interval[1] * negative.interval[1]), 0.25)
    if fewest <= 0.0:
        return UNDETERMINED
    bottom = max(down(max(pairs.interval[0], 0.0) / most), 0.0)
    top = min(up(pairs.interval[1] / fewest), 1.0)
    value = None
    if pairs.value is not None and positive.value and negative.value:
        value = pairs.value / (positive.value * negative.value)
    return between(bottom, top, value)


@dataclass(frozen=True)
class ModelPairs(Source):
    """As ``auc_pairs``, with the score that a model gives; see :class:`ModelMeasure`."""

    measure: ModelMeasure
    canonical: str


@dataclass(frozen=True, repr=False, eq=False)
class ModelRanking(ScalarQuery):
    """P(score+ > score-, one positive and one negative), the score being a model's."""

    score: ModelScore
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        return f"model_pairs({self.score.canonical})"

    def form(self, schema: Schema) -> NumberForm:
        """One number from 0 to 1/2, which one of t records moves by at most 1/t."""
        source = ModelPairs(self.score.measure(schema), self.canonical)
        return NumberForm(self.canonical, source, 0.0, 0.5, 1.0, 0, needs="low-sensitivity")


@dataclass(frozen=True, repr=False, eq=False)
class Classes(Charged):
    """The share of each class of a model's target."""

    target: Axis
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        return f"classes({self.target.canonical})"

    def form(self, schema: Schema) -> NumberForm:
        axis = resolve_target(self.target, schema, self.text)
        source = CellMeasure((axis,), None, self.canonical)
        labels = self.target.labels
        return NumberForm(self.canonical, source, 0.0, 1.0, 1.0, 0, labels, price=2)


@dataclass(frozen=True, repr=False, eq=False)
class ModelAuc(_Area):
    """The area under the ROC curve of a model of two classes, the second being positive."""

    score: ModelScore
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        return f"model_auc({self.score.canonical})"

    @cached_property
    def parts(self) -> tuple[Query, ...]:
        """The pairs in the right order, and the shares of the classes."""
        shares = Classes(self.score.target, self.text)
        return (check_length(ModelRanking(self.score, self.text)), shares)

    def derive(self, parts: Sequence[Sequence[Reading]]) -> Mapping[str, Any]:
        """The shares are a table: negatives, positives and others."""
        [pairs], [negative, positive, _] = parts
        return super().derive([[pairs], [positive], [negative]])


def auc(
    score: object,
    target: str,
    *,
    features: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    takes: str = "numpy",
) -> Auc | ModelAuc:
    """The probability that a positive record has a higher score than a negative one.

    The score is an expression or, with ``features``, a model's probability of its second class.

    >>> auc("score", target="churned")
    auc('score', target='churned')
    """
    if features is None:
        if not isinstance(score, str):
            required = "an expression, or a model given with its features"
            raise InvalidInput("the score", required, type(score).__name__)
        return build(read_auc, "auc", (score, target))
    of = accuracy(score, features=features, target=target, classes=classes, takes=takes)
    return _model_auc(of, of.text)


def _model_auc(score: ModelScore, text: str) -> ModelAuc:
    if len(score.target.values) != 2:
        raise InvalidInput("the model", "of two classes", f"{len(score.target.values)} of them")
    return check_parts(check_length(ModelAuc(score, text)))


def read_auc(parser: Parser, name: str) -> Auc:
    """What follows ``auc(``: a score and a condition."""
    score = parser.expression()
    if not parser.accept(","):
        parser.refuse("an AUC needs a score and a condition", "for instance auc(score, churned)")
    return check_parts(Auc(score, parser.expression(), parser.text))


def read_model_auc(parser: Parser, name: str, read: Callable[[Parser], Query]) -> Query:
    """What follows ``model_auc(`` or ``model_pairs(``, as a ledger has it."""
    score = read(parser)
    if not isinstance(score, ModelScore) or score.metric != "accuracy":
        parser.refuse("the model of an AUC must be given as its accuracy")
    if len(score.target.values) != 2:
        parser.refuse("the model of an AUC must have two classes")
    if name == "model_pairs":
        return ModelRanking(score, parser.text)
    return _model_auc(score, parser.text)


def read_classes(parser: Parser, name: str) -> Classes:
    """What follows ``classes(``: the target with its classes."""
    target = read_axis(parser)
    if not target.values:
        parser.refuse("classes must be listed", "for instance classes(ill in (false, true))")
    return Classes(target, parser.text)
