"""Packages that only models need, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from surehold.errors import MissingExtra

EXTRA = "models"


def load_package(package: str, feature: str) -> Any:
    """The package, or an error that says how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(feature, EXTRA) from error


def require_package(package: str, feature: str) -> None:
    """The same for a package that only the child imports."""
    if find_spec(package) is None:
        raise MissingExtra(feature, EXTRA)


def load_optional(package: str) -> Any | None:
    """The package, if it is there."""
    try:
        return import_module(package)
    except ImportError:
        return None
