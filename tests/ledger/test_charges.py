"""Tampering with charges that come before their answers, or have none, and with further keys."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from support.runtime import made, records, sql
from support.tampering import bodies, copied, edit, fields_of, found_by, rehash, rewitness, write
from surehold.data.record_store import RecordStore

KINDS = ("create", "append", "charge", "answer", "key", "charge", "append")
CHARGED = {3: "charge", 4: "answer", 5: "key", 6: "charge"}


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """A charge and its answer, one more key for it, and a charge that nobody has an answer to."""
    path = tmp_path_factory.mktemp("charges") / "clinic"
    with made(path, count=1000) as dataset, pytest.MonkeyPatch.context() as patch:
        session = dataset.session("ann")
        session.ask("age > 50", key="first")
        session.ask("age > 50", key="second")
        patch.setattr(RecordStore, "exact", _cut_off)
        with pytest.raises(KeyboardInterrupt):
            session.ask("age > 60", key="third")
        dataset.append(records(1000, 1010))
    return path


def _cut_off(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def test_nothing_is_found_where_nothing_was_done(template, tmp_path) -> None:
    path = copied(template, tmp_path / "clinic")
    assert tuple(kind for kind, _ in bodies(path).values()) == KINDS
    assert found_by(path) is None


@pytest.mark.parametrize("seq", CHARGED)
@pytest.mark.parametrize("how", ["changed", "gone"])
def test_every_field_with_all_hashes_and_the_witness_forged(
    template, tmp_path, seq: int, how: str
) -> None:
    kind, body = bodies(template)[seq]
    assert kind == CHARGED[seq]
    for i, field in enumerate(fields_of(body)):
        path = copied(template, tmp_path / str(i))
        write(path, seq, edit(body, field, how))
        rehash(path, seq)
        rewitness(path)
        # Nothing but the hashes speaks for the words of a question that has no answer.
        # An answer that does not say its kind is a number, as in earlier versions.
        is_free = (seq, field, how) in ((6, ("query",), "changed"), (4, ("kind",), "gone"))
        assert (found_by(path) is None) == is_free, field
        shutil.rmtree(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM charged",
        "INSERT INTO charged VALUES (x'00', 6)",
        "UPDATE charged SET seq = 3",
        "UPDATE charged SET question = x'00'",
        "UPDATE keys SET seq = 6 WHERE key = 'first'",
        "UPDATE keys SET seq = 4 WHERE key = 'first'",
        "UPDATE keys SET seq = 3 WHERE key = 'third'",
        "DELETE FROM free_entries",
        "UPDATE free_entries SET entries = 0",
        "UPDATE free_entries SET day = day + 1",
        "UPDATE free_entries SET analyst = 'bob'",
        "INSERT INTO free_entries VALUES ('bob', 1, 1)",
        "UPDATE spending SET answers = 1",
    ],
)
def test_an_edit_of_the_tables_beside_the_entries(template, tmp_path, statement: str) -> None:
    path = copied(template, tmp_path / "clinic")
    sql(path, statement)
    assert (found_by(path) is None) == statement.startswith("UPDATE spending")  # made anew
