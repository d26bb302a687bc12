"""What one ask does, counted: one refresh of the ledger, and each charge worked out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from support.workload import CASES
from surehold.ledger.ledger import Ledger
from surehold.mechanisms import ClippedGaussian
from surehold.queries import Dashboard, NamedQuestion
from surehold.session.dataset import Dataset
from surehold.session.dataset import open as open_dataset


@pytest.fixture
def counts(monkeypatch) -> Counter:
    """How often the ledger was refreshed, and a charge worked out, by its round."""
    found: Counter = Counter()
    refresh, charge = Ledger.refresh, ClippedGaussian.charge

    def counted_refresh(ledger: Ledger) -> object:
        found["refresh"] += 1
        return refresh(ledger)

    def counted_charge(mechanism: ClippedGaussian, round: int) -> int:
        found["charge", round] += 1
        return charge(mechanism, round)

    monkeypatch.setattr(Ledger, "refresh", counted_refresh)
    monkeypatch.setattr(ClippedGaussian, "charge", counted_charge)
    return found


@pytest.fixture
def dataset(full, counts) -> Iterator[Dataset]:
    """Opened while calls are counted; what opening takes is not counted."""
    with open_dataset(full.path) as opened:
        counts.clear()
        yield opened


@pytest.mark.parametrize("name", ["fraction", "mean", "bins", "rate", "gate", "variance", "select"])
@pytest.mark.parametrize("held", [None, 2000])
def test_one_ask(dataset, counts, name: str, held: int | None) -> None:
    session = dataset.session("ann").at(held)
    counts.clear()
    session.ask(CASES[name].query, key="k")
    assert counts == {"refresh": 1, ("charge", 2000): 1}
    session.ask(CASES[name].query, key="k")
    assert counts["refresh"] <= 2
    assert counts["charge", 2000] == 1


def test_many_at_once(dataset, counts) -> None:
    session = dataset.session("ann")
    session.ask_many(["age > 50", "age > 60", "rate(age > 50, age > 40)"], key="k")
    assert counts == {"refresh": 1, ("charge", 2000): 1}


def test_a_quote(dataset, counts) -> None:
    dataset.session("ann").quote("age > 50")
    assert counts == {"refresh": 1, ("charge", 2000): 1}


def test_a_question_by_its_name(dataset, counts) -> None:
    session = dataset.session("ann")
    session.register(Dashboard([NamedQuestion("older", "age > 50")]))
    counts.clear()
    session.ask("older")
    assert counts == {"refresh": 1, ("charge", 2000): 1}
