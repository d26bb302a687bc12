"""Widths of the other defenders against formulas written anew, and what their answers are."""

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, binomtest, chi2, kstest, norm

from support.lab_worlds import viewed
from surehold.lab import DEFENDERS, Agreements, Coins, Lookups, Records, Setting, View
from surehold.lab.defenders.transcripts import ladder_step

BY_NAME = {defender.name: defender for defender in DEFENDERS}
SETTING = Setting(n0=400, n=2_000, queries=70, alpha=0.2, beta=0.07)
ROUNDS = (400, 777, 2_000)


def replies_of(name, records, round, questions=None, setting=SETTING, seed=1):
    guard = BY_NAME[name].guard(setting, np.random.default_rng(seed))
    questions = questions or Agreements(np.arange(records.features))
    return guard.answer(questions, viewed(records), round)


@pytest.fixture(scope="module")
def records():
    """Fractions from rare to frequent."""
    return Coins(16, tuple(np.linspace(-0.5, 0.5, 16))).draw(2_000, np.random.default_rng(1))


def exact(records, part):
    questions = Agreements(np.arange(records.features))
    return questions.counts(records, part) / len(range(*part.indices(len(records))))


# ---------------------------------------------------------------------------- exact answers


def plain(p, t):
    return norm.ppf(1 - 0.07 / 2) * np.sqrt(p * (1 - p) / t)


def bonferroni(p, t):
    return norm.isf(0.07 / 70 / 2) * np.sqrt(p * (1 - p) / t)


def hoeffding(p, t):
    """The width at which 2 exp(-2 t w^2) is the failure that each of the queries may have."""
    with mpmath.workdps(30):
        return float(mpmath.sqrt(-mpmath.log(mpmath.mpf("0.07") / 70 / 2) / (2 * t)))


def mixture(total, variance, rate):
    """E exp(l S - l^2 V / 2) over l ~ N(0, 1/rate): Robbins' mixture, by quadrature."""
    with mpmath.workdps(20):
        density = lambda x: mpmath.npdf(x, 0, 1 / mpmath.sqrt(rate))  # noqa: E731
        peak, spread = total / (variance + rate), 1 / math.sqrt(variance + rate)
        steps = [peak + spread * k for k in (-30, -8, -3, 0, 3, 8, 30)]
        inside = lambda x: mpmath.exp(x * total - x * x * variance / 2) * density(x)  # noqa: E731
        return float(mpmath.quad(inside, steps))


@pytest.mark.parametrize("round", ROUNDS)
@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("raw", lambda p, t: 0.0),
        ("plain", plain),
        ("bonferroni", bonferroni),
        ("hoeffding", hoeffding),
    ],
)
def test_exact_answers_have_the_textbooks_widths(records, round, name, width):
    replies = replies_of(name, records, round)
    values = exact(records, slice(0, round))
    assert (replies.values == values).all()
    expected = width(values, round)
    assert replies.lows == pytest.approx(np.maximum(values - expected, 0.0), abs=1e-12)
    assert replies.highs == pytest.approx(np.minimum(values + expected, 1.0), abs=1e-12)


@pytest.mark.parametrize("round", [*ROUNDS, 1_000])
def test_a_confidence_sequence_ends_where_the_mixture_reaches_the_limit(round):
    """Ville: P(the mixture ever reaches 1/a) <= a. At the ends of the interval it does, exactly.

    Howard et al. 2021, equation (14), is that boundary in closed form.
    """
    a, variance = 0.07 / 70, round / 4
    width = BY_NAME["sequence"].widths(np.array([0.5]), round, SETTING)
    log = 2 * math.log(1 / a)
    rate = SETTING.n0 / 4 / (log + math.log(1 + log))  # after their Proposition 3
    assert mixture(width * round, variance, rate) == pytest.approx(1 / a, rel=1e-9)
    # The deviation of a number in [0, 1] is at most 1/2, so S^2 (Hoeffding) has the variance t/4:
    # E exp(l (x - p)) <= exp(l^2 / 8) for the worst p, and equality in the second order at p = 1/2.
    for chance in (0.01, 0.3, 0.5, 0.9):
        for tilt in (-3.0, -0.1, 0.1, 3.0):
            moment = chance * math.exp(tilt * (1 - chance)) + (1 - chance) * math.exp(
                -tilt * chance
            )
            assert moment <= math.exp(tilt**2 / 8)


