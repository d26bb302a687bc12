"""What can be read of a ledger, whether it is committed or still being written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from surehold.errors import InvalidInput, LedgerCorrupt, WrongGuard
from surehold.ledger.entries import Entry, State
from surehold.ledger.filter import CappedFilter, Filter, ReservedFilter
from surehold.ledger.names import KeptName, Names
from surehold.ledger.policy import Policy, Rules
from surehold.ledger.store import Store
from surehold.ledger.submissions import KeptSubmission
from surehold.ledger.tables import ClaimRow, Spent
from surehold.planning import Plan
from surehold.queries import CheckedQuery, CustomMeasure, Declared, is_same
from surehold.queries.leaderboards import LeaderboardRules

if TYPE_CHECKING:
    from surehold.ledger.surprise_policy import SurprisePolicy

Asked: TypeAlias = tuple[str, int]
"""A question: the canonical text of a query, and its round."""


class Found(NamedTuple):
    """What the ledger has of some questions: answers, and charges that have no answer yet."""

    answers: dict[Asked, Entry]
    charges: dict[Asked, Entry]


class Room(NamedTuple):
    """What is left: of the budget, which a filter knows, and of the plan's answers."""

    filter: Filter
    answers: int


class View:
    """Where a dataset stands: its state, its filter, and what was asked of it."""

    store: Store
    rules: Rules
    state: State
    filter: Filter
    reserved: Mapping[str, Spent]
    """What is kept for analysts in all, of which they may have spent a part."""
    _head: Entry

    @property
    def policy(self) -> Policy:
        """The plan at run time; refused for a dataset with the surprise guard."""
        if isinstance(self.rules, Policy):
            return self.rules
        raise WrongGuard("a plan with its budget", "noise")

    @property
    def surprise(self) -> SurprisePolicy:
        """The surprise guard; refused for a dataset with the noise guard."""
        if self.rules.guard == "surprise":
            return cast("SurprisePolicy", self.rules)
        raise WrongGuard("what is expected, registered or counted in bits", "surprise")

    @property
    def plan(self) -> Plan:
        """The plan that the dataset was created with."""
        return self.policy.plan

    @property
    def head(self) -> Entry:
        """The last entry."""
        return self._head

    def answers_left(self, t: int, room: Room | None = None) -> int:
        """How many answers fit at round t; ``room`` is what is left for all by default."""
        filter, unasked = room or self.room()
        return self.policy.answers_left(filter, t, self.plan.queries - unasked)

    def fits(self, t: int, price: int, slots: int, room: Room) -> bool:
        """Whether queries of that price, which count for ``slots`` answers, fit at round t."""
        return slots <= room.answers and room.filter.admits(t, price * self.policy.unit_charge(t))

    def room(self) -> Room:
        """What is left for all analysts together."""
        return Room(self.filter, self.plan.queries - self.state.answers)

    def room_for(self, analyst: str, limit: Spent | None = None) -> Room:
        """What is left for one analyst, who may take no more than a limit in all.

        What is kept for others is not: only what is left of it counts, so that nothing is kept
        twice.
        """
        (filter, answers), kept = self.room(), self.kept_from(analyst)
        if kept.units:
            filter = ReservedFilter(filter, kept.units)
        answers -= kept.answers
        if limit is None:
            return Room(filter, answers)
        spent = self.spent_by(analyst)
        filter = CappedFilter(filter, limit.units - spent.units)
        return Room(filter, min(answers, limit.answers - spent.answers))

    def kept_from(self, analyst: str, under_way: Mapping[str, int] | None = None) -> Spent:
        """What is reserved for all other analysts and not spent yet.

        ``under_way`` is what each may owe for questions that are charged and not answered.
        """
        kept = Spent(0, 0)
        for other, reserved in self.reserved.items():
            if other != analyst:
                kept = kept.plus(*self._unspent(other, reserved, (under_way or {}).get(other, 0)))
        return kept

    def _unspent(self, analyst: str, reserved: Spent, owed: int) -> Spent:
        spent = self.spent_by(analyst)
        units = max(reserved.units - spent.units - owed, 0)
        return Spent(units, max(reserved.answers - spent.answers, 0))

    def spent_by(self, analyst: str) -> Spent:
        """What one analyst's questions were charged."""
        return self.store.spent_by(analyst)

    def answered(self, canonical: str, t: int) -> Entry | None:
        """The answer that was given to this query at round t."""
        return self.find([(canonical, t)]).answers.get((canonical, t))

    def charged(self, canonical: str, t: int) -> Entry | None:
        """The charge for this query at round t, if it was charged and not answered yet."""
        return self.find([(canonical, t)]).charges.get((canonical, t))

    def find(self, asked: Iterable[Asked]) -> Found:
        """What there is of each question."""
        by_key = {question(*one): one for one in asked}
        answers, charges = (
            {by_key[key]: entry for key, entry in entries.items()}
            for entries in self._find_in_any_words(list(by_key))
        )
        for (canonical, t), entry in (*answers.items(), *charges.items()):
            body = entry.read()
            if body.get("round") != t or not is_same(body.get("canonical"), canonical):
                raise LedgerCorrupt("the ledger", "its index points to another answer", entry.seq)
        return Found(answers, charges)

    def _find_in_any_words(
        self, keys: Sequence[bytes]
    ) -> tuple[dict[bytes, Entry], dict[bytes, Entry]]:
        """What there is under these keys or, where nothing is, under those of earlier versions."""
        found = self._find(keys)
        earlier = self.store.earlier([key for key in keys if not any(key in one for one in found)])
        if earlier:
            for now, past in zip(found, self._find(list(earlier.values())), strict=True):
                now |= {key: past[old] for key, old in earlier.items() if old in past}
        return found

    def claim_row(self, subject: bytes) -> ClaimRow | None:
        """Where the claim of a question is, under a surprise guard."""
        row = self._claim(subject)
        if row is None:
            earlier = self.store.earlier([subject])
            row = self._claim(earlier[subject]) if earlier else None
        return row

    def _claim(self, subject: bytes) -> ClaimRow | None:
        return self.store.claim(subject)

    def entry(self, seq: int) -> Entry:
        """An entry that has to be there."""
        entry = self.store.entry(seq)
        if entry is None:
            raise LedgerCorrupt("the ledger", "an entry that others refer to is missing", seq)
        return entry

    def keyed(self, key: str) -> Entry | None:
        """What a caller's key stands for: an append, an answer, or a charge without one yet."""
        entry = self.store.keyed(key)
        if entry is None or entry.kind != "charge":
            return entry
        body = entry.read()
        answer = self.answered(str(body["canonical"]), int(body["round"]))
        return entry if answer is None or answer.seq < entry.seq else answer

    def _find(self, keys: Sequence[bytes]) -> tuple[dict[bytes, Entry], dict[bytes, Entry]]:
        return self.store.find(keys)

    @property
    def registered(self) -> dict[str, dict[str, Any]]:
        """What custodians declared of statistics, by their names."""
        entries = (entry.read()["statistic"] for entry in self.store.of_kind("register"))
        return {str(statistic["name"]): statistic for statistic in entries}

    @property
    def names(self) -> Names:
        """The names of questions."""
        return Names(map(KeptName.of_entry, self.store.of_kind("name")))

    def declared(self, name: str) -> Declared | None:
        """What was declared of a statistic."""
        known = self.registered.get(name)
        return None if known is None else Declared(*(known[field] for field in Declared._fields))

    @property
    def kept(self) -> dict[str, dict[str, Any]]:
        """What was noted of tables and models that are kept, by their hashes."""
        return {str(body["of"]): body for body in self.store.parsed("keep", Entry.read)}

    @property
    def leaderboard(self) -> LeaderboardRules | None:
        """What was fixed when a leaderboard was opened; None if none was."""
        opened = next(iter(self.store.of_kind("leaderboard")), None)
        return None if opened is None else LeaderboardRules.of(opened.read())

    @property
    def submissions(self) -> list[KeptSubmission]:
        """All submissions to the leaderboard, in order."""
        return self.store.parsed("submission", KeptSubmission.of_entry)

    def check_registered(self, form: CheckedQuery) -> None:
        """Refuse a statistic that no custodian declared as it is asked."""
        check_registered(form, self.declared)


def question(canonical: str, t: int) -> bytes:
    """The key under which the index has an answer."""
    return hashlib.sha256(f"{t} {canonical}".encode()).digest()[:20]


def check_registered(form: CheckedQuery, declared: Callable[[str], Declared | None]) -> None:
    """Refuse a statistic that was not ``declared`` as it is asked."""
    for source in form.sources:
        if isinstance(source, CustomMeasure) and declared(source.name) != source.declared:
            required = "one that the custodian registered"
            raise InvalidInput("the statistic", required, source.canonical)


def reservations_of(entries: Iterable[Entry]) -> dict[str, Spent]:
    """What is kept for analysts, from the entries that say so: the last one of each counts."""
    found: dict[str, Spent] = {}
    for entry in entries:
        body = entry.read()
        found[str(body["analyst"])] = Spent(int(body["units"]), int(body["answers"]))
    return {analyst: kept for analyst, kept in found.items() if kept != (0, 0)}
