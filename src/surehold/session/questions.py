"""Questions: queries that are read, checked against the columns, and taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from surehold.data.table_store import TableStore
from surehold.errors import InvalidInput, InvalidQuery, WrongGuard
from surehold.ledger.ledger import Ledger
from surehold.ledger.names import KeptName, resolve
from surehold.ledger.view import Asked
from surehold.queries import (
    Charged,
    Dashboard,
    Derived,
    DerivedNumber,
    Expectation,
    Form,
    Gate,
    NamedQuestion,
    Query,
    Select,
    Source,
    Statistical,
    query_of,
)
from surehold.queries.coverage import among_covered
from surehold.queries.expressions import Column
from surehold.queries.side_tables import (
    SideTable,
    columns_in,
    may_name_table,
    mentions_table,
    show_names,
    split,
)
from surehold.queries.side_tables import resolve as resolve_tables
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

    def __init__(self, ledger: Ledger, tables: TableStore | None = None) -> None:
        self._ledger, self._tables = ledger, tables or TableStore(ledger)
        # Of queries that were checked before:
        self._forms: dict[tuple[str, str], Form] = {}
        self._askings: dict[tuple[str, str], Asking] = {}

    def query(self, query: object, tables: Mapping[str, SideTable] | None = None) -> Query:
        """The query that is asked, or whose text is, with registered statistics filled in.

        ``tables`` are those that the ask brings, by the names that the query has for them.
        """
        if isinstance(query, str):
            query = self.read(query)
        if not isinstance(query, Query):
            required = "a query, such as fraction('age > 65'), or its text"
            raise InvalidInput("the query", required, type(query).__name__)
        resolved: Query = self._resolve(query)
        if may_name_table(resolved):
            resolved = self._look_up(resolved, tables or {})
        if isinstance(resolved, Gate):
            self._check_limit(resolved)
        return resolved

    def read(self, text: str) -> Query:
        """A query from its text, or from a name that is no query."""
        try:
            return query_of(text)
        except InvalidQuery:
            named = self._named(text.strip())
            if named is None:
                raise
            return named

    def _named(self, name: str) -> Query | None:
        """The question of that name, if there is one by now."""
        kept = self._ledger.names.by_name.get(name)
        if kept is None:  # a name means one question for ever, and may be new
            self._ledger.refresh()
            kept = self._ledger.names.by_name.get(name)
        return None if kept is None else query_of(kept.canonical)

    def named(self, question: NamedQuestion) -> tuple[Query, KeptName]:
        """A question of a dashboard, checked with its gate, and as the ledger keeps it."""
        what = f"question {question.name!r}"
        try:
            query = resolve(question.query(), self._ledger.declared)
            if may_name_table(query):
                query = self._look_up(query, {})
            canonical = self.canonical(query)
            for gated in (query, question.gated(query)):
                if isinstance(gated, Gate):
                    self._check_limit(gated)
        except InvalidInput as error:
            parameter = f"{what}: {error.parameter}"
            raise InvalidInput(parameter, error.required, error.got, error.hint) from None
        except InvalidQuery as error:
            required = "a query over the columns of the dataset"
            raise InvalidInput(what, required, question.question, str(error)) from None
        self._check_name(question.name, canonical)
        return query, KeptName(question, canonical)

    def dashboard(self, dashboard: Dashboard) -> tuple[list[Query], list[KeptName]]:
        """All questions of a dashboard, which has to be right as a whole."""
        pairs = [self.named(question) for question in dashboard]
        seen: dict[str, str] = {}
        for _, kept in pairs:
            name = kept.question.name
            other = seen.setdefault(kept.canonical, name)
            if other != name:
                required = f"another question than {other!r}: a question has one name"
                raise InvalidInput(f"question {name!r}", required, kept.canonical)
        return [query for query, _ in pairs], [kept for _, kept in pairs]

    def canonical(self, query: Query) -> str:
        """What a query is asked as, once all of it has been checked."""
        asked = [self.question(part, None).canonical for part in self.parts(query)]
        is_whole = self._ledger.rules.guard == "surprise" or not isinstance(query, Derived)
        return asked[0] if is_whole else query.canonical

    def _check_name(self, name: str, canonical: str) -> None:
        """Refuse a name that is itself another question, which would be answered in its place."""
        try:
            meant = self.canonical(query_of(name))
        except (InvalidQuery, InvalidInput):
            return
        if meant != canonical:
            required = "no other question of this dataset"
            raise InvalidInput(f"the name {name!r}", required, meant, "choose another name")

    def _look_up(self, query: Query, tables: Mapping[str, SideTable]) -> Query:
        """With what aliases of side tables stand for, about the records that these cover."""
        found: dict[str, SideTable] = {}

        def find(name: str) -> SideTable:
            table = tables[name] if name in tables else self._tables.describe(name)
            self._tables.rows(table.reference)  # refused if it is not at hand
            return found.setdefault(table.reference, table)

        return among_covered(resolve_tables(query, find), found)

    def text(self, query: Query) -> str:
        """The query as it was written or, with side tables, by names that last."""
        canonical = query.canonical
        if not mentions_table(canonical):
            return query.text
        return show_names(canonical, self._names(query))

    def _names(self, query: Query) -> dict[str, str]:
        """What people call the side tables of a query, by their hashes."""
        kept = self._ledger.kept
        refs = {split(column)[0] for column in columns_in(query)}
        return {ref: str(kept[ref]["name"]) for ref in refs}

    @contextmanager
    def _by_names(self, query: Query) -> Iterator[None]:
        """Let errors name side tables as people do."""
        try:
            yield
        except InvalidQuery as error:
            if not mentions_table(query.canonical):
                raise
            names = self._names(query)
            reason, hint = (show_names(text, names) for text in (error.reason, error.hint))
            raise InvalidQuery(reason, error.text, error.position, hint) from None

    def _check_limit(self, gate: Gate) -> None:
        """A limit that no value can reach makes a gate that is always open, or never."""
        asked = gate.query
        if isinstance(asked, DerivedNumber | Statistical):
            low, high = asked.low, asked.high
        else:
            form = asked.form(self._ledger.schema)
            low, high = form.low, form.high
        if not low <= gate.limit <= high:
            percent = "; write 0.4 for 40 %" if (low, high) == (0.0, 1.0) else ""
            required = f"within what the query can give, {low:g} to {high:g}{percent}"
            raise InvalidInput(gate.side, required, gate.limit)

    def _resolve(self, query: Any) -> Any:
        """With names, and what the custodian declared of registered statistics, filled in."""
        match query:
            case Statistical(kind="fraction", expression=Column(name=name)):
                schema = self._ledger.schema
                is_condition = name in schema and schema[name] == "bool"
                named = None if is_condition else self._named(name)
                return query if named is None else named
            case Gate():
                return replace(query, query=self._resolve(query.query))
            case _:
                return resolve(query, self._ledger.declared)

    def question(
        self, query: Query, key: str | None, whole: int = 0, asked: Expectation | None = None
    ) -> Question:
        """A query that is charged, checked, with the caller's key, and how it is asked."""
        if self._ledger.rules.guard == "surprise":
            return Question(query, self._asking(query, asked), key, whole)
        assert isinstance(query, Charged)
        form = self._forms.get(_words(query))
        if form is None:
            if not isinstance(query, Select):  # which sees to it by itself
                check_length(query)  # a part may be longer than the whole
            with self._by_names(query):
                form = query.form(self._ledger.schema)
            self._ledger.policy.check_covers(form)
            self._ledger.check_registered(form)
            if isinstance(query, Statistical):  # asked most; forms of models hold the models
                _keep(self._forms, _words(query), form)
        return Question(query, form, key, whole)

    def _asking(self, query: Query, asked: Expectation | None) -> Asking:
        """A query as the surprise guard asks it."""
        known = self._askings.get(_words(query))
        if known is not None:
            return known if asked is None else replace(known, asked=asked)  # its menu checks it
        if not isinstance(query, Select):  # which sees to it by itself
            check_length(query)
        expected = asked or Expectation()
        with self._by_names(query):
            asking = self._ledger.surprise.ask_for(query, self._ledger.schema, expected)
            asking.check_expected()
        self._ledger.check_registered(asking)
        if asked is None and isinstance(query, Statistical):  # asked most
            _keep(self._askings, _words(query), asking)
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


def _keep(known: dict[tuple[str, str], F], words: tuple[str, str], form: F) -> None:
    if len(known) >= _MOST_FORMS:
        known.clear()
    known[words] = form


def _words(query: Query) -> tuple[str, str]:
    """What a query is known by once it is checked: other words for the same may not be valid."""
    return query.text, query.canonical


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
