"""Pictures of questions over time: what is drawn is what the histories say, in their units."""

from __future__ import annotations

import json

import pytest
from matplotlib.figure import Figure

import surehold as sh
from support.runtime import GUARDS, made, records
from surehold.cli import main
from surehold.plots.history import draw_history, title_of

DASHBOARD = sh.Dashboard.of(
    [
        {"name": "costs $5 & more", "question": "age > 50", "unit": "%", "gate": ">= 10 %"},
        {"name": "mean bmi", "question": "mean(bmi, 0, 50)", "unit": "kg/m²"},
        {"name": "never asked", "question": "age > 3", "watch": False},
    ]
)


@pytest.fixture(params=GUARDS)
def shop(request, tmp_path):
    with made(tmp_path / "shop", count=1500, guard=request.param) as dataset:
        session = dataset.session("ann")
        session.register(DASHBOARD)
        session.watch()
        dataset.append(records(1500, 2000))
        session.watch()
        yield dataset


def drawn(history, **options):
    axes = Figure().subplots()
    draw_history(axes, history, **options)
    return axes


def test_values_and_gate_in_the_unit(shop):
    history = shop.history("costs $5 & more")
    axes = drawn(history)
    values, *marks, gate = axes.lines
    assert list(values.get_xdata()) == [1500, 2000]
    assert list(values.get_ydata()) == [100 * point.value for point in history.points]
    assert list(gate.get_ydata()) == [10.0, 10.0]
    assert len(marks) == 2
    low, high = axes.get_ylim()
    assert low < 10.0 < high
    assert low <= min(100 * point.low for point in history.points)
    assert axes.get_ylabel() == "%"
    assert axes.get_title() == r"costs \$5 & more"
    assert axes.get_xlabel() == "records"
    assert "at least 10 % wanted" in axes.texts[0].get_text()


def test_by_date_and_with_a_single_answer(shop):
    axes = drawn(shop.history("mean bmi"), by="date")
    assert axes.get_xlabel() == "time of the answer (UTC)"
    shop.session("ann").ask("age > 77")
    once = drawn(shop.history("age > 77"))
    assert len(once.containers) == 1
    assert title_of(shop.history("age > 77")) == "age > 77"
    assert drawn(shop.history("never asked")).texts[0].get_text() == "no answers yet"


def run(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main([*arguments])
    return int(end.value.code or 0), capsys.readouterr().out


def test_the_command(shop, tmp_path, capsys):
    out, path = str(tmp_path / "a.svg"), str(shop.path)
    code, printed = run(capsys, "plot", path, "--out", out, "--json")
    found = [one.to_dict() for one in shop.histories()]
    assert (code, json.loads(printed)) == (0, {"histories": found})
    assert [one["title"] for one in found] == ["costs $5 & more", "mean bmi"]
    assert "mean bmi" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    alone = ("--question", "mean bmi", "--by", "date")
    code, printed = run(capsys, "plot", path, "--out", out, *alone, "--json")
    assert json.loads(printed) == {"histories": [shop.history("mean bmi").to_dict()]}
    assert run(capsys, "plot", path, "--out", out, "--question", "nobody")[0] == 2
    assert run(capsys, "plot", path, "--out", out, "--most", "1") == (0, f"wrote {out}\n")
