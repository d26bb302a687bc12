"""One style for every picture: each certificate has the same colour and line everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surehold.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which colour-blind people can tell apart.
COLOURS = {
    "sharp": "#0072B2",
    "ours-n": "#D55E00",
    "ours-u": "#E69F00",
    "adaptive": "#009E73",
    "jlnrss+": "#CC79A7",
    "jlnrss": "#999999",
    "split": "#333333",
    "surprise": "#56B4E9",
}
LABELS = {
    "sharp": "sharp (Surehold)",
    "ours-n": "ours-n (paper)",
    "ours-u": "ours-u (paper)",
    "adaptive": "adaptive (paper)",
    "surprise": "surprise (forecast)",
}
LINES = {"jlnrss": "--", "jlnrss+": "--", "split": ":", "ours-u": "-."}


def require_matplotlib() -> None:
    """Raise early if the extra that pictures need is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("drawing a picture", "plot") from error


def new_figure(width: float, height: float) -> Figure:
    """A figure of its own, without pyplot's global state."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def headline(figure: Figure, text: str) -> None:
    """What the picture shows, in one line above it."""
    figure.suptitle(text, fontsize=12, x=0.01, ha="left", weight="bold")


def subtitle(axes: Axes, text: str) -> None:
    """What it is drawn from, smaller."""
    axes.set_title(text, fontsize=9.5, x=0.0, ha="left", color="#444444")


def tidy(axes: Axes) -> None:
    """Keep the data, drop the box."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=3, color="#888888", labelsize=9)


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Write the figure to each path, in the format its name says."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "surehold", "svg.fonttype": "none"}):
        for path in paths:
            try:
                metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
                figure.savefig(path, dpi=150, metadata=metadata)
            except OSError as error:
                what, required = "the picture's file", "one that can be written"
                raise InvalidInput(what, required, str(path)) from error
