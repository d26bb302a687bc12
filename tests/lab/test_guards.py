"""What every guard keeps to: it answers from what has arrived, as much as it says, and no more."""

import copy
from functools import cache

import numpy as np
import pytest

import surehold as sh
from support.lab_worlds import same
from surehold.errors import NotApplicable
from surehold.lab import (
    DEFENDERS,
    Agreements,
    Coins,
    Memberships,
    Records,
    Replies,
    Setting,
    View,
    Votes,
    check,
)
from surehold.lab.defenders.guarded import PlanGuard
from surehold.lab.seeded_noise import SeededNoise

GROWING = Setting(n0=1_200, n=3_000, queries=150, alpha=0.3, beta=0.1)
STATIC = Setting(n0=1_500, n=1_500, queries=150, alpha=0.3, beta=0.1)

defenders = pytest.mark.parametrize("defender", DEFENDERS, ids=lambda one: one.name)

# ----------------------------------------------------------------------------------- the guards


def some_questions(random):
    return [
        Agreements(random.integers(100, size=4)),
        Memberships(random.integers(100, size=3)),
        Votes(random.integers(-2, 3, size=(2, 100))),
    ]


@defenders
def test_guards_answer_from_what_has_arrived(defender):
    """The same answers, whatever the records will be that come later."""
    population = Coins(100)
    arrived = population.draw(GROWING.n, np.random.default_rng(1))
    others = population.draw(GROWING.n, np.random.default_rng(2))
    guards = [defender.guard(GROWING, np.random.default_rng(3)) for _ in range(2)]
    told = 0
    for n in (GROWING.n0, 2_000, GROWING.n):
        for questions in some_questions(np.random.default_rng(n)):
            # Splitting lets records arrive; so these are all that it can have used.
            views = [View(arrived, n), View(arrived, n)]
            copies = [copy.deepcopy(guard) for guard in guards]
            copies[0].answer(questions, views[0], n)
            reached = views[0].n
            mixed = arrived.take(np.arange(reached)), others.take(np.arange(reached, GROWING.n))
            views = [View(arrived, n), View(joined(*mixed), n)]
            replies = [
                guard.answer(questions, view, n) for guard, view in zip(guards, views, strict=True)
            ]
            assert same(*replies)
            told += np.count_nonzero(~np.isnan(replies[0].values))
    assert told > 0


def joined(first, second):
    return Records(
        np.concatenate([first._features, second._features], axis=1),
        np.concatenate([first.label, second.label]),
    )


@defenders
def test_guards_answer_an_earlier_round_from_its_records_only(defender):
    if defender.name == "splitting":
        return  # it always takes fresh ones
    population = Coins(100)
    arrived = population.draw(GROWING.n, np.random.default_rng(1))
    others = population.draw(GROWING.n, np.random.default_rng(2))
    held = 1_400  # not a round of the fixed schedules, which then take one before it
    mixed = joined(arrived.take(np.arange(held)), others.take(np.arange(held, GROWING.n)))
    for questions in some_questions(np.random.default_rng(3)):
        replies = [
            defender.guard(GROWING, np.random.default_rng(4)).answer(
                questions, View(records, GROWING.n), held
            )
            for records in (arrived, mixed)
        ]
        assert same(*replies)


def test_records_that_have_not_arrived_can_not_be_counted():
    view = View(Coins(8).draw(300, np.random.default_rng(1)), 200)
    assert len(view.counts(Agreements(np.arange(3)), slice(0, 200))) == 3
    with pytest.raises(ValueError, match="have not arrived"):
        view.counts(Agreements(np.arange(3)), slice(0, 201))


@defenders
@pytest.mark.parametrize("setting", [GROWING, STATIC], ids=["growing", "static"])
def test_room_is_what_is_answered_and_then_nothing_is(defender, setting):
    records = Coins(100).draw(setting.n, np.random.default_rng(1))
    view, guard = View(records, setting.n0), defender.guard(setting, np.random.default_rng(2))
    room = guard.answers_left(view, setting.n0)
    if room == 2**62:
        replies = guard.answer(Agreements(np.zeros(5_000, dtype=np.intp)), view, setting.n0)
        assert not np.isnan(replies.values).any()
        return
    assert 0 < room < 5_000
    assert guard.spent == 0.0
    for _ in range(room - 1):
        replies = guard.answer(Agreements(np.arange(1)), view, setting.n0)
        assert not np.isnan(replies.values).any()
    assert guard.answers_left(view, setting.n0) == 1
    replies = guard.answer(Agreements(np.arange(2)), view, setting.n0)
    assert np.isnan(replies.values).tolist() == [False, True]
    assert guard.answers_left(view, setting.n0) == 0
    spent = guard.spent
    assert spent > 0.0
    replies = guard.answer(Agreements(np.arange(3)), view, setting.n0)
    assert np.isnan(replies.values).all()
    assert guard.spent == spent


