"""The state machine's model of a dataset, and the faults that it meets."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.workload import Case, Leaf
from surehold.data import intake, segments
from surehold.data.segments import SegmentWriter
from surehold.ledger.policy import Policy
from surehold.ledger.store import Store


class Crash(BaseException):
    """The machine stops here; what goes on is a copy of the disk as it was."""


class Faulty:
    """Makes one fault happen, and remembers that it did."""

    def __init__(self) -> None:
        self.armed: str | None = None
        self.fired: str | None = None
        self.skipped = 0
        self.path = self.copy = Path()

    @contextmanager
    def with_one(
        self, fault: str | None, path: Path, copy: Path, skipped: int = 0
    ) -> Iterator[None]:
        """Once within this block, at the point after those that are ``skipped``."""
        self.armed, self.fired, self.path, self.copy = fault, None, path, copy
        self.skipped = skipped
        try:
            yield
        finally:
            self.armed = None

    def at(self, point: str, error: Exception) -> None:
        if self.skipped and self.armed in (point, f"crash {point}"):
            self.skipped -= 1
            return
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
            with segments._report_failures():
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
        patch.setattr(intake, "LARGE", 50)
        patch.setattr(intake, "RECORDS", 50)


FAULTY = Faulty()


Question = tuple[str, int]
"""A canonical text and a round."""


@dataclass
class Write:
    """One transaction: what is charged in it, what is told in it, and the keys it notes."""

    charged: dict[Question, Leaf] = field(default_factory=dict)
    told: list[Question] = field(default_factory=list)
    keys: dict[str, Question] = field(default_factory=dict)


@dataclass
class Step:
    """What an ask comes to: all that is charged, then answered, then derived, one by one.

    ``recorded`` says of each result whether nothing had to be done for it now, and ``kept`` whether
    it has an entry: what follows from recorded answers alone has none.
    """

    questions: list[Question] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    recorded: list[bool] = field(default_factory=list)
    kept: list[bool] = field(default_factory=list)


class Model:
    """What a dataset must be like, in a few plain values."""

    def __init__(self, policy: Policy, n: int) -> None:
        self.policy = policy
        self.n = n
        self.spent = 0
        self.answers = 0
        self.charges: list[tuple[int, int]] = []  # rounds and prices
        self.paid: set[Question] = set()
        self.told: dict[Question, dict[str, Any] | None] = {}  # None: given, but nobody heard
        self.keys: dict[str, Question] = {}
        self.reserved = (0, 0)  # for one who never asks: of the budget, and of the answers

    def reserve(self, share: Fraction) -> bool:
        """Keep a share for one who never asks, if as much is left."""
        kept = int(share * self.policy.budget), int(share * self.policy.plan.queries)
        left = self.policy.budget - self.spent, self.policy.plan.queries - self.answers
        if not all(one <= there for one, there in zip(kept, left, strict=True)):
            return False
        self.reserved = kept
        return True

    def round(self, held: int | None) -> int | None:
        try:
            return self.policy.round_for(self.n, held)
        except sh.NotReady:
            return None

    def fits(self, round: int, price: int, slots: int, for_all: bool = False) -> bool:
        """The filter from scratch: every record that is first in its piece, one by one.

        What is reserved is there only ``for_all`` together.
        """
        charge, (units, answers) = (
            self.policy.mechanism.charge,
            (0, 0) if for_all else self.reserved,
        )
        if self.answers + answers + slots > self.policy.plan.queries:
            return False
        if self.policy.schedule is None:
            return self.spent + units + price * charge(round) <= self.policy.budget
        for start in (0, *self.policy.rounds[:-1]):
            if start < round:
                budget = sum(k * charge(t) for t, k in self.policy.schedule if t > start)
                spent = sum(paid * charge(t) for t, paid in self.charges if t > start)
                if spent + price * charge(round) > budget:
                    return False
        return True

    def charge(self, fresh: dict[Question, Leaf]) -> None:
        for question, leaf in fresh.items():
            assert question not in self.paid
            self.paid.add(question)
            self.charges.append((question[1], leaf.price))
            self.spent += leaf.price * self.policy.mechanism.charge(question[1])
            self.answers += leaf.slots

    def step(
        self,
        cases: list[Case],
        key: str | None,
        alone: bool,
        held: int | None,
        is_known: Callable[[list[Question]], bool],
    ) -> Step:
        """What will come of an ask, or the error that it has to raise.

        If the sums of all that is due are known, charge and answers are one transaction.

        A key is that of a query asked alone, and otherwise stands before the number of each part.
        """
        is_derived = alone and bool(cases[0].derived)
        if is_derived and key in self.keys:
            if self.keys[key][0] != cases[0].canonical:
                raise sh.InvalidInput("key", "", "")
            return Step([self.keys[key]], [], [True], [True])
        parts = [(number, leaf) for number, case in enumerate(cases) for leaf in case.leaves]
        numbered = is_derived or not alone
        names = [key and (f"{key}/{i}" if numbered else key) for i in range(len(parts))]
        if key and not alone and names:  # the key of a list is taken by its first part
            names[0] = key
        kept = [self.keys.get(name) if name else None for name in names]
        if key and not alone:
            is_longer = f"{key}/{len(parts)}" in self.keys
            if is_longer or any(kept) != all(kept):
                raise sh.InvalidInput("key", "", "")
        both = list(zip(kept, parts, strict=True))
        if any(found and found[0] != leaf.canonical for found, (_, leaf) in both):
            raise sh.InvalidInput("key", "", "")
        round = self.round(held)
        if round is None and not all(kept):
            raise sh.NotReady("", "", {})
        asked = [found or (leaf.canonical, round) for found, (_, leaf) in both]
        rounds: dict[int, int] = {}
        for (number, _), (_, at) in zip(parts, asked, strict=True):
            if rounds.setdefault(number, at) != at:
                raise sh.InvalidInput("key", "", "")
        charged = {
            question: leaf
            for question, (_, leaf) in zip(asked, parts, strict=True)
            if question not in self.paid
        }
        due = [question for question in dict.fromkeys(asked) if question not in self.told]
        price, slots = (
            sum(leaf.price for leaf in charged.values()),
            sum(leaf.slots for leaf in charged.values()),
        )
        if charged and not self.fits(round, price, slots):
            raise sh.BudgetExhausted(0.0, 0.0, 1, None, None, "")
        step = Step()
        if due or (key and not all(kept)):
            keys = {name: question for name, question in zip(names, asked, strict=True) if name}
            at_once = bool(due) and is_known(due)
            step.writes.append(Write(charged, due if at_once else [], keys))
            if due and not at_once:
                step.writes.append(Write(told=due))
        seen = set(self.told)  # at this point of the list
        for number, case in enumerate(cases):
            at, is_new, is_kept = rounds[number], False, True
            for leaf in case.leaves:
                is_new |= (leaf.canonical, at) not in seen
                seen.add((leaf.canonical, at))
            for canonical in case.derived:
                question = (canonical, at)
                keys = {key: question} if is_derived and key and canonical == case.canonical else {}
                is_known_now = question in seen
                if keys or (is_new and not is_known_now):
                    step.writes.append(Write(told=[] if is_known_now else [question], keys=keys))
                    seen.add(question)
                is_kept = question in seen
                is_new = not is_known_now and (is_new or bool(keys))
            step.questions.append((case.canonical, at))
            step.recorded.append(not is_new)
            step.kept.append(is_kept)
        return step

    def apply(self, writes: list[Write]) -> None:
        for write in writes:
            self.charge(write.charged)
            for question in write.told:
                self.told.setdefault(question, None)
            self.keys |= write.keys

    @property
    def state(self) -> tuple[int, int, int]:
        return self.n, self.answers, self.spent
