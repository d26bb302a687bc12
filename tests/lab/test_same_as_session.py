"""The lab's Surehold is Surehold: the same questions to a session on disk, answer by answer."""

from functools import cache

import numpy as np
import polars as pl
import pytest

import surehold as sh
from support.lab_worlds import unpacked
from support.noise_sources import FastSeededNoise
from support.runtime import adaptive_plan, batch_plan, rare_plan
from surehold.errors import BudgetExhausted, NotReady
from surehold.lab import (
    Ablations,
    Agreements,
    Attacker,
    Coins,
    Guarded,
    Joints,
    Lookups,
    Memberships,
    Questions,
    Records,
    Setting,
    View,
    Votes,
)
from surehold.lab.analysis import Analysis
from surehold.lab.defenders.guarded import PlanGuard
from surehold.lab.records import CELL_BITS, CELLS
from surehold.lab.seeded_noise import SeededNoise
from surehold.session.dataset import Dataset

FEATURES = 24


@cache
def plans():
    """Sharp for whoever decides as they go, in batches and for rare events; and the paper's."""
    setting = Setting(n0=3_000, n=9_000, queries=100, alpha=0.25, beta=0.1)
    return {
        "sharp": adaptive_plan(),
        "sharp in batches": batch_plan(),
        "sharp, rare": rare_plan(),
        "sharp at once": sh.plan(n0=900, n=900, queries=30, beta=0.1, batches=1),
        "adaptive": Guarded("adaptive").plan(setting),
        "ours-n": Guarded("ours-n").plan(setting),
        "ours-u": Guarded("ours-u").plan(setting),
        "ours-n in batches": sh.plan(
            n0=2_000, n=6_000, alpha=0.3, beta=0.1, batches=3, certificate="ours-n"
        ),
    }


# --------------------------------------------------------------------- in the query language


def sign(feature: int) -> str:
    return f"case when x{feature} then 1 else -1 end"


def score(weights) -> str:
    terms = [f"{int(w)} * ({sign(j)})" for j, w in enumerate(weights) if w]
    return " + ".join(terms) or "0"


def texts(questions: Questions) -> list[str]:
    """The same questions, as an analyst writes them."""
    match questions:
        case Agreements(features):
            return [f"x{j} = y" for j in features]
        case Memberships(features):
            return [f"x{j}" for j in features]
        case Votes(weights, beyond) if beyond is not None:
            return [f"{score(row)} > {beyond}" for row in weights]
        case Votes(weights):
            return [f"({score(row)} > 0) = y" for row in weights]
        case Ablations(weights, rows):
            left = np.repeat(weights[None], len(rows), axis=0)
            for place, row in enumerate(rows):
                left[place, 8 * row : 8 * row + 8] = 0
            return texts(Votes(left))
        case Joints(weights, features):
            [vote] = texts(Votes(weights))
            return [f"({vote}) and x{j} = y" for j in features]
        case Lookups(predictions):
            cell = " + ".join(f"case when x{j} then {2**j} else 0 end" for j in range(CELL_BITS))
            listed = [", ".join(map(str, np.flatnonzero(row))) for row in predictions]
            return [f"({cell} in ({cells})) = y" for cells in listed]
    raise NotImplementedError(type(questions).__name__)


class Sessions:
    """A dataset with the same records as the lab has, asked the same."""

    def __init__(self, path, plan, records: Records, noise) -> None:
        names = [*(f"x{j}" for j in range(FEATURES)), "y"]
        sh.create(path, plan=plan, columns=dict.fromkeys(names, "bool")).close()
        signs, label = unpacked(records)
        self._frame = pl.DataFrame(
            np.column_stack([signs[:, :FEATURES], label]), schema=names, orient="row"
        )
        self.dataset = Dataset(path, noise=noise)
        self.session = self.dataset.session()

    def grow(self, n: int) -> None:
        have = self.dataset.n
        if n > have:
            self.dataset.append(self._frame[have:n], again=True)

    @property
    def policy(self):
        return self.dataset._ledger.policy

    def hold(self, at: int) -> bool:
        """As the lab asks for rounds; False if nothing can be asked there."""
        try:
            self.session.hold(None if at == self.dataset.n else self.policy.nearest_round(at))
            self.policy.round_for(self.dataset.n, self.session.held)
        except NotReady:
            return False
        return True

    def answer(self, text: str):
        """Value, low, high, as of one question; NaN if it was refused."""
        try:
            answer = self.session.ask(text)
        except (BudgetExhausted, NotReady):
            return (np.nan,) * 3
        assert not answer.recorded
        return (answer.value, *answer.interval)

    def answers_left(self, at: int) -> int:
        return self.session.quote("y").answers_left if self.hold(at) else 0

    @property
    def spent(self) -> float:
        return self.dataset._ledger.refresh().spent / self.policy.budget


