"""Tampering with a dataset: what opening finds in a moment, and what verifying finds."""

from __future__ import annotations

import shutil

import pytest

import surehold as sh
from support.runtime import contents, opened, records, sql
from support.tampering import (
    KINDS,
    bodies,
    copied,
    edit,
    fields_of,
    found_by,
    rehash,
    rewitness,
    write,
)
from surehold.ledger.store import Store
from surehold.session.dataset import Dataset


def test_nothing_is_found_where_nothing_was_done(clinic) -> None:
    assert tuple(kind for kind, _ in bodies(clinic).values()) == KINDS
    before = contents(clinic)
    assert found_by(clinic) is None
    assert contents(clinic) == before
    with opened(clinic) as dataset:
        seen: list[int] = []
        verified = dataset.verify(seen.append)
        assert seen == list(range(1, 11))
    assert (verified.entries, verified.records, verified.answers) == (10, 1950, 4)
    assert (verified.segments, verified.strays) == (3, ())
    assert verified.head == sql(clinic, "SELECT hash FROM entries WHERE seq = 10")[0][0].hex()


# --------------------------------------------------------------------------------- entries

ENTRIES = {1: "create", 2: "append", 4: "seal", 5: "answer", 6: "append", 8: "append", 10: "answer"}
# Nothing but the hashes speaks for these: whoever can forge all of them and the witness, too, can
# change them. It gains no budget.
ONLY_HASHED = {("query",), ("salt",)}


@pytest.mark.parametrize("seq", ENTRIES)
def test_every_field_of_every_kind_of_entry(template, tmp_path, seq: int) -> None:
    kind, body = bodies(template)[seq]
    assert kind == ENTRIES[seq]
    for i, field in enumerate(fields_of(body)):
        for how in ("changed", "gone"):
            path = copied(template, tmp_path / f"{i}-{how}")
            write(path, seq, edit(body, field, how))
            found = found_by(path)
            assert found is not None, (field, how)
            assert found[1].entry == seq, (field, how)
            assert found[0] == ("open" if seq in (1, 10) else "verify")
            shutil.rmtree(path)


@pytest.mark.parametrize("seq", ENTRIES)
def test_every_field_with_the_hash_made_to_fit(template, tmp_path, seq: int) -> None:
    _, body = bodies(template)[seq]
    for i, field in enumerate(fields_of(body)):
        path = copied(template, tmp_path / str(i))
        write(path, seq, edit(body, field, "changed"))
        rehash(path, seq, seq)
        found = found_by(path)
        assert found is not None, field
        assert found[1].entry in (seq, seq + 1, 1 if field == ("after", "dataset") else seq), field
        if seq == 10 or (seq == 1 and field[0] != "after"):
            assert found[0] == "open"
        shutil.rmtree(path)


@pytest.mark.parametrize("seq", ENTRIES)
def test_every_field_with_all_hashes_and_the_witness_forged(template, tmp_path, seq: int) -> None:
    _, body = bodies(template)[seq]
    for i, field in enumerate(fields_of(body)):
        path = copied(template, tmp_path / str(i))
        write(path, seq, edit(body, field, "changed"))
        rehash(path, seq)
        rewitness(path)
        found = found_by(path)
        assert (found is None) == (field in ONLY_HASHED), field
        shutil.rmtree(path)


def test_another_kind(template, tmp_path) -> None:
    for seq in ENTRIES:
        for kind in ("append", "seal", "answer", "create", "unheard of"):
            for forged in (False, True):
                path = copied(template, tmp_path / f"{seq}-{kind}-{forged}")
                if kind == ENTRIES[seq]:
                    continue
                sql(path, "UPDATE entries SET kind = ? WHERE seq = ?", values=(kind, seq))
                if forged:
                    rehash(path, seq)
                    rewitness(path)
                found = found_by(path)
                assert found is not None
                assert found[1].entry in (seq, None)
                shutil.rmtree(path)


@pytest.mark.parametrize("seq", range(1, 11))
def test_a_deleted_entry(template, tmp_path, seq: int) -> None:
    path = copied(template, tmp_path / "plain")
    sql(path, f"DELETE FROM entries WHERE seq = {seq}")
    found = found_by(path)
    assert found is not None
    assert found[0] == ("open" if seq in (1, 9, 10) else "verify")
    # closing the gap, with hashes made to fit
    path = copied(template, tmp_path / "closed")
    sql(path, f"DELETE FROM entries WHERE seq = {seq}")
    sql(path, f"UPDATE entries SET seq = seq - 1 WHERE seq > {seq}")
    rehash(path, seq)
    found = found_by(path)
    assert found is not None
    assert found[0] == "open"  # by the witness
    rewitness(path)
    assert found_by(path) is not None


