"""Every statistic against mpmath, by other formulas; and how far off doubles are."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from support.soak import length
from surehold.errors import InvalidInput
from surehold.theory.surprise.claims import betting
from surehold.theory.surprise.claims.base import Statistic, exact_value, rejects
from surehold.theory.surprise.claims.betting import BettingMixture
from surehold.theory.surprise.claims.binomial import (
    BinomialTail,
    exact_log_tail,
    is_better,
    log_tail,
    tail,
)
from surehold.theory.surprise.claims.chernoff import Chernoff, pair_mean
from surehold.theory.surprise.claims.mixtures import CentredMixture, HalfMixture, concentration
from surehold.theory.surprise.claims.selection import (
    Sensitivity,
    selection_gap,
    sensitivity_width,
)
from surehold.theory.surprise.digits import beta_fraction, log_beta, log_gamma, precise
from surehold.theory.surprise.ends import interval
from surehold.theory.surprise.levels import Level
from surehold.theory.surprise.prices import UNITS
from theory.oracles import mp, mpf

quick = partial(settings, deadline=None, derandomize=True, max_examples=60)


def as_mpf(number: Fraction | Decimal) -> object:
    if isinstance(number, Decimal):
        return mpf(str(number))
    return mpf(number.numerator) / number.denominator


def assert_close(statistic: Statistic, p: Fraction, expected: object, digits: int = 32) -> None:
    """Thirty digits are right, and doubles are off by a quarter of what they admit at most."""
    exact = as_mpf(exact_value(statistic, p))
    assert abs(exact - expected) <= mpf(10) ** -digits * (1 + abs(expected))
    value, error, _ = statistic.rough(float(p), float(1 - p))
    assert abs(value - expected) <= error / 4
    assert error < 1e-6


@st.composite
def counts(draw, most=10**5):
    t = draw(st.integers(1, most))
    return draw(st.integers(0, t)), t


probabilities = st.integers(1, 10**9 - 1).map(lambda m: Fraction(m, 10**9))


# ----------------------------------------------------------------------------------- the functions


@quick()
@given(st.fractions(Fraction(1, 10**9), 10**7))
def test_log_gamma(x):
    with precise():
        found = log_gamma(Decimal(x.numerator) / x.denominator)
    expected = mp.loggamma(as_mpf(x))
    assert abs(as_mpf(found) - expected) < mpf(10) ** -38 * (1 + abs(expected))


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1e-6, 3.0), (850.0, 150.0), (2.5e6, 7.5e6)])
def test_log_beta(a, b):
    with precise():
        found = log_beta(Decimal(a), Decimal(b))
    expected = mp.loggamma(mpf(a)) + mp.loggamma(mpf(b)) - mp.loggamma(mpf(a) + mpf(b))
    assert abs(as_mpf(found) - expected) < 1e-35


@pytest.mark.parametrize(("a", "b", "x"), [(3, 5, 0.25), (40, 10, 0.75), (1, 1, 0.125)])
def test_beta_fraction(a, b, x):
    fraction = beta_fraction(float(a), float(b), x, 2.0**-52)
    scale = mpf(x) ** a * (1 - mpf(x)) ** b / (a * mp.beta(a, b))
    assert abs(scale * fraction / mp.betainc(a, b, 0, x, regularized=True) - 1) < 1e-14


# ------------------------------------------------------------------------------------ 3a, one round


def tail_by_sum(count: int, t: int, p: Fraction) -> object:
    """-ln Pr[Bin(t, p) >= count], term by term."""
    x, term, total = as_mpf(p), mpf(0), mpf(0)
    term = mp.binomial(t, count) * x**count * (1 - x) ** (t - count)
    for k in range(count, t + 1):
        total += term
        term *= (t - k) * x / ((k + 1) * (1 - x))
    return -mp.log(total)


@quick()
@given(counts(most=400), probabilities)
def test_binomial_tail(observed, p):
    count, t = observed
    if p <= Fraction(count, t):
        expected = tail_by_sum(count, t, p)
    else:
        expected = tail_by_sum(t - count, t, 1 - p)
    assert_close(BinomialTail(count, t), p, expected)


@pytest.mark.parametrize(
    ("count", "t", "p"),
    [
        (5_000_000, 10**7, Fraction(1, 2)),  # at the mean, where the fraction is slowest
        (9_500_000, 10**7, Fraction(94, 100)),  # e^-l underflows
        (9_500_000, 10**7, Fraction(95, 100)),
        (3, 10**7, Fraction(1, 10**9)),
        (10**7, 10**7, Fraction(999_999_999, 10**9)),
        (1, 10**7, Fraction(9, 10)),
    ],
)
def test_binomial_tail_of_many_records(count, t, p):
    """The logarithm of the pmf times a sum of ratios, which are safe to add up."""
    if p > Fraction(count, t):
        flipped, x = t - count, 1 - p
    else:
        flipped, x = count, p
    lead = (
        *(mp.loggamma(t + 1), -mp.loggamma(flipped + 1), -mp.loggamma(t - flipped + 1)),
        *(flipped * mp.log(as_mpf(x)), (t - flipped) * mp.log(as_mpf(1 - x))),
    )
    odds, ratio, total, k = as_mpf(x / (1 - x)), mpf(1), mpf(0), flipped
    while ratio > mpf(10) ** -45:
        total += ratio
        ratio *= (t - k) * odds / (k + 1)
        k += 1
    expected = -(sum(lead) + mp.log(total))
    exact = as_mpf(exact_value(BinomialTail(count, t), p))
    assert abs(exact - expected) < mpf(10) ** -32 * (1 + abs(expected))
    value, error, _ = BinomialTail(count, t).rough(float(p), float(1 - p))
    assert abs(value - expected) <= error / 4


@pytest.mark.parametrize(("count", "t"), [(1, 1), (1, 9), (9, 9), (700, 2000), (35_000, 100_000)])
def test_tails_rise_at_their_slope_and_more(count, t):
    """It decides about the next multiple: a convex function lies above its tangent."""
    tail, step = BinomialTail(count, t), Fraction(1, 10**9)
    for part in (1, 3, 5):
        p = Fraction(count, t) * Fraction(part, 10)
        slope = tail.rough(float(p), float(1 - p)).slope
        risen = float(exact_value(tail, p - step) - exact_value(tail, p)) / float(step)
        assert 0.999999 * risen < slope <= risen * (1 + 1e-9)


def test_tails_of_no_successes_are_whole():
    assert log_tail(0, 10, 0.5, 0.5).value == 0.0
    assert exact_log_tail(0, 10, Decimal("0.5")) == 0


@quick()
@given(counts(), probabilities)
def test_chernoff(observed, p):
    count, t = observed
    x, y = mpf(count) / t, as_mpf(p)
    expected = t * sum(a * mp.log(a / b) if a else mpf(0) for a, b in ((x, y), (1 - x, 1 - y)))
    assert_close(Chernoff(Fraction(count, t), t), p, expected)


@quick(max_examples=length(70, full=200))
@given(counts(most=10**6), probabilities)
def test_exact_tails_are_below_chernoff(observed, p):
    """So their intervals are inside."""
    count, t = observed
    tail = BinomialTail(count, t).rough(float(p), float(1 - p))
    bound = Chernoff(Fraction(count, t), t).rough(float(p), float(1 - p))
    assert tail.value >= bound.value - tail.error - bound.error


def test_means_over_pairs_have_half_the_records():
    assert pair_mean(Fraction(1, 3), 7) == Chernoff(Fraction(1, 3), 3)


# ----------------------------------------------------------------------------------- 3b, all rounds


@quick(max_examples=25)
@given(counts(most=60), st.integers(1, 50), st.integers(1, 99).map(lambda m: Fraction(m, 100)))
def test_centred_mixture_is_a_product_of_predictions(observed, kappa, p):
    """C is the product of each record's predictive probability, over that under p."""
    count, t = observed
    x, product, ones, zeros = as_mpf(p), mpf(1), 0, 0
    for i in range(t):
        is_one = i < count
        share = kappa * (x if is_one else 1 - x) + (ones if is_one else zeros)
        product *= share / (kappa + i) / (x if is_one else 1 - x)
        ones, zeros = ones + is_one, zeros + (not is_one)
    assert_close(CentredMixture(count, t, kappa), p, mp.log(product))


