"""What the rest of the budget buys, how the data grew, and appends that are repeated."""

from __future__ import annotations

import pytest

import surehold as sh
from support.runtime import adaptive_plan, batch_plan, made, opened, records, sql
from surehold.data import intake


def test_a_new_dataset_has_the_paces_of_its_plan(tmp_path):
    with made(tmp_path / "clinic") as dataset:
        outlook, paces = dataset.outlook(), adaptive_plan().paces
        assert (outlook.now.answers, outlook.now.round) == (paces.at_n0, 200)
        assert (outlook.at_end.answers, outlook.at_end.round) == (paces.at_n, 2000)
        assert outlook.evenly.answers in (paces.evenly, paces.evenly + 1)
        assert outlook.evenly.round is None


def test_asking_evenly_gives_what_was_said(tmp_path):
    """Played out: one answer after another, each at its place between now and the end."""
    with made(tmp_path / "clinic", count=500) as dataset:
        session = dataset.session("ann")
        count = dataset.outlook().evenly.answers
        for i in range(count):
            wanted = 500 + (i + 1) * 1500 // (count + 1)
            dataset.append(records(dataset.n, wanted))
            session.ask(f"age > {i} / 7")
        assert session.budget.remaining >= 0.0


@pytest.mark.parametrize("count", [200, 800, 1500])
def test_asking_evenly_in_batches(tmp_path, count):
    with made(tmp_path / "clinic", batch_plan(), count) as dataset:
        outlook, session = dataset.outlook(), dataset.session("ann")
        rounds = [round for round in (200, 800, 1400, 2000) if round >= outlook.now.round]
        each, rest = divmod(outlook.evenly.answers, len(rounds))
        assert rest == 0
        for round in rounds:
            dataset.append(records(dataset.n, max(round, dataset.n)))
            for i in range(each):
                session.at(round).ask(f"age > {i} / 7 + {round}")
        assert dataset.outlook().evenly.answers < len(rounds)


def test_nothing_left_buys_nothing(clinic):
    session = clinic.session("ann")
    clinic.append(records(1000, 2000))
    for i in range(400):
        try:
            session.ask(f"age > {i} / 7")
        except sh.BudgetExhausted:
            break
    outlook = clinic.outlook()
    assert (outlook.now.answers, outlook.evenly.answers, outlook.at_end.answers) == (0, 0, 0)


def test_growth_is_what_was_appended(tmp_path):
    with made(tmp_path / "clinic") as dataset:
        assert dataset.growth() == ()
        for stop in range(10, 210, 10):
            dataset.append(records(stop - 10, stop))
        grown = dataset.growth()
        assert [point.n for point in grown] == list(range(10, 210, 10))
        assert list(grown) == sorted(grown, key=lambda point: point.time)
        few = dataset.growth(7)
        assert len(few) <= 7
        assert few[-1] == grown[-1]


# ------------------------------------------------------------------------ keys of appends


def test_an_append_with_a_key_is_made_once(tmp_path):
    with made(tmp_path / "clinic") as dataset:
        first = dataset.append(records(0, 5), key="mon")
        dataset.append(records(5, 7))
        again = dataset.append(records(0, 5), key="mon")
        assert again == first == sh.Appended(5, 5)
        assert dataset.n == 7
        assert dataset.verify().records == 7


def test_a_large_append_with_a_key_is_made_once(tmp_path, monkeypatch):
    monkeypatch.setattr(intake, "LARGE", 50)
    with made(tmp_path / "clinic") as dataset:
        first = dataset.append(records(0, 200), key="mon")
        assert dataset.append(records(0, 200), key="mon") == first
        assert dataset.n == 200
        files = list((tmp_path / "clinic" / "segments").iterdir())
        assert len(files) == 1
        dataset.verify()


def test_the_key_of_another_append_or_answer_is_refused(tmp_path):
    with made(tmp_path / "clinic", count=500) as dataset:
        dataset.append(records(500, 505), key="mon")
        with pytest.raises(sh.InvalidInput, match="new for each append"):
            dataset.append(records(505, 510), key="mon")
        with pytest.raises(sh.InvalidInput, match="new for each query"):
            dataset.session("ann").ask("age > 5", key="mon")
        dataset.session("ann").ask("age > 5", key="tue")
        with pytest.raises(sh.InvalidInput, match="new for each append"):
            dataset.append(records(505, 510), key="tue")
        assert dataset.n == 505


def test_the_key_of_an_append_outlives_the_process_and_is_verified(tmp_path):
    path = tmp_path / "clinic"
    with made(path) as dataset:
        dataset.append(records(0, 5), key="mon")
    with opened(path) as dataset:
        assert dataset.append(records(0, 5), key="mon") == sh.Appended(5, 5)
    sql(path, "UPDATE keys SET key = 'tue'")
    with opened(path) as dataset, pytest.raises(sh.LedgerCorrupt, match="key"):
        dataset.verify()
