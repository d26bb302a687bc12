"""Limits: what one analyst may spend, within the one budget that counts for all."""

from __future__ import annotations

import threading
from fractions import Fraction

import pytest

import surehold as sh
from support.runtime import made, opened, records, sql


def spend(session: sh.Session) -> sh.BudgetExhausted:
    for i in range(1000):
        try:
            session.ask(f"age > {i} + 0.5")
        except sh.BudgetExhausted as error:
            return error
    raise AssertionError("the limit never ended it")


def test_a_limit_ends_one_analyst_and_nobody_else(clinic):
    limited, free = clinic.session("ann", limit=0.25), clinic.session("bob")
    error = spend(limited)
    assert "the limit of analyst 'ann' is reached" in str(error)
    assert error.charge > error.remaining
    assert limited.limit.remaining == error.remaining
    total = clinic.status().budget.total
    assert limited.limit.total == pytest.approx(total / 4)
    assert limited.limit.spent <= limited.limit.total
    assert limited.limit.spent + error.charge > limited.limit.total
    assert free.ask("age > 3 + 0.25").recorded is False


def test_what_counts_is_who_asks_not_the_session(clinic):
    spend(clinic.session("ann", limit=0.25))
    with pytest.raises(sh.BudgetExhausted):
        clinic.session("ann", limit=0.25).ask("bmi > 20")
    assert clinic.session("ann", limit=0.5).ask("bmi > 20").recorded is False


def test_recorded_answers_are_free_for_who_has_nothing_left(clinic):
    limited = clinic.session("ann", limit=0.25)
    spend(limited)
    other = clinic.session("bob").ask("bmi > 20")
    again = limited.ask("bmi > 20")
    assert (again.recorded, again.entry) == (True, other.entry)
    assert clinic.session("bob", limit=1.0).limit.spent == pytest.approx(other.charge)


def test_a_quote_knows_the_limit(clinic):
    limited = clinic.session("ann", limit=0.25)
    before = limited.quote("bmi > 20")
    assert before.allowed
    assert before.answers_left == limited.answers_left(1000) < clinic.status().answers_left
    error = spend(limited)
    quote = limited.quote("bmi > 20")
    assert not quote.allowed
    assert quote.reason == str(error)
    assert quote.answers_left == 0
    assert quote.more_records == error.more_records


def test_it_fits_again_when_answers_cost_less(clinic):
    limited = clinic.session("ann", limit=0.25)
    error = spend(limited)
    assert error.more_records is not None
    clinic.append(records(1000, 1000 + error.more_records - 1))
    with pytest.raises(sh.BudgetExhausted):
        limited.ask("bmi > 21")
    clinic.append(records(1000 + error.more_records - 1, 1000 + error.more_records))
    assert limited.ask("bmi > 21").round == error.fits_at


def test_the_whole_budget_ends_everybody(clinic):
    spend(clinic.session("bob"))
    error = spend(clinic.session("ann", limit=1.0))
    assert "the budget is exhausted" in str(error)


def test_many_at_once_are_all_or_none(clinic):
    limited = clinic.session("ann", limit=0.25)
    left = limited.answers_left(1000)
    with pytest.raises(sh.BudgetExhausted, match="the limit of analyst 'ann' is reached"):
        limited.ask_many([f"age > {i}" for i in range(left + 1)])
    assert limited.limit.spent == 0.0
    assert len(limited.ask_many([f"age > {i}" for i in range(left)])) == left


def test_threads_together_spend_no_more_than_the_limit(clinic):
    limited = clinic.session("ann", limit=0.3)
    charge = limited.quote("age > 5").charge

    def run(start: int) -> None:
        for i in range(200):
            try:
                limited.ask(f"age > {start} + {i} / 1000")
            except sh.BudgetExhausted:
                return

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    limit = limited.limit
    assert limit.spent <= limit.total < limit.spent + charge
    assert limit.spent == clinic.status().budget.spent


def test_processes_together_spend_no_more_than_the_limit(clinic):
    """Another opened dataset has caches of its own; the ledger decides."""
    with opened(clinic.path) as other:
        first, second = clinic.session("ann", limit=0.25), other.session("ann", limit=0.25)
        for i in range(500):
            try:
                (first if i % 2 else second).ask(f"age > {i} / 7")
            except sh.BudgetExhausted:
                break
        assert first.limit == second.limit
        assert first.limit.spent <= first.limit.total
        assert clinic.verify().spent == first.limit.spent


@pytest.mark.parametrize("limit", [0, -0.1, 1.01, True, "0.5", float("nan")])
def test_a_limit_is_a_share(clinic, limit):
    with pytest.raises(sh.InvalidInput, match="limit must be a share of the budget"):
        clinic.session("ann", limit=limit)


