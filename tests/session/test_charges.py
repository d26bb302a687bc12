"""The charge is durable before any record is touched, and every refusal comes before the charge."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import surehold as sh
from support.runtime import GUARDS, contents, made, opened, records
from support.touches import Touches
from support.workload import CASES, OF_BOTH
from surehold.data.record_store import RecordStore
from surehold.ledger import draft
from surehold.session.dataset import Dataset

BOTH = pytest.mark.parametrize("guard", GUARDS)


@pytest.fixture
def touches(monkeypatch) -> Touches:
    watched = Touches()
    watched.install(monkeypatch)
    return watched


@pytest.mark.usefixtures("quick_models")
@pytest.mark.parametrize(("guard", "name"), OF_BOTH)
def test_every_class_is_charged_before_it_is_evaluated(full, touches, name: str) -> None:
    full.session("ann").ask(CASES[name].query)
    full.verify()
    assert touches.counts
    assert not touches.uncharged


@BOTH
def test_a_key_that_somebody_else_uses_meanwhile(clinic, session, touches, guard) -> None:
    """As an attacker did: a fresh query with key K and, while it runs, a recorded one with K."""
    session.ask("age > 1")
    refused: list[Exception] = []

    def use_the_key() -> None:
        with opened(clinic.path) as other, pytest.raises(sh.InvalidInput, match="key") as caught:
            other.session("bob").ask("age > 1", key="K")
        refused.append(caught.value)

    touches.during = use_the_key
    spent = clinic._ledger.state.spent
    answer = session.ask("age > 50", key="K")
    assert len(refused) == 1
    assert (answer.key, answer.recorded) == ("K", False)
    assert clinic._ledger.state.spent == 2 * spent or guard == "surprise"
    assert clinic._ledger.state.spent > spent
    assert session.ask("age > 50", key="K").value == answer.value
    clinic.verify()


REFUSED = ("key", "list", "round", "model", "statistic")


@pytest.mark.parametrize(
    ("guard", "name"), [*((g, name) for g in GUARDS for name in REFUSED), ("noise", "budget")]
)
def test_a_refusal_touches_no_record_and_changes_nothing(
    clinic, session, no_data, name: str
) -> None:
    session.ask("age > 1", key="K")
    session.ask_many(["age > 2", "age > 3"], key="L")
    before = contents(clinic.path)
    wrong: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
        "key": (sh.InvalidInput, lambda: session.ask("age > 50", key="K")),
        "budget": (
            sh.BudgetExhausted,
            lambda: session.ask_many([f"age > {i}.5" for i in range(99)]),
        ),
        "list": (sh.InvalidInput, lambda: session.ask_many(["age > 2"], key="L")),
        "round": (sh.NotReady, lambda: session.at(5000)),
        "model": (sh.InvalidInput, lambda: session.ask(_unusable())),
        "statistic": (sh.InvalidQuery, lambda: session.ask("statistic('youth')")),
    }
    no_data()
    error, ask = wrong[name]
    with pytest.raises(error):
        ask()
    assert contents(clinic.path) == before


def _unusable() -> sh.Query:
    """A model that takes another number of features, which made-up rows show."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    return sh.accuracy(model, features=["age"], target="bmi > 25")


@BOTH
def test_an_ask_that_is_cut_off_stays_charged_and_is_completed_without_another_charge(
    clinic, session, monkeypatch, guard
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RecordStore, "exact", _cut_off)
        with pytest.raises(KeyboardInterrupt):
            session.ask("age > 50", key="K")
    spent = clinic._ledger.state.spent
    assert (spent > 0) == (guard == "noise")  # a surprise is spent when it comes
    assert len(session.transcript) == 0
    clinic.verify()
    clinic.append(records(1000, 1100))
    assert session.at(1000).quote("age > 50").allowed
    assert session.at(1000).quote("age > 50").to_dict().get("charge", 0.0) == 0.0
    with opened(clinic.path) as other:
        answer = other.session("bob").ask("age > 50", key="K")
    assert (answer.round, answer.analyst, answer.recorded) == (1000, "ann", False)
    clinic._ledger.refresh()
    assert guard == "surprise" or clinic._ledger.state.spent == spent
    spent = clinic._ledger.state.spent
    assert session.ask("age > 50", key="K").value == answer.value
    assert session.at(1000).ask("age > 50").value == answer.value
    assert clinic._ledger.state.spent == spent
    clinic.verify()


def _cut_off(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@BOTH
def test_threads_that_ask_the_same_evaluate_it_once(clinic, touches) -> None:
    barrier, values = threading.Barrier(6), list[float]()

    def ask(i: int) -> None:
        session = clinic.session(f"analyst {i}")
        barrier.wait()
        values.append(session.ask("age > 50").value)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 6
    assert len(set(values)) == 1
    assert set(touches.counts.values()) == {1}
    clinic.verify()


def test_what_is_at_hand_is_charged_and_answered_in_one_step(clinic, session, commits) -> None:
    session.ask("age > 50")
    count = commits.count
    session.ask("mean(case when age > 50 then 1 else 0 end, 0, 1)")
    assert commits.count == count + 2
    session.ask(sh.select(["age > 50", "age <= 50"], price=4))
    count = commits.count
    session.ask("age <= 50")  # summed for the selection
    assert commits.count == count + 1


# -------------------------------------------------------------------------- what costs nothing


def entries(dataset: Dataset) -> int:
    return dataset.status().entries


def test_what_is_implied_has_no_entry(clinic, session) -> None:
    session.ask("age > 50")
    before = entries(clinic)
    for limit in range(1, 50):
        verdict = session.ask(sh.gate("age > 50", at_least=limit / 100))
        assert verdict.recorded
        assert session.ask("age > 50").recorded
    assert entries(clinic) == before
    assert session.ask(sh.gate("age > 50", at_least=0.99)).verdict == "fail"
    assert not session.ask(sh.gate("age > 60", at_least=0.99)).recorded  # charged, so it has one
    clinic.verify()


@BOTH
def test_keys_for_what_is_recorded_are_bounded(tmp_path, monkeypatch, guard) -> None:
    monkeypatch.setattr(draft, "FREE_A_DAY", 5)
    now = [4e9]
    with made(tmp_path / "clinic", count=1000, clock=lambda: now[0], guard=guard) as dataset:
        session = dataset.session("ann")
        session.ask("age > 50")
        for i in range(5):
            session.ask("age > 50", key=f"key {i}")
        before = contents(dataset.path)
        asks = [
            lambda: session.ask("age > 50", key="one more"),
            lambda: session.ask_many(["age > 50", "age > 60"], key="a list"),
            lambda: session.ask(sh.gate("age > 50", at_least=0.1), key="a gate"),
        ]
        for ask in asks if guard == "noise" else asks[:2]:  # a gate costs bits there
            with pytest.raises(sh.RequestRefused, match="free entries") as caught:
                ask()
            assert caught.value.status == 429
            assert 0 < caught.value.retry_after <= 86_400
        assert contents(dataset.path) == before
        assert session.ask("age > 50").recorded
        assert session.ask("age > 50", key="key 3").recorded
        assert dataset.session("bob").ask("age > 50", key="another's").recorded
        dataset.verify()
        now[0] += 86_400
        assert session.ask("age > 50", key="the next day").recorded
        dataset.verify()
