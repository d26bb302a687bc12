"""Entries of the ledger, the hash chain that binds them, and the state each leaves behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

from surehold.errors import LedgerCorrupt

Kind: TypeAlias = Literal[
    "create",
    "append",
    "seal",
    "register",
    "keep",
    "name",
    "reserve",
    "claim",
    "charge",
    "answer",
    "derived",
    "key",
    "leaderboard",
    "submission",
    "succeeded",
]

_encode = json.JSONEncoder(
    allow_nan=False, ensure_ascii=False, check_circular=False, separators=(",", ":")
).encode

GENESIS = bytes(32)
"""What the first entry is chained to."""


@dataclass(frozen=True)
class State:
    """Where the dataset stands after an entry; every entry carries its own.

    ``dataset`` is the fingerprint of plan and columns. ``answers`` counts towards the plan's: every
    number that was reported, a table's cells one by one. ``spent`` is what the most exposed record,
    the first, has been charged, in units of :mod:`surehold.mechanisms.charge`. ``manifest`` binds
    the segments, in order. ``time`` never goes back, whatever the clock does. ``book`` is what a
    surprise guard keeps count of, whose ``spent`` is in units of 2^-64 nat.
    """

    dataset: str = ""
    records: int = 0
    answers: int = 0
    spent: int = 0
    manifest: str = GENESIS.hex()
    time: float = 0.0
    book: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it: the exact charge as text, since many readers round large numbers."""
        values = {
            "dataset": self.dataset,
            "records": self.records,
            "answers": self.answers,
            "spent": str(self.spent),
            "manifest": self.manifest,
            "time": self.time,
        }
        return values if self.book is None else {**values, "book": dict(self.book)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> State:
        """What :meth:`to_dict` wrote."""
        # Each has a default, so one left out would not tell.
        if len({*values, "book"}) != len(fields(cls)):
            raise ValueError(f"a state has {len(fields(cls))} parts")
        return cls(**{**values, "spent": int(values["spent"])})

    def grown(self, records: int, time: float) -> State:
        """After an append."""
        count = self.records + records
        return State(self.dataset, count, self.answers, self.spent, self.manifest, time, self.book)

    def sealed(self, digest: str, count: int) -> State:
        """With one more segment in the manifest."""
        text = f"{self.manifest} {digest} {count}"
        return replace(self, manifest=hashlib.sha256(text.encode()).hexdigest())

    def charged(self, units: int, time: float, slots: int = 1) -> State:
        """After an answer that counts for ``slots``."""
        answers, spent = self.answers + slots, self.spent + units
        return State(self.dataset, self.records, answers, spent, self.manifest, time, self.book)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. ``body`` is JSON text, kept as written so that hashes stay true."""

    seq: int
    kind: Kind
    body: str
    hash: bytes
    values: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    """The body as it was before it was written, if it was written just now."""

    def read(self) -> dict[str, Any]:
        """The body as plain values."""
        values = self.values
        if values is None:
            try:
                values = json.loads(self.body)
            except ValueError:
                values = None
        if not isinstance(values, dict):
            raise LedgerCorrupt("the ledger", "its text is not one JSON object", self.seq)
        return values

    def state(self) -> State:
        """The state after this entry."""
        try:
            return State.from_dict(self.read()["after"])
        except (KeyError, TypeError, ValueError):
            raise LedgerCorrupt("the ledger", "it does not say the state after it", self.seq) from (
                None
            )

    def follows(self, previous: bytes) -> bool:
        """Whether the hash is that of this text after the entry with hash ``previous``."""
        return self.hash == chained(previous, self.seq, self.kind, self.body)


def chained(previous: bytes, seq: int, kind: str, body: str) -> bytes:
    """The hash of an entry: SHA-256 over the one before, the number, the kind and the text."""
    return hashlib.sha256(previous + f"{seq} {kind} {body}".encode()).digest()


def next_entry(previous: Entry | None, kind: Kind, body: Mapping[str, Any], after: State) -> Entry:
    """The entry that comes after ``previous``."""
    values = {**body, "after": after.to_dict()}
    text = _encode(values)
    seq = 1 if previous is None else previous.seq + 1
    chain = GENESIS if previous is None else previous.hash
    return Entry(seq, kind, text, chained(chain, seq, kind, text), values)
