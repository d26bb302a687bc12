"""The one place where a query meets data: quote, ask, hold."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, Self, overload

from surehold.checks import check_share, check_whole
from surehold.data.calibration import Calibration
from surehold.data.record_store import Progress, RecordStore
from surehold.errors import BudgetExhausted, InvalidInput, NotReady
from surehold.ledger.answer_entries import derived_told
from surehold.ledger.draft import Draft
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.ledger.tables import Spent
from surehold.ledger.view import Room, View
from surehold.mechanisms import NoiseSource, to_float
from surehold.queries import (
    Charged,
    Derived,
    FitForm,
    Query,
    ScalarQuery,
    Select,
)
from surehold.session.gradient_descent import fitted
from surehold.session.noisy_answers import answered, names_model
from surehold.session.overview import Overview
from surehold.session.questions import (
    Asked,
    Question,
    Questions,
    by_round,
    check_rounds,
    cost_of,
    is_paid,
    leaves_of,
    numbered,
)
from surehold.session.quotes import Quote, SpendingLimit
from surehold.session.refusals import refusal
from surehold.session.release import Release
from surehold.session.results import Answer, Choice, Result, result_of
from surehold.session.scorer import Scorer

_LONGEST = 200


class _Step(NamedTuple):
    """What an ask comes to.

    ``round`` is that of everything for which no key stands yet. ``due`` are questions that have no
    answer, charged or not, and ``new_keys`` the places of those with a key that was not used yet.
    """

    round: int
    asked: list[Asked]
    due: dict[Asked, Question]
    new_keys: set[int]


class Session(Overview):
    """One analyst's way to a dataset. The budget is the dataset's, shared by all its analysts."""

    def __init__(
        self,
        ledger: Ledger,
        data: RecordStore,
        noise: NoiseSource,
        analyst: str,
        limit: float | None = None,
        *,
        release: Release | None = None,
        calibration: Calibration | None = None,
        fixed_time: bool | None = None,
    ) -> None:
        self._ledger = ledger
        self._data = data
        self._noise = noise
        self.analyst = checked_text("analyst", analyst)
        self._limit = None if limit is None else _share(limit, ledger)
        self._release = release or Release()
        self._calibration = calibration or Calibration(data)
        self._fixed_time = fixed_time
        self._held: int | None = None
        self._questions = Questions(ledger)

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
            round = check_whole("round", round)
            self._ledger.policy.round_for(self._ledger.refresh().records, round)
        self._held = round

    def at(self, round: int | None) -> Self:
        """This session held at a round, beside the one that goes on: ``s.at(20_000).ask(...)``."""
        sibling = copy.copy(self)
        sibling.hold(round)
        return sibling

    @property
    def limit(self) -> SpendingLimit | None:
        """What this analyst may spend in all, has spent, and may yet; None without a limit."""
        most = self._limit
        if most is None:
            return None
        ledger = self._ledger
        with ledger.store.lock:
            state, spent = ledger.refresh(), ledger.spent_by(self.analyst)
        left = max(min(most.units - spent.units, ledger.policy.budget - state.spent), 0)
        return SpendingLimit(
            to_float(most.units),
            to_float(spent.units),
            to_float(left),
            most.answers,
            spent.answers,
        )

    def _room(self, view: View) -> Room:
        """What is left: of what all have, or of this analyst's limit."""
        if self._limit is None:
            return view.room()
        return view.room_within(self._limit, self.analyst)

    def answers_left(self, round: int) -> int:
        """How many more answers fit at a round of the plan, whether or not it is there yet."""
        self._ledger.policy.check_round(round)
        with self._ledger.store.lock:
            self._ledger.refresh()
            return self._ledger.answers_left(round, self._room(self._ledger))

    def scorer(
        self, *, features: Sequence[str], target: str, metric: str = "accuracy", **options: Any
    ) -> Scorer:
        """A scorer for scikit-learn's loops: ``GridSearchCV(..., scoring=session.scorer(...))``."""
        return Scorer(self, features, target, metric, **options)

    # ------------------------------------------------------------------------------ quote

    def quote(self, query: Query | str) -> Quote:
        """What an answer would cost and how wide it would be; free, and it touches no record."""
        asked = self._questions.query(query)
        questions = [self._questions.question(part, None) for part in leaves_of(asked)]
        with self._ledger.store.lock:
            return self._quoted(asked, questions)

    def _quoted(self, query: Query, questions: Sequence[Question]) -> Quote:
        ledger, policy = self._ledger, self._ledger.policy
        records, room = ledger.refresh().records, self._room(ledger)
        reason, more, fresh = None, None, questions
        try:
            round = policy.round_for(records, self._held)
        except NotReady as error:
            round = policy.nearest_round(self._held or records)
            reason, more = str(error), error.numbers.get("more_records")
        else:
            fresh = [q for q in questions if not is_paid(ledger, q.canonical, round)]
            price, slots = cost_of(fresh)
            if fresh and not ledger.fits(round, price, slots, room):
                refused = self._refusal(ledger, round, fresh)
                reason, more = str(refused), refused.more_records
        price, slots = cost_of(fresh)
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
            remaining=to_float(room.filter.remaining(round)),
            answers_left=ledger.answers_left(round, room),
            answers_left_after=self._left_after(room, round, price, slots),
        )

    def _left_after(self, room: Room, round: int, price: int, slots: int) -> int:
        """How many answers would fit at a round after some of that price."""
        charge = self._ledger.policy.mechanism.charge(round)
        affordable = room.filter.remaining(round) // charge - price
        return max(0, min(affordable, room.answers - slots))

    def _refusal(self, view: View, round: int, questions: Iterable[Question]) -> BudgetExhausted:
        forms = [question.form for question in questions]
        return refusal(view, self._room(view), round, forms, self.analyst)

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
        asked = self._questions.query(query)
        if key is not None:
            key = checked_text("key", key)
        if isinstance(asked, Derived):
            return self._derive(asked, key, progress)
        [result] = self._ask([self._questions.question(asked, key)], progress)
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
        asked = [self._questions.query(query) for query in queries]
        leaves = [leaves_of(query) for query in asked]
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
            keys = [numbered(key, i) for i in range(len(flat))]
        if of_all is not None and keys:
            keys[0] = of_all  # so that it is taken, whatever it is used for next
        questions = [
            self._questions.question(leaf, one, whole)
            for (leaf, whole), one in zip(flat, keys, strict=True)
        ]
        return self._ask(questions, progress, of_all)

    def _derive(self, query: Derived, key: str | None, progress: Progress | None) -> Result:
        """Ask for what it is made of, then keep what follows; in between nothing has been told."""
        known = self._keyed(self._ledger, key, query.canonical)
        if known is not None:
            return result_of(known, self._ledger, recorded=True)
        results = self._ask_leaves([leaves_of(query)], key, progress)
        return self._concluded(query, iter(results), key)

    def _concluded(self, query: Query, results: Iterator[Result], key: str | None) -> Result:
        """The result of a query, from those of its leaves, which are taken in order.

        What follows from answers that were all recorded before is implied by their entries. It gets
        an entry of its own only if the caller has a key for it.
        """
        if not isinstance(query, Derived):
            return _renamed(next(results), query)
        parts = [self._concluded(part, results, None) for part in query.parts]
        round, ledger = parts[0].round, self._ledger
        known = ledger.answered(query.canonical, round)
        if known is not None and key is None:
            return result_of(known, ledger, recorded=True)
        entries = [part.entry for part in parts]
        body = {
            "query": query.text,
            "parts": entries,
            **derived_told(query, entries, ledger),
            "analyst": self.analyst,
        }
        is_implied = all(part.recorded for part in parts)
        if is_implied and key is None:
            return self._implied({**body, "query": query.canonical}, parts[-1].analyst, round)
        with ledger.writing() as draft:
            keyed = self._keyed(draft, key, query.canonical)  # others may have come first by now
            known = keyed or draft.answered(query.canonical, round)
            recorded = known is not None
            if known is None:
                known = draft.add_derived(body, query.canonical, round, key, free=is_implied)
            elif key is not None and keyed is None:
                draft.add_key(key, known, self.analyst)
        return result_of(known, ledger, recorded)

    def _implied(self, body: Mapping[str, Any], analyst: str, round: int) -> Result:
        """What follows from recorded answers, the same whoever asks.

        It has the number of the last of them, and the name of the analyst who asked for that.
        """
        ledger = self._ledger
        with ledger.store.lock:
            state, left = ledger.refresh(), ledger.answers_left(round)
        told = {"canonical": body["query"], "round": round, **body, "analyst": analyst}
        told |= {"left": left, "time": state.time, "after": state.to_dict()}
        entry = Entry(max(body["parts"]), "derived", "", b"", told)
        return result_of(entry, ledger, recorded=True)

    def _ask(
        self,
        questions: Sequence[Question],
        progress: Progress | None = None,
        of_all: str | None = None,
    ) -> list[Result]:
        """Refuse, or charge, then evaluate, then answer.

        Every refusal comes first, and the charge is durable before any record is touched. If the
        ask is cut off after that, whoever asks the same again gets the answer, without a charge.
        """
        step = self._decide(self._ledger, questions, None, of_all)
        answered: set[Asked] = set()
        if step.due:
            self._check_evaluable(step.due)
            with self._data.in_flight.hold(step.due):
                step, answered = self._evaluate(questions, step.round, progress, of_all)
        elif step.new_keys:
            with self._ledger.writing() as draft:
                step = self._decide(draft, questions, step.round, of_all)
                self._settle(draft, questions, step, {})
        return self._results(step, answered)

    def _evaluate(
        self,
        questions: Sequence[Question],
        round: int,
        progress: Progress | None,
        of_all: str | None,
    ) -> tuple[_Step, set[Asked]]:
        """Charge, evaluate and answer; others may have been first, so decide once more.

        If all sums are at hand no record is touched, and charge and answer are one step. Otherwise
        the answer is held back before it is committed, not after: others see commits.
        """
        ledger = self._ledger
        step = self._decide(ledger, questions, round, of_all)
        known = self._known(step.due)
        drawn = {} if known is None else self._drawn(step.due, known)
        expected = self._expected(step.due) if known is None else 0.0
        with ledger.writing() as draft:
            step = self._decide(draft, questions, round, of_all)
            answered = self._settle(draft, questions, step, drawn)
        if known is None and step.due:
            with self._release.held(expected):
                drawn = self._drawn(step.due, self._exact(step.due, progress))
            with ledger.writing() as draft:
                answered = self._tell(draft, step.due, drawn)
        return step, answered

    def _decide(
        self, view: View, questions: Sequence[Question], round: int | None, of_all: str | None
    ) -> _Step:
        """The rounds, what callers' keys stand for, and what is due; or a refusal.

        It knows sizes, charges and what was asked before, never a record.
        """
        self._check_list(view, of_all, questions)
        keyed = [self._keyed(view, question.key, question.canonical) for question in questions]
        if round is None:
            records = self._ledger.refresh().records
            round = 0 if all(keyed) else view.policy.round_for(records, self._held)
        asked = [
            (question.canonical, round if entry is None else int(entry.read()["round"]))
            for question, entry in zip(questions, keyed, strict=True)
        ]
        check_rounds(questions, asked)
        due: dict[Asked, Question] = {}
        for one, question in zip(asked, questions, strict=True):
            if view.answered(*one) is None:
                due.setdefault(one, question)
        # A charge that is gone by now was answered since: others may be quicker than these reads.
        unpaid = [question for one, question in due.items() if not is_paid(view, *one)]
        if unpaid and not view.fits(round, *cost_of(unpaid), self._room(view)):
            raise self._refusal(view, round, unpaid)
        pairs = enumerate(zip(questions, keyed, strict=True))
        new_keys = {i for i, (question, entry) in pairs if question.key and entry is None}
        return _Step(round, asked, due, new_keys)

    def _settle(
        self,
        draft: Draft,
        questions: Sequence[Question],
        step: _Step,
        drawn: Mapping[Asked, dict[str, Any]],
    ) -> set[Asked]:
        """Charge what is due, or answer it if that was drawn already, and note new keys."""
        answered_now: set[Asked] = set()
        for i, (question, asked) in enumerate(zip(questions, step.asked, strict=True)):
            entry = draft.answered(*asked) or draft.charged(*asked)
            if entry is not None and i in step.new_keys:
                draft.add_key(str(question.key), entry, self.analyst)
            elif entry is None and asked not in drawn:
                bill = {"query": question.query.text, "analyst": self.analyst}
                draft.add_charge(bill, question.form, asked[1], question.key)
            elif entry is None:
                answered_now |= self._tell(draft, {asked: question}, drawn, question.key)
        return answered_now | (self._tell(draft, step.due, drawn) if drawn else set())

    def _drawn(
        self, due: Mapping[Asked, Question], exact: Mapping[Asked, list[Any]]
    ) -> dict[Asked, dict[str, Any]]:
        """What is to be told of each question, with its noise; nobody has seen it yet."""
        policy = self._ledger.policy
        return {
            asked: answered(question.form, exact[asked], policy, asked[1], self._noise)
            for asked, question in due.items()
        }

    def _tell(
        self,
        draft: Draft,
        due: Mapping[Asked, Question],
        drawn: Mapping[Asked, dict[str, Any]],
        key: str | None = None,
    ) -> set[Asked]:
        """Keep the answers to what is still unanswered; which they are."""
        answered_now = set()
        for asked, question in due.items():
            if draft.answered(*asked) is None:
                body = drawn[asked]
                told = {"query": question.query.text, **body, "analyst": self.analyst}
                if isinstance(question.query, Select):
                    told["name"] = question.query.names[body["chosen"]]
                draft.add_answer(told, question.form, asked[1], key)
                answered_now.add(asked)
        return answered_now

    def _results(self, step: _Step, answered: set[Asked]) -> list[Result]:
        """What each question comes to; who asks the same twice at once finds the first answer."""
        results, new = [], set(answered)
        for asked in step.asked:
            entry = self._ledger.answered(*asked)
            assert entry is not None
            results.append(result_of(entry, self._ledger, recorded=asked not in new))
            new.discard(asked)
        return results

    def _check_list(self, view: View, key: str | None, questions: Sequence[Question]) -> None:
        """The key of a list of queries stands for that list: no other, none longer or shorter."""
        if key is None:
            return
        used = [view.keyed(str(question.key)) is not None for question in questions]
        is_longer = view.keyed(numbered(key, len(questions))) is not None
        if is_longer or any(used) != all(used):
            required = "new for each list of queries: it was used for another one"
            raise InvalidInput("key", required, key)

    def _check_evaluable(self, due: Mapping[Asked, Question]) -> None:
        """Refuse what can't be evaluated, whatever records hold, before it is charged."""
        for round, sources in by_round(due).items():
            flat = [one for listed in sources.values() for one in listed]
            self._data.check_evaluable(flat, round)
            # How long records take to load depends on how long their texts are.
            loading = self._calibration.loading(round) if self._is_held_back(due) else 0.0
            with self._release.held(loading):
                self._data.load(round)

    def _is_held_back(self, due: Mapping[Asked, Question]) -> bool:
        """Whether the answers are released at a time that does not depend on records."""
        if self._fixed_time is not None:
            return self._fixed_time
        return any(names_model(question.form) for question in due.values())

    def _expected(self, due: Mapping[Asked, Question]) -> float:
        """How many seconds an evaluation takes, by public facts; 0 if it is not held back."""
        if not self._is_held_back(due):
            return 0.0
        expected = 0.0
        for round, sources in by_round(due).items():
            flat = [source for listed in sources.values() for source in listed]
            expected += self._calibration.seconds(flat, round)
        for (_, round), question in due.items():
            if isinstance(question.form, FitForm):
                expected += self._calibration.fit_seconds(question.form, round)
        return expected

    def _known(self, due: Mapping[Asked, Question]) -> dict[Asked, list[Any]] | None:
        """What is due, if it can be told without touching a record."""
        known: dict[Asked, list[Any]] = {}
        for round, sources in by_round(due).items():
            for asked, listed in sources.items():
                found = self._data.known(listed, round) if listed else None
                if found is None:
                    return None
                known[asked] = list(found)
        return known

    def _exact(
        self, due: Mapping[Asked, Question], progress: Progress | None
    ) -> dict[Asked, list[Any]]:
        """What is due, from the records, all of a round in one go.

        A fit goes its own way; its noise is in what it brings already.
        """
        exact: dict[Asked, list[Any]] = {}
        for round, sources in by_round(due).items():
            flat = [source for listed in sources.values() for source in listed]
            found = iter(self._data.exact(flat, round, progress)) if flat else iter(())
            exact |= {asked: [next(found) for _ in listed] for asked, listed in sources.items()}
        for asked, question in due.items():
            if isinstance(question.form, FitForm):
                parts = (self._data, self._ledger.policy, asked[1], self._noise, progress)
                exact[asked] = [fitted(question.form, *parts)]
        return exact

    def _keyed(self, view: View, key: str | None, canonical: str) -> Entry | None:
        """The answer, or the charge for it, that a caller's key stands for already."""
        entry = None if key is None else view.keyed(key)
        if entry is not None and entry.read().get("canonical") != canonical:
            required = "new for each query: it was used for another one"
            raise InvalidInput("key", required, key)
        return entry


def _renamed(result: Result, query: Query) -> Result:
    """A choice under the names that this caller gave, who need not be the first to ask."""
    if isinstance(result, Choice) and isinstance(query, Select):
        return replace(result, name=query.names[result.index])
    return result


def _share(limit: object, ledger: Ledger) -> Spent:
    """A share of the budget, and of the plan's answers, rounded down."""
    share = Fraction(check_share("limit", limit))
    return Spent(int(share * ledger.policy.budget), int(share * ledger.plan.queries))


def checked_text(name: str, value: object) -> str:
    """Who asks, or a key, as a ledger keeps it."""
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST or not value.isprintable():
        raise InvalidInput(name, f"text of 1 to {_LONGEST} printable characters", value)
    return value
