"""From one text to a query: what a command line, a ledger and a service have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.auc import read_auc, read_classes, read_model_auc
from surehold.queries.base import Charged, Form, Query
from surehold.queries.cells import read_cells
from surehold.queries.custom import read_custom
from surehold.queries.derived import Rate, read_limit, read_rate
from surehold.queries.differences import contrast_rates
from surehold.queries.f1 import read_f1
from surehold.queries.fit import read_fit
from surehold.queries.groups import read_means
from surehold.queries.lexer import LONGEST_QUERY, LONGEST_SELECTION, Kind
from surehold.queries.model_queries import read_improvement, read_model
from surehold.queries.normal_form import is_recorded, recorded
from surehold.queries.pairs import read_pairs
from surehold.queries.parser import Parser
from surehold.queries.schema import Schema
from surehold.queries.selection import Select, read_select
from surehold.queries.statistical import Statistical, check_length, contrast, read_statistical

Reader = Callable[[Parser, str], Query]


def query_of(text: str) -> Query:
    """A query as a command line has it: plain text is a fraction.

    >>> query_of("age > 65"), query_of("mean(bmi, 10, 60)")
    (fraction('age > 65'), mean('bmi', low=10, high=60))
    """
    if not isinstance(text, str):
        raise InvalidInput("the query", "text", text)
    # Long selections would fill the memory if they were all kept.
    read = _query_of if len(text) <= LONGEST_QUERY else _query_of.__wrapped__
    return read(text, is_recorded())


@contextmanager
def in_words_of(text: str) -> Iterator[None]:
    """Read what a ledger has: in the words of an earlier version, if it is not canonical now."""
    with nullcontext() if is_canonical(text) else recorded():
        yield


def is_canonical(text: str) -> bool:
    """Whether a text is the canonical one of what it asks."""
    try:
        return query_of(text).canonical == text
    except InvalidQuery:
        return False


def recorded_query(text: str) -> Query:
    """A query that was asked before, whose canonical text is the one that the ledger has."""
    with in_words_of(text):
        query = query_of(text)
        assert query.canonical  # written now, and kept
        return query


def is_same(recorded: object, canonical: str) -> bool:
    """Whether a ledger's text, of whatever version, stands for a question."""
    if recorded == canonical or not isinstance(recorded, str):
        return recorded == canonical
    try:
        return query_of(recorded).canonical == query_of(canonical).canonical
    except InvalidQuery:
        return False


def form_of(text: str, schema: Schema) -> Form:
    """The form of a query that was asked before, from its canonical text."""
    found = _form_of if len(text) <= LONGEST_QUERY else _form_of.__wrapped__
    return found(text, schema)


@lru_cache(maxsize=256)
def _form_of(text: str, schema: Schema) -> Form:
    query = recorded_query(text)
    if not isinstance(query, Charged):
        raise InvalidInput("the query", "one that is answered from the data", text)
    with in_words_of(text):
        return query.form(schema)


@lru_cache(maxsize=1024)
def _query_of(text: str, is_recorded: bool) -> Query:
    """Queries are inert, and analysts ask the same ones again as the data grows."""
    is_selection = text.startswith("select(")
    parser = Parser(text, LONGEST_SELECTION if is_selection else LONGEST_QUERY)
    name, query = _query_name(parser), read_query(parser)
    if name is not None and parser.token.kind is not Kind.END:
        parser.refuse(f"{name}(...) stands alone", "a query asks for one fraction or one mean")
    parser.finish()
    return query if isinstance(query, Select) else check_length(query)  # it sees to it by itself


def _query_name(parser: Parser) -> str | None:
    """The name of a query that starts here."""
    if parser.token.kind is not Kind.NAME or parser.following.value != "(":
        return None
    name = parser.token.value.lower()
    return name if name in READERS else None


def read_query(parser: Parser) -> Query:
    """The query that starts here; an expression is a fraction."""
    name = _query_name(parser)
    if name is None:
        expression = parser.expression()
        return Statistical("fraction", expression, 0.0, 1.0, parser.text)
    return parser.brackets(READERS[name])


def _read_difference(parser: Parser, name: str) -> Query:
    parts: list[Statistical | Rate] = []
    for i in range(2):
        if i:
            parser.expect(",")
        at = parser.token.position
        part = read_query(parser)
        if not isinstance(part, Statistical | Rate) or (parts and type(part) is not type(parts[0])):
            parser.refuse("a difference needs two fractions, two means or two rates", at=at)
        parts.append(part)
    plus, minus = parts
    if isinstance(plus, Rate) and isinstance(minus, Rate):
        return contrast_rates(plus, minus, parser.text)
    assert isinstance(plus, Statistical)
    assert isinstance(minus, Statistical)
    return contrast(plus, minus, parser.text)


def _read_model_auc(parser: Parser, name: str) -> Query:
    return read_model_auc(parser, name, read_query)


READERS: Mapping[str, Reader] = {
    "fraction": read_statistical,
    "mean": read_statistical,
    "difference": _read_difference,
    "histogram": read_cells,
    "totals": read_cells,
    "rate": read_rate,
    "f1": read_f1,
    "means": read_means,
    "auc": read_auc,
    "model_auc": _read_model_auc,
    "model_pairs": _read_model_auc,
    "classes": read_classes,
    "fit": read_fit,
    "gate": lambda parser, name: read_limit(parser, read_query(parser)),
    "select": lambda parser, name: read_select(parser, read_query),
    "accuracy": read_model,
    "loss": read_model,
    "brier": read_model,
    "confusion": read_model,
    "calibration": read_model,
    "improvement": lambda parser, name: read_improvement(parser, read_query),
    "variance": read_pairs,
    "gini": read_pairs,
    "kendall": read_pairs,
    "concordance": read_pairs,
    "auc_pairs": read_pairs,
    "statistic": read_custom,
}
"""What each name reads, from after its opening bracket to before its closing one."""