@defenders
def test_room_that_is_kept_does_not_shrink_as_records_arrive(defender):
    records = Coins(100).draw(GROWING.n, np.random.default_rng(1))
    view, guard = View(records, GROWING.n0), defender.guard(GROWING, np.random.default_rng(2))
    for n in (1_200, 1_900, 2_000, 3_000):
        view.wait(n)
        before = guard.answers_left(view, view.n)
        view.wait(n + 1)
        if guard.carries_over:
            assert guard.answers_left(view, view.n) >= before
        guard.answer(Agreements(np.arange(1)), view, view.n)


@defenders
@pytest.mark.parametrize("sizes", [[1] * 12, [12], [5, 0, 7]], ids=["one by one", "all", "some"])
def test_a_batch_is_answered_as_its_questions_one_by_one(defender, sizes):
    """Of those whose noise comes one number at a time; the others draw theirs for a batch."""
    if defender.name in ("noise", "thresholdout"):
        return
    records = Coins(100).draw(GROWING.n, np.random.default_rng(1))
    guard, whole = (defender.guard(GROWING, np.random.default_rng(2)) for _ in range(2))
    questions = Agreements(np.arange(12))
    expected = whole.answer(questions, View(records, GROWING.n), GROWING.n)
    view, found, start = View(records, GROWING.n), Replies.refusals(0), 0
    for size in sizes:
        part = questions[start : start + size]
        found = found.then(guard.answer(part, view, GROWING.n))
        start += size
    assert same(found, expected)
    assert guard.spent == whole.spent


# ------------------------------------------------------------------------------ plans of one's own


@cache
def own_plans():
    return {
        "sharp": sh.plan(n0=1_000, n=2_000, alpha=0.3, beta=0.1),
        "sharp in batches": sh.plan(n0=1_000, n=2_000, alpha=0.3, beta=0.1, batches=4),
        "sharp at once": sh.plan(n0=1_000, n=1_000, alpha=0.3, beta=0.1, batches=1),
        "sharp, rare": sh.plan(n0=1_000, n=2_000, alpha=0.3, beta=0.1, rare=0.02),
        "ours-n": sh.plan(n0=2_000, n=4_000, alpha=0.3, beta=0.1, batches=4, certificate="ours-n"),
        "adaptive": sh.plan(n0=2_000, n=4_000, alpha=0.3, beta=0.1, certificate="adaptive"),
    }


@pytest.mark.parametrize("name", own_plans())
def test_room_of_any_plan_that_is_kept_does_not_shrink(name):
    plan = own_plans()[name]
    guard = PlanGuard(plan, SeededNoise(1))
    view = View(Coins(8).draw(plan.n, np.random.default_rng(1)), plan.n0)
    rooms = [guard.answers_left(view, view.n)]
    for n in np.linspace(plan.n0, plan.n, 9).astype(int).tolist():
        view.wait(n)
        rooms.append(guard.answers_left(view, view.n))
    if guard.carries_over:
        assert rooms == sorted(rooms)
    assert guard.carries_over == (plan.batches is None)


@pytest.mark.parametrize("name", own_plans())
def test_a_plan_of_ones_own_is_attacked_with_all_that_it_answers(name):
    plan = own_plans()[name]
    report = check(plan, "sign", repeats=2)
    raw, own = report.rows
    assert own.covered == 2
    assert own.spent > 0.8 or own.answered == raw.answered
    assert own.widest <= max(plan.width, 0.5)


def test_a_plan_that_no_dataset_runs_is_not_attacked():
    plan = sh.plan(n0=1_000, n=2_000, alpha=0.3, beta=0.1, batches=2, certificate="split")
    with pytest.raises(NotApplicable, match="split"):
        check(plan, "sign", repeats=1)
