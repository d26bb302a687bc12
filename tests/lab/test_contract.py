"""What every attacker and every defender keeps to, whoever they are; found by introspection."""

import inspect

import numpy as np
import pytest

from support.lab_worlds import Spy, tallied
from surehold.errors import NotApplicable, Unreachable
from surehold.lab import (
    ATTACKERS,
    DEFENDERS,
    Agreements,
    Attacker,
    Coins,
    Defender,
    Desk,
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
settings = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


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
        return Replies.refused(len(questions))

    def room(self, view, round):
        return 0


class RefusesUnforeseen(RefusesAll):
    """It says that there is room, and there is none."""

    def room(self, view, round):
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
        return Replies.around(values, 0.1).then(Replies.refused(len(questions) - count))

    def room(self, view, round):
        return self._left

    @property
    def keeps_room(self):
        return self._keeps


DIFFICULT = {
    "refuses all": RefusesAll,
    "refuses unforeseen": RefusesUnforeseen,
    "refuses at random": RefusesAtRandom,
    "room for one": lambda: Limited(1),
    "room for two": lambda: Limited(2),
    "room for nine": lambda: Limited(9),
    "room for nine now": lambda: Limited(9, keeps=False),
}


# ------------------------------------------------------------------------------- an analysis


def analysed(attacker, setting, guard_of, seed=1):
    """One analysis with a spy beside the desk, or None where there is no plan."""
    random, chance = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    population = attacker.population(setting, random)
    records = population.draw(setting.n, random)
    try:
        spy = Spy(guard_of(setting, chance), population)
    except (Unreachable, NotApplicable):
        return None
    desk = Desk(setting, population, records, spy, chance)
    attacker.attack(desk)
    return desk, spy


def check_analysis(desk, spy, setting):
    assert sum(call.asked for call in spy.calls) <= setting.queries
    assert desk.tally == tallied(spy.calls)
    assert desk.left == setting.queries - desk.tally.asked
    assert 0 <= desk.room() <= desk.left
    assert setting.n0 <= desk.n <= setting.n
    assert desk.spent is None or 0.0 <= desk.spent <= 1.0
    for call in spy.calls:
        check_replies(call.replies, call.asked)
        assert setting.n0 <= call.round <= setting.n


def check_replies(replies, asked):
    values, lows, highs = replies.values, replies.lows, replies.highs
    assert len(values) == len(lows) == len(highs) == asked
    told = ~np.isnan(values)
    assert (np.isnan(lows) == ~told).all()
    assert (np.isnan(highs) == ~told).all()
    assert (lows[told] >= 0.0).all()
    assert (highs[told] <= 1.0).all()
    within = np.clip(values[told], 0.0, 1.0)
    assert (lows[told] <= within).all()
    assert (within <= highs[told]).all()


@settings
@attackers
def test_every_attacker_and_every_defender_keep_to_the_rules(attacker, setting):
    if attacker.kind == "growing" and not setting.grows:
        return  # such an attack is not played
    played = 0
    for defender in DEFENDERS:
        analysis = analysed(attacker, setting, defender.guard)
        if analysis is None:
            continue
        played += 1
        desk, spy = analysis
        check_analysis(desk, spy, setting)
        assert desk.tally.asked > 0 or not spy.had_room
        for call in spy.calls:  # as many as there was room for, and no more
            assert call.given <= min(call.asked, call.room)
            if defender.name != "guess-and-check":  # its room depends on what comes
                assert call.given == min(call.asked, call.room)
    assert played >= 7  # all but the plans, and a check that has to be within alpha


@pytest.mark.parametrize("difficult", DIFFICULT.values(), ids=DIFFICULT)
@pytest.mark.parametrize(
    "setting", [GROWING, STATIC, few(2), few(30)], ids=["growing", "static", "two", "thirty"]
)
@attackers
def test_attackers_cope_with_whatever_defender(attacker, difficult, setting):
    if attacker.kind == "growing" and not setting.grows:
        return
    desk, spy = analysed(attacker, setting, lambda setting, chance: difficult())
    check_analysis(desk, spy, setting)


@attackers
def test_an_attack_is_the_same_again_with_the_same_seed(attacker):
    chosen = [one for one in DEFENDERS if one.name in ("noise", "thresholdout", "surehold-sharp")]
    contest = Contest(GROWING, ATTACKERS, tuple(chosen), None, seed=5)
    first, again, other = (contest.played(attacker, repeat) for repeat in (0, 0, 1))
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


# ------------------------------------------------------------------------------------- the desk


def test_the_desk_shows_sizes_and_answers_and_no_record():
    population = Coins(100)
    random = np.random.default_rng(1)
    records = population.draw(GROWING.n, random)
    desk = Desk(GROWING, population, records, RefusesAll(), random)
    shown = {name: getattr(desk, name) for name in dir(desk) if not name.startswith("_")}
    assert set(shown) == {
        *("setting", "random", "tally", "n", "features", "left", "spent"),
        *("wait", "room", "keeps_room", "ask"),
    }
    for value in shown.values():
        assert not isinstance(value, Records | View | Guard | Population)
    for value in vars(shown["tally"]).values():
        assert value is None or isinstance(value, int | float)
    assert isinstance(shown["tally"], Tally)


def test_who_asks_too_much_or_too_early_is_stopped():
    random = np.random.default_rng(1)
    records = Coins(200).draw(GROWING.n, random)
    desk = Desk(GROWING, Coins(200), records, RefusesUnforeseen(), random)
    with pytest.raises(ValueError, match="more than the setting's queries"):
        desk.ask(Agreements(np.arange(GROWING.queries + 1)))
    for at in (GROWING.n0 - 1, GROWING.n0 + 1):
        with pytest.raises(ValueError, match="from n0 to the present"):
            desk.ask(Agreements(np.arange(1)), at=at)
    assert desk.tally == Tally()
    desk.ask(Agreements(np.arange(GROWING.queries)))
    assert (desk.left, desk.room()) == (0, 0)
    with pytest.raises(ValueError, match="more than the setting's queries"):
        desk.ask(Agreements(np.arange(1)))


def test_records_arrive_and_never_leave():
    random = np.random.default_rng(1)
    desk = Desk(GROWING, Coins(9), Coins(9).draw(GROWING.n, random), RefusesAll(), random)
    seen = []
    for n in (0, 1_500, 1_300, 10**9, 5):
        desk.wait(n)
        seen.append(desk.n)
    assert seen == [1_200, 1_500, 1_500, 3_000, 3_000]
