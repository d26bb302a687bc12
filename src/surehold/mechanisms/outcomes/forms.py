"""From a query to the question that the surprise guard asks."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from surehold.errors import WrongGuard
from surehold.mechanisms.outcomes.base import Asking, exact_number
from surehold.mechanisms.outcomes.differences import DifferenceAsking
from surehold.mechanisms.outcomes.numbers import NumberAsking
from surehold.mechanisms.outcomes.rate_differences import RateDifferenceAsking
from surehold.mechanisms.outcomes.rates import RateAsking
from surehold.mechanisms.outcomes.selections import SelectAsking
from surehold.mechanisms.outcomes.tables import NumbersAsking, SharesAsking
from surehold.mechanisms.outcomes.verdicts import GateAsking, LadderAsking
from surehold.queries import (
    F1,
    Auc,
    Charged,
    Contrast,
    CustomStatistic,
    Difference,
    Discordance,
    Expectation,
    Fit,
    Gate,
    GroupMeans,
    Histogram,
    Improvement,
    ModelAuc,
    ModelMeasure,
    ModelTable,
    NumberForm,
    PairStatistic,
    Query,
    Rate,
    RateDifference,
    ScalarQuery,
    Schema,
    Select,
    SelectForm,
    query_of,
)
from surehold.queries.auc import Classes, ModelRanking
from surehold.queries.coverage import is_coverage
from surehold.queries.parser import join
from surehold.queries.query_text import in_words_of
from surehold.queries.statistical import Statistical

_PLAIN = Expectation()
_UNIT = Fraction(0), Fraction(1)
_GATED = NumberAsking | RateAsking | DifferenceAsking | RateDifferenceAsking


@lru_cache(maxsize=4096)
def asking_of(text: str, schema: Schema, asked: Expectation = _PLAIN) -> Asking:
    """The question of a query that was asked before, from its canonical text."""
    with in_words_of(text):
        return ask_for(query_of(text), schema, asked)


def ask_for(query: Query, schema: Schema, asked: Expectation = _PLAIN) -> Asking:
    """How the surprise guard asks a query; WrongGuard if only the noise guard can."""
    match query:
        case Statistical():  # asked most
            return _number(query, schema, asked)
        case Gate():
            inner = ask_for(query.query, schema)
            if not isinstance(inner, _GATED):
                raise _refusal(query)
            return GateAsking(query.canonical, asked, inner, query.side, query.limit)
        case Improvement() | Difference():
            return _difference(query, schema, asked)
        case Rate():
            both, given = (_form(part, schema) for part in query.parts)
            sources = (both.source, given.source)
            ends = exact_number(query.low), exact_number(query.high)
            covers = is_coverage(query.given)
            return RateAsking(query.canonical, asked, sources, *ends, both.bits, is_coverage=covers)
        case F1():
            counted = tuple(_form(part, schema).source for part in query.jaccard.parts)
            return RateAsking(query.canonical, asked, counted, *_UNIT, 0, is_f1=True)
        case RateDifference():
            each = Expectation(within=asked.within)
            plus, minus = (ask_for(part, schema, each) for part in query.parts)
            assert isinstance(plus, RateAsking)
            assert isinstance(minus, RateAsking)
            return RateDifferenceAsking(query.canonical, asked, (plus, minus))
        case Auc() | ModelAuc():
            counted = tuple(_form(part, schema).source for part in query.parts)
            return RateAsking(query.canonical, asked, counted, *_UNIT, 0, is_area=True)
        case Select():
            return _selection(query, query.form(schema), asked)
        case GroupMeans():
            return _means(query, schema, asked)
        case Histogram() | ModelTable() | Classes():
            return _table(query, schema, asked)
        case PairStatistic() | ModelRanking():
            return NumberAsking(query.canonical, asked, query.form(schema), "pairs")
        case CustomStatistic():
            return NumberAsking(query.canonical, asked, query.form(schema), "statistic")
        case ScalarQuery():
            return _number(query, schema, asked)
    raise _refusal(query)


def _number(query: ScalarQuery, schema: Schema, asked: Expectation) -> NumberAsking:
    form = query.form(schema)
    is_fraction = not form.bits and (form.low, form.high) == (0.0, 1.0)
    return NumberAsking(query.canonical, asked, form, "fraction" if is_fraction else "mean")


def _difference(
    query: Improvement | Difference, schema: Schema, asked: Expectation
) -> DifferenceAsking | NumberAsking | LadderAsking:
    """By discordant records where values are 0 or 1, else as a mean; or the ladder's."""
    form = query.form(schema)
    if asked.expect in ("no", "not better"):
        ladder = NumberAsking(query.canonical, _PLAIN, form, "mean")
        return LadderAsking(query.canonical, asked, ladder)
    if form.bits:
        return NumberAsking(query.canonical, asked, form, "mean")
    source = form.source
    assert isinstance(source, Contrast)
    if isinstance(query, Improvement):
        plus, minus = source.plus, source.minus
        assert isinstance(plus, ModelMeasure)
        assert isinstance(minus, ModelMeasure)
        both = Discordance(plus, minus, f"discordance {query.canonical}")
        return DifferenceAsking(query.canonical, asked, (both,))
    joined = join("and", query.plus.expression, query.minus.expression)
    common = Statistical("fraction", joined, 0.0, 1.0, query.text).measure(schema)
    return DifferenceAsking(query.canonical, asked, (source.plus, source.minus, common))


def _selection(query: Select, form: SelectForm, asked: Expectation) -> SelectAsking:
    if any(one.needs != "statistical" for one in form.candidates):
        raise _refusal(query)
    return SelectAsking(query.canonical, asked, form)


def _table(query: Any, schema: Schema, asked: Expectation) -> SharesAsking | NumbersAsking:
    """Shares of cells that each record is in one of; or a number for each cell."""
    form = query.form(schema)
    if not form.bits:
        return SharesAsking(query.canonical, asked, form)
    cells = tuple(
        NumberAsking(f"{query.canonical}[{i}]", asked, form, "mean")
        for i in range(len(form.labels))
    )
    return NumbersAsking(query.canonical, asked, form.labels, cells)


def _means(query: GroupMeans, schema: Schema, asked: Expectation) -> NumbersAsking:
    """A rate for each group."""
    counts, amounts = (part.form(schema) for part in query.parts)
    assert counts.labels is not None
    ends = exact_number(query.weight.low), exact_number(query.weight.high)
    sources = (amounts.source, counts.source)
    cells = tuple(
        RateAsking(f"{query.canonical}[{i}]", asked, sources, *ends, amounts.bits)
        for i in range(len(counts.labels))
    )
    return NumbersAsking(query.canonical, asked, counts.labels, cells)


def _form(query: Query, schema: Schema) -> NumberForm:
    assert isinstance(query, Charged)
    form = query.form(schema)
    assert isinstance(form, NumberForm)
    return form


def _refusal(query: Query) -> WrongGuard:
    return WrongGuard("a fit" if isinstance(query, Fit) else f"the query {query!r}", "noise")
