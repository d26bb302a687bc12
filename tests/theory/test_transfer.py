"""The transfer theorems against their statements, in fractions or in sixty digits."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from surehold.theory.transfer import (
    best_constants,
    failure_term,
    kappa,
    low_sensitivity_stability,
    low_sensitivity_transfer,
    minimisation_transfer,
    posterior_accuracy,
    posterior_stability_transfer,
    sharp_interval,
    sharp_transfer,
    statistical_stability,
    statistical_transfer,
    tilt,
)
from theory.oracles import mp, mpf, relative_error

EPSILONS = [0.0, 1e-12, 1e-6, 0.04, 1.0, 5.0, 30.0]
# Sums of a few positive terms: a few roundings of 1.1e-16 each; measured 3.7e-16 at most.
FEW_ROUNDINGS = 2e-15

probabilities = st.floats(1e-12, 1.0)
sizes = st.floats(1e-6, 1e6)


# ------------------------------------------------------------------------ the paper's theorems


@given(probabilities, probabilities, probabilities)
def test_lemma_3_1(alpha, beta, c):
    got = posterior_accuracy(alpha, beta, c)
    assert got.alpha == float(Fraction(alpha) + Fraction(c))
    assert got.beta == float(Fraction(beta) / Fraction(c))


@given(probabilities, probabilities, probabilities, probabilities, probabilities)
def test_theorem_3_2(alpha, beta, epsilon, delta, c):
    got = posterior_stability_transfer(alpha, beta, epsilon, delta, c)
    exact_alpha = Fraction(alpha) + Fraction(c) + Fraction(epsilon)
    exact_beta = Fraction(beta) / Fraction(c) + Fraction(delta)
    assert relative_error(got.alpha, mpf(exact_alpha)) < FEW_ROUNDINGS
    assert relative_error(got.beta, mpf(exact_beta)) < FEW_ROUNDINGS


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize(
    ("delta_sum", "n0", "c"), [(0.0, 10, 3.0), (1e-9, 7, 1e3), (0.5, 1000, 40)]
)
def test_lemma_3_3(eps, delta_sum, n0, c):
    got = statistical_stability(eps, delta_sum, n0, c)
    exact = mp.exp(mpf(eps)) - 1 + 2 * mpf(c) * mpf(delta_sum) / n0
    assert got.epsilon == 0.0 if exact == 0 else relative_error(got.epsilon, exact) < FEW_ROUNDINGS
    assert relative_error(got.delta, 1 / mpf(c)) < FEW_ROUNDINGS


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize(("c", "d"), [(0.5, 0.01), (40.0, 0.02), (1e6, 1e-6)])
def test_theorem_3_4(eps, c, d):
    alpha, beta, delta_sum, n0 = 0.03, 1e-5, 1e-4, 500
    got = statistical_transfer(alpha, beta, eps, delta_sum, n0, c, d)
    exact_alpha = mpf(alpha) + mp.exp(mpf(eps)) - 1 + 2 * mpf(c) * mpf(delta_sum) / n0 + mpf(d)
    assert relative_error(got.alpha, exact_alpha) < FEW_ROUNDINGS
    assert relative_error(got.beta, mpf(beta) / mpf(d) + 1 / mpf(c)) < FEW_ROUNDINGS


# (rounds, Delta_t): statistical, flat, and one whose t Delta_t is not monotone.
PROFILES = [
    ([10, 20, 40], [0.1, 0.05, 0.025]),
    ([10, 20, 40], [0.1, 0.1, 0.1]),
    ([5, 6, 100], [0.001, 0.3, 0.0002]),
]


def extremes(rounds, deltas):
    t_delta = [mpf(t) * mpf(delta) for t, delta in zip(rounds, deltas, strict=True)]
    return min(t_delta), max(t_delta), max(map(mpf, deltas))


def low_sensitivity_epsilon(eps, delta_sum, low, high, delta_high, c):
    """epsilon' of Lemma 3.5."""
    return mp.exp(mpf(eps)) * high - low + 4 * mpf(c) * mpf(delta_sum) * delta_high


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("profile", PROFILES)
def test_lemma_3_5_and_theorem_3_6(eps, profile):
    alpha, beta, delta_sum, c, d = 0.03, 1e-5, 1e-4, 40.0, 0.02
    low, high, delta_high = extremes(*profile)
    given_extremes = float(low), float(high), float(delta_high)
    exact = low_sensitivity_epsilon(eps, delta_sum, *map(mpf, given_extremes), c)
    stable = low_sensitivity_stability(eps, delta_sum, *given_extremes, c)
    assert relative_error(stable.epsilon, exact) < FEW_ROUNDINGS
    assert relative_error(stable.delta, 1 / mpf(c)) < FEW_ROUNDINGS
    got = low_sensitivity_transfer(alpha, beta, eps, delta_sum, *given_extremes, c, d)
    assert relative_error(got.alpha, mpf(alpha) + exact + mpf(d)) < FEW_ROUNDINGS
    assert relative_error(got.beta, mpf(beta) / mpf(d) + 1 / mpf(c)) < FEW_ROUNDINGS


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("profile", PROFILES)
def test_theorem_a_3(eps, profile):
    alpha, beta, delta_sum, c, d = 0.03, 1e-5, 1e-4, 40.0, 0.02
    given_extremes = tuple(map(float, extremes(*profile)))
    low, high, delta_high = map(mpf, given_extremes)
    exact = (
        mpf(alpha)
        + 2 * mp.exp(mpf(eps)) * high
        - 2 * low
        + 8 * mpf(c) * mpf(delta_sum) * delta_high
        + mpf(d)
    )
    got = minimisation_transfer(alpha, beta, eps, delta_sum, *given_extremes, c, d)
    assert relative_error(got.alpha, exact) < FEW_ROUNDINGS
    assert relative_error(got.beta, mpf(beta) / mpf(d) + 1 / mpf(c)) < FEW_ROUNDINGS


