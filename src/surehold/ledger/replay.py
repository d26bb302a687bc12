"""Replay: read the whole ledger again, recompute what can be, name the first wrong entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from surehold.errors import LedgerCorrupt, StorageFailed, SureholdError
from surehold.ledger.answer_entries import body_of
from surehold.ledger.draft import content_of, content_of_files, contents_of, day_of
from surehold.ledger.entries import GENESIS, Entry, State
from surehold.ledger.ledger import Ledger, first_spending, first_state
from surehold.ledger.names import KeptName, resolve
from surehold.ledger.synonyms import synonyms_of
from surehold.ledger.tables import ClaimRow, RoundTotals, Segment, Spent
from surehold.queries import Charged, Declared, Expectation, Query, Source, query_of, recorded_query
from surehold.queries.coverage import among_covered
from surehold.queries.side_tables import (
    SideTable,
    columns_in,
    may_name_table,
    mentions_table,
    split,
)
from surehold.queries.side_tables import resolve as resolve_tables

_WHAT = "the ledger"


class Records(Protocol):
    """What a replay needs of the records: ``RecordStore`` in surehold.data."""

    def check_bytes(self) -> None:
        """Raise LedgerCorrupt if a segment does not hold the bytes it is named for."""

    def check_table(self, noted: Mapping[str, Any]) -> None:
        """Raise LedgerCorrupt if a side table is there and not what was noted of it."""

    def text(self, start: int, count: int) -> str:
        """Records from ``start`` on, as the small append that brought them kept them."""

    def check_ids(self, t: int) -> None:
        """Raise LedgerCorrupt unless the ids of the first t records are unique."""

    def content_hash(self, segments: Sequence[Segment]) -> str:
        """The hash of the records of some segments, by their values."""

    def check_evaluable(self, sources: Sequence[Source], t: int) -> None:
        """Raise InvalidInput if a source can't be evaluated in this process."""

    def exact(self, sources: Sequence[Source], t: int) -> Sequence[Any]:
        """The exact numbers of sources over a snapshot."""


@dataclass(frozen=True)
class Replayed:
    """What the entries say, once all of them were found right."""

    entries: int
    head: str
    state: State
    segments: tuple[Segment, ...]
    recomputed: int
    """Answers that were computed again from the records, which noise does not allow."""


def replay(
    ledger: Ledger, records: Records, progress: Callable[[int], None] | None = None
) -> Replayed:
    """Go through every entry up to the present head; raises LedgerCorrupt at the first wrong one.

    Other processes may go on writing meanwhile: what they add is not looked at.
    """
    damage = ledger.store.damage()
    if damage is not None:
        raise LedgerCorrupt(_WHAT, damage)
    if ledger.has_records:
        records.check_bytes()  # first of all: changed bytes can crash their reader
    with ledger.store.lock:
        ledger.refresh()
        head, live = ledger.head, ledger.filter.remaining(ledger.rules.first_round)
    checker = _replay_of(ledger)(ledger, records)
    for entry in ledger.store.entries():
        if entry.seq > head.seq:
            break
        checker.check(entry)
        if progress is not None:
            progress(entry.seq)
    checker.finish(head, live)
    if ledger.has_records:
        records.check_ids(checker.state.records)
    return Replayed(
        entries=head.seq,
        head=head.hash.hex(),
        state=checker.state,
        segments=tuple(checker.segments),
        recomputed=checker.recomputed,
    )


def _replay_of(ledger: Ledger) -> type[Replay]:
    if ledger.rules.guard == "noise":
        from surehold.ledger.noise_replay import NoiseReplay

        return NoiseReplay
    from surehold.ledger.surprise_replay import SurpriseReplay  # loads SciPy

    return SurpriseReplay


