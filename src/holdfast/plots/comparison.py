"""The certificates side by side on one question, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
    figure = new_figure(7.5, 1.3 + 0.42 * max(len(shown), 1))
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
        text = f" ±{value:.3g}" if plan.solved_for == "width" else f" {value:,.0f}"
        axes.text(value, i, text, va="center", fontsize=10)
    axes.set_xlabel(_LABELS[plan.solved_for], fontsize=10)
    axes.set_title(_title(plan), fontsize=11, loc="left")
    tidy(axes)
    axes.tick_params(axis="y", length=0, labelsize=10)
    save(figure, [path])


def _title(plan: Plan) -> str:
    when = "any schedule" if plan.batches is None else f"{plan.batches} batch{_es(plan.batches)}"
    if plan.solved_for == "records":
        return f"{plan.queries:,} queries, ±{plan.alpha:g}, β = {plan.beta:g}, {when}"
    size = f"n = {plan.n:,}" if plan.n0 == plan.n else f"n from {plan.n0:,} to {plan.n:,}"
    wanted = f"±{plan.alpha:g}" if plan.solved_for == "queries" else f"{plan.queries:,} queries"
    return f"{size}, {wanted}, β = {plan.beta:g}, {when}"


def _es(number: int) -> str:
    return "" if number == 1 else "es"
