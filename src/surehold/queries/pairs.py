"""Statistics of all pairs of records: variance, mean difference, concordance, and what AUC needs.

They are no means over records, but moved little by each: a mean over the pairs of t records of a
number from 0 to h moves by at most 2 h / t when one record is replaced, for only the t - 1 pairs
with that record change, each by at most h, and there are t (t - 1) / 2. (statistics.md)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast

from surehold.queries.base import NumberForm, ScalarQuery, Source
from surehold.queries.checker import check_types
from surehold.queries.expressions import Expression, Type
from surehold.queries.measure import GRID_BITS
from surehold.queries.normal_form import canonical
from surehold.queries.parser import Parser
from surehold.queries.schema import Schema
from surehold.queries.statistical import build, check_bounds, read_bounds
from surehold.queries.writer import number, write

PairKind = Literal["variance", "gini", "kendall", "concordance", "auc_pairs"]

_OPERANDS: dict[str, tuple[Type, ...]] = {
    "variance": (Type.NUMBER,),
    "gini": (Type.NUMBER,),
    "kendall": (Type.NUMBER, Type.NUMBER),
    "concordance": (Type.NUMBER, Type.NUMBER),
    "auc_pairs": (Type.NUMBER, Type.BOOLEAN),
}
_EXAMPLES = {
    "variance": "variance(bmi, 10, 60)",
    "gini": "gini(income, 0, 100000)",
    "kendall": "kendall(age, bmi)",
    "concordance": "concordance(age, bmi)",
    "auc_pairs": "auc_pairs(score, ill)",
}


@dataclass(frozen=True)
class PairMeasure(Source):
    """A number from 0 to 1/2 for a snapshot, as numerator and denominator.

    ``operands`` are checked expressions. Where there are ``bounds`` the one operand is cut off
    there and put on a mean's grid of 2^GRID_BITS steps.
    """

    kind: PairKind
    operands: tuple[Expression, ...]
    bounds: tuple[float, float] | None
    canonical: str

    @property
    def columns(self) -> frozenset[str]:
        return frozenset[str]().union(*(operand.columns for operand in self.operands))


@dataclass(frozen=True, repr=False, eq=False)
class PairStatistic(ScalarQuery):
    """A mean over all pairs of records, of a function of the two.

    >>> from surehold.queries import query_of
    >>> query = kendall("age", "bmi * 2")
    >>> query.canonical, query == query_of("Kendall( (age), bmi*2.0 )")
    ('kendall(age, bmi * 2)', True)
    """

    kind: PairKind
    operands: tuple[Expression, ...]
    bounds: tuple[float, float] | None
    text: str = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        parts = [*map(canonical, self.operands), *map(number, self.bounds or ())]
        return f"{self.kind}({', '.join(parts)})"

    def form(self, schema: Schema) -> NumberForm:
        """One number, with the price of one answer.

        On the grid a value is off by half a step and a little of rounding, so a difference of two
        by d <= 2^-32 (1 + 2^-18) of the range. The Gini difference is then off by d and its unit
        by d/2: less than 2^-32. Of the variance the kernel's square, (x - y)^2 / 2, is off by at
        most d * 2 / 2, and so is the unit: less than 2^-31, for which it has one bit less.
        """
        operands = tuple(
            check_types(operand, schema, self.text, wanted)
            for operand, wanted in zip(self.operands, _OPERANDS[self.kind], strict=True)
        )
        source = PairMeasure(self.kind, operands, self.bounds, self.canonical)
        low, high, span, bits = self._shape()
        return NumberForm(self.canonical, source, low, high, span, bits, needs="low-sensitivity")

    def _shape(self) -> tuple[float, float, float, int]:
        """The least and the most it can be, t times its sensitivity, and the bits of the grid."""
        width = self.bounds[1] - self.bounds[0] if self.bounds else 1.0
        match self.kind:
            case "variance":
                return 0.0, width * width / 2.0, width * width, GRID_BITS - 1
            case "gini":
                return 0.0, width, 2.0 * width, GRID_BITS
            case "kendall":
                return -1.0, 1.0, 4.0, 0
            case "concordance":
                return 0.0, 1.0, 2.0, 0
            case "auc_pairs":
                return 0.0, 0.5, 1.0, 0

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **super().to_dict()}

    def __repr__(self) -> str:
        parts = [repr(write(operand)) for operand in self.operands]
        if self.kind == "auc_pairs":
            parts[1] = f"target={parts[1]}"
        if self.bounds:
            low, high = map(number, self.bounds)
            parts += [f"low={low}", f"high={high}"]
        return f"{self.kind}({', '.join(parts)})"


def variance(text: str, low: float, high: float) -> PairStatistic:
    """The variance of a number, cut off below ``low`` and above ``high``; a null counts as ``low``.

    Of a snapshot, the unbiased one (with t - 1). Its sensitivity is (high - low)^2 / t: it is the
    mean over pairs of (x - y)^2 / 2, from 0 to (high - low)^2 / 2. It is that much if one record
    at ``high`` among t - 1 at ``low`` is replaced by one more of those: 1/t of the squared range,
    and then 0.

    >>> variance("bmi", low=10, high=60)
    variance('bmi', low=10, high=60)
    """
    return build(read_pairs, "variance", (text,), check_bounds(low, high))


def gini(text: str, low: float, high: float) -> PairStatistic:
    """Gini's mean difference: the mean of \\|x - y\\| for two records, each cut off as in a mean.

    A null counts as ``low``. Its sensitivity is 2 (high - low) / t, as \\|x - y\\| is at most
    high - low; it is that much for the same records as for the variance, of whose pairs 2 in t
    differ. (Gini's coefficient is this over twice the mean.)

    >>> gini("income", low=0, high=1e5)
    gini('income', low=0, high=100000)
    """
    return build(read_pairs, "gini", (text,), check_bounds(low, high))


def kendall(x: str, y: str) -> PairStatistic:
    """Kendall's tau-a: how much likelier two records are to agree in order than to disagree.

    Of a pair, 1 if (x - x')(y - y') > 0, -1 if it is below 0, and 0 if there is a tie or a null.
    Its sensitivity is 4/t, as that is from -1 to 1; it is that much if t - 1 records are (0, 0)
    and (1, 1) is replaced by (1, -1).

    >>> kendall("age", "bmi")
    kendall('age', 'bmi')
    """
    return build(read_pairs, "kendall", (x, y))


def concordance(x: str, y: str) -> PairStatistic:
    """How likely two records are to be concordant: the larger x has the larger y, and no tie.

    A pair with a null is not concordant. Its sensitivity is 2/t, as of a pair it is 0 or 1; it is
    that much if t - 1 records are (0, 0) and (1, 1) is replaced by one more.

    >>> concordance("age", "bmi")
    concordance('age', 'bmi')
    """
    return build(read_pairs, "concordance", (x, y))


def auc_pairs(score: str, target: str) -> PairStatistic:
    """How likely the first of two records is positive, the second negative, and scored lower.

    A tie counts one half; a record whose score or target is null is in no such pair. Over
    p (1 - p), p being the fraction of positive records, this is the area under the ROC curve.

    Its sensitivity is 1/t: of the two orders of a pair at most one counts, and by at most 1, so
    that the mean over ordered pairs is half a mean of numbers from 0 to 1. It is that much if
    t - 1 records are negative and the one that is positive falls from above them to below.

    >>> auc_pairs("0.1 * age + bmi", target="ill")
    auc_pairs('0.1 * age + bmi', target='ill')
    """
    return build(read_pairs, "auc_pairs", (score, target))


def read_pairs(parser: Parser, kind: str) -> PairStatistic:
    """What follows the name of one of these, up to the closing bracket."""
    operands = []
    for i in range(len(_OPERANDS[kind])):
        if i and not parser.accept(","):
            reason = f"{kind} needs two expressions, but found {parser.token.shown}"
            parser.refuse(reason, f"for instance {_EXAMPLES[kind]}")
        operands.append(parser.expression())
    bounds = read_bounds(parser, _EXAMPLES[kind]) if len(operands) == 1 else None
    return PairStatistic(cast(PairKind, kind), tuple(operands), bounds, parser.text)
