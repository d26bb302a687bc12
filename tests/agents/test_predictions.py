"""Agents submit predictions, and have them scored, under both guards and through both doors."""

from __future__ import annotations

import pytest

import surehold as sh
from support.runtime import GUARDS, guarded
from surehold.agents.guest import Guest
from surehold.agents.tools import TOOLS
from surehold.errors import InvalidInput
from surehold.server.access import ANYBODY
from surehold.server.service import Service
from surehold.server.settings import Settings
from surehold.session.dataset import Dataset

ROWS = [{"item": f"q{i}", "answer": "cat"} for i in range(1500)]


@pytest.fixture(params=[(guard, is_served) for guard in GUARDS for is_served in (True, False)])
def guest(request, tmp_path):
    guard, is_served = request.param
    columns = {"item": "str", "label": "str"}
    sh.create(tmp_path / "evals", columns=columns, id="item", **guarded(guard)).close()
    with Dataset(tmp_path / "evals") as dataset:
        dataset.append({"item": f"q{i}", "label": "cat" if i % 3 else "dog"} for i in range(2000))
        service = Service(dataset, Settings(fixed_time=False))
        yield Guest.of(service, ANYBODY) if is_served else Guest(dataset.session())


def call(guest, tool, **given):
    return TOOLS[guest.session.guard][tool].call(guest, given)


def test_submitted_and_scored(guest):
    kept = call(guest, "submit", rows=ROWS, called="run-17")
    assert (kept.values["name"], kept.values["rows"]) == ("run-17", 1500)
    assert '"run-17".COLUMN' in kept.text
    scored = call(guest, "score", table="run-17", target="label")
    assert scored.values["among"] == ["run-17"]
    low, high = scored.values.get("interval") or (scored.values["low"], scored.values["high"])
    assert low <= 2 / 3 <= high
    assert "of the records that run-17 covers" in scored.text
    assert "table:" not in scored.text
    asked = call(guest, "ask", query='"run-17".answer = label')
    assert asked.values["entry"] == scored.values["entry"]
    gated = call(guest, "score", table="run-17", target="label", at_least=0.01)
    assert gated.values["verdict"] in ("pass", "undecided")
    recall = call(guest, "score", table="run-17", target="label", metric="recall", positive="cat")
    assert recall.values["range"] == [0.0, 1.0] or recall.values["range"] == (0.0, 1.0)


def test_dates_and_timestamps_are_read_as_such(guest):
    rows = [{"item": f"q{i}", "due": "2026-11-08", "at": "2026-11-08T09:00Z"} for i in range(1500)]
    kept = call(guest, "submit", rows=rows, called="times")
    assert kept.values["columns"] == {"item": "str", "due": "date", "at": "timestamp"}
    asked = call(guest, "ask", query="month(times.due) = 11 and times.at < '2026-11-09'")
    low, high = asked.values.get("interval") or (asked.values["low"], asked.values["high"])
    assert low <= 1 <= high


def test_refused(guest):
    with pytest.raises(InvalidInput, match="call submit first"):
        call(guest, "score", table="run-17", target="label")
    with pytest.raises(InvalidInput, match="which identifies the records"):
        call(guest, "submit", rows=[{"answer": "cat"}])
    with pytest.raises(InvalidInput, match="different in each row"):
        call(guest, "submit", rows=[ROWS[0], ROWS[0]])
    assert guest.session.tables == ()


def test_compared_with_the_best_so_far(guest):
    if guest.session.guard == "noise":
        assert not {"compare", "leaderboard"} & TOOLS["noise"].keys()
        return
    with sh.open(guest.session._ledger.folder) as custodian:
        custodian.open_leaderboard("Cats", target="label", step="0.01", daily=3)
    rows = [{"item": f"q{i}", "answer": "cat"} for i in range(2000)]
    first = call(guest, "compare", rows=rows, called="all cats")
    assert first.text.startswith('rank 1: "all cats", 0.6')
    worse = call(guest, "compare", rows=[{**one, "answer": "dog"} for one in rows])
    assert worse.text.startswith('"table": not better than "all cats" by 0.01\nmeaning: over these')
    dogs = [{"item": f"q{i}", "answer": "cat" if i % 3 else "dog"} for i in range(2000)]
    best = call(guest, "compare", rows=dogs, called="right").values
    assert (best["submission"]["certified"], best["left_today"]) == (True, 0)
    shown = call(guest, "leaderboard")
    assert shown.values == guest.session.leaderboard.to_dict()
    ranks = [line.split(",")[0] for line in shown.text.splitlines()[1:3]]
    assert ranks == ['rank 1: "right"', 'rank 2: "all cats"']
    with pytest.raises(sh.RequestRefused, match="submissions a day"):
        call(guest, "compare", rows=[{**one, "answer": "cow"} for one in rows])


def test_histories_and_datasets_are_listed(guest):
    assert "not answered" in call(guest, "history", question="label = 'cat'").text
    call(guest, "ask", query="label = 'cat'")
    told = call(guest, "history", question="label = 'cat'")
    assert told.values == guest.session.history("label = 'cat'").to_dict()
    assert "\nn = 2,000: 0." in told.text
    [one] = call(guest, "datasets").values["datasets"]
    assert (one["name"], one["guard"], one["n"]) == ("evals", guest.session.guard, 2000)