def test_a_confidence_sequence_is_tuned_to_be_narrow_at_n0():
    a, variance = SETTING.beta / SETTING.queries, SETTING.n0 / 4

    def boundary(log_rate):
        rate = math.exp(log_rate)
        return math.sqrt((variance + rate) * math.log((variance + rate) / (rate * a * a)))

    best = minimize_scalar(boundary, bounds=(-5, 8), method="bounded").fun / SETTING.n0
    width = BY_NAME["sequence"].widths(np.array([0.5]), SETTING.n0, SETTING)
    assert best * (1 - 1e-9) <= width <= best * 1.001


def ever_missed(name, setting, paths):
    """Of some paths, those on which an interval leaves out 1/2 at some time from n0 to n."""
    random = np.random.default_rng(11)
    sums = np.cumsum(random.integers(2, size=(paths, setting.n)), axis=1)
    missed = np.zeros(paths, dtype=bool)
    for round in range(setting.n0, setting.n + 1):
        values = sums[:, round - 1] / round
        missed |= np.abs(values - 0.5) > BY_NAME[name].widths(values, round, setting)
    return int(missed.sum())


def test_a_confidence_sequence_covers_at_all_times_and_a_plain_interval_does_not():
    # Two queries are the fewest that there can be, so the sequence may miss half of beta.
    setting = Setting(n0=100, n=4_000, queries=2, alpha=0.2, beta=0.2)
    paths = 600
    sequence, wald = ever_missed("sequence", setting, paths), ever_missed("plain", setting, paths)
    bound = binomtest(sequence, paths, alternative="less").proportion_ci(0.999).high
    assert bound <= setting.beta / 2
    assert sequence > 0  # but is not wide for nothing
    bound = binomtest(wald, paths, alternative="greater").proportion_ci(0.999).low
    assert bound > 2 * setting.beta


@pytest.mark.parametrize("name", ["bonferroni", "hoeffding", "sequence", "noise"])
def test_what_is_claimed_of_questions_fixed_beforehand_holds(name):
    """All of 70 intervals, at one size, of features that nobody chose."""
    setting = Setting(n0=1_000, n=1_000, queries=70, alpha=0.2, beta=0.2)
    missed, repeats = 0, 300
    for seed in range(repeats):
        drawn = Coins(72).draw(1_000, np.random.default_rng([seed, 1]))
        replies = replies_of(name, drawn, 1_000, Agreements(np.arange(70)), setting, seed)
        missed += bool(((replies.lows > 0.5) | (replies.highs < 0.5)).any())
    bound = binomtest(missed, repeats, alternative="less").proportion_ci(0.999).high
    assert bound <= (0.3 if name in ("bonferroni", "noise") else 0.2)  # about, or at most


# -------------------------------------------------------------------------------- splitting


class Asked(Agreements):
    """Agreements that note which records they were counted on, and what had arrived by then."""

    parts: list = []  # noqa: RUF012
    view = None

    def counts(self, records, part):
        Asked.parts.append((part.start, part.stop, part.step or 1, Asked.view.n, len(self)))
        return super().counts(records, part)

    def __getitem__(self, places):
        return Asked(self.features[places])


@pytest.mark.parametrize("queries", [5, 17, 70, 400])
def test_splitting_gives_every_answer_records_of_its_own_and_waits_for_them(queries):
    setting = Setting(n0=400, n=2_003, queries=queries, alpha=0.2, beta=0.07)
    records = Coins(400).draw(setting.n, np.random.default_rng(1))
    view = Asked.view = View(records, setting.n0)
    Asked.parts = []
    guard = BY_NAME["splitting"].guard(setting, np.random.default_rng(1))
    most = guard.answers_left(view, setting.n0)
    replies = guard.answer(Asked(np.arange(queries)[:2]), view, setting.n0)
    rest = guard.answer(Asked(np.arange(2, queries)), view, view.n)
    values = replies.then(rest).values
    assert np.isnan(values).tolist() == [False] * most + [True] * (queries - most)
    assert guard.answers_left(view, view.n) == 0
    assert view.n == setting.n  # all were used
    ends = [0]
    for place, (start, stop, step, arrived, count) in enumerate(Asked.parts):
        assert (step, count) == (1, 1)
        assert start == ends[-1]  # where the last one ended: disjoint, in order
        assert stop <= arrived
        assert stop - start >= setting.n // most
        own = exact(records, slice(start, stop))[place]
        assert values[place] == own
        ends.append(stop)
    assert len(Asked.parts) == most
    assert ends[-1] == setting.n


