"""No replaced record moves a statistic by more than is charged: every query class, by brute force.

All datasets of one to four records over a small universe, and all their neighbours. What a query
comes to is worked out as a session does it, exactly, and compared in fractions. What every entry of
the table reaches of its price is stated: a bound that is never met would test nothing.
"""

from __future__ import annotations

import inspect
import math
import pkgutil
import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import combinations_with_replacement, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

import surehold.queries as package
from data.universe import (
    BINARY,
    CALLABLE,
    NOT_A_NUMBER,
    OF_CITY,
    OF_ILL,
    OF_X,
    OTHER,
    RAISES,
    REGRESSOR,
    SCHEMA,
    THREE,
    UNIVERSE,
    WRONG,
    frame_of,
)
from surehold.data import scores
from surehold.data.gradients import Gradients
from surehold.data.process.crew import close_idle
from surehold.data.process.runner import ModelLimits, ModelRunner, Result
from surehold.data.record_store import RecordStore
from surehold.data.statistics import Statistic
from surehold.mechanisms.exponential import ExponentialMechanism
from surehold.queries import (
    Charged,
    Derived,
    FitForm,
    NumberForm,
    Query,
    SelectForm,
    Source,
    accuracy,
    auc,
    brier,
    calibration,
    confusion,
    difference,
    f1,
    fit,
    fraction,
    histogram,
    improvement,
    loss,
    mean,
    means,
    query_of,
    rate,
    select,
    statistic,
    totals,
)
from surehold.queries.custom import ROOM
from surehold.queries.models import Discordance, Metric
from surehold.queries.pairs import PairKind
from surehold.queries.query_text import READERS
from surehold.session import noisy_answers

MOST_RECORDS = 4
LIMITS = ModelLimits(seconds_per_block=20.0, seconds_in_all=120.0)


# ---------------------------------------------------------------------------------- queries


@dataclass(frozen=True)
class Entry:
    """A query and, of the most that its price allows, how much some replacement moves it."""

    query: Query | str
    reaches: Fraction | float = 1
    models: bool = False


def _farthest(table):
    values = np.nan_to_num(np.asarray(table["x"].to_numpy(zero_copy_only=False), dtype=float))
    return float(np.clip(values, 0.0, 1.0).mean())


def _slow(table):
    """One that moves by 1/sqrt(t): declared so, and no more is charged."""
    values = np.nan_to_num(np.asarray(table["x"].to_numpy(zero_copy_only=False), dtype=float))
    return math.sqrt(float((values == 1.0).mean()))


STATISTICS = (
    Statistic("farthest", _farthest, constant=1, columns=["x"]),
    Statistic("slow", _slow, constant=1, power=0.5, columns=["x"]),
)

