"""Questions: queries that are read, checked against the columns, and taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from surehold.errors import InvalidInput, WrongGuard
from surehold.ledger.ledger import Ledger
from surehold.ledger.view import Asked
from surehold.queries import (
    Charged,
    CustomStatistic,
    Derived,
    DerivedNumber,
    Expectation,
    Form,
    Gate,
    Query,
    Select,
    Source,
    Statistical,
    query_of,
)
from surehold.queries.statistical import check_length

if TYPE_CHECKING:
    from surehold.mechanisms.outcomes.base import Asking

_MOST_FORMS = 16_384
F = TypeVar("F")


@dataclass(frozen=True)
class Question:
    """A checked query, and the caller's key for it.

    ``whole`` numbers the query that it is, or that it is a part of, among those asked together.
    """

    query: Query
    form: Form | Asking
    key: str | None
    whole: int = 0

    @property
    def canonical(self) -> str:
        """The text that stands for all ways to write it."""
        return self.form.canonical


class Questions:
    """Reads and checks queries for one dataset; it touches no record."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # Of queries that were checked before:
        self._forms: dict[str, Form] = {}
        self._askings: dict[str, Asking] = {}

    def query(self, query: object) -> Query:
        """The query that is asked, or whose text is, with registered statistics filled in."""
        if isinstance(query, str):
            query = query_of(query)
        if not isinstance(query, Query):
            required = "a query, such as fraction('age > 65'), or its text"
            raise InvalidInput("the query", required, type(query).__name__)
        resolved: Query = self._resolve(query)
        if isinstance(resolved, Gate):
            self._check_limit(resolved)
        return resolved

    def _check_limit(self, gate: Gate) -> None:
        """A limit that no value can reach makes a gate that is always open, or never."""
        asked = gate.query
        if isinstance(asked, DerivedNumber):
            low, high = asked.low, asked.high
        else:
            form = asked.form(self._ledger.schema)
            low, high = form.low, form.high
        if not low <= gate.limit <= high:
            percent = "; write 0.4 for 40 %" if (low, high) == (0.0, 1.0) else ""
            required = f"within what the query can give, {low:g} to {high:g}{percent}"
            raise InvalidInput(gate.side, required, gate.limit)

    def _resolve(self, query: Any) -> Any:
        """With what the custodian declared of registered statistics filled in."""
        match query:
            case CustomStatistic():
                declared = self._ledger.declared(query.name)
                return query if declared is None else query.resolve(declared)
            case Gate():
                return replace(query, query=self._resolve(query.query))
            case Select():
                return replace(query, candidates=tuple(map(self._resolve, query.candidates)))
            case _:
                return query

    def question(
        self, query: Query, key: str | None, whole: int = 0, asked: Expectation | None = None
    ) -> Question:
        """A query that is charged, checked, with the caller's key, and how it is asked."""
        if self._ledger.rules.guard == "surprise":
            return Question(query, self._asking(query, asked), key, whole)
        assert isinstance(query, Charged)
        form = self._forms.get(query.canonical)
        if form is None:
            if not isinstance(query, Select):  # which sees to it by itself
                check_length(query)  # a part may be longer than the whole
            form = query.form(self._ledger.schema)
            self._ledger.policy.check_covers(form)
            self._ledger.check_registered(form)
            if isinstance(query, Statistical):  # asked most; forms of models hold the models
                _keep(self._forms, query.canonical, form)
        return Question(query, form, key, whole)

    def _asking(self, query: Query, asked: Expectation | None) -> Asking:
        """A query as the surprise guard asks it."""
        known = self._askings.get(query.canonical)
        if known is not None:
            return known if asked is None else replace(known, asked=asked)
        if not isinstance(query, Select):  # which sees to it by itself
            check_length(query)
        asking = self._ledger.surprise.ask_for(query, self._ledger.schema, asked or Expectation())
        self._ledger.check_registered(asking)
        if asked is None and isinstance(query, Statistical):  # asked most
            _keep(self._askings, query.canonical, asking)
        return asking

    def expectation(self, expect: object, within: object, doubt: object) -> Expectation | None:
        """What a caller expects; None if nothing is said, and refused under noise."""
        if expect is None and within is None and doubt is None:
            return None
        asked = Expectation.of(expect, within, doubt)
        if self._ledger.rules.guard == "noise":
            raise WrongGuard("an expectation (expect, within, doubt)", "surprise")
        return asked

    def parts(self, query: Query) -> list[Query]:
        """What is asked of the records: a query, or what it is derived from under noise."""
        return [query] if self._ledger.rules.guard == "surprise" else [*leaves_of(query)]


def _keep(known: dict[str, F], canonical: str, form: F) -> None:
    if len(known) >= _MOST_FORMS:
        known.clear()
    known[canonical] = form


def leaves_of(query: Query) -> list[Charged]:
    """What is charged of a query: itself, or what it is derived from."""
    if isinstance(query, Derived):
        return [leaf for part in query.parts for leaf in leaves_of(part)]
    assert isinstance(query, Charged)
    return [query]


def by_round(due: Mapping[Asked, Question]) -> dict[int, dict[Asked, tuple[Source, ...]]]:
    """What is needed of the snapshot of each round."""
    found: dict[int, dict[Asked, tuple[Source, ...]]] = {}
    for asked, question in due.items():
        found.setdefault(asked[1], {})[asked] = question.form.sources
    return found


def cost_of(questions: Iterable[Question]) -> tuple[int, int]:
    """The price of questions, and how many answers they count for, under noise."""
    forms = [question.form for question in questions if isinstance(question.form, Form)]
    return sum(form.price for form in forms), sum(form.slots for form in forms)
