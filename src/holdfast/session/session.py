"""The one place where a query meets data: quote, ask, hold."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, overload

from holdfast.data.growing import GrowingData, Progress
from holdfast.errors import BudgetExhausted, InvalidInput, NotReady
from holdfast.ledger.entries import Entry
from holdfast.ledger.ledger import Ledger, Room
from holdfast.ledger.store import Spent
from holdfast.ledger.told import derived_told
from holdfast.mechanisms import NoiseSource, to_float
from holdfast.queries import (
    Charged,
    CustomStatistic,
    Derived,
    DerivedNumber,
    FitForm,
    Form,
    Gate,
    Query,
    ScalarQuery,
    Select,
    Statistical,
    query_of,
)
from holdfast.queries.statistical import written
from holdfast.session.answering import answered, sources_of
from holdfast.session.answers import Answer, Choice, Result, result_of
from holdfast.session.fitting import fitted
from holdfast.session.quotes import Budget, Limit, Quote
from holdfast.session.refusals import refusal
from holdfast.session.scorer import Scorer
from holdfast.session.transcript import Transcript

_LONGEST = 200
_MOST_FORMS = 4096


@dataclass(frozen=True)
class _Question:
    """A checked query, and the caller's key for it.

    ``whole`` numbers the query that it is, or that it is a part of, among those asked together.
    """

    query: Charged
    form: Form
    key: str | None
    whole: int = 0

    @property
    def canonical(self) -> str:
        return self.form.canonical


class Session:
    """One analyst's way to a dataset. The budget is the dataset's, shared by all its analysts."""

    def __init__(
        self,
        ledger: Ledger,
        data: GrowingData,
        noise: NoiseSource,
        analyst: str,
        limit: float | None = None,
    ) -> None:
        self._ledger = ledger
        self._data = data
        self._noise = noise
        self.analyst = checked_text("analyst", analyst)
        self._limit = None if limit is None else _share(limit, ledger)
        self._held: int | None = None
        self._forms: dict[str, Form] = {}  # of queries that were checked before

    def __repr__(self) -> str:
        held = "" if self._held is None else f", held at {self._held:,}"
        return f"<session of {self.analyst!r} on {self._ledger.folder.name!r}{held}>"

    @property
    def held(self) -> int | None:
        """The round that is held; None while it follows the data."""
        return self._held

    def hold(self, round: int | None) -> None:
        """Keep asking at the snapshot of ``round`` while records arrive; None moves on.

        An older round costs what it cost then: more than a later one.
        """
        if round is not None:
            if isinstance(round, bool) or not hasattr(round, "__index__"):
                raise InvalidInput("round", "a whole number, or None to move on", round)
            round = operator.index(round)
            self._ledger.policy.round_for(self._ledger.refresh().records, round)
        self._held = round

    def at(self, round: int | None) -> Self:
        """This session held at a round, beside the one that goes on: ``s.at(20_000).ask(...)``."""
        sibling = copy.copy(self)
        sibling.hold(round)
        return sibling

    @property
    def limit(self) -> Limit | None:
        """What this analyst may spend in all, has spent, and may yet; None without a limit."""
        most = self._limit
        if most is None:
            return None
        ledger = self._ledger
        with ledger.store.lock:
            state, spent = ledger.refresh(), ledger.spent_by(self.analyst)
        left = max(min(most.units - spent.units, ledger.policy.budget - state.spent), 0)
        return Limit(
            to_float(most.units),
            to_float(spent.units),
            to_float(left),
            most.answers,
            spent.answers,
        )

    @property
    def _room(self) -> Room:
        """What is left: of what all have, or of this analyst's limit."""
        if self._limit is None:
            return self._ledger.room()
        return self._ledger.room_within(self._limit, self.analyst)

    @property
    def budget(self) -> Budget:
        """The budget of the record that is exposed most, the first."""
        spent, total = self._ledger.refresh().spent, self._ledger.policy.budget
        return Budget(to_float(total), to_float(spent), to_float(total - spent))

    def answers_left(self, round: int) -> int:
        """How many more answers fit at a round of the plan, whether or not it is there yet."""
        self._ledger.policy.check_round(round)
        with self._ledger.store.lock:
            self._ledger.refresh()
            return self._ledger.answers_left(round, self._room)

    @property
    def transcript(self) -> Transcript:
        """All answers of the dataset so far, whoever asked."""
        return Transcript(self._ledger)

    def scorer(
        self, *, features: Sequence[str], target: str, metric: str = "accuracy", **options: Any
    ) -> Scorer:
        """A scorer for scikit-learn's loops: ``GridSearchCV(..., scoring=session.scorer(...))``."""
        return Scorer(self, features, target, metric, **options)

    # ------------------------------------------------------------------------------ quote

    def quote(self, query: Query | str) -> Quote:
        """What an answer would cost and how wide it would be; free, and it touches no record."""
        asked = self._query(query)
        questions = [self._question(part, None) for part in _leaves(asked)]
        with self._ledger.store.lock:
            return self._quoted(asked, questions)

    def _quoted(self, query: Query, questions: Sequence[_Question]) -> Quote:
        ledger, policy = self._ledger, self._ledger.policy
        records = ledger.refresh().records
        reason, more, fresh = None, None, questions
        try:
            round = policy.round_for(records, self._held)
        except NotReady as error:
            round = policy.nearest_round(self._held or records)
            reason, more = str(error), error.numbers.get("more_records")
        else:
            fresh = [q for q in questions if ledger.answered(q.canonical, round) is None]
            price, slots = _cost(fresh)
            if fresh and not ledger.fits(round, price, slots, self._room):
                refused = self._refusal(round, fresh)
                reason, more = str(refused), refused.more_records
        price, slots = _cost(fresh)
        return Quote(
            query=query.canonical,
            round=round,
            charge=to_float(price * policy.mechanism.charge(round)),
            price=price,
            counts_for=slots,
            width=None if isinstance(query, Derived) else policy.width_of(questions[0].form, round),
            allowed=reason is None,
            recorded=not fresh,
            reason=reason,
            more_records=more,
            remaining=to_float(self._room.filter.remaining(round)),
            answers_left=ledger.answers_left(round, self._room),
            answers_left_after=self._left_after(round, price, slots),
        )

    def _left_after(self, round: int, price: int, slots: int) -> int:
        """How many answers would fit at a round after some of that price."""
        room, policy = self._room, self._ledger.policy
        charge = policy.mechanism.charge(round)
        affordable = room.filter.remaining(round) // charge - price
        return max(0, min(affordable, room.answers - slots))

    def _refusal(self, round: int, questions: Iterable[_Question]) -> BudgetExhausted:
        forms = [question.form for question in questions]
        return refusal(self._ledger, self._room, round, forms, self.analyst)

    # -------------------------------------------------------------------------------- ask

    @overload
    def ask(
        self, query: ScalarQuery, *, key: str | None = None, progress: Progress | None = None
    ) -> Answer: ...
    @overload
    def ask(
        self, query: Query | str, *, key: str | None = None, progress: Progress | None = None
    ) -> Any: ...
    def ask(
        self, query: Query | str, *, key: str | None = None, progress: Progress | None = None
    ) -> Result:
        """Check, charge and answer in one durable step, then tell.

        The same query at the same round gives the recorded answer, free. With a ``key`` of the
        caller's own a question that is repeated, after a crash say, gives the recorded answer too,
        whatever the round is by then. ``progress`` is told how many records were gone through.
        """
        asked = self._query(query)
        if key is not None:
            key = checked_text("key", key)
        if isinstance(asked, Derived):
            return self._derive(asked, key, progress)
        [result] = self._ask([self._question(asked, key)], progress)
        return _renamed(result, asked)

    def ask_many(
        self,
        queries: Iterable[Query | str],
        *,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> tuple[Any, ...]:
        """All at one round, all or none, in one pass over the data and one durable step.

        A ``key`` stands for the whole list: repeated with it, the same answers.
        """
        if isinstance(queries, str | Query) or not isinstance(queries, Iterable):
            raise InvalidInput("queries", "a list of queries", queries)
        if key is not None:
            key = checked_text("key", key)
        asked = [self._query(query) for query in queries]
        leaves = [_leaves(query) for query in asked]
        results = iter(self._ask_leaves(leaves, key, progress, key))
        return tuple(self._concluded(query, results, None) for query in asked)

    def _ask_leaves(
        self,
        leaves: Sequence[Sequence[Charged]],
        key: str | None,
        progress: Progress | None,
        of_all: str | None = None,
    ) -> list[Result]:
        """All parts of all queries in one step; ``of_all`` is the key of a list of queries."""
        flat = [(leaf, whole) for whole, listed in enumerate(leaves) for leaf in listed]
        keys: list[str | None] = [None] * len(flat)
        if key is not None:
            keys = [_numbered(key, i) for i in range(len(flat))]
        if of_all is not None and keys:
            keys[0] = of_all  # so that it is taken, whatever it is used for next
        questions = [
            self._question(leaf, one, whole) for (leaf, whole), one in zip(flat, keys, strict=True)
        ]
        return self._ask(questions, progress, of_all)

    def _derive(self, query: Derived, key: str | None, progress: Progress | None) -> Result:
        """Ask for what it is made of, in one step, then keep what follows, in another.

        In between nothing has been told.
        """
        if key is not None:
            known = self._keyed(key, query.canonical)
            if known is not None:
                return result_of(known, self._ledger, recorded=True)
        results = self._ask_leaves([_leaves(query)], key, progress)
        return self._concluded(query, iter(results), key)

    def _concluded(self, query: Query, results: Iterator[Result], key: str | None) -> Result:
        """The result of a query, from those of its leaves, which are taken in order."""
        if not isinstance(query, Derived):
            return _renamed(next(results), query)
        parts = [self._concluded(part, results, None) for part in query.parts]
        round, ledger = parts[0].round, self._ledger
        with ledger.store.lock:
            known = ledger.answered(query.canonical, round)
        if known is not None and key is None:
            return result_of(known, ledger, recorded=True)
        entries = [part.entry for part in parts]
        with ledger.writing():
            keyed = self._keyed(key, query.canonical)  # others may have come first by now
            known = keyed or ledger.answered(query.canonical, round)
            recorded = known is not None
            if known is None:
                body = {
                    "query": query.text,
                    "parts": entries,
                    **derived_told(query, entries, ledger),
                    "analyst": self.analyst,
                }
                known = ledger.add_derived(body, query.canonical, round, key)
            elif key is not None and keyed is None:
                ledger.add_key(key, known)
        return result_of(known, ledger, recorded)

    def _ask(
        self,
        questions: Sequence[_Question],
        progress: Progress | None = None,
        of_all: str | None = None,
    ) -> list[Result]:
        ledger = self._ledger
        with ledger.store.lock:
            self._check_list(of_all, questions)
            round, known, fresh = self._decide(questions, None)
            head = ledger.head.seq
        exact = self._exact(fresh, round, progress)
        if not fresh and not any(question.key for question in questions):
            known = {i: self._answered(question, round) for i, question in enumerate(questions)}
        if len(known) == len(questions):
            return [result_of(known[i], ledger, recorded=True) for i in range(len(questions))]
        with ledger.writing():
            if ledger.head.seq != head:  # somebody wrote meanwhile: decide again, now nobody can
                self._check_list(of_all, questions)
                _, known, fresh = self._decide(questions, round)
            bodies = {
                canonical: answered(question.form, exact[canonical], ledger, round, self._noise)
                for canonical, question in fresh.items()
            }
            entries = [
                (known[i], True) if i in known else self._entry(question, round, bodies)
                for i, question in enumerate(questions)
            ]
        return [result_of(entry, ledger, recorded) for entry, recorded in entries]

    def _check_list(self, key: str | None, questions: Sequence[_Question]) -> None:
        """The key of a list of queries stands for that list: no other, none longer or shorter."""
        if key is None:
            return
        store = self._ledger.store
        used = [store.keyed(str(question.key)) is not None for question in questions]
        is_longer = store.keyed(_numbered(key, len(questions))) is not None
        if is_longer or any(used) != all(used):
            required = "new for each list of queries: it was used for another one"
            raise InvalidInput("key", required, key)

    def _exact(
        self, fresh: Mapping[str, _Question], round: int, progress: Progress | None
    ) -> dict[str, list[Any]]:
        """What the new questions need of the snapshot, all in one go.

        A fit goes its own way; its noise is in what it brings already.
        """
        sources = {canonical: sources_of(question.form) for canonical, question in fresh.items()}
        flat = [source for listed in sources.values() for source in listed]
        found = iter(self._data.exact(flat, round, progress)) if flat else iter(())
        exact: dict[str, list[Any]] = {
            canonical: [next(found) for _ in listed] for canonical, listed in sources.items()
        }
        for canonical, question in fresh.items():
            if isinstance(question.form, FitForm):
                parts = (self._data, self._ledger.policy, round, self._noise, progress)
                exact[canonical] = [fitted(question.form, *parts)]
        return exact

    def _decide(
        self, questions: Sequence[_Question], round: int | None
    ) -> tuple[int, dict[int, Entry], dict[str, _Question]]:
        """The round, what callers' keys stand for, and what is new; or a refusal.

        It knows sizes, charges and what was asked before, never a record.
        """
        ledger = self._ledger
        records = ledger.refresh().records
        known = {}
        for i, question in enumerate(questions):
            entry = self._keyed(question.key, question.canonical)
            if entry is not None:
                known[i] = entry
        is_known = len(known) == len(questions)
        if round is None:
            round = 0 if is_known else ledger.policy.round_for(records, self._held)
        _check_rounds(questions, known, round)
        if is_known:
            return round, known, {}
        fresh = {
            question.canonical: question
            for i, question in enumerate(questions)
            if i not in known and ledger.answered(question.canonical, round) is None
        }
        if fresh and not ledger.fits(round, *_cost(fresh.values()), self._room):
            raise self._refusal(round, fresh.values())
        return round, known, fresh

    def _entry(
        self, question: _Question, round: int, bodies: dict[str, dict[str, Any]]
    ) -> tuple[Entry, bool]:
        """Within the transaction: the entry of a question, and whether it was there already.

        Each noise is used once; who asks the same again in one batch finds the first answer.
        """
        body = bodies.pop(question.canonical, None)
        if body is not None:
            told = {"query": question.query.text, **body, "analyst": self.analyst}
            if isinstance(question.query, Select):
                told["name"] = question.query.names[body["chosen"]]
            return self._ledger.add_answer(told, question.form, round, question.key), False
        entry = self._answered(question, round)
        if question.key is not None:
            self._ledger.add_key(question.key, entry)
        return entry, True

    def _answered(self, question: _Question, round: int) -> Entry:
        """The answer to a question that is known to have one."""
        entry = self._ledger.answered(question.canonical, round)
        assert entry is not None
        return entry

    def _query(self, query: object) -> Query:
        if isinstance(query, str):
            query = query_of(query)
        if not isinstance(query, Query):
            required = "a query, such as fraction('age > 65'), or its text"
            raise InvalidInput("the query", required, type(query).__name__)
        resolved: Query = self._resolved(query)
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

    def _resolved(self, query: Any) -> Any:
        """With what the custodian declared of registered statistics filled in."""
        match query:
            case CustomStatistic():
                declared = self._ledger.declared(query.name)
                return query if declared is None else query.resolved(declared)
            case Gate():
                return replace(query, query=self._resolved(query.query))
            case Select():
                return replace(query, candidates=tuple(map(self._resolved, query.candidates)))
            case _:
                return query

    def _question(self, query: Query, key: str | None, whole: int = 0) -> _Question:
        assert isinstance(query, Charged)
        form = self._forms.get(query.canonical)
        if form is None:
            if not isinstance(query, Select):  # which sees to it by itself
                written(query)  # a part may be longer than the whole; replay has to read it back
            form = query.form(self._ledger.schema)
            self._ledger.policy.check_covers(form)
            self._ledger.check_registered(form)
            if isinstance(query, Statistical):  # asked most; forms of models hold the models
                if len(self._forms) >= _MOST_FORMS:
                    self._forms.clear()
                self._forms[query.canonical] = form
        return _Question(query, form, key, whole)

    def _keyed(self, key: str | None, canonical: str) -> Entry | None:
        """The answer that a caller's key stands for already."""
        entry = None if key is None else self._ledger.store.keyed(key)
        if entry is not None and entry.read().get("canonical") != canonical:
            required = "new for each query: it was used for another one"
            raise InvalidInput("key", required, key)
        return entry


def _numbered(key: str, i: int) -> str:
    """The key of one part of what a caller's key stands for."""
    return f"{key}/{i}"


def _renamed(result: Result, query: Query) -> Result:
    """A choice under the names that this caller gave, who need not be the first to ask."""
    if isinstance(result, Choice) and isinstance(query, Select):
        return replace(result, name=query.names[result.index])
    return result


def _leaves(query: Query) -> list[Charged]:
    """What is charged of a query: itself, or what it is derived from."""
    if isinstance(query, Derived):
        return [leaf for part in query.parts for leaf in _leaves(part)]
    assert isinstance(query, Charged)
    return [query]


def _check_rounds(questions: Sequence[_Question], known: Mapping[int, Entry], round: int) -> None:
    """The parts of one query are of one round, whatever keys were used for some of them before."""
    rounds: dict[int, int] = {}
    for i, question in enumerate(questions if known else ()):
        found = known[i].read()["round"] if i in known else round
        if rounds.setdefault(question.whole, found) != found:
            required = "new for each query: it was used for a part of this one, at another round"
            raise InvalidInput("key", required, question.key)


def _cost(questions: Iterable[_Question]) -> tuple[int, int]:
    """The price of questions, and how many answers they count for."""
    forms = [question.form for question in questions]
    return sum(form.price for form in forms), sum(form.slots for form in forms)


def _share(limit: object, ledger: Ledger) -> Spent:
    """A share of the budget, and of the plan's answers, rounded down."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0.0 < limit <= 1.0:
        required = "a share of the budget, above 0 and up to 1"
        raise InvalidInput("limit", required, limit, "write 0.25 for a quarter")
    share = Fraction(limit)
    return Spent(int(share * ledger.policy.budget), int(share * ledger.plan.queries))


def checked_text(name: str, value: object) -> str:
    """Who asks, or a key, as a ledger keeps it."""
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST or not value.isprintable():
        raise InvalidInput(name, f"text of 1 to {_LONGEST} printable characters", value)
    return value
