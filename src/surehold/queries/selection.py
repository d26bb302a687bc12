"""Minimisation queries: which of some candidates has the least loss, or the highest score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast

from surehold.checks import check_whole
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.base import Charged, Form, Needs, NumberForm, Query, ScalarQuery, Source
from surehold.queries.lexer import LONGEST_SELECTION
from surehold.queries.parser import Parser
from surehold.queries.schema import Schema
from surehold.queries.statistical import check_length

Best: TypeAlias = Literal["lowest", "highest"]

MOST_CANDIDATES = 10_000
MOST_PRICE = 1_000_000
USUAL_PRICE = 25
_LONGEST_NAME = 200


@dataclass(frozen=True)
class SelectForm(Form):
    """Candidates on one scale, of which one is chosen at the price that the analyst said.

    The excess over the best is a function of the snapshot, not a mean over records.
    """

    candidates: tuple[NumberForm, ...]
    best: Best
    needs: Needs = field(default="low-sensitivity", kw_only=True)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(candidate.source for candidate in self.candidates)

    @property
    def slots(self) -> int:
        """It stands in for as many answers as it is charged (sharp-bound.md, section 15)."""
        return self.price

    @property
    def scale(self) -> NumberForm:
        """Any candidate: they share range, span and power."""
        return self.candidates[0]


@dataclass(frozen=True, repr=False, eq=False)
class Select(Charged):
    """A choice among candidates by their mean loss or score, reported without the numbers."""

    candidates: tuple[ScalarQuery, ...]
    best: Best
    price: int
    text: str = field(compare=False)
    names: tuple[str, ...] = field(compare=False)

    @cached_property
    def canonical(self) -> str:
        listed = ", ".join(candidate.canonical for candidate in self.candidates)
        return f"select({self.best}, {self.price}, {listed})"

    def form(self, schema: Schema) -> SelectForm:
        forms = tuple(candidate.form(schema) for candidate in self.candidates)
        scales = {(form.low, form.high, form.span, form.power) for form in forms}
        if len(scales) > 1:
            hint = "give all of them the same low and high"
            raise InvalidQuery("the candidates are not on one scale", self.text, hint=hint)
        return SelectForm(self.canonical, forms, self.best, price=self.price)

    def __repr__(self) -> str:
        return f"<select: {self.best} of {len(self.candidates)} for {self.price} answers>"


def select(
    candidates: Iterable[Any] | Mapping[str, Any],
    loss: Callable[[Any], Query | str] | None = None,
    *,
    best: Best = "lowest",
    price: int = USUAL_PRICE,
) -> Select:
    """The candidate whose mean loss is lowest, or whose score is highest, nearly.

    ``loss`` makes a query of a candidate (a model, a threshold, a column); leave it out if the
    candidates are queries. A mapping gives them names. The ``price`` is paid once, however many
    there are: the higher, the nearer the choice is to the best. The answer names the candidate and
    says by how much its expected loss can exceed that of the best one.

    >>> select([20, 30, 40], lambda age: f"(age > {age}) <> sick", price=9)
    <select: lowest of 3 for 9 answers>
    """
    if isinstance(candidates, str | Query) or not isinstance(candidates, Iterable):
        raise InvalidInput("candidates", "a list, or a mapping of names", type(candidates).__name__)
    if loss is not None and not callable(loss):
        raise InvalidInput("loss", "what makes a query of a candidate", type(loss).__name__)
    if isinstance(candidates, Mapping):
        names, values = [_check_name(name) for name in candidates], list(candidates.values())
    else:
        values = list(candidates)
        names = [_name_of(value, i) for i, value in enumerate(values)]
    queries = [_query(value if loss is None else loss(value)) for value in values]
    return _build(queries, names, best, price)


def read_select(parser: Parser, read: Callable[[Parser], Query]) -> Select:
    """What follows ``select(``: lowest or highest, the price, and the candidates."""
    best = parser.advance().value
    if best not in ("lowest", "highest"):
        hint = "for instance select(lowest, 25, churned and age > 60, churned and age > 70)"
        parser.refuse("a selection starts with lowest or highest", hint)
    parser.expect(",")
    price = parser.number("the price must be a whole number of answers")
    if not price.is_integer():
        parser.refuse("the price must be a whole number of answers")
    queries = []
    while parser.accept(","):
        at = parser.token.position
        query = read(parser)
        if not isinstance(query, ScalarQuery):
            parser.refuse("a candidate must be a query whose answer is a single number", at=at)
        queries.append(query)
    names = [query.canonical for query in queries]
    return _build(queries, names, best, int(price), parser.text)


def _build(
    queries: list[ScalarQuery], names: list[str], best: object, price: object, text: str = ""
) -> Select:
    if not 1 <= len(queries) <= MOST_CANDIDATES:
        raise InvalidInput("candidates", f"1 to {MOST_CANDIDATES:,} of them", len(queries))
    if not isinstance(best, str) or best not in ("lowest", "highest"):
        raise InvalidInput("best", "lowest or highest", best)
    price = check_whole("price", price, 1, MOST_PRICE)
    for query in queries:
        check_length(query)
    made = Select(tuple(queries), cast(Best, best), price, text, tuple(names))
    length = len(made.canonical)
    if length > LONGEST_SELECTION:
        required = f"no longer than {LONGEST_SELECTION:,} characters, written out"
        raise InvalidInput("candidates", required, f"{length:,} of them")
    distinct = {query.canonical for query in queries}
    if len(distinct) < len(queries):
        raise InvalidInput("candidates", "all different", f"{len(distinct)} of {len(queries)}")
    return replace(made, text=text or made.canonical)


def _query(given: object) -> ScalarQuery:
    from surehold.queries.query_text import query_of

    query = query_of(given) if isinstance(given, str) else given
    if not isinstance(query, ScalarQuery):
        required = "queries that are one answer each, or given with a loss that makes them"
        hint = "rates, AUCs, gates and tables are more than one; for scores there is auc_pairs(...)"
        if not isinstance(query, Query):
            hint = "say how each is judged: select(models, lambda m: loss(m, ...))"
        raise InvalidInput("candidates", required, type(given).__name__, hint)
    return query


def _name_of(value: object, i: int) -> str:
    """What a candidate is called: itself if that is short, else its number."""
    try:
        text = value.canonical if isinstance(value, Query) else str(value)
    except Exception:  # whatever a class of the user's does
        text = ""
    return text if 1 <= len(text) <= 60 and text.isprintable() else f"#{i + 1}"


def _check_name(name: object) -> str:
    """What a mapping calls a candidate: the ledger keeps it, and it is shown."""
    text = str(name) if isinstance(name, str | int | float) else ""
    if not (1 <= len(text) <= _LONGEST_NAME and text.isprintable()):
        required = f"texts of 1 to {_LONGEST_NAME} printable characters, or numbers"
        raise InvalidInput("the names of candidates", required, name)
    return text