def asked_once(random: np.random.Generator, count: int) -> Questions:
    """Some questions of one class, that are not likely to have been asked before."""
    kind = random.integers(6)
    if kind == 0:
        return Votes(
            random.integers(-9, 10, size=(count, FEATURES)), beyond=int(random.integers(9))
        )
    if kind == 1:
        predictions = np.zeros((count, CELLS), dtype=bool)
        for row in predictions:
            row[random.integers(CELLS, size=40)] = True
        return Lookups(predictions)
    if kind == 2:
        weights = random.integers(-9, 10, size=FEATURES).astype(np.int32)
        return Ablations(weights, random.permutation(FEATURES // 8)[:count])
    if kind == 3:
        weights = random.integers(-9, 10, size=FEATURES).astype(np.int32)
        weights[-count:] = 0
        return Joints(weights, np.arange(FEATURES - count, FEATURES))
    return Votes(random.integers(-9, 10, size=(count, FEATURES)))


def compared(plan, path, noise, steps: int, seed: int) -> tuple[int, int]:
    """A random analysis, put to both; how many were answered and how many refused."""
    random = np.random.default_rng(seed)
    edges = tuple(random.uniform(-0.5, 0.5, FEATURES).tolist())
    records = Coins(FEATURES, edges).draw(plan.n + 50, random)
    guard, view = PlanGuard(plan, noise(seed)), View(records, plan.n0 - 30)
    session = Sessions(path, plan, records, noise(seed))
    session.grow(view.n)
    singles = [Agreements(np.arange(FEATURES)), Memberships(np.arange(FEATURES))]
    answered = refused = 0
    for step in range(steps):
        at = view.n if random.random() < 0.6 else int(random.integers(plan.n0 - 30, view.n + 1))
        if step < 2:  # nothing can be asked before n0
            questions, at = asked_once(random, 2), view.n
        elif step > steps - 3:  # nor, but at a round that is held, beyond n
            view.wait(len(records))
            session.grow(view.n)
            questions, at = asked_once(random, 2), (view.n, plan.n)[step - steps]
        elif singles and random.random() < 0.15:
            questions = singles.pop()
        else:
            questions = asked_once(random, int(random.integers(1, 8)))
        session.hold(at)
        assert guard.answers_left(view, at) == session.answers_left(at)
        replies = guard.answer(questions, view, at)
        for place, text in enumerate(texts(questions)):
            mine = (replies.values[place], replies.lows[place], replies.highs[place])
            assert np.array_equal(mine, session.answer(text), equal_nan=True)
            refused += bool(np.isnan(mine[0]))
            answered += not np.isnan(mine[0])
        assert guard.spent == session.spent
        if step > 0 and random.random() < 0.4:
            view.wait(view.n + int(random.integers(1, (plan.n - plan.n0) // 6 + 40)))
            session.grow(view.n)
    assert session.dataset.verify().answers == answered
    session.dataset.close()
    return answered, refused


@pytest.mark.parametrize("name", plans())
def test_answers_intervals_refusals_and_budgets_are_those_of_a_session(name, tmp_path):
    answered, refused = compared(plans()[name], tmp_path / "clinic", SeededNoise, 30, seed=1)
    assert answered >= 8
    assert refused > 0


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("name", ["sharp", "sharp in batches", "ours-n", "adaptive"])
def test_so_they_are_in_any_other_analysis(name, seed, tmp_path):
    compared(plans()[name], tmp_path / "clinic", FastSeededNoise, 20, seed)


def test_another_noise_would_be_noticed(tmp_path):
    seeds = iter([1, 2])
    with pytest.raises(AssertionError):
        compared(
            adaptive_plan(), tmp_path / "clinic", lambda seed: SeededNoise(next(seeds)), 30, seed=1
        )


def test_only_a_question_that_is_asked_again_is_dearer_in_the_lab(tmp_path):
    """A session gives the recorded answer, free. The lab takes it for one in other words."""
    plan = sh.plan(n0=1_000, n=1_000, alpha=0.3, beta=0.1)
    records = Coins(FEATURES).draw(1_000, np.random.default_rng(1))
    guard = PlanGuard(plan, SeededNoise(1))
    first, again = guard.answer(Agreements(np.array([0, 0])), View(records, 1_000), 1_000).values
    assert first != again
    session = Sessions(tmp_path / "clinic", plan, records, SeededNoise(1))
    session.grow(1_000)
    assert [session.session.ask("x0 = y").value for _ in range(2)] == [first, first]
    assert guard.spent == 2 * session.spent
    session.dataset.close()


# ------------------------------------------------------------------------------ a whole attack


class Recorded(Attacker):
    """The attack by signs; every feature and every weight is one that the session can be asked."""

    def population(self, setting, random):
        return Coins(FEATURES)

    def attack(self, analysis):
        leaning = analysis.ask(Agreements(np.arange(FEATURES))).values - 0.5
        analysis.wait(analysis.setting.n)
        weights = np.sign(np.nan_to_num(leaning)).astype(np.int32)
        analysis.ask(Votes(weights))


def test_an_attack_at_the_desk_gets_what_it_would_get_in_a_session(tmp_path):
    plan = sh.plan(n0=1_000, n=2_000, alpha=0.3, beta=0.1)
    setting = Setting(n0=1_000, n=2_000, queries=FEATURES + 1, alpha=0.3, beta=0.1)
    random = np.random.default_rng(3)
    records = Coins(FEATURES).draw(setting.n, random)
    analysis = Analysis(setting, Coins(FEATURES), records, PlanGuard(plan, SeededNoise(5)), random)
    Recorded().attack(analysis)

    both = Sessions(tmp_path / "clinic", plan, records, SeededNoise(5))
    both.grow(setting.n0)
    answers = both.session.ask_many(texts(Agreements(np.arange(FEATURES))))
    both.grow(setting.n)
    weights = np.sign([answer.value - 0.5 for answer in answers])
    last = both.session.ask(texts(Votes(weights.astype(np.int32)))[0])
    assert analysis.tally.last == (last.value, *last.interval, 0.5)
    assert analysis.spent == both.spent
    both.dataset.close()
