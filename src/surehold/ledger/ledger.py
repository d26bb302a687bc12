"""The ledger of one dataset: what happened, in order, and where that leaves the budget."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from surehold.errors import LedgerCorrupt, RequestRefused, StorageFailed, SureholdError
from surehold.ledger.draft import Draft
from surehold.ledger.entries import GENESIS, State, next_entry
from surehold.ledger.names import Names
from surehold.ledger.policy import Policy, Rules
from surehold.ledger.step_queue import Step, StepQueue
from surehold.ledger.store import Store
from surehold.ledger.tables import Spent
from surehold.ledger.view import View, reservations_of
from surehold.ledger.witness import Witness
from surehold.planning import Plan
from surehold.queries import Schema

FILE = "ledger.sqlite"
WITNESS = "witness"
_WHAT = "the ledger"
_OTHER_CHARGES = "its index says other charges than its entries"

Clock = Callable[[], float]
T = TypeVar("T")


class Ledger(View):
    """Opened, checked and ready to be written; one writer at a time among all processes.

    Opening reads no record and few entries: it checks the first and the last, the witness, the
    manifest, and the counts by round. :func:`surehold.ledger.replay.replay` checks the rest.

    Reads have a connection of their own, so that none waits for a writer.
    """

    def __init__(self, folder: Path, clock: Clock = time.time, is_witnessed: bool = True) -> None:
        self.folder = folder
        self._clock = clock
        self.submitting = threading.Lock()  # to a leaderboard, one at a time
        self._in_doubt = False  # whether the last commit is there
        self._edition = 0
        self._spending: dict[str, Spent] = {}  # of analysts who were charged since the last reload
        self._names: Names | None = None  # until they are needed, or have changed
        self._steps = StepQueue(self._run)
        self._writer = Store(folder / FILE)  # it brings an older database up to date, if need be
        try:
            self.store = Store(folder / FILE, reading=True)
            self._witness = Witness(folder / WITNESS)
            created = _created(self.store)
            self.fingerprint = fingerprint_of(created)
            self._predecessor = created.get("succeeds")
            # Before the ledger: others may go on writing.
            witnessed = self._witness.read() if is_witnessed else None
            with self.store.reading():
                self._check_ends()
                if witnessed is not None:
                    self._check_witnessed(*witnessed)
                self.dataset, self.rules, self.schema = _read(created)
                self._reload(self.store)
                self.check_sums()
            if not self._is_spending_whole():
                self._mend_spending()
        except BaseException:
            self.close()
            raise

    def _is_spending_whole(self) -> bool:
        """Whether what analysts were charged is what was charged."""
        with self.store.reading():
            self.refresh()
            total = Spent(0, 0)
            for spent in self.store.spending().values():
                total = total.plus(*spent)
            return total == (self.state.spent, self.state.answers)

    def _mend_spending(self) -> None:
        """A program of an earlier version may have gone on writing: the entries know."""
        with self._writer.writing():
            self._writer.mend_spending()
        if not self._is_spending_whole():
            raise LedgerCorrupt(_WHAT, "what its analysts were charged is not what was charged")

    @classmethod
    def create(
        cls,
        folder: Path,
        dataset: str,
        rules: Rules,
        schema: Schema,
        clock: Clock = time.time,
        succeeds: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the first entry into an empty folder.

        ``succeeds`` is what a successor takes over: see :func:`first_state`.
        """
        body = {"dataset": dataset, **rules.to_entry(), "columns": schema.to_dict()}
        body |= {} if succeeds is None else {"succeeds": dict(succeeds)}
        body = json.loads(json.dumps(body))  # as it will be read back
        state = replace(first_state(body, rules), time=clock())
        entry = next_entry(None, "create", body, state)
        store = Store.create(folder / FILE)
        with store.writing():
            store.add(entry)
            for analyst, spent in first_spending(body).items():
                store.note_spending(analyst, spent)
        store.close()
        Witness.create(folder / WITNESS, entry)

    def refresh(self) -> State:
        """Take in what other processes have written since."""
        with self.store.lock:
            if self._in_doubt or self.store.last() != self._head.seq:
                with self.store.reading():
                    self._reload(self.store)
            return self.state

    @property
    def edition(self) -> int | None:
        """A number that changes with whatever decides how a recorded answer is found and shown.

        Answers under noise do not change it: the first answer to a question stays. None if that
        can't be said without waiting for another thread, or before the next :meth:`refresh`.
        """
        if not self.store.lock.acquire(blocking=False):
            return None
        try:
            is_present = not self._in_doubt and self.store.last() == self._head.seq
            return self._edition if is_present else None
        finally:
            self.store.lock.release()

    @property
    def names(self) -> Names:
        """The names of questions, read once: every answer is shown under its name."""
        with self.store.lock:
            if self._names is None:
                self._names = super().names
            return self._names

    @contextmanager
    def writing(self) -> Iterator[Draft]:
        """A draft of what comes next: all or nothing, durable at the end, and only then witnessed.

        Within it everything is read of the draft, never of the ledger, which does not know it yet.
        """
        with self._writer.lock:  # of the threads of this process, one at a time
            if self._in_doubt:
                self._writer.reopen()
            try:
                with self._writer.writing():
                    with self.store.lock:
                        if self._in_doubt or self._writer.last() != self._head.seq:
                            self._reload(self._writer)
                        self.check_open()
                        parts = (self._head, self.state, self.filter, self._spending, self.reserved)
                    draft = first = self._draft(self._writer, self.rules, *parts, self._clock)
                    yield first
                    draft = first.last
                    if draft is first:
                        draft.flush()
                self._in_doubt = False
            except StorageFailed as error:
                self._in_doubt = self._in_doubt or error.kept is None
                raise
            with self.store.lock:
                if draft.head.seq != parts[0].seq:
                    self._head, self.state = draft.head, draft.state
                    self.filter = draft.filter.commit()
                    self._spending |= draft.spending
                    self._names = None if draft.new_names else self._names
                    self._edition += self.rules.guard != "noise" or not draft.adds_only_answers
                    self.reserved = draft.reserved
                    self._witness.write(self._head)

    def write(self, body: Callable[[Draft], T]) -> T:
        """Write what ``body`` adds to a draft, as :meth:`writing` does; return what it returns.

        Steps of threads that come at the same moment are one transaction, with one wait for the
        disk. Each is all or nothing: one that fails undoes only itself. None is answered before the
        commit, and if that fails, all are. The body may run in another thread.
        """
        self._writer.check_process()  # a fork has none of the threads that it would wait for
        return self._steps.do(body)

    def _run(self, steps: Sequence[Step]) -> None:
        """Run steps one after the other, in one transaction."""
        try:
            with self.writing() as first:
                if len(steps) == 1:
                    steps[0].result = steps[0].body(first)
                    return
                for step in steps:
                    draft = first.last.next()
                    try:
                        with self._writer.part():
                            step.result = step.body(draft)
                            draft.flush()
                        first.last = draft
                    except Exception as error:
                        if not self._writer.is_writing:
                            raise  # the disk's, which has ended the whole transaction
                        step.error = error
        except Exception as error:
            for step in steps:
                step.error = error

    @property
    def successor(self) -> Mapping[str, Any] | None:
        """What the last entry says of the dataset that took over; None if none did."""
        return self._head.read() if self._head.kind == "succeeded" else None

    @property
    def predecessor(self) -> Mapping[str, Any] | None:
        """What the first entry says of the dataset that this one took over from."""
        return self._predecessor

    @property
    def successor_name(self) -> str | None:
        """The name of the dataset that took over."""
        return None if self.successor is None else str(self.successor["successor"])

    @property
    def predecessor_name(self) -> str | None:
        """The name of the dataset that this one took over from."""
        return None if self._predecessor is None else str(self._predecessor["name"])

    @property
    def has_records(self) -> bool:
        """Whether the records are there: those of a dataset with erased ones are removed."""
        return self.successor is None or not self.successor["erased"]

    def check_open(self) -> None:
        """Refuse to go on with a dataset that has a successor, as of the last refresh."""
        if self.successor is not None:
            name = self.successor["successor"]
            reason = f"this dataset was closed for good when {name!r} took over its records"
            hint = f"use {name!r}; status, transcript and verify of this one still work"
            raise RequestRefused(410, reason, hint)

    def erase(self) -> None:
        """Remove the records that wait in a closed dataset's database, for good."""
        with self._writer.lock:
            with self._writer.writing():
                self._writer.blank_pending()
            self._writer.scrub()

    def repair_witness(self) -> None:
        """Rebuild the witness: from now on the ledger is known to have come this far."""
        Witness.create(self.folder / WITNESS, self._head)

    def close(self) -> None:
        """Let go of the files; closing twice does nothing more."""
        if hasattr(self, "store"):
            self._writer.close_with(self.store)
        else:
            self._writer.close()

    # ----------------------------------------------------------------------------- opening

    def _reload(self, store: Store) -> None:
        head = store.head()
        state, filter = head.state(), self.rules.new_filter()
        charges = [(self.rules.first_round, state.spent)]
        if not self.rules.is_one_piece:
            charges = self._charges(store, state)
            if sum(units for _, units in charges) != state.spent:
                raise LedgerCorrupt(_WHAT, _OTHER_CHARGES, head.seq)
        for round, units in charges:
            if not filter.admits(round, units):
                raise LedgerCorrupt(_WHAT, "more was charged than the plan allows", head.seq)
            filter.charge(round, units)
        self._head, self.state, self.filter = head, state, filter
        self.reserved = reservations_of(store.of_kind("reserve"))
        self._spending.clear()
        self._names = None
        self._edition += 1

    @property
    def _draft(self) -> type[Draft]:
        if self.rules.guard == "noise":
            return Draft
        from surehold.ledger.surprise_draft import SurpriseDraft  # loads SciPy

        return SurpriseDraft

    def _charges(self, store: Store, state: State) -> list[tuple[int, int]]:
        """Rounds and what was charged at each, as the index has it."""
        return self.rules.charges(store.rounds(), state.spent)

    def _check_ends(self) -> None:
        """The head follows what is before it, and belongs to what was created."""
        head = self.store.head()
        previous = self.store.entry(head.seq - 1)
        before = GENESIS if head.seq == 1 else None if previous is None else previous.hash
        if before is None or not head.follows(before):
            raise LedgerCorrupt(_WHAT, "its last entry does not follow the one before it", head.seq)
        if head.state().dataset != self.fingerprint:
            raise LedgerCorrupt(_WHAT, "its plan or its columns are not those it began with", 1)

    def _check_witnessed(self, seq: int, digest: bytes) -> None:
        """The witness saw nothing newer than the head, and no other."""
        head, seen = self.store.head(), self.store.entry(seq)
        if seen is None and seq > head.seq:
            reason = (
                f"it ends at entry {head.seq:,}, but had come to {seq:,} before: it is an older "
                "copy, and would give the same records a fresh budget"
            )
            raise LedgerCorrupt(_WHAT, reason)
        if seen is None or seen.hash != digest:
            raise LedgerCorrupt(_WHAT, "it is not the one that its witness saw", seq)

    def check_sums(self) -> None:
        """The tables beside the entries say what the last entry says."""
        manifest, end = State(), 0
        for segment in self.store.segments():
            end = _continued(end, segment.start, segment.count)
            manifest = manifest.sealed(segment.digest, segment.count)
        for pending in self.store.pending():
            end = _continued(end, pending.start, pending.count)
        if manifest.manifest != self.state.manifest:
            raise LedgerCorrupt("the manifest", "it lists other segments than the ledger sealed")
        if end != self.state.records:
            reason = f"it holds {end:,} records where the ledger has {self.state.records:,}"
            raise LedgerCorrupt("the manifest", reason)
        if sum(total.answers for total in self.store.rounds()) != self.state.answers:
            raise LedgerCorrupt(_WHAT, "its index does not have as many answers as its entries")
        if sum(units for _, units in self._charges(self.store, self.state)) != self.state.spent:
            raise LedgerCorrupt(_WHAT, _OTHER_CHARGES)


