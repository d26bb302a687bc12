"""Holdfast: answers that stay valid however often growing data is asked.

>>> import holdfast
>>> holdfast.plan(n0=10_000, n=30_000, alpha=0.1, beta=0.05).max_queries
642
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.errors import (
    HoldfastError,
    InvalidInput,
    MissingExtra,
    NotApplicable,
    NotCertified,
    Unreachable,
)

if TYPE_CHECKING:
    from holdfast.planning import Entry, Paces, Plan, compare, plan

__version__ = "0.1.0.dev0"

__all__ = [
    "Entry",
    "HoldfastError",
    "InvalidInput",
    "MissingExtra",
    "NotApplicable",
    "NotCertified",
    "Paces",
    "Plan",
    "Unreachable",
    "__version__",
    "compare",
    "plan",
]

_PLANNING = frozenset({"Entry", "Paces", "Plan", "compare", "plan"})


def __getattr__(name: str) -> Any:
    """Load what needs numpy and scipy only when it is used, so that the import stays quick."""
    if name in _PLANNING:
        value = getattr(import_module("holdfast.planning"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
