"""The ledger of one dataset: what happened, in order, and where that leaves the budget."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import HoldfastError, InvalidInput, LedgerCorrupt
from holdfast.ledger.entries import GENESIS, Entry, Kind, State, next_entry
from holdfast.ledger.filter import CappedFilter, Filter
from holdfast.ledger.policy import Policy
from holdfast.ledger.store import Pending, RoundTotals, Segment, Spent, Store
from holdfast.ledger.witness import Witness
from holdfast.planning import Plan
from holdfast.queries import CustomMeasure, Declared, Form, NumberForm, Schema, SelectForm

FILE = "ledger.sqlite"
WITNESS = "witness"
_WHAT = "the ledger"
_OTHER_CHARGES = "its index says other charges than its entries"

TELLING = 100
"""Records that two appends can't have in common by chance; fewer may well be alike."""

Clock = Callable[[], float]


class Room(NamedTuple):
    """What is left: of the budget, which a filter knows, and of the plan's answers."""

    filter: Filter
    answers: int


class Ledger:
    """Opened, checked and ready to be written; one writer at a time among all processes.

    Opening reads no record and few entries: it checks the first and the last, the witness, the
    manifest, and the counts by round. :func:`holdfast.ledger.replay.replay` checks the rest.
    """

    state: State
    filter: Filter
    _head: Entry

    def __init__(self, folder: Path, clock: Clock = time.time) -> None:
        self.folder = folder
        self._clock = clock
        # Of the transaction under way: what was asked, and what the rounds come to.
        self._new_asked: dict[bytes, Entry] = {}
        self._new_rounds: dict[int, RoundTotals] = {}
        self._new_spending: dict[str, Spent] = {}
        self.store = Store(folder / FILE)
        try:
            self._witness = Witness(folder / WITNESS)
            created = _created(self.store)
            self.fingerprint = fingerprint_of(created)
            witnessed = self._witness.read()  # before the ledger: others may go on writing
            with self.store.reading():
                self._check_ends(*witnessed)
                self.dataset, self.plan, self.schema = _read(created)
                self.policy = Policy(self.plan)
                self._reload()
                self.check_sums()
            if not self._is_spending_whole():
                self._mend_spending()
        except BaseException:
            self.close()
            raise

    def _is_spending_whole(self) -> bool:
        """Whether what analysts were charged is what was charged."""
        with self.store.reading():
            self.refresh()
            total = Spent(0, 0)
            for spent in self.store.spending().values():
                total = total.plus(*spent)
            return total == (self.state.spent, self.state.answers)

    def _mend_spending(self) -> None:
        """A program of an earlier version may have gone on writing: the entries know."""
        with self.store.writing():
            self.store.mend_spending()
        if not self._is_spending_whole():
            raise LedgerCorrupt(_WHAT, "what its analysts were charged is not what was charged")

    @classmethod
    def create(
        cls, folder: Path, dataset: str, plan: Plan, schema: Schema, clock: Clock = time.time
    ) -> None:
        """Write the first entry into an empty folder."""
        Policy(plan)  # a plan that can't be run is refused before anything is written
        body = {
            "dataset": dataset,
            "plan": plan.to_dict(),
            "columns": schema.to_dict(),
        }
        body = json.loads(json.dumps(body))  # as it will be read back
        state = State(dataset=fingerprint_of(body), time=clock())
        entry = next_entry(None, "create", body, state)
        store = Store.create(folder / FILE)
        with store.writing():
            store.add(entry)
        store.close()
        Witness.create(folder / WITNESS, entry)

    # ----------------------------------------------------------------------------- reading

    @property
    def head(self) -> Entry:
        """The last entry as of the last refresh."""
        return self._head

    def refresh(self) -> State:
        """Take in what other processes have written since."""
        with self.store.lock:  # another thread may be in the middle of a write
            if self.store.last() != self._head.seq:
                with self.store.reading():
                    self._reload()
            return self.state

    def answers_left(self, round: int, room: Room | None = None) -> int:
        """How many more answers fit at a round, into what is left for all unless it is said."""
        room = room or self.room()
        fitting = room.filter.remaining(round) // self.policy.mechanism.charge(round)
        return max(0, min(fitting, room.answers))

    def fits(self, round: int, price: int, slots: int, room: Room) -> bool:
        """Whether queries of that price, which count for so many answers, fit at a round."""
        units = price * self.policy.mechanism.charge(round)
        return slots <= room.answers and room.filter.admits(round, units)

    def room(self) -> Room:
        """What is left for all analysts together."""
        return Room(self.filter, self.plan.queries - self.state.answers)

    def room_within(self, limit: Spent, analyst: str) -> Room:
        """What is left for one analyst, who may take no more than a limit in all."""
        room, spent = self.room(), self.spent_by(analyst)
        filter = CappedFilter(room.filter, limit.units - spent.units)
        return Room(filter, min(room.answers, limit.answers - spent.answers))

    def spent_by(self, analyst: str) -> Spent:
        """What the answers that one analyst asked for were charged."""
        known = self._new_spending.get(analyst)
        return self.store.spent_by(analyst) if known is None else known

    def answered(self, canonical: str, round: int) -> Entry | None:
        """The answer that was given to this query at this round."""
        asked = question(canonical, round)
        entry = self._new_asked.get(asked) or self.store.asked(asked)
        if entry is not None:
            _check_question(entry, canonical, round)
        return entry

    # ----------------------------------------------------------------------------- writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Refresh, then write: all or nothing, durable at the end, and only then witnessed."""
        with self.store.lock:  # until memory and witness agree with what was committed
            try:
                with self.store.writing():
                    self.refresh()
                    before = self._head.seq
                    yield
                    self._note_answers()
            except BaseException:
                self._forget_new()
                # What was added in memory is not there: forget it first of all, so that the next
                # use reads anew even if reading fails now.
                self._head = Entry(0, "create", "", GENESIS)
                with suppress(HoldfastError), self.store.reading():
                    self._reload()
                raise
            if self._head.seq != before:
                self._witness.write(self._head)

    def check_new(self, content: str, count: int) -> None:
        """Refuse records that were appended before: counted twice, they void every width."""
        entry = self.store.brought(content) if count >= TELLING else None
        if entry is not None:
            required = "one that was not made before, as no width holds if records count twice"
            got = f"the {count:,} records of entry {entry:,}"
            hint = "say again (--again) if they are new all the same"
            raise InvalidInput("an append", required, got, hint)

    def appended(self, key: str | None, content: str, likeness: str = "") -> Entry | None:
        """The append that a caller's key stands for, which is one of this content.

        Or of the same records, by their values, if they came in another file.
        """
        entry = None if key is None else self.store.keyed(key)
        is_same = entry is None or entry.read().get("content") == content
        if entry is not None and not is_same and self.store.brought(likeness) != entry.seq:
            required = "new for each append: it was used for another one, or for a query"
            raise InvalidInput("key", required, key)
        return entry

    def add_rows(self, rows: str, count: int, key: str | None = None) -> Entry:
        """Within :meth:`writing`: a small append, which waits in the database."""
        start = self.state.records
        self.store.add_pending(Pending(start, count, rows))
        body = {"start": start, "count": count, "content": content_of(rows), "segments": []}
        return self._add_append(body, self.state.grown(count, self._now()), key)

    def add_segments(self, segments: Sequence[Segment], key: str | None = None) -> Entry:
        """Within :meth:`writing`: a large append, whose files are durable already."""
        count = sum(segment.count for segment in segments)
        body = {
            "start": self.state.records,
            "count": count,
            "content": content_of_files(segment.digest for segment in segments),
            "segments": [_described(segment) for segment in segments],
        }
        state = self.state.grown(count, self._now())
        for segment in segments:
            self.store.add_segment(segment)
            state = state.sealed(segment.digest, segment.count)
        return self._add_append(body, state, key)

    def _add_append(self, body: Mapping[str, Any], after: State, key: str | None) -> Entry:
        # Salted, so that nobody who guesses records can check the guess against a published head.
        body = {**body, "salt": uuid.uuid4().hex}
        entry = self._add("append", body if key is None else {**body, "key": key}, after)
        if key is not None:
            self.store.note_key(key, entry.seq)
        if body["count"] >= TELLING:
            self.store.note_content(body["content"], entry.seq)
        return entry

    def seal(self, segment: Segment) -> Entry:
        """Within :meth:`writing`: what was pending is in a file now, which is durable already."""
        self.store.add_segment(segment)
        self.store.drop_pending(segment.start + segment.count)
        state = self.state.grown(0, self._now()).sealed(segment.digest, segment.count)
        return self._add("seal", _described(segment), state)

    def register(self, statistic: Mapping[str, Any]) -> None:
        """Keep what a custodian declares of a statistic; the same again changes nothing."""
        with self.writing():
            known = self.registered.get(statistic["name"])
            if known == dict(statistic):
                return
            if known is not None:
                required = f"as it was registered: {known}"
                hint = "give the changed one another name"
                raise InvalidInput("the statistic", required, dict(statistic), hint)
            after = self.state.grown(0, self._now())
            self._add("register", {"statistic": dict(statistic)}, after)

    @property
    def registered(self) -> dict[str, dict[str, Any]]:
        """What custodians declared of statistics, by their names."""
        entries = (entry.read()["statistic"] for entry in self.store.of_kind("register"))
        return {str(statistic["name"]): statistic for statistic in entries}

    def declared(self, name: str) -> Declared | None:
        """What was declared of a statistic."""
        known = self.registered.get(name)
        return None if known is None else Declared(*(known[field] for field in Declared._fields))

    def check_registered(self, form: Form) -> None:
        """Refuse a statistic that no custodian declared as it is asked."""
        check_registered(form, self.declared)

    def add_answer(self, body: Mapping[str, Any], form: Form, round: int, key: str | None) -> Entry:
        """Within :meth:`writing`: charge every record of the round, and keep the answer."""
        units = self.policy.charge(form, round)
        self.filter.charge(round, units)
        after = self.state.charged(units, self._now(), form.slots)
        left = self.policy.answers_left(self.filter, round, after.answers)
        told = {"charge": str(units), **body, "left": left}
        more = self._new_rounds.get(round, RoundTotals(round, 0, 0))
        answers, price = more.answers + form.slots, more.price + form.price
        self._new_rounds[round] = RoundTotals(round, answers, price)
        analyst = body["analyst"]
        self._new_spending[analyst] = self.spent_by(analyst).plus(units, form.slots)
        return self._add_told("answer", told, form.canonical, round, key, after)

    def add_derived(
        self, body: Mapping[str, Any], canonical: str, round: int, key: str | None
    ) -> Entry:
        """Within :meth:`writing`: what follows from answers that were given; it costs nothing."""
        after = self.state.grown(0, self._now())
        told = {**body, "left": self.answers_left(round)}
        return self._add_told("derived", told, canonical, round, key, after)

    def _add_told(
        self,
        kind: Kind,
        told: Mapping[str, Any],
        canonical: str,
        round: int,
        key: str | None,
        after: State,
    ) -> Entry:
        """Anything that an analyst is told: found again by its question, and by its key."""
        body = {"canonical": canonical, "round": round, **told, "time": after.time}
        body = body if key is None else {**body, "key": key}
        entry = self._chain(kind, body, after)
        self._new_asked[question(canonical, round)] = entry
        if key is not None:
            self.store.note_key(key, entry.seq)
        return entry

    def _note_answers(self) -> None:
        """All answers of a transaction at once, which is quicker than one by one."""
        if self._new_asked:
            self.store.add(*self._new_asked.values())
            self.store.note_asked(self._new_asked)
        for more in self._new_rounds.values():
            self.store.note_round(more)
        for analyst, spent in self._new_spending.items():
            self.store.note_spending(analyst, spent)
        self._forget_new()

    def _forget_new(self) -> None:
        self._new_asked.clear()
        self._new_rounds.clear()
        self._new_spending.clear()

    def add_key(self, key: str, answer: Entry) -> None:
        """Within :meth:`writing`: one more key stands for an answer that was given before."""
        self._add("key", {"key": key, "answer": answer.seq}, self.state.grown(0, self._now()))
        self.store.note_key(key, answer.seq)

    def _add(self, kind: Kind, body: Mapping[str, Any], after: State) -> Entry:
        entry = self._chain(kind, body, after)
        self.store.add(entry)
        return entry

    def _chain(self, kind: Kind, body: Mapping[str, Any], after: State) -> Entry:
        """The next entry, which is now the head."""
        self._head, self.state = next_entry(self._head, kind, body, after), after
        return self._head

    def _now(self) -> float:
        """Time never goes back in a ledger, whatever the clock does."""
        return max(float(self._clock()), self.state.time)

    def close(self) -> None:
        """Let go of the files; closing twice does nothing more."""
        if hasattr(self, "_witness"):
            self._witness.close()
        self.store.close()

    # ----------------------------------------------------------------------------- opening

    def _reload(self) -> None:
        head = self.store.head()
        state, filter = head.state(), self.policy.new_filter()
        if len(self.policy.rounds) > 1:
            charges = self._charges()
            if sum(units for _, units in charges) != state.spent:
                raise LedgerCorrupt(_WHAT, _OTHER_CHARGES, head.seq)
        else:  # one piece: only the sum matters
            charges = [(self.policy.first_round, state.spent)]
        for round, units in charges:
            if not filter.admits(round, units):
                raise LedgerCorrupt(_WHAT, "more was charged than the plan allows", head.seq)
            filter.charge(round, units)
        self._head, self.state, self.filter = head, state, filter

    def _charges(self) -> list[tuple[int, int]]:
        """Rounds and what was charged at each, as the index has it."""
        policy, counts = self.policy, self.store.rounds()
        if policy.rounds and not {total.round for total in counts} <= set(policy.rounds):
            raise LedgerCorrupt(_WHAT, "its index has rounds that are not in the plan")
        charge = policy.mechanism.charge
        return [(total.round, total.price * charge(total.round)) for total in counts]

    def _check_ends(self, seq: int, digest: bytes) -> None:
        """The head follows what is before it, and the witness saw nothing newer and no other."""
        head = self.store.head()
        previous = self.store.entry(head.seq - 1)
        before = GENESIS if head.seq == 1 else None if previous is None else previous.hash
        if before is None or not head.follows(before):
            raise LedgerCorrupt(_WHAT, "its last entry does not follow the one before it", head.seq)
        if head.state().dataset != self.fingerprint:
            raise LedgerCorrupt(_WHAT, "its plan or its columns are not those it began with", 1)
        seen = self.store.entry(seq)
        if seen is None and seq > head.seq:
            reason = (
                f"it ends at entry {head.seq:,}, but had come to {seq:,} before: it is an older "
                "copy, and would give the same records a fresh budget"
            )
            raise LedgerCorrupt(_WHAT, reason)
        if seen is None or seen.hash != digest:
            raise LedgerCorrupt(_WHAT, "it is not the one that its witness saw", seq)

    def check_sums(self) -> None:
        """The tables beside the entries say what the last entry says."""
        manifest, end = State(), 0
        for segment in self.store.segments():
            end = _continued(end, segment.start, segment.count)
            manifest = manifest.sealed(segment.digest, segment.count)
        for pending in self.store.pending():
            end = _continued(end, pending.start, pending.count)
        if manifest.manifest != self.state.manifest:
            raise LedgerCorrupt("the manifest", "it lists other segments than the ledger sealed")
        if end != self.state.records:
            reason = f"it holds {end:,} records where the ledger has {self.state.records:,}"
            raise LedgerCorrupt("the manifest", reason)
        if sum(total.answers for total in self.store.rounds()) != self.state.answers:
            raise LedgerCorrupt(_WHAT, "its index does not have as many answers as its entries")
        if sum(units for _, units in self._charges()) != self.state.spent:
            raise LedgerCorrupt(_WHAT, _OTHER_CHARGES)


