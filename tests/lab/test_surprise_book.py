"""The lab's surprise guard against the golden values, and what its answers are."""

import math
from fractions import Fraction

import numpy as np
import pytest

from support.lab_worlds import every_kind, viewed
from surehold.lab import DEFENDERS, Agreements, Coins, Expected, Setting, Votes
from surehold.lab.surprise_book import SurpriseBook
from surehold.theory.surprise.menus.verdicts import gate_menu
from theory.surprise.golden import GOLDEN

BY_NAME = {defender.name: defender for defender in DEFENDERS}
SETTING = Setting(n0=2_000, n=2_000, queries=50, alpha=0.2, beta=0.05)
OTHERS = ("rate", "selection", "difference")  # which are no fractions


@pytest.fixture(scope="module")
def played():
    """Every step of the golden scenario that is about a fraction; others only cost."""
    book, found, records = SurpriseBook(Fraction(GOLDEN["beta"])), {}, 2_000
    for step in GOLDEN["scenario"]:
        name, kind, t = step["question"], step["kind"], step["round"]
        records = max(records, t or 0)
        if kind == "register" or kind in OTHERS:
            book.register(name, records)
            book.charge(int(step["price_units"]))
        elif kind == "gate":
            weights = {verdict: Fraction(w) for verdict, w in step["weights"].items()}
            menu = gate_menu(Fraction(step["threshold"]), weights)
            found[step["step"]] = book.gate(name, step["count"], t, menu, records)
        else:
            given = {"within": Fraction(step["e"])} if step["step"] in (9, 10) else {}
            if kind == "expected":
                given = {key: Fraction(step[key]) for key in ("expect", "within")}
            if step["step"] in (2, 3):
                given["doubt"] = Fraction(step["doubt"])
            found[step["step"]] = book.ask(name, step["count"], t, records=records, **given)
        assert book.spent == int(step["spent_after_units"])
    return found


@pytest.mark.parametrize(
    "step", [s for s in GOLDEN["scenario"] if s["kind"] in ("plain", "expected", "again", "gate")]
)
def test_golden_steps(step, played):
    found = played[step["step"]]
    if step["kind"] == "gate":
        assert found == step["verdict"]
        return
    assert [str(found.cell.low), str(found.cell.high)] == step["mean_cell"]
    ends = [f"{float(end):.9f}" for end in (found.interval.low, found.interval.high)]
    assert ends == step["shown"]
    assert str(found.price) == step["price_units"]


def test_the_same_question_again_is_free_and_keeps_its_claim():
    book = SurpriseBook(Fraction(1, 20))
    first = book.ask("a", 1_000, 2_000)
    for other in range(20):
        book.ask(other, 1_000 + other, 2_000)
    spent = book.spent
    again = book.ask("a", 1_000, 2_000)
    assert (again.cell, again.interval, again.price) == (first.cell, first.interval, 0)
    assert book.spent == spent
    late = book.ask("b", 1_000, 2_000)
    assert late.interval.half_width > 2 * first.interval.half_width


def test_a_claim_for_one_round_is_about_no_other():
    book = SurpriseBook(Fraction(1, 20))
    book.register("a", 2_000, rounds="once", share=Fraction(1, 2))
    once = book.ask("a", 1_000, 2_000)
    assert (
        once.interval.half_width
        < SurpriseBook(Fraction(1, 20)).ask("a", 1_000, 2_000).interval.half_width
    )
    with pytest.raises(ValueError, match="nothing is claimed at round 3000"):
        book.ask("a", 1_500, 3_000)


# -------------------------------------------------------------------------------- the defenders


def test_names_say_what_is_asked():
    for questions in every_kind(np.random.default_rng(1), 24):
        names = questions.names()
        assert len(names) == len(questions)
        half = len(names) // 2
        assert questions[:half].names() + questions[half:].names() == names
    assert Agreements(np.array([3])).names() != Agreements(np.array([4])).names()
    assert Votes(np.ones(8)).names() != Votes(np.ones(8), beyond=0).names()
    assert Votes(np.ones(8), beyond=1).names() != Votes(np.ones(8), beyond=0).names()
    plain = Agreements(np.arange(3))
    assert Expected(plain, np.zeros(3), 0.1).names() == plain.names()
    assert len(set(Agreements(np.array([3, 4, 3])).names())) == 2


def test_plain_numbers_are_the_books():
    records = Coins(16).draw(2_000, np.random.default_rng(1))
    questions = Agreements(np.arange(16))
    guard = BY_NAME["surprise"].guard(SETTING, np.random.default_rng(1))
    replies = guard.answer(questions, viewed(records), 2_000)
    book = SurpriseBook(Fraction(1, 20))
    for place, count in enumerate(questions.counts(records, slice(0, 2_000)).tolist()):
        found = book.ask(place, count, 2_000)
        assert replies.values[place] == float(found.cell.middle)
        assert replies.lows[place] == float(found.interval.low)
        assert replies.highs[place] == float(found.interval.high)
    assert guard.spent is None


def test_guesses_are_those_of_guess_and_check():
    """Even records guess, odd ones are asked; where both agree the guess is the answer."""
    records = Coins(16).draw(2_001, np.random.default_rng(1))
    questions = Agreements(np.arange(16))
    public = questions.counts(records, slice(0, 2_001, 2)) / 1_001
    guarded = questions.counts(records, slice(1, 2_001, 2)) / 1_000
    guard = BY_NAME["surprise-guess"].guard(SETTING, np.random.default_rng(1))
    replies = guard.answer(questions, viewed(records), 2_001)
    within = 3 / math.isqrt(2_001)
    near = np.abs(public - guarded) < within
    assert near.sum() >= 14
    assert replies.values[near] == pytest.approx(public[near], abs=1e-15)
    assert (np.abs(replies.values - guarded) <= within).all()
    assert (replies.highs - replies.lows < 0.3).all()


def test_an_analysts_own_guess_is_taken():
    records = Coins(8).draw(2_000, np.random.default_rng(1))
    asked = Expected(Agreements(np.arange(2)), np.array([0.5, 0.3]), 0.1)
    share = asked.counts(records, slice(0, 2_000)) / 2_000
    assert np.abs(share - 0.5).max() < 0.1
    guard = BY_NAME["surprise"].guard(SETTING, np.random.default_rng(1))
    replies = guard.answer(asked, viewed(records), 2_000)
    assert replies.values == pytest.approx([0.5, 0.5])  # the second in the first cell beside
