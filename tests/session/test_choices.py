"""Choices among candidates, and what has to be at hand: statistics and models."""

from __future__ import annotations

import pytest

import surehold as sh
from support.runtime import (
    contents,
    opened,
)
from support.workload import CASES, YOUTH
from surehold.queries import custom, query_of

pytestmark = pytest.mark.usefixtures("quick_models")


@pytest.fixture
def dataset(full):
    return full


@pytest.fixture
def session(dataset):
    return dataset.session("ann")


# ---------------------------------------------------------------------------------- choices


@pytest.mark.parametrize(("best", "index"), [("lowest", 2), ("highest", 1)])
def test_without_noise_the_best_is_chosen(exact, best: str, index: int) -> None:
    ages = [50, 5, 95, 60]
    found = exact.ask(sh.select(ages, lambda age: f"age > {age}", best=best, price=4))
    assert (found.index, found.name, found.best) == (index, str(ages[index]), best)
    assert (found.candidates, found.price) == (4, 4)
    word = "above the lowest" if best == "lowest" else "below the highest"
    assert word in str(found)
    assert found.width == min(sum(found.terms.values()) * (1 + 1e-12), 1.0)


def test_what_a_candidate_is_called(exact) -> None:
    named = {"none": "age > 99", "young ones": "age < 50"}
    assert exact.ask(sh.select(named, price=1)).name == "none"
    assert exact.ask(sh.select(["age > 5", "age > 99.5"], price=1)).name == "age > 99.5"
    long = [f"age > 5 and city <> '{'x' * 90}'", f"age > 99 and city <> '{'x' * 90}'"]
    assert exact.ask(sh.select(long, price=1)).name == "#2"
    text = "select(lowest, 1, fraction(age > 7), fraction(age > 98))"
    assert exact.ask(text).name == "fraction(age > 98)"


def test_a_choice_asked_again_is_called_as_whoever_asks_calls_it(exact) -> None:
    """The mapping {"b": x, "a": y} asked after {"a": x, "b": y} must not mix the two up."""
    first = exact.ask(sh.select({"a": "age > 5", "b": "age > 99"}, price=2))
    query = sh.select({"b": "age > 5", "a": "age > 99"}, price=2)
    for again in (exact.ask(query), *exact.ask_many([query])):
        assert (again.recorded, again.entry, again.index, again.name) == (True, first.entry, 1, "a")
    assert exact.transcript[-1].name == "b"  # as it was told then


@pytest.mark.parametrize("name", ["", "x" * 201, "\ud800", "a\nb", "\0"])
def test_names_that_can_not_be_kept_are_refused_whoever_would_be_chosen(session, name) -> None:
    """If only the chosen one's were looked at, an error would tell which it is, for nothing."""
    for names in ((name, "b"), ("b", name)):
        with pytest.raises(sh.InvalidInput):
            sh.select(dict(zip(names, ("age > 5", "age > 99"), strict=True)), price=2)


def test_candidates_of_every_scalar_class(exact) -> None:
    """As long as they are on one scale."""
    chosen = exact.ask(sh.select({"youth": sh.statistic("youth")}, price=2))
    assert (chosen.name, chosen.candidates) == ("youth", 1)
    models = [CASES["model"].query, "age > 99"]
    assert exact.ask(sh.select(models, best="highest", price=2)).index == 0
    assert exact.ask(sh.select(["gini(bmi, 0, 50)", "gini(bmi * 0, 0, 50)"], price=2)).index == 1
    assert exact.ask("select(highest, 2, kendall(age, 0 - age), kendall(age, age))").index == 1


@pytest.mark.parametrize(
    "candidates",
    [
        ["age > 5", "mean(bmi, 0, 50)"],
        ["mean(bmi, 0, 50)", "mean(bmi, 0, 49)"],
        ["kendall(age, bmi)", "mean(bmi, -1, 3)"],  # the same span, but not the same range
        ["mean(bmi, -1, 3)", "kendall(age, bmi)"],
        ["difference(age > 5, age > 9)", "age > 5"],
    ],
)
def test_candidates_on_different_scales_are_refused(session, candidates) -> None:
    with pytest.raises(sh.InvalidQuery, match="not on one scale"):
        session.ask(sh.select(candidates, price=1))


