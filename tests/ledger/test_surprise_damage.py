"""Tampering with a dataset under the surprise guard: every field, every table, forged or not.

Unlike noise, every outcome follows from the records, so only in which words something was asked is
left to the hashes, and of a claim by whom and how.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.runtime import COLUMNS, ID, age_of, numbered, records, sql
from support.tampering import bodies, changed, copied, found_by, rehash, rewitness, write
from support.workload import SIDE
from surehold.data.record_store import RecordStore
from surehold.ledger.surprise_policy import units_of_bits

ASKED: tuple[tuple[str, dict[str, str]], ...] = (
    ("age > 50", {"expect": "0.5", "within": "0.05"}),
    ("age > 50", {"within": "0.001"}),
    ("mean(bmi, 0, 50)", {}),
    ("rate(age > 50, bmi > 20)", {"doubt": "0.2"}),
    ("difference(age > 50, bmi > 20)", {}),
    ("difference(age > 5, bmi > 20)", {"expect": "no"}),
    ("difference(age > 6, bmi > 20)", {"expect": "not better", "within": "0.1"}),
    ("gate(age > 20, at_least, 0.6)", {"expect": "pass"}),
    ("gate(age > 20, at_most, 0.5)", {"expect": "not pass"}),
    ("select(highest, 2, age > 20, age > 50)", {}),
    ("histogram(city in ('Oslo'))", {}),
    ("means(bmi, 0, 50, city in ('Oslo'))", {}),
    ("auc(age, bmi > 25)", {}),
    ("variance(bmi, 0, 50)", {}),
    ("p.says", {}),
)


NAMED = {"name": "older", "question": "age > 50", "unit": "%", "gate": ">= 10 %"}


@pytest.fixture(scope="session")
def evals(tmp_path_factory) -> Path:
    """All kinds of questions, asked at two rounds; one that was charged and not answered.

    It took over from another dataset, with what was spent there.
    """
    old, path = (tmp_path_factory.mktemp("damage") / name for name in ("old", "evals"))
    with sh.create(old, beta="0.05", columns={ID: "int", **COLUMNS}, id=ID, limit=999) as dataset:
        dataset.append(numbered(0, 250))
        dataset.session("ann").ask("age > 44")
    sh.succeed(old, path, erase=[249], reason="on request")
    with sh.open(path) as dataset:
        assert dataset.append(numbered(0, 300)).known == 249
        dataset.reserve("bob", 20)
        dataset.keep_table(SIDE, "p")
        session = dataset.session("ann")
        session.register(["bmi > 10", "bmi > 12"], share="0.1")
        session.register(sh.Dashboard.of([NAMED]))
        dataset.open_leaderboard("Who is older?", target="age > 50", step="0.05")
        for wrong in (3, 9, 2):
            session.submit(
                [{ID: i, "older": (age_of(i) > 50) ^ (i % wrong == 0)} for i in range(300)]
            )
        for i, (query, options) in enumerate(ASKED):
            session.ask(query, key=f"key {i}", **options)
        session.ask_many(["bmi > 10", "age > 9"], key="list")
        dataset.append(numbered(300, 400))
        for query, options in ASKED:
            session.ask(query, **options)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RecordStore, "exact", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                session.ask("age > 77", expect="0.2")
        session.ask("bmi > 12")
        dataset.verify()
    return path


def places(value: Any, *before: Any) -> Iterator[tuple[Any, ...]]:
    """Where there is something to change: every leaf, however deep."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from places(inner, *before, name)
    elif isinstance(value, list) and value:
        for i, inner in enumerate(value):
            yield from places(inner, *before, i)
    else:
        yield before


def edited(body: dict[str, Any], place: tuple[Any, ...]) -> str:
    body = json.loads(json.dumps(body))
    inner: Any = body
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = changed(inner[place[-1]])
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


# The words, and the name that a caller gave to a candidate. A claim is the same whoever asked how.
ONLY_HASHED = {"query", "name"}
OF_NAMES = {("unit",), ("at_least",), ("watch",), ("analyst",)}
# Whom something is kept for, and how many records were known, is what the custodian was told.
OF_OTHERS = {("analyst",), ("known",), ("salt",)}
# What people were told of a board. What its metric has no use for is not looked at.
OF_BOARDS = {(one,) for one in ("title", "daily", "public", "positive", "low", "high")}
OF_CLAIMS = {("analyst",), ("asked", "expect"), ("asked", "within"), ("asked", "doubt")}


KINDS = (
    *("claim", "name", "keep", "reserve", "append", "charge", "answer", "create"),
    *("leaderboard", "submission"),
)


def of_kind(path: Path, kind: str) -> list[tuple[int, dict[str, Any]]]:
    return [(seq, body) for seq, (name, body) in bodies(path).items() if name == kind]


