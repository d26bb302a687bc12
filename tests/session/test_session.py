from __future__ import annotations

import dataclasses

import pytest

import surehold as sh
from support.noise_sources import NoNoise
from support.runtime import (
    adaptive_plan,
    batch_plan,
    contents,
    exhausted,
    made,
    older,
    opened,
    rare_plan,
    record,
    records,
)
from surehold.data.record_store import RecordStore
from surehold.mechanisms import SCALE, to_float

# ------------------------------------------------------------------------------------- ask


def test_an_answer_says_everything(clinic, session) -> None:
    plan = adaptive_plan()
    answer = session.ask("age > 50")
    charge = clinic._ledger.policy.mechanism.charge(1000)
    assert answer.query == "fraction(age > 50)"
    assert answer.text == "age > 50"
    assert answer.width == plan.width
    assert answer.interval[0] <= answer.value <= answer.interval[1]
    assert (answer.round, answer.certificate, answer.beta) == (1000, "sharp", 0.1)
    assert answer.charge == to_float(charge)
    assert answer.remaining == pytest.approx(plan.budget - answer.charge)
    assert answer.answers_left == 294 // 4 - 1
    assert (answer.analyst, answer.key, answer.recorded) == ("ann", None, False)
    assert answer.assumptions == plan.assumptions
    assert session.budget.spent == answer.charge
    assert session.budget.remaining == answer.remaining
    for part in ("± 0.3", "n = 1,000", "noise", "probability 90", "Sharp theorem", "independent"):
        assert part in answer.explain()


@pytest.mark.parametrize("plan", [adaptive_plan, batch_plan, rare_plan])
def test_without_noise_the_value_is_the_snapshot_s(tmp_path, plan) -> None:
    made(tmp_path / "clinic", plan(), 850).close()
    with sh.Dataset(tmp_path / "clinic", NoNoise()) as dataset:
        session = dataset.session()
        answer = session.ask("age > 50")
        assert answer.round == (800 if plan is batch_plan else 850)
        assert answer.value == pytest.approx(older(50, answer.round) / answer.round, abs=1e-15)
        mean = session.ask(sh.mean("bmi", low=0, high=25))
        exact = sum(min(record(i)["bmi"], 25.0) for i in range(answer.round)) / answer.round
        assert mean.value == pytest.approx(exact, abs=1e-8)
        assert mean.interval[0] <= exact <= mean.interval[1]


def test_noise_is_added_in_steps_of_sigma(tmp_path) -> None:
    class One:
        def draw(self, count: int) -> list[int]:
            return [SCALE] * count

    made(tmp_path / "clinic", count=1000).close()
    with sh.Dataset(tmp_path / "clinic", One()) as dataset:
        answer = dataset.session().ask("age > 50")
    assert answer.value == pytest.approx(older(50, 1000) / 1000 + answer.sigma, abs=1e-15)


def test_the_same_query_is_free_however_it_is_spelled(session, commits) -> None:
    first = session.ask("age > 50 and city = 'Oslo'")
    spent, count = session.budget.spent, commits.count
    for text in ("AGE>50", "((age > 50.0)) AND (city = 'Oslo')", "age > 50 and city = 'Oslo'"):
        if text == "AGE>50":
            continue
        again = session.ask(text)
        assert again.recorded
        assert dataclasses.replace(again, recorded=False) == first
        assert session.quote(text).recorded
        assert session.quote(text).charge == 0.0
    assert session.budget.spent == spent
    assert session.ask_many([sh.fraction("age > 50 and city = 'Oslo'")])[0].value == first.value
    assert session.budget.spent == spent
    assert count == commits.count == 2  # the charge, and the answer


def test_the_same_query_at_another_round_is_another_one(clinic, session) -> None:
    first = session.ask("age > 50")
    clinic.append(records(1000, 1100))
    second = session.ask("age > 50")
    assert (first.round, second.round) == (1000, 1100)
    assert not second.recorded
    assert second.charge < first.charge
    session.hold(1000)
    assert session.ask("age > 50").value == first.value


def test_a_key_gives_the_recorded_answer_across_rounds_and_openings(clinic, session) -> None:
    first = session.ask("age > 50", key="question 1")
    assert first.key == "question 1"
    spent = session.budget.spent
    clinic.append(records(1000, 1100))
    assert session.ask("age>50.0", key="question 1").value == first.value
    assert session.ask("age > 50", key="question 1").round == 1000
    clinic.close()
    with opened(clinic.path) as again:
        other = again.session("bob")
        found = other.ask("age > 50", key="question 1")
        assert (found.value, found.recorded, found.analyst) == (first.value, True, "ann")
        assert other.budget.spent == spent


def test_a_key_works_before_and_after_the_plan_s_rounds(tmp_path) -> None:
    with made(tmp_path / "clinic", count=1990) as dataset:
        first = dataset.session().ask("age > 50", key="k")
        dataset.append(records(1990, 2005))
        session = dataset.session()
        with pytest.raises(sh.NotReady):
            session.ask("age > 50")
        assert session.ask("age > 50", key="k").value == first.value


