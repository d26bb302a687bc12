"""The ledger's database: the only module that says ``sqlite3``.

One file in WAL mode with ``synchronous=FULL``: a commit is one write and one fsync of the log. It
knows tables and transactions, not what an entry means.

Whoever commits, or folds the log into the file, holds a lock of ours meanwhile: versions of SQLite
before 3.51.3 can lose a commit if another connection does either at the same moment.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from surehold.errors import LedgerCorrupt, StorageFailed, SureholdError
from surehold.files import PRIVATE_FILE
from surehold.ledger.entries import Entry, Kind
from surehold.ledger.tables import (
    MIGRATIONS,
    Pending,
    RoundTotals,
    Segment,
    Spent,
    fill_spending,
)
from surehold.locks import waiting_lock

LOCK = "writing.lock"
_BUSY_SECONDS = 60.0
_PAGE = 1000  # entries read at a time, so that a long transcript is never in memory
_APPLICATION = 0x484F4C44  # "HOLD": tells file(1), and us, whose database it is
_BEFORE_ALL = -(2**62)  # rows that can't be are listed too, and so found
_WHAT = "the ledger"
_WRITING = "writing the ledger"
_TOLD: tuple[Kind, ...] = ("answer", "derived")
_SPENDING = "SELECT analyst, units, answers FROM spending"


class Store:
    """A connection, shared by the threads of one process; one for ``reading`` never writes."""

    def __init__(self, path: Path, reading: bool = False) -> None:
        if not path.is_file():
            raise LedgerCorrupt(_WHAT, f"the file {path.name!r} is missing")
        self.lock = threading.RLock()
        """Held by a thread while it reads or writes; hold it for reads that belong together."""
        self._process = os.getpid()
        self._path, self._reading = path, reading
        with _told_plainly("opening the ledger"):
            self._connection = _connect(path, reading)
            try:
                if not reading:
                    self._migrate()
            except BaseException:
                self._connection.close()
                raise

    @classmethod
    def create(cls, path: Path) -> Store:
        """A new, empty database."""
        path.touch(mode=PRIVATE_FILE, exist_ok=False)  # the files beside it follow its mode
        with _told_plainly("creating the ledger"), waiting_lock(path.with_name(LOCK)):
            connection = _connect(path)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.close()
        return cls(path)

    def _migrate(self) -> None:
        [application] = self._connection.execute("PRAGMA application_id").fetchone()
        if application != _APPLICATION:
            raise LedgerCorrupt(_WHAT, "it is not a database of Surehold's")
        if self._version() == len(MIGRATIONS):
            return  # without waiting for whoever is writing
        with self.writing():
            version = self._version()
            if version > len(MIGRATIONS):
                raise LedgerCorrupt(_WHAT, f"it has format {version}, from a newer Surehold")
            for number in range(version, len(MIGRATIONS)):
                self._step(MIGRATIONS[number])
                self._connection.execute(f"PRAGMA user_version = {number + 1}")

    def _step(self, migration: str | Callable[[sqlite3.Connection], None]) -> None:
        if not isinstance(migration, str):
            try:
                migration(self._connection)
            except (KeyError, TypeError, ValueError):
                raise LedgerCorrupt(_WHAT, "it holds an answer that can't be read") from None
            return
        for statement in migration.split(";"):
            self._connection.execute(statement)

    def _version(self) -> int:
        [version] = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All that is read in the block is of one moment, whoever writes meanwhile."""
        self._check_process()
        with self.lock, _told_plainly("reading the ledger"):
            within = self._connection.in_transaction
            if not within:
                self._connection.execute("BEGIN")
            try:
                yield
            finally:
                if not within and self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing, one process at a time; durable when the block ends without an error.

        If the commit itself fails nobody knows: the error says so, and the connection is a new one
        from then on.
        """
        self._check_process()
        with self.lock, self._alone(), _told_plainly(_WRITING):
            self._connection.execute("BEGIN IMMEDIATE")
            is_over = False
            try:
                yield
                is_over = True
                self._commit()
            except BaseException as error:
                self._undo()
                if is_over and isinstance(error, sqlite3.Error):
                    raise _commit_error(error) from error
                raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other connection, of whatever process, commits or folds the log."""
        try:
            with waiting_lock(self._path.with_name(LOCK), _BUSY_SECONDS):
                yield
        except TimeoutError:
            raise _busy(_WRITING) from None

    def reopen(self) -> None:
        """Forget what this connection knows of the file, which may not be what the disk has."""
        self._check_process()
        with self.lock, self._alone(), _told_plainly("opening the ledger"):
            self._connection.close()
            self._connection = _connect(self._path, self._reading)

    def _undo(self) -> None:
        """End the transaction; an error of the disk may have ended it already."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the connection; the last one folds the log into the file."""
        with contextlib.ExitStack() as stack:
            if not self._reading:
                stack.enter_context(self._alone())
            self._disconnect()

    def close_with(self, reader: Store) -> None:
        """Close this connection and another of this process, which only reads; wait for nobody.

        The last connection of all folds the log, if it may write. So it is this one only if no
        other process is writing; else the other one goes last, and the log stays for the next.
        """
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(waiting_lock(self._path.with_name(LOCK), 0.0))
                stores = (reader, self)
            except TimeoutError:
                stores = (self, reader)
            for store in stores:
                store._disconnect()

    def _disconnect(self) -> None:
        if os.getpid() != self._process:
            return  # closing an inherited connection could fold away its owner's log
        with self.lock, _told_plainly("closing the ledger"):
            self._connection.close()

    # ------------------------------------------------------------------------------ entries

    def add(self, *entries: Entry) -> None:
        """Within :meth:`writing`: more entries."""
        self._do_many(
            "INSERT INTO entries VALUES (?, ?, ?, ?)",
            ((entry.seq, entry.kind, entry.body, entry.hash) for entry in entries),
        )

    def head(self) -> Entry:
        """The last entry."""
        row = self._one("SELECT seq, kind, body, hash FROM entries ORDER BY seq DESC LIMIT 1")
        if row is None:
            raise LedgerCorrupt(_WHAT, "it has no entries")
        return _entry(row)

    def last(self) -> int:
        """The number of the last entry."""
        row = self._one("SELECT max(seq) FROM entries")
        return 0 if row is None or row[0] is None else int(row[0])

    def entry(self, seq: int) -> Entry | None:
        """The entry of that number."""
        row = self._one("SELECT seq, kind, body, hash FROM entries WHERE seq = ?", (seq,))
        return None if row is None else _entry(row)

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """All entries in order, a page at a time; those that come meanwhile too."""
        while rows := self._all(
            "SELECT seq, kind, body, hash FROM entries WHERE seq > ? ORDER BY seq LIMIT ?",
            (after, _PAGE),
        ):
            yield from map(_entry, rows)
            after = rows[-1][0]

    def sampled(self, kind: Kind, most: int) -> list[Entry]:
        """At most so many entries of a kind, other than answers: the last, and evenly before it."""
        rows = self._all("SELECT seq FROM entries WHERE kind = ? AND kind <> 'answer'", (kind,))
        numbers = sorted(row[0] for row in rows)[::-1]
        step = max(1, -(-len(numbers) // most))
        found = (self.entry(number) for number in reversed(numbers[::step]))
        return [entry for entry in found if entry is not None]

    def of_kind(self, kind: Kind) -> list[Entry]:
        """All entries of one kind, other than answers, in order."""
        rows = self._all(
            "SELECT seq, kind, body, hash FROM entries WHERE kind = ? AND kind <> 'answer' "
            "ORDER BY seq",
            (kind,),
        )
        return [_entry(row) for row in rows]

    def entries_back(self, before: int) -> Iterator[Entry]:
        """All entries below a number, the last first."""
        while rows := self._all(
            "SELECT seq, kind, body, hash FROM entries WHERE seq < ? ORDER BY seq DESC LIMIT ?",
            (before, _PAGE),
        ):
            yield from map(_entry, rows)
            before = rows[-1][0]

    # ------------------------------------------------------------------------------ answers

    def note_asked(self, asked: Mapping[bytes, Entry]) -> None:
        """Within :meth:`writing`: where to find answers again, by question."""
        self._do_many(
            "INSERT INTO asked VALUES (?, ?)",
            ((question, entry.seq) for question, entry in asked.items()),
        )

    def note_charged(self, charged: Mapping[bytes, Entry]) -> None:
        """Within :meth:`writing`: questions that are charged and not answered yet."""
        self._do_many(
            "INSERT INTO charged VALUES (?, ?)",
            ((question, entry.seq) for question, entry in charged.items()),
        )

    def drop_charged(self, question: bytes) -> None:
        """Within :meth:`writing`: a question that was charged is answered."""
        self._do("DELETE FROM charged WHERE question = ?", (question,))

    def note_free(self, analyst: str, day: int) -> None:
        """Within :meth:`writing`: one more entry of an analyst that cost nothing."""
        self._do("DELETE FROM free_entries WHERE day < ?", (day,))
        self._do(
            "INSERT INTO free_entries VALUES (?, ?, 1) ON CONFLICT (analyst, day) "
            "DO UPDATE SET entries = entries + 1",
            (analyst, day),
        )

    def note_round(self, more: RoundTotals) -> None:
        """Within :meth:`writing`: so many more answers at a round, at this price."""
        self._do(
            "INSERT INTO rounds VALUES (?1, ?2, ?3) ON CONFLICT (round) "
            "DO UPDATE SET answers = answers + ?2, price = price + ?3",
            more,
        )

    def note_spending(self, analyst: str, spent: Spent) -> None:
        """Within :meth:`writing`: what an analyst has been charged in all, from now on."""
        row = (analyst, str(spent.units), spent.answers)
        self._do("INSERT OR REPLACE INTO spending VALUES (?, ?, ?)", row)

    def mend_spending(self) -> None:
        """Within :meth:`writing`: what analysts were charged, anew from the entries."""
        self._step(fill_spending)

    def note_key(self, key: str, seq: int) -> None:
        """Within :meth:`writing`: which answer, or which append, a caller's key stands for."""
        self._do("INSERT INTO keys VALUES (?, ?)", (key, seq))

    def asked(self, question: bytes) -> Entry | None:
        """The answer to a question that was asked before."""
        return self._found("SELECT seq FROM asked WHERE question = ?", question, _TOLD)

    def charged(self, question: bytes) -> Entry | None:
        """The charge for a question that is not answered yet."""
        return self._found("SELECT seq FROM charged WHERE question = ?", question, ("charge",))

    def keyed(self, key: str) -> Entry | None:
        """The append, the answer, or the charge for it, that a caller's key stands for."""
        return self._found("SELECT seq FROM keys WHERE key = ?", key, (*_TOLD, "append", "charge"))

    def free_entries(self, analyst: str, day: int) -> int:
        """How many entries an analyst added in a day that cost nothing."""
        row = self._one(
            "SELECT entries FROM free_entries WHERE analyst = ? AND day = ?", (analyst, day)
        )
        return 0 if row is None else int(row[0])

    def spending(self) -> dict[str, Spent]:
        """What each analyst has been charged."""
        return {str(row[0]): _spent(row) for row in self._all(_SPENDING)}

    def spent_by(self, analyst: str) -> Spent:
        """What one analyst has been charged."""
        row = self._one(f"{_SPENDING} WHERE analyst = ?", (analyst,))
        return Spent(0, 0) if row is None else _spent(row)

    def rounds(self) -> list[RoundTotals]:
        """What was answered at each round, in order."""
        rows = self._all("SELECT round, answers, price FROM rounds ORDER BY round")
        for row in rows:
            whole = all(isinstance(value, int) for value in row)
            if not whole or row[0] < 1 or row[1] < 0 or row[2] < 1:
                raise LedgerCorrupt(_WHAT, "its index has rounds that can't be")
        return [RoundTotals(*row) for row in rows]

    def questions(self) -> int:
        """How many answers can be found again, derived ones among them."""
        row = self._one("SELECT count(*) FROM asked")
        return 0 if row is None else int(row[0])

    def all_free_entries(self) -> dict[tuple[str, int], int]:
        """The same of every analyst, for the last day on which there were any."""
        rows = self._all("SELECT analyst, day, entries FROM free_entries")
        return {(row[0], row[1]): row[2] for row in rows}

    def unanswered(self) -> int:
        """How many questions are charged and not answered yet."""
        row = self._one("SELECT count(*) FROM charged")
        return 0 if row is None else int(row[0])

    def keys(self) -> int:
        """How many keys stand for answers."""
        row = self._one("SELECT count(*) FROM keys")
        return 0 if row is None else int(row[0])

    # ------------------------------------------------------------------------------ records

    def add_segment(self, segment: Segment) -> None:
        """Within :meth:`writing`: one more file."""
        self._do(
            "INSERT INTO segments VALUES (?, ?, ?, ?)",
            (segment.start, segment.count, segment.digest, segment.bytes),
        )

    def add_pending(self, pending: Pending) -> None:
        """Within :meth:`writing`: one more small append."""
        row = (pending.start, pending.count, pending.rows)
        self._do("INSERT INTO pending VALUES (?, ?, ?)", row)

    def note_content(self, content: str, seq: int) -> None:
        """Within :meth:`writing`: which append brought this content, the first if several did."""
        self._do("INSERT OR IGNORE INTO contents VALUES (?, ?)", (content, seq))

    def brought(self, content: str) -> int | None:
        """The entry of the append that brought this content."""
        row = self._one("SELECT seq FROM contents WHERE content = ?", (content,))
        return None if row is None else int(row[0])

    def contents(self) -> dict[str, int]:
        """All contents that are known, and the entries that brought them."""
        return {row[0]: row[1] for row in self._all("SELECT content, seq FROM contents")}

    def drop_pending(self, stop: int) -> None:
        """Within :meth:`writing`: small appends before a record are in a segment now."""
        self._do("DELETE FROM pending WHERE start < ?", (stop,))

    def segments(self, stop_after: int = _BEFORE_ALL) -> list[Segment]:
        """Segments in order, those that end after so many records."""
        rows = self._all(
            "SELECT start, count, digest, bytes FROM segments "
            "WHERE start + count > ? ORDER BY start",
            (stop_after,),
        )
        _check_types(rows, (int, int, str, int))
        return [Segment(*row) for row in rows]

    def pending(self, stop_after: int = _BEFORE_ALL) -> list[Pending]:
        """Small appends in order, those that end after so many records."""
        rows = self._all(
            "SELECT start, count, rows FROM pending WHERE start + count > ? ORDER BY start",
            (stop_after,),
        )
        _check_types(rows, (int, int, str))
        return [Pending(*row) for row in rows]

    def first_pending(self) -> int:
        """Where the pending records begin; past all records if there are none."""
        row = self._one("SELECT min(start) FROM pending")
        return 2**63 - 1 if row is None or row[0] is None else int(row[0])

    def damage(self) -> str | None:
        """What the database itself finds wrong with its pages."""
        row = self._one("PRAGMA quick_check(1)")
        return None if row is None or row[0] == "ok" else str(row[0])

    # ---------------------------------------------------------------------------- sqlite3

    def _check_process(self) -> None:
        """A connection does not survive a fork: its locks stay behind, and its log may be gone."""
        if os.getpid() != self._process:
            reason = "it was opened by another process, from which this one was forked"
            raise StorageFailed("using the ledger", reason, "open the dataset in this process")

    def _do(self, statement: str, values: Sequence[Any] = ()) -> None:
        self._check_process()
        with self.lock:
            try:
                self._connection.execute(statement, values)
            except sqlite3.Error as error:
                raise _plain_error(_WRITING, error) from error

    def _do_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._check_process()
        with self.lock:
            try:
                self._connection.executemany(statement, rows)
            except sqlite3.Error as error:
                raise _plain_error(_WRITING, error) from error

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._check_process()
        with self.lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise _plain_error("reading the ledger", error) from error

    def _one(self, statement: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        rows = self._all(statement, values)
        return rows[0] if rows else None

    def _found(self, statement: str, value: str | bytes, kinds: tuple[Kind, ...]) -> Entry | None:
        row = self._one(statement, (value,))
        if row is None:
            return None
        entry = self.entry(row[0])
        if entry is None or entry.kind not in kinds:
            raise LedgerCorrupt(_WHAT, "its index points to an entry that is not an answer", row[0])
        return entry


def _connect(path: Path, reading: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'ro' if reading else 'rw'}",
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    try:
        # A full fsync also where fsync alone stops at the drive's cache (macOS).
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "fullfsync = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("PRAGMA cache_size = -65536")
    except BaseException:
        connection.close()
        raise
    return connection


def _spent(row: tuple[Any, ...]) -> Spent:
    _, units, answers = row
    is_whole = isinstance(units, str) and units.isascii() and units.isdigit()
    if not is_whole or not isinstance(answers, int):
        raise LedgerCorrupt(_WHAT, "what an analyst was charged is not kept as it was written")
    return Spent(int(units), answers)


def _entry(row: tuple[Any, ...]) -> Entry:
    seq, kind, body, digest = row
    if not (isinstance(kind, str) and isinstance(body, str) and isinstance(digest, bytes)):
        raise LedgerCorrupt(_WHAT, "it is not kept as it was written", seq)
    known = cast("Kind", kind)
    return Entry(seq, known, body, digest)


def _check_types(rows: Sequence[tuple[Any, ...]], kinds: tuple[type, ...]) -> None:
    """The database keeps whatever it is given; an edited value must not raise further in."""
    if any(
        not isinstance(value, kind) for row in rows for value, kind in zip(row, kinds, strict=True)
    ):
        raise LedgerCorrupt("the manifest", "it is not kept as it was written")


@contextmanager
def _told_plainly(what: str) -> Iterator[None]:
    """Errors of the database as errors of ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _plain_error(what, error) from error


def _busy(what: str) -> StorageFailed:
    reason = f"another process has kept the ledger for {_BUSY_SECONDS:g} seconds"
    return StorageFailed(what, reason, "nothing was changed; try again")


def _commit_error(error: sqlite3.Error) -> SureholdError:
    """Of a commit that failed: if its bytes were written and not synced, a crash may bring it back.

    A disk that is full did not take the last of them, without which the others count for nothing.
    """
    if getattr(error, "sqlite_errorname", None) == "SQLITE_FULL":
        return _plain_error(_WRITING, error)
    hint = (
        "nothing was told, but it is not known whether it was kept. See to the disk, then do the "
        "same again with the same key, which is safe in any case; without a key look first what "
        "is there (surehold status, surehold transcript)"
    )
    return StorageFailed(_WRITING, str(error), hint, kept=None)


def _plain_error(what: str, error: sqlite3.Error) -> SureholdError:
    name, text = getattr(error, "sqlite_errorname", None) or "", str(error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return _busy(what)
    # SQLITE_ERROR is a statement that makes no sense there: tables missing, or too many.
    if isinstance(error, sqlite3.OperationalError) and name != "SQLITE_ERROR":
        hint = "nothing was told and nothing was kept; see to the disk, then try again"
        return StorageFailed(what, text, hint)
    if isinstance(error, sqlite3.ProgrammingError):
        return StorageFailed(what, "the dataset is closed", "open it again")
    return LedgerCorrupt(_WHAT, text)
