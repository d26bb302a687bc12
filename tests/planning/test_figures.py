"""The numbers behind the paper's figures."""

import pytest

from surehold import InvalidInput, plan
from surehold.planning.figures import CURVES, PANELS, get_figure


@pytest.mark.parametrize("name", ["fig2", "fig3", "fig4"])
def test_panels_and_curves(name):
    figure = get_figure(name, points=3)
    assert {setting.b for setting in figure.settings} == set(PANELS)
    assert figure.size == len(PANELS) * len(CURVES) * 3
    ratios = {round(setting.n / setting.n0, 3) for setting in figure.settings}
    assert (ratios == {3.0}) == (name != "fig3")
    assert name != "fig3" or {setting.n0 for setting in figure.settings} == {500_000}


def test_figure_5_is_over_batches():
    figure = get_figure("fig5", points=2)
    assert {(s.n0, s.n) for s in figure.settings} == {(500_000, 1_500_000)}
    steps = []
    rows = figure.rows(lambda: steps.append(1))
    assert len(steps) == len(rows) == figure.size
    static = {row.certificate: row.value for row in rows if row.b == 1}
    assert static["ours-n"] == pytest.approx(41_392, rel=0.003)
    expected = plan(n0=1_500_000, n=1_500_000, alpha=0.1, beta=0.05, batches=1)
    assert static["sharp"] == expected.queries


def test_six_curves_the_papers_five_and_sharp():
    assert set(CURVES) == {"sharp", "ours-n", "ours-u", "jlnrss+", "jlnrss", "split"}


@pytest.mark.parametrize(("name", "points"), [("fig1", 5), ("fig2", 1)])
def test_bad_figures(name, points):
    with pytest.raises(InvalidInput):
        get_figure(name, points)