@quick(max_examples=15)
@given(counts(most=40), st.integers(1, 99).map(lambda m: Fraction(m, 100)))
def test_half_mixture_is_an_integral(observed, p):
    count, t = observed
    x, mean = as_mpf(p), Fraction(2 * count + 1, 2 * t + 2)  # not a multiple of 1/t
    s = as_mpf(mean) * t

    def ratio(angle):
        h = mp.sin(angle) ** 2
        return (h / x) ** s * ((1 - h) / (1 - x)) ** (t - s)

    integral = mp.quad(ratio, mp.linspace(0, mp.pi / 2, 9)) * 2 / mp.pi
    assert_close(HalfMixture(mean, t), p, mp.log(integral), digits=25)


@quick()
@given(counts(most=10**6), st.integers(1, 10**4), probabilities)
def test_mixtures_are_below_chernoff(observed, kappa, p):
    """A mixture of likelihood ratios is at most the largest of them."""
    count, t = observed
    bound = Chernoff(Fraction(count, t), t).rough(float(p), float(1 - p))
    for mixture in (CentredMixture(count, t, kappa), HalfMixture(Fraction(count, t), t)):
        value, error, _ = mixture.rough(float(p), float(1 - p))
        assert value <= bound.value + error + bound.error


def test_concentration():
    assert concentration(2000, Level(Fraction(1), 10 * UNITS)) == 100
    assert concentration(2000, Level(Fraction(1), 10 * UNITS + 1)) == 99
    assert concentration(3, Level(Fraction(1), 10 * UNITS)) == 1
    assert concentration(0, Level(Fraction(1), 0)) == 1