def fingerprint_of(created: Mapping[str, Any]) -> str:
    """What binds plan, columns and data: every entry carries it, and so does every segment."""
    parts = [created.get(name) for name in ("dataset", "plan", "columns")]
    text = json.dumps(parts, allow_nan=False, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def content_of(text: str) -> str:
    """The hash of what an append brought, as rows of text."""
    return hashlib.sha256(text.encode()).hexdigest()


def content_of_files(digests: Iterable[str]) -> str:
    """The hash of what an append brought, as files of these digests."""
    return content_of(" ".join(digests))


def question(canonical: str, round: int) -> bytes:
    """The key under which an answer is found again."""
    return hashlib.sha256(f"{round} {canonical}".encode()).digest()[:20]


def check_registered(form: Form, declared: Callable[[str], Declared | None]) -> None:
    """Refuse a statistic that was not ``declared`` as it is asked."""
    forms = form.candidates if isinstance(form, SelectForm) else (form,)
    for one in forms:
        source = one.source if isinstance(one, NumberForm) else None
        if isinstance(source, CustomMeasure) and declared(source.name) != source.declared:
            required = "one that the custodian registered"
            raise InvalidInput("the statistic", required, source.canonical)


def _check_question(entry: Entry, canonical: str, round: int) -> None:
    body = entry.read()
    if (body.get("canonical"), body.get("round")) != (canonical, round):
        raise LedgerCorrupt(_WHAT, "its index points to another answer", entry.seq)


def _described(segment: Segment) -> dict[str, Any]:
    return {
        "start": segment.start,
        "count": segment.count,
        "digest": segment.digest,
        "bytes": segment.bytes,
    }


def _created(store: Store) -> dict[str, Any]:
    entry = store.entry(1)
    if entry is None or entry.kind != "create" or not entry.follows(GENESIS):
        raise LedgerCorrupt(_WHAT, "its first entry is not the one it was created with", 1)
    return entry.read()


def _read(created: Mapping[str, Any]) -> tuple[str, Plan, Schema]:
    try:
        plan, columns = Plan.from_dict(created["plan"]), Schema.of(created["columns"])
        return str(created["dataset"]), plan, columns
    except (HoldfastError, KeyError) as error:
        reason = f"its plan or its columns can't be read ({error})"
        raise LedgerCorrupt(_WHAT, reason, 1) from error


def _continued(end: int, start: int, count: int) -> int:
    if start != end or count < 1:
        raise LedgerCorrupt("the manifest", f"records from {end + 1:,} on are not where they were")
    return start + count
