"""The theorems as functions of their free constants, against the printed formulas in 40 digits."""

import itertools
import math

import pytest
from mpmath import mp, mpf

from surehold.theory.certificates import Batches, get
from surehold.theory.certificates.jlnrss import theorem_c_3
from surehold.theory.certificates.ours import theorem_4_4
from surehold.theory.certificates.split import split_failure, split_records
from surehold.theory.exposure import Schedule

mp.dps = 40
SCHEDULE = Schedule([1_000, 2_500, 9_000], [40, 20, 70])
CONSTANTS = [(0.01, 1e-5, 0.3), (0.05, 1e-3, 0.02), (0.004, 1e-9, 1.5)]


def erfc_inverse(y):
    """Root of erfc(x) = y for small y, in logarithms."""
    y = mpf(y)
    return mp.findroot(lambda x: mp.log(mp.erfc(x)) - mp.log(y), mp.sqrt(-mp.log(y)))


def printed_rho(record, sigma, rounds=SCHEDULE.rounds, counts=SCHEDULE.counts):
    """Lemma 4.2, one record at a time."""
    return sum(
        mpf(k) / (2 * mpf(sigma) ** 2 * int(tau) ** 2)
        for tau, k in zip(rounds, counts, strict=True)
        if record <= tau
    )


def printed_psi(gamma, rho, eps):
    return mp.exp((gamma - 1) * (gamma * rho - eps)) * (1 - 1 / gamma) ** gamma / (gamma - 1)


def printed_theorem_4_4(sigma, snapshot_beta, eps, beta):
    """Theorem 4.4 with the delta(t) of Lemma 4.2, summed over the records by their pieces."""
    sigma, b, eps, beta = (mpf(value) for value in (sigma, snapshot_beta, eps, beta))
    most = printed_rho(1, sigma)
    gamma = mp.findroot(
        lambda g: (2 * g - 1) * most - eps + mp.log(1 - 1 / g), max(1.5, (eps / most + 1) / 2)
    )
    edges = [0, *map(int, SCHEDULE.rounds)]
    total = sum(
        (high - low) * printed_psi(gamma, printed_rho(high, sigma), eps)
        for low, high in itertools.pairwise(edges)
    )
    n0, k = edges[1], mpf(SCHEDULE.queries)
    return (
        mp.sqrt(2) * sigma * erfc_inverse(b / k)
        + mp.exp(eps)
        - 1
        + b / beta
        + 2 * total / (n0 * beta)
        + 2 / beta * mp.sqrt(2 * b * total / n0)
    )


@pytest.mark.parametrize("constants", CONSTANTS)
def test_theorem_4_4(constants):
    found = theorem_4_4(SCHEDULE.exposure(), 0.05, *constants)
    exact = printed_theorem_4_4(*constants, 0.05)
    assert found.value == pytest.approx(float(exact), rel=3e-12)
    assert found.value >= exact * (1 - mpf(10) ** -13)


@pytest.mark.parametrize("constants", CONSTANTS)
def test_theorem_4_4_reports_the_constants_of_theorem_3_4(constants):
    """c and d of the transfer theorem, which the proof of 4.4 eliminates, add up to beta."""
    found = theorem_4_4(SCHEDULE.exposure(), 0.05, *constants).constants
    assert constants[1] / found["d"] + 1 / found["c"] == pytest.approx(0.05)


@pytest.mark.parametrize("constants", CONSTANTS)
def test_ours_u_counts_every_record_as_the_most_exposed(constants):
    sigma, snapshot_beta, eps = constants
    found = theorem_4_4(SCHEDULE.exposure().uniform(), 0.05, sigma, snapshot_beta, eps)
    n, n0 = 9_000, 1_000
    rho = printed_rho(1, sigma)
    gamma = mpf(found.constants["gamma"])
    slope = 2 * n * printed_psi(gamma, rho, mpf(eps)) / n0
    exact = (mp.sqrt(slope) + mp.sqrt(mpf(snapshot_beta))) ** 2 / mpf(0.05)
    assert found.terms["failure"] == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize(
    ("n", "k", "beta", "sigma", "delta"),
    [(10**5, 200, 0.05, 0.01, 1e-6), (10**6, 10**4, 1e-6, 0.003, 1e-12), (50, 1, 0.5, 0.5, 1e-3)],
)
def test_theorem_c_3(n, k, beta, sigma, delta):
    spread = mpf(k) / (mpf(n) * mpf(sigma)) ** 2
    log_ratio = mp.log(mp.sqrt(mp.pi * k) / (mp.sqrt(2) * n * mpf(sigma) * mpf(delta)))
    exact = {
        "noise": mp.sqrt(2) * mpf(sigma) * erfc_inverse(mpf(delta) / k),
        "stability": mp.exp(spread / 2 + mp.sqrt(2 * spread * log_ratio)) - 1,
        "failure": 6 * mpf(delta) / mpf(beta),
    }
    found = theorem_c_3(n, k, beta, sigma, delta)
    assert set(found) == set(exact)
    for name, term in exact.items():
        assert float(found[name]) == pytest.approx(float(term), rel=1e-12)


def test_proposition_c_4_is_the_worst_batch_at_its_share_of_beta():
    """Batches of 1,000, 1,500 and 6,500 fresh records, each at beta / 3."""
    for name in ("jlnrss", "jlnrss+"):
        certificate = get(name)
        alone = [
            certificate.width(Schedule([size], [count]), 0.05 / 3).value
            for size, count in ((1_000, 40), (1_500, 20), (6_500, 70))
        ]
        assert certificate.width(SCHEDULE, 0.05).value == pytest.approx(max(alone), rel=1e-12)


def test_the_widest_of_many_batches_is_found():
    """Sizes and counts that rise together, so that no batch beats another in both."""
    sizes = [500 + 37 * i for i in range(60)]
    counts = [3 + (i * i) // 40 + i for i in range(60)]
    rounds = [sum(sizes[: i + 1]) for i in range(60)]
    certificate = get("jlnrss")
    alone = (
        certificate.width(Schedule([size], [count]), 0.05 / 60).value
        for size, count in zip(sizes, counts, strict=True)
    )
    assert certificate.width(Schedule(rounds, counts), 0.05).value == pytest.approx(max(alone))


def test_proposition_c_5():
    assert float(split_records(220, 0.1, 0.05)) == pytest.approx(11_000 * math.log(8_800))
    failure = float(split_failure([454, 455], [100, 120], 0.1))
    assert failure == pytest.approx(200 * math.exp(-9.08) + 240 * math.exp(-9.1))


def test_split_waits_for_all_records_even_if_few_batches_are_asked():
    """Five queries in forty batches touch the first rounds only, but a split may wait until n."""
    few = get("split").width(Batches(10, 3_000, b=40).at(5), 0.05).value
    assert few == get("split").width(Batches(3_000, 3_000).at(5), 0.05).value
