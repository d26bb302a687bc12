"""The paper's four result figures as numbers: which points, and their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surehold.checks import check_whole
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.theory.certificates import CERTIFICATES, Batches

ALPHA, BETA, QUERIES = 0.1, 0.05, 10_000
PANELS = (40, 10, 4, 2, 1)
# Theorem C.2 is for adaptive schedules and coincides with ours-u here: the paper draws five.
CURVES = tuple(name for name in CERTIFICATES if name != "adaptive")


@dataclass(frozen=True)
class Row(Shown):
    """One point of one curve; ``value`` is None where the bound says nothing."""

    figure: str
    certificate: str
    b: int
    n0: int
    n: int
    value: float | None


@dataclass(frozen=True)
class PaperFigure:
    """The settings of one figure's caption."""

    name: str
    title: str
    measure: Literal["queries", "width"]
    settings: tuple[Batches, ...]

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.settings) * len(CURVES)

    def rows(self, advance: Callable[[], None] = lambda: None) -> list[Row]:
        """Compute every point, calling ``advance`` after each."""
        rows = []
        for setting in self.settings:
            for name in CURVES:
                value = self._value(name, setting)
                rows.append(Row(self.name, name, setting.b, setting.n0, setting.n, value))
                advance()
        return rows

    def _value(self, name: str, setting: Batches) -> float | None:
        certificate = CERTIFICATES[name]
        if self.measure == "queries":
            return certificate.queries(setting, ALPHA, BETA)
        width = certificate.width(setting.at(QUERIES), BETA).value
        return width if width < 1.0 else None


def get_figure(name: str, points: int = 10) -> PaperFigure:
    """The figure of that name, with ``points`` points on each curve.

    >>> get_figure("fig5").settings[0]
    Batches(n0=500000, n=1500000, sensitivity=<function statistical at ...>, b=1)
    """
    points = check_whole("points", points, 2)
    ends = np.linspace(150_000, 1_500_000, points).astype(int).tolist()
    at_ratio_3 = tuple(Batches(end // 3, end, b=b) for b in PANELS for end in ends)
    far_ends = np.linspace(750_000, 3_000_000, points).astype(int).tolist()
    batches = sorted({int(b) for b in np.geomspace(1, 100, 2 * points).round()})
    figures = {
        "fig2": PaperFigure("fig2", "Queries against n, n/n0 = 3", "queries", at_ratio_3),
        "fig3": PaperFigure(
            "fig3",
            "Queries against n, n0 = 500,000",
            "queries",
            tuple(Batches(500_000, end, b=b) for b in PANELS for end in far_ends),
        ),
        "fig4": PaperFigure("fig4", "Width against n, n/n0 = 3", "width", at_ratio_3),
        "fig5": PaperFigure(
            "fig5",
            "Queries against b, n0 = 500,000, n = 1,500,000",
            "queries",
            tuple(Batches(500_000, 1_500_000, b=b) for b in batches),
        ),
    }
    try:
        return figures[name]
    except KeyError:
        raise InvalidInput("figure", f"one of {', '.join(figures)}", name) from None