def test_lemma_3_5_loses_a_factor_two_on_statistical_queries():
    n0, delta_sum, c = 50, 1e-3, 10.0
    general = low_sensitivity_stability(0.1, delta_sum, 1.0, 1.0, 1.0 / n0, c)
    special = statistical_stability(0.1, 2.0 * delta_sum, n0, c)
    assert general.epsilon == pytest.approx(float(special.epsilon), rel=FEW_ROUNDINGS)


# ------------------------------------------------------------------------ best constants


@given(probabilities, probabilities, probabilities)
def test_the_best_constants_obey_their_constraint(beta, slope, failure):
    c, d = best_constants(beta, slope, failure)
    assert beta / d + 1.0 / c == pytest.approx(failure, rel=1e-14)
    assert slope * c + d == pytest.approx(float(failure_term(beta, slope, failure)), rel=1e-14)


@pytest.mark.parametrize(
    ("beta", "slope", "failure"),
    [(1e-5, 1e-4, 0.05), (1e-12, 0.3, 1e-3), (0.2, 1e-9, 0.5), (1e-3, 1e-3, 0.999)],
)
def test_the_best_constants_are_the_least(beta, slope, failure):
    # 1/c may take any share of the failure probability; d has to make do with the rest.
    def cost(log_odds):
        share = 1.0 / (1.0 + np.exp(-log_odds))
        return slope / (share * failure) + beta / ((1.0 - share) * failure)

    found = minimize_scalar(cost, bounds=(-40.0, 40.0), method="bounded", options={"xatol": 1e-9})
    least = float(failure_term(beta, slope, failure))
    assert least <= found.fun * (1.0 + 1e-14)
    assert least == pytest.approx(found.fun, rel=1e-12)


@given(probabilities, probabilities, st.floats(1e-3, 0.999))
def test_the_failure_term_is_that_of_theorem_4_4(beta, delta_share, failure):
    # beta/beta' + 2 S/(n0 beta') + (2/beta') sqrt(2 beta S/n0), with delta_share = S/n0.
    b, s, f = mpf(beta), mpf(delta_share), mpf(failure)
    exact = b / f + 2 * s / f + 2 / f * mp.sqrt(2 * b * s)
    assert relative_error(failure_term(beta, 2.0 * delta_share, failure), exact) < FEW_ROUNDINGS


def test_best_constants_when_one_part_is_free():
    # No failure of stability: all of the probability goes to the noise, and the other way round.
    c, d = best_constants(0.01, 0.0, 0.1)
    assert (c, d) == (np.inf, pytest.approx(0.1))
    c, d = best_constants(0.0, 0.01, 0.1)
    assert (c, d) == (pytest.approx(10.0), 0.0)
    assert failure_term(0.0, 0.0, 0.1) == 0.0


# ------------------------------------------------------------------------ kappa and tilt


