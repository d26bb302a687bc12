"""An analysis so far: each question over time, and the budget or the bits spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surehold.formatting import percent
from surehold.plots.history import By, draw_history
from surehold.plots.style import COLOURS, new_figure, save, tidy
from surehold.session import History, Outcome, Result, Round, Status, SurpriseStatus

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 2.7  # inches


def draw_question(
    history: History, status: Status | SurpriseStatus, path: Path, by: By = "records"
) -> None:
    """One question over time, as large as a picture is."""
    figure = new_figure(8.0, 4.4)
    axes = figure.subplots()
    draw_history(axes, history, by, is_large=True)
    _head(figure, status)
    tidy(axes)
    save(figure, [path])


def draw_analysis(
    histories: Sequence[History],
    results: Sequence[Result],
    rounds: Sequence[Round],
    status: Status | SurpriseStatus,
    path: Path,
    by: By = "records",
) -> None:
    """A small picture for each question, and below what was spent.

    That is a share of the budget as the data grows or, under the surprise guard, which has no
    ``rounds``, bits from result to result.
    """
    columns = 1 if len(histories) <= 1 else 2 if len(histories) <= 6 else 3
    rows = -(-len(histories) // columns)
    figure = new_figure(4.4 * max(columns, 2), 0.5 + _ROW * rows + 2.0)
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=[_ROW] * rows + [1.8])
    for place, history in enumerate(histories):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        draw_history(axes, history, by)
        tidy(axes)
    lower = figure.add_subplot(grid[rows, :])
    colour = COLOURS[status.certificate] if isinstance(status, Status) else COLOURS["sharp"]
    if isinstance(status, Status):
        _draw_budget(lower, rounds, status, colour)
    else:
        _draw_bits(lower, [one for one in results if isinstance(one, Outcome)], colour)
    _head(figure, status)
    tidy(lower)
    save(figure, [path])


def _head(figure: Figure, status: Status | SurpriseStatus) -> None:
    """What is drawn, and what holds of it."""
    holds = f"with probability {percent(status.beta)}, all intervals of the analysis are correct"
    if not status.answers:
        holds = "no answers yet"
    title = f"{status.name}: {status.n:,} records, {status.answers:,} answers".replace("$", r"\$")
    figure.suptitle(f"{title}\n{holds}", fontsize=11, x=0.01, ha="left")


def _draw_budget(axes: Axes, rounds: Sequence[Round], status: Status, colour: str) -> None:
    """The total cost of the answers up to each round."""
    from matplotlib.ticker import EngFormatter, PercentFormatter

    spent = [0.0, *(given.share_so_far for given in rounds)]
    spent.append(spent[-1])
    places = [status.first_round, *(given.round for given in rounds), status.last_round]
    axes.step(places, spent, where="post", color=colour, linewidth=1.6)
    axes.fill_between(places, spent, step="post", color=colour, alpha=0.2)
    axes.axhline(1.0, color="#888888", linewidth=0.8, linestyle="--")
    now, late = min(status.n, status.last_round), status.n > status.last_round
    axes.axvline(now, color="#555555", linewidth=0.8)
    text = f" now {status.n:,}{', past the plan' if late else ''}"
    axes.text(now, 0.5, text, fontsize=9, color="#555555")
    axes.set_ylim(0.0, 1.08)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("records, from the first to the last round of the plan", fontsize=9)
    axes.set_ylabel("budget spent", fontsize=9)


def _draw_bits(axes: Axes, outcomes: Sequence[Outcome], colour: str) -> None:
    """The bits spent, from result to result; surprises stand out."""
    from matplotlib.ticker import MaxNLocator

    before = outcomes[0].spent - outcomes[0].surprise if outcomes else 0.0
    spent = [before, *(one.spent for one in outcomes)]
    spent.append(spent[-1])
    places = range(len(spent))
    axes.step(places, spent, where="post", color=colour, linewidth=1.6)
    axes.fill_between(places, spent, step="post", color=colour, alpha=0.2)
    surprises = [i + 1 for i, one in enumerate(outcomes) if one.expected is False]
    if surprises:
        heights = [spent[i] for i in surprises]
        axes.plot(surprises, heights, "o", color=colour, markersize=4, label="a surprise")
        axes.legend(loc="upper left", fontsize=9, frameon=False)
    axes.set_ylim(0.0, 1.08 * spent[-1] or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("results, in order", fontsize=9)
    axes.set_ylabel("bits spent", fontsize=9)
