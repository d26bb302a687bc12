"""The contract of a session under the surprise guard, local and remote."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import surehold as sh
from contract.desks import OF_GUARD, more
from support.runtime import exhausted
from support.small_models import ABOUT, NEW, OLD, ONE
from surehold.session import RESULTS, AnalystSpending

ASKED = {
    "expected": ("age > 51", {"expect": 0.48, "within": 0.02, "doubt": 0.05}),
    "a surprise": ("age > 52", {"expect": 0.9, "within": 0.02}),
    "pass": (sh.gate("age > 5", at_least=0.8), {"expect": "pass", "doubt": "0.1"}),
    "one side": (sh.gate("age > 5", at_least=0.7), {"expect": "not pass"}),
    "better": (sh.improvement(OLD, NEW), {"expect": "not better", "within": Fraction(1, 50)}),
    "the ladder": (sh.improvement(NEW, OLD), {"expect": "no", "within": Fraction(1, 50)}),
    "a model": (NEW, {"expect": Decimal("0.5"), "within": np.float64(0.02)}),
    "a mean": ("mean(bmi, 10, 60)", {"expect": 25, "within": 1}),
}


@pytest.fixture
def guard() -> str:
    return "surprise"


def as_recorded(result):
    return replace(result, recorded=True)


def test_every_kind_is_answered_and_recorded(full):
    kinds = set()
    asked = {**{name: (query, {}) for name, query in OF_GUARD["surprise"].items()}, **ASKED}
    for name, (query, options) in asked.items():
        quote, before = full.quote(query, **options), full.status().spent
        result = full.ask(query, **options)
        kinds.add(result.kind)
        assert isinstance(result, sh.Outcome), name
        assert (result.query, result.analyst, result.round) == (quote.query, "ann", 2000)
        assert (result.recorded, quote.recorded) == (False, False), name
        assert result.surprise <= quote.most, name
        assert result.spent == pytest.approx(before + result.surprise)
        assert full.ask(query, **options) == as_recorded(result), name
        assert full.quote(query, **options).most == 0.0
        assert full.transcript[-1] == as_recorded(result)
    assert kinds == {kind for kind, one in RESULTS.items() if issubclass(one, sh.Outcome)}


def test_here_and_there_are_the_same(twins):
    local, remote = (desk.session(role="custodian") for desk in twins)
    for session in (local, remote):
        session.register(["age > 52"], share=0.1)
    for name, (query, options) in ASKED.items():
        assert local.quote(query, **options) == remote.quote(query, **options), name
        here, there = (one.ask(query, **options) for one in (local, remote))
        assert here == replace(there, time=here.time), name
    assert local.status() == replace(remote.status(), head=local.status().head)
    assert local.guard == remote.guard == "surprise"


def test_questions_are_registered(desk, session):
    first, second = session.register(["age > 50", NEW])
    assert (first.claim, second.claim, first.new) == (1, 2, True)
    [again] = session.register([sh.fraction("age > 50")])
    assert again == replace(first, new=False)
    custodian = desk.session(role="custodian")
    [third] = custodian.register(iter(["bmi > 20"]), share=Fraction(1, 2))
    assert third.share == 0.5
    assert session.register([]) == ()
    assert session.ask("age > 50").claim == 1
    [held] = session.at(500).register([sh.select(["age > 1", "age > 2"])])
    assert held.claim == 4
    assert desk.dataset.status().claims == 4


def test_a_quote_without_a_share_left_says_so(desk, session):
    desk.session(role="custodian").register(["age > 50"], share=1)
    quote = session.quote("age > 51")
    assert not quote.allowed
    assert quote.width is None
    assert "all of beta was declared for other claims" in quote.reason
    assert str(quote).startswith("refused: ")
    assert (quote.claim, quote.level, quote.least, quote.most) == (None, None, 0.0, 0.0)
    assert session.quote("age > 50").allowed
    with pytest.raises(sh.InvalidInput, match="all of beta was declared"):
        session.ask("age > 51")
    assert session.ask("age > 50").claim == 1


def test_a_limit_in_bits_is_its_analysts(desk):
    limited, other = desk.session("bob", limit=15), desk.session("eve")
    assert other.limit is None
    assert limited.limit.total == pytest.approx(15.0)
    assert "the limit of analyst 'bob'" in str(exhausted(limited))
    assert 0.0 < limited.limit.spent < 15.0
    assert not limited.quote("age > 50").allowed
    assert limited.quote("age > 50").remaining == limited.limit.remaining
    other.ask("age > 77")
    spent = {one.analyst: one for one in desk.dataset.status().by_analyst}
    assert spent["bob"] == AnalystSpending("bob", limited.limit.spent, spent["bob"].answers)
    assert set(spent) == {"bob", "eve"}


def test_what_was_answered_is_expected_once_there_are_more_records(desk, session):
    first = session.ask("age > 50")
    more(desk, 1000, 2000)
    again = session.ask("age > 50")
    assert (again.round, again.expected, again.recorded) == (2000, True, False)
    assert again.surprise < first.surprise
    assert again.width < first.width
    assert again.claim == first.claim


def test_a_scorer(session):
    scorer = session.scorer(features=ABOUT["features"], target=ABOUT["target"], classes=[0, 1])
    assert 0.0 <= scorer(ONE) <= 1.0
