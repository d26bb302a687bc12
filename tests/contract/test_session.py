"""One contract for sessions, local and remote: answers, keys, rounds, limits, the transcript."""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction

import pytest

import surehold as sh
from contract.desks import QUERIES, more
from support.runtime import GUARDS, N, exhausted, records
from support.small_models import ABOUT, NEW, OLD, ONE
from support.workload import CASES

ONNX = {
    "accuracy": (NEW, sh.Answer),
    "log loss": (sh.loss(ONE, kind="log", most=3, **ABOUT), sh.Answer),
    "improvement": (sh.improvement(NEW, OLD), sh.Answer),
    "confusion": (sh.confusion(ONE, **ABOUT), sh.Table),
    "auc of a model": (sh.auc(ONE, **ABOUT), sh.Estimate),
    "gate of a model": (sh.gate(NEW, at_least=0.1), sh.Verdict),
    "select a model": (sh.select({"new": NEW, "old": OLD}, best="highest", price=2), sh.Choice),
}

either = pytest.mark.parametrize("guard", GUARDS)
"""For what holds under both guards."""


def as_recorded(result):
    return replace(result, recorded=True)


# --------------------------------------------------------------------------------- answers


def test_every_kind_of_query_is_answered_and_recorded(full):
    for name, query in QUERIES.items():
        case = CASES[name]
        quote = full.quote(query)
        known = {answer.query for answer in full.transcript}
        result = full.ask(query)
        assert type(result) is case.kind, name
        assert result.query == quote.query == case.canonical
        assert (result.analyst, result.round) == ("ann", N)
        # What follows from recorded answers is implied by them, and has no entry of its own.
        is_known = {leaf.canonical for leaf in case.leaves} <= known
        assert result.recorded == quote.recorded == is_known
        assert full.ask(query) == as_recorded(result)
        assert full.transcript[-1].query == result.query or result.recorded
    found = {answer.query: answer for answer in full.transcript}
    assert {leaf.canonical for name in QUERIES for leaf in CASES[name].leaves} <= set(found)


def test_models_are_asked_about(full):
    for name, (query, kind) in ONNX.items():
        result = full.ask(query)
        assert type(result) is kind, name
        assert result.query == query.canonical
        assert full.ask(query.canonical).entry == result.entry
        assert full.ask(query) == as_recorded(result)
    scorer = full.scorer(features=["age", "bmi"], target="bmi > 25", classes=[False, True])
    assert scorer(ONE) == full.ask(NEW).value


@either
def test_the_names_of_a_selection_are_its_callers(full):
    first = full.ask(sh.select({"jung": "age < 5", "ält": "age > 9"}, best="highest", price=2))
    assert first.name == "ält"
    assert full.transcript[-1].name == "ält"
    other = full.ask(sh.select({"a": "age < 5", "b": "age > 9"}, best="highest", price=2))
    assert (other.name, other.entry, other.recorded) == ("b", first.entry, True)
    [third] = full.ask_many([sh.select(["age < 5", "age > 9"], best="highest", price=2)])
    assert (third.name, third.entry) == ("age > 9", first.entry)
    same = sh.select(["age < 6", "age > 8"], lambda text: text, best="highest", price=2)
    twice = replace(same, names=("x", "x"))  # names that do not tell the candidates apart
    choice = full.ask(twice)
    assert (choice.name, choice.candidates, choice.query) == ("x", 2, same.canonical)


@either
def test_letters_of_all_kinds(session):
    query = "city = 'Tromsø' or city = '北京' or city = '🌊 \"quoted\"'"
    answer = session.ask(query, key="schlüssel 北")
    assert answer.text == query
    assert answer.key == "schlüssel 北"
    assert session.transcript[-1] == as_recorded(answer)
    assert session.ask(query, key="schlüssel 北") == as_recorded(answer)