histograms = st.dictionaries(
    st.integers(0, 16).map(lambda k: Fraction(k, 16)), st.integers(1, 40), min_size=1
)


def betting_by_sum(values: dict[Fraction, int], p: Fraction) -> object:
    x, total = as_mpf(p), mpf(0)
    for j in range(1, 1025):
        h = mp.sin((2 * j - 1) * mp.pi / 4096) ** 2
        product = mpf(1)
        for z, n in values.items():
            product *= (as_mpf(z) * h / x + as_mpf(1 - z) * (1 - h) / (1 - x)) ** n
        total += product
    return mp.log(total / 1024)


@quick(max_examples=12)
@given(histograms, st.integers(1, 99).map(lambda m: Fraction(m, 100)))
def test_betting_mixture(values, p):
    assert_close(BettingMixture.of(values), p, betting_by_sum(values, p))


@quick(max_examples=30)
@given(counts(most=2047), st.integers(1, 999).map(lambda m: Fraction(m, 1000)))
def test_betting_on_zeros_and_ones_is_the_half_mixture(observed, p):
    """Gauss's rule of 1,024 nodes is exact for polynomials of a degree below 2,048."""
    count, t = observed
    values = {Fraction(z): n for z, n in ((0, t - count), (1, count)) if n}
    betting_value = exact_value(BettingMixture.of(values), p)
    assert abs(betting_value - exact_value(HalfMixture(Fraction(count, t), t), p)) < 1e-35


@quick(max_examples=30)
@given(histograms, st.integers(1, 99).map(lambda m: Fraction(m, 100)))
def test_betting_is_never_below_the_half_mixture(values, p):
    """So K's interval is inside M's, whatever the values."""
    mixture = BettingMixture.of(values)
    half = HalfMixture(mixture.centre, sum(values.values()))
    assert exact_value(mixture, p) >= exact_value(half, p) - Decimal("1e-35")


