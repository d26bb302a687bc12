"""An analysis so far: the answers with their intervals, and the budget spent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from surehold.formatting import percent
from surehold.plots.style import COLOURS, new_figure, save, tidy
from surehold.session import Answer, Round, Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 36
_MOST_NAMED = 24


def draw_analysis(
    answers: Sequence[Answer], rounds: Sequence[Round], status: Status, path: Path
) -> None:
    """Above, each answer within its range; below, the budget spent as the data grows."""
    named = len(answers) <= _MOST_NAMED
    upper_height = 0.6 + 0.26 * max(len(answers), 1) if named else 3.2
    figure = new_figure(9.0, 3.2 + upper_height)
    upper, lower = figure.subplots(2, 1, height_ratios=(upper_height, 1.5))
    colour = COLOURS[status.certificate]
    (_draw_named if named else _draw_many)(upper, answers, colour)
    _draw_budget(lower, rounds, status, colour)
    last = f"{len(answers):,} of " if len(answers) < status.answers else ""
    title = f"{status.name}: {last}{status.answers:,} answers"
    holds = f"with probability {percent(status.beta)}, all intervals of the analysis are correct"
    if not answers:
        holds = "no answers yet"
    figure.suptitle(f"{title}\n{holds}", fontsize=11, x=0.01, ha="left")
    tidy(upper)
    tidy(lower)
    save(figure, [path])


def _draw_named(axes: Axes, answers: Sequence[Answer], colour: str) -> None:
    """One line per answer, with its query beside it, the newest at the bottom."""
    for place, answer in enumerate(answers):
        low, value, high = _shares(answer)
        axes.plot(
            [low, high],
            [place, place],
            color=colour,
            linewidth=5,
            alpha=0.35,
            solid_capstyle="butt",
        )
        axes.plot([value], [place], "o", color=colour, markersize=4)
        axes.text(1.03, place, str(answer).partition("  ")[0], va="center", fontsize=9)
    axes.set_yticks(range(len(answers)), [_short(answer) for answer in answers])
    axes.set_ylim(len(answers) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("position within the possible range (0 to 1 for a fraction)", fontsize=9)


def _draw_many(axes: Axes, answers: Sequence[Answer], colour: str) -> None:
    """Too many to name: a stroke for each, by its ledger entry."""
    places = [answer.entry for answer in answers]
    shares = [_shares(answer) for answer in answers]
    low, values, high = zip(*shares, strict=True)
    axes.vlines(places, low, high, color=colour, alpha=0.35, linewidth=2)
    axes.plot(places, values, "o", color=colour, markersize=3)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("position within\nthe possible range", fontsize=9)
    axes.set_xlabel("ledger entry", fontsize=9)


def _draw_budget(axes: Axes, rounds: Sequence[Round], status: Status, colour: str) -> None:
    """The total cost of the answers up to each round."""
    from matplotlib.ticker import EngFormatter, PercentFormatter

    total = status.budget.total
    spent = list(accumulate((given.spent / total for given in rounds), initial=0.0))
    places = [status.first_round, *(given.round for given in rounds), status.last_round]
    axes.step(places, [*spent, spent[-1]], where="post", color=colour, linewidth=1.6)
    axes.fill_between(places, [*spent, spent[-1]], step="post", color=colour, alpha=0.2)
    axes.axhline(1.0, color="#888888", linewidth=0.8, linestyle="--")
    axes.axvline(min(status.n, status.last_round), color="#555555", linewidth=0.8)
    axes.annotate(
        f"now {status.n:,}" + (", past the plan" if status.n > status.last_round else ""),
        (min(status.n, status.last_round), 0.5),
        xytext=(4, 0),
        textcoords="offset points",
        fontsize=9,
        color="#555555",
    )
    axes.set_ylim(0.0, 1.08)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("records, from the first to the last round of the plan", fontsize=9)
    axes.set_ylabel("budget spent", fontsize=9)


def _shares(answer: Answer) -> tuple[float, float, float]:
    """Low end, value and high end on a scale from 0 to 1."""
    low, high = answer.range
    ends = (answer.interval[0], answer.value, answer.interval[1])
    below, value, above = ((end - low) / (high - low) for end in ends)
    return below, value, above


def _short(answer: Answer) -> str:
    text = answer.query
    if text.startswith("fraction("):
        text = text.removeprefix("fraction(").removesuffix(")")
    text = re.sub(r"'(\w+:\w{8})\w{56}'", r"\1", text)  # a model, by the start of its hash
    kept = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"{kept}   n = {answer.round:,}".replace("$", r"\$")
