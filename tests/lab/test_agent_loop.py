"""An agent that keeps trying: narrow intervals that hold through the guard, and none without it."""

import numpy as np
import pytest

from support.attacks import at_most
from support.soak import length
from surehold.lab.agent_loop import simulate_guarded_loop, simulate_naive_loop

WIDTHS = {1_000: 0.10, 2_000: 0.08, 5_000: 0.055}
REPEATS = length(20, full=200)


@pytest.fixture(scope="module")
def loops():
    return {n: [simulate_guarded_loop(n, seed) for seed in range(REPEATS)] for n in WIDTHS}


def test_two_hundred_experiments_never_miss(loops):
    """Without a miss 60 loops, at all sizes together, bound its probability by 0.0487."""
    missed = [loop.missed for several in loops.values() for loop in several]
    assert sum(missed) == 0
    assert at_most(0, len(missed)) < 0.05


@pytest.mark.parametrize(("n", "width"), WIDTHS.items())
def test_two_hundred_experiments_are_narrow(loops, n, width):
    loops = loops[n]
    widest = [loop.widest for loop in loops]
    assert np.median(widest) <= width
    assert np.mean(widest) <= width
    # One surprise costs some 7 nats; without one every answer of the loop is within.
    assert all(loop.widest <= width for loop in loops if loop.surprises == 0)
    assert np.mean([loop.surprises == 0 for loop in loops]) > 0.8


@pytest.mark.parametrize("n", [1_000, 2_000, 5_000])
def test_the_naive_loop_ends_with_an_interval_that_misses(n):
    loops = [simulate_naive_loop(n, seed) for seed in range(50)]
    assert sum(loop.final_missed for loop in loops) > 40
    assert all(loop.missed for loop in loops)


def test_a_loop_is_the_same_again_and_without_guesses_is_wider():
    assert simulate_guarded_loop(1_000, 3) == simulate_guarded_loop(1_000, 3)
    poor = simulate_guarded_loop(1_000, 3, guess_sd=0.02)
    assert poor.missed == 0
    assert poor.widest > simulate_guarded_loop(1_000, 3).widest
