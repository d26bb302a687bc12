"""Selections: of anything whose answer is one number, however many there are."""

from __future__ import annotations

import json
import time
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier

import surehold as sh
from queries.generators import booleans
from queries.generators import written as spelled
from queries.wrong_types import check
from support.noise_sources import NoNoise
from support.runtime import adaptive_plan
from surehold.data.process.runner import Result
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries import (
    Schema,
    Select,
    SelectForm,
    accuracy,
    difference,
    form_of,
    fraction,
    kendall,
    mean,
    query_of,
    select,
    variance,
)
from surehold.queries.lexer import LONGEST_QUERY, LONGEST_SELECTION
from surehold.queries.selection import MOST_CANDIDATES

SCHEMA = Schema.of({"x": "float", "n": "int", "ill": "bool", "city": "str"})

TEXTS = {
    "select(lowest, 25, fraction(ill), fraction(n > 3))": select(["(ill)", "n>3.0"]),
    "select(highest, 1, mean(x, 0, 9))": select([mean("x", 0, 9)], best="highest", price=1),
    "select(lowest, 9, fraction(n > 20 <> ill), fraction(n > 30 <> ill))": None,
    "select(lowest, 4, kendall(x, n), kendall(n, x))": select(
        [kendall("x", "n"), "kendall(n, x)"], price=4
    ),
    "select(lowest, 25, difference(ill, n > 3), difference(n > 3, ill))": select(
        [difference("ill", "n > 3"), difference("n > 3", "ill")]
    ),
    "select(lowest, 3, statistic('drift'))": select(["statistic('drift')"], price=3),
}
TEXTS["select(lowest, 9, fraction(ill <> (n > 20)), fraction(ill <> (n > 30)))"] = select(
    [20, 30], lambda n: f"(n > {n}) <> ill", price=9
)
del TEXTS["select(lowest, 9, fraction(n > 20 <> ill), fraction(n > 30 <> ill))"]


@pytest.mark.parametrize("canonical", TEXTS)
def test_one_text_for_all_spellings(canonical):
    query = TEXTS[canonical]
    assert query.canonical == str(query) == query.text == canonical
    assert query_of(canonical) == query_of(canonical.replace(",", " , ")) == query
    assert hash(query_of(canonical)) == hash(query)
    assert json.loads(json.dumps(query.to_dict()))["canonical"] == canonical
    with pytest.raises(FrozenInstanceError):
        query.price = 0


def test_equality_is_of_candidates_order_side_and_price():
    query = select(["ill", "n > 3"])
    assert query == select({"one": "ill", "two": fraction("n > 3")})
    assert query != select(["n > 3", "ill"])
    assert query != select(["ill", "n > 3"], best="highest")
    assert query != select(["ill", "n > 3"], price=24)
    assert repr(query) == "<select: lowest of 2 for 25 answers>"


@st.composite
def conditions(draw):
    """Where one is drawn anew, Hypothesis writes down the strategy: here only its name."""
    return draw(booleans)


@given(st.lists(conditions(), min_size=1, max_size=4, unique_by=spelled))
def test_any_candidates_read_back(candidates):
    try:
        query = select(map(spelled, candidates))
    except InvalidInput as error:
        assert error.required == "all different"  # noqa: PT017  # two spellings of one
        return
    assert query_of(query.canonical) == query


def test_names():
    assert select(["ill", fraction("n > 3")]).names == ("ill", "fraction(n > 3)")
    assert select({"young": "n < 20", 7: "n > 3"}).names == ("young", "7")
    assert select([20, 30], lambda n: f"n > {n}").names == ("20", "30")
    long = [f"n > {i} and " + " and ".join(["ill"] * 20) for i in range(2)]
    assert select(long).names == ("#1", "#2")

    class Unspeakable:
        def __str__(self):
            raise RuntimeError("no")

    assert select([Unspeakable()], lambda _: "ill").names == ("#1",)
    assert select(["n > 3"], lambda text: text).names == ("n > 3",)


