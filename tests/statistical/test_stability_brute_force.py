"""The stability inequality of sharp-bound.md, by brute force on worlds small enough to list.

The heart of the sharp bound is one inequality about an analyst who has seen a transcript pi and
names a query q~ and a round t* from it. For every event B of the transcript, with p = P(B),

    (a)  E[q~(X_{<=t*}) - q~(P); B]  <=  p kappa(eps) + sum_s D_kappa(mu_s) / m_s,
    (b)  E[q~(X_{<=t*}) - q~(P); B]  <=  E[tilt(q~(P)); B] + sum_s delta_{mu_s}(eps) / m_s.

Here both sides are computed without sampling. Up to three records take two or three values, so all
datasets can be listed. Answers are put into bins that cover the real line: that is post-processing,
so the inequality must hold exactly for the binned answers too, and posteriors are finite sums.
The second query depends on the first answer; it comes at the same round or at a later one.

The left side is maximised over everything that the theorem leaves to the analyst:

* q~ and t*, transcript by transcript. In the theorem q* has to be an entry of the transcript. An
  analyst can put every subset of the values there, at every round, by asking for it under noise so
  large that its answer tells nothing and its charge vanishes; a larger charge would only raise the
  right side. So q~ may be any [0, 1]-valued function and t* either round, and only the two answers
  that do tell something are charged.
* B, by a fractional knapsack: both sides are linear in the share of each transcript.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

from surehold.theory.gaussian import profile, tilt_divergence
from surehold.theory.transfer import kappa, tilt

Floats = npt.NDArray[np.float64]

BINS = 32
EPS = np.geomspace(0.02, 40.0, 240)
ROUNDING = 1e-12
# A ratio is counted only for an event that is not absurdly rare, and where the bound is far from
# the trivial one: E[...; B] <= p holds for every mechanism, and comes close to equality for free
# by revealing a rare value.
RARE = 0.01
TRIVIAL = 0.5


@dataclass(frozen=True)
class World:
    """A population, an analyst and a mechanism.

    ``mu`` is what each of the two answers adds to a record it is computed from: 1 / (t sigma_t).
    The second query is ``if_low`` after a first answer below 1/2 and ``if_high`` otherwise.
    """

    population: tuple[float, ...]
    rounds: tuple[int, int]
    mu: tuple[float, float]
    first: tuple[float, ...]
    if_low: tuple[float, ...]
    if_high: tuple[float, ...]

    @property
    def sigmas(self) -> tuple[float, float]:
        (t1, t2), (mu1, mu2) = self.rounds, self.mu
        return 1.0 / (t1 * mu1), 1.0 / (t2 * mu2)


@dataclass(frozen=True)
class Posterior:
    """P(pi), and P(pi, X_s = x) - P(pi) P(x) by record s, value x and transcript pi."""

    probability: Floats
    shift: Floats

    def gain(self, chosen: Floats, t: int) -> Floats:
        """E[q(X_{<=t}) - q(P); pi] for each query in ``chosen``, a row each, and each pi."""
        gained: Floats = chosen @ self.shift[:t].mean(axis=0)
        return gained


def bin_probabilities(means: Floats, sigma: float) -> Floats:
    """P(answer in bin) along a new last axis; the middle edge is 1/2, the outer ones infinite."""
    edges = np.linspace(-3.0 * sigma, 1.0 + 3.0 * sigma, BINS + 1)
    edges[[0, -1]] = -np.inf, np.inf
    z = (edges - means[..., None]) / sigma
    # In the upper half through the upper tail, or far bins would come out as exactly zero.
    return np.where(z[..., :-1] > 0.0, -np.diff(ndtr(-z)), np.diff(ndtr(z)))


@lru_cache(maxsize=64)
def posterior(world: World) -> Posterior:
    """By Bayes' rule, summed over all datasets."""
    population = np.array(world.population)
    (t1, t2), (sigma1, sigma2) = world.rounds, world.sigmas
    datasets = np.array(list(product(range(population.size), repeat=t2)))
    first = bin_probabilities(np.array(world.first)[datasets[:, :t1]].mean(axis=1), sigma1)
    low, high = (
        bin_probabilities(np.array(query)[datasets].mean(axis=1), sigma2)
        for query in (world.if_low, world.if_high)
    )
    second = np.stack([low] * (BINS // 2) + [high] * (BINS // 2), axis=1)
    prior = population[datasets].prod(axis=1)
    joint = (prior[:, None, None] * first[:, :, None] * second).reshape(prior.size, -1)
    holds = (datasets[:, :, None] == np.arange(population.size)).astype(np.float64)
    probability = joint.sum(axis=0)
    with_value = np.einsum("dsx,dp->sxp", holds, joint)
    return Posterior(probability, with_value - population[:, None] * probability)


def exposure(world: World) -> tuple[Floats, Floats]:
    """mu_s and 1/m_s of every record: those up to the first round meet both answers."""
    (t1, t2), (mu1, mu2) = world.rounds, world.mu
    early = np.arange(1, t2 + 1) <= t1
    return np.where(early, np.hypot(mu1, mu2), mu2), 1.0 / np.where(early, t1, t2)


def subsets(size: int) -> Floats:
    """Indicators of all subsets but the empty and the full one, which never gain.

    They are enough: what is maximised is convex in q~ (in (b), because tilt is concave).
    """
    return np.array(list(product((0.0, 1.0), repeat=size))[1:-1])


# ------------------------------------------------------------------------------------ part (a)


@dataclass(frozen=True)
class Curve:
    """Both sides of (a) as p grows; every entry is one event B, the worst one of that p."""

    p: Floats
    left: Floats
    right: Floats

    def ratio(self) -> float:
        """Largest left over right where the bound says something."""
        counted = (self.p >= RARE) & (self.right <= TRIVIAL * self.p)
        return float(np.max(self.left / self.right, where=counted, initial=0.0))

    def holds(self, factor: float = 1.0) -> bool:
        """Whether ``factor`` times the right side still bounds the left, for every p."""
        return bool(np.all(self.left <= factor * self.right + ROUNDING))


def largest_gains(world: World, stops: tuple[int, ...]) -> tuple[Floats, Floats]:
    """p and E[q~(X_{<=t*}) - q~(P); B] of the worst events, growing by a transcript at a time."""
    known, chosen = posterior(world), subsets(len(world.population))
    gains = np.vstack([known.gain(chosen, t) for t in stops]).max(axis=0)
    order = np.argsort(-gains / known.probability)
    return np.cumsum(known.probability[order]), np.cumsum(gains[order])


def smallest_bound(p: Floats, mu: Floats, weights: Floats) -> Floats:
    """min over eps of p kappa + sum_s weight_s D_kappa(mu_s)."""
    failure: Floats = weights @ tilt_divergence(mu[:, None], EPS)
    bound: Floats = (p[:, None] * kappa(EPS) + failure).min(axis=1)
    return bound


def curve(world: World, stops: tuple[int, ...] | None = None) -> Curve:
    """(a) at every corner of the left side, which is enough for all p.

    Between corners the left side is linear, and the right side, a minimum of lines, is concave.
    ``stops`` are the rounds allowed for t*; both unless told.
    """
    p, left = largest_gains(world, stops or world.rounds)
    return Curve(p, left, smallest_bound(p, *exposure(world)))


# ------------------------------------------------------------------------------------ part (b)


def excess(world: World, eps: float, factor: float = 1.0) -> float:
    """The most by which the left side of (b) exceeds ``factor`` times the right, over q~, t*, B.

    B takes the transcripts that add to it, so nothing is left to choose but eps.
    """
    known, chosen = posterior(world), subsets(len(world.population))
    allowed = tilt(chosen @ np.array(world.population), eps)[:, None] * known.probability
    rows = [known.gain(chosen, t) - factor * allowed for t in world.rounds]
    mu, weights = exposure(world)
    failure = float(weights @ profile(mu, eps))
    return float(np.maximum(np.vstack(rows).max(axis=0), 0.0).sum()) - factor * failure


# ------------------------------------------------------------------------------------- worlds

# Found by a random search over populations, noises and analysts, then rounded.
STATIC = {
    "one record, sides swapped": World((0.5, 0.5), (1, 1), (0.18, 0.1), (0, 1), (1, 0), (0, 1)),
    "one record, subset refined": World(
        (0.28, 0.25, 0.47), (1, 1), (0.18, 0.08), (0, 0, 1), (1, 0, 0), (0, 0, 1)
    ),
    "two records, sides swapped": World((0.5, 0.5), (2, 2), (0.17, 0.12), (1, 0), (1, 0), (0, 1)),
    "two records, half weights": World((0.47, 0.53), (2, 2), (0.2, 0.06), (0, 1), (0, 1), (1, 0.5)),
    "three records": World((0.5, 0.5), (3, 3), (0.14, 0.15), (0, 1), (0, 1), (1, 0)),
    "three records, three values": World(
        (0.5, 0.44, 0.06), (3, 3), (0.19, 0.06), (0, 1, 1), (0, 1, 1), (0, 1, 0.5)
    ),
}
GROWING = {
    "1 to 2, mostly late": World((0.5, 0.5), (1, 2), (0.05, 0.2), (0, 1), (1, 0), (0, 1)),
    "1 to 2, subset refined": World(
        (0.41, 0.17, 0.42), (1, 2), (0.08, 0.2), (1, 0, 0), (1, 1, 0), (1, 0, 0)
    ),
    "1 to 2, half each": World((0.5, 0.5), (1, 2), (0.14, 0.14), (0, 1), (1, 0), (0, 1)),
    "1 to 3, mostly late": World((0.5, 0.5), (1, 3), (0.05, 0.2), (0, 1), (1, 0), (0, 1)),
    "1 to 3, mostly early": World((0.5, 0.5), (1, 3), (0.14, 0.07), (0, 1), (1, 0), (0, 1)),
    "2 to 3, mostly late": World((0.5, 0.5), (2, 3), (0.07, 0.2), (0, 1), (0, 1), (1, 0)),
    "2 to 3, subset refined": World(
        (0.26, 0.42, 0.32), (2, 3), (0.08, 0.25), (1, 0, 1), (1, 0, 1), (1, 1, 0)
    ),
    "2 to 3, mostly early": World((0.5, 0.5), (2, 3), (0.2, 0.06), (0, 1), (0, 1), (1, 0.5)),
}
ALL = {**STATIC, **GROWING}


def random_world(rng: np.random.Generator) -> World:
    """Any world at all, from nearly silent answers to nearly exact ones."""
    size = int(rng.integers(2, 4))
    t1, t2 = np.sort(rng.integers(1, 4, size=2)).tolist()

    def query() -> tuple[float, ...]:
        binary = rng.random() < 0.5
        return tuple((rng.integers(0, 2, size) if binary else rng.random(size)).tolist())

    return World(
        population=tuple(rng.dirichlet(np.full(size, rng.choice([0.5, 2.0, 10.0]))).tolist()),
        rounds=(t1, t2),
        mu=(float(np.exp(rng.uniform(-3.0, 1.0))), float(np.exp(rng.uniform(-3.0, 1.0)))),
        first=query(),
        if_low=query(),
        if_high=query(),
    )


RANDOM = [random_world(rng) for rng in np.random.default_rng(20251).spawn(1500)]


# -------------------------------------------------------------------------------------- tests


def named(worlds: dict[str, World]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("world", worlds.values(), ids=worlds.keys())


@named(ALL)
def test_the_listed_worlds_are_complete(world: World) -> None:
    """Probabilities add up to one, and the values of a record, given anything, too."""
    known = posterior(world)
    assert known.probability.sum() == pytest.approx(1.0, abs=1e-15)
    assert known.shift.sum(axis=1) == pytest.approx(0.0, abs=1e-15)
    # Without looking at the transcript a record is just a draw from the population.
    assert known.shift.sum(axis=2) == pytest.approx(0.0, abs=1e-15)


@named(ALL)
def test_the_second_query_depends_on_the_first_answer(world: World) -> None:
    assert world.if_low != world.if_high


@named(ALL)
def test_uniform_bound_holds_for_every_event(world: World) -> None:
    assert curve(world).holds()


def test_uniform_bound_holds_in_random_worlds() -> None:
    assert [world for world in RANDOM if not curve(world).holds()] == []


@named(ALL)
def test_tilted_bound_holds_for_every_event(world: World) -> None:
    assert max(excess(world, eps) for eps in EPS[::6]) <= ROUNDING


def test_tilted_bound_holds_in_random_worlds() -> None:
    broken = [world for world in RANDOM if max(excess(world, e) for e in EPS[::24]) > ROUNDING]
    assert broken == []


@named(ALL)
def test_uniform_bound_is_nearly_reached(world: World) -> None:
    """So a bound that is 15 % too small would be caught in each of these worlds."""
    assert curve(world).ratio() >= 0.85


def test_uniform_bound_is_nearly_reached_at_the_last_round() -> None:
    """Growth is not beside the point: t* may be the round that late records have joined."""
    late = [world for name, world in GROWING.items() if "late" in name]
    assert all(curve(world, stops=world.rounds[1:]).ratio() >= 0.85 for world in late)


@named(ALL)
def test_a_quarter_less_would_be_caught(world: World) -> None:
    assert not curve(world).holds(factor=0.75)
    assert max(excess(world, eps, factor=0.75) for eps in EPS[::6]) > 0.0


def test_dividing_by_the_last_round_would_be_caught() -> None:
    """Early records are the dearer ones: the weight is 1/m_s and not 1/n."""
    world = GROWING["1 to 3, mostly early"]
    p, left = largest_gains(world, world.rounds)
    mu, weights = exposure(world)
    too_small = smallest_bound(p, mu, np.full_like(weights, 1.0 / world.rounds[1]))
    assert np.max(left / too_small) > 1.1


def test_forgetting_the_first_answer_would_be_caught() -> None:
    """Answers compose: mu_s^2 adds up over both."""
    world = GROWING["1 to 2, half each"]
    p, left = largest_gains(world, world.rounds)
    _, weights = exposure(world)
    too_small = smallest_bound(p, np.full_like(weights, world.mu[1]), weights)
    assert np.max(left / too_small) > 1.1
