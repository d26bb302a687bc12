"""How the certificates stand to each other, and their limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehold.errors import InvalidInput, NotApplicable
from surehold.theory import exposure as exposure_module
from surehold.theory.certificates import Batches, Growing, get
from surehold.theory.exposure import Adaptive, BudgetProfile, Schedule, statistical
from surehold.theory.gaussian import profile
from surehold.theory.noise import largest_cvar
from surehold.theory.transfer import sharp_transfer

SHARP, OURS_N, OURS_U = get("sharp"), get("ours-n"), get("ours-u")
ON_SNAPSHOTS = ["ours-n", "ours-u", "adaptive"]  # the same mechanism as sharp
ROUNDING = 1 + 1e-7

sizes = st.integers(50, 10**8)
betas = st.floats(1e-10, 0.99)


@st.composite
def schedules(draw):
    """From a handful of queries on little data to a million on much, in any rhythm."""
    gaps = draw(st.lists(st.integers(1, 10**6), min_size=0, max_size=8))
    rounds = np.cumsum([draw(sizes), *gaps])
    size = draw(st.sampled_from([1, 30, 1000, 10**6]))
    counts = draw(st.lists(st.integers(1, size), min_size=len(rounds), max_size=len(rounds)))
    return Schedule(rounds, counts)


@given(schedules(), betas)
def test_sharp_is_never_wider_on_the_same_mechanism(schedule, beta):
    width = SHARP.width(schedule, beta).value
    for name in ON_SNAPSHOTS:
        other = get(name).width(schedule, beta).value
        if other < 1.0:
            assert width <= other * ROUNDING


@given(schedules(), betas, st.floats(-6.0, 0.0))
def test_sharp_is_never_wider_at_the_same_noise(schedule, beta, log_sigma):
    sigma = 10.0**log_sigma
    width = SHARP.width(schedule, beta, sigma=sigma).value
    for name in ON_SNAPSHOTS:
        other = get(name).width(schedule, beta, sigma=sigma).value
        if other < 1.0:
            assert width <= other * ROUNDING


@pytest.mark.parametrize("n0", [1_000, 100_000, 10_000_000])
@pytest.mark.parametrize("growth", [1, 3, 30])
@pytest.mark.parametrize("b", [1, 2, 5, 40])
@pytest.mark.parametrize("k", [1, 100, 10_000])
def test_sharp_is_not_wider_than_fresh_batches_either(n0, growth, b, k):
    """Another mechanism, but no user should be better off with it."""
    design = Batches(n0, n0 * growth, b=b).at(k)
    others = (get(name).width(design, 0.05).value for name in ("jlnrss", "jlnrss+"))
    assert SHARP.width(design, 0.05).value <= min(others)


@given(schedules(), betas)
def test_per_record_accounting_never_costs(schedule, beta):
    uniform = OURS_U.width(schedule, beta).value
    if uniform < 1.0:
        assert OURS_N.width(schedule, beta).value <= uniform * ROUNDING


@given(schedules(), betas)
def test_theorem_c2_on_a_fixed_schedule_is_ours_u(schedule, beta):
    width = get("adaptive").width(schedule, beta).value
    assert width == pytest.approx(OURS_U.width(schedule, beta).value, rel=1e-12)


@given(sizes, st.integers(1, 10**7), betas)
def test_static_ours_is_jlnrss_plus(n, k, beta):
    design = Batches(n, n).at(k)
    expected = get("jlnrss+").width(design, beta).value
    for name in ON_SNAPSHOTS:
        assert get(name).width(design, beta).value == pytest.approx(expected, rel=1e-9)


@given(sizes, st.integers(1, 10**7), betas)
def test_no_growth_is_the_static_case(n, k, beta):
    static = SHARP.width(Batches(n, n).at(k), beta).value
    assert SHARP.width(Growing(n, n).at(k), beta).value == pytest.approx(static, rel=1e-9)
    assert SHARP.width(Batches(n, n, b=7).at(k), beta).value == pytest.approx(static, rel=1e-9)


@given(schedules(), betas)
def test_low_sensitivity_at_one_over_t_is_statistical(schedule, beta):
    same = Schedule(schedule.rounds, schedule.counts, sensitivity=lambda t: 1.0 / t)
    assert SHARP.width(same, beta).value == pytest.approx(
        SHARP.width(schedule, beta).value, rel=1e-9
    )


def test_low_sensitivity_at_one_over_t_is_statistical_for_the_filter_too():
    plain = Adaptive(1_000, 5_000, 300)
    same = Adaptive(1_000, 5_000, 300, sensitivity=lambda t: 1.0 / t)
    assert SHARP.width(same, 0.05).value == pytest.approx(SHARP.width(plain, 0.05).value, rel=1e-9)


def test_low_sensitivity_costs_the_paper_a_factor_of_two_in_failure():
    """Theorem 3.6 at Delta_t = 1/t: wider than Theorem 3.4, as the paper remarks."""
    plain = Schedule([10_000, 20_000], [50, 50])
    same = Schedule([10_000, 20_000], [50, 50], sensitivity=lambda t: 1.0 / t)
    assert OURS_N.width(same, 0.05).value > OURS_N.width(plain, 0.05).value


def test_sharp_low_sensitivity_vanishes_where_the_papers_does_not():
    """t Delta_t varies: e^eps max - min of the paper stays away from 0, kappa max does not."""
    rounds = np.array([10**10, 4 * 10**10])
    design = Schedule(rounds, [1, 1], sensitivity=lambda t: t**-0.9 / 10)
    assert SHARP.width(design, 0.05).value < 0.01
    assert OURS_N.width(design, 0.05).value > 0.1


def test_doubling_the_sensitivity_widens():
    one, two = (
        SHARP.width(Schedule([10_000], [100], sensitivity=lambda t, c=c: c / t), 0.05).value
        for c in (1.0, 2.0)
    )
    assert one < two < 2.5 * one


@given(schedules(), betas)
def test_rounds_of_equal_noise_need_no_extra(schedule, beta):
    same = Schedule(schedule.rounds, schedule.counts, noise=np.ones(len(schedule.rounds)))
    found = SHARP.width(same, beta)
    assert found.value == pytest.approx(SHARP.width(schedule, beta).value, rel=1e-9)
    assert found.per_round == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("name", ["sharp", "ours-n", "ours-u"])
def test_rounds_with_their_own_noise(name):
    """Less noise later, when there is more data: later answers are narrower."""
    design = Schedule([10_000, 40_000], [50, 50], noise=[1.0, 0.4])
    found = get(name).width(design, 0.05)
    assert found.per_round[0] == pytest.approx(found.value)
    assert found.per_round[1] < found.per_round[0]
    assert found.per_round[0] - found.per_round[1] == pytest.approx(0.6 * found.terms["noise"])


def test_as_mu_goes_to_zero_only_the_noise_is_left():
    width = SHARP.width(Batches(10**12, 10**12).at(1), 0.05, sigma=0.01)
    assert width.value == pytest.approx(0.01 * largest_cvar(1, 0.05), rel=1e-3)


def test_gaussian_form_is_tighter_than_the_transfer_of_its_own_profile():
    """D_kappa never exceeds (1 - kappa) delta, so the general theorem (a) is wider at each eps."""
    design = Batches(20_000, 80_000, b=4).at(200)
    found = SHARP.width(design, 0.05)
    pieces = design.exposure()
    eps, sigma = found.constants["epsilon"], found.sigma
    delta_reach = float(np.dot(pieces.reach, profile(pieces.mu(sigma), eps)))
    general = float(sharp_transfer(found.terms["noise"], eps, delta_reach, 0.05))
    assert found.value < general < 1.2 * found.value


def test_a_flat_budget_profile_is_no_profile():
    flat = Adaptive(
        1_000, 9_000, 500, profile=BudgetProfile([1_000, 4_000, 9_000], [2.0, 2.0, 2.0])
    )
    assert SHARP.width(flat, 0.05).value == pytest.approx(
        SHARP.width(Adaptive(1_000, 9_000, 500), 0.05).value, rel=1e-9
    )


def test_a_falling_budget_profile_trades_late_answers_for_early_ones():
    """The same answers at n0 as a flat budget, but fewer at n: narrower."""
    flat = Adaptive(1_000, 9_000, 500)
    falling = BudgetProfile([2_000, 9_000], [1.0, 0.3])
    capacity = 1_000**2 + (2_000**2 - 1_000**2) + 0.3 * (9_000**2 - 2_000**2)
    narrower = Adaptive(1_000, 9_000, 500 * capacity / 9_000**2, profile=falling)
    assert narrower.exposure().most == pytest.approx(flat.exposure().most)
    assert SHARP.width(narrower, 0.05).value < SHARP.width(flat, 0.05).value


def test_a_late_budget_above_an_early_one_cannot_be_spent():
    rising = BudgetProfile([2_000, 9_000], [0.3, 1.0])
    assert np.ptp(Adaptive(1_000, 9_000, 500, profile=rising).exposure().unit) == 0.0


@pytest.mark.parametrize("name", ["sharp", "ours-n"])
def test_constants_found_on_a_coarse_schedule_are_as_good(name, monkeypatch):
    rng = np.random.default_rng(5)
    rounds = 50_000 + np.cumsum(rng.integers(1, 300, 3_000))
    schedule = Schedule(rounds, rng.integers(1, 9, 3_000))
    quick = get(name).width(schedule, 0.05).value
    monkeypatch.setattr(exposure_module, "_COARSE_PIECES", 10**6)
    thorough = get(name).width(schedule, 0.05).value
    assert thorough <= quick * (1 + 1e-12)
    assert quick == pytest.approx(thorough, rel=1e-6)


def test_statistical_is_the_default_sensitivity():
    assert Schedule([10], [1]).sensitivity is statistical


def test_lopsided_intervals_are_narrower_for_rare_events():
    design = Growing(20_000, 60_000).at(2_000)
    uniform = SHARP.width(design, 0.05)
    lopsided = SHARP.lopsided(design, 0.05, at=0.01)
    low, high = lopsided.interval(0.01)
    assert 0.0 <= low <= 0.01 <= high
    assert high - low < 2 * uniform.value
    middle = np.subtract(*lopsided.interval(0.5)[::-1])
    assert middle > 2 * uniform.value  # the price, paid where it was agreed not to look


@pytest.mark.parametrize("at", [1e-4, 0.01, 0.2])
def test_lopsided_intervals_are_mirror_images(at):
    design = Schedule([34_180], [193])
    interval = SHARP.lopsided(design, 0.05, at=at).interval(at)
    low, high = SHARP.lopsided(design, 0.05, at=1 - at).interval(1 - at)
    np.testing.assert_allclose([1 - high, 1 - low], interval, atol=1e-5)


def test_a_query_that_hardly_moves_is_never_wider_than_it_can_move():
    design = Schedule([100], [10_000], sensitivity=lambda t: 0.2 / t)
    assert SHARP.width(design, 0.05).value <= 0.2 * (1 + 1e-6)


def test_widths_of_rounds_are_exact_when_noises_differ_much():
    design = Schedule([10**9, 2 * 10**9], [1, 1], noise=[1e-4, 9e4])
    found = SHARP.width(design, 0.05, sigma=8.214)
    terms = found.terms
    exact = terms["noise"] * (1e-4 / 9e4) + (terms["stability"] + terms["failure"])
    assert exact <= found.per_round[0] <= exact * (1 + 1e-11)


@pytest.mark.parametrize("name", ["sharp", "ours-n", "jlnrss"])
@pytest.mark.parametrize("sigma", [1e-30, 1e-3, 1.0, 1e30])
def test_a_given_noise_is_used_as_it_is(name, sigma):
    found = get(name).width(Schedule([100], [5]), 0.05, sigma=sigma)
    assert found.sigma == sigma
    assert found.value > 0.0


@pytest.mark.parametrize("name", ["sharp", "ours-n", "split"])
def test_a_noise_that_cannot_be_used_is_refused(name):
    sigma = 1.0 if name == "split" else 1e60
    with pytest.raises(InvalidInput, match="sigma"):
        get(name).width(Schedule([100], [5]), 0.05, sigma=sigma)


def test_less_than_one_query_is_none():
    with pytest.raises(InvalidInput, match="queries"):
        Adaptive(10, 20, 0.5)
    with pytest.raises(InvalidInput, match="counts"):
        Schedule([10], [0.5])


def test_lopsided_intervals_hold_at_a_given_noise():
    design = Batches(20_000, 20_000).at(100)
    sigma = SHARP.width(design, 0.05).sigma
    fixed = SHARP.lopsided(design, 0.05, at=0.05, sigma=sigma)
    free = SHARP.lopsided(design, 0.05, at=0.05)
    assert fixed.sigma == sigma
    assert free.offset <= fixed.offset * (1 + 1e-6) or free.epsilon < fixed.epsilon
    reached = float(profile(design.exposure().mu(sigma), fixed.epsilon)[0])
    cvar = largest_cvar(100, 0.05)
    assert fixed.offset == pytest.approx(sigma * cvar + reached / 0.05, rel=1e-9)


def test_lopsided_intervals_are_for_statistical_queries_only():
    """The proof of part (b) needs the mean of q itself, which a martingale difference has not."""
    design = Schedule([10_000], [10], sensitivity=lambda t: 2.0 / t)
    with pytest.raises(NotApplicable, match="statistical"):
        SHARP.lopsided(design, 0.05, at=0.1)


def test_split_is_what_hoeffding_gives():
    width = get("split").width(Batches(1_000, 1_000).at(10), 0.05)
    assert width.value == pytest.approx(math.sqrt(math.log(2 * 10 / 0.05) / 200))
    assert get("split").width(Batches(5, 5).at(10), 0.05).value == math.inf


def test_split_uses_every_record_in_whole_samples():
    """7 records for 3 queries: samples of 2, 2 and 3."""
    width = get("split").width(Batches(7, 7).at(3), 0.5)
    failure = 2 * (2 * math.exp(-4 * width.value**2) + math.exp(-6 * width.value**2))
    assert failure == pytest.approx(0.5, rel=1e-9)
    assert failure <= 0.5
