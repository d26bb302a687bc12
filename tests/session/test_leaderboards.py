"""Leaderboards: what is asked of a submission, what the board shows, and what no one can do."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import surehold as sh
from support.runtime import guarded
from surehold.ledger.draft import Draft
from surehold.session import leaderboards
from surehold.session.dataset import Dataset

N = 600
DAY = 86_400.0
ABOUT = {"item": "int", "label": "bool", "y": "float"}
LABELS = np.arange(N) % 3 == 0
WRONG = {"a": 200, "b": 120, "c": 118, "d": 125, "e": 20}
"""How many records each of some submissions gets wrong."""


def filled(path, n: int = N, clock=None, **given) -> Dataset:
    sh.create(path, columns=ABOUT, id="item", **(given or {"beta": "0.05"})).close()
    dataset = Dataset(path) if clock is None else Dataset(path, clock=clock)
    y = np.arange(n) % 10 / 10
    dataset.append(pl.DataFrame({"item": np.arange(n), "label": np.arange(n) % 3 == 0, "y": y}))
    return dataset


def run(wrong: int, n: int = N) -> pl.DataFrame:
    """Predictions of which the last ones are wrong, in another order."""
    right = np.arange(n) < n - wrong
    answer = np.where(right, np.arange(n) % 3 == 0, np.arange(n) % 3 != 0)
    frame = pl.DataFrame({"item": np.arange(n), "answer": answer})
    return frame.sample(fraction=1.0, shuffle=True, seed=wrong)


@pytest.fixture
def evals(tmp_path):
    with filled(tmp_path / "evals") as dataset:
        dataset.open_leaderboard("Odd ones", target="label", step="0.01")
        yield dataset


def test_each_is_compared_with_the_best_so_far(evals):
    session, best = evals.session("ann"), None
    for name, wrong in WRONG.items():
        made = session.submit(run(wrong), name)
        one, score = made.submission, 1 - Fraction(wrong, N)
        if best is None:
            assert (one.against, one.gain) == (None, None)
        else:
            steps = max(math.floor((score - best[1]) * 100), 0)
            assert (one.against, one.gain) == (best[0], pytest.approx(steps / 100))
        assert one.is_best is (best is None or score - best[1] >= Fraction(1, 100))
        if one.is_best:
            best = name, score
            [answer] = [a for a in evals.transcript if a.entry and a.kind == "number"][-1:]
            assert answer.cell[0] <= float(score) <= answer.cell[1]
            assert one.interval[0] < float(score) < one.interval[1]
        else:
            assert (one.value, one.interval, one.rank, one.certified) == (None,) * 4
            assert made.surprise < 0.5
    board = evals.leaderboard
    assert [one.name for one in board.ranked] == ["e", "b", "a"]
    assert [(one.rank, one.last_rank) for one in board.ranked] == [(1, 1), (2, 2), (3, 3)]
    assert [one.certified for one in board.ranked] == [True, True, None]
    assert evals.verify().recomputed == evals.status().answers == 1 + 4 + 2 * 2
    assert "analyst" not in str(board.to_dict())
    assert "table:" not in str(board.to_dict())


def test_a_prediction_that_is_missing_is_wrong(evals, tmp_path):
    session = evals.session()
    with pytest.raises(sh.InvalidInput, match="a row for each of the 600 records"):
        session.submit(run(0)[:-1])
    others = run(0).with_columns(item=pl.when(pl.col("item") < 60).then(pl.col("item") + N)
                                 .otherwise("item"))  # fmt: skip
    cell = session.submit(others, "others").submission
    assert cell.interval[0] < 0.9 < cell.interval[1] < 1
    nulls = run(0).with_columns(answer=pl.when(pl.col("item") >= 90).then("answer"))
    assert session.submit(nulls, "nulls").submission.gain == 0  # 0.85
    assert session.submit(run(30), "few").submission.gain == pytest.approx(0.05)


@pytest.mark.parametrize("metric", ["zero_one", "mae", "mse", "brier"])
def test_of_losses_the_lowest_is_the_best_and_what_is_missing_loses_most(tmp_path, metric):
    target = {"zero_one": "label", "brier": "label"}.get(metric, "y")
    truth = LABELS.astype(float) if target == "label" else np.arange(N) % 10 / 10
    with filled(tmp_path / "evals") as dataset:
        bounds = {} if target == "label" else {"low": 0.0, "high": 2.0}
        dataset.open_leaderboard(metric, target=target, metric=metric, step="0.02", **bounds)
        session = dataset.session()
        said = truth if metric != "zero_one" else LABELS
        item = np.arange(N)
        half = pl.DataFrame({"item": np.where(item < N // 2, item, item + N), "said": said})
        ids = pl.DataFrame({"item": item, "said": said})
        most = {"mae": 2.0, "mse": 4.0}.get(metric, 1.0)
        first = session.submit(half, "half").submission
        assert first.interval[0] < most / 2 < first.interval[1]
        best = session.submit(ids, "all").submission
        assert best.gain == pytest.approx(most / 2)
        assert best.interval[0] <= 0.0 < best.interval[1] < 0.2 * most
        assert [one.name for one in dataset.leaderboard.ranked] == ["all", "half"]
        assert dataset.leaderboard.ranked[0].rank == 1
        dataset.verify()


def test_the_same_predictions_again_are_free_and_shown_once(evals, tmp_path):
    ann, bob = evals.session("ann"), evals.session("bob")
    first = ann.submit(run(100), "first")
    run(100).sort("item").write_csv(tmp_path / "other.csv")
    again = bob.submit(tmp_path / "other.csv")
    assert again.recorded
    assert (again.submission, again.spent) == (first.submission, first.spent)
    assert (first.left_today, again.left_today) == (9, 10)
    with pytest.raises(sh.InvalidInput, match="as it was named before"):
        bob.submit(run(100), "mine")
    with pytest.raises(sh.InvalidInput, match="no other table or model has"):
        bob.submit(run(101), "first")
    assert [one.name for one in evals.leaderboard.submissions] == ["first"]


def test_so_many_a_day_for_each_analyst(tmp_path):
    now = [30_000 * DAY + 1000.0]  # after what the clock of this machine says
    with filled(tmp_path / "evals", clock=lambda: now[0]) as dataset:
        dataset.open_leaderboard("Odd ones", target="label", step="0.01", daily=2)
        session = dataset.session("ann")
        assert [session.submit(run(wrong)).left_today for wrong in (50, 40)] == [1, 0]
        answers = dataset.status().answers
        with pytest.raises(sh.RequestRefused, match="the limit of 2 submissions a day") as refused:
            session.submit(run(30))
        assert (refused.value.status, refused.value.retry_after) == (429, DAY - 1000.0)
        assert session.submit(run(40)).recorded
        assert dataset.status().answers == answers
        assert dataset.session("bob").submit(run(20)).left_today == 1
        now[0] += refused.value.retry_after
        assert session.submit(run(30)).left_today == 1
        dataset.verify()


def test_records_that_come_later_do_not_count(evals):
    session = evals.session()
    session.submit(run(100), "before")
    evals.append(pl.DataFrame({"item": [N], "label": [True], "y": [0.0]}))
    after = session.submit(run(80), "after").submission
    assert (evals.leaderboard.round, after.gain) == (N, pytest.approx(0.03))
    evals.verify()


def test_another_process_that_is_first(evals, monkeypatch):
    """What was compared with a best that is no longer one is compared with the new one."""
    evals.session().submit(run(100), "a")
    real, seen = leaderboards._compare, []

    def compare(session, rules, new, past):
        made = real(session, rules, new, past)
        if not seen:
            seen.append(new)
            with Dataset(evals.path) as other:
                other.session("bob").submit(run(50), "b")
        return made

    monkeypatch.setattr(leaderboards, "_compare", compare)
    made = evals.session("ann").submit(run(80), "c").submission
    assert (made.number, made.against, made.gain) == (3, "b", 0.0)
    evals.verify()


def test_a_submission_that_was_cut_off_is_completed_for_nothing(evals, monkeypatch):
    session = evals.session()
    session.submit(run(100), "a")
    with monkeypatch.context() as patch:
        patch.setattr(Draft, "add_submission", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.submit(run(50), "b")
    spent = evals.status().spent
    assert len(evals.leaderboard.submissions) == 1
    made = session.submit(run(50), "b")
    assert made.submission.gain == pytest.approx(0.08)
    assert made.spent == spent == evals.status().spent
    evals.verify()


def test_what_is_no_leaderboard(evals, tmp_path):
    with pytest.raises(sh.InvalidInput, match="fixed for good"):
        evals.open_leaderboard("Again", target="label", step="0.1")
    with filled(tmp_path / "noise", **guarded("noise")) as noise:
        for refused in (
            lambda: noise.open_leaderboard("No", target="label", step="0.1"),
            lambda: noise.session().submit(run(1)),
            lambda: noise.leaderboard,
        ):
            with pytest.raises(sh.WrongGuard, match="surprise"):
                refused()
    with filled(tmp_path / "none") as none:
        with pytest.raises(sh.RequestRefused, match="no leaderboard") as missing:
            none.session().submit(run(1))
        assert missing.value.status == 404
        assert none.tables == ()
        for given, says in (
            ({"metric": "f1"}, "no mean over records"),
            ({"step": "0"}, "above 0"),
            ({"step": "1"}, "below the range"),
            ({"step": "nan"}, "such as 0.01"),
            ({"daily": 0}, "daily"),
            ({"public": 1}, "public"),
            ({"target": "nothing"}, "no column 'nothing'"),
            ({"metric": "mae"}, "low and high"),
        ):
            with pytest.raises((sh.InvalidInput, sh.InvalidQuery), match=says):
                none.open_leaderboard("No", **{"target": "label", "step": "0.1", **given})
    sh.create(tmp_path / "bare", beta=0.05, columns={"label": "bool"}).close()
    with Dataset(tmp_path / "bare") as bare:
        bare.append([{"label": True}])
        with pytest.raises(sh.InvalidInput, match="have an id"):
            bare.open_leaderboard("No", target="label", step="0.1")


def test_the_best_of_many_guesses_is_not_believed(tmp_path):
    """The textbook's interval of the best of 30 coin flips misses 1/2; the board's does not."""
    rng = np.random.default_rng(2)
    label = rng.random(300) < 0.5
    guesses = [rng.random(300) < 0.5 for _ in range(30)]
    found = max(float((guess == label).mean()) for guess in guesses)
    assert found - 1.96 * math.sqrt(found * (1 - found) / 300) > 0.5
    sh.create(tmp_path / "evals", beta=0.05, columns=ABOUT, id="item").close()
    with Dataset(tmp_path / "evals") as dataset:
        dataset.append(pl.DataFrame({"item": range(300), "label": label, "y": [0.0] * 300}))
        dataset.open_leaderboard("Coins", target="label", step="0.01", daily=30)
        session = dataset.session()
        for guess in guesses:
            session.submit(pl.DataFrame({"item": range(300), "answer": guess}))
        ranked = dataset.leaderboard.ranked
    assert len(ranked) > 2
    assert all(one.interval[0] <= 0.5 <= one.interval[1] for one in ranked)
    assert {(one.rank, one.last_rank, bool(one.certified)) for one in ranked} == {
        (1, len(ranked), False)
    }


def test_a_successor_begins_without_a_board(evals):
    evals.session().submit(run(100), "a")
    evals.close()
    sh.succeed(evals.path, evals.path.with_name("next"), erase=[3], reason="on request")
    with Dataset(evals.path.with_name("next")) as successor:
        with pytest.raises(sh.RequestRefused, match="no leaderboard"):
            _ = successor.leaderboard
        assert [table.name for table in successor.tables] == ["a"]
        successor.verify()
    with Dataset(evals.path) as old:
        assert [one.name for one in old.leaderboard.submissions] == ["a"]