def test_nothing_is_found_where_nothing_was_done(evals: Path, tmp_path: Path) -> None:
    assert found_by(copied(evals, tmp_path / "evals")) is None
    assert {"claim", "charge", "answer"} <= {kind for kind, _ in bodies(evals).values()}
    assert {body["kind"] for _, body in of_kind(evals, "answer")} == {
        *("cell", "decision", "steps", "selection", "table")
    }


def cases(evals: Path, kind: str) -> Iterator[tuple[int, dict[str, Any], tuple[Any, ...]]]:
    """Every field of some entries of a kind: of each shape of answer, menu and claim one.

    What all of them have is looked at once, and of a list the first two.
    """
    seen: set[Any] = set()
    for seq, body in of_kind(evals, kind):
        shape = (body.get("kind"), (body.get("menu") or {}).get("kind"), body.get("rounds"))
        if shape not in seen:
            seen.add(shape)
            for place in places(body):
                is_own = place[0] in ("menu", "outcome", "weights", "cell", "interval", "combined")
                which = (*shape, *place) if is_own else place
                if which not in seen and not any(type(i) is int and i > 1 for i in place):
                    seen.add(which)
                    yield seq, body, place


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_with_all_hashes_and_the_witness_forged(evals, tmp_path, kind: str) -> None:
    path = copied(evals, tmp_path / "forged")
    hashes = sql(path, "SELECT hash, seq FROM entries")
    witness = (path / "witness").read_bytes()
    unfound = set()
    for seq, body, place in cases(evals, kind):
        write(path, seq, edited(body, place))
        rehash(path, seq)
        rewitness(path)
        if found_by(path) is None:
            unfound.add(place)
        write(path, seq, json.dumps(body, ensure_ascii=False, separators=(",", ":")))
        for row in hashes[seq - 1 :]:
            sql(path, "UPDATE entries SET hash = ? WHERE seq = ?", values=row)
        (path / "witness").write_bytes(witness)
    assert found_by(path) is None
    unfound -= {
        "claim": OF_CLAIMS,
        "name": OF_NAMES,
        "leaderboard": OF_BOARDS,
        **dict.fromkeys(("keep", "reserve", "append", "submission"), OF_OTHERS),
    }.get(kind, set())
    assert {place for place in unfound if place[0] not in ONLY_HASHED} == set()


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_alone_is_found_by_its_hash(evals, tmp_path, kind: str) -> None:
    path = copied(evals, tmp_path / "edited")
    seq, body = of_kind(evals, kind)[0]
    for place in places(body):
        write(path, seq, edited(body, place))
        found = found_by(path)
        assert found is not None, place
        assert found[1].entry == seq, place


# Each cell alone has a test of its own (test_tables).
TABLES = (
    "DELETE FROM claims",
    "UPDATE claims SET last = NULL",
    "UPDATE claims SET last = last - 1",
    "UPDATE asked SET seq = (SELECT max(seq) FROM asked) WHERE seq = (SELECT min(seq) FROM asked)",
    "UPDATE spending SET analyst = 'bob'",
)


@pytest.mark.parametrize("statement", TABLES)
def test_an_edit_of_the_tables_beside_the_entries(evals, tmp_path, statement: str) -> None:
    path = copied(evals, tmp_path / "evals")
    sql(path, statement)
    assert found_by(path) is not None


def test_records_that_were_changed_are_found_by_their_outcomes_too(evals, tmp_path) -> None:
    """With everything forged that the entries say of the records, what they gave is left."""
    path = copied(evals, tmp_path / "evals")
    with sh.open(path) as dataset:
        real = dataset._data.exact

        def exact(sources: Any, t: int, *rest: Any) -> Any:
            found = real(sources, t, *rest)
            return [
                type(one)(tuple(max(n - 1, 0) for n in one.numerators), one.denominator)
                for one in found
            ]

        dataset._data.exact = exact  # type: ignore[method-assign]
        with pytest.raises(sh.LedgerCorrupt, match="its outcome is not that of the records"):
            dataset.verify()


def test_answers_that_spent_what_was_reserved_are_found(tmp_path) -> None:
    """A reservation that was forged to what was free then and is not now, with all hashes."""
    path = tmp_path / "evals"
    with sh.create(path, beta="0.05", columns=COLUMNS, limit=20) as dataset:
        dataset.reserve("ann", 5)
        dataset.append(records(0, 300))
        dataset.session("bob").ask_many(["age > 50", "age > 60"])  # 2 x 5.1 bits
        dataset.verify()
    [(seq, body)] = of_kind(path, "reserve")
    body |= {"amount": "15", "units": str(units_of_bits(Fraction(15)))}
    write(path, seq, json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    rehash(path, seq)
    rewitness(path)
    found = found_by(path)
    assert found is not None
    assert "reserved for another analyst, or more than the limit" in str(found[1])