def test_forms():
    form = select(["ill", "mean(x, 0, 1)"], price=7).form(SCHEMA)
    assert isinstance(form, SelectForm)
    assert (form.price, form.slots, form.needs, form.best) == (7, 7, "low-sensitivity", "lowest")
    assert form.scale.high == 1.0
    with pytest.raises(InvalidQuery, match="not on one scale"):
        select(["ill", "mean(x, 0, 2)"]).form(SCHEMA)
    with pytest.raises(InvalidQuery, match="not on one scale"):
        select([variance("x", 0, 1), kendall("x", "n")]).form(SCHEMA)
    with pytest.raises(InvalidQuery, match="no column 'gone'"):
        select(["gone"]).form(SCHEMA)


@pytest.mark.parametrize("parameter", ["candidates", "loss", "best", "price"])
def test_wrong_types(parameter):
    # What a function of the caller's own raises is the caller's.
    own = callable if parameter == "loss" else lambda value: False
    check(select, {"candidates": ["ill", "n > 3"]}, parameter, unless=own)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: select([]), "1 to 10,000"),
        (lambda: select("ill"), "a list, or a mapping"),
        (lambda: select(fraction("ill")), "a list, or a mapping"),
        (lambda: select(["ill", "(ill)"]), "all different"),
        (lambda: select(["histogram(ill)"]), "one answer each"),
        (lambda: select([20, 30]), "given with a loss"),
        (lambda: select([20, 30], lambda n: n), "one answer each"),
        (lambda: select([20, 30], "n > {}"), "what makes a query"),
        (lambda: select(["ill"], best="smallest"), "lowest or highest"),
        (lambda: select(["ill"], price=0), "from 1 to 1,000,000"),
        (lambda: select(["ill"], price=2.0), "a whole number"),
        (lambda: select({"a\n": "ill"}), "printable"),
        (lambda: select({"": "ill"}), "printable"),
        (lambda: select({"\ud800": "ill"}), "printable"),
        (lambda: select({"x" * 201: "ill"}), "printable"),
        (lambda: select({None: "ill"}), "printable"),
        (lambda: select(f"n > {i}" for i in range(MOST_CANDIDATES + 1)), "1 to 10,000"),
    ],
)
def test_errors_that_help(make, match):
    with pytest.raises(InvalidInput, match=match):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select(", "starts with lowest or highest"),
        ("select(middle, 3, ill)", "starts with lowest or highest"),
        ("select(lowest", "expected ','"),
        ("select(lowest, 2.5, ill)", "a whole number"),
        ("select(lowest, n, ill)", "a whole number"),
        ("select(lowest, 2, histogram(ill))", "a single number"),
        ("select(lowest, 2, rate(ill, ill))", "a single number"),
        ("select(lowest, 2, select(lowest, 2, ill))", "a single number"),
        ("select(lowest, 2, ill", "expected '\\)'"),
        ("select(lowest, 2, ill) > 1", "stands alone"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(InvalidQuery, match=message):
        query_of(text)


@pytest.mark.parametrize(
    "text",
    ["select(lowest, 2)", "select(lowest, 0, ill)", "select(lowest, 1e150, ill)",
     "select(lowest, 2, ill, ill)"],
)  # fmt: skip
def test_what_cannot_be_meant(text):
    with pytest.raises(InvalidInput):
        query_of(text)


# ------------------------------------------------------------------------------- very many


def test_a_selection_may_be_longer_than_other_queries():
    query = select([f"n > {i} and city <> 'Oslo'" for i in range(2000)])
    assert len(query.canonical) > 5 * LONGEST_QUERY
    assert query_of(query.canonical) == query
    start = time.thread_time()
    form = form_of(query.canonical, SCHEMA)
    assert time.thread_time() - start < 20.0
    assert len(form.candidates) == 2000


def test_the_limit_stays_for_everything_else():
    long = " and ".join(f"city <> '{'x' * 500}{i}'" for i in range(25))
    for text in (long, f"fraction({long})", f"gate({long}, at_least, 1)", f"rate(ill, {long})",
                 f" select(lowest, 2, {long})"):  # fmt: skip
        with pytest.raises(InvalidQuery, match="longer than 10,000"):
            query_of(text)
    with pytest.raises(InvalidQuery, match="longer than 10,000"):
        query_of(f"select(lowest, 2, {long})")  # each candidate is a query
    with pytest.raises(InvalidQuery, match="longer than 10,000"):
        select([long])
    blanks = " " * (LONGEST_SELECTION + 1)
    with pytest.raises(InvalidQuery, match="longer than 4,000,000"):
        query_of(f"select(lowest, 2, {blanks}ill)")
    # A text that only begins like one is as short as any other.
    with pytest.raises(InvalidQuery):
        query_of(f"select(lowest, 2, ill) and {long}")


def test_a_selection_that_no_ledger_could_read_is_refused():
    bulk = " and ".join(f"city < '{'x' * 480}{i}'" for i in range(18))
    with pytest.raises(InvalidInput, match="no longer than 4,000,000 characters"):
        select([f"{bulk} and n > {i}" for i in range(450)])


class InProcess:
    """Evaluates quickly, in this process; with 200 models their own would take minutes."""

    def __init__(self, payload, features, want, limits=None):
        import pickle

        self._model, self._features = pickle.loads(payload.content), features

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
        import numpy as np

        for block in blocks:
            said = self._model.predict(block.select(self._features.names).to_numpy())
            places = np.searchsorted(self._model.classes_, said).astype(np.int32)
            yield Result(places, np.ones(len(said), bool))


def test_two_hundred_models(tmp_path, monkeypatch):
    """Asked once, found again, read back, replayed and verified."""
    from surehold.data import scores

    monkeypatch.setattr(scores, "ModelRunner", InProcess)
    columns = {f"column_{i}": "float" for i in range(5)} | {"ill": "bool"}
    sh.create(tmp_path / "d", plan=adaptive_plan(), columns=columns).close()
    rows = [{f"column_{i}": float(n % 7 + i) for i in range(5)} | {"ill": n % 3 == 0}
            for n in range(1000)]  # fmt: skip
    # Many that are as good as each other, and one that is right about most records.
    models = [
        DummyClassifier(strategy="constant", constant=at == 123, random_state=at).fit(
            [[0.0] * 5] * 2, [False, True]
        )
        for at in range(200)
    ]
    features = list(columns)[:5]
    query = select(
        {f"model {at}": model for at, model in enumerate(models)},
        lambda model: accuracy(model, features=features, target="not ill"),
        best="highest",
        price=30,
    )
    assert len(query.canonical) > 2 * LONGEST_QUERY
    with sh.Dataset(tmp_path / "d", NoNoise()) as dataset:
        dataset.append(rows)
        session = dataset.session(fixed_time=False)
        assert session.quote(query).price == 30
        found = session.ask(query, key="choice")
        assert (found.name, found.index, found.candidates) == ("model 123", 123, 200)
        assert found.price == 30
        again = session.ask(query)
        assert again.recorded
        assert again.index == 123
        assert session.ask(query.canonical).recorded
        assert session.transcript[0].index == 123
        assert "model 123" in found.explain()
        dataset.verify()
    with sh.Dataset(tmp_path / "d", NoNoise()) as dataset:
        assert dataset.session(fixed_time=False).ask(query, key="choice").name == "model 123"
        assert dataset.transcript[0].to_dict() == {**found.to_dict(), "recorded": True}
        assert dataset.verify().answers == 30
        assert isinstance(query_of(dataset.transcript[0].query), Select)


@settings(max_examples=20)
@given(st.integers(1, MOST_CANDIDATES), st.integers(1, 10**6))
def test_the_price_is_paid_once(count, price):
    query = select([f"n > {i}" for i in range(min(count, 50))], price=price)
    form = query.form(SCHEMA)
    assert (form.price, form.slots) == (price, price)
