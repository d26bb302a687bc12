"""Pictures: everything that is written on them can be read."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from surehold import compare, plan
from surehold.plots import comparison

QUESTIONS = [
    {"n0": 500_000, "n": 1_500_000, "alpha": 0.1, "batches": 4},
    {"n0": 500_000, "n": 1_500_000, "alpha": 0.1},
    {"n0": 5 * 10**11, "n": 2 * 10**12, "queries": 10**9, "batches": 1000},
    {"n0": 5 * 10**11, "n": 2 * 10**12, "queries": 10**9},
    {"queries": 10**9, "alpha": 0.001, "growth": 3},
    {"n0": 900, "n": 900, "queries": 3},
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_text_is_cut_off(question, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(comparison, "save", lambda figure, paths: figures.append(figure))
    question = {**question, "beta": 1e-7}
    comparison.draw_comparison(compare(**question), plan(**question), tmp_path / "plan.png")
    (figure,) = figures
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    texts = [figure._suptitle, axes.title, *axes.texts, axes.xaxis.label, *axes.get_yticklabels()]
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 >= 0.0, text.get_text()
        assert box.x1 <= figure.bbox.x1, text.get_text()
