"""Pictures of a contest: which defenders withstand which attacks, and what they claimed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from surehold.formatting import percent
from surehold.plots.style import headline, new_figure, save, subtitle, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from surehold.lab import Report, Row

_RIGHT, _WRONG, _NONE = "#0072B2", "#D55E00", "#BBBBBB"  # Okabe and Ito's blue and vermillion
_SHOWN = 12  # analyses of a defender in the picture of its claims


def draw_coverage(report: Report, path: Path) -> None:
    """A square for each attack and defender: in how many analyses every answer was right."""
    attacks, defenders = report.attacks, report.defenders
    figure = new_figure(3.2 + 0.78 * len(defenders), 2.3 + 0.36 * len(attacks))
    from matplotlib.patches import Rectangle

    axes = figure.add_subplot()
    for row in report.rows:
        x, y = defenders.index(row.defender), attacks.index(row.attack)
        colour, text = _square(row, report)
        axes.add_patch(Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, facecolor=colour))
        axes.text(x, y, text, ha="center", va="center", fontsize=9, color="white", weight="bold")
    for x, name in enumerate(defenders):
        share = report.share(name)
        text = "none" if share is None else f"{100.0 * share:.0f} %"
        axes.text(x, len(attacks), text, ha="center", va="center", fontsize=10)
    axes.set_xlim(-0.5, len(defenders) - 0.5)
    axes.set_ylim(len(attacks) + 0.4, -0.5)
    axes.set_xticks(range(len(defenders)), defenders, rotation=35, ha="left", fontsize=10)
    axes.set_yticks(range(len(attacks) + 1), [*attacks, "answers given"], fontsize=10)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    promised = percent(report.setting.beta)
    asked = f"In how many of {report.repeats} analyses was every interval right?"
    headline(figure, f"{asked} ({promised} promised)")
    figure.supxlabel(
        f"orange with a cross: significantly below {promised}    blue: not    grey: no answers\n"
        "raw promises nothing; plain, each interval alone; wide: Surehold's width without noise",
        fontsize=9,
        color="#444444",
    )
    save(figure, [path])


def draw_claims(
    report: Report,
    attack: str,
    path: Path,
    *,
    title: str | None = None,
    labels: Mapping[str, str] | None = None,
    unit: float = 1.0,
    axis: str = "last answer minus the truth",
) -> None:
    """The last answers of some analyses with their intervals, against the truth.

    ``labels`` are other names for defenders; ``unit`` is the unit of the axis.
    """
    defenders = [name for name in report.defenders if report.row(attack, name).last]
    labels = {name: name for name in defenders} | dict(labels or {})
    figure = new_figure(8.0, 1.9 + 0.44 * len(defenders))
    axes = figure.add_subplot()
    for place, name in enumerate(defenders):
        _draw_claims_of(axes, report.row(attack, name), place, unit)
    axes.axvline(0.0, color="black", linewidth=1.2, zorder=1)
    axes.annotate(" the truth", (0.0, -0.68), ha="left", va="center", fontsize=10, weight="bold")
    axes.set_ylim(len(defenders) - 0.4, -0.95)
    axes.set_yticks(range(len(defenders)), [labels[name] for name in defenders])
    axes.set_xlabel(axis, fontsize=10)
    tidy(axes)
    axes.tick_params(axis="y", length=0, labelsize=10)
    right = axes.secondary_yaxis("right")
    answers = [f"{report.row(attack, name).answered:,.0f}" for name in defenders]
    right.set_yticks(range(len(defenders)), answers, fontsize=10)
    right.set_ylabel("answers given", fontsize=10, rotation=270, labelpad=14)
    right.tick_params(length=0)
    right.spines[:].set_visible(False)
    headline(figure, title or f"Attack “{attack}”: what is claimed, and what is true")
    setting = report.setting
    grown = f"{setting.n0:,} to {setting.n:,}" if setting.grows else f"{setting.n:,}"
    subtitle(axes, f"{grown} records; one line per analysis. Orange with a cross misses the truth.")
    save(figure, [path])


def _draw_claims_of(axes: Axes, row: Row, place: int, unit: float) -> None:
    shown = row.last[:_SHOWN]
    for i, (value, low, high, truth) in enumerate(shown):
        misses = not low <= truth <= high
        y = place + (i - (len(shown) - 1) / 2.0) * 0.6 / _SHOWN
        colour = _WRONG if misses else _RIGHT
        ends = [(low - truth) / unit, (high - truth) / unit]
        axes.plot(ends, [y, y], color=colour, linewidth=1.6, zorder=2)
        marker, size = ("x", 4.5) if misses else ("o", 2.5)
        axes.plot((value - truth) / unit, y, marker, color=colour, markersize=size, zorder=3)


def _square(row: Row, report: Report) -> tuple[str, str]:
    if row.reason is not None:
        return _NONE, "–"
    if report.breaks(row):
        return _WRONG, f"× {row.covered}"
    return _RIGHT, str(row.covered)