@pytest.mark.parametrize(("one", "two"), [(2, 3), (4, 5), (5, 7), (8, 9), (9, 10), (1, 2)])
def test_swapped_entries(template, tmp_path, one: int, two: int) -> None:
    for forged in (False, True):
        path = copied(template, tmp_path / str(forged))
        for a, b in ((one, 99), (two, one), (99, two)):
            sql(path, f"UPDATE entries SET seq = {b} WHERE seq = {a}")
        if forged:
            rehash(path, one)
        assert found_by(path) is not None


def test_a_doubled_entry(clinic) -> None:
    sql(clinic, "INSERT INTO entries SELECT 11, kind, body, hash FROM entries WHERE seq = 10")
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "open"
    rehash(clinic, 11)
    rewitness(clinic)
    assert found_by(clinic) is not None


@pytest.mark.parametrize("last", range(9))
def test_entries_cut_off_at_the_end(clinic, last: int) -> None:
    sql(clinic, f"DELETE FROM entries WHERE seq > {last}")
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "open"


def test_answers_cut_off_with_all_their_traces_but_the_witness(clinic) -> None:
    sql(clinic, "DELETE FROM entries WHERE seq > 8", "DELETE FROM asked WHERE seq > 8")
    sql(clinic, "DELETE FROM keys WHERE seq > 8", "DELETE FROM rounds WHERE round = 1950")
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "open"
    assert "an older copy, and would give the same records a fresh budget" in str(found[1])


# ------------------------------------------------------------------------ the other tables

INDEX = {
    "DELETE FROM asked": "verify",
    "DELETE FROM asked WHERE seq = 5": "verify",
    "UPDATE asked SET seq = 7 WHERE seq = 5": "verify",
    "UPDATE asked SET seq = 2 WHERE seq = 5": "verify",
    "UPDATE asked SET seq = 99 WHERE seq = 5": "verify",
    "UPDATE asked SET question = x'00' WHERE seq = 5": "verify",
    "INSERT INTO asked VALUES (x'00', 5)": "verify",
    "DELETE FROM keys": "verify",
    "DELETE FROM keys WHERE key = 'first'": "verify",
    "UPDATE keys SET key = 'other' WHERE key = 'first'": "verify",
    "UPDATE keys SET seq = 7 WHERE key = 'first'": "verify",
    "UPDATE keys SET seq = 2 WHERE key = 'first'": "verify",
    "UPDATE keys SET seq = 99 WHERE key = 'first'": "verify",
    "INSERT INTO keys VALUES ('more', 99)": "verify",
    "INSERT INTO keys VALUES ('more', 2)": "verify",
    "DELETE FROM rounds": "open",
    "DELETE FROM rounds WHERE round = 900": "open",
    "UPDATE rounds SET answers = answers + 1 WHERE round = 900": "open",
    "UPDATE rounds SET answers = 0 WHERE round = 900": "open",
    "UPDATE rounds SET round = 901 WHERE round = 900": "open",
    "INSERT INTO rounds VALUES (1000, 1, 1)": "open",
    "INSERT INTO rounds VALUES (0, 1, 1)": "open",
    "UPDATE rounds SET answers = 3 - answers WHERE round > 1000": "verify",
    "UPDATE rounds SET price = 3 - price WHERE round > 1000": "open",
    "UPDATE rounds SET price = price + 1 WHERE round = 900": "open",
    "UPDATE rounds SET price = 0 WHERE round = 900": "open",
    "DELETE FROM segments": "open",
    "DELETE FROM segments WHERE start = 900": "open",
    "DELETE FROM segments WHERE start = 1500": "open",
    "UPDATE segments SET count = count - 1 WHERE start = 1500": "open",
    "UPDATE segments SET start = start + 1 WHERE start = 1500": "open",
    "UPDATE segments SET digest = 'aa' WHERE start = 900": "open",
    "UPDATE segments SET bytes = bytes + 1 WHERE start = 900": "open",
    "INSERT INTO segments VALUES (1950, 5, 'aa', 9)": "open",
    "INSERT INTO segments VALUES (-9, 5, 'aa', 9)": "open",
    "DELETE FROM pending": "open",
    "UPDATE pending SET count = count + 1": "open",
    "UPDATE pending SET start = start + 1": "open",
    "UPDATE pending SET rows = replace(rows, 'Oslo', 'Rome')": "verify",
    "UPDATE pending SET rows = ''": "verify",
    "UPDATE pending SET rows = '[]'": "verify",
    "UPDATE pending SET rows = rows || ' '": "verify",
    "UPDATE pending SET rows = x'00'": "open",
    "INSERT INTO pending VALUES (1950, 1, '[[1,1.0,\"Oslo\"]]')": "open",
    "INSERT INTO pending VALUES (-9, 1, '[[1,1.0,\"Oslo\"]]')": "open",
}


@pytest.mark.parametrize("statement", INDEX)
def test_an_edit_of_the_tables_beside_the_entries(clinic, statement: str) -> None:
    sql(clinic, statement)
    found = found_by(clinic)
    assert found is not None
    assert found[0] == INDEX[statement]


