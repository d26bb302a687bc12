"""Two sides that take turns, so that a busy moment hits both; what counts are the ratios."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(turns: int, *sides: Callable[[], object]) -> list[float]:
    """The best time of each side, taking turns."""
    times = [float("inf")] * len(sides)
    for _ in range(turns):
        for i, side in enumerate(sides):
            start = time.perf_counter()
            side()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def report(what: str, ratio: float, wanted: str | None, detail: str = "") -> None:
    """One line, and whether it is what was wanted, such as ``<= 1.3``."""
    mark, limit = "    ", ""
    if wanted is not None:
        sign, number = wanted.split()
        holds = ratio >= float(number) if sign == ">=" else ratio <= float(number)
        mark, limit = "ok  " if holds else "MISS", f"(wanted {wanted})"
    print(f"{mark}  {what:<58} {ratio:8.3f}  {limit:<16}  {detail}")


def compared(
    what: str,
    wanted: str | None,
    ours: Callable[[], object],
    bare: Callable[[], object],
    turns: int = 7,
) -> None:
    """One line for two sides."""
    our_time, bare_time = best(turns, ours, bare)
    detail = f"{our_time * 1e3:.1f} ms against {bare_time * 1e3:.1f} ms"
    report(what, our_time / bare_time, wanted, detail)
