"""An analysis so far: the answers with their intervals, and the budget or the bits spent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surehold.formatting import percent
from surehold.plots.style import COLOURS, new_figure, save, tidy
from surehold.session import (
    Answer,
    NumberOutcome,
    Outcome,
    Result,
    Round,
    Status,
    SurpriseStatus,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 36
_MOST_NAMED = 24


def drawn_of(results: Sequence[Result]) -> list[Answer | NumberOutcome]:
    """Return the results that are numbers with an interval in a range: only those are drawn."""
    return [
        one
        for one in results
        if isinstance(one, Answer) or (isinstance(one, NumberOutcome) and one.value is not None)
    ]


def draw_analysis(
    results: Sequence[Result],
    rounds: Sequence[Round],
    status: Status | SurpriseStatus,
    path: Path,
) -> None:
    """Above, each number within its range; below, what was spent.

    That is a share of the budget as the data grows or, under the surprise guard, which has no
    ``rounds``, bits from result to result.
    """
    answers = drawn_of(results)
    named = len(answers) <= _MOST_NAMED
    upper_height = 0.6 + 0.26 * max(len(answers), 1) if named else 3.2
    figure = new_figure(9.0, 3.2 + upper_height)
    upper, lower = figure.subplots(2, 1, height_ratios=(upper_height, 1.5))
    colour = COLOURS[status.certificate] if isinstance(status, Status) else COLOURS["sharp"]
    (_draw_named if named else _draw_many)(upper, answers, colour)
    if isinstance(status, Status):
        _draw_budget(lower, rounds, status, colour)
    else:
        _draw_bits(lower, [one for one in results if isinstance(one, Outcome)], colour)
    last = f"{len(answers):,} of " if len(answers) < status.answers else ""
    title = f"{status.name}: {last}{status.answers:,} answers"
    holds = f"with probability {percent(status.beta)}, all intervals of the analysis are correct"
    if not answers:
        holds = "no answers yet"
    figure.suptitle(f"{title}\n{holds}", fontsize=11, x=0.01, ha="left")
    tidy(upper)
    tidy(lower)
    save(figure, [path])


def _draw_named(axes: Axes, answers: Sequence[Answer | NumberOutcome], colour: str) -> None:
    """One line per answer, with its query beside it, the newest at the bottom."""
    for place, answer in enumerate(answers):
        low, value, high = _shares(answer)
        axes.hlines(place, low, high, color=colour, linewidth=5, alpha=0.35)
        axes.plot([value], [place], "o", color=colour, markersize=4)
        axes.text(1.03, place, _shown(answer), va="center", fontsize=9)
    axes.set_yticks(range(len(answers)), [_short(answer) for answer in answers])
    axes.set_ylim(len(answers) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("position within the possible range (0 to 1 for a fraction)", fontsize=9)


def _draw_many(axes: Axes, answers: Sequence[Answer | NumberOutcome], colour: str) -> None:
    """Too many to name: a stroke for each, by its ledger entry."""
    places = [answer.entry for answer in answers]
    low, values, high = zip(*map(_shares, answers), strict=True)
    axes.vlines(places, low, high, color=colour, alpha=0.35, linewidth=2)
    axes.plot(places, values, "o", color=colour, markersize=3)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("position within\nthe possible range", fontsize=9)
    axes.set_xlabel("ledger entry", fontsize=9)


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


def _shown(answer: Answer | NumberOutcome) -> str:
    """The value with what is known of it."""
    known = answer.display["width" if isinstance(answer, Answer) else "interval"]
    return f"{answer.display['value']} {known}"


def _shares(answer: Answer | NumberOutcome) -> tuple[float, float, float]:
    """Low end, value and high end on a scale from 0 to 1."""
    low, high = answer.range
    assert answer.value is not None
    ends = (answer.interval[0], answer.value, answer.interval[1])
    below, value, above = ((end - low) / (high - low) for end in ends)
    return below, value, above


def _short(answer: Answer | NumberOutcome) -> str:
    text = answer.query
    if text.startswith("fraction("):
        text = text.removeprefix("fraction(").removesuffix(")")
    text = re.sub(r"'(\w+:\w{8})\w{56}'", r"\1", text)  # a model, by the start of its hash
    kept = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"{kept}   n = {answer.round:,}".replace("$", r"\$")