@pytest.mark.parametrize("eps", EPSILONS)
def test_kappa_and_tilt(eps):
    e = mpf(eps)
    assert eps == 0.0 or relative_error(kappa(eps), mp.tanh(e / 4)) < 1e-15
    for a in (1e-12, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-9):
        # e^eps a / (1 + (e^eps - 1) a) - a, with no rearrangement
        exact = mp.exp(e) * mpf(a) / (1 + (mp.exp(e) - 1) * mpf(a)) - mpf(a)
        assert tilt(a, eps) == 0.0 if eps == 0.0 else relative_error(tilt(a, eps), exact) < 1e-15


@pytest.mark.parametrize("eps", EPSILONS)
def test_tilt_is_concave_and_zero_at_the_ends(eps):
    a = np.linspace(0.0, 1.0, 1001)
    values = tilt(a, eps)
    assert values[0] == values[-1] == 0.0
    assert np.all(values >= 0.0)
    assert np.all(np.diff(values, 2) <= 1e-15)


@pytest.mark.parametrize("eps", EPSILONS)
def test_kappa_is_the_top_of_tilt(eps):
    top = 1.0 / (1.0 + np.exp(0.5 * eps))
    assert tilt(top, eps) == pytest.approx(float(kappa(eps)), rel=1e-14)
    a = np.linspace(0.0, 1.0, 1001)
    assert np.all(tilt(a, eps) <= kappa(eps) * (1.0 + 1e-15))
    if eps > 1e-6:  # to either side it is lower, by more than rounding
        assert np.all(tilt([0.9 * top, top + 0.1 * (1.0 - top)], eps) < kappa(eps))


@given(st.floats(0.01, 0.99), st.floats(0.0, 10.0))
def test_tilting_shifts_the_log_odds_by_epsilon(a, eps):
    tilted = mpf(a) + mpf(float(tilt(a, eps)))
    shift = mp.log(tilted / (1 - tilted)) - mp.log(mpf(a) / (1 - mpf(a)))
    assert abs(shift - mpf(eps)) < 1e-15 / (1 - tilted) + 1e-14


@given(st.floats(0.0, 600.0))
def test_kappa_is_below_a_quarter_of_the_papers_stability(eps):
    assert kappa(eps) <= 0.25 * eps <= 0.25 * np.expm1(eps)


# ------------------------------------------------------------------------ the sharp theorem


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("t_delta_high", [1.0, 2.5])
def test_sharp_transfer(eps, t_delta_high):
    cvar, reach, beta = 0.05, 1e-4, 0.05
    k = mp.tanh(mpf(eps) / 4)
    exact = mpf(cvar) + k * mpf(t_delta_high) + (1 - k) / mpf(beta) * mpf(reach)
    got = sharp_transfer(cvar, eps, reach, beta, t_delta_high)
    assert relative_error(got, exact) < FEW_ROUNDINGS
    if t_delta_high == 1.0:
        assert got == sharp_transfer(cvar, eps, reach, beta)


@given(probabilities, probabilities, st.floats(0.0, 5.0), probabilities, sizes, probabilities)
def test_the_sharp_theorem_is_never_wider_than_theorem_3_4(alpha, beta, eps, delta_sum, c, d):
    # Section 14: for every c and d, with beta_0/beta' in place of what CVaR adds, m_s >= n0.
    n0 = 100
    paper = statistical_transfer(alpha, beta, eps, delta_sum, n0, c, d)
    sharp = sharp_transfer(alpha + beta / paper.beta, eps, delta_sum / n0, paper.beta)
    assert sharp <= paper.alpha * (1.0 + 1e-14)


answers = st.floats(0.0, 1.0)
offsets = st.floats(0.0, 0.5)
small_epsilons = st.floats(0.0, 5.0)
# Moving an answer by 1e-16 moves an end by at most e^5 times as much.
END = 1e-13


@given(answers, offsets, small_epsilons)
def test_an_answer_on_the_boundary_gives_the_value_back(theta, offset, eps):
    above = theta + float(tilt(theta, eps)) + offset
    below = theta - float(tilt(1.0 - theta, eps)) - offset
    assert sharp_interval(above, offset, eps)[0] == pytest.approx(theta, abs=END)
    assert sharp_interval(below, offset, eps)[1] == pytest.approx(theta, abs=END)


