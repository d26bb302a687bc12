"""The exponential mechanism: its exact law, what it charges, and what its choice gives away.

Seeds are fixed; each statistical check comes with a law that it refutes.
"""

from __future__ import annotations

import inspect
import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from mechanisms.goodness import chi_square
from support.noise_sources import FastSeededNoise, NoBits, NoNoise, SeededNoise
from surehold.errors import InvalidInput
from surehold.mechanisms import NoiseSource, SystemNoise, exponential, units_up
from surehold.mechanisms.exponential import ExponentialMechanism
from surehold.theory.gaussian import profile
from surehold.theory.selection import bounded_range_mu

PLAUSIBLE, REFUTED = 1e-3, 1e-6
DRAWS = 8_000


class Forced:
    """A uniform number written down beforehand: its bits, then zeros. Counts how many it gave."""

    def __init__(self, number: int, length: int) -> None:
        self._number, self._length, self.given = number, length, 0

    def getrandbits(self, k: int, /) -> int:
        self.given += k
        shift = self._length - self.given
        return ((self._number >> shift) if shift >= 0 else (self._number << -shift)) % 2**k


def probabilities(epsilon, losses, denominator, digits=60):
    """exp(-epsilon L / 2), normalised, in sixty digits."""
    with mp.workdps(digits):
        weights = [mp.exp(-mpf(epsilon) * loss / (2 * mpf(denominator))) for loss in losses]
        total = mp.fsum(weights)
        return [weight / total for weight in weights]


def p_value(chosen, expected):
    counts = Counter(chosen)
    expected = [float(p) for p in expected]
    return chi_square([counts[i] for i in range(len(expected))], [DRAWS * p for p in expected])


# ------------------------------------------------------------------------ the law

LAWS = [
    (1.0, (0, 1, 2, 3), 1),
    (0.1, (7, 7, 7), 1),
    (0.3, (50, 3, 18, 3, 40, 9), 2),
    (2.5, (10**30 + 1, 10**30, 10**30 + 2), 1),
    (1e-9, (0, 10**9, 2 * 10**9), 1),
    (1e6, (3, 1, 2), 10**6),
]


@cache
def choices(epsilon, losses, denominator):
    mechanism, bits = ExponentialMechanism(epsilon), random.Random(1)
    return [mechanism.choose(losses, denominator, bits) for _ in range(DRAWS)]


@pytest.mark.parametrize(("epsilon", "losses", "denominator"), LAWS)
def test_the_law(epsilon, losses, denominator):
    chosen = choices(epsilon, losses, denominator)
    assert p_value(chosen, probabilities(epsilon, losses, denominator)) > PLAUSIBLE


@pytest.mark.parametrize(
    ("epsilon", "losses", "denominator"), [law for law in LAWS if len(set(law[1])) > 1]
)
def test_another_law_is_refuted(epsilon, losses, denominator):
    chosen = choices(epsilon, losses, denominator)
    for wrong in (0.8 * epsilon, 2.0 * epsilon):  # the latter without the half in the exponent
        assert p_value(chosen, probabilities(wrong, losses, denominator)) < REFUTED


def cumulative(epsilon, losses, denominator, digits):
    """Where one choice ends and the next begins, in the order of the mechanism, and that order."""
    best = losses.index(min(losses))
    order = [(best + i) % len(losses) for i in range(len(losses))]
    law = probabilities(epsilon, losses, denominator, digits)
    with mp.workdps(digits):
        ends = [mp.fsum(law[j] for j in order[: i + 1]) for i in range(len(order) - 1)]
    return ends, order


