"""The one place where a query meets data: quote, ask, hold."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.data.growing import GrowingData
from holdfast.errors import BudgetExhausted, InvalidInput, NotReady
from holdfast.ledger.entries import Entry
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.replay import scaled
from holdfast.mechanisms import NoiseSource, to_float
from holdfast.queries import Measure, Query, query_of
from holdfast.session.answers import Answer, Budget, Quote, Transcript, answer_of

_LONGEST = 200
_MOST_MEASURES = 4096


@dataclass(frozen=True)
class _Question:
    """A checked query, and the caller's key for it."""

    query: Query
    measure: Measure
    key: str | None

    @property
    def canonical(self) -> str:
        return self.measure.canonical


class Session:
    """One analyst's way to a dataset. The budget is the dataset's, shared by all its analysts."""

    def __init__(self, ledger: Ledger, data: GrowingData, noise: NoiseSource, analyst: str) -> None:
        self._ledger = ledger
        self._data = data
        self._noise = noise
        self.analyst = _checked_text("analyst", analyst)
        self._held: int | None = None
        self._measures: dict[str, Measure] = {}  # of queries that were checked before

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

    @property
    def budget(self) -> Budget:
        """The budget of the record that is exposed most, the first."""
        spent, total = self._ledger.refresh().spent, self._ledger.policy.budget
        return Budget(to_float(total), to_float(spent), to_float(total - spent))

    def answers_left(self, round: int) -> int:
        """How many more answers fit at a round."""
        with self._ledger.store.lock:
            self._ledger.refresh()
            return self._ledger.answers_left(round)

    @property
    def transcript(self) -> Transcript:
        """All answers of the dataset so far, whoever asked."""
        return Transcript(self._ledger)

    # ------------------------------------------------------------------------------ quote

    def quote(self, query: Query | str) -> Quote:
        """What an answer would cost and how wide it would be; free, and it touches no record."""
        asked = self._question(query, None)
        with self._ledger.store.lock:
            return self._quoted(asked)

    def _quoted(self, asked: _Question) -> Quote:
        ledger, policy = self._ledger, self._ledger.policy
        records = ledger.refresh().records
        reason, more, recorded = None, None, False
        try:
            round = policy.round_for(records, self._held)
        except NotReady as error:
            round = policy.nearest_round(self._held or records)
            reason, more = str(error), error.numbers.get("more_records")
        else:
            recorded = ledger.answered(asked.canonical, round) is not None
            if not recorded and ledger.answers_left(round) < 1:
                refusal = self._refusal(round, 1)
                reason, more = str(refusal), refusal.more_records
        low, high, bits = asked.query.low, asked.query.high, asked.measure.bits
        return Quote(
            query=asked.canonical,
            round=round,
            charge=0.0 if recorded else to_float(policy.mechanism.charge(round)),
            width=policy.widest(low, high, bits),
            allowed=reason is None,
            recorded=recorded,
            reason=reason,
            more_records=more,
            remaining=to_float(ledger.filter.remaining(round)),
            answers_left=ledger.answers_left(round),
        )

    # -------------------------------------------------------------------------------- ask

    def ask(self, query: Query | str, *, key: str | None = None) -> Answer:
        """Check, charge and answer in one durable step, then tell.

        The same query at the same round gives the recorded answer, free. With a ``key`` of the
        caller's own a question that is repeated, after a crash say, gives the recorded answer too,
        whatever the round is by then.
        """
        [answer] = self._ask([self._question(query, key)])
        return answer

    def ask_many(
        self, queries: Iterable[Query | str], *, key: str | None = None
    ) -> tuple[Answer, ...]:
        """All at one round, all or none, in one pass over the data and one durable step."""
        if isinstance(queries, str | Query) or not isinstance(queries, Iterable):
            raise InvalidInput("queries", "a list of queries", queries)
        queries = list(queries)
        if key is not None:
            key = _checked_text("key", key)
        keys = [None if key is None else f"{key}/{i}" for i in range(len(queries))]
        return tuple(self._ask([self._question(*pair) for pair in zip(queries, keys, strict=True)]))

    def _ask(self, questions: Sequence[_Question]) -> list[Answer]:
        ledger = self._ledger
        with ledger.store.lock:
            round, known, fresh = self._decide(questions, None)
            head = ledger.head.seq
        totals = self._data.sums([question.measure for question in fresh.values()], round)
        total_of = dict(zip(fresh, totals, strict=True))
        if not fresh and not any(question.key for question in questions):
            known = {i: self._answered(question, round) for i, question in enumerate(questions)}
        if len(known) == len(questions):
            return [answer_of(known[i], ledger, recorded=True) for i in range(len(questions))]
        with ledger.writing():
            if ledger.head.seq != head:  # somebody wrote meanwhile: decide again, now nobody can
                _, known, fresh = self._decide(questions, round)
            noises = dict(zip(fresh, self._noise.draw(len(fresh)), strict=True))
            entries = [
                (known[i], True) if i in known else self._entry(question, round, total_of, noises)
                for i, question in enumerate(questions)
            ]
        return [answer_of(entry, ledger, recorded) for entry, recorded in entries]

    def _decide(
        self, questions: Sequence[_Question], round: int | None
    ) -> tuple[int, dict[int, Entry], dict[str, _Question]]:
        """The round, what callers' keys stand for, and what is new; or a refusal.

        It knows sizes, charges and what was asked before, never a record.
        """
        ledger = self._ledger
        records = ledger.refresh().records
        known = self._keyed(questions)
        if len(known) == len(questions):
            return round or 0, known, {}
        if round is None:
            round = ledger.policy.round_for(records, self._held)
        fresh = {
            question.canonical: question
            for i, question in enumerate(questions)
            if i not in known and ledger.answered(question.canonical, round) is None
        }
        if len(fresh) > ledger.answers_left(round):
            raise self._refusal(round, len(fresh))
        return round, known, fresh

    def _entry(
        self, question: _Question, round: int, total_of: dict[str, int], noises: dict[str, int]
    ) -> tuple[Entry, bool]:
        """Within the transaction: the entry of a question, and whether it was there already.

        Each noise is taken once; who asks the same again in one batch finds the first answer.
        """
        ledger, canonical = self._ledger, question.canonical
        if canonical in noises:
            return self._write(question, round, total_of[canonical], noises.pop(canonical)), False
        entry = self._answered(question, round)
        if question.key is not None:
            ledger.add_key(question.key, entry)
        return entry, True

    def _answered(self, question: _Question, round: int) -> Entry:
        """The answer to a question that is known to have one."""
        entry = self._ledger.answered(question.canonical, round)
        assert entry is not None
        return entry

    def _write(self, question: _Question, round: int, total: int, noise: int) -> Entry:
        policy, query, bits = self._ledger.policy, question.query, question.measure.bits
        unit = policy.mechanism.answer(total, bits, round, noise)
        bounds = policy.bounds(unit, query.low, query.high, bits)
        body = {
            "query": query.text,
            "low": query.low,
            "high": query.high,
            "bits": bits,
            "unit": unit,
            "value": scaled(unit, query.low, query.high),
            "width": bounds.width,
            "interval": [bounds.low, bounds.high],
            "sigma": policy.mechanism.sigma,
            "analyst": self.analyst,
        }
        return self._ledger.add_answer(body, question.canonical, round, question.key)

    def _question(self, query: object, key: str | None) -> _Question:
        if isinstance(query, str):
            query = query_of(query)
        if not isinstance(query, Query):
            required = "a query, such as fraction('age > 65'), or its text"
            raise InvalidInput("the query", required, type(query).__name__)
        if key is not None:
            key = _checked_text("key", key)
        measure = self._measures.get(query.canonical)
        if measure is None:
            if len(self._measures) >= _MOST_MEASURES:
                self._measures.clear()
            measure = self._measures[query.canonical] = query.measure(self._ledger.schema)
        return _Question(query, measure, key)

    def _keyed(self, questions: Sequence[_Question]) -> dict[int, Entry]:
        """The answers that callers' keys stand for already."""
        found = {}
        for i, question in enumerate(questions):
            entry = None if question.key is None else self._ledger.store.keyed(question.key)
            if entry is not None:
                if entry.read().get("canonical") != question.canonical:
                    required = "new for each query: it was used for another one"
                    raise InvalidInput("key", required, question.key)
                found[i] = entry
        return found

    def _refusal(self, round: int, count: int) -> BudgetExhausted:
        ledger, policy = self._ledger, self._ledger.policy
        charge, left = policy.mechanism.charge(round), ledger.filter.remaining(round)
        given, records = ledger.state.answers, ledger.state.records
        fits_at = None
        if given + count <= ledger.plan.queries:
            fits_at = policy.fits_at(ledger.filter, round, count)
        if fits_at is None:
            fitting = ledger.answers_left(round)
            hint = (
                f"{fitting:,} of the {count:,} queries would fit"
                if fitting and count > 1
                else f"no more answers fit before the plan ends, at n = {policy.last_round:,}"
            )
        elif fits_at <= records:
            hint = f"it would fit at round {fits_at:,}, which is there: hold a later round"
        else:
            hint = f"it would fit after {fits_at - records:,} more records, at {fits_at:,}"
        more = None if fits_at is None else max(fits_at - records, 0)
        return BudgetExhausted(to_float(count * charge), to_float(left), round, fits_at, more, hint)


def _checked_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST or not value.isprintable():
        raise InvalidInput(name, f"text of 1 to {_LONGEST} printable characters", value)
    return value
