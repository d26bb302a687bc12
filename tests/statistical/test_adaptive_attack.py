"""A real adaptive attack on the clipped Gaussian mechanism, against the width of `sharp`.

It is the attack by which Dwork et al. (2015) make a reused holdout fail. Records have fair signs
x_1, x_2, ... and a fair label y. First the analyst asks for many correlations, q_j = (1 + x_j y)/2:
each answer is 1/2, plus the sample's accident, plus noise. Then they weight every sign with what
its answer said, answer - 1/2, and ask how often the weighted vote is right. In the population it is
no better than a coin, exactly 1/2 by symmetry, but in the sample the accidents add up. The vote is
asked many times over: noise is fresh each time, and the guarantee is for *all* answers together.

Shown on static and on growing data, with exact binomial (Clopper-Pearson) bounds:

* no answer ever misses by more than the width, as sharp-bound.md, theorem (a), promises;
* the votes miss by more than a third of it nearly every time, and they do so because they were
  built from answers: as many queries that were fixed beforehand mostly do not;
* what the vote gains on the sample, before any noise, is over 0.3 times the stability terms;
* the sample's own means, without noise, miss by more than the very same width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from support.attacks import at_least, at_most
from surehold.theory.certificates import Width, get
from surehold.theory.exposure import Schedule

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

BETA = 0.2
VOTES = 64
REPEATS = 50
RAW_REPEATS = 10
HALF = 0.5  # the population value of every query here
BITS = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.int64)  # a row for each byte


@dataclass(frozen=True)
class Design:
    """How many correlations are asked at which rounds; the votes follow at the last one."""

    rounds: tuple[int, ...]
    correlations: tuple[int, ...]

    def width(self) -> Width:
        *early, last = self.correlations
        schedule = Schedule(rounds=self.rounds, counts=[*early, last + VOTES])
        return get("sharp").width(schedule, BETA)


# So large because the raw means are to fail at the same width: that takes more queries than records
# when the width is about 0.3.
DESIGNS = {
    "static": Design((10_000,), (12_000 - VOTES,)),
    "growing": Design((7_500, 10_000), (2_000, 10_000 - VOTES)),
}
each_design = pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS.keys())


# ------------------------------------------------------------------------------------- attack


@dataclass(frozen=True)
class Errors:
    """Of one analysis: |answer - population value|, and the vote's own error on the sample."""

    correlations: Floats
    votes: Floats
    vote_on_sample: float

    @property
    def worst(self) -> float:
        return float(max(self.correlations.max(), self.votes.max()))

    @property
    def worst_vote(self) -> float:
        return float(self.votes.max())

    @property
    def worst_fixed_beforehand(self) -> float:
        """As many answers as there are votes, at the same round, to queries that use no answer."""
        return float(self.correlations[-VOTES:].max())


def signs(rng: np.random.Generator, records: int, columns: int) -> Bytes:
    """x_j y of every record, eight signs to a byte: a fair sign times a fair sign is a fair sign.

    What is added up over signs is then looked up, eight at a time.
    """
    rows = -(-columns // 8)
    return np.frombuffer(rng.bytes(rows * records), dtype=np.uint8).reshape(rows, records)


def answer(means: Floats, sigma: float, rng: np.random.Generator) -> Floats:
    """The clipped Gaussian mechanism; with sigma = 0, one that is for this test only."""
    return np.clip(means + sigma * rng.standard_normal(means.shape), 0.0, 1.0)


def attack(design: Design, sigma: float, rng: np.random.Generator) -> Errors:
    """One analysis of one fresh sample, by an analyst who sees answers only."""
    n = design.rounds[-1]
    score = np.zeros(n)
    correlations = []
    for t, count in zip(design.rounds, design.correlations, strict=True):
        # One record moves the mean by 1/t, against the variance of the answer: the best weight is
        # their quotient. It differs between rounds only.
        trust = 1.0 / (t * (sigma**2 + 0.25 / t))
        for start, drawn in zip(range(0, count, 8), signs(rng, n, count), strict=True):
            # The last byte may hold more signs than are asked about.
            bits = BITS[:, : count - start]
            positive = np.bincount(drawn[:t], minlength=256) @ bits
            answers = answer(positive / t, sigma, rng)
            weights = trust * (answers - HALF)
            score += np.take((2 * bits - 1) @ weights, drawn)
            correlations.append(answers)
    # A tie counts half: then turning all signs round turns the vote round, and its mean is 1/2.
    vote_on_sample = float(np.mean((1.0 + np.sign(score)) / 2.0, dtype=np.float64))
    votes = answer(np.full(VOTES, vote_on_sample), sigma, rng)
    return Errors(
        correlations=np.abs(np.concatenate(correlations) - HALF),
        votes=np.abs(votes - HALF),
        vote_on_sample=vote_on_sample - HALF,
    )


def attacks(design: Design, sigma: float, repeats: int, seed: int) -> list[Errors]:
    return [attack(design, sigma, rng) for rng in np.random.default_rng(seed).spawn(repeats)]


# -------------------------------------------------------------------------------------- tests


@each_design
def test_gaussian_answers_hold_under_attack(design: Design) -> None:
    width = design.width()
    runs = attacks(design, width.constants["sigma"], REPEATS, seed=2015)

    misses = sum(run.worst > width.value for run in runs)
    assert misses == 0
    assert at_most(misses, REPEATS) <= BETA

    third = width.value / 3.0
    by_votes = sum(run.worst_vote > third for run in runs)
    assert at_least(by_votes, REPEATS) >= 0.9

    # Not by noise alone: as many answers to queries fixed beforehand mostly stay within a third.
    beforehand = sum(run.worst_fixed_beforehand > third for run in runs)
    assert at_most(beforehand, REPEATS) <= 0.5

    # The stability terms are not idle either: the vote's error before any noise is of their size.
    stability = width.value - width.terms["noise"]
    assert np.mean([run.vote_on_sample for run in runs]) >= 0.3 * stability


@each_design
def test_raw_means_fail_under_the_same_attack(design: Design) -> None:
    """The check above has teeth: at the same sizes and width it refutes a noiseless mechanism."""
    width = design.width().value
    runs = attacks(design, 0.0, RAW_REPEATS, seed=2015)
    misses = sum(run.worst > width for run in runs)
    assert at_least(misses, RAW_REPEATS) > BETA
    # And only because queries were built from answers.
    assert all(run.correlations.max() < width / 3.0 for run in runs)
