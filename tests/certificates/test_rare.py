"""Plans that report the lopsided interval of the sharp theorem's part (b)."""

import numpy as np
import pytest

import surehold as sh
from surehold.errors import InvalidInput, NotApplicable
from surehold.theory.certificates import Batches, Growing
from surehold.theory.certificates.sharp import Lopsided, RareSharp, Sharp
from surehold.theory.noise import largest_cvar
from surehold.theory.transfer import sharp_interval


@pytest.mark.parametrize("setting", [Growing(20_000, 60_000), Batches(20_000, 60_000, b=4)])
@pytest.mark.parametrize("at", [0.003, 0.05, 0.5])
def test_the_width_is_the_larger_side_at_the_value_named(setting, at):
    design = setting.at(500)
    found = RareSharp(at).width(design, 0.05)
    low, high = sharp_interval(at, found.constants["offset"], found.constants["epsilon"])
    assert found.value == pytest.approx(max(at - low, high - at), rel=1e-11)
    assert found.value >= max(at - low, high - at)
    assert sum(found.terms.values()) == pytest.approx(found.value, rel=1e-11)


def test_the_offset_is_that_of_the_theorem():
    from surehold.theory.gaussian import profile

    design = Batches(20_000, 60_000, b=3).at(600)
    found = RareSharp(0.02).width(design, 0.05)
    sigma, epsilon = found.sigma, found.constants["epsilon"]
    exposure = design.exposure()
    reached = float(np.dot(exposure.reach, profile(exposure.mu(sigma), epsilon))) / 0.05
    expected = sigma * float(largest_cvar(600, 0.05)) + reached
    assert expected <= found.constants["offset"] <= expected * (1 + 1e-10)


def test_rare_events_have_narrower_intervals_and_even_ones_wider():
    design = Growing(20_000, 60_000).at(500)
    uniform = Sharp().width(design, 0.05).value
    rare = RareSharp(0.01).width(design, 0.05)
    assert rare.value < 0.6 * uniform
    interval = Lopsided(rare.constants["offset"], rare.constants["epsilon"], rare.sigma).interval
    low, high = interval(0.5)
    assert float(high) - 0.5 > uniform
    # No answer's width exceeds what a quote promises.
    values = np.linspace(0.0, 1.0, 1001)
    low, high = interval(values)
    widest = rare.constants["offset"] + rare.constants["kappa"]
    assert np.maximum(values - low, high - values).max() <= widest * (1 + 1e-12)


def test_a_plan_says_it_and_keeps_it():
    plan = sh.plan(n0=20_000, n=60_000, alpha=0.05, beta=0.05, rare=0.01)
    assert plan.rare == 0.01
    assert plan.certificate == "sharp"
    assert plan.theorem == "Sharp theorem (b)"
    assert plan.width <= 0.05
    assert sh.Plan.from_json(plan.to_json()) == plan
    more = sh.plan(n0=20_000, n=60_000, queries=plan.queries + 2, beta=0.05, rare=0.01)
    assert more.width > 0.05
    assert plan.queries > 2 * sh.plan(n0=20_000, n=60_000, alpha=0.05, beta=0.05).queries


def test_plans_from_before_it_could_be_said_are_read():
    plan = sh.plan(n0=2_000, n=6_000, alpha=0.2, beta=0.05)
    values = plan.to_dict()
    del values["rare"]
    assert sh.Plan.from_dict(values) == plan


def test_what_can_not_be_meant():
    with pytest.raises(InvalidInput, match="rare"):
        sh.plan(n0=2_000, n=6_000, alpha=0.2, beta=0.05, rare=1.0)
    with pytest.raises(NotApplicable, match="rare"):
        sh.plan(n0=2_000, n=6_000, alpha=0.2, beta=0.05, rare=0.1, certificate="ours-n")
    design = Growing(200, 600, sensitivity=lambda t: 2.0 / t).at(10)
    with pytest.raises(NotApplicable, match="statistical"):
        RareSharp(0.1).width(design, 0.05)
