"""What all kinds of models have in common."""

from __future__ import annotations

from typing import TypeAlias

Label: TypeAlias = str | int | float | bool

TRUTHS: tuple[Label, ...] = (False, True)
"""The classes of a model that gives one number: whether it is at least a half."""


class Unfit(Exception):
    """The model can't be used, whatever the records; the reason may be shown."""