@pytest.mark.parametrize("t", [65, 300, 5000])
@pytest.mark.parametrize("law", ["beta", "edges", "narrow"])
def test_many_distinct_values_are_interpolated(t, law, monkeypatch):
    rng = np.random.default_rng(7)
    drawn = {
        "beta": rng.beta(2, 5, t),
        "edges": np.where(rng.random(t) < 0.3, rng.random(t) * 1e-6, 1 - rng.random(t) * 1e-6),
        "narrow": 0.7 + 1e-3 * rng.random(t),
    }[law]
    values, times = np.unique(np.floor(drawn * 2**32).astype(np.int64), return_counts=True)
    interpolated = BettingMixture(values, times, 2**32)
    monkeypatch.setattr(betting, "_FEW", 10**9)
    direct = BettingMixture(values, times, 2**32)
    for p in (1e-9, 1e-3, 0.2, float(direct.centre), 0.5, 0.7, 0.999):
        monkeypatch.setattr(betting, "_FEW", 10**9)
        expected = direct.rough(p, 1 - p)
        monkeypatch.setattr(betting, "_FEW", 64)
        found = interpolated.rough(p, 1 - p)
        assert abs(found.value - expected.value) <= found.error / 2


@pytest.mark.parametrize(("values", "counts"), [([], []), ([-1], [1]), ([5], [1]), ([1], [0])])
def test_values_off_the_grid_are_refused(values, counts):
    with pytest.raises(InvalidInput, match="values must be whole numbers from 0 to 4"):
        BettingMixture(values, counts, 4)


# --------------------------------------------------------------------------- selection, sensitivity


def test_selection_gap_and_sensitivity_width():
    level = Level(Fraction(1), 12 * UNITS)
    gap = as_mpf(selection_gap(1000, level))
    # Surprise, section 3c: (1 - d^2)^(t/2) = e^-l at the gap d.
    assert abs((1 - gap**2) ** 500 / mp.exp(-12) - 1) < 1e-40
    width = as_mpf(sensitivity_width(Fraction(3, 2), 1000, level))
    # McDiarmid: exp(-2 w^2 t / b^2) = e^-l.
    assert abs(mp.exp(-2 * width**2 * 1000 / mpf("2.25")) / mp.exp(-12) - 1) < 1e-40


def test_the_interval_of_a_sensitivity_reaches_its_width_to_either_side():
    level, value, span = Level(Fraction(1), 12 * UNITS), Fraction(2, 5), Fraction(3, 2)
    statistic = Sensitivity(value, 1000, span)
    found, width = interval(statistic, statistic, level), sensitivity_width(span, 1000, level)
    for end, exact in ((found.low, value - Fraction(width)), (found.high, value + Fraction(width))):
        assert abs(end - exact) <= Fraction(1, 10**9)


def test_beyond_a_billion_records_tails_are_by_chernoff():
    assert isinstance(tail(5, 10), BinomialTail)
    assert isinstance(tail(5 * 10**9, 10**10), Chernoff)


@pytest.mark.parametrize("different", [0, 1, 7, 40])
def test_mcnemar_agrees_with_the_sum_of_binomials(different):
    level = Level(Fraction(20), 0)
    for better in range(different + 1):
        above = sum(mp.binomial(different, k) for k in range(better, different + 1))
        passes = above / mpf(2) ** different <= mpf(1) / 20
        assert is_better(better, different, level) == passes


# ------------------------------------------------------------------------------------------ rejects


def test_equality_counts_as_rejection():
    """Pr[Bin(1, p) >= 1] = p is e^-l at p = 1/80."""
    level = Level(Fraction(80), 0)
    assert rejects(BinomialTail(1, 1), Fraction(1, 80), level)
    assert not rejects(BinomialTail(1, 1), Fraction(1, 80) + Fraction(1, 10**25), level)
    assert rejects(BinomialTail(1, 1), Fraction(1, 80) - Fraction(1, 10**25), level)


def test_at_the_ends_of_the_scale():
    level = Level(Fraction(80), 0)
    assert rejects(BinomialTail(1, 2), Fraction(0), level)
    assert rejects(BinomialTail(1, 2), Fraction(1), level)
    assert not rejects(BinomialTail(0, 2), Fraction(0), level)
    assert not rejects(BinomialTail(2, 2), Fraction(1), level)
