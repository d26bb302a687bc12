"""Sentences for a model that hold under both guards."""

from __future__ import annotations

import json

from surehold.formatting import percent

LONGEST = 400
"""Characters of a text that a model is shown."""
APART = "two answers differ for sure only if their intervals do not overlap"


def together(beta: float) -> str:
    """Say what all intervals promise."""
    return (
        f"all intervals of the whole analysis hold together with probability {percent(beta)}, "
        "however the questions were chosen"
    )


def sign(query: str, interval: tuple[float, float]) -> str | None:
    """Say what the interval of a difference shows; None if the query is not one."""
    if not query.startswith(("difference(", "improvement(")):
        return None
    low, high = interval
    if low > 0.0:
        return "it is all above zero: the first is larger for sure"
    if high < 0.0:
        return "it is all below zero: the second is larger for sure"
    return "it contains zero: the answer does not show which of the two is larger"


def quoted(text: str) -> str:
    """Quote as a JSON string, so that nobody's words pass for the tool's own; cut if long."""
    shown = text[:LONGEST]
    more = "" if shown == text else f"... ({len(text):,} characters)"
    return f"{json.dumps(shown, ensure_ascii=not shown.isprintable())}{more}"
