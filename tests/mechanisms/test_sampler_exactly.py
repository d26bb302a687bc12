"""The sampler's laws without sampling: every path of its choices is walked, its odds added up."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from surehold.mechanisms import sampler

TINY = Fraction(1, 2**60)


class Choice(Exception):
    """The script ended where a choice was to be made; ``odds`` are the choices there."""

    def __init__(self, odds):
        self.odds = odds


class Script:
    """Bits, or other choices, as written down beforehand."""

    def __init__(self, choices):
        self._choices = iter(choices)

    def pick(self, odds):
        for choice in self._choices:
            return choice
        raise Choice(odds)

    def getrandbits(self, k):
        return self.pick([(value, Fraction(1, 2**k)) for value in range(2**k)])


def law(function, *arguments, least=TINY):
    """The odds of each result; those of paths less likely than ``least`` are under None."""
    odds = defaultdict(lambda: 0)
    paths = [((), Fraction(1))]
    while paths:
        choices, chance = paths.pop()
        if chance < least:
            odds[None] += chance
            continue
        try:
            odds[function(*arguments, Script(choices))] += chance
        except Choice as choice:
            paths += [((*choices, value), chance * odd) for value, odd in choice.odds if odd]
    assert sum(odds.values()) == pytest.approx(1, abs=1e-15)
    return odds


def within(odds, result, probability):
    """Does the probability lie between what is certain and that plus what was left open?"""
    return odds[result] <= probability <= odds[result] + odds[None]


RATIOS = [(0, 1), (1, 1), (1, 2), (1, 3), (2, 3), (5, 7), (7, 8), (1, 1000), (999, 1000)]


@pytest.fixture
def short_words(monkeypatch):
    """Words of three bits: the same code, and all of its paths can be walked."""
    monkeypatch.setattr(sampler, "_WORD", 3)


@pytest.mark.usefixtures("short_words")
@pytest.mark.parametrize(("numerator", "denominator"), RATIOS)
def test_bernoulli(numerator, denominator):
    odds = law(sampler.bernoulli, numerator, denominator)
    assert within(odds, True, Fraction(numerator, denominator))
    assert within(odds, False, 1 - Fraction(numerator, denominator))
    assert odds[None] < 2 * TINY


@pytest.mark.usefixtures("short_words")
def test_a_comparison_that_stops_too_early_is_noticed():
    def one_word(numerator, denominator, bits):
        return bits.getrandbits(3) < (numerator << 3) // denominator

    def or_equal(numerator, denominator, bits):
        return bits.getrandbits(3) <= (numerator << 3) // denominator

    assert not within(law(one_word, 1, 3), True, Fraction(1, 3))
    assert not within(law(or_equal, 1, 2), True, Fraction(1, 2))


@pytest.mark.parametrize("below", [1, 2, 3, 5, 7, 8, 9])
def test_uniform(below):
    odds = law(sampler.uniform, below, least=Fraction(1, 2**9))  # paths branch at every retry
    left_open = odds.pop(None, 0)
    assert odds == dict.fromkeys(range(below), (1 - left_open) / below)
    assert left_open < Fraction(1, 3)


def choose_ratio(numerator, denominator, script):
    """Bernoulli as one choice of known odds."""
    yes = Fraction(numerator, denominator)
    return script.pick([(True, yes), (False, 1 - yes)])


@pytest.mark.parametrize(("numerator", "denominator"), [*RATIOS, (3, 2), (2, 1), (17, 5)])
def test_bernoulli_exp(numerator, denominator, monkeypatch):
    monkeypatch.setattr(sampler, "bernoulli", choose_ratio)
    least = TINY if numerator <= denominator else Fraction(1, 2**20)
    odds = law(sampler.bernoulli_exp, numerator, denominator, least=least)
    with mp.workdps(50):
        exact = Fraction(str(mp.exp(-mpf(numerator) / denominator)))
    assert within(odds, True, exact)
    assert odds[None] < 1000 * least


class Restart(Exception):
    """A value was turned down and the sampler begins anew."""


def one_try(function):
    """Up to the first restart: the law of the results is the same given that there was none."""

    def tried(scale, script):
        started = False

        def uniform(below, bits):
            nonlocal started
            if started:
                raise Restart
            started = True
            return bits.pick([(value, Fraction(1, below)) for value in range(below)])

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sampler, "uniform", uniform)
            patch.setattr(sampler, "bernoulli_exp", choose_exp)
            try:
                return function(scale, script)
            except Restart:
                return "restart"

    return tried


def choose_exp(numerator, denominator, script):
    """Bernoulli(exp) as one choice of known odds, to 50 digits."""
    with mp.workdps(50):
        yes = Fraction(str(mp.exp(-mpf(numerator) / denominator)))
    return script.pick([(True, yes), (False, 1 - yes)])


@pytest.mark.parametrize(
    ("function", "weight"),
    [
        (sampler.discrete_laplace, lambda z, scale: mp.exp(-mpf(abs(z)) / scale)),
        (sampler.discrete_gaussian, lambda z, scale: mp.exp(-mpf(z * z) / (2 * scale * scale))),
    ],
)
@pytest.mark.parametrize("scale", [1, 2, 3, 4, 7])
def test_laplace_and_gaussian(function, weight, scale):
    odds = law(one_try(function), scale, least=Fraction(1, 2**30))
    del odds["restart"], odds[None]
    # Beyond four scales some paths are less likely than those that were walked.
    values = [z for z in odds if abs(z) <= 4 * scale]
    assert set(values) == set(range(-4 * scale, 4 * scale + 1))
    for z in values:
        ratio = float(odds[z] / odds[0])
        assert ratio == pytest.approx(float(weight(z, scale)), rel=1e-12)


def test_how_many_tries_a_gaussian_takes():
    odds = law(one_try(sampler.discrete_gaussian), 7, least=Fraction(1, 2**30))
    kept = 1 - odds["restart"]
    assert 0.4 < kept < 0.5  # (1 - 1/e) 0.76: some turned down as u, some at the end
