"""The ledger's database: connections, transactions and errors; the only module with ``sqlite3``.

One file in WAL mode with ``synchronous=FULL``: a commit is one write and one fsync of the log. What
the tables hold is the business of :mod:`.store`.

A lock of ours is held during every commit, and while the log is folded into the file: versions of
SQLite before 3.51.3 can lose a commit if another connection does either at the same moment.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

from surehold.errors import LedgerCorrupt, StorageFailed, SureholdError
from surehold.files import PRIVATE_FILE
from surehold.ledger.tables import MIGRATIONS, Connection
from surehold.locks import waiting_lock
from surehold.spans import span

LOCK = "writing.lock"
WHAT = "the ledger"
_BUSY_SECONDS = 60.0
_APPLICATION = 0x484F4C44  # tells file(1), and us, whose database it is
_WRITING = "writing the ledger"


class Database:
    """A connection, shared by the threads of one process; one for ``reading`` never writes."""

    def __init__(self, path: Path, reading: bool = False) -> None:
        if not path.is_file():
            raise LedgerCorrupt(WHAT, f"the file {path.name!r} is missing")
        self.lock = threading.RLock()
        """Held by a thread while it reads or writes; hold it for reads that belong together."""
        self._process = os.getpid()
        self._path, self._reading = path, reading
        self._lock_path = path.with_name(LOCK)
        with _storage_errors("opening the ledger"):
            self._connection = _connect(path, reading)
            self._file = _identity(path)
            try:
                if not reading:
                    self._migrate()
            except BaseException:
                self._connection.close()
                raise

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new, empty database."""
        path.touch(mode=PRIVATE_FILE, exist_ok=False)  # the files beside it follow its mode
        with _storage_errors("creating the ledger"), waiting_lock(path.with_name(LOCK)):
            connection = _connect(path)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.close()
        return cls(path)

    def _migrate(self) -> None:
        if self._pragma("application_id") != _APPLICATION:
            raise LedgerCorrupt(WHAT, "it is not a Surehold database")
        if self._pragma("user_version") == len(MIGRATIONS):
            return  # without waiting for a writer
        with self.writing():
            version = self._pragma("user_version")
            if version > len(MIGRATIONS):
                raise LedgerCorrupt(WHAT, f"it has format {version}, from a newer Surehold")
            for number in range(version, len(MIGRATIONS)):
                self._run_step(MIGRATIONS[number])
                self._connection.execute(f"PRAGMA user_version = {number + 1}")

    def _pragma(self, name: str) -> int:
        [value] = self._connection.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    def _run_step(self, step: str | Callable[[Connection], None]) -> None:
        """One migration: statements, or a function of the connection."""
        if isinstance(step, str):
            for statement in step.split(";"):
                self._connection.execute(statement)
            return
        try:
            step(self._connection)
        except (KeyError, TypeError, ValueError):
            raise LedgerCorrupt(WHAT, "it has an answer that can't be read") from None

    # ------------------------------------------------------------------------- transactions

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read in the block is of one moment, whatever is written meanwhile."""
        self.check_process()
        with self.lock, _storage_errors("reading the ledger"):
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

        If the commit itself fails, its outcome is unknown: the error says so, and the ledger opens
        a new connection before the next write.
        """
        self.check_process()
        with span("commit"), self.lock, _storage_errors(_WRITING), self._exclusive():
            self._check_file()
            self._connection.execute("BEGIN IMMEDIATE")
            is_over = False
            try:
                yield
                is_over = True
                self._commit()
            except BaseException as error:
                if self._connection.in_transaction:  # a disk error may have ended it already
                    self._connection.execute("ROLLBACK")
                if is_over and isinstance(error, sqlite3.Error):
                    raise _commit_error(error) from error
                raise

    @contextmanager
    def part(self) -> Iterator[None]:
        """Within :meth:`writing`: all or nothing of a part of it, on its own."""
        with _storage_errors(_WRITING):
            self._connection.execute("SAVEPOINT part")
            try:
                yield
            except BaseException:
                if self.is_writing:
                    self._connection.execute("ROLLBACK TO part")
                    self._connection.execute("RELEASE part")
                raise
            self._connection.execute("RELEASE part")

    @property
    def is_writing(self) -> bool:
        """Whether a transaction is going on, which an error of the disk may have ended."""
        return self._connection.in_transaction

    def _exclusive(self) -> AbstractContextManager[None]:
        """While no other connection, of whatever process, commits or folds the log."""
        return waiting_lock(self._lock_path, _BUSY_SECONDS)

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    def reopen(self) -> None:
        """Forget what this connection knows of the file, which may not be what the disk has."""
        self.check_process()
        with self.lock, _storage_errors("opening the ledger"), self._exclusive():
            self._check_file()
            self._connection.close()
            self._connection = _connect(self._path, self._reading)

    def close(self) -> None:
        """Close the connection; the last one folds the log into the file."""
        waits = contextlib.nullcontext() if self._reading else self._exclusive()
        with _storage_errors("closing the ledger"), waits:
            self._disconnect()

    def close_with(self, reader: Database) -> None:
        """Close this connection and another of this process that only reads, without waiting.

        The last connection of all folds the log, if it may write. So it is this one only if no
        other process is writing; else the other one goes last, and the log stays for the next.
        """
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(waiting_lock(self._lock_path, 0.0))
                last_two = (reader, self)
            except TimeoutError:
                last_two = (self, reader)
            for database in last_two:
                database._disconnect()

    def _disconnect(self) -> None:
        if os.getpid() != self._process:
            return  # closing an inherited connection could fold away its owner's log
        with self.lock, _storage_errors("closing the ledger"):
            self._connection.close()

    def scrub(self) -> None:
        """Rewrite the file without what was deleted, and empty the log, which may still have it."""
        self.check_process()
        doing = "removing records from the ledger"
        with self.lock, _storage_errors(doing), self._exclusive():
            self._connection.execute("PRAGMA secure_delete = ON")
            self._connection.execute("VACUUM")
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            reason = "another process is reading the ledger"
            raise StorageFailed(doing, reason, "run the same command again", kept=True)

    def copy_to(self, path: Path) -> None:
        """Write what is there at this moment into a new file, without waiting for a writer."""
        self.check_process()
        path.touch(mode=PRIVATE_FILE, exist_ok=False)
        copy = contextlib.closing(sqlite3.connect(path))
        with self.lock, _storage_errors("copying the ledger"), copy as target:
            self._connection.backup(target)

    def damage(self) -> str | None:
        """What SQLite itself finds wrong with the pages of the file."""
        found = self._value("PRAGMA quick_check(1)")
        return None if found in (None, "ok") else str(found)

    # --------------------------------------------------------------------------- statements

    def check_process(self) -> None:
        """A connection does not survive a fork: its locks stay behind, and its log may be gone."""
        if os.getpid() != self._process:
            reason = "it was opened by another process, from which this one was forked"
            raise StorageFailed("using the ledger", reason, "open the dataset in this process")

    def _check_file(self) -> None:
        """What is written into a file that was removed, or replaced by a backup, would be lost."""
        if _identity(self._path) != self._file:
            reason = "its file was removed or replaced while it was open"
            hint = "nothing was kept; open the dataset again, or restart the service"
            raise StorageFailed(_WRITING, reason, hint)

    def _write(self, statement: str, *rows: Sequence[Any]) -> None:
        """Within :meth:`writing`, which sees to errors: run a statement once for each row."""
        self._connection.executemany(statement, rows)

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        self.check_process()
        try:
            with self.lock:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise _translate("reading the ledger", error) from error

    def _value(self, statement: str, *values: Any) -> Any:
        """The first value of the first row; None if there is none."""
        rows = self._rows(statement, *values)
        return rows[0][0] if rows else None

    def _count(self, table: str) -> int:
        return int(self._value(f"SELECT count(*) FROM {table}"))


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell a file from any other, even of the same name; None if there is none."""
    with contextlib.suppress(FileNotFoundError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


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


@contextmanager
def _storage_errors(what: str) -> Iterator[None]:
    """Turn errors of the database, and of a lock that is not free in time, into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(what, error) from error
    except TimeoutError:
        raise _busy(_WRITING) from None


