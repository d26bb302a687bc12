"""Questions: queries that are read, checked against the columns, and taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from surehold.errors import InvalidInput
from surehold.ledger.ledger import Ledger
from surehold.ledger.view import Asked
from surehold.queries import (
    Charged,
    CustomStatistic,
    Derived,
    DerivedNumber,
    Form,
    Gate,
    Query,
    Select,
    Source,
    Statistical,
    query_of,
)
from surehold.queries.statistical import check_length

_MOST_FORMS = 4096


@dataclass(frozen=True)
class Question:
    """A checked query, and the caller's key for it.

    ``whole`` numbers the query that it is, or that it is a part of, among those asked together.
    """

    query: Charged
    form: Form
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
        self._forms: dict[str, Form] = {}  # of queries that were checked before

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

    def question(self, query: Query, key: str | None, whole: int = 0) -> Question:
        """A query that is charged, checked, with the caller's key."""
        assert isinstance(query, Charged)
        form = self._forms.get(query.canonical)
        if form is None:
            if not isinstance(query, Select):  # which sees to it by itself
                check_length(
                    query
                )  # a part may be longer than the whole; replay has to read it back
            form = query.form(self._ledger.schema)
            self._ledger.policy.check_covers(form)
            self._ledger.check_registered(form)
            if isinstance(query, Statistical):  # asked most; forms of models hold the models
                if len(self._forms) >= _MOST_FORMS:
                    self._forms.clear()
                self._forms[query.canonical] = form
        return Question(query, form, key, whole)


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
    """The price of questions, and how many answers they count for."""
    forms = [question.form for question in questions]
    return sum(form.price for form in forms), sum(form.slots for form in forms)