@pytest.mark.parametrize(("epsilon", "losses", "denominator"), LAWS)
def test_every_end_is_where_it_should_be_to_a_thousand_bits(epsilon, losses, denominator):
    """Uniform numbers just below and above each end. Close calls cost bits, others do not."""
    length = 1000
    ends, order = cumulative(epsilon, losses, denominator, 400)
    for i, end in enumerate(ends):
        with mp.workdps(400):
            at = int(mp.floor(end * 2**length))
            is_exact = end * 2**length == at  # 1/2, say, for two that are as good
        for number, choice in ((at - 1, order[i]), (at + 1, order[i + 1])):
            bits = Forced(number, length)
            mechanism = ExponentialMechanism(epsilon)
            assert mechanism.choose(losses, denominator, bits) == choice
            assert is_exact or bits.given > 128
    middle = Forced(1, 1)  # 0.5 is close to no end, but that of two equal candidates
    if not any(abs(end - mpf(0.5)) < 1e-30 for end in ends):
        ExponentialMechanism(epsilon).choose(losses, denominator, middle)
        assert middle.given == 128


def test_more_digits_and_bits_only_when_undecided(monkeypatch):
    asked = []
    weights = exponential._weights
    monkeypatch.setattr(exponential, "_weights", lambda *a: (asked.append(a[2]), weights(*a))[1])
    ends, _ = cumulative(1.0, [0, 1, 2], 1, 400)
    with mp.workdps(400):
        close = int(mp.floor(ends[0] * 2**300))
    bits = Forced(close, 300)  # right for 300 bits, then zeros
    ExponentialMechanism(1.0).choose([0, 1, 2], 1, bits)
    assert asked == [40, 80, 160]
    assert bits.given == 512


@pytest.mark.parametrize("digits", [1, 2, 5])
def test_the_law_does_not_depend_on_where_the_digits_start(digits, monkeypatch):
    """With few digits nearly every choice is undecided at first; the choices are the same."""
    mechanism, losses = ExponentialMechanism(0.3), [50, 3, 18, 3, 40, 9]
    usual = [mechanism.choose(losses, 2, random.Random(seed)) for seed in range(300)]
    monkeypatch.setattr(exponential, "_DIGITS", digits)
    assert [mechanism.choose(losses, 2, random.Random(seed)) for seed in range(300)] == usual


def test_a_choice_that_ignores_its_errors_is_noticed(monkeypatch):
    mechanism, losses = ExponentialMechanism(0.3), [50, 3, 18, 3, 40, 9]
    usual = [mechanism.choose(losses, 2, random.Random(seed)) for seed in range(300)]
    monkeypatch.setattr(exponential, "_DIGITS", 7)
    monkeypatch.setattr(exponential, "_ERROR", 0)
    assert [mechanism.choose(losses, 2, random.Random(seed)) for seed in range(300)] != usual


fractions = st.fractions(min_value=0, max_value=10**4, max_denominator=10**6)


@given(st.lists(fractions, min_size=1, max_size=20), st.sampled_from([1, 3, 40, 97]))
def test_weights_are_right_within_two_units(numbers, digits):
    below = 7 * 10**6
    above = [int(number * below) for number in numbers]
    weights = exponential._weights(above, below, digits)
    with mp.workdps(digits + 20):
        for a, weight in zip(above, weights, strict=True):
            exact = mp.exp(-mpf(37) / 3 - mpf(a) / below) * mpf(10) ** digits
            assert abs(weight - exact) < exponential._ERROR


# ------------------------------------------------------------------------ extremes


def test_one_candidate_and_equal_ones():
    mechanism = ExponentialMechanism(1.0)
    assert mechanism.choose([12345], 1, random.Random(1)) == 0
    seen = Counter(choices(1.0, (5,) * 8, 3))
    assert chi_square([seen[i] for i in range(8)], [DRAWS / 8] * 8) > PLAUSIBLE


def test_weights_far_below_the_smallest_double():
    mechanism = ExponentialMechanism(1.0)
    losses = [10**6, 0, 10**40, 10**6]
    assert {mechanism.choose(losses, 1, random.Random(seed)) for seed in range(50)} == {1}
    # Its probability is exp(-2000) = 10^-869, yet there are bits that choose it.
    ones = Forced(2**3000 - 1, 3000)
    assert mechanism.choose([4000, 0], 1, ones) == 0
    assert mechanism.choose([4000, 0], 1, Forced(2**2000 - 1, 2000)) == 1