def test_a_choice_s_width_has_room_for_the_grid(dataset, session) -> None:
    fine = session.ask(sh.select(["mean(bmi, 0, 1)", "mean(age, 0, 1)"], price=30))
    plain = session.ask(sh.select(["bmi > 1", "age > 1"], price=30))
    assert fine.terms["grid"] >= 2.0**-32
    assert fine.width >= plain.width + 2.0**-32 - 1e-15
    assert "grid" not in plain.terms


def test_a_choice_among_hundreds_is_kept_and_replayed(dataset, session) -> None:
    candidates = [f"age > {i} / 7 and city <> '{'x' * 40}'" for i in range(300)]
    found = session.ask(sh.select(candidates, price=40))
    assert len(found.query) > 10_000
    assert session.transcript[-1].index == found.index
    assert session.ask(sh.select(candidates, price=40)).recorded
    dataset.verify()


# ------------------------------------------------------------------------------- statistics


def test_a_statistic_of_more_records_than_rounding_allows(dataset, session, monkeypatch) -> None:
    """Refused before it is charged; at a smaller round it is answered."""
    monkeypatch.setattr(custom, "MOST", dataset.n - 1)
    with pytest.raises(sh.InvalidInput, match="the round of statistic"):
        session.ask(sh.statistic("youth"))
    assert session.budget.spent == 0.0
    assert session.at(dataset.n - 1).ask(sh.statistic("youth")).charge > 0


def test_a_statistic_that_nobody_registered(dataset, session) -> None:
    before = contents(dataset.path)
    for query in ("statistic('age')", "statistic('age', 1, 1, 0, 1)"):
        for asked in (query, f"gate({query}, at_least, 0.5)", f"select(lowest, 1, {query})"):
            with pytest.raises(sh.SureholdError, match="regist"):
                session.ask(asked)
    with pytest.raises(sh.InvalidQuery, match="registered with other numbers"):
        session.ask("statistic('youth', 2, 1, 0, 1)")
    assert contents(dataset.path) == before


def test_a_registered_statistic_whose_function_is_not_at_hand(dataset, session) -> None:
    first = session.ask(sh.statistic("youth"))
    with opened(dataset.path) as again:
        other, before = again.session(), contents(dataset.path)
        assert other.ask(sh.statistic("youth")).value == first.value  # it is recorded
        other.hold(1900)
        with pytest.raises(sh.InvalidInput, match="register it again"):
            other.ask(sh.statistic("youth"))
        assert contents(dataset.path) == before
        again.verify()
        again.register(YOUTH)
        assert other.ask(sh.statistic("youth")).round == 1900


def test_a_model_that_is_not_at_hand(dataset, session) -> None:
    text, before = CASES["model"].canonical, contents(dataset.path)
    assert session.quote(text).allowed
    with pytest.raises(sh.InvalidInput, match="at hand"):
        session.ask(text)
    assert contents(dataset.path) == before
    first = session.ask(CASES["model"].query)  # whatever was asked in words before
    assert session.ask(text).entry == first.entry


def test_parts_that_could_not_be_read_back_are_refused(dataset, session) -> None:
    """`totals(` is a letter longer than `means(`: one of the longest has parts that are longer."""
    texts = ", ".join(f"'{letter * 900}'" for letter in "abcdefghij")
    start = f"means(bmi, 0, 50, city in ({texts}, '"
    query = f"{start}{'z' * (10_000 - len(start) - 3)}'))"
    assert len(query_of(query).canonical) == 10_000
    before = contents(dataset.path)
    for ask in (session.ask, session.quote, lambda text: session.ask_many(["age > 1", text])):
        with pytest.raises(sh.InvalidQuery, match="longer than"):
            ask(query)
    assert contents(dataset.path) == before
