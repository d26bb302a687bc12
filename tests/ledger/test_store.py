from __future__ import annotations

import sqlite3
import threading

import pytest

import surehold as sh
from surehold.ledger import database
from surehold.ledger import store as module
from surehold.ledger.entries import Entry, State, next_entry
from surehold.ledger.store import Store
from surehold.ledger.tables import Pending, RoundTotals, Segment


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def store(path):
    made = Store.create(path)
    yield made
    made.close()


def filled(store: Store, count: int) -> list[Entry]:
    entries: list[Entry] = []
    with store.writing():
        for i in range(count):
            kind = "create" if i == 0 else "answer"
            entries.append(next_entry(entries[-1] if entries else None, kind, {"i": i}, State()))
            store.add(entries[-1])
    return entries


def test_commits_wait_for_the_disk(store) -> None:
    pragmas = {"journal_mode": "wal", "synchronous": 2, "fullfsync": 1}
    for name, expected in pragmas.items():
        [found] = store._connection.execute(f"PRAGMA {name}").fetchone()
        assert found == expected


def test_entries_forward_backward_and_one_by_one(store, monkeypatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 3)
    entries = filled(store, 10)
    assert list(store.entries()) == entries
    assert list(store.entries(after=7)) == entries[7:]
    assert list(store.entries_back(2**62)) == entries[::-1]
    assert list(store.entries_back(4)) == entries[2::-1]
    assert [store.entry(i) for i in range(12)] == [None, *entries, None]
    assert store.head() == entries[-1]
    assert store.last() == 10


def test_reading_goes_on_while_entries_come(store, monkeypatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    entries = filled(store, 5)
    seen = []
    for entry in store.entries():
        seen.append(entry)
        if entry.seq == 5:
            with store.writing():
                store.add(next_entry(entries[-1], "answer", {}, State()))
    assert [entry.seq for entry in seen] in ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6])


def test_all_or_nothing(store) -> None:
    entries = filled(store, 2)

    def cut_off() -> None:
        with store.writing():
            store.add(next_entry(entries[-1], "answer", {}, State()))
            store.note_asked({b"q": store.head()})
            store.note_round(RoundTotals(200, 1, 1))
            store.note_key("k", 3)
            store.add_pending(Pending(0, 1, "[]"))
            store.add_segment(Segment(0, 1, "d", 1))
            raise KeyError

    with pytest.raises(KeyError):
        cut_off()
    assert store.last() == 2
    assert (store.rounds(), store.questions(), store.keys()) == ([], 0, 0)
    assert (store.pending(), store.segments()) == ([], [])


def test_records(store) -> None:
    assert store.first_pending() > 10**18
    with store.writing():
        for start in (0, 10, 20):
            store.add_segment(Segment(start, 10, f"d{start}", 1))
            store.add_pending(Pending(30 + start, 10, "[]"))
    assert [s.start for s in store.segments()] == [0, 10, 20]
    assert [s.start for s in store.segments(stop_after=10)] == [10, 20]
    assert [s.start for s in store.segments(stop_after=9)] == [0, 10, 20]
    assert [p.start for p in store.pending(stop_after=45)] == [40, 50]
    assert store.first_pending() == 30
    with store.writing():
        store.drop_pending(50)
    assert [p.start for p in store.pending()] == [50]