def test_what_is_pending_is_read_from_the_disk_and_not_from_memory(clinic) -> None:
    with opened(clinic) as dataset:
        dataset.session().ask("age > 77")  # everything is in memory now
        dataset.verify()
        sql(clinic, "UPDATE pending SET rows = replace(rows, 'Oslo', 'Rome')")
        with pytest.raises(sh.LedgerCorrupt) as caught:
            dataset.verify()
    assert caught.value.entry == 8


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM pending",
        "UPDATE pending SET count = count + 1",
        "INSERT INTO pending VALUES (1950, 1, '[[1,1.0,\"Oslo\"]]')",
        "DELETE FROM rounds WHERE round = 900",
        "DELETE FROM segments WHERE start = 1500",
    ],
)
def test_tables_that_are_edited_under_an_open_dataset(clinic, statement: str) -> None:
    with opened(clinic) as dataset:
        dataset.session().ask("age > 77")
        sql(clinic, statement)
        with pytest.raises(sh.LedgerCorrupt):
            dataset.verify()


@pytest.mark.parametrize("rows", ['[[1,2.0,"x",4]]', '[["x",2.0,"x"]]', '{"a":1}', "[3]", "", "[]"])
def test_pending_rows_that_are_no_records(clinic, rows: str) -> None:
    sql(clinic, "UPDATE pending SET rows = ?", values=(rows,))
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "verify"


def test_others_may_write_while_a_dataset_is_opened(
    template, batches, tmp_path, monkeypatch
) -> None:
    """What opening compares is of one moment."""
    for source in (template, batches):
        path = copied(source, tmp_path / source.parent.name)
        with opened(path) as other:
            for i, name in enumerate(("head", "segments", "pending", "rounds")):
                real = getattr(Store, name)
                todo = [lambda i=i: write_something(other, i)]

                def meanwhile(self, *args, real=real, todo=todo):
                    found = real(self, *args)
                    if todo and self is not other._ledger.store:
                        todo.pop()()
                    return found

                with monkeypatch.context() as patch:
                    patch.setattr(Store, name, meanwhile)
                    opened(path).close()
                    assert not todo
            other.verify()


def write_something(dataset: Dataset, i: int) -> None:
    dataset.append(records(dataset.n, dataset.n + 1))
    dataset.session().ask(f"age > {i} + 0.25")
    if i % 2:
        dataset._data.seal()


def test_others_may_write_while_a_ledger_is_taken_in(batches, tmp_path, monkeypatch) -> None:
    path = copied(batches, tmp_path / "clinic")
    with opened(path) as one, opened(path) as other:
        write_something(other, 0)
        real, todo = Store.head, [lambda: write_something(other, 1)]

        def meanwhile(self):
            found = real(self)
            if todo and self is one._ledger.store:
                todo.pop()()
            return found

        monkeypatch.setattr(Store, "head", meanwhile)
        assert one.n == 901
        assert not todo
        assert one.n == 902
        assert one._ledger.filter.remaining(200) == other._ledger.filter.remaining(200)


def test_opening_does_not_wait_for_whoever_writes(clinic, monkeypatch) -> None:
    monkeypatch.setattr("surehold.ledger.database._BUSY_SECONDS", 0.05)
    with opened(clinic) as one, one._ledger._writer.writing(), opened(clinic) as other:
        assert other.n == 1950
        assert other.verify().answers == 4


def test_a_key_that_was_given_later_may_stand_for_any_answer(clinic) -> None:
    """No entry has these keys, so only that they lead to an answer can be checked."""
    with opened(clinic) as dataset:
        session = dataset.session()
        session.ask("age > 10", key="again")
        dataset.verify()
    sql(clinic, "UPDATE keys SET seq = 2 WHERE key = 'again'")
    assert found_by(clinic) is not None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rounds SET answers = answers - 1 WHERE round = 200",
        "DELETE FROM rounds WHERE round = 200",
        "UPDATE rounds SET price = 4 - price",  # 1 at 200 and 3 at 800: as many, but cheaper
        "UPDATE rounds SET round = 2000 WHERE round = 200",
        "UPDATE rounds SET round = 201 WHERE round = 200",
    ],
)
def test_counts_by_round_are_what_a_filter_of_batches_is_loaded_from(
    batches, tmp_path, statement: str
) -> None:
    path = copied(batches, tmp_path / "clinic")
    sql(path, statement)
    found = found_by(path)
    assert found is not None
    assert found[0] == "open"


def test_counts_by_round_that_change_under_an_open_dataset(batches, tmp_path) -> None:
    path = copied(batches, tmp_path / "clinic")
    with opened(path) as one, opened(path) as other:
        sql(path, "UPDATE rounds SET price = 4 - price")
        other.append(records(900, 901))
        with pytest.raises(sh.LedgerCorrupt):
            one.session().ask("age > 5")
