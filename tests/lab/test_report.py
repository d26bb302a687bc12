"""What a contest reports: bounds, rows, JSON; and that nothing depends on what else is played."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

import surehold as sh
from surehold.errors import InvalidInput
from surehold.lab import (
    ATTACKERS,
    DEFENDERS,
    Agreements,
    Attacker,
    Coins,
    Defender,
    Guard,
    Listed,
    Replies,
    Report,
    Row,
    Setting,
    Votes,
    check,
    clopper_pearson,
    run,
)

SMALL = {"n0": 1_000, "n": 2_000, "queries": 60, "alpha": 0.3, "beta": 0.1, "repeats": 3}
CHOSEN = ["raw", "noise", "thresholdout", "splitting", "surehold-sharp", "surehold-ours-n"]


def rows_of(report):
    """All but the time, which is never the same."""
    return {(row.attack, row.defender): replace(row, seconds=0.0) for row in report.rows}


# ------------------------------------------------------------------------------------- bounds


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("repeats", [1, 2, 7, 40, 200])
def test_bounds_are_those_of_scipy(repeats, confidence):
    for times in {0, 1, repeats // 3, repeats // 2, repeats - 1, repeats}:
        found = clopper_pearson(times, repeats, confidence)
        expected = binomtest(times, repeats).proportion_ci(confidence, method="exact")
        assert found == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert 0.0 <= found[0] <= times / repeats <= found[1] <= 1.0


@pytest.mark.parametrize("chance", [0.02, 0.5, 0.9, 0.95])
def test_bounds_fail_no_more_often_than_they_say(chance):
    """Exactly: the probabilities of all numbers of times whose bounds leave the chance out."""
    repeats = 40
    low = high = 0.0
    for times in range(repeats + 1):
        probability = math.comb(repeats, times) * chance**times * (1 - chance) ** (repeats - times)
        bounds = clopper_pearson(times, repeats)
        low += probability * (chance < bounds[0])
        high += probability * (chance > bounds[1])
    assert low <= 0.025
    assert high <= 0.025


def row(covered, repeats, reason=None):
    zeros = dict.fromkeys(
        ["asked", "answered", "largest_error", "usual_error", "widest", "seconds"], 0.0
    )
    named = {"attack": "a", "kind": "static", "defender": "d", "spent": None, "last": ()}
    return Row(repeats=repeats, covered=covered, reason=reason, **named, **zeros)


def test_a_promise_is_broken_if_it_can_be_ruled_out():
    assert row(0, 40).breaks(0.05)
    assert not row(40, 40).breaks(0.05)
    # The first number of covered analyses whose upper bound reaches 0.95.
    edge = next(k for k in range(41) if binomtest(k, 40).proportion_ci(0.95).high >= 0.95)
    assert row(edge - 1, 40).breaks(0.05)
    assert not row(edge, 40).breaks(0.05)
    assert not row(0, 1).breaks(0.05)  # one failure in one repeat could be chance
    assert row(0, 2).breaks(0.05)
    assert not row(0, 40, reason="no answers").breaks(0.05)


# ----------------------------------------------------------------------------------- contests


@pytest.fixture(scope="module")
def report():
    return run(["sign", "stale", "tuning"], CHOSEN, **SMALL, seed=7)


def test_json_is_strict_and_gives_back_every_number(report):
    def refuse(constant):
        raise AssertionError(constant)

    read = json.loads(report.to_json(), parse_constant=refuse)
    assert read == report.to_dict()
    assert read["setting"] == {
        name: SMALL[name] for name in ("n0", "n", "queries", "alpha", "beta")
    }
    assert len(read["rows"]) == 3 * len(CHOSEN)
    for plain, row in zip(read["rows"], report.rows, strict=True):
        assert (plain["coverage_low"], plain["coverage_high"]) == row.coverage
        assert [tuple(claim) for claim in plain["last"]] == list(row.last)
        for name in ("covered", "asked", "answered", "largest_error", "widest", "spent", "seconds"):
            assert plain[name] == getattr(row, name)


def test_every_row_is_there_and_can_be_found(report):
    assert report.attacks == ("sign", "stale", "tuning")
    assert report.defenders == tuple(CHOSEN)
    for attack in report.attacks:
        assert report.wanted(attack) == max(report.row(attack, one).asked for one in CHOSEN)
        for defender in CHOSEN:
            row = report.row(attack, defender)
            assert (row.attack, row.defender, row.repeats) == (attack, defender, 3)
            assert 0 <= row.covered <= 3
            assert row.answered <= row.asked <= SMALL["queries"]
            assert row.usual_error <= row.largest_error


def test_two_processes_report_what_one_does():
    alone, together = (run(["sign", "lucky"], CHOSEN, **SMALL, seed=3, jobs=j) for j in (1, 2))
    assert rows_of(alone) == rows_of(together)
    assert (alone.setting, alone.seed, alone.data) == (
        together.setting,
        together.seed,
        together.data,
    )


def test_who_else_plays_changes_nothing(report):
    whole = rows_of(report)
    for attack, defender in [("stale", "noise"), ("sign", "surehold-sharp"), ("tuning", "raw")]:
        alone = run(attack, defender, **SMALL, seed=7)
        assert rows_of(alone) == {(attack, defender): whole[attack, defender]}
    turned = run(["tuning", "sign"], reversed(CHOSEN), **SMALL, seed=7)
    assert rows_of(turned) == {pair: row for pair, row in whole.items() if pair[0] != "stale"}


def test_the_first_repeats_are_those_of_a_longer_contest():
    one, three = (run("sign", "noise", **(SMALL | {"repeats": r}), seed=7) for r in (1, 3))
    assert one.rows[0].last == three.rows[0].last[:1]
    assert len(set(three.rows[0].last)) == 3


def test_another_seed_plays_another_contest(report):
    other = rows_of(run(["sign", "stale", "tuning"], CHOSEN, **SMALL, seed=8))
    assert all(other[pair].last != row.last for pair, row in rows_of(report).items())


def test_progress_is_told_after_every_repeat_of_an_attack():
    told = []
    run(["sign", "stale"], "raw", **SMALL, progress=lambda done, of: told.append((done, of)))
    assert told == [(done, 6) for done in range(1, 7)]


# ------------------------------------------------------------------------------- of your own


class Doubting(Attacker):
    """Asks about one feature, and then whether it alone predicts the label."""

    name = "doubting"
    source = "this test"

    def attack(self, analysis):
        [value] = analysis.ask(Agreements(np.array([3]))).values
        analysis.wait(analysis.setting.n)
        analysis.ask(Votes(np.array([0, 0, 0, 1 if value > 0.5 else -1])))


class Half(Defender):
    """Says one half, whatever is asked."""

    name = "half"
    source = "this test"
    claim = "none"

    def guard(self, setting, random):
        return _HalfGuard()


class _HalfGuard(Guard):
    def answer(self, questions, view, round):
        return Replies.around(np.full(len(questions), 0.5), 0.001)


def test_an_attacker_and_a_defender_of_your_own_play_beside_the_others():
    report = run([Doubting(), "sign"], [Half(), "raw"], **SMALL)
    assert report.attacks == ("doubting", "sign")
    assert report.row("doubting", "half").covered == 3
    assert report.row("sign", "half").covered == 3  # a coin is even, so who says so is right
    assert report.row("doubting", "raw").asked == 2
    assert report.row("sign", "raw").covered == 0


def test_a_population_replaces_the_attackers_own():
    biased = Coins(12, (0.2,) * 12)
    report = run([Doubting(), "dashboard"], Half(), **SMALL, population=biased, data="bent coins")
    assert report.data == "bent coins"
    for row in report.rows:
        assert row.covered == 0
        assert row.largest_error == pytest.approx(0.2)
    table = biased.draw(1_500, np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="at most 1,500 records"):
        run("sign", "raw", **SMALL, population=Listed(table, "arrival"))


def test_attacks_that_need_growth_are_left_out_where_there_is_none():
    static = SMALL | {"n0": 2_000, "repeats": 1}
    report = run("all", "raw", **static)
    assert set(report.attacks) == {one.name for one in ATTACKERS if one.kind != "growing"}
    with pytest.raises(InvalidInput, match="data of one size"):
        run("stale", "raw", **static)


def test_a_defender_without_a_plan_says_why():
    report = run("sign", "surehold-ours-n", **(SMALL | {"alpha": 0.05}))
    [row] = report.rows
    assert "out of reach" in row.reason
    assert (row.asked, row.answered, row.last) == (0.0, 0.0, ())
    assert not row.breaks(0.1)
    json.loads(report.to_json())


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"n0": 9}, "n0"),
        ({"n0": float("nan")}, "n0"),
        ({"queries": 2.5}, "queries"),
        ({"repeats": "7"}, "repeats"),
        ({"alpha": float("nan")}, "alpha"),
        ({"attackers": None}, "attack"),
        ({"defenders": [None]}, "defender"),
        ({"n": 999}, "n"),
        ({"queries": 1}, "queries"),
        ({"alpha": 0.0}, "alpha"),
        ({"beta": 1.0}, "beta"),
        ({"repeats": 0}, "repeats"),
        ({"jobs": 0}, "jobs"),
        ({"seed": -1}, "seed"),
        ({"queries": 10**9}, "queries"),
        ({"n": 10**12}, "n"),
        ({"attackers": "nobody"}, "attack"),
        ({"attackers": []}, "attack"),
        ({"defenders": ["raw", "nobody"]}, "defender"),
    ],
)
def test_what_can_not_be_meant_is_refused(wrong, parameter):
    with pytest.raises(InvalidInput) as raised:
        run(**({"attackers": "sign", "defenders": "raw"} | SMALL | wrong))
    assert raised.value.parameter == parameter


@pytest.mark.parametrize(("n0", "n", "count"), [(100, 200, 10), (100, 103, 10), (100, 100, 10)])
def test_stops_go_from_n0_to_n(n0, n, count):
    stops = Setting(n0=n0, n=n, queries=10, alpha=0.1, beta=0.1).stops(count)
    assert stops[-1] == n
    assert stops == sorted(stops)
    if n > n0:
        assert stops[0] == n0
        assert len(stops) == count
        assert max(np.diff(stops)) - min(np.diff(stops)) <= 1
    else:
        assert stops == [n]


def test_names_select_those_that_are_meant():
    report = run(["sign", "sign"], "all", **(SMALL | {"repeats": 1}))
    assert report.attacks == ("sign",)
    assert report.defenders == tuple(one.name for one in DEFENDERS)


def test_numbers_may_be_numpys_and_are_kept_as_plain_ones():
    sizes = {"n0": np.int64(500), "n": np.int32(500), "queries": np.int64(20)}
    report = run("sign", "raw", **sizes, alpha=np.float64(0.2), repeats=np.int64(1))
    assert json.loads(report.to_json())["setting"]["n0"] == 500


def test_reports_that_took_another_time_are_equal():
    assert run("sign", "raw", **SMALL) == run("sign", "raw", **SMALL)


def test_few_features_are_enough_for_every_attack():
    for attacker in ATTACKERS:
        run(attacker, "raw", **(SMALL | {"repeats": 1}), population=Coins(3))


def test_who_cannot_be_sent_to_another_process_is_told_so():
    class Local(type(ATTACKERS[0])):
        """Not to be found by another process."""

    with pytest.raises(InvalidInput, match="jobs must be 1, as these attackers"):
        run(Local(), "raw", **SMALL, jobs=2)


def test_a_defender_that_keeps_its_promise_is_seldom_called_broken_by_any_attack():
    """Under 17 attacks of 20 repeats, 14 or fewer right happen once in 180 times at 95 %."""
    one = run("sign", "raw", **(SMALL | {"repeats": 20})).rows[0]
    rows = tuple(replace(one, attack=f"{i}", covered=15) for i in range(17))
    report = Report(Setting(1_000, 1_000, 10, 0.1, 0.05), 20, 1, rows, "none")
    assert report.broken("raw") == ()
    assert report.rows[0].breaks(0.05)
    worse = tuple(replace(row, covered=13) for row in rows)
    assert len(replace(report, rows=worse).broken("raw")) == 17


def test_what_a_process_raises_is_told_as_it_is():
    table = Coins(8).draw(1_500, np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="at most 1,500 records"):
        run("sign", "raw", **SMALL, population=Listed(table, "shuffled"), jobs=2)


def test_an_attacker_is_no_defender_and_has_no_name_of_one():
    with pytest.raises(InvalidInput, match="defender must be all or one of raw"):
        run("sign", "sign", **SMALL)
    with pytest.raises(InvalidInput, match="attack must be a name or an object of Attacker"):
        run(DEFENDERS[0], "raw", **SMALL)


def test_the_control_of_a_check_is_as_wide_as_the_plan_ever_is():
    plan = sh.plan(n0=2_000, n=2_000, alpha=0.1, beta=0.1, rare=0.01)
    report = check(plan, "sign", repeats=1)
    row = report.row("sign", "surehold")
    assert plan.width < row.widest <= report.setting.alpha