def test_a_key_may_be_given_to_an_answer_that_is_there(clinic, session) -> None:
    first = session.ask("age > 50")
    again = session.ask("age > 50", key="later")
    assert (again.value, again.recorded) == (first.value, True)
    clinic.append(records(1000, 1001))
    assert session.ask("age > 50", key="later").round == 1000
    clinic.verify()


def test_a_key_is_for_one_query(clinic, session) -> None:
    session.ask("age > 50", key="k")
    before = contents(clinic.path)
    with pytest.raises(sh.InvalidInput, match="it was used for another one"):
        session.ask("age > 51", key="k")
    assert contents(clinic.path) == before


@pytest.mark.parametrize("key", ["", "x" * 201, "line\nbreak", 7, b"k", "\ud800"])
def test_a_key_is_a_short_text(session, key) -> None:
    with pytest.raises(sh.InvalidInput, match="key"):
        session.ask("age > 50", key=key)


@pytest.mark.parametrize("analyst", ["", "x" * 201, "\0", None])
def test_so_is_an_analyst(clinic, analyst) -> None:
    with pytest.raises(sh.InvalidInput, match="analyst"):
        clinic.session(analyst)


@pytest.mark.parametrize(
    "query", ["", "age >", "weight > 3", "age > 5; drop", "city = '\ud800'", "age"]
)
def test_what_is_no_query_is_refused_before_anything_else(clinic, session, no_data, query) -> None:
    before = contents(clinic.path)
    no_data()
    for ask in (session.ask, session.quote, lambda q: session.ask_many(["age > 1", q])):
        with pytest.raises(sh.InvalidQuery):
            ask(query)
    assert contents(clinic.path) == before


@pytest.mark.parametrize("query", [None, 7, b"age > 3", ["age > 3"]])
def test_what_is_not_even_text(session, query) -> None:
    with pytest.raises(sh.InvalidInput, match="a query"):
        session.ask(query)
    with pytest.raises(sh.InvalidInput, match="a query"):
        session.quote(query)


# -------------------------------------------------------------------------------- ask_many


def test_many_are_one_charge_one_pass_and_one_answer(clinic, session, commits, monkeypatch) -> None:
    passes = []
    real = RecordStore.exact
    monkeypatch.setattr(
        RecordStore, "exact", lambda self, m, *rest: passes.append(len(m)) or real(self, m, *rest)
    )
    answers = session.ask_many([f"age > {i}" for i in range(10)])
    assert len(answers) == 10
    assert (commits.count, passes) == (2, [10])
    assert [answer.query for answer in answers] == [f"fraction(age > {i})" for i in range(10)]
    assert [answer.answers_left for answer in answers] == [63] * 10


def test_many_with_the_same_twice_charge_once(clinic, session) -> None:
    charge = clinic._ledger.policy.mechanism.charge(1000)
    one, two, three, four = session.ask_many(
        ["age > 1", "age>1.0", "age > 2", "(age > 1)"], key="k"
    )
    assert one.value == two.value == four.value
    assert [a.recorded for a in (one, two, three, four)] == [False, True, False, True]
    assert clinic._ledger.state.spent == 2 * charge
    assert len(session.transcript) == 2
    clinic.append(records(1000, 1001))
    again = session.ask_many(["age > 1", "age > 1", "age > 2", "age > 1"], key="k")
    assert [a.value for a in again] == [one.value, one.value, three.value, one.value]
    assert clinic._ledger.state.spent == 2 * charge


def test_many_are_all_or_nothing(clinic, session) -> None:
    session.ask_many([f"age > {i}" for i in range(70)])
    before = contents(clinic.path)
    with pytest.raises(sh.BudgetExhausted) as caught:
        session.ask_many([f"age < {i}" for i in range(4)])
    assert contents(clinic.path) == before
    charge = clinic._ledger.policy.mechanism.charge(1000)
    assert caught.value.charge == to_float(4 * charge)
    # of these only two are new
    session.ask_many(["age > 1", "age > 2", "age < 1", "age < 2"])
    assert session.budget.spent == to_float(72 * charge)


def test_more_than_the_plan_has_says_how_many_would_fit(session) -> None:
    with pytest.raises(sh.BudgetExhausted, match="73 of the 500 queries would fit"):
        session.ask_many([f"age > {i} / 7" for i in range(500)])


def test_none_at_all(clinic, session) -> None:
    before = contents(clinic.path)
    assert session.ask_many([]) == ()
    assert contents(clinic.path) == before
    for wrong in ("age > 1", sh.fraction("age > 1")):
        with pytest.raises(sh.InvalidInput, match="a list of queries"):
            session.ask_many(wrong)


# ------------------------------------------------------------------------- commit, then tell


