"""Everything that can be done to a dataset, in any order, with a fault at every commit point.

What is asked is of every class (:mod:`workload`), and all of it is in one ledger, under one budget.
In half of all datasets records have ids: then exports that grow are appended, and side tables kept.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import surehold as sh
from support.machine import FAULTY, Crash, Model, Question, Step
from support.noise_sources import FastSeededNoise, NoNoise
from support.runtime import (
    N0,
    adaptive_plan,
    age_of,
    batch_plan,
    made,
    numbered,
    older,
    records,
)
from support.workload import CASES, OF_TABLES, SIDE, YOUTH, Case, in_process
from surehold.ledger.policy import Policy
from surehold.mechanisms import to_float
from surehold.queries import form_of
from surehold.session.dataset import Dataset

AGES = (5, 20, 50, 80, 95)
FAULTS = (
    *("before", "after", "crash before", "crash after"),  # COMMIT
    *("before", "after"),  # these oftener
    *("publish before", "publish after", "crash publish before", "crash publish after"),
    *("fsync", "full"),
)
Faults = st.none() | st.sampled_from(FAULTS)
Asked = st.integers(0, 5)  # which of the queries that an example has
Keys = st.none() | st.sampled_from(("a", "b", "c"))


class Machine(RuleBasedStateMachine):
    """Up to two connections to one dataset, and the model beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="machine-"))
        self.copies = 0
        self.now = 1000.0
        self.open: list[tuple[Dataset, sh.Session]] = []
        self.history: list[tuple[int, int, int]] = []
        self.witnessed = 0  # from here on in history; a crash after COMMIT leaves it behind
        self.skipped = 0  # points at which a fault does not come yet
        self.has_ids = False
        self.is_kept = False  # the side table
        self.named: dict[str, Case] = {}  # questions of the dashboard

    def teardown(self) -> None:
        for dataset, _ in self.open[:1]:
            dataset.verify()
        self.close_all()
        shutil.rmtree(self.root, ignore_errors=True)

    def close_all(self) -> None:
        for dataset, _ in self.open:
            dataset.close()
        self.open.clear()

    def connect(self) -> None:
        self.copies += 1
        noise = NoNoise() if self.noiseless else FastSeededNoise(self.copies)
        dataset = Dataset(self.path, noise, lambda: self.now)
        dataset.register(YOUTH)
        self.open.append((dataset, dataset.session(f"analyst {self.copies}")))

    def new_copy(self) -> Path:
        self.copies += 1
        return self.root / f"copy-{self.copies}"

    def happened(self, came: str) -> None:
        if not self.history or self.history[-1] != self.model.state:
            self.history.append(self.model.state)
            if came == "told":
                self.witnessed = len(self.history) - 1

    @initialize(
        batches=st.booleans(),
        count=st.sampled_from((0, N0 - 1, 300, 790, 1950)),
        data=st.data(),
        noiseless=st.booleans(),
        ids=st.booleans(),
    )
    def create(
        self, batches: bool, count: int, data: st.DataObject, noiseless: bool, ids: bool
    ) -> None:
        """A few of the cases are enough for one example: they are asked again, and share parts."""
        every = st.sampled_from(sorted(CASES))
        names = data.draw(st.lists(every, min_size=2, max_size=6, unique=True), label="cases")
        plan = batch_plan() if batches else adaptive_plan()
        self.path = self.root / "clinic"
        self.cases = [CASES[name] for name in names]
        self.noiseless, self.has_ids = noiseless, ids
        made(self.path, plan, ids=ids).close()
        self.connect()
        self.model = Model(Policy(plan), 0)
        self.happened("told")
        if count:
            self.append(count, 0, None, 0)

    def case(self, asked: int) -> Case:
        return self.cases[asked % len(self.cases)]

    def do(self, fault: str | None, work: Callable[[], Any], which: int) -> tuple[str, Any]:
        """What came of it: told, refused (nothing happened), or lost (it happened, untold)."""
        store = self.open[which][0]._ledger._writer
        if fault == "full":
            [pages] = store._connection.execute("PRAGMA page_count").fetchone()
            store._connection.execute(f"PRAGMA max_page_count = {pages}")
        try:
            with FAULTY.with_one(fault, self.path, self.new_copy(), self.skipped):
                return "told", work()
        except sh.StorageFailed as error:
            if fault != "full" and FAULTY.fired != fault:
                raise AssertionError("nothing was wrong with the disk") from error
            return ("lost" if FAULTY.fired == "after" else "refused"), error
        except Crash:
            self.close_all()
            self.path = FAULTY.copy
            self.connect()
            return ("lost" if FAULTY.fired == "crash after" else "refused"), None
        finally:
            if fault == "full" and self.open:
                store._connection.execute("PRAGMA max_page_count = 1000000")

    # ------------------------------------------------------------------------------ records

    @rule(
        count=st.integers(1, 49) | st.integers(50, 200),
        known=st.sampled_from((0, 0, 1, 30, 120)),
        fault=Faults,
        which=st.integers(0, 1),
    )
    def append(self, count: int, known: int, fault: str | None, which: int) -> None:
        """With ids, an export that grows: some records were there before."""
        which %= len(self.open)
        dataset, n = self.open[which][0], self.model.n
        known = min(known, n) if self.has_ids else 0
        rows = numbered(n - known, n + count) if self.has_ids else records(n, n + count)
        came, result = self.do(fault, lambda: dataset.append(rows), which)
        if came in ("told", "lost"):
            self.model.n += count
        if came == "told":
            said = known if self.has_ids else None
            assert (result.count, result.known, result.n) == (count, said, self.model.n)
        self.happened(came)

    @precondition(lambda self: self.has_ids and self.model.n)
    @rule(count=st.integers(1, 150), is_other=st.booleans(), fault=Faults, which=st.integers(0, 1))
    def append_known(self, count: int, is_other: bool, fault: str | None, which: int) -> None:
        """Nothing new, in another order; or one that was changed, which refuses all of it."""
        which %= len(self.open)
        dataset, rows = self.open[which][0], numbered(max(self.model.n - count, 0), self.model.n)
        rows.reverse()
        if is_other:
            changed = {**rows[-1], "age": rows[-1]["age"] + 1}
            new = numbered(self.model.n, self.model.n + 60)
            with pytest.raises(sh.InvalidInput, match="1 known id with other values"):
                dataset.append([*new, *rows[:-1], changed])
            return
        came, result = self.do(fault, lambda: dataset.append(rows), which)
        if came == "told":
            assert (result.count, result.known, result.n) == (0, len(rows), self.model.n)
        self.happened(came)

    @rule(fault=Faults, which=st.integers(0, 1))
    def seal(self, fault: str | None, which: int) -> None:
        which %= len(self.open)
        self.do(fault, self.open[which][0]._data.seal, which)

    @rule(bad=st.sampled_from(({"age": "old"}, {"weight": 1}, 7)), which=st.integers(0, 1))
    def append_badly(self, bad: Any, which: int) -> None:
        dataset = self.open[which % len(self.open)][0]
        with pytest.raises(sh.BadRecord):
            dataset.append([*records(self.model.n, self.model.n + 60), bad])

    # ------------------------------------------------------------- tables, names, reservations

    is_cut = False
    """Whether a successor has the table without erased records, under its name."""

    @precondition(lambda self: self.has_ids and not self.is_cut)
    @rule(fault=Faults, which=st.integers(0, 1))
    def keep_table(self, fault: str | None, which: int) -> None:
        """From then on there is more to ask; before, its name means nothing."""
        which %= len(self.open)
        dataset, session = self.open[which]
        assert [one.name for one in dataset.tables] == ["p"] * self.is_kept
        if not self.is_kept:
            with pytest.raises(sh.InvalidInput, match="the side table"):
                session.ask("p.says")
        came, kept = self.do(fault, lambda: session.keep_table(SIDE, "p"), which)
        if came == "told":
            assert (kept.name, kept.rows) == ("p", SIDE.height)
        if came in ("told", "lost") and not self.is_kept:
            self.is_kept = True
            self.ask_about_tables()
        self.happened(came)

    def ask_about_tables(self) -> None:
        self.cases = [*OF_TABLES.values(), *self.cases[:4]]

    @rule(asked=Asked, fault=Faults, which=st.integers(0, 1))
    def name(self, asked: int, fault: str | None, which: int) -> None:
        """A question of the dashboard, which costs nothing until it is watched."""
        which %= len(self.open)
        case, session = self.case(asked), self.open[which][1]
        if not isinstance(case.query, str):
            return
        title = f"q {list((CASES | OF_TABLES).values()).index(case)}"
        dashboard = sh.Dashboard.of([{"name": title, "question": case.query}])
        came, found = self.do(fault, lambda: session.register(dashboard), which)
        if came == "told":
            assert [(one.title, one.new) for one in found] == [(title, title not in self.named)]
        if came in ("told", "lost"):
            self.named[title] = case
        self.happened(came)

    @rule(fault=Faults, which=st.integers(0, 1))
    def watch(self, fault: str | None, which: int) -> None:
        """All of them at once, as a list is asked."""
        if not self.named:
            with pytest.raises(sh.InvalidInput, match="the dashboard"):
                self.open[0][1].watch()
            return
        cases = [*self.named.values()]
        self.ask_some(
            cases,
            None,
            False,
            fault,
            which,
            lambda session: [one.result for one in session.watch().questions],
        )

    @rule(eighths=st.sampled_from((0, 1, 1, 3, 8)), fault=Faults, which=st.integers(0, 1))
    def reserve(self, eighths: int, fault: str | None, which: int) -> None:
        """For one who never asks: nobody else can spend it."""
        which %= len(self.open)
        dataset, share = self.open[which][0], Fraction(eighths, 8)
        before = self.model.reserved
        if self.model.policy.schedule is not None or not self.model.reserve(share):
            with pytest.raises(sh.InvalidInput):
                dataset.reserve("absent", str(share))
            return
        came, kept = self.do(fault, lambda: dataset.reserve("absent", str(share)), which)
        if came == "told":
            assert kept.reserved == pytest.approx(eighths / 8)
        if came == "refused":
            self.model.reserved = before
        self.happened(came)

    # ------------------------------------------------------------------------------- asking

    @rule(asked=Asked, which=st.integers(0, 1))
    def quote(self, asked: int, which: int) -> None:
        _, session = self.open[which % len(self.open)]
        case, model = self.case(asked), self.model
        quote, round = session.quote(case.query), model.round(session.held)
        assert quote.query == case.canonical
        assert (quote.width is None) == (bool(case.derived) or case.kind is sh.Fitted)
        if round is None:
            assert not quote.allowed
            assert (quote.price, quote.counts_for) == (case.price, case.slots)
            return
        fresh = [leaf for leaf in case.leaves if (leaf.canonical, round) not in model.paid]
        price, slots = sum(leaf.price for leaf in fresh), sum(leaf.slots for leaf in fresh)
        assert (quote.price, quote.counts_for) == (price, slots)
        assert (quote.round, quote.recorded) == (round, not fresh)
        assert quote.allowed == (not fresh or model.fits(round, price, slots))

    @rule(asked=Asked, key=Keys, fault=Faults, which=st.integers(0, 1))
    def ask(self, asked: int, key: str | None, fault: str | None, which: int) -> None:
        case = self.case(asked)
        self.ask_some(
            [case], key, True, fault, which, lambda session: [session.ask(case.query, key=key)]
        )

    @rule(
        asked=st.lists(Asked, min_size=1, max_size=6),
        key=Keys,
        fault=Faults,
        which=st.integers(0, 1),
    )
    def ask_many(self, asked: list[int], key: str | None, fault: str | None, which: int) -> None:
        cases = [self.case(one) for one in asked]
        queries = [case.query for case in cases]
        self.ask_some(
            cases, key, False, fault, which, lambda session: session.ask_many(queries, key=key)
        )

    def ask_some(
        self,
        cases: list[Case],
        key: str | None,
        alone: bool,
        fault: str | None,
        which: int,
        ask: Callable[[sh.Session], Any],
    ) -> None:
        which %= len(self.open)
        model, session = self.model, self.open[which][1]
        try:
            step = model.step(cases, key, alone, session.held, partial(self.is_known, which))
        except sh.SureholdError as error:
            with pytest.raises(type(error), match="key" if "key" in str(error) else None):
                ask(session)
            return
        came, results = self.do(fault, lambda: ask(session), which)
        # A fault comes at the first write; only a disk that is full may let some of them pass.
        done = {"told": len(step.writes), "lost": 1, "refused": 0}[came]
        if came == "refused" and fault == "full":
            done = self.written(step)
        model.apply(step.writes[:done])
        self.happened("told" if came == "refused" else came)
        if came == "told":
            for case, question, result, known, kept in zip(
                cases, step.questions, results, step.recorded, step.kept, strict=True
            ):
                self.check(case, question, result, known, kept)

    def is_known(self, which: int, due: list[Question]) -> bool:
        """Whether a connection can tell all of it without a look at a record."""
        dataset = self.open[which][0]
        forms = [(form_of(text, dataset._ledger.schema), round) for text, round in due]
        return all(
            form.sources and dataset._data.known(form.sources, round) is not None
            for form, round in forms
        )

    def written(self, step: Step) -> int:
        """How many transactions of an ask came through: each as a whole, and none after a gap."""
        ledger = self.open[0][0]._ledger
        found = [
            all(ledger.answered(*q) or ledger.charged(*q) for q in write.charged)
            and all(ledger.answered(*q) is not None for q in write.told)
            and all(ledger.store.keyed(key) is not None for key in write.keys)
            for write in step.writes
        ]
        assert found == sorted(found, reverse=True)
        return sum(found)

    def check(self, case: Case, question: Question, result: Any, known: bool, kept: bool) -> None:
        """What was told is what the model says, and what was told before."""
        assert type(result) is case.kind
        assert ((result.query, result.round), result.recorded) == (question, known)
        charge = self.model.policy.mechanism.charge(result.round)
        price = 0 if case.derived else case.price
        assert (result.price, result.charge) == (price, to_float(price * charge))
        said = said_by(result)
        if kept:
            assert self.model.told[question] in (None, said)
            self.model.told[question] = said
        if isinstance(result, sh.Verdict) and result.interval is not None:
            low, high = result.interval
            sides = {"at_least": (low, high), "at_most": (-high, -low)}
            limit = result.limit if result.side == "at_least" else -result.limit
            least, most = sides[result.side]
            assert (least >= limit, most < limit) == (
                result.verdict == "pass",
                result.verdict == "fail",
            )
        if self.noiseless and case.exact is not None:
            assert_exact(result, case.exact(result.round))

    @rule(data=st.data(), which=st.integers(0, 1))
    def hold(self, data: st.DataObject, which: int) -> None:
        _, session = self.open[which % len(self.open)]
        policy = self.model.policy
        round = data.draw(st.none() | st.sampled_from(policy.rounds or (N0, 500, 1000, 1990)))
        if round is not None and round > self.model.n:
            with pytest.raises(sh.NotReady):
                session.hold(round)
        else:
            session.hold(round)

    @rule(age=st.sampled_from(AGES), share=st.floats(0, 1), which=st.integers(0, 1))
    def sum_over_a_snapshot(self, age: int, share: float, which: int) -> None:
        dataset = self.open[which % len(self.open)][0]
        round = int(share * self.model.n)
        measure = sh.fraction(f"age > {age}").measure(dataset._ledger.schema)
        assert dataset._data.sums([measure], round) == [older(age, round)]

    # ------------------------------------------------------------------- open, close, verify

    @precondition(lambda self: len(self.open) < 2)
    @rule()
    def open_another(self) -> None:
        self.connect()

    @precondition(lambda self: len(self.open) == 2)
    @rule(which=st.integers(0, 1))
    def close(self, which: int) -> None:
        self.open.pop(which)[0].close()

    @rule()
    def reopen(self) -> None:
        self.close_all()
        self.connect()

    @rule()
    def rename(self) -> None:
        self.close_all()
        self.path = self.path.rename(self.new_copy())
        self.connect()

    @rule(time=st.floats(0, 1e10))
    def set_clock(self, time: float) -> None:
        self.now = time

    @rule(which=st.integers(0, 1))
    def verify(self, which: int) -> None:
        dataset = self.open[which % len(self.open)][0]
        verified = dataset.verify()
        assert (verified.records, verified.answers) == self.model.state[:2]
        told = {(a.query, a.round): said_by(a) for a in dataset.transcript}
        assert told.keys() == self.model.told.keys()
        assert len(dataset.transcript) == len(told)
        for question, said in self.model.told.items():
            assert said in (None, told[question])

    @rule(
        cut=st.floats(0, 1),
        garbage=st.binary(max_size=50),
        witness=st.sampled_from(("kept", "old")),
    )
    def tear_the_log_of_a_copy(self, cut: float, garbage: bytes, witness: str) -> None:
        """As after a power cut on a disk that lies: some prefix of history, or LedgerCorrupt."""
        copy = self.new_copy()
        shutil.copytree(self.path, copy)
        log = copy / "ledger.sqlite-wal"
        if log.exists():
            content = log.read_bytes()
            log.write_bytes(content[: int(cut * len(content))] + garbage)
        if witness == "old":
            with sqlite3.connect(self.path / "ledger.sqlite") as connection:
                query = "SELECT hash FROM entries WHERE seq = 1"
                [(digest,)] = connection.execute(query).fetchall()
            connection.close()
            (copy / "witness").write_text(f"1 {digest.hex()}".ljust(127) + "\n")
        try:
            dataset = Dataset(copy, FastSeededNoise(0))
        except sh.LedgerCorrupt:
            return
        with dataset:
            state = dataset._ledger.state
            found = (state.records, state.answers, state.spent)
            assert found in self.history[0 if witness == "old" else self.witnessed :]
            dataset.verify()
        shutil.rmtree(copy)

    # --------------------------------------------------------------------------- what holds

    @invariant()
    def everything_is_as_in_the_model(self) -> None:
        for dataset, session in self.open:
            assert dataset.n == self.model.n
            state, policy = dataset._ledger.state, dataset._ledger.policy
            assert (state.records, state.answers, state.spent) == self.model.state
            assert state.spent <= policy.budget
            left = dataset._ledger.filter.remaining(policy.first_round)
            if policy.schedule is None:
                assert left == policy.budget - state.spent
            for round in policy.rounds or (N0, 2000):
                fitting = dataset._ledger.answers_left(round)
                assert not fitting or self.model.fits(round, fitting, fitting, for_all=True)
                assert not self.model.fits(round, fitting + 1, fitting + 1, for_all=True)
            reserved = {name: (*kept,) for name, kept in dataset._ledger.reserved.items()}
            assert reserved == ({"absent": self.model.reserved} if any(self.model.reserved) else {})
            assert {name.name for name in dataset.dashboard.questions} == {*self.named}
            assert len(dataset.tables) == self.is_kept
            assert session.budget.remaining >= 0.0
        assert self.history[-1] == self.model.state
        before, now = self.history[-2:][0], self.history[-1]
        assert all(a <= b for a, b in zip(before, now, strict=True))  # nothing ever falls