@given(answers, offsets, small_epsilons)
def test_the_interval_holds_exactly_the_consistent_values(answer, offset, eps):
    low, high = sharp_interval(answer, offset, eps)
    theta = np.linspace(0.0, 1.0, 201)
    fits_above = answer - theta <= offset + tilt(theta, eps)
    fits_below = theta - answer <= offset + tilt(1.0 - theta, eps)
    is_inside = (theta >= low) & (theta <= high)
    is_clear = (np.abs(theta - low) > END) & (np.abs(theta - high) > END)
    np.testing.assert_array_equal(is_inside[is_clear], (fits_above & fits_below)[is_clear])


@given(answers, offsets, small_epsilons)
def test_the_interval_is_around_the_answer_and_in_the_unit_interval(answer, offset, eps):
    low, high = sharp_interval(answer, offset, eps)
    assert 0.0 <= low <= answer + END
    assert answer - END <= high <= 1.0


@given(st.floats(-1.0, 2.0), offsets, small_epsilons)
def test_an_unclipped_answer_is_clipped(answer, offset, eps):
    low, high = sharp_interval(answer, offset, eps)
    assert 0.0 <= low <= 1.0
    assert 0.0 <= high <= 1.0


@given(answers, offsets, small_epsilons)
def test_the_interval_of_the_complement_is_the_complement(answer, offset, eps):
    low, high = sharp_interval(answer, offset, eps)
    other_low, other_high = sharp_interval(1.0 - answer, offset, eps)
    assert other_low == pytest.approx(1.0 - high, abs=END)
    assert other_high == pytest.approx(1.0 - low, abs=END)


@given(answers, offsets, small_epsilons, st.floats(0.0, 0.2), st.floats(0.0, 1.0))
def test_a_larger_offset_or_epsilon_only_widens(answer, offset, eps, more, more_eps):
    low, high = sharp_interval(answer, offset, eps)
    wide_low, wide_high = sharp_interval(answer, offset + more, eps + more_eps)
    assert wide_low <= low + END
    assert wide_high >= high - END


def test_the_interval_is_within_the_uniform_width():
    # tilt <= kappa, so with the same A part (b) is never outside R +- (A + kappa).
    answer = np.linspace(0.0, 1.0, 101)
    for offset, eps in product([0.0, 0.01, 0.3], [0.01, 0.2, 2.0]):
        low, high = sharp_interval(answer, offset, eps)
        width = offset + float(kappa(eps))
        assert np.all(low >= answer - width - END)
        assert np.all(high <= answer + width + END)


def test_without_epsilon_the_interval_is_symmetric():
    low, high = sharp_interval([0.005, 0.5, 0.97], 0.1, 0.0)
    np.testing.assert_allclose(low, [0.0, 0.4, 0.87], atol=1e-15)
    np.testing.assert_allclose(high, [0.105, 0.6, 1.0], atol=1e-15)


def test_an_epsilon_that_says_nothing_is_still_a_number():
    np.testing.assert_allclose(tilt([0.25, 0.5, 1.0], 800.0), [0.75, 0.5, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(sharp_interval(1.0, 0.0, 800.0), [1.0, 1.0])


def test_nothing_tilts_the_impossible():
    assert tilt(0.0, 800.0) == 0.0


# ------------------------------------------------------------------------ arrays

# A function, and how many arguments it takes.
FUNCTIONS = [
    (posterior_accuracy, 3),
    (posterior_stability_transfer, 5),
    (statistical_stability, 4),
    (statistical_transfer, 7),
    (low_sensitivity_stability, 6),
    (low_sensitivity_transfer, 9),
    (minimisation_transfer, 9),
    (best_constants, 3),
    (failure_term, 3),
    (tilt, 2),
    (sharp_transfer, 5),
    (sharp_interval, 3),
]


@pytest.mark.parametrize(("function", "arguments"), FUNCTIONS)
def test_broadcasting(function, arguments):
    # Three rows in the first argument against four columns in the last.
    rows, columns = np.array([[0.1], [0.2], [0.4]]), np.array([0.1, 0.3, 0.5, 0.7])
    between = [0.25] * (arguments - 2)
    together = parts(function(rows, *between, columns))
    for i, j in product(range(3), range(4)):
        single = parts(function(float(rows[i, 0]), *between, float(columns[j])))
        for whole, part in zip(together, single, strict=True):
            assert np.shape(part) == ()
            # A part of a result need not depend on both of the arguments.
            assert np.broadcast_to(whole, (3, 4))[i, j] == part


def parts(result):
    """The arrays of a result, of which there may be one or two."""
    return list(result) if isinstance(result, tuple) else [result]


def test_kappa_is_vectorised():
    assert kappa([[0.1, 0.2], [0.3, 0.4]]).shape == (2, 2)
