"""Fixed-time release: when anything can be seen is decided by public facts, to the tick."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import surehold as sh
from support.clocks import FakeClock, Gate
from support.noise_sources import FastSeededNoise
from support.runtime import GUARDS, made, records, sql, warm
from support.workload import CASES, OF_BOTH, YOUTH
from surehold.data.calibration import Calibration
from surehold.data.record_store import RecordStore
from surehold.session import evaluation
from surehold.session.dataset import Dataset
from surehold.session.release import MARGIN, REST, SLOT, Release, slot_after

EXPECTED = 0.010  # seconds, for every evaluation: slots of 50 ms
HELD = slot_after(MARGIN * EXPECTED)
BOTH = pytest.mark.parametrize("guard", GUARDS)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def timed(tmp_path, clock, monkeypatch, guard):
    """A dataset on the fake clock, on which every evaluation is expected to take 10 ms."""
    made(tmp_path / "timed", count=2000, guard=guard).close()
    monkeypatch.setattr(Calibration, "seconds", lambda *_: EXPECTED)
    monkeypatch.setattr(Calibration, "fit_seconds", lambda *_: 0.0)
    monkeypatch.setattr(Calibration, "loading", lambda *_: 0.0)
    noise = FastSeededNoise(1)
    with Dataset(tmp_path / "timed", noise, lambda: clock.now, clock.release()) as dataset:
        dataset.register(YOUTH)
        yield dataset


class Work:
    """Evaluations that take as long as the test says, on the fake clock."""

    def __init__(self, clock: FakeClock, patch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        self.error: Exception | None = None
        exact, gradients = RecordStore.exact, RecordStore.gradients

        def slow(work: Any) -> Any:
            def worked(*args: Any) -> Any:
                clock.pass_by(self.seconds)
                if self.error is not None:
                    raise self.error
                return work(*args)

            return worked

        patch.setattr(RecordStore, "exact", slow(exact))
        patch.setattr(RecordStore, "gradients", slow(gradients))


@pytest.fixture
def work(clock, monkeypatch):
    return Work(clock, monkeypatch)


def ticks(seconds: Any) -> Any:
    """Exactly, but for the last digits of doubles."""
    return pytest.approx(seconds, abs=1e-6)


def committed(dataset: Dataset) -> float:
    """When the last entry was made."""
    last = "SELECT json_extract(body, '$.after.time') FROM entries ORDER BY seq DESC LIMIT 1"
    return float(sql(dataset.path, last)[0][0])


# ------------------------------------------------------------------------------------ the grid


def test_slots_double():
    assert [slot_after(SLOT * 2.0**k) for k in range(20)] == [SLOT * 2.0**k for k in range(20)]
    for seconds in np.random.default_rng(1).exponential(10.0, 1000):
        slot = slot_after(float(seconds))
        assert slot >= seconds
        assert slot == SLOT or slot / 2 < seconds


def test_no_slot_is_shorter_than_the_first():
    assert slot_after(0.0) == slot_after(1e-9) == SLOT


def test_the_real_clock_is_waited_for():
    """Other tests do not wait on it: see the conftest.py at the root."""
    release, begun = Release(sleep=lambda seconds: time.sleep(seconds)), time.monotonic()
    with release.held(expected=0.001):
        pass
    assert time.monotonic() - begun >= SLOT


# ------------------------------------------------------------------------------- on every path


@pytest.mark.parametrize(("guard", "name"), OF_BOTH)
@pytest.mark.usefixtures("quick_models")
def test_however_long_an_evaluation_takes_it_is_committed_at_the_same_time(
    name, timed, clock, work
):
    session, when = timed.session(fixed_time=True), []
    for round, seconds in ((1990, 0.0), (1991, 0.001), (1992, 0.030), (1993, HELD - REST - 0.001)):
        begun, work.seconds = clock.now, seconds
        session.at(round).ask(CASES[name].query)
        assert clock.now == ticks(begun + HELD)
        when.append(committed(timed) - begun)
    assert when == ticks([HELD] * 4)
    assert timed.release.late == 0


@BOTH
def test_what_is_late_waits_for_the_next_slot_and_is_counted(timed, clock, work):
    session, heard = timed.session(fixed_time=True), []
    timed.release.on_late = heard.append
    for round, seconds in (
        (1990, HELD - REST + 0.001),
        (1991, 2 * HELD - REST - 0.001),
        (1992, 2 * HELD + 0.01),
    ):
        begun, work.seconds = clock.now, seconds
        session.at(round).ask("age > 50")
        assert clock.now == ticks(begun + slot_after(seconds + REST))
    assert heard == ticks([2 * HELD, 2 * HELD, 4 * HELD])
    assert timed.release.late == 3


@BOTH
def test_an_evaluation_that_fails_waits_too(timed, clock, work):
    session = timed.session(fixed_time=True)
    for round, seconds in ((1990, 0.0), (1991, 0.02)):
        begun, work.seconds, work.error = clock.now, seconds, ArithmeticError()
        with pytest.raises(ArithmeticError):
            session.at(round).ask("age > 50")
        assert clock.now == ticks(begun + HELD)
        work.error = None
        session.at(round).ask("age > 50")  # charged already: asked again, it is completed
        assert clock.now == ticks(begun + 2 * HELD)


def test_an_interruption_does_not_wait(timed, clock, work):
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        timed.session().ask(CASES["fit"].query, progress=interrupt)
    assert not clock.slept


def test_noise_is_drawn_before_the_wait(timed, clock, monkeypatch):
    """What takes longer for some records than for others comes before the slot ends."""
    draw_body = evaluation.draw_body

    def slow(*args: Any) -> Any:
        clock.pass_by(0.02)
        return draw_body(*args)

    monkeypatch.setattr(evaluation, "draw_body", slow)
    begun = clock.now
    timed.session(fixed_time=True).ask(sh.select(["age > 50", "age > 60"], price=20))
    assert clock.now == ticks(begun + HELD)


def test_records_that_are_loaded_first_are_waited_for_too(tmp_path, clock, monkeypatch):
    made(tmp_path / "loaded", count=2000).close()
    monkeypatch.setattr(Calibration, "seconds", lambda *_: EXPECTED)
    catch_up, begun = RecordStore._catch_up, clock.now

    def slow(data: RecordStore, round: int) -> None:
        if data.loaded < round:
            clock.pass_by(0.015)
        catch_up(data, round)

    monkeypatch.setattr(RecordStore, "_catch_up", slow)
    dataset = Dataset(tmp_path / "loaded", FastSeededNoise(1), release=clock.release())
    with dataset:
        loading = slot_after(MARGIN * dataset._calibration.loading(2000))
        dataset.session(fixed_time=True).ask("age > 50")
        assert clock.now == ticks(begun + loading + HELD)
        assert dataset._calibration.loading(2000) == 0.0


# ------------------------------------------------------------------------ what need not wait


def test_what_touches_no_record_does_not_wait(timed, clock, work):
    session = timed.session(fixed_time=True)
    session.ask("age > 50", key="k")
    slept = list(clock.slept)
    session.ask("age > 50")
    session.ask("age > 50", key="k")
    session.quote("age > 60")
    with pytest.raises(sh.InvalidQuery):
        session.ask("nothing > 60")
    warm(timed, "age > 60")
    session.ask("age > 60")
    timed.append(records(0, 50))
    assert clock.slept == slept


@pytest.mark.parametrize("guard", ["surprise"])
def test_an_outcome_of_known_numbers_waits_for_a_slot_of_its_own(timed, clock, work):
    """Finding it takes longer if a number is next to a threshold, which an analyst may choose."""
    session = timed.session(fixed_time=True)
    session.ask("age > 50")
    for limit in (0.4, 0.5, 0.6):
        begun, work.seconds = clock.now, 0.0
        session.ask(sh.gate("age > 50", at_least=limit))
        assert clock.now == ticks(begun + SLOT)
        assert committed(timed) == ticks(begun + SLOT)
    begun = clock.now
    session.ask("age > 50")  # recorded
    assert clock.now == ticks(begun)


def test_by_default_only_models_and_fits_are_held_back(timed, clock, work, quick_models):
    session = timed.session()
    for name in ("fraction", "bins", "rate", "kendall", "select"):
        session.ask(CASES[name].query)
    assert not clock.slept
    for count, name in enumerate(("model", "fit"), start=1):
        session.ask(CASES[name].query)
        assert len(clock.slept) == 2 * count  # until the rest, and the rest


def test_it_can_be_switched_off(timed, clock, quick_models):
    timed.session(fixed_time=False).ask(CASES["model"].query)
    assert not clock.slept


# -------------------------------------------------------------------------- nothing shows before


def test_nothing_changes_between_the_charge_and_the_slot(timed, clock, work):
    """Whoever looks while the answer is held back sees the charge, and no more until the slot."""
    seen: list[Any] = []

    def look() -> None:
        with Dataset(timed.path) as other:
            seen.append(
                (other.status().to_dict(), list(other.transcript), timed.status().to_dict())
            )

    session, before = timed.session(fixed_time=True), timed.last_entry
    clock.while_asleep = look
    for round, work.seconds in ((1990, 0.0), (1991, 0.04)):
        session.at(round).ask("age > 50")
    assert [status["entries"] - before for status, _, _ in seen] == [1, 1, 3, 3]  # each rest too
    assert [len(transcript) for _, transcript, _ in seen] == [0, 0, 1, 1]
    assert all(here == there for here, _, there in seen)


def test_many_are_held_back_at_once(tmp_path, monkeypatch):
    """Nobody waits for the wait of another: all sleep at the same time."""
    monkeypatch.setattr(Calibration, "seconds", lambda *_: EXPECTED)
    gate = Gate()
    made(tmp_path / "crowd", count=2000).close()
    with Dataset(tmp_path / "crowd", FastSeededNoise(1), release=gate.release()) as dataset:
        dataset._data.load(2000)
        session = dataset.session(fixed_time=True)
        asks = [
            threading.Thread(target=session.ask, args=(f"age > {i}",), daemon=True)
            for i in range(8)
        ]
        for one in asks:
            one.start()
        gate.wait_for(asleep=8)
        assert len(dataset.transcript) == 0
        gate.open()
        for one in asks:
            one.join(180.0)
        assert len(dataset.transcript) == 8
