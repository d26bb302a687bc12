"""A draft: the entries of one transaction, which no one else sees until they are committed."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count as count_from
from typing import Any, Self

from surehold.errors import InvalidInput, RequestRefused
from surehold.ledger.entries import Entry, Kind, State, next_entry
from surehold.ledger.filter import Filter, UncommittedFilter
from surehold.ledger.names import KeptName, Names
from surehold.ledger.policy import Rules
from surehold.ledger.store import Store
from surehold.ledger.submissions import KeptSubmission, best_of
from surehold.ledger.tables import Pending, RoundTotals, Segment, Spent
from surehold.ledger.view import View, question
from surehold.queries import Form
from surehold.queries.dashboard import MOST_QUESTIONS
from surehold.queries.leaderboards import LeaderboardRules

TELLING = 100
"""Two appends of this many records are not equal by chance; of fewer they may be."""

FREE_A_DAY = 1000
"""Entries that one analyst may add in a day (UTC) without being charged for any of them."""
_DAY = 86_400


class Draft(View):
    """A ledger as it will be once the transaction is committed."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        head: Entry,
        state: State,
        filter: Filter,
        spending: Mapping[str, Spent],
        reserved: Mapping[str, Spent],
        clock: Callable[[], float],
    ) -> None:
        self.store, self.rules = store, rules
        self._head, self.state = head, state
        self.filter: UncommittedFilter = UncommittedFilter(filter)
        self.reserved = reserved
        self._clock = clock
        self._added: list[Entry] = []
        self._is_plain = True
        self._new_asked: dict[bytes, Entry] = {}
        self._new_charged: dict[bytes, Entry] = {}
        self._settled: list[bytes] = []  # charged before, answered now
        self._rounds: dict[int, RoundTotals] = {}
        self.new_names: list[KeptName] = []
        self.limits_free = True
        """Whether free entries are limited; those that a successor takes over are not."""
        self._known_spending = spending
        self.spending: dict[str, Spent] = {}
        """What analysts who are charged in this draft have been charged in all."""
        self.last = self
        """The last draft of its transaction, all of which are written but for this one."""

    def next(self) -> Self:
        """A draft of what comes after this one, which is written, in the same transaction."""
        parts = (self._head, self.state, self.filter, self._known_spending, self.reserved)
        draft = type(self)(self.store, self.rules, *parts, self._clock)
        draft.spending, draft.new_names = dict(self.spending), [*self.new_names]
        draft._is_plain = self.adds_only_answers
        return draft

    # ----------------------------------------------------------------------------- records

    def check_new(self, content: str, count: int) -> None:
        """Refuse records that were appended before: counted twice, they void every width."""
        entry = self.store.brought(content) if count >= TELLING else None
        if entry is not None:
            required = "of new records, as no width holds if records count twice"
            got = f"the {count:,} records of entry {entry:,} again"
            hint = "say again (--again) if they are new all the same"
            raise InvalidInput("an append", required, got, hint)

    def appended(self, key: str | None, content: str, likeness: str = "") -> Entry | None:
        """The append that a caller's key stands for, which is one of this content.

        Or of the same records, by their values, if they came in another file.
        """
        entry = None if key is None else self.keyed(key)
        is_same = entry is None or entry.read().get("content") == content
        if entry is not None and not is_same and self.store.brought(likeness) != entry.seq:
            raise _used(key)
        return entry

    def appended_by_id(self, key: str | None, offered: int, new: int) -> Entry | None:
        """The append that a caller's key stands for, where records have ids.

        What it brought is there, by its ids, so there is nothing ``new`` when it is made again.
        """
        entry = None if key is None else self.keyed(key)
        if entry is None:
            return None
        body = entry.read()
        brought = body["count"] + body["known"] if entry.kind == "append" else None
        if new or brought != offered:
            raise _used(key)
        return entry

    def add_rows(
        self, rows: str, count: int, key: str | None = None, known: int | None = None
    ) -> Entry:
        """A small append, which waits in the database.

        ``known`` are the records it passed over, as their ids were there; None without ids.
        """
        start = self.state.records
        self.store.add_pending(Pending(start, count, rows))
        body = {"start": start, "count": count, "content": content_of(rows), "segments": []}
        body |= {} if known is None else {"known": known}
        return self._add_append(body, self.state.grown(count, self._now()), key)

    def add_segments(
        self,
        segments: Sequence[Segment],
        likeness: str,
        key: str | None = None,
        known: int | None = None,
    ) -> Entry:
        """A large append, whose files are durable already; ``likeness`` is that of its values."""
        count = sum(segment.count for segment in segments)
        body = {
            "start": self.state.records,
            "count": count,
            "content": content_of_files(segment.digest for segment in segments),
            "likeness": likeness,
            "segments": [asdict(segment) for segment in segments],
        }
        body |= {} if known is None else {"known": known}
        state = self.state.grown(count, self._now())
        for segment in segments:
            self.store.add_segment(segment)
            state = state.sealed(segment.digest, segment.count)
        return self._add_append(body, state, key)

    def _add_append(self, body: Mapping[str, Any], after: State, key: str | None) -> Entry:
        entry = self._add("append", {**body, **_salt()}, after, key)
        for content in contents_of(body):
            self.store.note_content(content, entry.seq)
        return entry

    def seal(self, segment: Segment) -> Entry:
        """What was pending is in a file now, which is durable already."""
        self.store.add_segment(segment)
        self.store.drop_pending(segment.start + segment.count)
        state = self.state.grown(0, self._now()).sealed(segment.digest, segment.count)
        return self._add("seal", {**asdict(segment), **_salt()}, state)

    def register(self, statistic: Mapping[str, Any]) -> None:
        """Keep what a custodian declares of a statistic; the same again changes nothing."""
        known = self.registered.get(statistic["name"])
        if known == dict(statistic):
            return
        if known is not None:
            required = f"as it was registered: {known}"
            hint = "give the changed one another name"
            raise InvalidInput("the statistic", required, dict(statistic), hint)
        self._add("register", {"statistic": dict(statistic)}, self._unchanged())

    @property
    def names(self) -> Names:
        """The names of questions, with those of this draft."""
        return Names([*super().names.by_name.values(), *self.new_names])

    def add_name(self, kept: KeptName, analyst: str) -> bool:
        """Keep the name of a question; False if it was declared just so before.

        A name means one question for ever: answers under it were given for that one.
        """
        named, name = self.names, kept.question.name
        known = named.by_name.get(name)
        if known is not None and known.canonical != kept.canonical:
            required = f"the name of one question for ever, and it is that of {known.canonical}"
            hint = "give the changed question another name, and the old one watch = false"
            raise InvalidInput(f"the name {name!r}", required, kept.canonical, hint)
        if known == kept:
            return False
        if known is None and len(named.by_name) >= MOST_QUESTIONS:
            required = f"one of at most {MOST_QUESTIONS:,} of a dataset"
            raise InvalidInput(f"the name {name!r}", required, "one more")
        self._take_free(analyst)
        after = self._unchanged()
        body = {**kept.to_entry(), "analyst": analyst, "time": after.time}
        self._add("name", body, after)
        self.new_names.append(kept)
        return True

    def keep(
        self, of: str, name: str, about: Mapping[str, Any], analyst: str, is_chosen: bool
    ) -> dict[str, Any]:
        """Note that a table or a model is kept, by its hash, and its name, for good.

        No two have the same name, and none has two. A name that nobody chose gives way: it is
        numbered, or left out if there is another already.
        """
        kept = self.kept
        known = kept.get(of)
        if known is not None:
            if is_chosen and known["name"] != name:
                required = f"{known['name']!r}, as it was named before"
                raise InvalidInput("the name", required, name, "names are kept for good")
            return known
        taken = {body["name"] for body in kept.values()}
        if name in taken and is_chosen:
            required = "one that no other table or model has"
            raise InvalidInput("the name", required, name, "choose another name")
        if name in taken:
            name = next(one for i in count_from(2) if (one := f"{name}-{i}") not in taken)
        self._take_free(analyst)
        body = {"of": of, "name": name, **about, "analyst": analyst}
        after = self._unchanged()
        self._add("keep", {**body, "time": after.time}, after)
        return body

    def reserve(self, analyst: str, amount: str, kept: Spent) -> None:
        """Keep something for an analyst, in all; ``amount`` is what the custodian said."""
        after = self._unchanged()
        body = {"analyst": analyst, "amount": amount, "units": str(kept.units)}
        self._add("reserve", {**body, "answers": kept.answers, "time": after.time}, after)
        others = {name: one for name, one in self.reserved.items() if name != analyst}
        self.reserved = {**others, analyst: kept} if any(kept) else others

    def open_leaderboard(self, rules: LeaderboardRules) -> None:
        """Fix the question of a leaderboard, once and for good."""
        if self.leaderboard is not None:
            required = "opened once: its question is fixed for good"
            raise InvalidInput("the leaderboard", required, "opened before")
        after = self._unchanged()
        self._add("leaderboard", {**rules.to_dict(), "time": after.time}, after)

    def submissions_left(self, analyst: str) -> int:
        """How many submissions the leaderboard still allows an analyst today (UTC)."""
        rules, today = self.leaderboard, day_of(self._now())
        assert rules is not None
        times = [one.time for one in self.submissions if one.analyst == analyst]
        return max(rules.daily - sum(day_of(time) == today for time in times), 0)

    def check_daily(self, analyst: str) -> None:
        """Refuse one more submission of an analyst than the leaderboard allows in a day."""
        rules, now = self.leaderboard, self._now()
        assert rules is not None
        if not self.submissions_left(analyst):
            reason = f"the limit of {rules.daily:,} submissions a day is reached"
            hint = "submit again after midnight (UTC)"
            raise RequestRefused(429, reason, hint, (day_of(now) + 1) * _DAY - now)

    def add_submission(self, kept: KeptSubmission) -> bool:
        """Keep a submission; False if it was not compared with what is the best by now."""
        best = best_of(self.submissions)
        if kept.against != (None if best is None else best.of):
            return False
        self.check_daily(kept.analyst)
        after = self._unchanged()
        self._add("submission", replace(kept, time=after.time).to_entry(), after)
        return True

    def succeed(self, successor: Mapping[str, Any]) -> None:
        """Close the dataset for good: another one takes over."""
        self._add("succeeded", successor, self._unchanged())

    # ----------------------------------------------------------------------------- answers

    def prepare(self, form: Any, t: int, bill: Mapping[str, Any]) -> None:
        """Register what a question claims, before any is charged; noise needs nothing."""

    def terms(self, form: Any, t: int) -> Any:
        """The terms of an answer; under noise they follow from the plan."""
        return None

    def add_charge(self, body: Mapping[str, Any], form: Any, t: int, key: str | None) -> Entry:
        """Charge every record of round t for a query that is answered later.

        Once it is durable records may be touched, and whatever happens then, the charge stays.
        """
        units, after = self._take(body["analyst"], form, t)
        asked = {"canonical": form.canonical, "round": t, "charge": str(units), **body}
        entry = self._add("charge", {**asked, "time": after.time}, after, key)
        self._new_charged[question(form.canonical, t)] = entry
        return entry

    def add_answer(
        self, body: Mapping[str, Any], form: Any, t: int, charge: Entry | None, key: str | None
    ) -> Entry:
        """Keep an answer, and charge for it unless it has a ``charge`` already."""
        if charge is None:
            units, after = self._take(body["analyst"], form, t)
            paid: dict[str, Any] = {"charge": str(units)}
        else:
            after, bill = self._unchanged(), charge.read()
            paid = {name: bill[name] for name in ("charge", "query", "analyst")}
            paid |= {"charged": charge.seq} | ({"key": bill["key"]} if "key" in bill else {})
            self._settled.append(question(form.canonical, t))
            key = None  # the charge has it
        left = self.policy.answers_left(self.filter, t, after.answers)
        values = {**body, **paid, "left": left}
        return self._add_result("answer", values, form.canonical, t, key, after)

    def _take(self, analyst: str, form: Form, t: int) -> tuple[int, State]:
        """What a query costs, taken off the budget, and the state after that."""
        units = self.policy.charge(form, t)
        self.filter.charge(t, units)
        totals = self._rounds.get(t, RoundTotals(t, 0, 0))
        self._rounds[t] = totals.plus(form.slots, form.price)
        self.spending[analyst] = self.spent_by(analyst).plus(units, form.slots)
        return units, self.state.charged(units, self._now(), form.slots)

    def add_derived(
        self, body: Mapping[str, Any], canonical: str, t: int, key: str | None, free: bool
    ) -> Entry:
        """What follows from answers that were given; ``free`` if no part of it was charged now."""
        values = {**body, "left": self.answers_left(t)}
        if free:
            self._take_free(body["analyst"])
            values["free"] = True
        return self._add_result("derived", values, canonical, t, key, self._unchanged())

    def add_key(self, key: str, entry: Entry, analyst: str) -> None:
        """One more key stands for an answer that was given before, or for its charge."""
        self._take_free(analyst)
        body = {"key": key, "answer": entry.seq, "analyst": analyst}
        self._chain("key", body, self._unchanged())
        self.store.note_key(key, entry.seq)

    def _take_free(self, analyst: str) -> None:
        """One more entry without a charge; refused beyond a number for each day."""
        now = self._now()
        day = day_of(now)
        if self.limits_free and self.store.free_entries(analyst, day) >= FREE_A_DAY:
            reason = (
                f"analyst {analyst!r} has added {FREE_A_DAY:,} free entries to the ledger today "
                "(keys for recorded answers, results that follow from them, names and claims)"
            )
            hint = (
                "ask without a key: a recorded answer is free and needs no entry. What is asked is "
                "claimed by itself"
            )
            raise RequestRefused(429, reason, hint, (day + 1) * _DAY - now)
        self.store.note_free(analyst, day)

    def _add_result(
        self,
        kind: Kind,
        values: Mapping[str, Any],
        canonical: str,
        t: int,
        key: str | None,
        after: State,
    ) -> Entry:
        """An answer, given or derived, which the index has by its question and by its key."""
        body = {"canonical": canonical, "round": t, **values, "time": after.time}
        entry = self._add(kind, body, after, key)
        self._new_asked[question(canonical, t)] = entry
        return entry

    # ----------------------------------------------------------------------------- reading

    def spent_by(self, analyst: str) -> Spent:
        """What one analyst's questions were charged."""
        known = self.spending.get(analyst) or self._known_spending.get(analyst)
        return super().spent_by(analyst) if known is None else known

    def _find(self, keys: Sequence[bytes]) -> tuple[dict[bytes, Entry], dict[bytes, Entry]]:
        answers, charges = super()._find(keys)
        answers |= {key: self._new_asked[key] for key in keys if key in self._new_asked}
        charges |= {key: self._new_charged[key] for key in keys if key in self._new_charged}
        return answers, {
            key: charge
            for key, charge in charges.items()
            if key not in answers or answers[key].seq < charge.seq  # which asks for more
        }

    @property
    def adds_only_answers(self) -> bool:
        """Whether nothing is new but answers, charges for them, and keys for both."""
        kinds = ("answer", "charge", "key")
        return self._is_plain and all(entry.kind in kinds for entry in self._added)

    # ----------------------------------------------------------------------------- the end

    def flush(self) -> None:
        """Write what is gathered, all at once, which is quicker than one by one."""
        self.store.add(*self._added)
        if self._new_asked:
            self.store.note_asked(self._new_asked)
        if self._new_charged:
            self.store.note_charged(self._new_charged)
        if self._settled:
            self.store.drop_charged(*self._settled)
        for more in self._rounds.values():
            self.store.note_round(more)
        for analyst, spent in self.spending.items():
            self.store.note_spending(analyst, spent)

    def _add(
        self, kind: Kind, body: Mapping[str, Any], after: State, key: str | None = None
    ) -> Entry:
        entry = self._chain(kind, body if key is None else {**body, "key": key}, after)
        if key is not None:
            self.store.note_key(key, entry.seq)
        return entry

    def _chain(self, kind: Kind, body: Mapping[str, Any], after: State) -> Entry:
        """The next entry, which is now the head."""
        self._head, self.state = next_entry(self._head, kind, body, after), after
        self._added.append(self._head)
        return self._head

    def _unchanged(self) -> State:
        """The state, some time later."""
        return self.state.grown(0, self._now())

    def _now(self) -> float:
        """Time never goes back in a ledger, whatever the clock does."""
        return max(float(self._clock()), self.state.time)


def day_of(time: float) -> int:
    """The day (UTC) of a time, by its number."""
    return int(time // _DAY)


def content_of(text: str) -> str:
    """The hash of what an append brought, as rows of text."""
    return hashlib.sha256(text.encode()).hexdigest()


def content_of_files(digests: Iterable[str]) -> str:
    """The hash of what an append brought, as files of these digests."""
    return content_of(" ".join(digests))


def contents_of(append: Mapping[str, Any]) -> list[str]:
    """The hashes by which an append is recognised if it is made once more."""
    found = [append["content"]] if append["count"] >= TELLING else []
    return [*found, append["likeness"]] if "likeness" in append else found


def _used(key: str | None) -> InvalidInput:
    required = "new for each append: it was used for another one, or for a query"
    return InvalidInput("key", required, key)


def _salt() -> dict[str, str]:
    """So that a guess at records can't be checked against a published head."""
    return {"salt": uuid.uuid4().hex}