def _busy(what: str) -> StorageFailed:
    reason = f"another process has held the ledger for {_BUSY_SECONDS:g} seconds"
    return StorageFailed(what, reason, "nothing was changed; try again")


def _commit_error(error: sqlite3.Error) -> SureholdError:
    """For a commit that failed: if its bytes were written but not synced, a crash may revive it.

    A disk that is full did not take the last of them, without which the others count for nothing.
    """
    if getattr(error, "sqlite_errorname", None) == "SQLITE_FULL":
        return _translate(_WRITING, error)
    hint = (
        "no answer was returned, but it is unknown whether the write was kept. Check the disk, "
        "then repeat the request with the same key, which is always safe; without a key, first "
        "look at what is there (surehold status, surehold transcript)"
    )
    return StorageFailed(_WRITING, str(error), hint, kept=None)


def _translate(what: str, error: sqlite3.Error) -> SureholdError:
    name, text = getattr(error, "sqlite_errorname", None) or "", str(error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return _busy(what)
    # SQLITE_ERROR is a statement that makes no sense there: tables missing, or too many.
    if isinstance(error, sqlite3.OperationalError) and name != "SQLITE_ERROR":
        hint = "nothing was kept and no answer was returned; check the disk, then try again"
        return StorageFailed(what, text, hint)
    if isinstance(error, sqlite3.ProgrammingError):
        return StorageFailed(what, "the dataset is closed", "open it again")
    return LedgerCorrupt(WHAT, text)
