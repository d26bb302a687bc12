"""The paper's result figures, drawn like the paper's: a panel for each number of batches."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surehold.planning.figures import ALPHA, BETA, CURVES, PANELS, QUERIES, PaperFigure, Row
from surehold.plots.style import COLOURS, LINES, new_figure, save, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """One line a point; an empty value is a bound that says nothing."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0].to_dict()))
        writer.writeheader()
        writer.writerows(row.to_dict() for row in rows)


def draw_figure(figure: PaperFigure, rows: Sequence[Row], paths: Sequence[Path]) -> None:
    """Draw all curves of a figure to each of the paths."""
    from matplotlib.ticker import LogLocator, NullLocator

    if figure.name == "fig5":
        drawing = new_figure(7.5, 4.4)
        axes = drawing.add_subplot()
        _draw_curves(axes, rows, by_batches=True)
        axes.set_xscale("log")
        axes.set_xticks([1, 2, 4, 10, 20, 40, 100])
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("batches b")
        all_axes = [axes]
    else:
        drawing = new_figure(13.0, 3.8)
        all_axes = list(drawing.subplots(1, len(PANELS), sharey=True))
        for axes, b in zip(all_axes, PANELS, strict=True):
            _draw_curves(axes, [row for row in rows if row.b == b], by_batches=False)
            axes.set_title(f"b = {b}" + (" (static)" if b == 1 else ""), fontsize=10)
            axes.set_xlabel("n, millions")
    is_count = figure.measure == "queries"
    for axes in all_axes:
        axes.set_yscale("log")
        if not is_count:
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_locator(NullLocator())
        axes.grid(axis="y", color="#E5E5E5", linewidth=0.7)
        tidy(axes)
    all_axes[0].set_ylabel("queries k" if is_count else "half-width α")
    fixed = f"α = {ALPHA:g}" if is_count else f"k = {QUERIES:,}"
    drawing.suptitle(f"{figure.title}  ({fixed}, β = {BETA:g})", fontsize=11)
    handles, labels = all_axes[0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=len(CURVES), frameon=False)
    save(drawing, paths)


def _draw_curves(axes: Axes, rows: Sequence[Row], by_batches: bool) -> None:
    for name in CURVES:
        points = [row for row in rows if row.certificate == name]
        axes.plot(
            [row.b if by_batches else row.n / 1e6 for row in points],
            [row.value if row.value else float("nan") for row in points],
            LINES.get(name, "-"),
            color=COLOURS[name],
            linewidth=2.4 if name == "sharp" else 1.6,
            label=name,
        )