@either
def test_a_query_may_be_an_object_or_a_text(session):
    answer = session.ask(sh.fraction("Age > 65.0".lower()))
    assert session.ask("age>65") == as_recorded(answer)
    assert session.ask(sh.fraction("age > 65")).entry == answer.entry


# ------------------------------------------------------------------------------------ quote


def test_a_quote_changes_nothing(session):
    before = session.budget
    quote = session.quote("age > 65")
    assert (quote.allowed, quote.recorded, quote.round) == (True, False, 1000)
    assert session.budget == before
    assert len(session.transcript) == 0
    answer = session.ask("age > 65")
    assert answer.charge == quote.charge
    assert answer.remaining == session.budget.remaining < before.remaining
    again = session.quote("age > 65")
    assert (again.recorded, again.charge) == (True, 0.0)
    assert again.answers_left == session.answers_left(1000) == answer.answers_left


# ------------------------------------------------------------------------------------- keys


@either
def test_a_key_is_one_answer_whatever_the_round_is(desk, session):
    answer = session.ask("age > 65", key="mine")
    more(desk, 1000, 1100)
    assert session.ask("age > 65", key="mine") == as_recorded(answer)
    fresh = session.ask("age > 65", key="another")
    assert (fresh.round, fresh.recorded) == (1100, False)
    with pytest.raises(sh.InvalidInput, match="used for another one") as caught:
        session.ask("age > 66", key="mine")
    assert vars(caught.value) == {
        "parameter": "key",
        "required": "new for each query: it was used for another one",
        "got": "mine",
        "hint": "",
    }


@either
def test_a_key_of_many_is_of_all_of_them(session):
    first = session.ask_many(["age > 1", "rate(age > 50, bmi > 20)"], key="all")
    again = session.ask_many(["age > 1", "rate(age > 50, bmi > 20)"], key="all")
    assert again == tuple(map(as_recorded, first))
    with pytest.raises(sh.InvalidInput, match="used for another one"):
        session.ask_many(["age > 2", "rate(age > 50, bmi > 20)"], key="all")


# ----------------------------------------------------------------------------------- rounds


@either
def test_a_held_round_stays_while_records_arrive(desk, session):
    session.hold(900)
    assert session.held == 900
    old = session.ask("age > 65")
    more(desk, 1000, 1200)
    assert session.ask("age > 65") == as_recorded(old)
    assert session.quote("age > 65").round == old.round == 900
    session.hold(None)
    assert session.held is None
    assert session.ask("age > 65").round == 1200


@either
def test_a_sibling_is_held_and_the_other_goes_on(session):
    sibling = session.at(900)
    assert (sibling.held, session.held) == (900, None)
    assert (sibling.ask("age > 65").round, session.ask("age > 65").round) == (900, 1000)
    assert sibling.analyst == session.analyst
    assert sibling.at(None).held is None
    assert sibling.ask_many(["age > 5"])[0].round == 900
    with pytest.raises(sh.NotReady):
        session.at(1001)


def test_a_round_that_is_not_there_is_not_held(session):
    session.hold(900)
    for round in (1001, 199, 1, 0, 10**12):
        with pytest.raises(sh.NotReady):
            session.hold(round)
    for round in (-1, 10**30):  # a service does not read numbers that none can be
        with pytest.raises((sh.NotReady, sh.InvalidInput)):
            session.hold(round)
    for wrong in (True, "900", 900.0):
        with pytest.raises(sh.InvalidInput, match="round"):
            session.hold(wrong)
    assert session.held == 900


# ----------------------------------------------------------------------------- all or none