TABLE = {
    "fraction": Entry("ill"),
    "fraction of a constant": Entry("1 > 0", 0),
    "mean": Entry("mean(x, -5, 60)"),
    "mean of integers": Entry("mean(n, 0, 2)"),
    "difference of fractions": Entry(difference("ill", "not ill")),
    "difference of means": Entry(difference(mean("x", 0, 1), mean("-x", 0, 1))),
    "histogram": Entry("histogram(city)"),
    "histogram of values": Entry(histogram("n", cells=[0, 1, 2**53])),
    "histogram of bins": Entry(histogram("x", bins=[-1, 0, 1, 1e150])),
    "crosstab": Entry("histogram(city, ill, bins(x, 0, 1))"),
    "totals": Entry(totals("x", 0, 1, by=["city", "ill"])),
    "totals from below 0": Entry("totals(n, -3, 2, bins(x, 0, 1))", 0.8),
    "accuracy": Entry(accuracy(BINARY, **OF_ILL), models=True),
    "accuracy of a callable": Entry(accuracy(CALLABLE, **OF_ILL), models=True),
    "accuracy of three": Entry(accuracy(THREE, **OF_CITY), models=True),
    "zero_one": Entry(loss(BINARY, **OF_ILL, kind="zero_one"), models=True),
    "log": Entry(loss(BINARY, **OF_ILL, kind="log", most=4), models=True),
    "log of a callable": Entry(loss(CALLABLE, **OF_ILL, kind="log", most=4), models=True),
    "squared": Entry(loss(REGRESSOR, **OF_X, kind="squared"), models=True),
    "absolute": Entry(loss(REGRESSOR, **OF_X, kind="absolute"), models=True),
    "squared, of a callable": Entry(loss(CALLABLE, **OF_X, kind="squared"), models=True),
    "brier": Entry(brier(BINARY, **OF_ILL), models=True),
    "brier of three": Entry(brier(THREE, **OF_CITY), models=True),
    "brier of a callable": Entry(brier(CALLABLE, **OF_ILL), models=True),
    "confusion": Entry(confusion(BINARY, **OF_ILL), models=True),
    "confusion of three": Entry(confusion(THREE, **OF_CITY), models=True),
    "calibration": Entry(calibration(BINARY, **OF_ILL, bins=3), models=True),
    "calibration, one bin": Entry(calibration(CALLABLE, **OF_ILL, bins=1), models=True),
    "improvement": Entry(
        improvement(accuracy(BINARY, **OF_ILL), accuracy(OTHER, **OF_ILL)), models=True
    ),
    "improvement of losses": Entry(
        improvement(
            loss(BINARY, **OF_ILL, kind="log", most=2), loss(OTHER, **OF_ILL, kind="log", most=2)
        ),
        models=True,
    ),
    "classes": Entry("classes(ill in (false, true))"),
    "classes as numbers": Entry("classes(ill in (0, 1))"),
    "variance": Entry("variance(x, 0, 1)"),
    "gini": Entry("gini(x, 0, 1)"),
    "kendall": Entry("kendall(x, n)"),
    "concordance": Entry("concordance(x, n)"),
    "auc_pairs": Entry("auc_pairs(x, ill)"),
    "model_pairs": Entry(auc(BINARY, **OF_ILL).parts[0], models=True),
    "model_pairs of a callable": Entry(auc(CALLABLE, **OF_ILL).parts[0], models=True),
    "statistic": Entry(statistic("farthest").resolve(STATISTICS[0].declared), 1 / ROOM**2),
    "slow statistic": Entry(statistic("slow").resolve(STATISTICS[1].declared), 0.998),
    "select": Entry(select(["ill", "not ill", "mean(x, 0, 1)", "mean(n, 0, 1)"], price=9)),
    "select of pairs": Entry("select(highest, 3, variance(x, 0, 1), auc_pairs(x, ill))"),
    "select of models": Entry(
        select([BINARY, OTHER], lambda one: accuracy(one, **OF_ILL), best="highest"), models=True
    ),
    "select of differences": Entry(
        select([difference("ill", "not ill"), difference("n > 0", "n = 0")])
    ),
    "fit": Entry(
        fit("logistic", target="ill", features={"x": (-1e3, 72), "n": (-1e6, 1)}, price=4), 0.98
    ),
    "linear fit": Entry(
        fit("linear", target="x", low=-1, high=1, features={"n": (0, 2)}, price=4), 0.999
    ),
}

# What follows from answers costs nothing of its own: it is made of queries that are in the table.
DERIVED = {
    "rate": rate("ill", given="n > 0"),
    "rate of a mean": rate("x", given="n > 0", low=0, high=1),
    "f1": f1("ill", "n > 0"),
    "difference of rates": difference(rate("ill", given="n > 0"), rate("ill", given="n < 0")),
    "means": means("x", 0, 1, by="city"),
    "auc": auc("x", target="ill"),
    "model_auc": auc(BINARY, **OF_ILL),
    "gate": package.gate("ill", at_least=0.5),
}


def form_of(entry):
    query = query_of(entry.query) if isinstance(entry.query, str) else entry.query
    assert isinstance(query, Charged)
    return query.form(SCHEMA)


FORMS = {name: form_of(entry) for name, entry in TABLE.items()}
NUMBERS = [name for name, form in FORMS.items() if isinstance(form, NumberForm)]
SELECTIONS = [name for name, form in FORMS.items() if isinstance(form, SelectForm)]
FITS = [name for name, form in FORMS.items() if isinstance(form, FitForm)]


# ------------------------------------------------------------------- the table is complete


def concrete(base):
    """All classes of the package that are of a kind and can be made."""
    modules = [
        import_module(module.name)
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
    ]
    return {
        cls
        for module in modules
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, base)
        and cls is not base
        and cls.__module__ == module.__name__
        and not inspect.isabstract(cls)
        and not cls.__name__.startswith("_")
    }


