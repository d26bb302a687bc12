"""Dashboards: questions are named once, watched as data grows, and shown by their names."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import surehold as sh
from support.runtime import GUARDS, contents, exhausted, guarded, made, opened, records
from support.tampering import bodies, copied, found_by, rehash, rewitness, write
from surehold.data.record_store import RecordStore

NAMED = [
    {"name": "older", "question": "age > 50", "unit": "%", "gate": ">= 10 %"},
    {"name": "mean bmi", "question": "mean(bmi, 0, 50)", "unit": "kg/m²", "gate": "<= 1"},
    {"name": "older in Oslo", "question": "rate(age > 50, city = 'Oslo')"},
]
DASHBOARD = sh.Dashboard.of(NAMED)


@pytest.fixture(params=GUARDS)
def guard(request) -> str:
    return request.param


@pytest.fixture
def shop(guard, tmp_path):
    with made(tmp_path / "shop", count=1500, guard=guard) as dataset:
        yield dataset


@pytest.fixture
def session(shop):
    return shop.session("ann")


class TestRegister:
    def test_twice_is_once(self, shop, session):
        first = session.register(DASHBOARD)
        assert [(one.title, one.new) for one in first] == [(q.name, True) for q in DASHBOARD]
        before = contents(shop.path)
        again = session.register(DASHBOARD)
        assert again == tuple(replace(one, new=False) for one in first)
        assert contents(shop.path) == before
        assert shop.dashboard == DASHBOARD
        claims = [one.claim for one in first]
        assert claims == ([None] * 3 if shop.guard == "noise" else [1, 2, 3])
        shop.verify()

    def test_units_and_gates_may_change_and_questions_may_come(self, shop, session):
        session.register(DASHBOARD)
        changed = {**NAMED[0], "unit": None, "gate": "<= 0.2", "watch": False}
        more = {"name": "young", "question": "age < 20"}
        states = [one.new for one in session.register(sh.Dashboard.of([changed, more, NAMED[1]]))]
        assert states == [True, True, False]
        kept = {one.name: one for one in shop.dashboard}
        assert [*kept] == ["older", "mean bmi", "older in Oslo", "young"]
        assert kept["older"] == sh.NamedQuestion.of(changed)
        assert [one.name for one in session.watch().questions] == [*kept][1:]
        shop.verify()

    def test_a_name_means_one_question_for_ever(self, shop, session):
        session.register(DASHBOARD)
        before = contents(shop.path)
        other = [{"name": "new", "question": "age > 1"}, {"name": "older", "question": "age > 60"}]
        with pytest.raises(sh.InvalidInput, match="one question for ever") as refused:
            session.register(sh.Dashboard.of(other))
        assert "fraction(age > 50)" in str(refused.value)
        assert contents(shop.path) == before  # all or none
        same = [{**NAMED[0], "question": "fraction( (age > 50.0) )"}]
        session.register(sh.Dashboard.of(same))

    def test_a_question_may_get_another_name(self, shop, session):
        session.register(DASHBOARD)
        session.register(sh.Dashboard.of([{"name": "over 50", "question": "age > 50"}]))
        assert session.ask("age > 50").title == "over 50"
        assert session.ask("older").title == "over 50"

    @pytest.mark.parametrize(
        ("question", "match"),
        [
            ({"name": "a b", "question": "nothing > 3"}, "question 'a b' must be a query over"),
            ({"name": "a b", "question": "age >"}, "question 'a b' must be a query over"),
            ({"name": "a b", "question": "age > 5", "gate": ">= 3"}, "question 'a b': at_least"),
            ({"name": "a b", "question": "histogram(city in ('Oslo'))", "gate": ">= 3"}, "number"),
            ({"name": "a b", "question": "gate(age > 5, at_least, 7)"}, "question 'a b': at_least"),
            ({"name": "age > 6", "question": "age > 5"}, "no other question of this dataset"),
            ({"name": "true", "question": "age > 5"}, "no other question of this dataset"),
            ({"name": "again", "question": "age > 50"}, "a question has one name"),
        ],
    )
    def test_refusals_change_nothing(self, shop, session, question, match):
        before = contents(shop.path)
        with pytest.raises((sh.InvalidInput, sh.InvalidQuery), match=match):
            session.register(sh.Dashboard.of([*NAMED, question]))
        assert contents(shop.path) == before

    def test_plain_queries_need_the_surprise_guard(self, shop, session):
        if shop.guard == "surprise":
            [one] = session.register(["age > 3"])
            assert (one.title, one.claim) == (None, 1)
        else:
            with pytest.raises(sh.WrongGuard):
                session.register(["age > 3"])
            with pytest.raises(sh.WrongGuard):
                session.register(DASHBOARD, share=0.5)

    def test_others_see_it_at_once(self, shop, session):
        with opened(shop.path) as other:
            watching = other.session("bob")
            with pytest.raises(sh.InvalidInput, match="register some"):
                watching.watch()
            with pytest.raises(sh.InvalidQuery):
                watching.ask("older")
            session.register(DASHBOARD)
            assert watching.ask("older").title == "older"
            assert len(watching.watch().questions) == 3

    def test_a_day_has_so_many_free_entries(self, shop, session, monkeypatch):
        monkeypatch.setattr("surehold.ledger.draft.FREE_A_DAY", 2)
        before = contents(shop.path)
        with pytest.raises(sh.RequestRefused, match="names"):
            session.register(DASHBOARD)
        assert contents(shop.path) == before

    def test_names_have_a_number(self, session, monkeypatch):
        monkeypatch.setattr("surehold.ledger.draft.MOST_QUESTIONS", 3)
        session.register(DASHBOARD)
        session.register(DASHBOARD)
        with pytest.raises(sh.InvalidInput, match="at most 3 of a dataset"):
            session.register(sh.Dashboard.of([{"name": "one more", "question": "age > 1"}]))


class TestNames:
    def test_by_name_by_text_and_within_a_gate(self, shop, session):
        session.register(DASHBOARD)
        result = session.ask("older")
        assert result.query == "fraction(age > 50)"
        assert session.ask("age > 50") == replace(result, recorded=True)
        assert session.quote(" mean bmi ").query == "mean(bmi, 0, 50)"
        assert session.ask(sh.gate("older", at_least=0.1)).query.startswith("gate(fraction(age > 5")
        assert session.ask("mean bmi").title == "mean bmi"
        assert "question    older" in result.explain()
        assert shop.transcript[0].title == "older"

    def test_a_column_that_is_a_question_wins(self, tmp_path, guard):
        columns = {"smoker": "bool", "age": "int"}
        with sh.create(tmp_path / "shop", **guarded(guard), columns=columns) as dataset:
            dataset.append([{"smoker": i % 3 == 0, "age": i % 90} for i in range(900)])
            session = dataset.session("ann")
            with pytest.raises(sh.InvalidInput, match="no other question"):
                session.register(sh.Dashboard.of([{"name": "smoker", "question": "age > 50"}]))
            own = {"name": "smoker", "question": "smoker"}
            mean = {"name": "age", "question": "mean(age, 0, 100)", "unit": "years"}
            session.register(sh.Dashboard.of([own, mean]))
            assert session.ask("smoker").query == "fraction(smoker)"
            assert session.ask("age").query == "mean(age, 0, 100)"  # a number is no condition
            assert session.ask("age > 50").query == "fraction(age > 50)"
            assert dataset.history("age").unit == "years"

    def test_unknown_names_are_no_columns(self, session):
        with pytest.raises(sh.InvalidQuery, match="no column 'nobody'"):
            session.ask("nobody")

    def test_answers_from_before_the_name_have_it_too(self, shop, session):
        assert session.ask("age > 50").title is None
        session.register(DASHBOARD)
        assert shop.transcript[0].title == "older"
        with opened(shop.path) as again:
            assert again.transcript[0].title == "older"


class TestWatch:
    def test_as_the_data_grows(self, shop, session):
        session.register(DASHBOARD)
        first = session.watch()
        assert (first.round, first.new, first.verdict) == (1500, 3, "fail")
        by_name = {one.name: one for one in first.questions}
        assert [*by_name] == [one.name for one in DASHBOARD]
        assert by_name["mean bmi"].verdict == "fail"
        assert by_name["older in Oslo"].verdict is None
        assert by_name["older"].display["value"].endswith(" %")
        assert by_name["older"].display["gate"] == "at least 10 %"
        assert by_name["mean bmi"].display["gate"] == "at most 1 kg/m²"
        before = contents(shop.path)
        again = session.watch()
        assert again.new == 0
        assert contents(shop.path) == before
        shop.append(records(1500, 2000))
        later = session.watch(["older"])
        assert (later.round, later.new, len(later.questions)) == (2000, 1, 1)
        [one] = later.questions
        width = one.result.width
        assert width < by_name["older"].result.width or shop.guard == "noise"
        shop.verify()

    def test_the_worst_verdict_counts(self, shop, session):
        gates = {"pass": ">= 0", "fail": "<= 0", "undecided": ">= 0.495"}
        questions = [
            {"name": f"is {name}", "question": f"age > {49 + i}", "gate": gate}
            for i, (name, gate) in enumerate(gates.items())
        ]
        session.register(sh.Dashboard.of(questions))
        verdicts = {one.name: one.verdict for one in session.watch().questions}
        assert verdicts == {f"is {name}": name for name in gates}
        assert session.watch().verdict == "fail"
        assert session.watch(["is pass", "is undecided"]).verdict == "undecided"
        assert session.watch(["is pass"]).verdict == "pass"
        session.register(sh.Dashboard.of([{"name": "no gate", "question": "age > 3"}]))
        assert session.watch(["no gate"]).verdict is None

    def test_a_gate_in_the_question_is_judged_too(self, session):
        gate = {"name": "young enough", "question": "gate(age > 50, at_most, 0.99)"}
        session.register(sh.Dashboard.of([gate]))
        assert session.watch().verdict == "pass"

    @pytest.mark.parametrize("names", [["nobody"], [], "older", [3]])
    def test_what_is_no_name(self, session, names):
        session.register(DASHBOARD)
        with pytest.raises(sh.InvalidInput):
            session.watch(names)

    def test_the_end_of_a_plan(self, tmp_path):
        with made(tmp_path / "shop", count=2000) as dataset:
            session = dataset.session("ann")
            session.register(DASHBOARD)
            session.watch()
            dataset.append(records(2000, 2100))
            with pytest.raises(
                sh.NotReady, match="the plan is complete: it ends at n = 2,000"
            ) as e:
                session.watch()
            assert "recorded answers stay free" in str(e.value)
            assert session.at(2000).watch().new == 0

    def test_the_end_of_the_budget(self, tmp_path):
        with made(tmp_path / "shop", count=2000) as dataset:
            session = dataset.session("ann")
            session.register(DASHBOARD)
            assert "the plan is complete" in str(exhausted(session))
            with pytest.raises(sh.BudgetExhausted, match="the plan is complete"):
                session.watch()

    def test_cut_off_between_claims_and_answers(self, shop, session):
        """What was registered and charged stays, and watching again gives the answers."""
        session.register(DASHBOARD)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RecordStore, "exact", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                session.watch()
        with opened(shop.path) as again:
            watched = again.session("ann").watch()
            assert watched.new == 3
            again.verify()
            kinds = [kind for kind, _ in bodies(shop.path).values()]
            assert kinds.count("name") == 3
            assert kinds.count("claim") == (3 if shop.guard == "surprise" else 0)


class TestHistory:
    def test_of_a_named_question(self, shop, session):
        session.register(DASHBOARD)
        empty = shop.history("older")
        assert (empty.points, empty.range, empty.display) == ((), None, {})
        assert shop.histories() == ()
        session.watch()
        shop.append(records(1500, 2000))
        watched = {one.name: one for one in session.watch().questions}
        history = shop.history("older")
        assert (history.title, history.unit, history.factor, history.at_least) == (
            *("older", "%", 100),
            0.1,
        )
        assert [point.round for point in history.points] == [1500, 2000]
        last, result = history.points[-1], watched["older"].result
        assert (last.entry, last.value, (last.low, last.high)) == (
            *(result.entry, result.value),
            result.interval,
        )
        assert history.display["values"][-1] == watched["older"].display["value"]
        assert history.display["gate"] == "at least 10 %"
        assert [one.title for one in shop.histories()] == [one.name for one in DASHBOARD]
        assert shop.history("age > 50") == history
        assert shop.history("mean(bmi, 0, 50)").factor == 1

    def test_without_names_those_asked_most_often(self, shop, session):
        session.ask("age > 50")
        session.ask("histogram(city in ('Oslo'))")
        session.at(1200).ask("age > 10")
        session.ask("age > 10")
        assert [one.query for one in shop.histories()] == [
            "fraction(age > 10)",
            "fraction(age > 50)",
        ]
        assert shop.histories(1)[0].label == "fraction(age > 10)"
        assert shop.histories()[0].title is None


CHANGES = {
    "canonical": "fraction(age > 51)",
    "question": "age > 51",
    "name": "mean bmi",
    "unit": "",
    "watch": 3,
    "at_least": "0.1",
    "at_most": 0.3,
    "analyst": 3,
    "time": 1.5,
}


class TestForgery:
    @pytest.fixture
    def path(self, shop, session):
        session.register(DASHBOARD)
        session.register(sh.Dashboard.of([{**NAMED[0], "unit": "parts"}]))
        session.watch()
        shop.verify()
        return shop.path

    @pytest.mark.parametrize("field", CHANGES)
    def test_with_all_hashes_forged(self, path, tmp_path, field):
        forged = copied(path, tmp_path / "forged")
        seq, body = [(s, b) for s, (kind, b) in bodies(path).items() if kind == "name"][-1]
        text = json.dumps({**body, field: CHANGES[field]}, separators=(",", ":"))
        write(forged, seq, text)
        rehash(forged, seq)
        rewitness(forged)
        assert found_by(forged) is not None

    @pytest.mark.parametrize("field", CHANGES)
    def test_each_field_is_hashed(self, path, tmp_path, field):
        forged = copied(path, tmp_path / "forged")
        seq, body = next((s, b) for s, (kind, b) in bodies(path).items() if kind == "name")
        write(forged, seq, json.dumps({**body, field: "x"}, separators=(",", ":")))
        found = found_by(forged)
        assert found is not None
        assert found[1].entry == seq