def fingerprint_of(created: Mapping[str, Any]) -> str:
    """What binds plan, columns and data: every entry carries it, and so does every segment."""
    guard = created.get("plan", created.get("guard"))
    parts = [created.get("dataset"), guard, created.get("columns")]
    parts += [created["succeeds"]] if "succeeds" in created else []
    text = json.dumps(parts, allow_nan=False, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def first_state(created: Mapping[str, Any], rules: Rules) -> State:
    """The state after the first entry: what the predecessor spent and shared out stays so."""
    state = State(dataset=fingerprint_of(created), book=rules.first_book)
    past = created.get("succeeds")
    return state if past is None else replace(state, spent=int(past["spent"]), book=past["book"])


def first_spending(created: Mapping[str, Any]) -> dict[str, Spent]:
    """What analysts had spent before, of whom limits go on."""
    spent = created.get("succeeds", {}).get("spending", {})
    return {analyst: Spent(int(units), 0) for analyst, units in spent.items()}


def _created(store: Store) -> dict[str, Any]:
    entry = store.entry(1)
    if entry is None or entry.kind != "create" or not entry.follows(GENESIS):
        raise LedgerCorrupt(_WHAT, "its first entry is not the one it was created with", 1)
    return entry.read()


def _read(created: Mapping[str, Any]) -> tuple[str, Rules, Schema]:
    try:
        rules: Rules
        if "guard" in created:
            from surehold.ledger.surprise_policy import SurprisePolicy  # loads SciPy

            rules = SurprisePolicy.from_dict(created["guard"])
        else:
            rules = Policy(Plan.from_dict(created["plan"]))
        return str(created["dataset"]), rules, Schema.of(created["columns"])
    except (SureholdError, KeyError) as error:
        reason = f"its plan or its columns can't be read ({error})"
        raise LedgerCorrupt(_WHAT, reason, 1) from error


def _continued(end: int, start: int, count: int) -> int:
    if start != end or count < 1:
        raise LedgerCorrupt("the manifest", f"records from {end + 1:,} on are not where they were")
    return start + count