def split_failure(n, k, width):
    """Hoeffding for each of k samples, floor(n/k) records or one more."""
    sizes = [n * (j + 1) // k - n * j // k for j in range(k)]
    return sum(2 * math.exp(-2 * size * width**2) for size in sizes)


@pytest.mark.parametrize("queries", [5, 17, 70, 400])
def test_splitting_is_as_narrow_and_answers_as_much_as_hoeffding_allows(queries):
    setting = Setting(n0=400, n=2_003, queries=queries, alpha=0.2, beta=0.07)
    guard = BY_NAME["splitting"].guard(setting, np.random.default_rng(1))
    view = viewed(Coins(8).draw(setting.n, np.random.default_rng(1)))
    most = guard.answers_left(view, setting.n)
    replies = guard.answer(Agreements(np.zeros(1, dtype=np.intp)), view, setting.n)
    width = replies.highs[0] - replies.values[0]
    assert width <= setting.alpha
    assert split_failure(setting.n, most, width) <= setting.beta * (1 + 1e-9)
    assert split_failure(setting.n, most, width * 0.999) > setting.beta
    if most < queries:
        assert split_failure(setting.n, most + 1, setting.alpha) > setting.beta
    else:
        assert most == queries


# -------------------------------------------------------------------------------- thresholdout


def halves(training, holdout, n=SETTING.n0):
    """Records one feature of which is true as often as said in either half."""
    turns = np.zeros((n, 8), dtype=bool)
    half = n // 2
    turns[0 : 2 * round(training * half) : 2] = True
    turns[1 : 2 * round(holdout * half) : 2] = True
    return Records.of(turns, np.ones(n, dtype=bool))


def thresholdout(training, holdout, times=4_000):
    asked = Agreements(np.zeros(times, dtype=np.intp))
    return replies_of("thresholdout", halves(training, holdout), SETTING.n0, asked)


SIGMA = 1 / math.sqrt(SETTING.n0 / 2)


def test_thresholdout_tells_the_training_half_while_the_holdout_agrees():
    assert set(thresholdout(0.5, 0.5).values) == {0.5}
    assert set(thresholdout(0.5, 0.485).values[:1_000]) == {0.5}


def test_thresholdout_tells_the_holdout_with_noise_when_they_differ():
    values = thresholdout(0.9, 0.3).values
    assert kstest((values - 0.3) / SIGMA, "norm").pvalue > 1e-3


@pytest.mark.parametrize("gap", [0.2, 0.25, 0.3, 0.35])
def test_thresholdout_decides_with_a_noisy_threshold(gap):
    """Training is told if the gap is below a threshold of 4 sigma with noise of sigma."""
    values = thresholdout(0.5 + gap, 0.5).values
    told = int(np.count_nonzero(values == 0.5 + gap))
    agree = norm.sf(gap / SIGMA - 4)
    assert 1e-4 < binom.cdf(told, len(values), agree) < 1 - 1e-4


def test_thresholdouts_width_is_the_threshold_with_its_noise_and_sampling():
    replies = thresholdout(0.0, 0.0, times=1)
    quantile = norm.isf(SETTING.beta / SETTING.queries / 2)
    assert replies.values[0] == replies.lows[0] == 0.0
    assert replies.highs[0] == pytest.approx((4 + quantile * math.sqrt(1.25)) * SIGMA)


def test_thresholdout_halves_are_the_even_and_the_odd_records(records):
    for round in (400, 777):
        replies = replies_of("thresholdout", records, round)
        training, holdout = exact(records, slice(0, round, 2)), exact(records, slice(1, round, 2))
        near = np.abs(training - holdout) < SIGMA
        assert near.sum() > 8
        assert (replies.values[near] == training[near]).all()


# ----------------------------------------------------------------------------- guess and check


def checked_half(gap, times, setting, n):
    """Answers to so many questions whose guess is off by a gap, and how many were guesses."""
    asked = Agreements(np.zeros(times, dtype=np.intp))
    replies = replies_of("guess-and-check", halves(0.5 + gap, 0.5, n), n, asked, setting)
    told = replies.values[~np.isnan(replies.values)]
    return told, int(np.count_nonzero(told == 0.5 + gap))


def tolerance(size, beta, asked, failed, grids):
    """The paper's tau_h: each transcript's share of beta, by Hoeffding.

    Transcripts of ``asked`` queries of which ``failed`` fail: which of them, and what was told.
    Its weights 6 / (pi j)^2 add up to 1.
    """
    transcripts = math.comb(asked, failed) * math.prod(grids)
    weight = (6 / math.pi**2 / (asked - failed + 1) ** 2) * (6 / math.pi**2 / (failed + 1) ** 2)
    return math.sqrt(math.log(2 * transcripts / (beta * weight)) / (2 * size))


def test_guess_and_check_confirms_guesses_for_next_to_nothing():
    setting = Setting(n0=4_000, n=4_000, queries=1_000, alpha=0.2, beta=0.05)
    told, guesses = checked_half(0.0, 1_000, setting, 4_000)
    assert len(told) == guesses == 1_000


def test_guess_and_check_corrects_guesses_until_its_tolerance_is_used_up():
    n, setting = 4_000, Setting(n0=4_000, n=4_000, queries=1_000, alpha=0.2, beta=0.05)
    told, guesses = checked_half(0.25, 1_000, setting, n)
    assert guesses == 0
    assert np.abs(told - 0.5).max() <= setting.alpha
    grids = []
    for asked in range(1_000):
        slack = setting.alpha - tolerance(n // 2, setting.beta, asked, asked, grids)
        if slack <= 0:
            break
        assert abs(told[asked] - 0.5) <= slack + 1e-12
        grids.append(math.ceil(1 / (2 * slack)))
    assert len(told) == asked
    assert 5 < len(told) < 1_000


def test_guess_and_check_asks_how_far_off_a_guess_is():
    """A guess is told if it and the check differ by less than alpha less the tolerance."""
    n, setting = 4_000, Setting(n0=4_000, n=4_000, queries=10, alpha=0.2, beta=0.05)
    slack = setting.alpha - tolerance(n // 2, setting.beta, 0, 0, [])
    for gap, confirmed in ((slack - 0.002, 1), (slack + 0.002, 0)):
        told, guesses = checked_half(round(gap * n / 2) / (n / 2), 1, setting, n)
        assert (len(told), guesses) == (1, confirmed)


def test_guess_and_check_counts_no_fewer_transcripts_than_there_are():
    """What a correction can be: the middles of cells that cover [0, 1], one for each 1/gamma."""
    setting = Setting(n0=1_000, n=1_000, queries=10, alpha=0.3, beta=0.05)
    found = set()
    for true in range(0, 501, 5):
        gap_side = halves(1.0 if true < 250 else 0.0, true / 500, 1_000)
        asked = Agreements(np.zeros(1, dtype=np.intp))
        [value] = replies_of("guess-and-check", gap_side, 1_000, asked, setting).values
        assert abs(value - true / 500) <= setting.alpha
        found.add(value)
    slack = setting.alpha - tolerance(500, setting.beta, 0, 0, [])
    assert len(found) <= math.ceil(1 / (2 * slack))


# ----------------------------------------------------------------------- verdicts and the Ladder


def test_verdicts_say_on_which_side_of_a_half_and_stop_when_declared():
    """2^H trees, Hoeffding on both sides, within alpha at n0."""
    setting = Setting(n0=400, n=2_000, queries=70, alpha=0.2, beta=0.07)
    most = math.floor(math.log2(0.07 / 2 * math.exp(2 * 400 * 0.2**2)))
    assert most < 70
    drawn = Coins(64).draw(2_000, np.random.default_rng(1))
    replies = replies_of("verdicts", drawn, 400, setting=setting)
    assert np.count_nonzero(~np.isnan(replies.values)) == most
    tolerance = math.sqrt((most * math.log(2) + math.log(2 / 0.07)) / 800)
    assert tolerance <= 0.2
    is_pass = exact(drawn, slice(0, 400))[:most] >= 0.5
    assert 0 < is_pass.sum() < most
    assert replies.lows[:most] == pytest.approx(np.where(is_pass, 0.5 - tolerance, 0.0))
    assert replies.highs[:most] == pytest.approx(np.where(is_pass, 1.0, 0.5 + tolerance))


def test_a_ladder_moves_only_by_a_step_and_bounds_the_rest_from_above():
    setting = Setting(n0=2_000, n=2_000, queries=1_000, alpha=0.2, beta=0.05)
    edges = (-0.3, 0.0, 0.01, 0.3, 0.31, -0.2, 0.45)
    drawn = Coins(8, edges).draw(2_000, np.random.default_rng(1))
    replies = replies_of("ladder", drawn, 2_000, Agreements(np.arange(7)), setting)
    step, width = ladder_step(2_000, 1_000, 0.05), replies.highs[0] - replies.values[0]
    assert width == pytest.approx(0.280, abs=5e-4)
    exponent = -2 * (width - step) ** 2 * 2_000 + (1 / step + 2) * math.log(4_000 / step) + 1
    assert math.exp(exponent) == pytest.approx(0.05)
    scores = exact(drawn, slice(0, 2_000))
    best, improves = 0.0, []
    for score in scores[:7]:
        improves.append(score >= best + step)
        best = round(score / step) * step if improves[-1] else best
    assert improves == [True, True, False, True, False, False, True]
    assert (replies.lows[:7] == 0.0).tolist() == [True, False, True, False, True, True, False]
    assert replies.values[2] == replies.values[1] == pytest.approx(0.5, abs=step)
    assert replies.values[6] == pytest.approx(scores[6], abs=step / 2)


# ------------------------------------------------------------------------------------- noise


def test_uncertified_noise_has_the_deviation_of_a_mean_at_n0():
    records, setting = halves(0.5, 0.5), SETTING
    asked = Agreements(np.zeros(4_000, dtype=np.intp))
    for t in (200, 400):
        replies = replies_of("noise", records, t, asked)
        sigma = 0.5 / math.sqrt(setting.n0)
        centre = exact(records, slice(0, t))[0]
        squares = float((((replies.values - centre) / sigma) ** 2).sum())
        assert 1e-4 < chi2.cdf(squares, 4_000) < 1 - 1e-4
        quantile = norm.isf(setting.beta / setting.queries / 2)
        width = quantile * math.hypot(0.5 / math.sqrt(t), sigma)
        inside = (replies.lows > 0) & (replies.highs < 1)
        widths = (replies.highs - replies.values)[inside]
        assert widths == pytest.approx(np.full(inside.sum(), width))


@pytest.mark.parametrize("name", ["noise", "thresholdout"])
def test_noise_is_fresh_for_every_answer(name):
    records = halves(0.9, 0.2)
    guard = BY_NAME[name].guard(SETTING, np.random.default_rng(1))
    asked = Agreements(np.zeros(3, dtype=np.intp))
    values = [guard.answer(asked, viewed(records), SETTING.n0).values for _ in range(3)]
    assert len(set(np.concatenate(values))) == 9


@pytest.mark.parametrize("name", BY_NAME)
def test_lookups_are_answered_like_any_other_question(name, records):
    setting = Setting(n0=1_200, n=2_000, queries=70, alpha=0.3, beta=0.1)
    tables = Lookups(np.random.default_rng(1).random((1, 4096)) < 0.5)
    replies = replies_of(name, records, 2_000, tables, setting)
    expected = tables.counts(records, slice(0, 2_000))[0] / 2_000
    assert replies.lows[0] <= expected <= replies.highs[0]
    if name != "verdicts":  # which reports no number
        assert abs(replies.values[0] - expected) < 0.3
