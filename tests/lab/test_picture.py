"""The picture that the lab is to show, at a modest size: who breaks, who holds, who answers."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from surehold.lab import run

BETA, REPEATS = 0.05, 10
EXACT = ["raw", "plain", "bonferroni", "hoeffding", "sequence"]


@pytest.fixture(scope="module")
def report():
    chosen = [*EXACT, "noise", "splitting", "surehold-sharp", "surehold-adaptive"]
    return run(
        "sign", chosen, n0=20_000, n=20_000, queries=1_500, alpha=0.1, beta=BETA, repeats=REPEATS
    )


def at_most(times):
    """Upper 99.9 % bound for the probability of what happened so many times."""
    return binomtest(times, REPEATS, alternative="less").proportion_ci(0.999).high


@pytest.mark.parametrize("defender", [*EXACT, "noise"])
def test_intervals_for_fixed_questions_are_never_right(report, defender):
    row = report.row("sign", defender)
    assert row.answered == 1_500
    assert row.covered == 0
    assert at_most(row.covered) < 1 - BETA
    assert row.breaks(BETA)
    for value, _, high, truth in row.last:
        assert truth == 0.5
        assert value - truth > 0.04 > 2 * (high - value) or defender in ("sequence", "noise")


def test_the_vote_seems_right_by_what_theory_says(report):
    """By Phi(sqrt(2 d / (pi n))) - 1/2, which is about sqrt(d / n) / pi."""
    seems = np.mean([value for value, *_ in report.row("sign", "raw").last])
    share = 1_499 / 20_000
    assert seems == pytest.approx(norm.cdf(np.sqrt(2 * share / np.pi)), abs=0.004)
    assert seems - 0.5 == pytest.approx(np.sqrt(share) / np.pi, abs=0.004)


def test_splitting_holds_and_answers_few(report):
    row = report.row("sign", "splitting")
    assert row.covered == REPEATS
    assert row.answered == 52
    assert row.widest <= 0.1


def test_the_papers_filter_holds_and_answers_fewer(report):
    row = report.row("sign", "surehold-adaptive")
    assert row.covered == REPEATS
    assert row.answered == 12


def test_sharp_holds_and_answers_many(report):
    row = report.row("sign", "surehold-sharp")
    assert row.covered == REPEATS
    assert row.answered == 365
    assert row.widest <= 0.1
    assert row.spent == pytest.approx(1.0)
    assert not row.breaks(BETA)


@pytest.mark.parametrize("attack", ["flooding", "stale", "waiting", "lucky"])
def test_so_it_is_while_the_data_grows(attack):
    report = run(
        attack,
        ["bonferroni", "sequence", "splitting", "surehold-sharp"],
        n0=8_000,
        n=24_000,
        queries=1_500,
        alpha=0.15,
        beta=BETA,
        repeats=5,
    )
    assert [row.covered for row in report.rows] == [0, 0, 5, 5]
    assert report.row(attack, "bonferroni").breaks(BETA)
    assert not report.row(attack, "surehold-sharp").breaks(BETA)
