"""The rules that every attacker and every defender keeps; found by introspection."""

import inspect
from functools import lru_cache

import numpy as np
import pytest

from support.cases import case
from support.lab_worlds import Spy, tallied
from surehold.errors import NotApplicable, Unreachable
from surehold.lab import (
    ATTACKERS,
    DEFENDERS,
    Agreements,
    Analysis,
    Attacker,
    Coins,
    Defender,
    Guard,
    Planned,
    Population,
    Records,
    Replies,
    Setting,
    Tally,
    View,
)
from surehold.lab.contest import Contest

GROWING = Setting(n0=1_200, n=3_000, queries=150, alpha=0.3, beta=0.1)
STATIC = Setting(n0=1_500, n=1_500, queries=150, alpha=0.3, beta=0.1)
UNREACHABLE = Setting(n0=120, n=200, queries=40, alpha=0.05, beta=0.05)


def few(queries, setting=GROWING):
    return Setting(setting.n0, setting.n, queries, setting.alpha, setting.beta)


SETTINGS = {
    "growing": GROWING,
    "static": STATIC,
    "two": few(2),
    "three": few(3),
    "nine": few(9, STATIC),
    "thirty": few(30),
    "thirty at once": few(30, STATIC),
    "small": UNREACHABLE,
}

named = {"ids": lambda one: one.name}
attackers = pytest.mark.parametrize("attacker", ATTACKERS, **named)


def concrete(base):
    """All classes of the package below a base that can be made."""
    found = []
    for one in base.__subclasses__():
        found += concrete(one)
        if one.__module__.startswith("surehold.lab.") and not inspect.isabstract(one):
            found.append(one)
    return found


# ----------------------------------------------------------------------- difficult defenders


class RefusesAll(Guard):
    def answer(self, questions, view, round):
        return Replies.refusals(len(questions))

    def answers_left(self, view, round):
        return 0


class RefusesUnforeseen(RefusesAll):
    """It says that it has answers left, and has none."""

    def answers_left(self, view, round):
        return 2**62


class RefusesAtRandom(Guard):
    def __init__(self):
        self._random = np.random.default_rng(4)

    def answer(self, questions, view, round):
        values = view.counts(questions, slice(0, round)) / round
        kept = np.where(self._random.random(len(values)) < 0.5, values, np.nan)
        return Replies.around(kept, 0.1)


class Limited(Guard):
    """Answers so many in all; ``keeps`` says whether it admits that unused ones are kept."""

    def __init__(self, most, keeps=True):
        self._left, self._keeps = most, keeps

    def answer(self, questions, view, round):
        count = min(len(questions), self._left)
        self._left -= count
        values = view.counts(questions[:count], slice(0, round)) / round
        return Replies.around(values, 0.1).then(Replies.refusals(len(questions) - count))

    def answers_left(self, view, round):
        return self._left

    @property
    def carries_over(self):
        return self._keeps


DIFFICULT = {
    "refuses all": RefusesAll,
    "refuses unforeseen": RefusesUnforeseen,
    "refuses at random": RefusesAtRandom,
    "one answer": lambda: Limited(1),
    "two answers": lambda: Limited(2),
    "nine answers": lambda: Limited(9),
    "nine answers now": lambda: Limited(9, keeps=False),
}


# ------------------------------------------------------------------------------- an analysis


class Remembering(Population):
    """Another population that works out once what the spy and the analysis both want to know."""

    def __init__(self, inner):
        self.features, self._inner = inner.features, inner
        self._asked = self._truth = None

    def draw(self, count, random):
        return self._inner.draw(count, random)

    def truth(self, questions):
        if questions is not self._asked:
            self._asked, self._truth = questions, self._inner.truth(questions)
        return self._truth


@lru_cache(maxsize=1)
def world(attacker, setting):
    """A population and its records: the same for every defender, as in a contest."""
    random = np.random.default_rng([1, 1])
    population = attacker.population(setting, random)
    return Remembering(population), population.draw(setting.n, random)


def analyse(attacker, setting, guard_of):
    """One analysis with a spy beside it, or None where there is no plan."""
    population, records = world(attacker, setting)
    chance = np.random.default_rng([1, 2])
    try:
        spy = Spy(guard_of(setting, chance), population)
    except (Unreachable, NotApplicable):
        return None
    analysis = Analysis(setting, population, records, spy, chance)
    attacker.attack(analysis)
    return analysis, spy


def check_analysis(analysis, spy, setting):
    assert sum(call.asked for call in spy.calls) <= setting.queries
    assert analysis.tally == tallied(spy.calls)
    assert analysis.left == setting.queries - analysis.tally.asked
    assert 0 <= analysis.answers_left() <= analysis.left
    assert setting.n0 <= analysis.n <= setting.n
    assert analysis.spent is None or 0.0 <= analysis.spent <= 1.0
    for call in spy.calls:
        check_replies(call.replies, call.asked)
        assert setting.n0 <= call.round <= setting.n


def check_replies(replies, asked):
    values, lows, highs = replies.values, replies.lows, replies.highs
    assert len(values) == len(lows) == len(highs) == asked
    given = ~np.isnan(values)
    assert (np.isnan(lows) == ~given).all()
    assert (np.isnan(highs) == ~given).all()
    assert (lows[given] >= 0.0).all()
    assert (highs[given] <= 1.0).all()
    within = np.clip(values[given], 0.0, 1.0)
    assert (lows[given] <= within).all()
    assert (within <= highs[given]).all()