def test_keys_a_page_at_a_time(store, monkeypatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    filled(store, 2)
    with store.writing():
        for key in ("b", "a", "ø", "c", "a/1"):
            store.note_key(key, 2)
    assert store.keys() == 5
    assert store.keyed("ø").seq == 2
    assert store.keyed("d") is None


def test_two_connections_write_one_at_a_time(store, path, monkeypatch) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    filled(store, 1)
    other = Store(path)
    try:
        with store.writing():
            with (
                pytest.raises(sh.StorageFailed, match="another process") as caught,
                other.writing(),
            ):
                pass
            assert "nothing was changed; try again" in str(caught.value)
        with other.writing():
            other.note_key("k", 1)
        assert store.keys() == 1
    finally:
        other.close()


def test_threads_of_one_connection_take_turns(store) -> None:
    entries = filled(store, 1)

    def add(count: int) -> None:
        for _ in range(count):
            with store.writing():
                previous = store.head()
                store.add(next_entry(previous, "answer", {}, State()))

    threads = [threading.Thread(target=add, args=(25,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = list(store.entries())
    assert len(found) == 101
    before = entries[0].hash
    for entry in found[1:]:
        assert entry.follows(before)
        before = entry.hash


def test_the_first_look_at_synonyms_holds_no_lock_but_that_of_the_store(store, path) -> None:
    """A quote holds the lock of the store when it comes to look; an ask does not."""
    loading, held = threading.Event(), threading.Event()

    class Slow(Store):
        def synonyms(self) -> dict[bytes, bytes]:
            loading.set()
            held.wait(0.2)  # unless the lock is held meanwhile, as it should be
            return super().synonyms()

    reader = Slow(path, reading=True)

    def quote() -> None:
        assert loading.wait(10)
        with reader.lock:
            held.set()
            reader.earlier([b"any"])

    works = (lambda: reader.earlier([b"any"]), quote)
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert held.is_set()
    assert not any(thread.is_alive() for thread in threads)
    reader.close()


def test_a_full_disk_is_told_plainly_and_nothing_changes(store) -> None:
    filled(store, 1)
    [pages] = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sh.StorageFailed, match="full"), store.writing():
        store.add_pending(Pending(0, 1, "x" * 200_000))
    assert store.pending() == []
    store._connection.execute("PRAGMA max_page_count = 1000000")
    with store.writing():
        store.add_pending(Pending(0, 1, "x" * 200_000))
    assert len(store.pending()) == 1


def test_a_closed_store_says_so(path) -> None:
    store = Store.create(path)
    store.close()
    store.close()
    with pytest.raises(sh.StorageFailed, match="the dataset is closed"):
        store.last()
    with pytest.raises(sh.StorageFailed, match="the dataset is closed"), store.writing():
        pass


# -------------------------------------------------------------------------- files of others


def read_all(store: Store) -> None:
    store.head(), store.segments(), store.pending(), store.rounds(), store.questions()
    store.keys()


def run(path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_a_missing_file_is_not_made_anew(tmp_path) -> None:
    with pytest.raises(sh.LedgerCorrupt, match="missing"):
        Store(tmp_path / "ledger.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_overwritten(store, path) -> None:
    with pytest.raises(FileExistsError):
        Store.create(path)


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to look like one" * 99])
def test_a_file_that_is_no_ledger(path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(sh.LedgerCorrupt):
        Store(path)


def test_a_database_of_somebody_else(path) -> None:
    run(path, "CREATE TABLE entries (seq, kind, body, hash)")
    with pytest.raises(sh.LedgerCorrupt, match="not a Surehold database"):
        Store(path)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("PRAGMA user_version = 99", "from a newer Surehold"),
        ("PRAGMA user_version = 0", "already exists"),
        ("PRAGMA application_id = 1", "not a Surehold database"),
    ],
)
def test_a_ledger_of_another_format(path, statement: str, says: str) -> None:
    Store.create(path).close()
    run(path, statement)
    with pytest.raises(sh.LedgerCorrupt, match=says):
        Store(path)


@pytest.mark.parametrize("table", ["entries", "segments", "pending", "rounds", "asked", "keys"])
@pytest.mark.parametrize("how", ["DROP TABLE {}", "ALTER TABLE {} RENAME TO other"])
def test_tables_that_are_gone(store, path, table: str, how: str) -> None:
    filled(store, 1)
    run(path, how.format(table))
    with pytest.raises(sh.LedgerCorrupt):
        read_all(store)


@pytest.mark.parametrize(
    "change",
    [
        "body = 5",
        "body = x'7b7d'",
        "kind = x'00'",
        "hash = 'text'",
        "hash = 7",
    ],
)
def test_values_of_another_type_are_named(store, path, change: str) -> None:
    filled(store, 2)
    run(path, f"UPDATE entries SET {change} WHERE seq = 2")
    if change == "body = 5":  # a column of text makes it one
        assert store.head().body == "5"
        return
    with pytest.raises(sh.LedgerCorrupt) as caught:
        store.head()
    assert caught.value.entry == 2


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO rounds VALUES (0, 1, 1)",
        "INSERT INTO rounds VALUES (-5, 1, 1)",
        "INSERT INTO rounds VALUES (5, 1, 0)",
        "INSERT INTO rounds VALUES (5, -1, 1)",
        "INSERT INTO rounds VALUES (5, 'many', 1)",
        "INSERT INTO rounds VALUES (5, 1, 'much')",
        "INSERT INTO segments VALUES (0, 'many', 'd', 1)",
        "INSERT INTO pending VALUES (0, 'many', '')",
        "INSERT INTO segments VALUES (0, 1, x'00', 1)",
        "INSERT INTO pending VALUES (0, 1, x'00')",
    ],
)
def test_rows_that_can_not_be(store, path, statement: str) -> None:
    filled(store, 1)
    run(path, statement)
    with pytest.raises(sh.LedgerCorrupt):
        read_all(store)


def test_an_index_that_leads_nowhere(store, path) -> None:
    filled(store, 2)
    run(path, "INSERT INTO keys VALUES ('k', 9)", "INSERT INTO keys VALUES ('first', 1)")
    run(path, "INSERT INTO asked VALUES (x'00', 9)")
    for find in (
        lambda: store.keyed("k"),
        lambda: store.keyed("first"),
        lambda: store.find([b"\0"]),
    ):
        with pytest.raises(sh.LedgerCorrupt, match="not an answer"):
            find()


def test_damaged_pages_are_found(path) -> None:
    store = Store.create(path)
    filled(store, 400)
    store.close()
    bytes_ = bytearray(path.read_bytes())
    for at in range(4096 + 40, len(bytes_) - 4096, 4096):
        bytes_[at - 40 : at] = b"\xff" * 40
    path.write_bytes(bytes_)
    with pytest.raises(sh.LedgerCorrupt):
        damaged(path)


def damaged(path) -> None:
    store = Store(path)
    try:
        found = store.damage()
        if found is not None:
            raise sh.LedgerCorrupt("the ledger", found)
    finally:
        store.close()
