"""The certificates side by side on one question, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surehold.formatting import percent, width
from surehold.planning import ComparisonRow, Plan
from surehold.plots.style import COLOURS, LABELS, headline, new_figure, save, subtitle, tidy

_LABELS = {
    "queries": "number of queries (more is better)",
    "width": "half-width of every answer (narrower is better)",
    "records": "records needed (fewer is better)",
}


def draw_comparison(entries: Sequence[ComparisonRow], plan: Plan, path: Path) -> None:
    """One bar for each certificate that gives a result; an axis from zero, so lengths are true."""
    shown = [entry for entry in entries if entry.is_useful][::-1]
    figure = new_figure(7.5, 1.8 + 0.42 * max(len(shown), 1))
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes = figure.add_subplot()
    values = [entry.result for entry in shown]
    axes.barh(
        [LABELS.get(entry.certificate, entry.certificate) for entry in shown],
        values,
        color=[COLOURS[entry.certificate] for entry in shown],
        height=0.66,
    )
    is_width = plan.solved_for == "width"
    texts = [f" ±{width(value)}" if is_width else f" {value:,.0f}" for value in values]
    room = 1.05 + 0.02 * max(map(len, texts), default=0)  # for the text after the longest bar
    axes.set_xlim(0.0, max(values, default=1.0) * room)
    if not is_width:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    for i, (value, text) in enumerate(zip(values, texts, strict=True)):
        axes.text(value, i, text, va="center", fontsize=10)
    axes.set_xlabel(_LABELS[plan.solved_for], fontsize=10)
    headline(figure, _question(plan))
    subtitle(axes, _setting(plan))
    tidy(axes)
    axes.tick_params(axis="y", length=0, labelsize=10)
    save(figure, [path])


def _question(plan: Plan) -> str:
    if plan.solved_for == "queries":
        return f"How many adaptive queries can be answered within ±{plan.alpha:g}?"
    if plan.solved_for == "width":
        return f"How wide are the answers to {plan.queries:,} adaptive queries?"
    return f"How many records do {plan.queries:,} adaptive answers within ±{plan.alpha:g} need?"


def _setting(plan: Plan) -> str:
    if plan.solved_for == "records":
        growth = plan.n / plan.n0
        data = "data that does not grow" if growth == 1 else f"data that grows {growth:.3g}-fold"
    elif plan.n0 == plan.n or plan.batches == 1:
        data = f"{plan.n:,} records"
    else:
        data = f"data that grows from {plan.n0:,} to {plan.n:,} records"
    asked = ""
    if plan.batches is None and plan.n0 < plan.n:
        asked = "adaptive, all asked at n; "
    elif plan.batches is not None and plan.batches > 1:
        asked = f"{plan.batches:,} batches; "
    return f"{data}\n{asked}all answers correct with probability {percent(plan.beta)}"
