"""Every cell of every table beside the entries: a forged one is found, or mended from them."""

from __future__ import annotations

import shutil

import pytest

import surehold as sh
from support.runtime import made, opened, records, sql
from support.tampering import (
    bodies,
    build,
    changed,
    copied,
    edit,
    found_by,
    rehash,
    rewitness,
    write,
)
from surehold.data import intake
from surehold.data.record_store import RecordStore

CHECKED_AGAINST = {
    "segments": "append and seal entries, and the manifest in the state after each",
    "pending": "the content of the append entry, and the count of records",
    "asked": "answer and derived entries: each question leads to its entry, and there are no more",
    "charged": "charge entries without an answer: each leads to its entry, and there are no more",
    "keys": "keys in the entries: each leads to its entry, and there are no more",
    "contents": "append entries, and the values in the segments",
    "rounds": "answers and charges by round",
    "spending": "charges by analyst; made anew at opening if they do not add up",
    "free_entries": "entries that cost nothing, by analyst, of the last day",
    "claims": "claim entries, and the last number that was reported of each",
    "synonyms": "entries of earlier versions, which datasets made today have none of",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """With rows in every table."""
    path = tmp_path_factory.mktemp("filled") / "clinic"
    build(path)
    leave_some(path)
    return path


@pytest.fixture(scope="module")
def claimed(tmp_path_factory):
    """The same under the surprise guard, which has claims."""
    path = tmp_path_factory.mktemp("claimed") / "evals"
    with pytest.MonkeyPatch.context() as patch, made(path, guard="surprise") as dataset:
        patch.setattr(intake, "LARGE", 200)
        dataset.append(records(0, 200))
        session = dataset.session("ann")
        session.register(["age > 70"])
        session.ask("age > 10", key="first")
        dataset.append(records(200, 240))
        session.ask_many(["age > 10", "rate(age > 50, bmi > 20)"], key="many")
    leave_some(path)
    return path


def leave_some(path):
    """A key that is free, and a charge without an answer."""
    with opened(path) as dataset, pytest.MonkeyPatch.context() as patch:
        session = dataset.session("bob")
        session.ask("age > 10", key="again")  # recorded before, so the key is free

        def cut_off(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(RecordStore, "exact", cut_off)
        with pytest.raises(KeyboardInterrupt):
            session.ask("age > 33", key="charged")


def test_every_table_is_checked(filled) -> None:
    named = sql(filled, "SELECT name FROM sqlite_master WHERE type = 'table'")
    assert {name for (name,) in named} == {"entries", *CHECKED_AGAINST}
    assert found_by(filled) is None


def test_a_claim_under_noise_is_found(filled, tmp_path) -> None:
    path = copied(filled, tmp_path / "claimed")
    sql(path, "INSERT INTO claims VALUES (?, 1, NULL)", values=(b"forged",))
    assert "other claims" in str(found_by(path))


def test_a_synonym_that_no_entry_has_is_found(filled, claimed, tmp_path) -> None:
    for path in (copied(filled, tmp_path / "filled"), copied(claimed, tmp_path / "claimed")):
        sql(path, "INSERT INTO synonyms VALUES (?, ?)", values=(b"forged", b"also forged"))
        assert "other synonyms" in str(found_by(path))


@pytest.mark.parametrize("table", sorted(CHECKED_AGAINST.keys() - {"claims", "synonyms"}))
def test_every_cell(filled, tmp_path, table) -> None:
    check_cells(filled, tmp_path, table)


@pytest.mark.parametrize("table", sorted(CHECKED_AGAINST.keys() - {"synonyms"}))
def test_every_cell_under_the_surprise_guard(claimed, tmp_path, table) -> None:
    check_cells(claimed, tmp_path, table)


def check_cells(filled, tmp_path, table) -> None:
    columns = [row[1] for row in sql(filled, f"PRAGMA table_info({table})")]
    rows = sql(filled, f"SELECT * FROM {table} ORDER BY 1")
    assert rows
    one_key = " AND ".join(f"{name} IS ?" for name in columns)
    forgeries = [
        (f"UPDATE {table} SET {name} = ? WHERE {one_key}", (forged(row[i]), *row))
        for row in rows
        for i, name in enumerate(columns)
    ]
    forgeries += [(f"DELETE FROM {table} WHERE {one_key}", row) for row in rows]
    marks = ", ".join("?" for _ in columns)
    more = tuple(forged(cell) for cell in rows[-1])
    forgeries.append((f"INSERT INTO {table} VALUES ({marks})", more))
    for number, (statement, values) in enumerate(forgeries):
        path = copied(filled, tmp_path / str(number))
        sql(path, statement, values=values)
        found = found_by(path)
        mended = table == "spending" and sql(path, f"SELECT * FROM {table} ORDER BY 1") == rows
        assert found is not None or mended, (statement, values)
        shutil.rmtree(path)


def forged(cell: object) -> object:
    return bytes([cell[0] ^ 1]) + cell[1:] if isinstance(cell, bytes) else changed(cell)


# -------------------------------------------------------------------------------- contents


def test_a_likeness_forged_wherever_it_is_written(filled, tmp_path) -> None:
    """In the entry, the index, all hashes and the witness: the records say another one."""
    path = copied(filled, tmp_path / "clinic")
    [(seq, body)] = [(seq, body) for seq, (_, body) in bodies(path).items() if "likeness" in body]
    write(path, seq, edit(body, ("likeness",), "changed"))
    likeness = body["likeness"]
    forgery = "UPDATE contents SET content = ? WHERE content = ?"
    sql(path, forgery, values=(changed(likeness), likeness))
    rehash(path, seq)
    rewitness(path)
    found = found_by(path)
    assert found is not None
    assert (found[0], found[1].entry) == ("verify", seq)


# -------------------------------------------------------------------------------- segments


def test_a_flipped_byte_is_found_before_the_first_answer(filled, tmp_path) -> None:
    """Of the right size, and a file that Arrow reads without complaint."""
    path = copied(filled, tmp_path / "clinic")
    for segment in sorted((path / "segments").iterdir()):
        content = segment.read_bytes()
        at = len(content) // 3
        segment.write_bytes(content[:at] + bytes([content[at] ^ 64]) + content[at + 1 :])
        with opened(path) as dataset:
            before = dataset.session().budget.spent
            with pytest.raises(sh.LedgerCorrupt, match="its bytes are not those"):
                dataset.session().ask("age > 71")
            assert dataset.session().budget.spent == before
        segment.write_bytes(content)
    with opened(path) as dataset:
        dataset.session().ask("age > 71")