def test_many_are_answered_all_or_none(session):
    left = session.answers_left(1000)
    assert session.answers_left(1500) > left  # answers cost less there, when it is there
    with pytest.raises(sh.NotReady):
        session.answers_left(100)
    with pytest.raises(sh.BudgetExhausted) as caught:
        session.ask_many([f"age > {i} + 0.5" for i in range(left + 1)])
    assert f"{left:,} of the {left + 1:,} queries would fit" in str(caught.value) or (
        caught.value.fits_at is not None
    )
    with pytest.raises(sh.InvalidQuery):
        session.ask_many(["age > 1", "there is none"])
    assert len(session.transcript) == 0
    answers = session.ask_many(["age > 1", "age > 2", "age > 1"])
    assert [answer.recorded for answer in answers] == [False, False, True]
    assert answers[0].entry == answers[2].entry
    assert session.ask_many([]) == ()
    assert session.ask_many(f"age > {i}" for i in range(2))[1] == as_recorded(answers[0])


def test_the_budget_ends(session):
    refusal = exhausted(session)
    entries = [answer.entry for answer in session.transcript]
    assert entries == list(range(entries[0], entries[-1] + 1, 2))  # each after its charge
    assert len(entries) > 10
    quote = session.quote("age > 399.5")
    assert (quote.allowed, quote.reason) == (False, str(refusal))
    assert quote.more_records == refusal.more_records


def test_a_limit_is_its_analysts(desk):
    limited, other = desk.session("bob", limit=0.1), desk.session("eve")
    assert other.limit is None
    before = limited.limit
    assert before.spent == 0.0
    assert before.total == before.remaining == pytest.approx(0.1 * limited.budget.total)
    assert "the limit of analyst 'bob'" in str(exhausted(limited))
    assert limited.limit.remaining < before.remaining
    assert limited.limit.spent == pytest.approx(limited.budget.spent)
    assert other.ask("age > 77.5").analyst == "eve"


# ------------------------------------------------------------------------------- transcript


@either
def test_the_transcript(desk, session):
    transcript = session.transcript
    assert (len(transcript), list(transcript), transcript.last(3)) == (0, [], [])
    answers = [session.ask(f"age > {i}") for i in range(5)]
    other = desk.session("bob").ask("age > 50.5")
    told = [as_recorded(answer) for answer in [*answers, other]]
    assert list(transcript) == told
    assert len(transcript) == 6
    assert [transcript[i] for i in range(6)] == told
    assert [transcript[-i] for i in range(1, 7)] == told[::-1]
    assert transcript[1:3] == told[1:3]
    assert transcript[::-2] == told[::-2]
    assert transcript.last(2) == told[-2:]
    assert transcript.last(99) == told
    assert list(reversed(transcript)) == told[::-1]
    assert told[3] in transcript
    assert transcript.to_dict() == {"answers": [one.to_dict() for one in told]}
    for index in (6, -7, 99):
        with pytest.raises(IndexError):
            transcript[index]
    assert "6 answers" in repr(transcript)
    assert "<table>" in transcript._repr_html_()
    page = transcript.page(2, after=told[1].entry)
    assert (page.answers, page.next) == (tuple(told[2:4]), told[3].entry)
    page = transcript.page(2, before=told[3].entry, newest=True)
    assert page.answers == (told[2], told[1])
    assert transcript.page(round=7).answers == ()
    assert transcript.page(contains="> 50.").answers == (told[-1],)
    assert transcript.page(contains="> 50.").next is None
    assert [transcript.entry(one.entry) for one in told] == told
    assert [transcript.entry(number) for number in (0, -1, 1, 10**6)] == [None] * 4
    assert desk.dataset.transcript_of("bob").entry(told[0].entry) is None
    assert list(desk.dataset.transcript_of("bob")) == [told[-1]]
    assert list(desk.dataset.transcript_of("nobody")) == []


@either
def test_a_transcript_of_several_pages(full, monkeypatch):
    monkeypatch.setattr("surehold.client.transcript.PAGE", 3)
    told = [as_recorded(one) for one in full.ask_many([f"age > {i}" for i in range(10)])]
    transcript = full.transcript
    assert list(transcript) == told
    assert list(reversed(transcript)) == told[::-1]
    assert transcript.last(7) == told[-7:]
    assert (transcript[8], transcript[-8]) == (told[8], told[-8])


