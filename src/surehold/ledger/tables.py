"""The tables of the ledger's database: how they came to be, version by version, and their rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


class Connection(Protocol):
    """What a migration needs of a connection; see :mod:`.database`."""

    def execute(self, sql: str, /) -> Iterable[Any]:
        """One statement, and the rows that it gives."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """One statement for each row."""


# -------------------------------------------------------------------------------- rows


class Spent(NamedTuple):
    """What an analyst was charged, in units, and how many of the plan's answers that took."""

    units: int
    answers: int

    def plus(self, units: int, answers: int) -> Spent:
        """With more added."""
        return Spent(self.units + units, self.answers + answers)


@dataclass(frozen=True)
class Segment:
    """One immutable file of records, named by its digest."""

    start: int
    count: int
    digest: str
    bytes: int


@dataclass(frozen=True)
class Pending:
    """One small append that waits in the database, as JSON rows."""

    start: int
    count: int
    rows: str


class ClaimRow(NamedTuple):
    """Where a question's claim was registered, and its last number, by entries."""

    seq: int
    last: int | None


class RoundTotals(NamedTuple):
    """The answers that were given at a round, and what they were charged, in answers."""

    round: int
    answers: int
    price: int

    def plus(self, answers: int, price: int) -> RoundTotals:
        """With more added."""
        return RoundTotals(self.round, self.answers + answers, self.price + price)


# -------------------------------------------------------------------------- migrations


def _add_spending(connection: Connection) -> None:
    """What each analyst was charged, in units: as text, as they are too long for numbers."""
    connection.execute(
        "CREATE TABLE spending (analyst TEXT PRIMARY KEY, units TEXT NOT NULL, "
        "answers INTEGER NOT NULL) WITHOUT ROWID"
    )
    fill_spending(connection)


def fill_spending(connection: Connection) -> None:
    """Rebuild it from the entries, which it summarises."""
    spent: dict[str, Spent] = {}
    given = 0
    paid = connection.execute(
        "SELECT body FROM entries WHERE kind IN ('create', 'answer', 'charge') ORDER BY seq"
    )
    for (body,) in paid:
        values = json.loads(body)
        for analyst, units in values.get("succeeds", {}).get("spending", {}).items():
            spent[analyst] = Spent(int(units), 0)  # by a dataset that this one took over from
        if "charged" in values or "charge" not in values:  # paid by another entry
            continue
        analyst, after = values["analyst"], int(values["after"]["answers"])
        before = spent.get(analyst, Spent(0, 0))
        spent[analyst] = before.plus(int(values["charge"]), after - given)
        given = after
    rows = [(analyst, str(one.units), one.answers) for analyst, one in spent.items()]
    connection.execute("DELETE FROM spending")
    connection.executemany("INSERT INTO spending VALUES (?, ?, ?)", rows)


def _add_synonyms(connection: Connection) -> None:
    """What was asked in words that have another canonical form since: from that form to them."""
    from surehold.ledger.synonyms import synonyms_of

    connection.execute(
        "CREATE TABLE synonyms (question BLOB PRIMARY KEY, earlier BLOB NOT NULL) WITHOUT ROWID"
    )
    entries = connection.execute("SELECT kind, body FROM entries ORDER BY seq")
    known = {row[0] for row in connection.execute("SELECT question FROM asked")}
    known |= {row[0] for row in connection.execute("SELECT question FROM charged")}
    known |= {row[0] for row in connection.execute("SELECT subject FROM claims")}
    rows = [pair for pair in synonyms_of(entries) if pair[0] not in known]
    connection.executemany("INSERT OR IGNORE INTO synonyms VALUES (?, ?)", rows)


# Migration i takes a database from version i to i + 1. Add to the end; never change one.
MIGRATIONS: tuple[str | Callable[[Connection], None], ...] = (
    """
    CREATE TABLE entries (
        seq INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        hash BLOB NOT NULL
    );
    CREATE TABLE segments (
        start INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        digest TEXT NOT NULL,
        bytes INTEGER NOT NULL
    );
    CREATE TABLE pending (
        start INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        rows TEXT NOT NULL
    );
    CREATE TABLE asked (
        question BLOB PRIMARY KEY,
        seq INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE keys (
        key TEXT PRIMARY KEY,
        seq INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE contents (
        content TEXT PRIMARY KEY,
        seq INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE rounds (
        round INTEGER PRIMARY KEY,
        answers INTEGER NOT NULL
    );
    CREATE INDEX entries_by_kind ON entries (kind, seq) WHERE kind <> 'answer';
    """,
    # What was charged at a round, in answers: a table of many cells is charged as two.
    """
    ALTER TABLE rounds ADD COLUMN price INTEGER NOT NULL DEFAULT 0;
    UPDATE rounds SET price = answers;
    """,
    _add_spending,
    # What was charged before records were touched and is not answered yet, and how many entries
    # each analyst added for nothing in a day.
    """
    CREATE TABLE charged (
        question BLOB PRIMARY KEY,
        seq INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE free_entries (
        analyst TEXT NOT NULL,
        day INTEGER NOT NULL,
        entries INTEGER NOT NULL,
        PRIMARY KEY (analyst, day)
    ) WITHOUT ROWID
    """,
    # Of a surprise guard: where a question's claim is, and the last number that was reported of it.
    """
    CREATE TABLE claims (
        subject BLOB PRIMARY KEY,
        seq INTEGER NOT NULL,
        last INTEGER
    ) WITHOUT ROWID
    """,
    _add_synonyms,
)