def test_what_analysts_spent_is_kept_exactly(clinic):
    clinic.session("ann").ask_many(["age > 1", "age > 2"])
    clinic.session("bøb").ask("age > 3")
    rows = sql(clinic.path, "SELECT * FROM spending")
    charge = clinic._ledger.policy.mechanism.charge(1000)
    assert rows == [("ann", str(2 * charge), 2), ("bøb", str(charge), 1)]
    assert Fraction(clinic._ledger.state.spent) == 3 * charge


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE spending SET units = '7'",
        "UPDATE spending SET answers = 7",
        "DELETE FROM spending",
        "INSERT INTO spending VALUES ('eve', '1', 0)",
    ],
)
def test_a_sum_that_is_wrong_is_made_anew_at_opening(tmp_path, statement):
    """It follows from the entries: a program of an earlier version goes on without it, say."""
    with made(tmp_path / "clinic", count=1000) as dataset:
        dataset.session("ann").ask("age > 1")
        dataset.session("bob").ask("histogram(city in ('Oslo', 'Bergen'))")
    before = sql(tmp_path / "clinic", "SELECT * FROM spending")
    sql(tmp_path / "clinic", statement)
    with opened(tmp_path / "clinic") as dataset:
        assert sql(tmp_path / "clinic", "SELECT * FROM spending") == before
        dataset.verify()


@pytest.mark.parametrize("units", ["x", "-1", ""])
def test_a_sum_that_is_no_number_is_found(tmp_path, units):
    with made(tmp_path / "clinic", count=1000) as dataset:
        dataset.session("ann").ask("age > 1")
    sql(tmp_path / "clinic", f"UPDATE spending SET units = '{units}'")
    with pytest.raises(sh.LedgerCorrupt, match="charged"):
        opened(tmp_path / "clinic")


def test_cells_count_towards_a_limit(clinic):
    """A table costs two answers, but takes one of the plan's for each of its cells."""
    limited, plan = clinic.session("ann", limit=0.1), clinic.plan
    assert limited.limit.answers == plan.queries // 10
    cells = ", ".join(str(i) for i in range(plan.queries // 10 + 5))
    table = f"histogram(bins(age, {cells}))"
    quote = limited.quote(table)
    assert not quote.allowed
    with pytest.raises(sh.BudgetExhausted, match="analyst 'ann' has too few answers left"):
        limited.ask(table)
    assert clinic.session("bob").quote(table).allowed
    small = "histogram(city in ('Oslo', 'Bergen'))"
    before = limited.quote(small)
    answer = limited.ask(small)
    assert limited.limit.answered == len(answer) == before.counts_for
    assert limited.answers_left(1000) == before.answers_left_after


def test_what_may_yet_be_spent_is_no_more_than_there_is(clinic):
    spend(clinic.session("bob"))
    limit, budget = clinic.session("ann", limit=1.0).limit, clinic.status().budget
    assert limit.remaining == budget.remaining < limit.total - limit.spent
    assert "of the limit left" in str(limit)


def test_a_high_price_is_told_apart_from_an_end(clinic):
    limited = clinic.session("ann", limit=0.25)
    limited.ask_many([f"age > {i}" for i in range(10)])  # early, so that they cost more
    query = sh.select(["age > 20", "age > 40"], price=50)
    with pytest.raises(sh.BudgetExhausted, match="8 answers of price 1 would"):
        limited.ask(query)
    limited.ask_many([f"age > {i} + 0.5" for i in range(8)])
    with pytest.raises(sh.BudgetExhausted, match="single answers will again at round"):
        limited.ask(query)


def test_charges_moved_from_one_analyst_to_another_are_found(tmp_path):
    with made(tmp_path / "clinic", count=1000) as dataset:
        dataset.session("ann").ask("age > 1")
        dataset.session("bob").ask("age > 2")
    sql(tmp_path / "clinic", "UPDATE spending SET analyst = 'eve' WHERE analyst = 'ann'")
    with opened(tmp_path / "clinic") as dataset, pytest.raises(sh.LedgerCorrupt, match="analysts"):
        dataset.verify()


def test_a_session_at_a_round_stands_beside_the_other(clinic):
    session = clinic.session("ann")
    sibling = session.at(500)
    assert (session.held, sibling.held) == (None, 500)
    assert (session.ask("age > 5").round, sibling.ask("age > 5").round) == (1000, 500)
    assert sibling.at(None).held is None
    with pytest.raises(sh.NotReady):
        session.at(1500)