def queries():
    for entry in TABLE.values():
        yield query_of(entry.query) if isinstance(entry.query, str) else entry.query


def sources(source):
    yield source
    for part in ("plus", "minus"):
        if hasattr(source, part):
            yield from sources(getattr(source, part))
    if hasattr(source, "measure"):
        yield source.measure


def test_every_query_class_is_in_the_table():
    asked = {type(query) for query in queries()}
    assert concrete(Charged) == asked, "a query class without an entry in TABLE"
    assert concrete(Derived) == {type(query) for query in DERIVED.values()}
    assert concrete(package.Form) == {type(form) for form in FORMS.values()}


def test_every_name_metric_and_kind_is_in_the_table():
    texts = [query.canonical for query in [*queries(), *DERIVED.values()]]
    assert {text.partition("(")[0] for text in texts} == set(READERS)
    metrics = {getattr(query, "metric", None) for query in queries()}
    assert metrics - {None} == set(get_args(Metric))
    pairs = {getattr(query, "kind", None) for query in queries()}
    assert pairs >= set(get_args(PairKind))
    fits = {form.kind for form in FORMS.values() if isinstance(form, FitForm)}
    assert fits == {"logistic", "linear"}


def test_every_source_is_in_the_table():
    found = {
        type(source)
        for form in FORMS.values()
        for outer in form.sources
        for source in sources(outer)
    }
    # Discordance serves the surprise guard alone, which asks nothing of sensitivity.
    assert found == concrete(Source) - {Discordance}


@pytest.mark.parametrize("name", DERIVED)
def test_what_is_derived_is_made_of_what_is_in_the_table(name):
    def leaves(query):
        return (
            [leaf for part in query.parts for leaf in leaves(part)]
            if isinstance(query, Derived)
            else [query]
        )

    asked = {type(query) for query in queries()}
    assert {type(leaf) for leaf in leaves(DERIVED[name])} <= asked


# ----------------------------------------------------------- what the models say of a record


def measures():
    """All model measures of the table: what a runner is made of, and the measure."""
    found = {}
    for form in FORMS.values():
        for outer in form.sources:
            for source in sources(outer):
                if isinstance(source, package.ModelMeasure):
                    tally = scores._Tally(source)
                    wants = {tally.want} | ({"scores"} if len(source.target.values) == 2 else set())
                    for want in wants:
                        found[source.model.name, source.features, want] = source
    return found


EVERYBODY = tuple(range(len(UNIVERSE)))


@cache
def said(name, features, want, order=EVERYBODY, cuts=EVERYBODY[-1:]):
    """What the real runner finds for each record of the universe, in some order and cut somehow."""
    source = measures()[name, features, want]
    frame = frame_of([UNIVERSE[at] for at in order])
    edges = [0, *cuts, len(order)]
    blocks = [frame.slice(low, high - low) for low, high in pairwise(edges)]
    with ModelRunner(source.model.payload, features, want, LIMITS) as runner:
        results = list(runner.evaluate(blocks))
    values = np.concatenate([result.values for result in results])
    known = np.concatenate([result.known for result in results])
    return {at: (values[i], known[i]) for i, at in enumerate(order)}


@pytest.fixture(scope="module", autouse=True)
def _no_children_left():
    yield
    close_idle()


def _key(values):
    return tuple(None if value is None or value != value else value for value in values)


def test_what_a_model_says_of_a_record_does_not_depend_on_the_others():
    generator = random.Random(1)
    for name, features, want in measures():
        whole = said(name, features, want)
        for _ in range(2):
            order = [generator.randrange(len(UNIVERSE)) for _ in range(9)]
            order = tuple(dict.fromkeys(order))
            cuts = (generator.randint(0, len(order)),)
            for at, (value, known) in said(name, features, want, order, cuts).items():
                assert known == whole[at][1]
                assert np.array_equal(value, whole[at][0], equal_nan=True)