# ---------------------------------------------------------------------------------- dataset


def test_what_is_known_of_the_dataset(desk, session):
    dataset = desk.dataset
    session.ask("age > 65")
    status = dataset.status()
    assert (dataset.n, status.n, status.answers) == (1000, 1000, 1)
    assert status.budget == session.budget
    assert dict(status.columns) == dataset.columns == {"age": "int", "bmi": "float", "city": "str"}
    assert dataset.plan.n == N
    [round] = dataset.rounds
    assert (round.round, round.answers) == (1000, 1)
    assert dataset.verify().head == status.head
    assert dataset.growth()[-1].n == 1000
    assert dataset.outlook().now.round == 1000
    assert dataset.outlook().now.answers == session.answers_left(1000)


@either
def test_records_are_appended_once_with_a_key(desk, tmp_path):
    import polars as pl

    dataset = desk.dataset
    assert dataset.append(records(1000, 1010), key="a").to_dict() == {
        "count": 10,
        "n": 1010,
        "known": None,
        "note": None,
    }
    assert dataset.append(records(1000, 1010), key="a").to_dict() == {
        "count": 10,
        "n": 1010,
        "known": None,
        "note": None,
    }
    with pytest.raises(sh.InvalidInput, match="key"):
        dataset.append(records(1010, 1020), key="a")
    assert dataset.append({"age": 3, "city": None}).n == 1011
    table = pl.DataFrame(records(1011, 1211))
    table.write_csv(tmp_path / "more.csv")
    assert dataset.append(tmp_path / "more.csv").n == 1211
    with pytest.raises(sh.InvalidInput):
        dataset.append(table)  # the very same records
    assert dataset.append(table, again=True).n == 1411
    assert dataset.append([]).to_dict() == {"count": 0, "n": 1411, "known": None, "note": None}
    seen: list[int] = []
    dataset.append(table, again=True, progress=seen.append)
    assert seen[-1] == 200
    dataset.verify()


@pytest.mark.parametrize(
    "source",
    [
        [{"age": 3}, {"age": "old"}],
        [{"age": 3, "height": 1}],
        {"age": 2**70},
        [3],
        3,
        "nowhere.csv",
        b"age\n3\n",
    ],
)
@either
def test_records_that_do_not_fit_are_refused_alike(twins, source):
    said = [refused(lambda desk=desk: desk.dataset.append(source)) for desk in twins]
    assert said[0] == said[1]
    assert [desk.dataset.n for desk in twins] == [1000, 1000]


@either
def test_who_only_asks_appends_nothing(twins):
    _, remote = twins
    with pytest.raises(sh.AccessDenied) as caught:
        remote.session().append(records(1000, 1001))
    assert caught.value.status == 403
    assert remote.dataset.n == 1000


@either
def test_threads_share_a_session(session):
    found: dict[int, sh.Answer] = {}

    def ask(i: int) -> None:
        found[i] = session.ask(f"age > {i} + 0.5", key=f"thread {i}")

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {i: one.query for i, one in found.items()} == {
        i: sh.fraction(f"age > {i} + 0.5").canonical for i in range(8)
    }
    by_entry = {answer.entry: answer for answer in session.transcript}
    assert by_entry == {one.entry: as_recorded(one) for one in found.values()}


# --------------------------------------------------------------------------------- refusals


def refused(call) -> tuple[type, str, dict]:
    with pytest.raises(sh.SureholdError) as caught:
        call()
    return type(caught.value), str(caught.value), vars(caught.value)


