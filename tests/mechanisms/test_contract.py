"""One suite for every noise source, found by introspection; and what filters rest on."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest

import surehold.mechanisms as package
from support import noise_sources
from surehold.errors import InvalidInput
from surehold.lab import seeded_noise as seeded
from surehold.mechanisms import SCALE, ClippedGaussian, NoiseSource

MODULES = [
    import_module(module.name)
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
]


def classes_in(modules):
    """What these modules define, not what they import."""
    return {
        cls
        for module in modules
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__
    }


MECHANISMS = [ClippedGaussian(sigma) for sigma in (1e-6, 0.01, 3.0)]
SOURCES = [
    cls() if cls in classes_in(MODULES) or cls is noise_sources.NoNoise else cls(1)
    for cls in sorted(classes_in([*MODULES, seeded, noise_sources]), key=lambda cls: cls.__name__)
    if hasattr(cls, "draw") and cls is not NoiseSource
]
ROUNDS = [1, 2, 3, 1000, 10**6, 10**12, 10**18]


def test_introspection_finds_them():
    names = {type(source).__name__ for source in SOURCES}
    assert names >= {"SystemNoise", "SeededNoise", "FastSeededNoise", "NoNoise"}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_a_charge_is_a_whole_number_above_0_that_falls(mechanism):
    charges = [mechanism.charge(round) for round in ROUNDS]
    assert all(type(charge) is int and charge > 0 for charge in charges)
    assert charges == sorted(charges, reverse=True)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_an_answer_is_a_double_from_0_to_1(mechanism):
    for noise in (-(10**6) * SCALE, -SCALE, -1, 0, 1, SCALE, 10**6 * SCALE):
        for round in ROUNDS:
            for bits in (0, 1, 30):
                for total in (0, 1, round << bits):
                    answer = mechanism.noisy(total, round << bits, noise)
                    assert type(answer) is float
                    assert 0.0 <= answer <= 1.0


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_smallest_round_is_the_first_that_fits(mechanism):
    for round in (1, 2, 777, 10**12):
        units = mechanism.charge(round)
        found = mechanism.smallest_round(units, 1, 10**18)
        assert found is not None
        assert found <= round
        assert mechanism.charge(found) <= units
        assert found == 1 or mechanism.charge(found - 1) > units
        assert mechanism.smallest_round(units, round, round) == round
        assert mechanism.smallest_round(units, round + 5, 10**18) == round + 5
    assert mechanism.smallest_round(0, 1, 10**18) is None
    assert mechanism.smallest_round(10**99, 10, 9) is None


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_refuses_what_no_snapshot_can_be(mechanism):
    for round in (0, -1):
        with pytest.raises(InvalidInput, match="round"):
            mechanism.charge(round)
        with pytest.raises(InvalidInput, match="round"):
            mechanism.smallest_round(1, round, 10)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)
def test_a_source_gives_as_many_whole_numbers_as_asked(source):
    for count in (0, 1, 7):
        drawn = source.draw(count)
        assert len(drawn) == count
        assert all(type(z) is int and abs(z) < 40 * SCALE for z in drawn)
