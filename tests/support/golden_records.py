"""The records of the golden scenario of the surprise guard."""

from __future__ import annotations

from typing import Any

COLUMNS = {"a": "bool", "b": "bool", "c": "bool", "d": "bool", "e": "bool", "f": "float"}


def golden_records(first: int, last: int) -> list[dict[str, Any]]:
    """Records ``first`` to ``last``, counted from 1."""
    return [_record(i) for i in range(first, last + 1)]


def _record(i: int) -> dict[str, Any]:
    p, r = i * 7919 % 10007, i * 104729 % 10009
    a = p < 8506
    return {
        "a": a,
        "b": a if r >= 1201 else r < 500,
        "c": (3 * p + r) % 1000 < 652,
        "d": (p + 5 * r) % 1000 < 730,
        "e": p * r % 1013 < 515,
        "f": (p + r) % 5 / 4,
    }
