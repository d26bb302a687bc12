"""The certificates side by side on one question, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.numerals import percent, width
from holdfast.planning import Entry, Plan
from holdfast.plots.style import COLOURS, new_figure, require_matplotlib, save, tidy

_LABELS = {
    "queries": "queries that may be asked (more is better)",
    "width": "half-width of every answer (narrower is better)",
    "records": "records needed (fewer is better)",
}


def draw_comparison(entries: Sequence[Entry], plan: Plan, path: Path) -> None:
    """One bar for each certificate that gives a result; an axis from zero, so lengths are true."""
    require_matplotlib()
    from matplotlib.ticker import MaxNLocator

    shown = [entry for entry in entries if entry.is_useful][::-1]
    figure = new_figure(7.5, 1.6 + 0.42 * max(len(shown), 1))
    axes = figure.add_subplot()
    values = [entry.result(plan.solved_for) for entry in shown]
    axes.barh(
        [entry.certificate + ("" if entry.is_prompt else " (late)") for entry in shown],
        values,
        color=[COLOURS[entry.certificate] for entry in shown],
        height=0.66,
    )
    axes.set_xlim(0.0, max(values, default=1.0) * 1.15)
    if plan.solved_for != "width":
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    for i, value in enumerate(values):
        text = f" ±{width(value)}" if plan.solved_for == "width" else f" {value:,.0f}"
        axes.text(value, i, text, va="center", fontsize=10)
    axes.set_xlabel(_LABELS[plan.solved_for], fontsize=10)
    figure.suptitle(_question(plan), fontsize=11, x=0.01, ha="left", weight="bold")
    axes.set_title(_setting(plan), fontsize=10, x=0.0, ha="left", color="#555555")
    tidy(axes)
    axes.tick_params(axis="y", length=0, labelsize=10)
    save(figure, [path])


def _question(plan: Plan) -> str:
    if plan.solved_for == "queries":
        return f"How many adaptive queries can be answered within ±{plan.alpha:g}?"
    if plan.solved_for == "width":
        return f"How wide are the answers to {plan.queries:,} adaptive queries?"
    return f"How many records for {plan.queries:,} adaptive answers within ±{plan.alpha:g}?"


def _setting(plan: Plan) -> str:
    if plan.solved_for == "records":
        growth = plan.n / plan.n0
        data = "data that is all there" if growth == 1 else f"data that grows {growth:.3g}-fold"
    elif plan.n0 == plan.n or plan.batches == 1:
        data = f"{plan.n:,} records"
    else:
        data = f"data that grows from {plan.n0:,} to {plan.n:,} records"
    asked = {None: ", asked at any time", 1: ""}.get(plan.batches, f", {plan.batches} batches")
    return f"{data}{asked}; all answers hold together with probability {percent(plan.beta)}"
