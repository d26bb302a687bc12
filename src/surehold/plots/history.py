"""One question over time: its value, its interval and its gate, in its own unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from surehold.plots.style import COLOURS
from surehold.session import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes

By: TypeAlias = Literal["records", "date"]
"""What the horizontal axis shows: the number of records, or when each answer was given."""

_COLOUR = COLOURS["sharp"]
_MARKS = {"pass": ("^", "#009E73"), "fail": ("X", "#D55E00"), "undecided": ("s", "#E69F00")}
_LONGEST = 44
_FEW = 40  # answers that are marked one by one


def draw_history(axes: Axes, history: History, by: By = "records", is_large: bool = False) -> None:
    """Draw one question: a ribbon of intervals, a line of values, and the gate as a dashed line."""
    size = 10.0 if is_large else 9.0
    axes.set_title(title_of(history), fontsize=size + 1.5, x=0.0, ha="left", weight="bold", pad=18)
    axes.text(0.0, 1.0, _latest(history), transform=axes.transAxes, fontsize=size, **_ABOVE)
    if not history.points:
        axes.set_axis_off()
        return
    places, factor = _places(history, by), history.factor
    low, value, high = (
        [factor * getattr(point, name) for point in history.points]
        for name in ("low", "value", "high")
    )
    if len(places) == 1:
        axes.errorbar(places, value, [[value[0] - low[0]], [high[0] - value[0]]], **_BAR)
    else:
        axes.fill_between(places, low, high, color=_COLOUR, alpha=0.2, linewidth=0)
        axes.plot(places, value, color=_COLOUR, linewidth=1.6)
    _draw_marks(axes, history, places, value)
    limit = history.at_most if history.at_least is None else history.at_least
    if limit is not None:
        axes.axhline(factor * limit, color="#333333", linewidth=1.0, linestyle=(0, (5, 4)))
    _set_limits(axes, history, [*low, *high], None if limit is None else factor * limit)
    _label_axes(axes, history, places, by, size)


def title_of(history: History) -> str:
    """The name of a question, or else the start of its query, without mathematics in it."""
    text = history.label
    if history.title is None:
        if text.startswith("fraction("):
            text = text.removeprefix("fraction(").removesuffix(")")
        text = re.sub(r"'(\w+:\w{8})\w{56}'", r"\1", text)  # a model, by the start of its hash
    kept = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return kept.replace("$", r"\$")


_ABOVE: dict[str, Any] = {"va": "bottom", "color": "#444444"}
_BAR: dict[str, Any] = {"color": _COLOUR, "capsize": 5, "elinewidth": 1.6, "fmt": "none"}


def _latest(history: History) -> str:
    """What the last answer says, and what was wanted."""
    if not history.points:
        return "no answers yet"
    texts, last = history.display, history.points[-1]
    said = f"{texts['values'][-1]} in {texts['intervals'][-1]}"
    wanted = f" · {last.verdict}: {texts['gate']} wanted" if "gate" in texts else ""
    return f"{said}{wanted}".replace("$", r"\$")


def _places(history: History, by: By) -> list[Any]:
    if by == "records":
        return [point.round for point in history.points]
    return [datetime.fromisoformat(point.time) for point in history.points]


def _draw_marks(axes: Axes, history: History, places: Sequence[Any], value: list[float]) -> None:
    """A dot for each answer; the shape and the colour of the last ones say what the gate says."""
    marked = range(len(places)) if len(places) <= _FEW else [len(places) - 1]
    for i in marked:
        verdict = history.points[i].verdict
        shape, colour = ("o", _COLOUR) if verdict is None else _MARKS[verdict]
        size = 7 if i == len(places) - 1 else 4.5
        axes.plot(places[i : i + 1], value[i : i + 1], shape, color=colour, markersize=size)


def _set_limits(axes: Axes, history: History, ends: list[float], limit: float | None) -> None:
    """All that is drawn, with some room, within what is possible."""
    assert history.range is not None
    shown = ends if limit is None else [*ends, limit]
    least, most = (history.factor * end for end in history.range)
    room = 0.12 * (max(shown) - min(shown)) or 0.05 * (most - least)
    slack = 0.02 * (max(shown) - min(shown))
    bottom, top = max(min(shown) - room, least - slack), min(max(shown) + room, most + slack)
    axes.set_ylim(bottom, top)


def _label_axes(axes: Axes, history: History, places: Sequence[Any], by: By, size: float) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    if history.unit is not None:
        axes.set_ylabel(history.unit.replace("$", r"\$"), fontsize=size, rotation=0, labelpad=12)
    if by == "date":
        locator = AutoDateLocator(minticks=2, maxticks=6)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(formatter)
        axes.set_xlabel("time of the answer (UTC)", fontsize=size)
        return
    if len(places) == 1:
        axes.set_xlim(0, 1.6 * places[0])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("records", fontsize=size)