def test_many_candidates_and_numpys_whole_numbers():
    losses = np.random.default_rng(1).integers(0, 2**62, 2_000)
    mechanism = ExponentialMechanism(2.0**-58)
    bits = random.Random(1)
    chosen = [mechanism.choose(losses, 1, bits) for _ in range(20)]
    assert all(type(i) is int for i in chosen)
    # A mean loss of 2/epsilon is due; a sum in 64 bits would have overflowed.
    assert np.mean(losses[chosen] * mechanism.epsilon / 2) == pytest.approx(1.0, abs=0.7)


def test_zeros_choose_the_first_of_the_best():
    for losses in ([3], [5, 2, 2, 9], [10**9, 10**8, 0, 10**9], [4] * 6):
        assert ExponentialMechanism(1e-3).choose(losses, 1, NoBits()) == losses.index(min(losses))
        assert ExponentialMechanism(1e3).choose(losses, 1, NoNoise().bits()) == losses.index(
            min(losses)
        )


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=30),
    st.integers(1, 10**4),
    st.floats(1e-9, 1e9),
    st.integers(0, 2**64),
)
def test_choices_are_candidates_and_move_with_them(losses, denominator, epsilon, seed):
    mechanism = ExponentialMechanism(epsilon)
    chosen = mechanism.choose(losses, denominator, random.Random(seed))
    assert 0 <= chosen < len(losses)
    # The same losses as other ratios, all larger by as much, and turned by one place.
    again = [7 * (loss + 10**9) for loss in losses]
    assert mechanism.choose(again, 7 * denominator, random.Random(seed)) == chosen
    if losses.count(min(losses)) == 1:
        turned = losses[1:] + losses[:1]
        same = mechanism.choose(turned, denominator, random.Random(seed))
        assert (same + 1) % len(losses) == chosen


def test_what_it_refuses():
    mechanism = ExponentialMechanism(1.0)
    for epsilon in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidInput, match="epsilon"):
            ExponentialMechanism(epsilon)
    for losses, denominator, name in (([], 1, "losses"), ([1], 0, "denominator")):
        with pytest.raises(InvalidInput, match=name):
            mechanism.choose(losses, denominator, NoBits())
    with pytest.raises(InvalidInput, match="losses") as caught:
        mechanism.choose([3, -98765], 1, NoBits())
    assert "98765" not in str(caught.value)
    with pytest.raises(TypeError):
        mechanism.choose([0.5], 1, NoBits())
    for units in (0, -1):
        with pytest.raises(InvalidInput, match="units"):
            ExponentialMechanism.within(units)
    with pytest.raises(InvalidInput, match="round"):
        mechanism.rate(0)


# ------------------------------------------------------------------------ privacy and charge


def neighbours(rng, candidates, denominator):
    """Losses on two snapshots that differ in one record: each moves by at most 1."""
    losses = rng.integers(0, 5 * denominator, candidates)
    moved = losses + rng.integers(-denominator, denominator + 1, candidates)
    return losses, np.maximum(moved, 0)


def log_ratios(epsilon, losses, moved, denominator):
    first = np.array(probabilities(epsilon, losses.tolist(), denominator), dtype=float)
    second = np.array(probabilities(epsilon, moved.tolist(), denominator), dtype=float)
    return first, second, np.log(first / second)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_what_a_choice_gives_away(epsilon):
    rng, h = np.random.default_rng(1), np.linspace(0.0, epsilon, 50)
    mu, tightest = float(bounded_range_mu(epsilon)), 0.0
    for _ in range(200):
        pair = neighbours(rng, int(rng.integers(2, 8)), 4)
        first, second, ratios = log_ratios(epsilon, *pair, 4)
        assert np.ptp(ratios) <= epsilon + 1e-12
        given = np.maximum(first - np.exp(h)[:, None] * second, 0.0).sum(axis=1)
        assert np.all(given <= profile(mu, h) + 1e-14)
        tightest = max(tightest, given[0] / float(profile(mu, 0.0)))
    # One candidate down by 1 and one up, of equal weight before and after: nothing to spare.
    first, second, _ = log_ratios(epsilon, np.array([1, 0]), np.array([0, 1]), 1)
    assert abs(first - second).sum() / 2 == pytest.approx(float(profile(mu, 0.0)), rel=1e-9)
    assert 0.5 < tightest < 1.0 + 1e-9