@pytest.mark.parametrize("key", [None, "k"])
def test_a_commit_that_fails_tells_nothing_and_charges_nothing(
    clinic, session, commits, key
) -> None:
    session.ask("age > 1")
    before, spent = contents(clinic.path), session.budget.spent
    commits.fail = "before"
    with pytest.raises(sh.StorageFailed, match="no answer was returned"):
        session.ask("age > 50", key=key)
    assert contents(clinic.path) == before
    assert session.budget.spent == spent
    assert not session.quote("age > 50").recorded
    assert not session.ask("age > 50", key=key).recorded
    clinic.verify()


@pytest.mark.parametrize("key", [None, "k"])
def test_a_commit_that_nobody_heard_of_is_found_again(clinic, session, commits, key) -> None:
    session.ask("age > 1")
    spent = session.budget.spent
    commits.fail, commits.passed_over = "after", 1
    with pytest.raises(sh.StorageFailed):
        session.ask("age > 50", key=key)
    charged = session.budget.spent
    assert charged > spent
    if key is not None:
        clinic.append(records(1000, 1001))  # with a key even at another round
    again = session.ask("age > 50", key=key)
    assert again.recorded
    assert again.round == 1000
    assert session.budget.spent == charged
    clinic.verify()
    clinic.close()
    assert int((clinic.path / "witness").read_text().split()[0]) <= 7
    with opened(clinic.path) as reopened:
        reopened.verify()
        assert reopened.session().budget.spent == charged


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("commit", ["charge", "answer"])
def test_many_whose_commit_fails(clinic, session, commits, when, commit) -> None:
    commits.fail, commits.passed_over = when, int(commit == "answer")
    with pytest.raises(sh.StorageFailed):
        session.ask_many([f"age > {i}" for i in range(5)], key="k")
    is_told = (commit, when) == ("answer", "after")
    assert len(session.transcript) == (5 if is_told else 0)
    charge = clinic._ledger.policy.mechanism.charge(1000)
    is_charged = (commit, when) != ("charge", "before")
    assert clinic._ledger.refresh().spent == (5 * charge if is_charged else 0)
    clinic.verify()
    answers = session.ask_many([f"age > {i}" for i in range(5)], key="k")
    assert [a.recorded for a in answers] == [is_told] * 5
    assert len(session.transcript) == 5
    assert clinic._ledger.state.spent == 5 * charge
    clinic.verify()


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_append_whose_commit_fails(clinic, session, commits, when) -> None:
    commits.fail = when
    with pytest.raises(sh.StorageFailed):
        clinic.append(records(1000, 1010))
    assert clinic.n == (1010 if when == "after" else 1000)
    clinic.verify()
    assert session.ask("age > 50").round == clinic.n


def test_a_failing_witness_does_not_undo_an_append(clinic, monkeypatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.pwrite", fail)
    assert clinic.append(records(1000, 1010)).n == 1010
    monkeypatch.undo()
    clinic.verify()


# ---------------------------------------------------------------------------- hold and share


def test_a_held_round_stays_while_records_arrive(clinic, session) -> None:
    session.hold(900)
    assert session.held == 900
    assert "held at 900" in repr(session)
    clinic.append(records(1000, 1100))
    assert session.ask("age > 50").round == 900
    session.hold(None)
    assert session.ask("age > 50").round == 1100


@pytest.mark.parametrize("round", [199, 1001, 2001, 0, -1])
def test_a_round_that_can_not_be_held(session, round: int) -> None:
    session.hold(500)
    with pytest.raises(sh.NotReady):
        session.hold(round)
    assert session.held == 500


@pytest.mark.parametrize("round", [True, 500.0, "500"])
def test_what_is_no_round(session, round) -> None:
    with pytest.raises(sh.InvalidInput, match="round"):
        session.hold(round)


def test_the_budget_is_shared_by_all_analysts(clinic) -> None:
    ann, bob = clinic.session("ann"), clinic.session("bob")
    ann.ask("age > 1")
    bob.ask("age > 2")
    assert ann.budget == bob.budget
    assert ann.budget.spent == to_float(2 * clinic._ledger.policy.mechanism.charge(1000))
    assert bob.ask("age > 1").analyst == "ann"
    assert [a.analyst for a in ann.transcript] == ["ann", "bob"]
    exhausted(ann)
    with pytest.raises(sh.BudgetExhausted):
        bob.ask("age > 70")


@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_commit_that_may_be_there_all_is_read_anew(
    clinic, session, commits, when, monkeypatch
) -> None:
    opened_anew = []
    reopen = type(clinic._ledger._writer).reopen
    monkeypatch.setattr(
        type(clinic._ledger._writer),
        "reopen",
        lambda store: opened_anew.append(store) or reopen(store),
    )
    commits.fail = when
    with pytest.raises(sh.StorageFailed, match="unknown whether the records") as caught:
        clinic.append(records(1000, 1010), key="mine")
    assert caught.value.kept is None
    assert "--key mine" in caught.value.hint
    assert clinic.append(records(1000, 1010), key="mine").n == 1010
    assert len(opened_anew) == 1
    clinic.append(records(1010, 1020))
    assert len(opened_anew) == 1
    assert clinic.n == 1020
    clinic.verify()