def applicable(attacker, names):
    """The settings in which an attack is played."""
    return [
        (name, SETTINGS[name])
        for name in names
        if attacker.kind != "growing" or SETTINGS[name].grows
    ]


@attackers
def test_every_attacker_and_every_defender_keep_to_the_rules(attacker):
    for name, setting in applicable(attacker, SETTINGS):
        played = 0
        for defender in DEFENDERS:
            with case(name, defender.name):
                analysis = analyse(attacker, setting, defender.guard)
                if analysis is not None:
                    played += 1
                    check_rules(*analysis, setting, defender)
        assert played >= 7, name  # all but the plans, and a check that has to be within alpha


def check_rules(analysis, spy, setting, defender):
    check_analysis(analysis, spy, setting)
    assert analysis.tally.asked > 0 or not spy.had_room
    for call in spy.calls:  # as many as it had said, and no more
        assert call.given <= min(call.asked, call.room)
        if defender.name != "guess-and-check":  # its answers depend on what comes
            assert call.given == min(call.asked, call.room)


@attackers
def test_attackers_cope_with_any_defender(attacker):
    for name, setting in applicable(attacker, ["growing", "static", "two", "thirty"]):
        for difficulty, guard in DIFFICULT.items():
            with case(name, difficulty):
                analysis, spy = analyse(attacker, setting, lambda *_, guard=guard: guard())
                check_analysis(analysis, spy, setting)


@attackers
def test_an_attack_is_the_same_again_with_the_same_seed(attacker):
    chosen = [one for one in DEFENDERS if one.name in ("noise", "thresholdout", "surehold-sharp")]
    contest = Contest(GROWING, ATTACKERS, tuple(chosen), None, seed=5)
    first, again, other = (contest.play(attacker, repeat) for repeat in (0, 0, 1))
    assert [one.tally for one in first] == [one.tally for one in again]
    assert [one.spent for one in first] == [one.spent for one in again]
    assert [one.tally for one in first] != [one.tally for one in other]


# ----------------------------------------------------------------------------------- who is who


@pytest.mark.parametrize("listed", [ATTACKERS, DEFENDERS], ids=["attackers", "defenders"])
def test_names_are_unique_and_everybody_says_where_it_is_from(listed):
    assert len({one.name for one in listed}) == len(listed)
    for one in listed:
        assert one.name == one.name.strip().lower()
        assert one.source
        assert len(inspect.getdoc(type(one))) > 30
        assert type(one).__doc__


def test_attackers_say_of_what_kind_they_are_and_what_they_end_with():
    for attacker in ATTACKERS:
        assert attacker.kind in ("static", "growing", "benign")
        assert attacker.last
    assert {one.kind for one in ATTACKERS} == {"static", "growing", "benign"}


def test_defenders_say_what_they_claim():
    assert all(defender.claim for defender in DEFENDERS)


def test_every_attacker_and_defender_of_the_package_is_listed():
    assert set(concrete(Attacker)) == {type(one) for one in ATTACKERS}
    assert set(concrete(Defender)) == {type(one) for one in DEFENDERS} | {Planned}


# ------------------------------------------------------------------------------------- the analysis


def test_an_analysis_shows_sizes_and_answers_and_no_record():
    population = Coins(100)
    random = np.random.default_rng(1)
    records = population.draw(GROWING.n, random)
    analysis = Analysis(GROWING, population, records, RefusesAll(), random)
    shown = {name: getattr(analysis, name) for name in dir(analysis) if not name.startswith("_")}
    assert set(shown) == {
        *("setting", "random", "tally", "n", "features", "left", "spent"),
        *("wait", "answers_left", "carries_over", "ask"),
    }
    for value in shown.values():
        assert not isinstance(value, Records | View | Guard | Population)
    for value in vars(shown["tally"]).values():
        assert value is None or isinstance(value, int | float)
    assert isinstance(shown["tally"], Tally)


def test_asking_too_much_or_too_early_is_an_error():
    random = np.random.default_rng(1)
    records = Coins(200).draw(GROWING.n, random)
    analysis = Analysis(GROWING, Coins(200), records, RefusesUnforeseen(), random)
    with pytest.raises(ValueError, match="more than the setting's queries"):
        analysis.ask(Agreements(np.arange(GROWING.queries + 1)))
    for at in (GROWING.n0 - 1, GROWING.n0 + 1):
        with pytest.raises(ValueError, match="between n0 and the present size"):
            analysis.ask(Agreements(np.arange(1)), at=at)
    assert analysis.tally == Tally()
    analysis.ask(Agreements(np.arange(GROWING.queries)))
    assert (analysis.left, analysis.answers_left()) == (0, 0)
    with pytest.raises(ValueError, match="more than the setting's queries"):
        analysis.ask(Agreements(np.arange(1)))


def test_records_arrive_and_never_leave():
    random = np.random.default_rng(1)
    analysis = Analysis(GROWING, Coins(9), Coins(9).draw(GROWING.n, random), RefusesAll(), random)
    seen = []
    for n in (0, 1_500, 1_300, 10**9, 5):
        analysis.wait(n)
        seen.append(analysis.n)
    assert seen == [1_200, 1_500, 1_500, 3_000, 3_000]
