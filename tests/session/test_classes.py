"""Queries of every class: what they quote, cost and refuse."""

from __future__ import annotations

import dataclasses
from functools import cache

import pytest

import surehold as sh
from support.runtime import (
    batch_plan,
    contents,
    exhausted,
    made,
    rare_plan,
    records,
)
from support.workload import CASES, YOUTH
from surehold.data.record_store import RecordStore
from surehold.mechanisms import to_float
from surehold.planning import Plan
from surehold.queries import Select, query_of

pytestmark = pytest.mark.usefixtures("quick_models")


@pytest.fixture
def dataset(full):
    return full


@pytest.fixture
def session(dataset):
    return dataset.session("ann")


@pytest.fixture
def nobody_looks(no_data, monkeypatch):
    """From now on whoever looks at a record fails, fits included."""

    def forbid() -> None:
        no_data()
        monkeypatch.setattr(RecordStore, "gradients", RecordStore.exact)

    return forbid


# ---------------------------------------------------------------------------------- quotes


@pytest.mark.parametrize("name", CASES)
def test_an_ask_is_what_was_quoted_and_the_quote_is_free(
    dataset, session, monkeypatch, name: str
) -> None:
    case, before = CASES[name], contents(dataset.path)
    charge = dataset._ledger.policy.mechanism.charge(2000)
    with monkeypatch.context() as patch:
        for hidden in ("exact", "gradients", "text", "_catch_up"):
            patch.setattr(RecordStore, hidden, None)
        quote = session.quote(case.query)
    assert contents(dataset.path) == before
    assert (quote.query, quote.round, quote.allowed) == (case.canonical, 2000, True)
    assert (quote.price, quote.counts_for) == (case.price, case.slots)
    assert quote.charge == to_float(case.price * charge)
    result = session.ask(case.query)
    assert type(result) is case.kind
    assert dataset._ledger.state.spent == case.price * charge
    assert dataset._ledger.state.answers == case.slots
    assert result.answers_left == quote.answers_left - max(case.price, case.slots)
    assert result.remaining == session.budget.remaining
    if case.derived or case.kind is sh.Fitted:
        assert quote.width is None
    else:
        assert quote.width == result.width
    again = session.quote(case.query)
    assert (again.recorded, again.price, again.counts_for, again.charge) == (True, 0, 0, 0.0)
    dataset.verify()


def test_what_is_partly_there_costs_the_rest(session) -> None:
    session.ask("bmi > 20")
    quote = session.quote(CASES["rate"].query)
    assert (quote.price, quote.counts_for, quote.recorded) == (1, 1, False)
    session.ask(CASES["auc_pairs"].query)
    assert session.quote(CASES["auc"].query).price == 2
    session.ask(CASES["means"].query)
    assert session.quote(CASES["cells"].query).recorded


def test_a_text_is_as_good_as_an_object(session) -> None:
    for name, case in CASES.items():
        first = session.ask(case.query)
        again = session.ask(case.canonical)
        if isinstance(again, sh.Choice):  # whose candidates a text gives no names
            again = dataclasses.replace(again, name=first.name)
        if again.price == 0 and first.recorded:  # implied by others, and not kept under a text
            again = dataclasses.replace(again, text=first.text)
        assert again == dataclasses.replace(first, recorded=True), name


# -------------------------------------------------------------------------------- refusals


def test_a_table_with_more_cells_than_there_are_answers(tmp_path, nobody_looks) -> None:
    with made(tmp_path / "clinic", batch_plan(), 900) as dataset:
        session, before = dataset.session(), contents(dataset.path)
        nobody_looks()
        query = sh.histogram("age", bins=range(0, 101, 4))  # 25 bins and one for the others
        with pytest.raises(sh.BudgetExhausted) as caught:
            session.ask(query)
        policy = dataset._ledger.policy
        assert caught.value.charge == to_float(2 * policy.mechanism.charge(800))
        assert caught.value.remaining == to_float(dataset._ledger.filter.remaining(800))
        assert caught.value.charge < caught.value.remaining  # it is the count
        assert (caught.value.fits_at, caught.value.more_records) == (None, None)
        assert "this counts for 26 and 20 are left" in str(caught.value)
        quote = session.quote(query)
        assert (quote.allowed, quote.reason) == (False, str(caught.value))
        assert contents(dataset.path) == before


