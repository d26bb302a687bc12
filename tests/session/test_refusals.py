from __future__ import annotations

import pytest

import surehold as sh
from support.runtime import (
    adaptive_plan,
    batch_plan,
    contents,
    exhausted,
    made,
    opened,
    rare_plan,
    records,
)
from surehold.mechanisms import to_float


@pytest.mark.parametrize("plan", [adaptive_plan, batch_plan, rare_plan])
@pytest.mark.parametrize("query", [sh.fraction("age > 50"), sh.mean("bmi", low=-7, high=93)])
def test_an_ask_is_what_was_quoted(tmp_path, plan, query) -> None:
    with made(tmp_path / "clinic", plan(), 900) as dataset:
        session = dataset.session()
        quote = session.quote(query)
        assert quote.allowed
        assert not quote.recorded
        answer = session.ask(query)
        assert (quote.query, quote.round, quote.charge) == (
            answer.query,
            answer.round,
            answer.charge,
        )
        assert quote.answers_left == answer.answers_left + 1
        if plan is rare_plan:
            assert answer.width <= quote.width
        else:
            assert answer.width == quote.width


def test_a_quote_touches_no_record_and_changes_nothing(clinic, session, no_data) -> None:
    before = contents(clinic.path)
    no_data()
    assert session.quote("age > 50").allowed
    assert session.quote(sh.mean("bmi", low=0, high=1)).width > 0
    assert contents(clinic.path) == before


def test_a_refusal_touches_no_record_and_changes_nothing(clinic, session, no_data, commits) -> None:
    exhausted(session)
    before, count = contents(clinic.path), commits.count
    no_data()
    with pytest.raises(sh.BudgetExhausted):
        session.ask("age > 50")
    with pytest.raises(sh.BudgetExhausted):
        session.ask_many(["age > 50", "age > 0.5"])
    assert not session.quote("age > 50").allowed
    assert contents(clinic.path) == before
    assert commits.count == count


def test_the_numbers_of_a_refusal_are_true(tmp_path) -> None:
    with made(tmp_path / "clinic", count=600) as dataset:
        session = dataset.session()
        error = exhausted(session)
        policy = dataset._ledger.policy
        assert error.round == 600
        assert error.charge == to_float(policy.mechanism.charge(600))
        assert error.remaining == session.budget.remaining < error.charge
        assert error.more_records == error.fits_at - 600 > 1
        assert f"after {error.more_records:,} more records" in str(error)
        quote = session.quote("age > 50")
        assert (quote.allowed, quote.more_records) == (False, error.more_records)
        assert quote.reason == str(error)
        dataset.append(records(600, error.fits_at - 1))
        with pytest.raises(sh.BudgetExhausted) as caught:
            session.ask("age > 50")
        assert (caught.value.fits_at, caught.value.more_records) == (error.fits_at, 1)
        dataset.append(records(error.fits_at - 1, error.fits_at))
        assert session.ask("age > 50").round == error.fits_at


def test_a_refusal_at_a_held_round_says_that_a_later_one_is_there(clinic, session) -> None:
    clinic.append(records(1000, 1900))
    session.hold(200)
    error = exhausted(session)
    assert error.round == 200
    assert 200 < error.fits_at <= 1900
    assert error.more_records == 0
    assert "hold a later round" in str(error)
    session.hold(error.fits_at - 1)
    with pytest.raises(sh.BudgetExhausted):
        session.ask("age > 50")
    session.hold(error.fits_at)
    assert session.ask("age > 50").round == error.fits_at


def test_at_the_end_nothing_ever_fits(tmp_path) -> None:
    with made(tmp_path / "clinic", count=2000) as dataset:
        session = dataset.session()
        session.ask_many([f"age > {i} / 9" for i in range(294)])
        with pytest.raises(sh.BudgetExhausted, match="the plan is complete") as caught:
            session.ask("age > 50")
        assert (caught.value.fits_at, caught.value.more_records) == (None, None)
        quote = session.quote("age > 50")
        assert (quote.allowed, quote.more_records, quote.answers_left) == (False, None, 0)
        dataset.verify()
        assert dataset.status().answers_left == 0


def test_batches_run_as_they_were_planned(tmp_path) -> None:
    plan = batch_plan()
    with made(tmp_path / "clinic", plan, 100) as dataset:
        session = dataset.session()
        with pytest.raises(sh.NotReady) as caught:
            session.ask("age > 1")
        assert caught.value.numbers["more_records"] == 100
        assert session.quote("age > 1").more_records == 100
        for i, (round, count) in enumerate(dataset._ledger.policy.schedule):
            dataset.append(records(dataset.n, round + 10))
            for j in range(count):
                assert session.ask(f"age > {j} + {i} / 7").round == round
        assert len(dataset.transcript) == plan.queries
        with pytest.raises(sh.BudgetExhausted) as exhaustion:
            session.ask("age > 99")
        assert exhaustion.value.fits_at is None
        assert session.budget.remaining == 0.0
        dataset.verify()


def test_a_batch_that_was_left_out_is_refused_late_and_told_so(tmp_path) -> None:
    with made(tmp_path / "clinic", batch_plan(), 2000) as dataset:
        session = dataset.session()
        session.ask_many([f"age > {i}" for i in range(5)])
        with pytest.raises(sh.BudgetExhausted) as caught:
            session.ask("age > 50")
        assert caught.value.fits_at is None
        session.hold(1400)
        assert session.ask("age > 50").round == 1400
        with opened(dataset.path) as again:
            assert (
                again._ledger.filter.remaining(2000) == dataset._ledger.filter.remaining(2000) == 0
            )
            assert again._ledger.filter.remaining(800) == dataset._ledger.filter.remaining(800)
        dataset.verify()