def said_by(result: Any) -> dict[str, Any]:
    """What stays the same of a result; it is shown under the name that its question has by now."""
    return {**result.to_dict(), "recorded": None, "title": None}


def assert_exact(result: Any, exact: Any) -> None:
    """Without noise an answer is the snapshot's own number, but for a grid of 2^-32."""
    match result:
        case sh.Choice():
            assert result.index == exact
        case sh.Table():
            for cell, value in zip(result.cells, exact, strict=True):
                assert cell.value is None or cell.value == pytest.approx(value, abs=1e-6)
                assert cell.interval is None or cell.interval[0] <= value <= cell.interval[1]
        case _:
            if result.value is not None:
                assert result.value == pytest.approx(exact, abs=1e-6)
                assert result.interval[0] <= exact <= result.interval[1]


def run(examples: int, steps: int, **more: Any) -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            **more,
        ),
    )


@pytest.fixture(autouse=True)
def faults(monkeypatch):
    FAULTY.install(monkeypatch)


@pytest.fixture
def quick_models(monkeypatch):
    in_process(monkeypatch)


@pytest.mark.usefixtures("quick_models")
def test_whatever_is_done_in_whatever_order() -> None:
    run(60, 30)


def test_with_models_in_their_own_processes(monkeypatch) -> None:
    only(monkeypatch, "model", "improvement", "confusion", "fraction")
    run(4, 20)


def only(patch: pytest.MonkeyPatch, *names: str) -> None:
    for name in sorted(CASES.keys() - set(names)):
        patch.delitem(CASES, name)


def test_ages_are_spread() -> None:
    assert sorted({age_of(i) for i in range(100)}) == list(range(100))
