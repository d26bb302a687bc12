"""The state machine's model of a dataset, and the faults that it meets."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.data import growing, segments
from holdfast.data.segments import SegmentWriter
from holdfast.ledger.policy import Policy
from holdfast.ledger.store import Store
from workload import Case, Leaf


class Crash(BaseException):
    """The machine stops here; what goes on is a copy of the disk as it was."""


class Faulty:
    """Makes one fault happen, and remembers that it did."""

    def __init__(self) -> None:
        self.armed: str | None = None
        self.fired: str | None = None
        self.path = self.copy = Path()

    @contextmanager
    def with_one(self, fault: str | None, path: Path, copy: Path) -> Iterator[None]:
        self.armed, self.fired, self.path, self.copy = fault, None, path, copy
        try:
            yield
        finally:
            self.armed = None

    def at(self, point: str, error: Exception) -> None:
        if self.armed == point:
            self.fired, self.armed = point, None
            raise error
        if self.armed == f"crash {point}":
            self.fired, self.armed = self.armed, None
            shutil.copytree(self.path, self.copy)
            raise Crash

    def install(self, patch: pytest.MonkeyPatch) -> None:
        commit, publish, fsync = Store._commit, SegmentWriter.publish, os.fsync
        broken = sqlite3.OperationalError("disk I/O error")
        lost = OSError(errno.EIO, "Input/output error")

        def commit_with_faults(store: Store) -> None:
            self.at("before", broken)
            commit(store)
            self.at("after", broken)

        def publish_with_faults(writer: SegmentWriter, start: int) -> Any:
            with segments._told_plainly():
                self.at("publish before", lost)
                published = publish(writer, start)
                self.at("publish after", lost)
            return published

        def fsync_with_faults(file: int) -> None:
            self.at("fsync", lost)
            fsync(file)

        patch.setattr(Store, "_commit", commit_with_faults)
        patch.setattr(SegmentWriter, "publish", publish_with_faults)
        patch.setattr(os, "fsync", fsync_with_faults)
        patch.setattr(growing, "LARGE", 50)
        patch.setattr(growing, "RECORDS", 50)


FAULTY = Faulty()


Question = tuple[str, int]
"""A canonical text and a round."""


@dataclass
class Write:
    """One transaction: what is charged in it, what is derived in it, and the keys it notes."""

    charged: dict[Question, Leaf] = field(default_factory=dict)
    derived: Question | None = None
    keys: dict[str, Question] = field(default_factory=dict)


@dataclass
class Step:
    """What an ask comes to: first all that is charged, then what is derived, one by one."""

    questions: list[Question]
    writes: list[Write]

    @property
    def fresh(self) -> set[Question]:
        return {question for write in self.writes for question in write.charged}


class Model:
    """What a dataset must be like, in a few plain values."""

    def __init__(self, policy: Policy, n: int) -> None:
        self.policy = policy
        self.n = n
        self.spent = 0
        self.answers = 0
        self.charges: list[tuple[int, int]] = []  # rounds and prices
        self.told: dict[Question, dict[str, Any] | None] = {}  # None: given, but nobody heard
        self.keys: dict[str, Question] = {}

    def round(self, held: int | None) -> int | None:
        try:
            return self.policy.round_for(self.n, held)
        except hf.NotReady:
            return None

    def fits(self, round: int, price: int, slots: int) -> bool:
        """The filter from scratch: every record that is first in its piece, one by one."""
        charge = self.policy.mechanism.charge
        if self.answers + slots > self.policy.plan.queries:
            return False
        if self.policy.schedule is None:
            return self.spent + price * charge(round) <= self.policy.budget
        for start in (0, *self.policy.rounds[:-1]):
            if start < round:
                budget = sum(k * charge(t) for t, k in self.policy.schedule if t > start)
                spent = sum(paid * charge(t) for t, paid in self.charges if t > start)
                if spent + price * charge(round) > budget:
                    return False
        return True

    def charge(self, fresh: dict[Question, Leaf]) -> None:
        for question, leaf in fresh.items():
            assert question not in self.told
            self.told[question] = None
            self.charges.append((question[1], leaf.price))
            self.spent += leaf.price * self.policy.mechanism.charge(question[1])
            self.answers += leaf.slots

    def step(self, cases: list[Case], key: str | None, alone: bool, held: int | None) -> Step:
        """What will come of an ask, or the error that it has to raise.

        A key is that of a query asked alone, and otherwise stands before the number of each part.
        """
        is_derived = alone and bool(cases[0].derived)
        if is_derived and key in self.keys:
            if self.keys[key][0] != cases[0].canonical:
                raise hf.InvalidInput("key", "", "")
            return Step([self.keys[key]], [])
        parts = [(number, leaf) for number, case in enumerate(cases) for leaf in case.leaves]
        numbered = is_derived or not alone
        names = [key and (f"{key}/{i}" if numbered else key) for i in range(len(parts))]
        if key and not alone and names:  # the key of a list is taken by its first part
            names[0] = key
        kept = [self.keys.get(name) if name else None for name in names]
        if key and not alone:
            is_longer = f"{key}/{len(parts)}" in self.keys
            if is_longer or any(kept) != all(kept):
                raise hf.InvalidInput("key", "", "")
        both = list(zip(kept, parts, strict=True))
        if any(found and found[0] != leaf.canonical for found, (_, leaf) in both):
            raise hf.InvalidInput("key", "", "")
        round = self.round(held)
        if round is None and not all(kept):
            raise hf.NotReady("", "", {})
        asked = [found or (leaf.canonical, round) for found, (_, leaf) in both]
        rounds: dict[int, int] = {}
        for (number, _), (_, at) in zip(parts, asked, strict=True):
            if rounds.setdefault(number, at) != at:
                raise hf.InvalidInput("key", "", "")
        charged = {
            question: leaf
            for question, (_, leaf) in zip(asked, parts, strict=True)
            if question not in self.told
        }
        price, slots = (
            sum(leaf.price for leaf in charged.values()),
            sum(leaf.slots for leaf in charged.values()),
        )
        if charged and not self.fits(round, price, slots):
            raise hf.BudgetExhausted(0.0, 0.0, 1, None, None, "")
        step = Step([], [])
        if charged or (key and not all(kept)):
            keys = {name: question for name, question in zip(names, asked, strict=True) if name}
            step.writes.append(Write(charged, keys=keys))
        new: set[Question] = set()
        for number, case in enumerate(cases):
            step.questions.append((case.canonical, rounds[number]))
            for canonical in case.derived:
                question = (canonical, rounds[number])
                keys = {key: question} if is_derived and key and canonical == case.canonical else {}
                if keys or question not in self.told.keys() | new:
                    step.writes.append(Write(derived=question, keys=keys))
                    new.add(question)
        return step

    def apply(self, writes: list[Write]) -> None:
        for write in writes:
            self.charge(write.charged)
            if write.derived:
                self.told.setdefault(write.derived, None)
            self.keys |= write.keys

    @property
    def state(self) -> tuple[int, int, int]:
        return self.n, self.answers, self.spent
