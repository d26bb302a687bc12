"""The surprise guard holds under every attack, and would not if what was spent did not count."""

import pytest

from support.attacks import at_least, at_most
from surehold.lab import ATTACKERS, run
from surehold.lab.defenders.surprise import Surprise, SurpriseGuess
from surehold.lab.surprise_book import SurpriseBook

BETA = 0.3
REPEATS, FREE_REPEATS = 9, 4  # 9 of 9 bound the misses by 0.283, and 0 of 4 by 0.47 from below
SIZES = {"n0": 400, "n": 800, "queries": 400, "alpha": 0.3, "beta": BETA}

attackers = pytest.mark.parametrize("attacker", ATTACKERS, ids=lambda one: one.name)


class FreeBook(SurpriseBook):
    """The same menus, outcomes and claims, but nothing is ever spent."""

    def charge(self, units):
        pass


class Free(Surprise):
    """Plain numbers without a price."""

    name = "free"
    book = FreeBook


class FreeGuess(SurpriseGuess):
    """Guesses of a public half without a price."""

    name = "free-guess"
    book = FreeBook


def holds(attacker, defender, repeats, **sizes):
    """Whether misses are bounded by beta, or by more than beta from below; they can't be both."""
    [row] = run(attacker, defender, repeats=repeats, **SIZES | sizes).rows
    assert row.answered == row.asked
    missed = row.repeats - row.covered
    return at_most(missed, repeats) <= BETA, at_least(missed, repeats) > BETA


@attackers
@pytest.mark.parametrize("defender", [Surprise(), SurpriseGuess()], ids=lambda one: one.name)
def test_all_intervals_hold_together(attacker, defender):
    assert holds(attacker, defender, REPEATS) == (True, False)


@pytest.mark.parametrize("attack", ["sign", "near-miss", "refinement", "re-asking", "waiting"])
def test_they_do_not_if_spent_is_ignored(attack):
    assert holds(attack, Free(), FREE_REPEATS) == (False, True)


def test_guesses_are_not_free_either():
    """At one size, as what is confirmed tells little: only an attack on guesses gets that far."""
    sizes = {"n0": 800, "queries": 600}
    assert holds("near-miss", FreeGuess(), FREE_REPEATS, **sizes) == (False, True)
    assert holds("near-miss", SurpriseGuess(), REPEATS, **sizes) == (True, False)
