"""The tables of the ledger's database, one class for each thing that they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from surehold.errors import LedgerCorrupt
from surehold.ledger.database import WHAT, Database
from surehold.ledger.entries import Entry, Kind
from surehold.ledger.tables import ClaimRow, Pending, RoundTotals, Segment, Spent, fill_spending

_PAGE = 1000  # entries read at a time, so that a long transcript is never in memory
_BEFORE_ALL = -(2**62)  # impossible rows are listed too, and so found
_ANSWERS: tuple[Kind, ...] = ("answer", "derived")
_KEYED: tuple[Kind, ...] = (*_ANSWERS, "append", "charge")
_ENTRY = "SELECT seq, kind, body, hash FROM entries"
_COLUMNS = "entries.seq, kind, body, hash"
_SPENDING = "SELECT analyst, units, answers FROM spending"


T = TypeVar("T")


class EntryTable(Database):
    """The chain of entries."""

    def __init__(self, path: Path, reading: bool = False) -> None:
        # By kind: the number of the last entry that was parsed, and what all of them say.
        self._parsed: dict[Kind, tuple[int, list[Any]]] = {}
        super().__init__(path, reading)

    def add(self, *entries: Entry) -> None:
        """Within :meth:`writing`: more entries."""
        rows = ((entry.seq, entry.kind, entry.body, entry.hash) for entry in entries)
        self._write("INSERT INTO entries VALUES (?, ?, ?, ?)", *rows)

    def head(self) -> Entry:
        """The last entry."""
        rows = self._rows(f"{_ENTRY} ORDER BY seq DESC LIMIT 1")
        if not rows:
            raise LedgerCorrupt(WHAT, "it has no entries")
        return _entry(rows[0])

    def last(self) -> int:
        """The number of the last entry."""
        return int(self._value("SELECT max(seq) FROM entries") or 0)

    def entry(self, seq: int) -> Entry | None:
        """The entry of that number."""
        rows = self._rows(f"{_ENTRY} WHERE seq = ?", seq)
        return _entry(rows[0]) if rows else None

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """All entries in order, a page at a time; those that come meanwhile too."""
        while rows := self._rows(f"{_ENTRY} WHERE seq > ? ORDER BY seq LIMIT ?", after, _PAGE):
            yield from map(_entry, rows)
            after = rows[-1][0]

    def entries_back(self, before: int) -> Iterator[Entry]:
        """All entries below a number, the last first."""
        query = f"{_ENTRY} WHERE seq < ? ORDER BY seq DESC LIMIT ?"
        while rows := self._rows(query, before, _PAGE):
            yield from map(_entry, rows)
            before = rows[-1][0]

    def of_kind(self, kind: Kind, after: int = 0) -> list[Entry]:
        """All entries of one kind, other than answers, in order."""
        query = f"{_ENTRY} WHERE kind = ? AND kind <> 'answer' AND seq > ? ORDER BY seq"
        return [_entry(row) for row in self._rows(query, kind, after)]

    def parsed(self, kind: Kind, parse: Callable[[Entry], T]) -> list[T]:
        """What entries of one kind say; those that were parsed before are not parsed again."""
        with self.lock:
            last, known = self._parsed.get(kind, (0, []))
            new = self.of_kind(kind, after=last)
            known = [*known, *map(parse, new)] if new else known
            self._parsed[kind] = (new[-1].seq if new else last), known
            return known

    def sampled(self, kind: Kind, most: int) -> list[Entry]:
        """At most ``most`` entries of a kind, other than answers: the last, and evenly before."""
        rows = self._rows("SELECT seq FROM entries WHERE kind = ? AND kind <> 'answer'", kind)
        numbers = sorted((row[0] for row in rows), reverse=True)
        step = max(1, -(-len(numbers) // most))
        found = (self.entry(number) for number in reversed(numbers[::step]))
        return [entry for entry in found if entry is not None]


class QuestionIndex(EntryTable):
    """Where to find answers and charges: by question, and by the caller's key."""

    def note_asked(self, asked: Mapping[bytes, Entry]) -> None:
        """Within :meth:`writing`: the answers to questions."""
        rows = ((question, entry.seq) for question, entry in asked.items())
        self._write("INSERT OR REPLACE INTO asked VALUES (?, ?)", *rows)

    def note_charged(self, charged: Mapping[bytes, Entry]) -> None:
        """Within :meth:`writing`: questions that are charged and not answered yet."""
        rows = ((question, entry.seq) for question, entry in charged.items())
        self._write("INSERT INTO charged VALUES (?, ?)", *rows)

    def drop_charged(self, *questions: bytes) -> None:
        """Within :meth:`writing`: questions that were charged are answered."""
        self._write("DELETE FROM charged WHERE question = ?", *((one,) for one in questions))

    def note_key(self, key: str, seq: int) -> None:
        """Within :meth:`writing`: which answer, or which append, a caller's key stands for."""
        self._write("INSERT INTO keys VALUES (?, ?)", (key, seq))

    def find(self, questions: Sequence[bytes]) -> tuple[dict[bytes, Entry], dict[bytes, Entry]]:
        """The answers to questions, and the charges for those that are not answered yet.

        One statement finds both, so that a charge that is being answered is one or the other.
        """
        found: tuple[dict[bytes, Entry], dict[bytes, Entry]] = ({}, {})
        for start in range(0, len(questions), _PAGE):
            page = questions[start : start + _PAGE]
            for question, is_charge, seq, *row in self._rows(_find(len(page)), *page):
                kinds = ("charge",) if is_charge else _ANSWERS
                found[is_charge][question] = _indexed(seq, row, kinds)
        return found

    def keyed(self, key: str) -> Entry | None:
        """The append, the answer, or the charge for it, that a caller's key stands for."""
        query = f"SELECT keys.seq, {_COLUMNS} FROM keys LEFT JOIN entries USING (seq) WHERE key = ?"
        rows = self._rows(query, key)
        return _indexed(rows[0][0], rows[0][1:], _KEYED) if rows else None

    def note_claims(self, claims: Mapping[bytes, ClaimRow]) -> None:
        """Within :meth:`writing`: claims that are new, or whose last number is."""
        rows = ((subject, *row) for subject, row in claims.items())
        self._write("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", *rows)

    def claim(self, subject: bytes) -> ClaimRow | None:
        """Where a question's claim is, if it has one."""
        rows = self._rows("SELECT seq, last FROM claims WHERE subject = ?", subject)
        return ClaimRow(*rows[0]) if rows else None

    def claims(self) -> dict[bytes, ClaimRow]:
        """All claims of questions."""
        return {row[0]: ClaimRow(*row[1:]) for row in self._rows("SELECT * FROM claims")}

    def earlier(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The keys of the same questions, or of their claims, in the words of earlier versions."""
        if not keys:
            return {}
        synonyms = self._synonyms
        if synonyms is None:
            # With this lock and no other, as `cached_property` has one: callers may hold this.
            with self.lock:
                synonyms = self._synonyms = self.synonyms()
        return {key: synonyms[key] for key in keys if key in synonyms}

    _synonyms: dict[bytes, bytes] | None = None
    """What :meth:`synonyms` returns: a migration fills the table, and nothing is added to it."""

    def synonyms(self) -> dict[bytes, bytes]:
        """All keys that stand for keys of earlier versions."""
        return dict(self._rows("SELECT question, earlier FROM synonyms"))

    def questions(self) -> int:
        """How many answers the index has, derived ones among them."""
        return self._count("asked")

    def outstanding(self) -> list[Entry]:
        """The charges that are not answered yet."""
        query = f"SELECT {_COLUMNS} FROM charged JOIN entries USING (seq)"
        return [_entry(row) for row in self._rows(query)]

    def unanswered(self) -> int:
        """How many questions are charged and not answered yet."""
        return self._count("charged")

    def keys(self) -> int:
        """How many keys the index has."""
        return self._count("keys")


class Accounts(Database):
    """What was charged at each round and to each analyst, and what analysts added for free."""

    def note_round(self, more: RoundTotals) -> None:
        """Within :meth:`writing`: more answers at a round."""
        self._write(
            "INSERT INTO rounds VALUES (?1, ?2, ?3) ON CONFLICT (round) "
            "DO UPDATE SET answers = answers + ?2, price = price + ?3",
            more,
        )

    def rounds(self) -> list[RoundTotals]:
        """What was answered at each round, in order."""
        rows = self._rows("SELECT round, answers, price FROM rounds ORDER BY round")
        for row in rows:
            whole = all(isinstance(value, int) for value in row)
            if not whole or row[0] < 1 or row[1] < 0 or row[2] < 1:
                raise LedgerCorrupt(WHAT, "its index has impossible rounds")
        return [RoundTotals(*row) for row in rows]

    def note_spending(self, analyst: str, spent: Spent) -> None:
        """Within :meth:`writing`: what an analyst has been charged in all, from now on."""
        row = (analyst, str(spent.units), spent.answers)
        self._write("INSERT OR REPLACE INTO spending VALUES (?, ?, ?)", row)

    def mend_spending(self) -> None:
        """Within :meth:`writing`: recompute what analysts were charged from the entries."""
        self._run_step(fill_spending)

    def spending(self) -> dict[str, Spent]:
        """What each analyst has been charged."""
        return {str(row[0]): _spent(row) for row in self._rows(_SPENDING)}

    def spent_by(self, analyst: str) -> Spent:
        """What one analyst has been charged."""
        rows = self._rows(f"{_SPENDING} WHERE analyst = ?", analyst)
        return _spent(rows[0]) if rows else Spent(0, 0)

    def note_free(self, analyst: str, day: int) -> None:
        """Within :meth:`writing`: one more entry of an analyst that cost nothing."""
        self._write("DELETE FROM free_entries WHERE day < ?", (day,))
        self._write(
            "INSERT INTO free_entries VALUES (?, ?, 1) ON CONFLICT (analyst, day) "
            "DO UPDATE SET entries = entries + 1",
            (analyst, day),
        )

    def free_entries(self, analyst: str, day: int) -> int:
        """How many entries an analyst added in a day that cost nothing."""
        query = "SELECT entries FROM free_entries WHERE analyst = ? AND day = ?"
        return int(self._value(query, analyst, day) or 0)

    def all_free_entries(self) -> dict[tuple[str, int], int]:
        """The same of every analyst, for the last day on which there were any."""
        rows = self._rows("SELECT analyst, day, entries FROM free_entries")
        return {(row[0], row[1]): row[2] for row in rows}


class RecordTables(Database):
    """Where the records are: in segments, or pending in the database; and which appends came."""

    def add_segment(self, segment: Segment) -> None:
        """Within :meth:`writing`: one more file."""
        row = (segment.start, segment.count, segment.digest, segment.bytes)
        self._write("INSERT INTO segments VALUES (?, ?, ?, ?)", row)

    def segments(self, stop_after: int = _BEFORE_ALL) -> list[Segment]:
        """Segments in order, those that end after ``stop_after`` records."""
        query = (
            "SELECT start, count, digest, bytes FROM segments "
            "WHERE start + count > ? ORDER BY start"
        )
        rows = self._rows(query, stop_after)
        _check_types(rows, (int, int, str, int))
        return [Segment(*row) for row in rows]

    def add_pending(self, pending: Pending) -> None:
        """Within :meth:`writing`: one more small append."""
        row = (pending.start, pending.count, pending.rows)
        self._write("INSERT INTO pending VALUES (?, ?, ?)", row)

    def drop_pending(self, stop: int) -> None:
        """Within :meth:`writing`: small appends before a record are in a segment now."""
        self._write("DELETE FROM pending WHERE start < ?", (stop,))

    def blank_pending(self) -> None:
        """Within :meth:`writing`: forget what small appends hold; how many they are stays."""
        self._write("UPDATE pending SET rows = ?", ("",))

    def pending(self, stop_after: int = _BEFORE_ALL) -> list[Pending]:
        """Small appends in order, those that end after ``stop_after`` records."""
        query = "SELECT start, count, rows FROM pending WHERE start + count > ? ORDER BY start"
        rows = self._rows(query, stop_after)
        _check_types(rows, (int, int, str))
        return [Pending(*row) for row in rows]

    def first_pending(self) -> int:
        """Where the pending records begin; past all records if there are none."""
        start = self._value("SELECT min(start) FROM pending")
        return 2**63 - 1 if start is None else int(start)

    def note_content(self, content: str, seq: int) -> None:
        """Within :meth:`writing`: which append brought this content, the first if several did."""
        self._write("INSERT OR IGNORE INTO contents VALUES (?, ?)", (content, seq))

    def brought(self, content: str) -> int | None:
        """The entry of the append that brought this content."""
        seq = self._value("SELECT seq FROM contents WHERE content = ?", content)
        return None if seq is None else int(seq)

    def contents(self) -> dict[str, int]:
        """All contents that are known, and the entries that brought them."""
        return {row[0]: row[1] for row in self._rows("SELECT content, seq FROM contents")}


class Store(QuestionIndex, Accounts, RecordTables):
    """All tables of one ledger, over one connection."""


def _spent(row: tuple[Any, ...]) -> Spent:
    _, units, answers = row
    is_whole = isinstance(units, str) and units.isascii() and units.isdigit()
    if not is_whole or not isinstance(answers, int):
        raise LedgerCorrupt(WHAT, "what an analyst was charged is not kept as it was written")
    return Spent(int(units), answers)


def _entry(row: tuple[Any, ...]) -> Entry:
    seq, kind, body, digest = row
    if not (isinstance(kind, str) and isinstance(body, str) and isinstance(digest, bytes)):
        raise LedgerCorrupt(WHAT, "it is not kept as it was written", seq)
    return Entry(seq, cast("Kind", kind), body, digest)


@cache
def _find(questions: int) -> str:
    """The statement that looks up this many questions among answers (0) and charges (1)."""
    marks = ", ".join(f"?{i + 1}" for i in range(questions))
    return " UNION ALL ".join(
        f"SELECT question, {i}, {table}.seq, {_COLUMNS} FROM {table} "
        f"LEFT JOIN entries USING (seq) WHERE question IN ({marks})"
        for i, table in enumerate(("asked", "charged"))
    )


def _indexed(seq: int, row: Sequence[Any], kinds: tuple[Kind, ...]) -> Entry:
    """The entry that an index points to, which is one of these kinds."""
    if row[0] is None or row[1] not in kinds:
        raise LedgerCorrupt(WHAT, "its index points to an entry that is not an answer", seq)
    return _entry(tuple(row))


def _check_types(rows: Sequence[tuple[Any, ...]], kinds: tuple[type, ...]) -> None:
    """The database keeps whatever it is given; an edited value must not raise further in."""
    values = ((value, kind) for row in rows for value, kind in zip(row, kinds, strict=True))
    if not all(isinstance(value, kind) for value, kind in values):
        raise LedgerCorrupt("the manifest", "it is not kept as it was written")