def test_when_the_answers_are_gone_but_not_the_budget(tmp_path) -> None:
    """A fit counts for none, as nothing is promised of it."""
    with made(tmp_path / "clinic", batch_plan(), 2000) as dataset:
        session = dataset.session()
        session.ask(sh.histogram("age", bins=range(0, 100, 5)))  # 19 cells and the others'
        assert dataset.status().answers_left == 0 < session.budget.remaining
        for query in ("age > 50", "variance(bmi, 0, 50)", CASES["rate"].query):
            with pytest.raises(sh.BudgetExhausted, match=r"no more answers fit|0 are left"):
                session.ask(query)
        few = dataclasses.replace(CASES["fit"].query, price=3)
        assert session.ask(few).price == 3
        with pytest.raises(sh.BudgetExhausted):
            session.ask(dataclasses.replace(few, steps=1))
        assert session.budget.remaining == to_float(
            dataset._ledger.policy.budget - 5 * dataset._ledger.policy.mechanism.charge(2000)
        )
        dataset.verify()


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_of_a_refusal_are_true_for_every_class(tmp_path, name: str) -> None:
    """What would fit later fits then, and not one record earlier."""
    case = CASES[name]
    with made(tmp_path / "clinic", count=600) as dataset:
        dataset.register(YOUTH)
        session = dataset.session()
        exhausted(session)
        before = contents(dataset.path)
        with pytest.raises(sh.BudgetExhausted) as caught:
            session.ask(case.query, key="k")
        assert contents(dataset.path) == before
        error, charge = caught.value, dataset._ledger.policy.mechanism.charge
        assert error.charge == to_float(case.price * charge(600))
        assert error.remaining == session.budget.remaining
        left = dataset._ledger.filter.remaining(600)
        assert case.price * charge(error.fits_at) <= left < case.price * charge(error.fits_at - 1)
        assert error.more_records == error.fits_at - 600
        dataset.append(records(600, error.fits_at - 1))
        with pytest.raises(sh.BudgetExhausted):
            session.ask(case.query, key="k")
        dataset.append(records(error.fits_at - 1, error.fits_at))
        assert session.ask(case.query, key="k").round == error.fits_at
        dataset.verify()


def test_a_batch_of_every_class_is_all_or_nothing(dataset, session) -> None:
    queries = [case.query for case in CASES.values()]
    distinct = {leaf.canonical: leaf for case in CASES.values() for leaf in case.leaves}
    price = sum(leaf.price for leaf in distinct.values())
    session.ask_many([f"age > {i} / 7" for i in range(294 - price + 1)])
    before = contents(dataset.path)
    with pytest.raises(sh.BudgetExhausted) as caught:
        session.ask_many(queries)
    assert contents(dataset.path) == before
    charge = dataset._ledger.policy.mechanism.charge(2000)
    assert caught.value.charge == to_float(price * charge)
    kept = [query for query in queries if query is not CASES["kendall"].query]
    slots = sum(leaf.slots for leaf in distinct.values())
    assert slots > price  # the number of answers is what ends first
    with pytest.raises(sh.BudgetExhausted, match="counts for"):
        session.ask_many(kept)
    assert contents(dataset.path) == before


def test_every_class_in_one_step_and_one_pass(dataset, session, monkeypatch) -> None:
    passes = []
    real = RecordStore.exact
    monkeypatch.setattr(
        RecordStore, "exact", lambda self, *rest: passes.append(1) or real(self, *rest)
    )
    results = session.ask_many([case.query for case in CASES.values()], key="all")
    assert len(passes) == 1
    for case, result in zip(CASES.values(), results, strict=True):
        assert (type(result), result.query) == (case.kind, case.canonical)
    spent = dataset._ledger.state.spent
    again = session.ask_many([case.query for case in CASES.values()], key="all")
    assert dataset._ledger.state.spent == spent
    assert [one.entry for one in again] == [one.entry for one in results]
    assert dataset.verify().answers == dataset._ledger.state.answers


# ------------------------------------------------------------------------------ certificates

LOW_SENSITIVITY = (
    *("variance", "gini", "kendall", "concordance", "auc_pairs", "auc"),
    *("select", "select the highest", "statistic"),
)


@cache
def paper_plan(covers: str) -> Plan:
    """Five answers by the paper's theorem."""
    return sh.plan(n0=2500, n=5000, queries=5, beta=0.2, certificate="adaptive", covers=covers)


@pytest.mark.parametrize("make", [rare_plan, lambda: paper_plan("statistical")])
@pytest.mark.parametrize("name", LOW_SENSITIVITY)
def test_what_a_theorem_does_not_cover_is_refused(tmp_path, nobody_looks, make, name) -> None:
    with made(tmp_path / "clinic", make(), 300) as dataset:
        dataset.register(YOUTH)
        session, before, query = dataset.session(), contents(dataset.path), CASES[name].query
        nobody_looks()
        uses = [session.ask, session.quote, lambda q: session.ask_many(["age > 1", q], key="k")]
        if not isinstance(query_of(CASES[name].canonical), Select):
            uses.append(lambda q: session.ask(sh.gate(q, at_least=0.5)))
        for use in uses:
            with pytest.raises(sh.NotApplicable, match="means over records only"):
                use(query)
        assert contents(dataset.path) == before


def test_with_low_sensitivity_covered_it_is_answered(tmp_path) -> None:
    with made(tmp_path / "clinic", paper_plan("low-sensitivity"), 5000) as dataset:
        dataset.register(YOUTH)
        session = dataset.session()
        answer = session.ask("kendall(age, bmi)")
        assert answer.width == pytest.approx(4 * session.ask("age > 50").width)
        choice = session.ask("select(highest, 1, age > 5, age > 99)")
        assert choice.certificate == "adaptive"
        assert 0.0 < choice.width <= 1.0
        session.ask(sh.statistic("youth"))
        dataset.verify()


@pytest.mark.parametrize("name", ["rate", "cells", "means", "fit", "difference", "gate", "model"])
def test_means_over_records_run_under_every_plan(tmp_path, name: str) -> None:
    for i, plan in enumerate((rare_plan(), paper_plan("statistical"))):
        with made(tmp_path / str(i), plan, 2000) as dataset:
            if plan.n > 2000:
                dataset.append(records(2000, 5000))
            result = dataset.session().ask(CASES[name].query)
            assert type(result) is CASES[name].kind
            dataset.verify()
