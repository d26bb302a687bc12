"""Fair play: nobody foresees noise, wins without playing, or hides behind another's name."""

import copy

import numpy as np
import pytest

from support.lab_worlds import analysis_for
from surehold.errors import InvalidInput
from surehold.lab import (
    ATTACKERS,
    Agreements,
    Attacker,
    Guard,
    Replies,
    Setting,
    run,
)
from surehold.lab.rendering import verdict


class Foresees(Attacker):
    """Copies the analysis's random numbers, and takes from answers the noise that is to come."""

    name = "foresees"
    seen: list = []  # noqa: RUF012

    def attack(self, analysis):
        foreseen = copy.deepcopy(analysis.random)
        values = analysis.ask(Agreements(np.arange(50))).values
        sigma = 0.5 / np.sqrt(analysis.setting.n0)
        exact = (values - foreseen.normal(scale=sigma, size=50)) * analysis.setting.n
        Foresees.seen.append(np.abs(exact - np.rint(exact)).max())


def test_an_attacker_can_not_foresee_the_noise():
    Foresees.seen.clear()
    run(Foresees(), "noise", n0=1_000, n=1_000, queries=50, repeats=1)
    assert Foresees.seen[0] > 1e-6  # less, and the exact counts are known


def test_who_can_not_answer_at_all_says_why():
    report = run("sign", "guess-and-check", n0=200, n=200, queries=30, alpha=0.05, repeats=3)
    [row] = report.rows
    assert row.answered == 0.0
    assert row.reason is not None


def test_who_did_not_answer_was_not_right():
    report = run("sign", "surehold-ours-n", n0=200, n=200, queries=30, alpha=0.05, repeats=3)
    assert report.rows[0].reason is not None
    assert "3 of 3" not in verdict(report, "surehold-ours-n")


class Namesake(Attacker):
    """Of another's name."""

    name = "sign"
    source = "this test"

    def attack(self, analysis):
        analysis.ask(Agreements(np.arange(1)))


def test_two_by_one_name_are_refused():
    with pytest.raises(InvalidInput, match="sign"):
        run([Namesake(), "sign"], "raw", n0=1_000, n=1_000, queries=50, repeats=1)


class OneAtEachStop(Guard):
    """Room for one answer at each of ten sizes, as a plan in batches has it."""

    def __init__(self, setting):
        self._left = dict.fromkeys(setting.stops(10), 1)

    def _at(self, round):
        return max(stop for stop in self._left if stop <= round)

    def answers_left(self, view, round):
        return self._left[self._at(round)]

    def answer(self, questions, view, round):
        count = min(len(questions), self.answers_left(view, round))
        self._left[self._at(round)] -= count
        values = view.counts(questions[:count], slice(0, round)) / round
        return Replies.around(values, 0.1).then(Replies.refusals(len(questions) - count))

    @property
    def carries_over(self):
        return False


@pytest.mark.parametrize("name", ["hill-climbing", "forward-selection"])
def test_attackers_use_room_that_they_can_not_keep(name):
    [attacker] = [one for one in ATTACKERS if one.name == name]
    setting = Setting(n0=1_000, n=2_000, queries=200, alpha=0.1, beta=0.1)
    analysis = analysis_for(setting, OneAtEachStop(setting))
    attacker.attack(analysis)
    assert analysis.tally.answered > 1