class Replay:
    """The state as the entries build it up; each guard has its charges and answers."""

    recomputed = 0
    _is_closed = False

    def __init__(self, ledger: Ledger, records: Records) -> None:
        self._ledger, self._records = ledger, records
        self._filter = ledger.rules.new_filter()
        self._hash = GENESIS
        self._seq = 0
        self._rounds: dict[int, RoundTotals] = {}
        self._spending: dict[str, Spent] = {}
        self._contents: dict[str, int] = {}
        self._alike: dict[str, int] = {}  # of earlier versions, which do not say
        self._kept: dict[str, dict[str, Any]] = {}
        self._keys = 0
        self._questions = 0
        self._registered: dict[str, Declared] = {}
        self._named: dict[str, str] = {}  # canonical texts, by name
        self._free: Counter[tuple[str, int]] = Counter()
        self._reserved: dict[str, Spent] = {}
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
            must(not self._is_closed, "it comes after the dataset was closed")
            check = getattr(self, f"check_{entry.kind}", None)
            must(check is not None, f"its kind {entry.kind!r} is unknown")
            assert check is not None
            expected = check(body, entry)
            must(after.time >= self.state.time, "its time is before that of the entry before")
            must(after == replace(expected, time=after.time), "the state after it is wrong")
        self._hash, self.state = entry.hash, after

    def finish(self, head: Entry, live: int) -> None:
        """What lies beside the entries agrees with them."""
        ledger = self._ledger
        if self._hash != head.hash:
            raise LedgerCorrupt(_WHAT, f"it ends before its last entry, {head.seq:,}")
        if self._filter.remaining(ledger.rules.first_round) != live:
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
        must(store.rounds() == by_round, "its index has other answers by round than its entries")
        same_spending = store.spending() == self._spending
        must(same_spending, "its index charges analysts otherwise than its entries do")
        must(store.questions() == self._questions, "its index has other answers than its entries")
        must(store.keys() == self._keys, "its index has other keys than its entries")
        last = max((day for _, day in self._free), default=0)
        free = {who: count for who, count in self._free.items() if who[1] == last}
        must(store.all_free_entries() == free, "its index has other free entries than its entries")
        self._check_contents(store.contents())
        must(store.claims() == self._claims(), "its index has other claims than its entries")
        self._check_synonyms(store.synonyms())
        same_unanswered = store.unanswered() == self._unanswered()
        must(same_unanswered, "its index has other unanswered charges than its entries")

    def _claims(self) -> dict[bytes, ClaimRow]:
        """What the index has of claims; under noise there are none."""
        return {}

    def _check_contents(self, found: dict[str, int]) -> None:
        """The content hashes of appends: all that entries say, and nothing that none says."""
        is_known = all(
            seq in (self._contents.get(content), self._alike.get(content))
            for content, seq in found.items()
        )
        is_whole = is_known and self._contents.keys() <= found.keys()
        must(is_whole, "its index has other appends than its entries")

    def _check_synonyms(self, found: dict[bytes, bytes]) -> None:
        """What leads from a canonical form to earlier words; a ledger without them has none."""
        if found:
            entries = ((entry.kind, entry.body) for entry in self._ledger.store.entries())
            must(found.items() <= set(synonyms_of(entries)), "its index has other synonyms")

    def _unanswered(self) -> int:
        """How many charges have no answer; the index must lead to each of them."""
        for seq, body in self._charged.items():
            found = self._ledger.charged(str(body["canonical"]), int(body["round"]))
            must(found is not None and found.seq == seq, "the index does not lead to its charge")
        return len(self._charged)

    def check_create(self, body: dict[str, Any], entry: Entry) -> State:
        must(entry.seq == 1, "a dataset is created once")
        state, self._spending = first_state(body, self._ledger.rules), first_spending(body)
        total = sum(spent.units for spent in self._spending.values())
        must(total == state.spent, "what its predecessor's analysts spent is not what was spent")
        self._filter.charge(self._ledger.rules.first_round, state.spent)
        return state

    def check_succeeded(self, body: dict[str, Any], entry: Entry) -> State:
        is_said = all(isinstance(body[name], str) for name in ("successor", "dataset", "reason"))
        must(is_said and type(body["erased"]) is int, "it does not say what took over")
        self._is_closed = True
        return self.state

    def check_append(self, body: dict[str, Any], entry: Entry) -> State:
        start, count = int(body["start"]), int(body["count"])
        must(start == self.state.records and count >= 1, "its records do not follow the others")
        known = body.get("known")
        is_said = known is None if self._ledger.schema.id is None else type(known) is int
        must(is_said, "it does not say how many records were known by their ids")
        state = self.state.grown(count, 0.0)
        if body["segments"]:
            segments = [Segment(**segment) for segment in body["segments"]]
            content = content_of_files(segment.digest for segment in segments)
            must(body["content"] == content, "its content is not that of its files")
            for segment in segments:
                state = self._sealed(state, segment)
            must(self._end == start + count, "its files do not hold its records")
            alike = (
                self._records.content_hash(segments)
                if self._ledger.has_records
                else str(body.get("likeness", ""))
            )
            must(body.get("likeness", alike) == alike, "its likeness is not that of its records")
            if "likeness" not in body:
                self._alike.setdefault(alike, entry.seq)
        elif self._ledger.has_records:
            text = self._text(start, count)
            must(body["content"] == content_of(text), "its records are not those it brought")
        for content in contents_of(body):
            self._contents.setdefault(content, entry.seq)
        self._check_own_key(body, entry)
        return state

    def _text(self, start: int, count: int) -> str:
        """What a small append brought: as it waits in the database, not as it is in memory."""
        part = self._pending.get(start)
        if part is None:  # it is in a segment
            return self._records.text(start, count)
        must(part.count == count, "its pending records are of another number")
        return part.rows

    def check_seal(self, body: dict[str, Any], entry: Entry) -> State:
        segment = Segment(**{name: body[name] for name in ("start", "count", "digest", "bytes")})
        state = self._sealed(self.state, segment)
        must(self._end == self.state.records, "it does not hold all records that were pending")
        return state

    def _sealed(self, state: State, segment: Segment) -> State:
        must(segment.start == self._end, "its segment does not follow the others")
        self.segments.append(segment)
        return state.sealed(segment.digest, segment.count)

    @property
    def _end(self) -> int:
        last = self.segments[-1] if self.segments else None
        return 0 if last is None else last.start + last.count

    def check_register(self, body: dict[str, Any], entry: Entry) -> State:
        name = body["statistic"]["name"]
        must(name not in self._registered, "its statistic was registered before")
        declared = (body["statistic"][field] for field in Declared._fields)
        self._registered[name] = Declared.of(*declared)
        return self.state

    def check_name(self, body: dict[str, Any], entry: Entry) -> State:
        kept, named = KeptName.of_entry(entry), isinstance(body["analyst"], str)
        name, query = kept.question.name, resolve(kept.question.query(), self._registered.get)
        query = self._with_tables(query)
        means = self._canonical(query) == self._canonical(query_of(kept.canonical))
        must(means, "its text is not that of its question")
        same = self._named.setdefault(name, kept.canonical) == kept.canonical
        must(same, "its name is that of another question")
        must(named and body["time"] == entry.state().time, "it does not say who named it when")
        self._count_free(body, entry)
        return self.state

    def _canonical(self, query: Any) -> str:
        """What a question is asked as."""
        ledger = self._ledger
        if ledger.rules.guard == "surprise":
            asking = ledger.surprise.ask_for(query, ledger.schema, Expectation())
            return str(asking.canonical)
        return str((query.form(ledger.schema) if isinstance(query, Charged) else query).canonical)

    def check_keep(self, body: dict[str, Any], entry: Entry) -> State:
        must(body["of"] not in self._kept, "what it names had a name before")
        taken = {known["name"] for known in self._kept.values()}
        must(isinstance(body["name"], str) and body["name"] not in taken, "its name was taken")
        must(body["time"] == entry.state().time, "its time is not that of the state after it")
        self._records.check_table(body)
        self._kept[str(body["of"])] = body
        self._count_free(body, entry)
        return self.state

    def _with_tables(self, query: Query) -> Query:
        """A question as it is asked, if it names side tables that were kept before."""
        if not may_name_table(query):
            return query
        found: dict[str, SideTable] = {}

        def find(name: str) -> SideTable:
            named = (one for one in self._kept.values() if name in (one["of"], one["name"]))
            noted = next(named, None)
            must(noted is not None, "its table was not kept before")
            assert noted is not None
            table = SideTable.of(noted, self._ledger.schema)
            return found.setdefault(table.reference, table)

        return among_covered(resolve_tables(query, find), found)

    def _check_side_tables(self, canonical: str) -> None:
        """A table is named, with its columns, before anything is asked about it."""
        if not mentions_table(canonical):
            return
        for column in columns_in(recorded_query(canonical)):
            reference, name = split(column)
            known = self._kept.get(reference)
            must(known is not None, "its table was not kept before")
            assert known is not None
            table = SideTable.of(known, self._ledger.schema)
            must(table.column(name) == column, "its table has another column of that name")

    def check_reserve(self, body: dict[str, Any], entry: Entry) -> State:
        analyst, units = str(body["analyst"]), int(body["units"])
        kept = self._ledger.rules.reservation(body["amount"]) or Spent(0, 0)
        must(body["units"] == str(kept.units), "its units are not those of its amount")
        must(body["answers"] == kept.answers, "its answers are not those of its amount")
        must(body["time"] == entry.state().time, "its time is not that of the state after it")
        self._reserved[analyst] = Spent(units, kept.answers)
        total = sum(self._unspent(name).units for name in self._reserved)
        most = self._ledger.rules.limit_units
        must(most is not None and total <= most - self.state.spent, "it keeps more than was left")
        return self.state

    def _unspent(self, analyst: str) -> Spent:
        """What is left of a reservation."""
        kept, spent = self._reserved[analyst], self._spending.get(analyst, Spent(0, 0))
        return Spent(max(kept.units - spent.units, 0), max(kept.answers - spent.answers, 0))

    def _kept_from(self, analyst: str) -> Spent:
        """What was reserved for others and not spent."""
        total = Spent(0, 0)
        for other in self._reserved:
            if other != analyst:
                total = total.plus(*self._unspent(other))
        return total

    def _count_free(self, body: dict[str, Any], entry: Entry) -> None:
        self._free[str(body["analyst"]), day_of(entry.state().time)] += 1

    def _check_asked(self, body: dict[str, Any], entry: Entry) -> None:
        """What every charge and every answer has."""
        named = isinstance(body["query"], str) and isinstance(body["analyst"], str)
        must(named, "it does not say who asked what")
        must(type(body["round"]) is int, "its round is not a whole number")
        must(body["time"] == entry.state().time, "its time is not that of the state after it")
        self._check_side_tables(str(body["canonical"]))

    def check_key(self, body: dict[str, Any], entry: Entry) -> State:
        self._check_key(body["key"], int(body["answer"]))
        if "analyst" in body:  # earlier versions did not say who
            self._count_free(body, entry)
        return self.state

    def _check_own_key(self, body: dict[str, Any], entry: Entry) -> None:
        if body.get("key") is not None:
            self._check_key(body["key"], entry.seq)

    def _check_key(self, key: str, answer: int) -> None:
        found = self._ledger.store.keyed(key)
        must(found is not None and found.seq == answer, "its key does not lead to its answer")
        self._keys += 1


def must(holds: bool, otherwise: str) -> None:
    """Raise LedgerCorrupt unless something holds."""
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
