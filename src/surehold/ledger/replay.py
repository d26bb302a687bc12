"""Replay: read the whole ledger again, recompute what can be, name the first wrong entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from surehold.errors import LedgerCorrupt, StorageFailed, SureholdError
from surehold.ledger.answer_entries import body_of, derived_body, recompute_body
from surehold.ledger.draft import content_of, content_of_files, contents_of, day_of
from surehold.ledger.entries import GENESIS, Entry, State
from surehold.ledger.ledger import Ledger
from surehold.ledger.tables import RoundTotals, Segment, Spent
from surehold.ledger.view import check_registered, question
from surehold.queries import Declared, Derived, Form, form_of, query_of

_WHAT = "the ledger"


class Records(Protocol):
    """What a replay needs of the records: ``RecordStore`` in surehold.data."""

    def check_bytes(self) -> None:
        """Raise LedgerCorrupt if a segment does not hold the bytes it is named for."""

    def text(self, start: int, count: int) -> str:
        """Records from ``start`` on, as the small append that brought them kept them."""

    def content_hash(self, segments: Sequence[Segment]) -> str:
        """The hash of the records of some segments, by their values."""


@dataclass(frozen=True)
class Replayed:
    """What the entries say, once all of them were found right."""

    entries: int
    head: str
    state: State
    segments: tuple[Segment, ...]


def replay(
    ledger: Ledger, records: Records, progress: Callable[[int], None] | None = None
) -> Replayed:
    """Go through every entry up to the present head; raises LedgerCorrupt at the first wrong one.

    Other processes may go on writing meanwhile: what they add is not looked at.
    """
    damage = ledger.store.damage()
    if damage is not None:
        raise LedgerCorrupt(_WHAT, damage)
    records.check_bytes()  # first of all: changed bytes can crash their reader
    with ledger.store.lock:
        ledger.refresh()
        head, live = ledger.head, ledger.filter.remaining(ledger.policy.first_round)
    checker = _Replay(ledger, records)
    for entry in ledger.store.entries():
        if entry.seq > head.seq:
            break
        checker.check(entry)
        if progress is not None:
            progress(entry.seq)
    checker.finish(head, live)
    return Replayed(
        entries=head.seq,
        head=head.hash.hex(),
        state=checker.state,
        segments=tuple(checker.segments),
    )


class _Replay:
    """The state as the entries build it up."""

    def __init__(self, ledger: Ledger, records: Records) -> None:
        self._ledger, self._records = ledger, records
        self._filter = ledger.policy.new_filter()
        self._hash = GENESIS
        self._seq = 0
        self._rounds: dict[int, RoundTotals] = {}
        self._spending: dict[str, Spent] = {}
        self._contents: dict[str, int] = {}
        self._alike: dict[str, int] = {}  # of earlier versions, which do not say
        self._keys = 0
        self._questions = 0
        self._registered: dict[str, Declared] = {}
        self._free: Counter[tuple[str, int]] = Counter()
        self._charged: dict[int, dict[str, Any]] = {}  # and not answered yet, by entry
        self._pending = {part.start: part for part in ledger.store.pending()}
        self.state = State()
        self.segments: list[Segment] = []

    def check(self, entry: Entry) -> None:
        self._seq += 1
        if entry.seq != self._seq:
            raise LedgerCorrupt(_WHAT, f"entry {self._seq:,} is missing", self._seq)
        if not entry.follows(self._hash):
            raise LedgerCorrupt(_WHAT, "its hash is not that of its text", entry.seq)
        with _named(entry):
            body, after = body_of(entry), entry.state()
            check = {
                "create": self._create,
                "append": self._append,
                "seal": self._seal,
                "register": self._register,
                "charge": self._charge,
                "answer": self._answer,
                "derived": self._derived,
                "key": self._key,
            }.get(entry.kind)
            _must(check is not None, f"its kind {entry.kind!r} is unknown")
            assert check is not None
            expected = check(body, entry)
            _must(after.time >= self.state.time, "its time is before that of the entry before")
            _must(after == replace(expected, time=after.time), "the state after it is wrong")
        self._hash, self.state = entry.hash, after

    def finish(self, head: Entry, live: int) -> None:
        """What lies beside the entries agrees with them."""
        ledger = self._ledger
        if self._hash != head.hash:
            raise LedgerCorrupt(_WHAT, f"it ends before its last entry, {head.seq:,}")
        if self._filter.remaining(ledger.policy.first_round) != live:
            raise LedgerCorrupt(_WHAT, "what is left of the budget is not what the entries leave")
        with ledger.store.reading():
            if ledger.refresh() == self.state:  # otherwise the tables are ahead of what was read
                self._check_tables()

    def _check_tables(self) -> None:
        store = self._ledger.store
        self._ledger.check_sums()
        if store.segments() != self.segments:
            raise LedgerCorrupt("the manifest", "it lists other segments than the entries")
        by_round = [self._rounds[t] for t in sorted(self._rounds)]
        _must(store.rounds() == by_round, "its index has other answers by round than its entries")
        same_spending = store.spending() == self._spending
        _must(same_spending, "its index charges analysts otherwise than its entries do")
        _must(store.questions() == self._questions, "its index has other answers than its entries")
        _must(store.keys() == self._keys, "its index has other keys than its entries")
        last = max((day for _, day in self._free), default=0)
        free = {who: count for who, count in self._free.items() if who[1] == last}
        _must(store.all_free_entries() == free, "its index has other free entries than its entries")
        self._check_contents(store.contents())
        same_unanswered = store.unanswered() == self._unanswered()
        _must(same_unanswered, "its index has other unanswered charges than its entries")

    def _check_contents(self, found: dict[str, int]) -> None:
        """The content hashes of appends: all that entries say, and nothing that none says."""
        is_known = all(
            seq in (self._contents.get(content), self._alike.get(content))
            for content, seq in found.items()
        )
        is_whole = is_known and self._contents.keys() <= found.keys()
        _must(is_whole, "its index has other appends than its entries")

    def _unanswered(self) -> int:
        """How many charges have no answer; the index must lead to each of them."""
        for seq, body in self._charged.items():
            found = self._ledger.charged(str(body["canonical"]), int(body["round"]))
            _must(found is not None and found.seq == seq, "the index does not lead to its charge")
        return len(self._charged)

    def _create(self, body: dict[str, Any], entry: Entry) -> State:
        _must(entry.seq == 1, "a dataset is created once")
        return State(dataset=self._ledger.fingerprint)

    def _append(self, body: dict[str, Any], entry: Entry) -> State:
        start, count = int(body["start"]), int(body["count"])
        _must(start == self.state.records and count >= 1, "its records do not follow the others")
        state = self.state.grown(count, 0.0)
        if body["segments"]:
            segments = [Segment(**segment) for segment in body["segments"]]
            content = content_of_files(segment.digest for segment in segments)
            _must(body["content"] == content, "its content is not that of its files")
            for segment in segments:
                state = self._sealed(state, segment)
            _must(self._end == start + count, "its files do not hold its records")
            alike = self._records.content_hash(segments)
            _must(body.get("likeness", alike) == alike, "its likeness is not that of its records")
            if "likeness" not in body:
                self._alike.setdefault(alike, entry.seq)
        else:
            text = self._text(start, count)
            _must(body["content"] == content_of(text), "its records are not those it brought")
        for content in contents_of(body):
            self._contents.setdefault(content, entry.seq)
        self._check_own_key(body, entry)
        return state

    def _text(self, start: int, count: int) -> str:
        """What a small append brought: as it waits in the database, not as it is in memory."""
        part = self._pending.get(start)
        if part is None:  # it is in a segment
            return self._records.text(start, count)
        _must(part.count == count, "its pending records are of another number")
        return part.rows

    def _seal(self, body: dict[str, Any], entry: Entry) -> State:
        segment = Segment(**{name: body[name] for name in ("start", "count", "digest", "bytes")})
        state = self._sealed(self.state, segment)
        _must(self._end == self.state.records, "it does not hold all records that were pending")
        return state

    def _sealed(self, state: State, segment: Segment) -> State:
        _must(segment.start == self._end, "its segment does not follow the others")
        self.segments.append(segment)
        return state.sealed(segment.digest, segment.count)

    @property
    def _end(self) -> int:
        last = self.segments[-1] if self.segments else None
        return 0 if last is None else last.start + last.count

    def _register(self, body: dict[str, Any], entry: Entry) -> State:
        name = body["statistic"]["name"]
        _must(name not in self._registered, "its statistic was registered before")
        declared = (body["statistic"][field] for field in Declared._fields)
        self._registered[name] = Declared.of(*declared)
        return self.state

    def _form(self, body: dict[str, Any]) -> Form:
        """What was asked, in canonical form, and may be asked at its round."""
        policy, canonical = self._ledger.policy, str(body["canonical"])
        policy.round_for(self.state.records, int(body["round"]))
        form = form_of(canonical, self._ledger.schema)
        policy.check_covers(form)
        check_registered(form, self._registered.get)
        _must(form.canonical == canonical, "its query is not in canonical form")
        return form

    def _take(self, body: dict[str, Any], form: Form) -> State:
        """Charge for a query, as it was charged; the state after that."""
        policy, t = self._ledger.policy, int(body["round"])
        units = policy.charge(form, t)
        _must(body["charge"] == str(units), "its charge is not that of its query and round")
        _must(self._filter.admits(t, units), "its charge did not fit")
        state = self.state.charged(units, 0.0, form.slots)
        _must(state.answers <= self._ledger.plan.queries, "the plan has no more answers")
        self._filter.charge(t, units)
        totals = self._rounds.get(t, RoundTotals(t, 0, 0))
        self._rounds[t] = totals.plus(form.slots, form.price)
        spent = self._spending.get(body["analyst"], Spent(0, 0))
        self._spending[body["analyst"]] = spent.plus(units, form.slots)
        return state

    def _charge(self, body: dict[str, Any], entry: Entry) -> State:
        state = self._take(body, self._form(body))
        self._check_asked(body, entry)
        self._charged[entry.seq] = body
        self._check_own_key(body, entry)
        return state

    def _answer(self, body: dict[str, Any], entry: Entry) -> State:
        t, form = int(body["round"]), self._form(body)
        if "charged" in body:
            charge = self._charged.pop(body["charged"], None)
            _must(charge is not None, "it was not charged, or was answered before")
            assert charge is not None
            for name in ("canonical", "round", "charge", "query", "analyst", "key"):
                _must(body.get(name) == charge.get(name), f"its {name} is not that of its charge")
            state = self.state
        else:
            state = self._take(body, form)
            self._check_own_key(body, entry)
        again = recompute_body(form, body, self._ledger.policy, t)
        _must(again["kind"] != "choice" or isinstance(body["name"], str), "it has no name")
        for name, value in again.items():
            _must(body[name] == value, f"its {name} is not what its noisy number gives")
        self._check_result(body, entry, state)
        return state

    def _derived(self, body: dict[str, Any], entry: Entry) -> State:
        canonical = str(body["canonical"])
        query = query_of(canonical)
        _must(isinstance(query, Derived) and query.canonical == canonical, "it is no such query")
        assert isinstance(query, Derived)
        parts = [int(part) for part in body["parts"]]
        _must(all(part < entry.seq for part in parts), "its parts come after it")
        for name, value in derived_body(query, parts, self._ledger).items():
            _must(body[name] == value, f"its {name} does not follow from its parts")
        first = self._ledger.store.entry(parts[0])
        assert first is not None  # derived_body found all of them, at one round
        _must(first.read()["round"] == int(body["round"]), "its round is not that of its parts")
        self._check_result(body, entry, self.state)
        self._check_own_key(body, entry)
        if body.get("free"):
            self._count_free(body, entry)
        return self.state

    def _count_free(self, body: dict[str, Any], entry: Entry) -> None:
        self._free[str(body["analyst"]), day_of(entry.state().time)] += 1

    def _check_asked(self, body: dict[str, Any], entry: Entry) -> None:
        """What every charge and every answer has."""
        named = isinstance(body["query"], str) and isinstance(body["analyst"], str)
        _must(named, "it does not say who asked what")
        _must(type(body["round"]) is int, "its round is not a whole number")
        _must(body["time"] == entry.state().time, "its time is not that of the state after it")

    def _check_result(self, body: dict[str, Any], entry: Entry, state: State) -> None:
        """What every answer has; ``state`` is the one after it."""
        self._check_asked(body, entry)
        left = self._ledger.policy.answers_left(self._filter, body["round"], state.answers)
        _must(body["left"] == left, "it left another number of answers")
        asked = question(str(body["canonical"]), int(body["round"]))
        found = self._ledger.store.find([asked])[0].get(asked)
        _must(found is not None and found.seq == entry.seq, "the index does not lead to it")
        self._questions += 1

    def _key(self, body: dict[str, Any], entry: Entry) -> State:
        self._check_key(body["key"], int(body["answer"]))
        if "analyst" in body:  # earlier versions did not say who
            self._count_free(body, entry)
        return self.state

    def _check_own_key(self, body: dict[str, Any], entry: Entry) -> None:
        if body.get("key") is not None:
            self._check_key(body["key"], entry.seq)

    def _check_key(self, key: str, answer: int) -> None:
        found = self._ledger.store.keyed(key)
        _must(found is not None and found.seq == answer, "its key does not lead to its answer")
        self._keys += 1


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise LedgerCorrupt(_WHAT, otherwise)


@contextmanager
def _named(entry: Entry) -> Iterator[None]:
    """Whatever is wrong with an entry is reported under its number."""
    try:
        yield
    except LedgerCorrupt as error:
        raise LedgerCorrupt(error.what, error.reason, entry.seq) from error
    except StorageFailed:
        raise  # the disk's trouble says nothing about the entry
    except Exception as error:
        # Other libraries' messages may repeat what a record holds.
        why = str(error) if isinstance(error, SureholdError) else type(error).__name__
        raise LedgerCorrupt(_WHAT, f"it can't be what was written ({why})", entry.seq) from None
