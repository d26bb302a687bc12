"""One suite for every certificate, found by introspection: whatever is registered must pass."""

import inspect
import math
import pkgutil
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

import surehold.theory.certificates as package
from surehold.errors import InvalidInput, NotApplicable
from surehold.theory.certificates import CERTIFICATES, Batches, Certificate, Growing, Width, get
from surehold.theory.certificates.sharp import RareSharp
from surehold.theory.exposure import Schedule

ALL = sorted(CERTIFICATES)
SETTINGS = [
    Batches(20_000, 20_000),
    Batches(20_000, 60_000, b=3),
    Growing(20_000, 60_000),
    Growing(20_000, 20_000),
]
BETA = 0.05


def pairs():
    """Every certificate in every setting where its theorem holds."""
    return [
        pytest.param(get(name), setting, id=f"{name}-{type(setting).__name__}-{setting.n}")
        for name in ALL
        for setting in SETTINGS
        if get(name).objection(setting.at(5)) is None
    ]


def test_every_certificate_class_is_registered_under_its_name():
    classes = {
        cls
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
        for _, cls in inspect.getmembers(import_module(module.name), inspect.isclass)
        if issubclass(cls, Certificate) and not inspect.isabstract(cls)
    } - {RareSharp}  # `sharp` for a value that the plan names, so there is no one of it
    assert {type(certificate) for certificate in CERTIFICATES.values()} == classes
    assert all(name == certificate.name for name, certificate in CERTIFICATES.items())
    assert set(CERTIFICATES) == {
        "sharp",
        "ours-n",
        "ours-u",
        "adaptive",
        "jlnrss",
        "jlnrss+",
        "split",
    }


@pytest.mark.parametrize(("certificate", "setting"), pairs())
def test_width_is_the_sum_of_its_terms_rounded_outwards(certificate, setting):
    width = certificate.width(setting.at(50), BETA)
    assert isinstance(width, Width)
    assert width.terms
    assert width.constants
    assert all(math.isfinite(term) and term >= 0.0 for term in width.terms.values())
    assert all(math.isfinite(value) and value > 0.0 for value in width.constants.values())
    total = sum(width.terms.values())
    assert total <= width.value <= total * (1 + 1e-11)
    assert width.sigma == width.constants.get("sigma")


@pytest.mark.parametrize(("certificate", "setting"), pairs())
def test_rises_with_queries_and_falls_with_beta_and_records(certificate, setting):
    def width(k=60, beta=BETA, times=1):
        sized = setting.sized(setting.n0 * times, Fraction(setting.n, setting.n0))
        return certificate.width(sized.at(k), beta).value

    by_queries = [width(k=k) for k in (1, 2, 6, 60, 600, 6_000)]
    assert by_queries == sorted(by_queries)
    by_beta = [width(beta=beta) for beta in (0.9, 0.3, 0.05, 1e-3, 1e-8)]
    assert by_beta == sorted(by_beta)
    by_records = [width(times=times) for times in (1, 2, 10, 1000)]
    assert by_records == sorted(by_records, reverse=True)


@pytest.mark.parametrize(("certificate", "setting"), pairs())
def test_the_chosen_noise_is_the_best(certificate, setting):
    design = setting.at(50)
    best = certificate.width(design, BETA)
    if best.sigma is None:
        assert certificate.mechanism == "split"
        return
    assert certificate.width(design, BETA, sigma=best.sigma).value == pytest.approx(
        best.value, rel=1e-7
    )
    for factor in (0.5, 0.95, 1.05, 2.0):
        other = certificate.width(design, BETA, sigma=best.sigma * factor)
        assert other.sigma == pytest.approx(best.sigma * factor)
        assert other.value > best.value


@pytest.mark.parametrize(("certificate", "setting"), pairs())
def test_queries_is_the_largest_number_that_fits(certificate, setting):
    # Fresh batches are thin, so a wide target: it must be reachable for every certificate.
    k = certificate.queries(setting, 0.35, BETA)
    assert k >= 1
    assert certificate.width(setting.at(k), BETA).value <= 0.35
    assert certificate.width(setting.at(k + 1), BETA).value > 0.35


@pytest.mark.parametrize(("certificate", "setting"), pairs())
def test_records_is_the_smallest_size_that_fits(certificate, setting):
    growth = Fraction(setting.n, setting.n0)
    found = certificate.records(setting, 30, 0.1, BETA, growth)
    assert found.n == found.n0 * growth
    assert certificate.width(found.at(30), BETA).value <= 0.1
    smaller = setting.sized(found.n0 - 1, growth)
    assert certificate.width(smaller.at(30), BETA).value > 0.1


@pytest.mark.parametrize("name", ALL)
def test_no_query_fits_an_impossible_width(name):
    assert get(name).queries(Batches(100, 100), 1e-4, BETA) == 0


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("beta", [0.0, 1.0, -0.1, 2.0, math.nan, "0.05", None, True])
def test_refuses_a_beta_that_is_no_probability(name, beta):
    with pytest.raises(InvalidInput, match="beta"):
        get(name).width(Batches(100, 100).at(1), beta)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("sigma", [0.0, -1.0, math.inf, math.nan])
def test_refuses_a_noise_that_is_none(name, sigma):
    with pytest.raises(InvalidInput, match="sigma"):
        get(name).width(Batches(100, 100).at(1), BETA, sigma=sigma)


@pytest.mark.parametrize("name", ["ours-n", "ours-u", "jlnrss", "jlnrss+"])
def test_objects_to_a_schedule_that_is_not_fixed(name):
    with pytest.raises(NotApplicable, match="fixed in advance"):
        get(name).width(Growing(100, 200).at(5), BETA)


@pytest.mark.parametrize("name", ["jlnrss", "jlnrss+", "split"])
def test_baselines_object_to_other_queries_and_noises(name):
    with pytest.raises(NotApplicable, match="statistical"):
        get(name).width(Schedule([100], [5], sensitivity=lambda t: 2.0 / t), BETA)
    with pytest.raises(NotApplicable, match="noise"):
        get(name).width(Schedule([100, 200], [5, 5], noise=[1.0, 2.0]), BETA)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("k", [1, 10**6, 10**12])
@pytest.mark.parametrize("n", [1, 1000, 10**12])
@pytest.mark.parametrize("beta", [1e-12, 0.5, 0.999])
def test_gives_a_number_or_says_nothing_in_every_corner(name, k, n, beta):
    value = get(name).width(Batches(n, n).at(k), beta).value
    assert value > 0.0  # and so not NaN


@pytest.mark.parametrize("name", ALL)
def test_a_million_rounds(name):
    rounds = 500_000 + np.arange(1_000_000)
    width = get(name).width(Schedule(rounds, np.ones(rounds.size)), BETA)
    assert width.value > 0.0


def test_unknown_name():
    with pytest.raises(InvalidInput, match="sharp, ours-n"):
        get("sharpest")