def test_without_the_half_it_would_give_away_more_than_it_charges():
    first, second, ratios = log_ratios(2.0, np.array([1, 0]), np.array([0, 1]), 1)
    assert np.ptp(ratios) > 1.0  # the range that epsilon = 1 is charged for
    assert abs(first - second).sum() / 2 > float(profile(bounded_range_mu(1.0), 0.0))


@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 0.7, 1.0, 30.0, 1e6])
def test_the_charge_is_mu_squared_rounded_up(epsilon):
    mu = float(bounded_range_mu(epsilon))
    charge = ExponentialMechanism(epsilon).charge()
    assert type(charge) is int
    assert charge == units_up(Fraction(mu) ** 2)
    with mp.workdps(40 + int(min(epsilon, 1000))):
        if epsilon < 100:
            exact = 8 * mp.erfinv(mp.tanh(mpf(epsilon) / 4)) ** 2 * 2**192
            assert exact <= charge <= exact * (1 + mpf(1e-11))


@given(st.integers(1, 2**300))
def test_what_is_within_a_charge_never_exceeds_it(units):
    mechanism = ExponentialMechanism.within(units)
    assert mechanism.charge() <= units
    more = ExponentialMechanism(mechanism.epsilon * (1.0 + 1e-9))
    assert more.charge() > units


def test_what_is_within_the_extreme_charges():
    for units in (1, 2, 3, 2**192 - 1, 2**192, 10**99, 10**700):
        assert 0 < ExponentialMechanism.within(units).charge() <= units


def test_the_rate_is_from_below():
    for epsilon, round in ((0.1, 3), (1e-7, 10**9), (0.3, 10**18)):
        rate = ExponentialMechanism(epsilon).rate(round)
        assert Fraction(rate) <= Fraction(epsilon) * round / 2
        assert rate == pytest.approx(epsilon * round / 2, rel=1e-15)


def test_the_excess_has_the_tail_that_the_rate_says():
    epsilon, round, losses = 0.05, 200, list(range(0, 200, 5))  # losses in [0, 1] times the round
    law, rate = probabilities(epsilon, losses, 1), ExponentialMechanism(epsilon).rate(round)
    for y in np.linspace(0.0, 1.0, 101):
        tail = float(sum(p for p, loss in zip(law, losses, strict=True) if loss / round > y))
        assert tail <= (len(losses) - 1) * np.exp(-rate * y)


# ------------------------------------------------------------------------ where bits come from


@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(1), FastSeededNoise(1), NoNoise()])
def test_sources_give_bits_to_each_selection(source):
    assert callable(inspect.getattr_static(NoiseSource, "bits"))
    first, second = source.bits(), source.bits()
    drawn = [first.getrandbits(128), second.getrandbits(128)]
    assert all(0 <= number < 2**128 for number in drawn)
    assert isinstance(source, NoNoise) or drawn[0] != drawn[1]
    assert ExponentialMechanism(1.0).choose([10**6, 0], 1, source.bits()) == 1


def test_seeded_bits_are_the_same_again():
    for cls in (SeededNoise, FastSeededNoise):
        one, other, third = cls(1), cls(1), cls(2)
        assert one.bits().getrandbits(64) == other.bits().getrandbits(64)
        assert one.bits().getrandbits(64) != third.bits().getrandbits(64)


def test_the_mechanism_is_light_until_it_is_charged():
    code = (
        "import sys, random; from surehold.mechanisms.exponential import ExponentialMechanism as E;"
        "E(0.5).choose([1, 2], 1, random.Random(1)); print('scipy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