REFUSED = {
    "nonsense": lambda session: session.ask("age >"),
    "an unknown column": lambda session: session.ask("hat = 'red'"),
    "a long one": lambda session: session.ask(" or ".join(["age > 1"] * 3000)),
    "nothing": lambda session: session.ask(""),
    "a lone surrogate": lambda session: session.ask("city = '\ud800'"),
    "no query": lambda session: session.ask(3),
    "no query either": lambda session: session.quote(None),
    "nonsense quoted": lambda session: session.quote("age >"),
    "no list": lambda session: session.ask_many("age > 3"),
    "no list either": lambda session: session.ask_many(3),
    "nonsense among others": lambda session: session.ask_many(["age > 1", "age >"]),
    "an empty key": lambda session: session.ask("age > 3", key=""),
    "a long key": lambda session: session.ask("age > 3", key="k" * 201),
    "a key of other characters": lambda session: session.ask("age > 3", key="a\nb"),
    "no key": lambda session: session.ask("age > 3", key=3),
    "no key of many": lambda session: session.ask_many(["age > 3"], key=b"k"),
    "a limit out of reach": lambda session: session.ask(sh.gate("age > 3", at_least=40)),
    "candidates on two scales": lambda session: session.ask(
        sh.select([sh.mean("bmi", 0, 1), sh.mean("bmi", 0, 2)])
    ),
    "an unknown statistic": lambda session: session.ask(sh.statistic("height")),
    "no number expected": lambda session: session.ask("age > 3", expect="about half"),
    "a truth expected": lambda session: session.quote("age > 3", expect=True),
    "within nothing": lambda session: session.ask("age > 3", expect=0.5, within=0),
    "no doubt": lambda session: session.ask("age > 3", expect=0.5, doubt=Fraction(1)),
    "a choice expected": lambda session: session.ask(
        sh.select({"a": "age > 1", "b": "age > 2"}), expect=1
    ),
    "a round to come": lambda session: session.hold(1500),
    "no round": lambda session: session.hold("x"),
    "a truth for a round": lambda session: session.at(True),
    "a model that is not there": lambda session: session.ask(NEW.canonical),
    "an unknown feature": lambda session: session.ask(
        sh.accuracy(ONE, features=["age", "hat"], target="bmi > 25", classes=[False, True])
    ),
    "a scorer of nothing": lambda session: session.scorer(features=["hat"], target="age > 3"),
    "a scorer by chance": lambda session: session.scorer(
        features=["age"], target="age > 3", metric="luck"
    ),
}

OF_NOISE = {
    "too dear": lambda session: session.ask(sh.select(["age > 1", "age > 2"], price=9999)),
    "a round long gone": lambda session: session.hold(100),
    "an expectation": lambda session: session.ask("age > 3", expect=0.5),
    "an expected quote": lambda session: session.quote("age > 3", within="0.01"),
    "registering": lambda session: session.register(["age > 3"]),
    "registering nothing": lambda session: session.register([]),
}
OF_SURPRISE = {
    "a fit": lambda session: session.ask(QUERIES["fit"]),
    "a plan": lambda session: session.plan,
    "a budget": lambda session: session.budget,
    "an outlook": lambda session: session.outlook(),
    "rounds": lambda session: session.rounds,
    "answers left": lambda session: session.answers_left(1000),
    "more than all": lambda session: session.ask("age > 3", expect=1.5),
    "a verdict of a number": lambda session: session.ask("age > 3", expect="pass"),
    "registering a text": lambda session: session.register("age > 3"),
    "registering nonsense": lambda session: session.register(["age > 3", "age >"]),
    "no share": lambda session: session.register(["age > 3"], share=0),
    "more than all shares": lambda session: session.register(["age > 3"], share="3/2"),
    "a share in words": lambda session: session.register(["age > 3"], share="half"),
}


@either
def test_refusals_are_the_same_here_and_there(twins, guard):
    local, remote = (desk.session() for desk in twins)
    calls = {**REFUSED, **(OF_NOISE if guard == "noise" else OF_SURPRISE)}
    for name, call in calls.items():
        here, there = (
            refused(lambda call=call: call(local)),
            refused(lambda call=call: call(remote)),
        )
        assert there == here, name
    assert [len(session.transcript) for session in (local, remote)] == [0, 0]
    assert local.status() == remote.status()
