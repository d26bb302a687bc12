"""Nothing but outcomes depends on what records hold: not quotes, refusals, errors or limits."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import surehold as sh
from queries.test_hostile import COLUMNS as HOSTILE_COLUMNS
from queries.test_hostile import HOSTILE
from support.runtime import COLUMNS, GUARDS, adaptive_plan, contents, made, opened, records
from support.workload import ABOUT, CASES, OF_BOTH, YOUTH
from surehold.session.dataset import Dataset

OPTIONS: list[dict[str, Any]] = [
    {"expect": "pass"},
    {"expect": "0.5", "within": "0.01"},
    {"expect": 1e300},
    {"expect": math.nan},
    {"within": 0},
    {"within": -1},
    {"within": math.inf},
    {"within": "1e-9999999"},
    {"within": "9" * 10_000},
    {"doubt": 0},
    {"doubt": 1},
    {"doubt": "1/0"},
    {"expect": "no"},
    {"expect": "not better"},
    {"expect": "'; drop table entries"},
    {"expect": [1]},
]


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_are_refused_alike_under_both_guards(tmp_path, kind: str) -> None:
    said: dict[str, list[str]] = {}
    guards: dict[str, Any] = {"noise": {"plan": adaptive_plan()}, "surprise": {"beta": "0.05"}}
    for guard, how in guards.items():
        with sh.create(tmp_path / guard, columns=HOSTILE_COLUMNS, **how) as dataset:
            row = {"age": 1, "bmi": 1.0, "smoker": True, "city": "Oslo"}
            dataset.append([row] * 250)
            session, said[guard], before = dataset.session("eve"), [], contents(dataset.path)
            lists = [session.ask_many, *([session.register] if guard == "surprise" else [])]
            for text in HOSTILE[kind]:
                for attempt in lists:
                    with pytest.raises(sh.SureholdError):
                        attempt([text])
                for attempt in (session.ask, session.quote):
                    with pytest.raises(sh.SureholdError) as caught:
                        attempt(text)
                said[guard].append(str(caught.value))
            assert contents(dataset.path) == before
    assert said["noise"] == said["surprise"]


@pytest.mark.usefixtures("quick_models")
@pytest.mark.parametrize(("guard", "name"), OF_BOTH)
def test_a_quote_touches_no_record_and_changes_nothing(full, no_data, name: str) -> None:
    session, before = full.session("ann"), contents(full.path)
    no_data()
    assert session.quote(CASES[name].query).allowed
    assert contents(full.path) == before


@pytest.mark.usefixtures("quick_models")
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"fit"}))
def test_quotes_registrations_and_refusals_do_not_depend_on_records(tmp_path, name: str) -> None:
    """Two datasets of one size that have nothing in common."""
    said: list[list[Any]] = []
    others = [{"age": 0, "bmi": None, "city": None}] * 40
    for folder, rows in (("one", records(0, 40)), ("two", others)):
        with sh.create(tmp_path / folder, beta="0.05", columns=COLUMNS) as dataset:
            dataset.append(rows, again=True)
            dataset.register(YOUTH)
            session, query = dataset.session("ann", limit=0.01), CASES[name].query
            found: list[Any] = [session.quote(query).to_dict()]
            found += [one.to_dict() for one in session.register([query])]
            found.append(session.quote(query).to_dict())
            for options in OPTIONS:
                for attempt in (session.quote, session.ask):
                    try:
                        found.append(attempt(query, **options).to_dict())
                    except sh.SureholdError as error:
                        found.append(str(error))
            said.append(found)
            assert dataset.status().answers == 0  # a hundredth of a bit buys nothing
    assert said[0] == said[1]


HARD = [
    {"age": None, "bmi": None, "city": None},
    {"age": 2**63 - 1, "bmi": 1e308, "city": "x" * 500},
    {"age": -(2**63), "bmi": -1e308, "city": ""},
    {"age": 0, "bmi": 5e-324, "city": "\u0000"},
    {"age": 0, "bmi": -0.0, "city": "Oslo"},
]
EDGY = (
    "age / 0 > 1",
    "bmi * 1e150 * 1e150 > 1",
    "mean(bmi / age, 0, 1)",
    "mean(age * 1e100, -1e6, 1e6)",
    "rate(age > 0, bmi / age > 1)",
    "rate(bmi, age / age = 1, 0, 50)",
    "difference(age > 0, bmi / bmi = 1)",
    "difference(mean(bmi, 0, 50), mean(age, 0, 50))",
    "auc(bmi / age, age > 0)",
    "variance(bmi, 0, 50)",
    "kendall(age, bmi)",
    "means(bmi, 0, 50, city in ('Oslo'))",
    "histogram(bins(bmi, 0, 1, 2), city in ('Oslo'))",
    "gate(mean(bmi, 0, 50), at_least, 25)",
    "gate(rate(age > 0, bmi / age > 1), at_most, 0.5)",
    "gate(difference(age > 0, bmi > 0), at_least, 0)",
    "select(lowest, 2, mean(bmi, 0, 1), mean(age, 0, 1))",
)


@pytest.mark.parametrize("row", range(len(HARD) + 1))
@pytest.mark.parametrize("guard", GUARDS)
def test_no_value_of_a_record_makes_an_ask_fail(tmp_path, guard: str, row: int) -> None:
    rows = [HARD[row]] if row < len(HARD) else HARD
    how: Any = {"plan": adaptive_plan()} if guard == "noise" else {"beta": "0.05"}
    counts = (2000,) if guard == "noise" else (1, 2, 9)
    for count in counts:
        with sh.create(tmp_path / str(count), columns=COLUMNS, **how) as dataset:
            dataset.append((rows * count)[:count], again=True)
            session = dataset.session("ann")
            for query in EDGY:
                session.ask(query)
            dataset.verify()


def moody(matrix: Any) -> Any:
    return matrix[:, 0] * 0 + float(os.environ.get("MOOD", "0"))


@pytest.mark.usefixtures("quick_models")
@pytest.mark.parametrize("metric", [sh.accuracy, sh.auc])
def test_a_model_that_does_not_repeat_itself_learns_nothing_for_free(
    tmp_path, monkeypatch, metric
) -> None:
    """An error would tell that its second number is not in the cell of the first."""
    query = metric(moody, **ABOUT)
    made(tmp_path / "evals", count=300, guard="surprise").close()
    with opened(tmp_path / "evals") as dataset:
        first = dataset.session("ann").ask(query, within="0.05")
    monkeypatch.setenv("MOOD", "1")
    with opened(tmp_path / "evals") as dataset:
        second = dataset.session("ann").ask(query, within="0.001")
    assert first.cell[0] <= second.cell[0] < second.cell[1] <= first.cell[1]
    assert second.surprise > 0


# --------------------------------------------------------------------------------- limits


@pytest.fixture
def evals(tmp_path) -> Iterator[Dataset]:
    with made(tmp_path / "evals", count=300, guard="surprise") as dataset:
        yield dataset
        dataset.verify()


def test_threads_together_spend_no_more_than_the_limit(evals: Dataset) -> None:
    limited = evals.session("ann", limit=60)

    def run(start: int) -> None:
        for i in range(50):
            try:
                limited.ask(f"age > {start} + {i} / 1000")
            except sh.BudgetExhausted:
                return
        raise AssertionError("the limit never ended it")

    threads = [threading.Thread(target=run, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 50 < limited.limit.spent <= limited.limit.total == 60


def test_two_processes_and_lists_together_spend_no_more_than_the_limit(evals: Dataset) -> None:
    with opened(evals.path) as other:
        sessions = [one.session("ann", limit=40) for one in (evals, other)]
        for i in range(40):
            try:
                sessions[i % 2].ask_many([f"age > {i} + {j} / 7" for j in range(i % 3)])
            except sh.BudgetExhausted:
                continue
        assert sessions[0].limit == sessions[1].limit
        assert sessions[0].limit.spent <= 40


def test_what_is_under_way_counts_for_the_limit(evals: Dataset, monkeypatch) -> None:
    """As dear as it can come out, until it has."""
    limited = evals.session("ann", limit=20)
    with monkeypatch.context() as patch:
        patch.setattr(type(evals._data), "exact", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            limited.ask("age > 1", expect="0.5", within="0.02", doubt="0.05")
    held = limited.limit
    assert (held.spent, held.remaining < 10) == (0.0, True)
    quote = limited.quote("age > 2", expect="0.5", within="0.02", doubt="0.05")
    assert not quote.allowed
    with pytest.raises(sh.BudgetExhausted):
        limited.ask("age > 2", expect="0.5", within="0.02", doubt="0.05")
    assert evals.session("bob").ask("age > 3").surprise > 0  # nobody else is concerned
    settled = limited.ask("age > 1")
    assert limited.limit.spent == pytest.approx(settled.surprise)


def test_a_list_never_costs_more_than_was_checked(evals: Dataset) -> None:
    """What comes as expected lowers the doubt, and so makes the next surprise dearer."""
    names = [f"age > {i}" for i in range(0, 90, 9)]
    evals.session("bob").ask_many(names)
    evals.append([{"age": 99, "bmi": 1.0, "city": "Oslo"}] * 90, again=True)
    evals._data.exact(
        [sh.fraction(name).measure(evals._ledger.schema) for name in names], evals.n
    )  # so that no charge would be needed
    quotes = [evals.session("bob").quote(name).most for name in names]
    limited = evals.session("ann", limit=sum(quotes) + 1e-9)
    limited.ask_many(names)
    assert limited.limit.spent <= limited.limit.total


def test_the_limit_of_a_dataset_holds_for_all(tmp_path) -> None:
    with sh.create(tmp_path / "evals", beta="0.05", columns=COLUMNS, limit=30) as dataset:
        dataset.append(records(0, 300))
        for i in range(60):
            try:
                dataset.session(f"analyst {i % 5}").ask(f"age > {i}")
            except sh.BudgetExhausted:
                continue
        assert 20 < dataset.status().spent <= 30
        dataset.verify()
