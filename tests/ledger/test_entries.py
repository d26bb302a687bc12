from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold as sh
from support.runtime import made
from surehold.ledger.entries import GENESIS, Entry, State, chained, next_entry

Bodies = st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=20), max_size=4)
Steps = st.lists(st.tuples(st.sampled_from(("append", "answer", "seal")), Bodies), max_size=6)


def chain_of(steps: list[tuple[str, dict]]) -> list[Entry]:
    entries = [next_entry(None, "create", {}, State())]
    for kind, body in steps:
        body.pop("after", None)
        entries.append(next_entry(entries[-1], kind, body, State(records=len(entries))))
    return entries


@given(Steps)
def test_each_entry_follows_the_one_before_and_no_other(steps) -> None:
    entries = chain_of(steps)
    hashes = [GENESIS, *(entry.hash for entry in entries)]
    for i, entry in enumerate(entries):
        assert entry.seq == i + 1
        assert [entry.follows(before) for before in hashes[:-1]].index(True) == i
        assert sum(entry.follows(before) for before in hashes) == 1


@given(Steps, st.integers(0, 5), st.sampled_from(("seq", "kind", "body", "hash")))
def test_a_change_of_any_part_breaks_the_link(steps, which: int, part: str) -> None:
    entries = chain_of(steps)
    at = which % len(entries)
    before = GENESIS if at == 0 else entries[at - 1].hash
    entry = entries[at]
    other = {
        "seq": Entry(entry.seq + 1, entry.kind, entry.body, entry.hash),
        "kind": Entry(
            entry.seq, "seal" if entry.kind != "seal" else "append", entry.body, entry.hash
        ),
        "body": Entry(entry.seq, entry.kind, entry.body + " ", entry.hash),
        "hash": Entry(
            entry.seq, entry.kind, entry.body, bytes([entry.hash[0] ^ 1]) + entry.hash[1:]
        ),
    }[part]
    assert entry.follows(before)
    assert not other.follows(before)


def test_the_hash_is_sha256_over_the_hash_before_number_kind_and_text() -> None:
    entry = next_entry(None, "create", {"a": "ø"}, State())
    text = b"1 create " + entry.body.encode()
    assert (
        entry.hash
        == hashlib.sha256(bytes(32) + text).digest()
        == chained(GENESIS, 1, "create", entry.body)
    )


@given(
    st.integers(0, 2**300),
    st.integers(0, 10**18),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_state_survives_json_to_the_last_bit(spent: int, count: int, time: float) -> None:
    state = State("abc", count, 3, spent, "ff" * 32, time)
    assert State.from_dict(json.loads(json.dumps(state.to_dict()))) == state
    entry = next_entry(None, "create", {}, state)
    assert entry.state() == state


def test_states_only_grow() -> None:
    state = State(time=5.0)
    assert state.grown(3, 6.0) == State(records=3, time=6.0)
    assert state.charged(7, 6.0) == State(answers=1, spent=7, time=6.0)
    one, two = state.sealed("aa", 1), state.sealed("aa", 2)
    assert len({state.manifest, one.manifest, two.manifest, one.sealed("aa", 1).manifest}) == 4


@pytest.mark.parametrize("body", ["", "nonsense", "[]", "3", '"text"', "null", "{", "NaN"])
def test_a_body_that_is_no_object_is_named(body: str) -> None:
    with pytest.raises(sh.LedgerCorrupt, match="one JSON object") as caught:
        Entry(7, "answer", body, GENESIS).read()
    assert caught.value.entry == 7


STATE = State().to_dict()


@pytest.mark.parametrize(
    "after",
    [
        None,
        {},
        [],
        {**STATE, "spent": "many"},
        {**STATE, "spent": None},
        {**STATE, "more": 1},
        {name: value for name, value in STATE.items() if name != "records"},
    ],
)
def test_an_entry_without_a_whole_state_is_named(after) -> None:
    with pytest.raises(sh.LedgerCorrupt, match="state after it") as caught:
        Entry(7, "answer", json.dumps({"after": after}), GENESIS).state()
    assert caught.value.entry == 7


def test_whatever_names_records_is_salted(tmp_path) -> None:
    """Two datasets with the same records: no hash of theirs tells who guesses them."""
    found = []
    for name in ("one", "two"):
        with made(tmp_path / name, count=10) as dataset:
            dataset._data.seal()
            entries = [entry.read() for entry in dataset._ledger.store.entries()]
        found.append({entry["salt"] for entry in entries if "digest" in entry or "count" in entry})
        assert len(found[-1]) == 2  # the append, and the seal
    assert not found[0] & found[1]