def test_the_models_misbehave_as_they_should():
    """Else this file would show less than it says."""
    silent = {}
    for name, features, want in measures():
        found = said(name, features, want)
        silent[name.partition(":")[0], want, len(features.names)] = {
            UNIVERSE[at]["x"] for at, (_, known) in found.items() if not known
        }
    assert silent["callable", "scores", 1] == {None, RAISES, NOT_A_NUMBER, WRONG}
    assert silent["sklearn", "labels", 1] == {RAISES, WRONG}
    assert silent["sklearn", "scores", 1] == {RAISES, NOT_A_NUMBER}


class StubRunner:
    """In place of the real one, in this process: a table of what that one found."""

    def __init__(self, payload, features, want, limits=None):
        self._features = features
        whole = said(f"{payload.kind}:{payload.digest}", features, want)
        self._table = {
            _key(UNIVERSE[at][name] for name in features.names): found
            for at, found in whole.items()
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def probe(self):
        pass

    def check_time(self, records):
        pass

    def expected_seconds(self, records):
        return 0.0

    def evaluate(self, blocks):
        for block in blocks:
            rows = [self._table[_key(row)] for row in block.select(self._features.names).rows()]
            yield Result(
                np.array([value for value, _ in rows]), np.array([known for _, known in rows])
            )


# ----------------------------------------------------------------------------- brute force


def exactly(records, sources, patch):
    """As a session has it: RecordStore.exact, on records that are in memory already."""
    data = RecordStore(SimpleNamespace(folder=Path(), store=None))
    data._engine.extend(frame_of(records))
    for one in STATISTICS:
        data.register(one)
    patch.setattr(scores, "ModelRunner", StubRunner)
    return data.exact(sources, len(records))


def datasets():
    """All of them, as sorted places in the universe: no statistic looks at the order."""
    for size in range(1, MOST_RECORDS + 1):
        yield from combinations_with_replacement(range(len(UNIVERSE)), size)


def neighbours(dataset):
    """Those that differ in one record, each pair once."""
    for i in range(len(dataset)):
        rest = dataset[:i] + dataset[i + 1 :]
        for other in range(dataset[i] + 1, len(UNIVERSE)):
            yield tuple(sorted((*rest, other)))


@pytest.fixture(scope="module")
def everything():
    """What every source of every query comes to on every dataset."""
    flat = [source for form in FORMS.values() for source in form.sources]
    assert len({source.canonical for source in flat}) <= len(flat)
    with pytest.MonkeyPatch.context() as patch:
        found = {
            dataset: exactly([UNIVERSE[at] for at in dataset], flat, patch)
            for dataset in datasets()
        }
    return {
        dataset: {source.canonical: one for source, one in zip(flat, exact, strict=True)}
        for dataset, exact in found.items()
    }


def test_all_datasets_are_looked_at(everything):
    assert len(everything) == sum(
        math.comb(len(UNIVERSE) + size - 1, size) for size in range(1, MOST_RECORDS + 1)
    )
    pairs = [(one, other) for one in datasets() for other in neighbours(one)]
    assert len(set(pairs)) > 3000
    assert all(other in everything for _, other in pairs)


def distance(one, other):
    """The square of the L2 distance, in fractions."""
    return sum(
        (Fraction(a, one.denominator) - Fraction(b, other.denominator)) ** 2
        for a, b in zip(one.numerators, other.numerators, strict=True)
    )


@pytest.mark.parametrize("name", NUMBERS)
def test_no_replacement_moves_it_by_more_than_is_charged(name, everything):
    form, entry = FORMS[name], TABLE[name]
    farthest = Fraction(0)
    for dataset, exact in everything.items():
        one, t = exact[form.source.canonical], len(dataset)
        cells = 1 if form.labels is None else len(form.labels)
        assert len(one.numerators) == cells
        assert all(type(number) is int for number in (*one.numerators, one.denominator))
        assert all(0 <= number <= one.denominator for number in one.numerators)
        for neighbour in neighbours(dataset):
            moved = t * t * distance(one, everything[neighbour][form.source.canonical])
            assert moved <= form.price, (dataset, neighbour)
            farthest = max(farthest, moved)
    assert farthest >= form.price * Fraction(entry.reaches)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_told_is_what_is_charged_for(name, everything):
    """The number is low + unit * span, cut at high: no unit may reach further than there is."""
    form = FORMS[name]
    for dataset, exact in everything.items():
        one = exact[form.source.canonical]
        top = Fraction(form.top_at(len(dataset))) * (1 + Fraction(1, 2**40))
        assert all(Fraction(number, one.denominator) <= top for number in one.numerators)


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_goes_by_losses_that_move_by_one_at_most(name, everything, monkeypatch):
    form, entry = FORMS[name], TABLE[name]
    taken = []

    def choose(self, losses, common, bits):
        taken.append([Fraction(one, common) for one in losses])
        return 0

    monkeypatch.setattr(ExponentialMechanism, "choose", choose)
    widths = SimpleNamespace(
        selection=lambda form, t: SimpleNamespace(epsilon=1.0, allowance=0.1),
        selected=lambda *_: SimpleNamespace(width=0.1),
    )
    policy = SimpleNamespace(widths=widths)
    noise = SimpleNamespace(bits=lambda: None)
    losses = {}
    for dataset, exact in everything.items():
        found = [exact[candidate.source.canonical] for candidate in form.candidates]
        noisy_answers.draw_body(form, found, policy, len(dataset), noise)
        losses[dataset] = taken.pop()
        if len(dataset) > 1:  # one record may stand for a pair
            assert all(0 <= one <= len(dataset) for one in losses[dataset])
    farthest = max(
        abs(a - b)
        for dataset in losses
        for neighbour in neighbours(dataset)
        for a, b in zip(losses[dataset], losses[neighbour], strict=True)
    )
    assert farthest <= 1
    assert farthest >= entry.reaches


POINTS = [0.0, 1.0, -1.0, 1e3, -1e12, 1e300]


def between(form, low, high):
    """Coefficients by which records with so much of the first feature are on different sides."""
    measure = form.features[0]
    middle = 2.0 * (0.5 * (low + high) - measure.low) / (measure.high - measure.low) - 1.0
    return [1e9 * middle, -1e9, *[0.0] * (len(form.features) - 1)]


@pytest.mark.parametrize("name", FITS)
def test_a_gradient_moves_by_two_over_t_at_most(name):
    form = FORMS[name]
    size = 1 + len(form.features)
    points = [*([at] * size for at in POINTS), [5.0, *[-3.0] * (size - 1)], between(form, 70, 71)]
    vectors = {}
    for dataset in datasets():
        gradients = Gradients(form, frame_of([UNIVERSE[at] for at in dataset]))
        vectors[dataset] = [gradients.moments(), *(gradients.total(at) for at in points)]
    farthest = Fraction(0)
    for dataset, found in vectors.items():
        for neighbour in neighbours(dataset):
            for (one, below), (other, same) in zip(found, vectors[neighbour], strict=True):
                assert below == same
                square = sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
                moved = Fraction(square * len(dataset) ** 2, below**2)
                assert moved <= 4
                farthest = max(farthest, moved)
    assert farthest >= 4 * Fraction(TABLE[name].reaches)


def test_the_order_of_records_does_not_matter(everything, monkeypatch):
    """So that looking at sorted datasets was enough."""
    generator = random.Random(2)
    flat = [source for form in FORMS.values() for source in form.sources]
    for dataset in generator.sample(list(everything), 20):
        shuffled = list(dataset)
        generator.shuffle(shuffled)
        found = exactly([UNIVERSE[at] for at in shuffled], flat, monkeypatch)
        for source, one in zip(flat, found, strict=True):
            assert one == everything[dataset][source.canonical]


def test_the_stub_is_as_the_runner(everything):
    """The same integers through processes, for one dataset with all of the universe in it."""
    flat = [source for name, form in FORMS.items() if TABLE[name].models for source in form.sources]
    data = RecordStore(SimpleNamespace(folder=Path(), store=None))
    data._engine.extend(frame_of(UNIVERSE))
    real = data.exact(flat, len(UNIVERSE))
    with pytest.MonkeyPatch.context() as patch:
        assert exactly(UNIVERSE, flat, patch) == real


def test_a_statistic_that_is_charged_too_little_is_found(everything):
    """The test can fail: counting each cell's move alone would not pass."""
    form = FORMS["crosstab"]
    assert any(
        len(dataset) ** 2
        * distance(exact[form.source.canonical], everything[neighbour][form.source.canonical])
        > 1
        for dataset, exact in everything.items()
        for neighbour in neighbours(dataset)
    )
    assert fraction("ill").form(SCHEMA).price == 1
