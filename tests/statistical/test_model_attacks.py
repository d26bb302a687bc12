"""Coverage under attack by those who boost, who select again and again, and who fit.

As in test_class_attacks.py, with the same numbers of analyses and the same limits. Models run in
this process, which is quicker, after it has been seen that this makes no difference.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import surehold as sh
from support.attacks import BITS, Analysis, Attack, Tally, World, check_fails, check_holds
from support.noise_sources import FastSeededNoise, NoNoise
from surehold.data.process.runner import Result
from surehold.models.payload import ModelPayload
from surehold.queries import Schema

Floats = npt.NDArray[np.float64]
Model = Callable[[Floats], Floats]
HALF = 0.5


class InProcess:
    """As :class:`surehold.data.process.runner.ModelRunner`, for callables that do nothing wrong."""

    def __init__(self, payload: ModelPayload, features: Schema, *_: object) -> None:
        self._model = pickle.loads(payload.content)
        self._names = features.names

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""

    def probe(self) -> None:
        """Nothing to find out."""

    def check_time(self, records: int) -> None:
        """It has as much as it takes."""

    def expected_seconds(self, records: int) -> float:
        return 0.0

    def evaluate(self, blocks: Iterable[pl.DataFrame]) -> Iterator[Result]:
        for block in blocks:
            matrix = block.select(self._names).cast(pl.Float64).to_numpy()
            yield Result(self._model(matrix)[:, None], np.ones(block.height, dtype=bool))


@pytest.fixture
def quick_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surehold.data.scores.ModelRunner", InProcess)


# --------------------------------------------------------------------------------- models


def classifier(weights: Floats) -> Model:
    """Which side of a plane through the middle a record is on."""
    return lambda numbers: ((numbers - 0.5) @ weights > 0).astype(np.float64)


def majority(weights: Floats, votes: Floats) -> Model:
    """What most classifiers say, by the weight of their votes."""
    return lambda numbers: (np.sign((numbers - 0.5) @ weights) @ votes > 0).astype(np.float64)


def lookup(cells: list[int], count: int) -> Model:
    """Whether a record, given by part and bit, is in one of the cells."""
    known = np.zeros(count)
    known[cells] = 1.0

    def model(places: Floats) -> Floats:
        cell = places[:, 0] * BITS + np.log2(np.maximum(places[:, 1], 1.0))
        return known[np.clip(cell, 0, count - 1).astype(np.int64)]

    return model


def by_accuracies(run: Analysis) -> None:
    """Boosts: asks how accurate random classifiers are, then about their majority.

    (Blum and Hardt, 2015.) And remembers which cells have a positive record, to look them up. No
    classifier that does not see the label is right more often than a coin.
    """
    world, tally = run.world, run.tally
    names = world.listed("v", world.numbers)

    def accuracy(model: Model, features: list[str] = names) -> Any:
        return sh.accuracy(model, features=features, target="y")

    drawn, votes = run.generator.standard_normal((world.numbers, 16)), []
    for n, weights in ((400, drawn[:, :8]), (450, drawn[:, 8:])):
        run.grow(n)
        for answer in run.ask(*(accuracy(classifier(column)) for column in weights.T)):
            tally.number(answer, HALF)
            votes.append(answer.value - HALF)
    run.grow(500)
    boosted = majority(drawn, np.array(votes))
    [answer] = run.ask(accuracy(boosted))
    tally.number(answer, HALF)
    cells, places = run.recalled("case when y then 1 else 0 end"), ["part", "bit"]
    known, share = lookup(cells, world.cells), world.share(cells)
    of = {"features": places, "target": "y"}
    [answer, better, wrong, confusion, brier, area] = run.ask(
        accuracy(known, places),
        sh.improvement(accuracy(known, places), accuracy(boosted)),
        sh.loss(known, kind="zero_one", **of),
        sh.confusion(known, **of),
        sh.brier(known, **of),
        sh.auc(known, **of),
    )
    tally.number(answer, HALF)
    tally.number(better, 0.0)
    tally.number(wrong, HALF)
    predicted = [(1 - share) / 2, share / 2, 0.0]
    tally.table(confusion, [*predicted, *predicted, 0.0, 0.0, 0.0])
    tally.table(brier, [share / 2, (1 - share) / 2, 0.0, HALF])
    tally.number(area, HALF)


# ----------------------------------------------------------------------------- selections

CANDIDATES = 64
SIZE = 12  # cells of which a selection takes half


def by_climbing(run: Analysis) -> None:
    """Selects the best of many random halves of a few cells, over and over; asks about all of them.

    The last choice is a part of the next candidates. In the population all are equally good, and no
    excess is wrong; what has to hold are the answers about what was selected.
    """
    world, tally = run.world, run.tally
    chosen: list[int] = []
    for start in range(0, world.cells, SIZE):
        if start == world.cells // 2:
            run.grow(995)
        block = np.tile(np.arange(start, start + SIZE), (CANDIDATES, 1))
        halves = np.unique(np.sort(run.generator.permuted(block, axis=1)[:, : SIZE // 2]), axis=0)
        sets = [[*chosen[-SIZE // 2 :], *half] for half in halves.tolist()]
        choice = run.session.ask(
            sh.select(
                [f"cell in ({', '.join(map(str, cells))})" for cells in sets],
                best="highest",
                price=1,
            )
        )
        tally.choice(choice, [world.share(cells) for cells in sets])
        chosen += halves[choice.index].tolist()
    run.grow(1000)
    for way in range(4):
        [answer] = run.ask(sh.fraction(f"{world.among(chosen)} > 0.{way}1"))
        tally.number(answer, HALF)


def by_choosing(run: Analysis) -> None:
    """Selects among candidates of known loss and one that remembers the sample, and asks on.

    The loss of ``u < c`` is c. To be in no cell that is remembered never happens in the sample, so
    that an exact choice is this candidate, the worst of all, and there is no excess above it.
    """
    world, tally = run.world, run.tally
    fixed = [0.05, 0.1, 0.3, 0.5, 0.9]
    for n in (400, 450):
        run.grow(n)
        choice = run.session.ask(sh.select([f"u < {c}" for c in fixed], price=20))
        tally.choice(choice, fixed)
        [answer] = run.ask(sh.fraction(f"u < {fixed[choice.index]}"))
        tally.number(answer, fixed[choice.index])
    run.grow(500)
    cells = run.recalled()
    share = world.share(cells)
    for way in range(2):
        outside = f"{world.among(cells)} < 0.{way}1"
        queries = [*(f"u < {c}" for c in fixed), outside]
        losses = [*fixed, 1.0 - share]
        choice = run.session.ask(sh.select(queries, price=20))
        tally.choice(choice, losses)
        [answer] = run.ask(sh.mean(f"case when {queries[choice.index]} then 1 else 0 end", 0, 1))
        tally.number(answer, losses[choice.index])
        scores = [f"not ({query})" for query in queries]
        choice = run.session.ask(sh.select(scores, best="highest", price=20))
        tally.choice(choice, losses)


# -------------------------------------------------------------------------------- fitting


def by_fitting(run: Analysis) -> None:
    """Fits the label by signs that have nothing to do with it, and asks how well that does."""
    world, tally = run.world, run.tally
    signs = dict.fromkeys(world.listed("x", world.signs), (-1, 1))
    asked: list[sh.Query] = []
    for n in (120, 150):
        run.grow(n)
        fitted = run.session.ask(
            sh.fit("logistic", target="y", features=signs, price=1, steps=800, penalty=0.0)
        )
        asked.append(sh.fraction(f"({fitted.predictor} > 0) = y"))
    for answer in run.ask(*asked):
        tally.number(answer, HALF)


# ------------------------------------------------------------------------------------ tests

ATTACKS = {
    "accuracies": Attack(World(160, numbers=8), 400, 500, 37, by_accuracies),
    "climbing": Attack(World(60), 990, 1000, 66, by_climbing),
    "choosing": Attack(World(160), 400, 500, 142, by_choosing),
    "fitting": Attack(World(1, signs=60), 120, 150, 5, by_fitting),
}
each_attack = pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)


@pytest.mark.usefixtures("quick_models")
@each_attack
def test_answers_hold_under_attack(attack: Attack, tmp_path: Path) -> None:
    tallies = attack.with_noise(tmp_path)
    check_holds(tallies)
    assert not any(tally.missed for tally in tallies)


@pytest.mark.usefixtures("quick_models")
@each_attack
def test_exact_answers_fail_under_the_same_attack(attack: Attack, tmp_path: Path) -> None:
    check_fails(attack.without_noise(tmp_path))


@pytest.mark.parametrize("is_exact", [False, True])
def test_models_in_processes_of_their_own_say_the_same(
    is_exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tally(name: str) -> Tally:
        noise = NoNoise() if is_exact else FastSeededNoise(0)
        return ATTACKS["accuracies"].tally(tmp_path / name, noise, seed=0)

    apart = tally("apart")
    monkeypatch.setattr("surehold.data.scores.ModelRunner", InProcess)
    assert tally("here") == apart
    assert bool(apart.missed) == is_exact
